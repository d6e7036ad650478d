"""kubelet.exe's certificates, judged by kubernetes v1.37.1 pkg/kubelet/certificate/bootstrap/bootstrap.go.

A kubelet's certificates: the client's by TLS bootstrap, the server's by a request that somebody has to approve.

Sources: kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go, pkg/kubelet/certificate/kubelet.go,
client-go util/certificate/certificate_store.go (the files' names).
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tests.lab.cluster import kubeconfig
from tests.lab.cluster.client import NodeClient, RefusedError, UnreachableError, load, windows
from tests.lab.cluster.kubeconfig import BadKubeconfigError
from tests.lab.cluster.pki import BadCertificateError, Identity, make_request, valid_until
from tests.lab.machine.errors import WinError
from tests.lab.programs.daemon import Daemon, ExitError

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
MISSING = "The system cannot find the file specified."


def client(daemon: Daemon, name: str, cert_dir: str) -> Generator[float | None, None, NodeClient | None]:
    """With the kubeconfig, made by TLS bootstrap if need be; None for a kubelet without one. ExitError."""
    node, flags = daemon.node, daemon.flags
    if not flags.text("kubeconfig"):
        return None
    path = windows(flags.text("kubeconfig"), "C:\\")
    bootstrap = flags.text("bootstrap-kubeconfig")
    if not _usable(node, path):
        if not bootstrap:
            raise ExitError(f"failed to run Kubelet: invalid kubeconfig: stat {path}: {MISSING}")
        yield from _bootstrap(daemon, name, path, windows(bootstrap, "C:\\"), cert_dir)
    try:
        return NodeClient(node, load(node, path))
    except BadKubeconfigError as error:
        raise ExitError(f"failed to run Kubelet: invalid kubeconfig: {error}") from error


def _usable(node: SimulatedNode, path: str) -> bool:
    """There, and its certificate, if it has one, has not expired by the node's clock."""
    if not node.drive.is_file(path):
        return False
    try:
        access = load(node, path)
        return access.pair is None or valid_until(access.pair.certificate) > node.clock.utc()
    except (BadKubeconfigError, BadCertificateError):
        return False


def _bootstrap(daemon: Daemon, name: str, path: str, bootstrap: str, cert_dir: str) -> Generator[float | None]:
    node = daemon.node
    try:
        access = load(node, bootstrap)
    except BadKubeconfigError as error:
        raise ExitError(f"failed to run Kubelet: unable to load bootstrap kubeconfig: {error}") from error
    daemon.log("Using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file (simulated)")
    api = NodeClient(node, access)
    request, key = make_request(Identity(f"system:node:{name}", ("system:nodes",)))
    usages = ["digital signature", "client auth"]
    try:
        made = _create(api, "kubernetes.io/kube-apiserver-client-kubelet", request, usages)
        while True:
            yield from daemon.sleep(1.0)
            if daemon.stopping():
                return
            certificate = _issued(api, made)
            if certificate:
                break
    except (UnreachableError, RefusedError) as error:
        raise ExitError(f"failed to run Kubelet: cannot create certificate signing request: {error}") from error
    store(node, cert_dir, "kubelet-client", certificate + key)
    current = f"{cert_dir}\\kubelet-client-current.pem"
    _mkdir(node, node.drive.parent(path))
    text = kubeconfig.write_by_files(access.server, access.ca, "default-auth", current)
    node.drive.write(path, text.encode(), owner="S-1-5-18")


def _create(api: NodeClient, signer: str, request: bytes, usages: list[str]) -> str:
    name = f"csr-{hashlib.sha256(request).hexdigest()[:5]}"
    spec = {"signerName": signer, "request": base64.b64encode(request).decode(), "usages": usages}
    api.send("POST", CSRS, {"metadata": {"name": name}, "spec": spec})
    return name


def _issued(api: NodeClient, name: str) -> bytes:
    """The certificate once it is there. RefusedError when the request was denied or has failed."""
    status: dict[str, Any] = api.get(f"{CSRS}/{name}").get("status") or {}
    kinds = {item.get("type") for item in status.get("conditions") or []}
    if kinds & {"Denied", "Failed"}:
        raise RefusedError(403, f"certificate signing request is not approved, reason: {', '.join(sorted(kinds))}")
    return base64.b64decode(status.get("certificate") or "")


def store(node: SimulatedNode, folder: str, prefix: str, pem: bytes) -> None:
    """`<prefix>-<time>.pem`, and `<prefix>-current.pem` as a link to it."""
    _mkdir(node, folder)
    stamp = node.clock.utc().strftime("%Y-%m-%d-%H-%M-%S")
    path, current = f"{folder}\\{prefix}-{stamp}.pem", f"{folder}\\{prefix}-current.pem"
    node.drive.write(path, pem, owner="S-1-5-18")
    if node.drive.kind(current) is not None:
        node.drive.delete(current)
    node.drive.link(current, path, owner="S-1-5-18")


def _mkdir(node: SimulatedNode, path: str) -> None:
    try:
        node.drive.mkdir(path, "S-1-5-18")
    except WinError as error:
        raise ExitError(f"failed to run Kubelet: mkdir {path}: {error.text}") from error


class ServingCertificate:
    """Asks for one, and looks from time to time whether it has been issued; a refused request is not repeated."""

    def __init__(self, daemon: Daemon, folder: str) -> None:
        self._daemon, self._folder = daemon, folder
        self._request = ""
        self._key = b""
        self.done = daemon.node.drive.exists(f"{folder}\\kubelet-server-current.pem")

    def step(self, api: NodeClient, name: str, addresses: list[str]) -> None:
        if self.done or not addresses:
            return
        try:
            if not self._request:
                identity = Identity(f"system:node:{name}", ("system:nodes",), (name,), tuple(addresses))
                pem, self._key = make_request(identity)
                usages = ["digital signature", "server auth"]
                self._request = _create(api, "kubernetes.io/kubelet-serving", pem, usages)
                return
            certificate = _issued(api, self._request)
        except (UnreachableError, RefusedError) as error:
            self._daemon.log(f"Certificate request of the server was not approved: {error}", "E")
            self.done = isinstance(error, RefusedError)
            return
        if certificate:
            store(self._daemon.node, self._folder, "kubelet-server", certificate + self._key)
            self.done = True
