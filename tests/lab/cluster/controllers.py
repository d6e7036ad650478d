"""What a cluster does by itself: pod CIDRs, certificates, tokens, lost nodes, pods that end. Time is the cluster's own.

Sources: kubernetes pkg/controller/{nodeipam,certificates/approver,certificates/signer,serviceaccount,bootstrap,
nodelifecycle}.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests.lab.cluster import k0s, makers
from tests.lab.cluster.access import Ask, User, allowed, encoded, expired, plain
from tests.lab.cluster.discovery import ACCOUNT_ANNOTATION, account_token
from tests.lab.cluster.kinds import BY_NAME, Kind
from tests.lab.cluster.pki import Authority, identity_of_request
from tests.lab.cluster.seed import Settings
from tests.lab.cluster.store import Object, Store
from tests.lab.cluster.workloads import Workloads, tolerating
from tests.lab.machine.clock import Clock

CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER = "kubernetes.io/kubelet-serving"
GRACE_S = 50.0
"""Without a sign of life for this long a node's Ready is Unknown (node-monitor-grace-period, 40 s before 1.32)."""
CONDITION_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
CSR, NODE, SECRET = BY_NAME["CertificateSigningRequest"], BY_NAME["Node"], BY_NAME["Secret"]


class Controllers:
    """cidr_after_s: seconds from a Node's first sight to its podCIDR; None: never."""

    def __init__(
        self,
        store: Store,
        ca: Authority,
        settings: Settings,
        clock: Clock,
        now: Callable[[], datetime],
        server_ca: Authority | None = None,
    ) -> None:
        self.server_ca = server_ca or ca
        self.store, self.ca, self.settings, self.clock, self.now = store, ca, settings, clock, now
        self.cidr_after_s: float | None = 3.0
        self.approve_clients = True
        self.windows_sets: Callable[[], tuple[Object, ...]] | None = None
        """DaemonSets that the maker brings once there is a Windows node."""
        self._silent: dict[str, float] = {}
        self._leaving: set[str] = set()
        """Uids of pods that may stay for a while yet."""
        self.workloads = Workloads(store, settings, clock, lambda name: name in self._silent)
        self.workloads.end_pod = self.end_pod
        store.changed = self.changed

    def changed(self, what: str, kind: Kind, found: Object) -> None:
        name = str(found["metadata"]["name"])
        self.workloads.changed(what, kind, found)
        if kind is NODE and what == "ADDED" and self.cidr_after_s is not None:
            self.clock.call_later(self.cidr_after_s, lambda: self._give_cidr(name))
        if kind is NODE and what != "DELETED":
            self.clock.call_later(0.2, lambda: self._taint(name))
            self.clock.call_later(0.4, lambda: self._evict(name))
        if kind is NODE and what == "ADDED" and self.windows_sets is not None:
            self.clock.call_later(k0s.LOOKS_S, self._bring_windows)
        if kind is CSR and what != "DELETED":
            self.clock.call_later(0.5, lambda: self._certify(name))
        if kind is SECRET and what == "ADDED" and found.get("type") == "kubernetes.io/service-account-token":
            namespace = str(found["metadata"]["namespace"])
            self.clock.call_later(0.5, lambda: self._fill_token(namespace, name))
        if kind is SECRET and found.get("type") == "bootstrap.kubernetes.io/token":
            self.clock.call_later(0.5, self.sign_cluster_info)

    # -- nodes ---------------------------------------------------------------------------------------------------

    def _bring_windows(self) -> None:
        labels = [node["metadata"].get("labels") or {} for node in self.store.list(NODE)]
        if self.windows_sets is None or not any(one.get("kubernetes.io/os") == "windows" for one in labels):
            return
        for made in self.windows_sets():
            if self.store.find(BY_NAME["DaemonSet"], "kube-system", str(made["metadata"]["name"])) is None:
                self.store.create(BY_NAME["DaemonSet"], "kube-system", made)

    def _give_cidr(self, name: str) -> None:
        node = self.store.find(NODE, "", name)
        if node is None or node["spec"].get("podCIDR"):
            return
        taken = {part for other in self.store.list(NODE) for part in other["spec"].get("podCIDRs") or ()}
        taken |= {other["spec"].get("podCIDR") for other in self.store.list(NODE)}
        ranges = [(self.settings.pod_network, 24), (self.settings.second_pod_network, 64)]
        parts = (ipaddress.ip_network(text).subnets(new_prefix=size) for text, size in ranges if text)
        given = [next(str(part) for part in each if str(part) not in taken) for each in parts]
        spec = {**node["spec"], "podCIDR": given[0], "podCIDRs": given}
        self.store.replace(NODE, "", name, {**node, "spec": spec})

    def heard(self, name: str) -> None:
        """A node's kubelet has reported its state."""
        self._silent[name] = 0.0

    def silent_for(self, name: str, seconds: float) -> None:
        """So much time passed on a node's machine, or beside it while it is off."""
        before = self._silent.get(name, 0.0)
        self._silent[name] = before + seconds
        if before + seconds <= GRACE_S:
            return
        node = self.store.find(NODE, "", name)
        if node is None:
            self._silent.pop(name)
            return
        conditions = list((node.get("status") or {}).get("conditions") or [])
        ready = next((item for item in conditions if item["type"] == "Ready"), None)
        if ready is None or ready["status"] == "Unknown":
            return
        ready |= {
            "status": "Unknown",
            "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.",
            "lastTransitionTime": self.store.stamp(),
        }
        self.store.replace(NODE, "", name, {**node, "status": {**node["status"], "conditions": conditions}})

    def _taint(self, name: str) -> None:
        """The taint that follows from Ready."""
        node = self.store.find(NODE, "", name)
        if node is None:
            return
        wanted = {"True": None, "Unknown": "node.kubernetes.io/unreachable"}.get(
            ready(node), "node.kubernetes.io/not-ready"
        )
        kept = [item for item in node["spec"].get("taints") or [] if item["key"] not in CONDITION_TAINTS]
        taints = [*kept, {"key": wanted, "effect": "NoSchedule"}] if wanted else kept
        if taints != (node["spec"].get("taints") or []):
            self.store.replace(NODE, "", name, {**node, "spec": {**node["spec"], "taints": taints}})

    def _evict(self, name: str) -> None:
        """The pods that do not tolerate a NoExecute taint of their Node; tolerationSeconds are waited for.

        Source: kubernetes pkg/controller/tainteviction/taint_eviction.go, processPodOnNode.
        """
        node = self.store.find(NODE, "", name)
        taints = [one for one in (node or {"spec": {}})["spec"].get("taints") or [] if one["effect"] == "NoExecute"]
        for pod in self.store.list(BY_NAME["Pod"]) if taints else []:
            if pod["spec"].get("nodeName") != name:
                continue
            used = [tolerating(pod, taint) for taint in taints]
            limits = [float(one["tolerationSeconds"]) for one in used if one and "tolerationSeconds" in one]
            if None in used:
                self.end_pod(pod)
            elif limits and pod["metadata"]["uid"] not in self._leaving:
                self._leaving.add(pod["metadata"]["uid"])
                self.clock.call_later(min(limits), lambda pod=pod: self.end_pod(pod))  # type: ignore[misc]

    def end_pod(self, pod: Object) -> None:
        """Marks a pod as going; it is gone two seconds later."""
        namespace, name = str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"])
        if pod["metadata"].get("deletionTimestamp"):
            return
        pod["metadata"] |= {"deletionTimestamp": self.store.stamp(), "deletionGracePeriodSeconds": 30}
        self.store.replace(BY_NAME["Pod"], namespace, name, pod)
        self.clock.call_later(2.0, lambda: self._bury(namespace, name))

    def _bury(self, namespace: str, name: str) -> None:
        if self.store.find(BY_NAME["Pod"], namespace, name) is not None:
            self.store.delete(BY_NAME["Pod"], namespace, name)

    # -- certificates --------------------------------------------------------------------------------------------

    def _certify(self, name: str) -> None:
        found = self.store.find(CSR, "", name)
        if found is None:
            return
        status = found.get("status") or {}
        kinds = {item.get("type") for item in status.get("conditions") or []}
        signer = found["spec"]["signerName"]
        request = base64.b64decode(found["spec"]["request"])
        client = signer == CLIENT_SIGNER and self.approve_clients and self._may_be_approved(found, request)
        serving = signer == SERVING_SIGNER and makers.ALL[self.settings.maker].approves
        if not kinds and (client or serving):
            approved = {
                "type": "Approved",
                "status": "True",
                "reason": "AutoApproved" if client else k0s.APPROVED,
                "message": f"Auto approving kubelet {'client' if client else 'serving'} certificate after "
                "SubjectAccessReview.",
                "lastUpdateTime": self.store.stamp(),
            }
            self.store.replace(CSR, "", name, {**found, "status": {**status, "conditions": [approved]}})
        elif "Approved" in kinds and not status.get("certificate"):
            self._sign(found, request, ("server auth",) if signer == SERVING_SIGNER else ("client auth",))

    def _may_be_approved(self, found: Object, request: bytes) -> bool:
        asked = identity_of_request(request)
        if not asked.name.startswith("system:node:") or asked.groups != ("system:nodes",) or asked.addresses:
            return False
        user = User(str(found["spec"]["username"]), tuple(found["spec"]["groups"]))
        sub = "selfnodeclient" if user.name == asked.name else "nodeclient"
        ask = Ask("create", "certificates.k8s.io", "certificatesigningrequests", sub)
        return allowed(self.store, user, ask)

    def _sign(self, found: Object, request: bytes, usages: tuple[str, ...]) -> None:
        """A serving certificate is for a node that asks for itself; other requests of that signer fail."""
        asked, status = identity_of_request(request), found.get("status") or {}
        if found["spec"]["signerName"] == SERVING_SIGNER and (
            asked.name != found["spec"]["username"] or asked.groups != ("system:nodes",)
        ):
            failed = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure"}
            conditions = [*(status.get("conditions") or []), failed]
            self.store.replace(CSR, "", found["metadata"]["name"], {**found, "status": {"conditions": conditions}})
            return
        signer = self.server_ca if found["spec"]["signerName"] == SERVING_SIGNER else self.ca
        certificate = base64.b64encode(signer.sign(request, usages)).decode()
        new = {**found, "status": {**status, "certificate": certificate}}
        self.store.replace(CSR, "", found["metadata"]["name"], new)

    # -- tokens --------------------------------------------------------------------------------------------------

    def _fill_token(self, namespace: str, name: str) -> None:
        found = self.store.find(SECRET, namespace, name)
        if found is None:
            return
        account = str(found["metadata"].get("annotations", {}).get(ACCOUNT_ANNOTATION) or "")
        owner = self.store.find(BY_NAME["ServiceAccount"], namespace, account)
        if owner is None:  # as the real controller: a token of no account is removed
            self.store.delete(SECRET, namespace, name)
            return
        if plain(found, "token"):
            return
        data = {
            "token": encoded(account_token(namespace, account, str(found["metadata"]["uid"]))),
            "ca.crt": base64.b64encode(self.server_ca.pem).decode(),
            "namespace": encoded(namespace),
        }
        self.store.replace(SECRET, namespace, name, {**found, "data": {**(found.get("data") or {}), **data}})

    def sign_cluster_info(self) -> None:
        """For each token that may sign: `jws-kubeconfig-<id>` in cluster-info. Tokens past their end are removed."""
        kind = BY_NAME["ConfigMap"]
        found = self.store.find(kind, "kube-public", "cluster-info")
        if found is None:
            return
        data = {key: value for key, value in found["data"].items() if not key.startswith("jws-kubeconfig-")}
        for secret in self.store.list(SECRET, "kube-system"):
            if secret.get("type") != "bootstrap.kubernetes.io/token":
                continue
            if expired(secret, self.now()):
                self.store.delete(SECRET, "kube-system", str(secret["metadata"]["name"]))
            elif plain(secret, "usage-bootstrap-signing") == "true":
                token_id = plain(secret, "token-id")
                data[f"jws-kubeconfig-{token_id}"] = jws(data["kubeconfig"], token_id, plain(secret, "token-secret"))
        self.store.replace(kind, "kube-public", "cluster-info", {**found, "data": data})


def jws(content: str, token_id: str, secret: str) -> str:
    """A detached signature. Source: kubernetes staging/src/k8s.io/cluster-bootstrap/token/jws/jws.go."""
    header = _unpadded(json.dumps({"alg": "HS256", "kid": token_id}, separators=(",", ":")).encode())
    signed = f"{header}.{_unpadded(content.encode())}".encode()
    return f"{header}..{_unpadded(hmac.new(secret.encode(), signed, hashlib.sha256).digest())}"


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def ready(node: Object) -> str:
    """The status of a Node's Ready condition; `` if it has none."""
    conditions: list[dict[str, Any]] = (node.get("status") or {}).get("conditions") or []
    return next((str(item["status"]) for item in conditions if item["type"] == "Ready"), "")
