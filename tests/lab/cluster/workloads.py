"""What a cluster does with workloads: Deployments become pods, pods get a node, Services addresses and endpoints, and a
Namespace that is deleted takes its objects with it.

A pod that is created with a nodeName stays the object that it is (tests of draining make such ones). The ReplicaSet
between a Deployment and its pods is only a name. A Node whose kubelet was never heard is no machine of the lab: its
pods run as soon as it is Ready.
Sources: kubernetes pkg/controller/{deployment,endpointslice,namespace}, pkg/scheduler/framework/plugins,
pkg/registry/core/service/{ipallocator,portallocator}.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable
from typing import Any

from tests.lab.cluster.daemon_sets import DaemonSets
from tests.lab.cluster.host_process import is_host_process
from tests.lab.cluster.jobs import Jobs
from tests.lab.cluster.kinds import ALL, BY_NAME, Kind
from tests.lab.cluster.seed import Settings
from tests.lab.cluster.store import ApiError, Object, Store
from tests.lab.machine.clock import Clock
from tests.lab.machine.pods import image_problem, running, second_address, waiting

POD, SERVICE, SLICE = BY_NAME["Pod"], BY_NAME["Service"], BY_NAME["EndpointSlice"]
DEPLOYMENT, NAMESPACE, NODE = BY_NAME["Deployment"], BY_NAME["Namespace"], BY_NAME["Node"]
FIRST_NODE_PORT = 30000
_WATCHED = {"Pod", "Service", "Deployment", "DaemonSet", "Job", "Namespace", "Node"}


class Workloads:
    """heard: whether a Node's kubelet was ever heard. end_pod: lets a pod go. unpullable: as in machine/pods.py."""

    def __init__(self, store: Store, settings: Settings, clock: Clock, heard: Callable[[str], bool]) -> None:
        self.store, self.settings, self.clock, self.heard = store, settings, clock, heard
        self.end_pod: Callable[[Object], None] = lambda pod: None
        self.unpullable: dict[str, set[str]] = {}
        """Node -> registries that it does not reach; for Nodes without a machine."""
        self.jobs = Jobs(store, clock)
        self.daemon_sets = DaemonSets(store, lambda pod: self.end_pod(pod))
        self._due = False

    def changed(self, what: str, kind: Kind, found: Object) -> None:
        if kind.name in _WATCHED and not self._due:
            self._due = True
            self.clock.call_later(0.2, self._work)

    # -- what the API server fills in ----------------------------------------------------------------------------

    def admit(self, kind: Kind, namespace: str, body: Object) -> None:
        """Defaults of a new object. ApiError 403 in a namespace that goes."""
        if kind.namespaced:
            home = self.store.find(NAMESPACE, "", namespace)
            if home is not None and home["metadata"].get("deletionTimestamp"):
                name = (body.get("metadata") or {}).get("name")
                raise ApiError(
                    403,
                    "Forbidden",
                    f'{kind.plural} "{name}" is forbidden: unable to create new content in namespace {namespace} '
                    "because it is being terminated",
                )
        if kind is NAMESPACE:
            body.setdefault("spec", {"finalizers": ["kubernetes"]})
            body.setdefault("status", {"phase": "Active"})
        elif kind is POD and not (body.get("spec") or {}).get("nodeName"):
            body["status"] = {"phase": "Pending"}
        elif kind is POD and is_host_process(body):
            body["status"] = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
        elif kind is SERVICE:
            self._admit_service(body.setdefault("spec", {}))

    def _admit_service(self, spec: Object) -> None:
        others = [item["spec"] for item in self.store.list(SERVICE)]
        spec.setdefault("type", "ClusterIP")
        for port in spec.get("ports") or []:
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port["port"])
        taken = {address for item in others for address in item.get("clusterIPs") or ()}

        def free(network: str) -> str:
            return next(str(one) for one in ipaddress.ip_network(network).hosts() if str(one) not in taken)

        if not spec.get("clusterIP") and spec["type"] != "ExternalName":
            spec["clusterIP"] = free(self.settings.service_network)
        if spec.get("clusterIP"):
            spec["clusterIPs"] = [spec["clusterIP"]]
            # One family is the API's default. Source: kubernetes.io, IPv4/IPv6 dual-stack, Services.
            both = spec.get("ipFamilyPolicy", "SingleStack") != "SingleStack" and spec["clusterIP"] != "None"
            if both and self.settings.second_service_network:
                spec["clusterIPs"] += [free(self.settings.second_service_network)]
        if spec["type"] in {"NodePort", "LoadBalancer"}:
            used = {port.get("nodePort") for item in [*others, spec] for port in item.get("ports") or []}
            for port in spec.get("ports") or []:
                if not port.get("nodePort"):
                    port["nodePort"] = next(n for n in range(FIRST_NODE_PORT, 32768) if n not in used)
                    used.add(port["nodePort"])

    def terminate(self, namespace: Object) -> Object:
        """A Namespace is deleted: it goes when nothing is in it any more."""
        metadata = {**namespace["metadata"], "deletionTimestamp": self.store.stamp()}
        new = {**namespace, "metadata": metadata, "status": {"phase": "Terminating"}}
        return self.store.replace(NAMESPACE, "", str(metadata["name"]), new)

    # -- controllers ---------------------------------------------------------------------------------------------

    def _work(self) -> None:
        self._due = False
        for namespace in self.store.list(NAMESPACE):
            if namespace["metadata"].get("deletionTimestamp"):
                self._empty(str(namespace["metadata"]["name"]))
        deployments = {str(item["metadata"]["uid"]): item for item in self.store.list(DEPLOYMENT)}
        for pod in self.store.list(POD):
            owner = _owner(pod)
            if owner and owner not in deployments:
                self.end_pod(pod)
        for item in deployments.values():
            self._roll_out(item)
        self.jobs.work()
        self.daemon_sets.work()
        for pod in self.store.list(POD):
            if not pod["spec"].get("nodeName"):
                self._schedule(pod)
            elif (pod.get("status") or {}).get("phase") == "Pending" and scheduled(pod):
                self._run_without_machine(pod)
        for service in self.store.list(SERVICE):
            if service["spec"].get("selector"):
                self._endpoints(service)

    def _empty(self, name: str) -> None:
        left = 0
        for kind in (one for one in ALL if one.namespaced):
            for item in self.store.list(kind, name):
                if kind is POD and item["spec"].get("nodeName"):
                    self.end_pod(item)
                    left += 1
                else:
                    self.store.delete(kind, name, str(item["metadata"]["name"]))
        if not left:
            self.store.delete(NAMESPACE, "", name)

    def _roll_out(self, item: Object) -> None:
        metadata, spec = item["metadata"], item["spec"]
        digest = hashlib.sha256(str(spec["template"]).encode()).hexdigest()[:9]
        pods = [
            pod
            for pod in self.store.list(POD, str(metadata["namespace"]))
            if _owner(pod) == metadata["uid"] and not pod["metadata"].get("deletionTimestamp")
        ]
        for pod in pods[int(spec.get("replicas", 1)) :]:
            self.end_pod(pod)
        for _ in range(int(spec.get("replicas", 1)) - len(pods)):
            self._make_pod(item, digest)
        ready = sum(1 for pod in pods if is_ready(pod))
        counts = dict.fromkeys(("replicas", "updatedReplicas"), len(pods))
        counts |= dict.fromkeys(("readyReplicas", "availableReplicas"), ready)
        self.store.replace(DEPLOYMENT, str(metadata["namespace"]), str(metadata["name"]), {**item, "status": counts})

    def _make_pod(self, item: Object, digest: str) -> None:
        metadata, template = item["metadata"], item["spec"]["template"]
        labels = {**(template["metadata"].get("labels") or {}), "pod-template-hash": digest}
        owner = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": f"{metadata['name']}-{digest}",
            "uid": metadata["uid"],
            "controller": True,
        }
        body: Object = {
            "metadata": {
                "generateName": f"{metadata['name']}-{digest}-",
                "labels": labels,
                "ownerReferences": [owner],
            },
            "spec": template["spec"],
            "status": {"phase": "Pending"},
        }
        self.store.create(POD, str(metadata["namespace"]), body)

    # -- nodes for pods ------------------------------------------------------------------------------------------

    def _schedule(self, pod: Object) -> None:
        name, namespace = str(pod["metadata"]["name"]), str(pod["metadata"]["namespace"])
        pods = self.store.list(POD)
        alike = [other for other in pods if other["metadata"].get("labels") == pod["metadata"].get("labels")]
        nodes = self.store.list(NODE)
        fitting = [str(node["metadata"]["name"]) for node in nodes if _fits(pod, node)]
        if not fitting:
            said = f"0/{len(nodes)} nodes are available: no node matched Pod's node affinity/selector and taints."
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": said}
            self.store.replace(POD, namespace, name, {**pod, "status": {"phase": "Pending", "conditions": [condition]}})
            return

        def load(node: str) -> tuple[int, int, str]:
            counts = [sum(1 for one in group if one["spec"].get("nodeName") == node) for group in (alike, pods)]
            return counts[0], counts[1], node

        spec = {**pod["spec"], "nodeName": min(fitting, key=load)}
        status = {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]}
        self.store.replace(POD, namespace, name, {**pod, "spec": spec, "status": status})

    def _run_without_machine(self, pod: Object) -> None:
        node = self.store.find(NODE, "", str(pod["spec"]["nodeName"]))
        name = str(pod["spec"]["nodeName"])
        if node is None or self.heard(name) or not _ready(node) or not node["spec"].get("podCIDR"):
            return
        labels = node["metadata"].get("labels") or {}
        build = str(labels.get("node.kubernetes.io/windows-build") or "").rpartition(".")[2]
        problem = image_problem(pod, int(build) if build.isdigit() else None, self.unpullable.get(name, ()))
        taken = {str((one.get("status") or {}).get("podIP")) for one in self.store.list(POD)}
        hosts = list(ipaddress.ip_network(str(node["spec"]["podCIDR"])).hosts())[1:]
        address = next(str(one) for one in hosts if str(one) not in taken)
        second = second_address(address, node["spec"])
        status = waiting(pod, *problem) if problem else running(pod, address, self.store.stamp(), second)
        metadata = pod["metadata"]
        self.store.replace(POD, str(metadata["namespace"]), str(metadata["name"]), {**pod, "status": status})

    # -- endpoints -----------------------------------------------------------------------------------------------

    def _endpoints(self, service: Object) -> None:
        """A slice for each family that the Service has."""
        self._slice(service, "IPv4")
        if len(service["spec"].get("clusterIPs") or ()) > 1:
            self._slice(service, "IPv6")

    def _slice(self, service: Object, family: str) -> None:
        metadata, spec = service["metadata"], service["spec"]
        namespace, name = str(metadata["namespace"]), str(metadata["name"])
        named = f"{name}-lab" if family == "IPv4" else f"{name}-lab6"
        ends = []
        for pod in self.store.list(POD, namespace):
            labels = pod["metadata"].get("labels") or {}
            if any(labels.get(key) != value for key, value in spec["selector"].items()) or not is_ready(pod):
                continue
            addresses = [one["ip"] for one in pod["status"]["podIPs"] if (":" in one["ip"]) == (family == "IPv6")]
            if not addresses:
                continue
            end: Object = {
                "addresses": addresses,
                "conditions": {"ready": True, "serving": True, "terminating": False},
                "nodeName": pod["spec"]["nodeName"],
                "targetRef": {"kind": "Pod", "namespace": namespace, "name": pod["metadata"]["name"]},
            }
            if pod["spec"].get("hostname") and pod["spec"].get("subdomain") == name:
                end["hostname"] = pod["spec"]["hostname"]
            ends.append(end)
        body: Object = {
            "metadata": {"name": named, "labels": {"kubernetes.io/service-name": name}},
            "addressType": family,
            "endpoints": ends,
            "ports": [
                {"name": port.get("name", ""), "port": port["targetPort"], "protocol": port["protocol"]}
                for port in spec.get("ports") or []
            ],
        }
        if self.store.find(SLICE, namespace, named) is None:
            self.store.create(SLICE, namespace, body)
        else:
            self.store.replace(SLICE, namespace, named, body)


def is_ready(pod: Object) -> bool:
    """Running, Ready, not going."""
    conditions = (pod.get("status") or {}).get("conditions") or []
    ready = any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
    return ready and not pod["metadata"].get("deletionTimestamp") and bool(pod["status"].get("podIP"))


def scheduled(pod: Object) -> bool:
    """Whether the lab's scheduler gave it its node."""
    return any(item["type"] == "PodScheduled" for item in (pod.get("status") or {}).get("conditions") or [])


def _owner(pod: Object) -> str:
    """The Deployment that the pod was made from; empty for other pods."""
    if "pod-template-hash" not in (pod["metadata"].get("labels") or {}):
        return ""
    return next((str(item["uid"]) for item in pod["metadata"].get("ownerReferences") or []), "")


def _ready(node: Object) -> bool:
    conditions: list[dict[str, Any]] = (node.get("status") or {}).get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def _fits(pod: Object, node: Object) -> bool:
    labels, spec = node["metadata"].get("labels") or {}, pod["spec"]
    if not _ready(node) or (node.get("spec") or {}).get("unschedulable"):
        return False
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    hard = [taint for taint in node["spec"].get("taints") or [] if taint["effect"] in {"NoSchedule", "NoExecute"}]
    return all(tolerating(pod, taint) is not None for taint in hard)


def tolerating(pod: Object, taint: Object) -> Object | None:
    """The first toleration of a pod that matches a taint."""
    return next((one for one in pod["spec"].get("tolerations") or [] if _tolerates(one, taint)), None)


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("key") not in {None, "", taint["key"]}:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and str(toleration.get("value") or "") == str(taint.get("value") or "")
