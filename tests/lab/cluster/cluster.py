"""The cluster as tests and the lab hold it.

cluster = Cluster(directory, Settings(backend="vxlan"), lambda: lab.hosts.values())
cluster.kubeconfig               the administrator's, for the controller
cluster.nodes["win1"]["status"]  Node objects
cluster.make_token()             a bootstrap token
"""

from __future__ import annotations

import json
import re
import secrets
import string
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import yaml

from tests.lab.cluster import host_process, k0s, kubeconfig, makers, pod_programs, shipped
from tests.lab.cluster.access import encoded
from tests.lab.cluster.api import Api, Call, Request, Response
from tests.lab.cluster.controllers import Controllers, ready
from tests.lab.cluster.custom import STORED
from tests.lab.cluster.flows import Flows
from tests.lab.cluster.pki import Authority, BadCertificateError, Identity, key_hash
from tests.lab.cluster.seed import BOOTSTRAPPERS, Settings, fill
from tests.lab.cluster.server import HttpsServer
from tests.lab.cluster.store import ApiError, Object, Store
from tests.lab.cluster.websocket import protocols
from tests.lab.cluster.workloads import POD, scheduled
from tests.lab.machine.clock import Clock

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

T = TypeVar("T")
TICK_S = 1.0
"""How far each request from outside moves the nodes' clocks and the cluster's, so that polling gets somewhere."""
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_AT_KUBELET = re.compile(r"/api/v1/(?:namespaces/([^/]+)/pods/([^/]+)/(?:exec|log)|nodes/([^/]+)/proxy/.+)")
"""What the API server asks a kubelet for."""
_BY_ADDRESS: dict[str, Cluster] = {}


class Machine(Protocol):
    """What a NodeHost is here: a node, and its turn."""

    @property
    def node(self) -> SimulatedNode: ...

    def in_turn(self, work: Callable[[], T]) -> T: ...


def at_address(address: str) -> Cluster | None:
    """The running cluster behind `127.0.0.1:PORT`."""
    return _BY_ADDRESS.get(address)


class Cluster:
    """Starts when it is made. skew: how far the cluster's clock is ahead of the wall clock (expiry of tokens)."""

    def __init__(
        self, directory: Path, settings: Settings | None = None, machines: Callable[[], Iterable[Machine]] = tuple
    ) -> None:
        self.settings = settings or Settings()
        self.directory = directory
        self.skew = timedelta()
        self._machines = machines
        self.ca = Authority()
        """Of callers' certificates; of the server's too, where a maker has one for both."""
        self.server_ca = Authority() if makers.ALL[self.settings.maker].two_cas else self.ca
        self.clock = Clock()
        self._ahead: dict[str, float] = {}
        self._names: dict[str, str] = {}
        self._heard: dict[str, float] = {}
        """When each machine's kubelet renewed its lease, by the machine's clock."""
        self.store = Store(self.now)
        self.api = Api(self.store, self.ca, self.settings.version, self.now)
        if self.settings.has_calico:
            self.api.served.add(STORED)
        self.api.anonymous = self.settings.anonymous != "off"
        self.api.token_lag = self.settings.token_lag if self.settings.bootstrap_tokens else None
        self.controllers = Controllers(self.store, self.ca, self.settings, self.clock, self.now, self.server_ca)
        if not self.settings.gives_ranges:
            self.controllers.cidr_after_s = None
        if self.settings.maker == "k0s":
            self.controllers.windows_sets = self._sets_of_k0s
        self.api.evicted = self.controllers.end_pod
        self.api.admit = self.controllers.workloads.admit
        self.api.log = self._log
        self.api.terminate = self.controllers.workloads.terminate
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.flows = Flows(self)
        self.https = self._listen()
        self.address = f"127.0.0.1:{self.https.port}"
        self.server = f"https://{self.address}"
        """As the controller reaches it."""
        self.published = f"https://{self.settings.address}:{self.https.port}"
        """As nodes do: the address of the first control plane."""
        fill(self.store, self.settings, self.https.port, self.server_ca.pem, self.ca.pem)
        self.clock.advance(30)
        admin = self.ca.issue(Identity("kubernetes-admin", ("system:masters",)))
        self.kubeconfig = self._file(
            "admin.conf",
            kubeconfig.write(self.server, self.server_ca.pem, user="kubernetes-admin", pair=admin).encode(),
        )
        _BY_ADDRESS[self.address] = self
        for machine in machines():
            machine.in_turn(lambda node=machine.node: self.attach(node))  # type: ignore[misc]
        self.https.start()

    def _sets_of_k0s(self) -> tuple[Object, ...]:
        mine = self.settings
        return k0s.windows_sets(mine.version, mine.address, self.https.port, mine.service_network, mine.dns_address)

    def _log(self, pod: Object) -> bytes:
        jobs = self.controllers.workloads.jobs
        return jobs.log(pod) if "job-name" in (pod["metadata"].get("labels") or {}) else b"simulated\n"

    def _listen(self) -> HttpsServer:
        names = ("kubernetes", "kubernetes.default", "localhost", self.settings.name)
        own = self.server_ca.issue(Identity("kube-apiserver", (), names, ("127.0.0.1", "10.96.0.1")), ("server auth",))
        self.names = frozenset((*names, "127.0.0.1", "10.96.0.1", *self.settings.api_addresses))
        self.server_certificate = own.certificate
        return HttpsServer(
            self._from_outside,
            self._file("apiserver.crt", own.certificate),
            self._file("apiserver.key", own.key),
            self._file("ca.crt", self.ca.pem),
            protocols(self.settings.version),
            lambda: self.clock.utc().timestamp(),
        )

    def _file(self, name: str, content: bytes) -> Path:
        path = self.directory / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path

    def stop(self) -> None:
        _BY_ADDRESS.pop(self.address, None)
        self.https.stop()

    # -- time ----------------------------------------------------------------------------------------------------

    def now(self) -> datetime:
        """The cluster's wall clock, UTC."""
        return datetime.now(UTC) + self.skew

    def _from_outside(self, request: Request) -> Response:
        self.advance(TICK_S)
        response = self.api.answer(request)
        if response.status < 400 and (unreached := self._kubelet_unreached(request.path)):
            return unreached
        if response.status != 101:
            return response
        asked = response.json  # without the API's lock: what is asked may look at the nodes' machines
        pod = self.store.find(POD, asked["namespace"], asked["pod"]) or {}
        machine = self.machine_of(str((pod.get("spec") or {}).get("nodeName") or ""))
        if isinstance(machine, host_process.Inside) and host_process.is_host_process(pod):
            return replace(response, program=partial(host_process.serve, machine, pod, asked["argv"]))
        said = pod_programs.messages(self.flows, asked["namespace"], asked["pod"], asked["argv"])
        return replace(response, body=said)

    def _kubelet_unreached(self, path: str) -> Response | None:
        """Why the API server gets nowhere with a kubelet: the sentence of its dial that timed out."""
        asked = _AT_KUBELET.fullmatch(path)
        if asked is None:
            return None
        namespace, pod, node = asked.groups()
        if not node:
            found = self.store.find(POD, namespace, pod) or {}
            node = str((found.get("spec") or {}).get("nodeName") or "")
        if address := self.flows.kubelet_address(node, self.settings.address):
            said = f"error dialing backend: dial tcp {address}:10250: i/o timeout"
        elif self.settings.tunnel and node != self.settings.name:
            at = f"proxy error from 127.0.0.1:{self.https.port} while dialing {self.flows.address_of(node)}:10250"
            said = f"error dialing backend: {at}, code 502: 502 Bad Gateway"
        elif not (said := self._mistrust(node)):
            return None
        body = ApiError(500, "InternalError", said).body()
        return Response(500, json.dumps(body).encode())

    def _mistrust(self, node: str) -> str:
        """Why API server and kubelet do not take each other's certificate. Sources: apiserver's words for a kubelet's
        401 (client-go), Go's crypto/tls."""
        client_ca, serving = self.api.trust.get(node, (self.ca.pem, b""))
        if self.ca.pem.strip() not in client_ca:
            return "the server has asked for the client to provide credentials"
        if not makers.ALL[self.settings.maker].verifies:
            return ""
        try:
            self.server_ca.verify(serving, self.now(), "server auth")
        except BadCertificateError:
            said = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
            return f"error dialing backend: {said}"
        return ""

    def advance(self, seconds: float) -> None:
        """Lets time pass on every machine and in the cluster. Not to be called with a node's lock held."""
        for machine in list(self._machines()):
            machine.in_turn(lambda node=machine.node: self._advance_node(node, seconds))  # type: ignore[misc]
        with self.api.lock:
            self.clock.advance(seconds)

    def _advance_node(self, node: SimulatedNode, seconds: float) -> None:
        started = node.clock.now()
        if node.powered:
            node.clock.advance(seconds)
        with self.api.lock:
            heard = self._heard.get(node.name, started)
            silent = node.clock.now() - heard if heard > started else seconds
            self.controllers.silent_for(self._node_name(node), silent)

    def _node_name(self, node: SimulatedNode) -> str:
        """The Node that runs on this machine: the name under which its kubelet reported last."""
        return self._names.get(node.name, node.name.lower())

    def from_node(self, node: SimulatedNode, request: Request) -> Response:
        """A request of a program on a node; the node's lock is held. The cluster's time keeps up with the node's."""
        with self.api.lock:
            ahead = self._ahead.setdefault(node.name, self.clock.now() - node.clock.now())
            self.clock.advance(max(0.0, node.clock.now() + ahead - self.clock.now()))
            response = self.api.answer(request)
            path, _, name = request.path.rpartition("/")
            if path == LEASES and request.method in {"PUT", "PATCH"} and response.status == 200:
                self._names[node.name] = name
                self._heard[node.name] = node.clock.now()
                self.controllers.heard(name)
            return response

    def machine_of(self, name: str) -> Machine | None:
        """The machine on which the Node runs; None for one that is only an object."""
        return next((one for one in self._machines() if self._node_name(one.node) == name), None)

    def has_pods(self, name: str) -> bool:
        """Whether the scheduler has given pods to this Node; no request."""
        with self.api.lock:
            return any(pod["spec"].get("nodeName") == name and scheduled(pod) for pod in self.store.list(POD))

    def attach(self, node: SimulatedNode) -> None:
        """Makes the server's addresses reach this cluster from the node."""
        for each in ("127.0.0.1", *self.settings.api_addresses):
            node.network.hosts[f"{each}:{self.https.port}"] = self.address

    # -- for tests -----------------------------------------------------------------------------------------------

    def request(self, method: str, path: str, body: Object | None = None, kind: str = "merge") -> Object:
        """A request of the administrator's, in-process; no time passes. Returns the answer, a Status too."""
        admin = self.ca.issue(Identity("kubernetes-admin", ("system:masters",)))
        types = {"merge": "application/merge-patch+json", "strategic": "application/strategic-merge-patch+json"}
        content = types[kind] if method == "PATCH" else "application/json"
        data = b"" if body is None else json.dumps(body).encode()
        path, _, query = path.partition("?")
        pairs = dict(item.partition("=")[::2] for item in query.split("&") if item)
        made = Request(method, path, pairs, data, content, certificate=admin.certificate)
        return self.api.answer(made).json

    def configure_kubelets(self, **fields: Any) -> None:
        """The administrator changes the KubeletConfiguration of the cluster; None takes a field out."""
        path = f"/api/v1/namespaces/kube-system/configmaps/{self.settings.kubelet_config}"
        found = yaml.safe_load(self.request("GET", path)["data"]["kubelet"]) | fields
        kept = {key: value for key, value in found.items() if value is not None}
        self.request("PATCH", path, {"data": {"kubelet": yaml.safe_dump(kept)}})

    @property
    def nodes(self) -> dict[str, Object]:
        """Node objects by name, the control plane among them."""
        return {item["metadata"]["name"]: item for item in self.request("GET", "/api/v1/nodes")["items"]}

    def is_ready(self, name: str) -> bool:
        node = self.nodes.get(name)
        return node is not None and ready(node) == "True"

    @property
    def calls(self) -> list[Call]:
        return self.api.calls

    @property
    def refusals(self) -> list[Call]:
        """Requests that authorisation refused: who, and what."""
        return self.api.refusals

    @property
    def ca_hash(self) -> str:
        """`sha256:<hex>`, as in caCertHashes."""
        return key_hash(self.server_ca.pem)

    def make_token(self, minutes: float = 15, groups: str = BOOTSTRAPPERS) -> str:
        """A bootstrap token, as `kubeadm token create` makes it."""
        letters = string.ascii_lowercase + string.digits
        token_id, secret = ("".join(secrets.choice(letters) for _ in range(count)) for count in (6, 16))
        end = (self.now() + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
        data = {
            "token-id": token_id,
            "token-secret": secret,
            "expiration": end,
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": groups,
        }
        body = {
            "metadata": {"name": f"bootstrap-token-{token_id}"},
            "type": "bootstrap.kubernetes.io/token",
            "data": {key: encoded(value) for key, value in data.items()},
        }
        self.request("POST", "/api/v1/namespaces/kube-system/secrets", body)
        with self.api.lock:
            self.controllers.sign_cluster_info()
        return f"{token_id}.{secret}"

    def kubeconfig_for(self, name: str, *groups: str, token: str = "", days: float = 365) -> str:
        """The text of a kubeconfig: with a client certificate for this user and these groups, or with a token."""
        if token:
            return kubeconfig.write(self.server, self.server_ca.pem, user=name, token=token)
        pair = self.ca.issue(Identity(name, groups), days=days)
        return kubeconfig.write(self.server, self.server_ca.pem, user=name, pair=pair)

    def shipped(self, *names: str) -> Path:
        """A kubeconfig of a user who may do what these files of examples/rbac grant, and nothing else."""
        groups = shipped.grant(self.store, *names)
        user = "-".join((shipped.USER, *names))
        path = self.directory / f"{user}.conf"
        return path if path.exists() else self._file(path.name, self.kubeconfig_for(user, *groups).encode())

    def account(self, name: str) -> Path:
        """A kubeconfig of an account of examples/in-cluster: `look`, `keep` or `join`."""
        shipped.grant(self.store, "accounts", *shipped.OF_ACCOUNTS)
        path = self.directory / f"account-{name}.conf"
        user = f"{shipped.ACCOUNTS}{name}"
        return path if path.exists() else self._file(path.name, self.kubeconfig_for(user).encode())

    @property
    def overstepped(self) -> list[Call]:
        """What was asked over the network by the administrator, or by one of `shipped` or `account` who may not ask
        it."""
        asked = [call for call in self.calls if call.outside]
        refused = [call for call in asked if call.forbidden and call.user.startswith((shipped.USER, shipped.ACCOUNTS))]
        return [call for call in asked if call.user == "kubernetes-admin"] + refused

    def describe(self) -> dict[str, Any]:
        return {"server": self.server, "kubeconfig": str(self.kubeconfig), "version": self.settings.version}
