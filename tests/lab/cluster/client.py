"""How a program on a node asks the API: in-process, with everything checked that TLS would check."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.lab.cluster.api import Request
from tests.lab.cluster.cluster import Cluster, at_address
from tests.lab.cluster.kubeconfig import Access, BadKubeconfigError, read
from tests.lab.cluster.pki import BadCertificateError, belong_together, same_key
from tests.lab.machine.errors import WinError
from tests.lab.machine.network import NetworkError

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

MERGE = "application/merge-patch+json"


class UnreachableError(Exception):
    """No answer of the API server; the sentence is that of a Go client."""


class RefusedError(Exception):
    """An answer that is no success: its status and the server's sentence."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def windows(path: str, folder: str) -> str:
    """A path of a configuration as Go on Windows takes it: `/etc/x` is on the current drive, relative below folder."""
    text = path.replace("/", "\\")
    if text.startswith("\\"):
        return f"C:{text}"
    return text if text[1:2] == ":" else f"{folder}\\{text}"


def load(node: SimulatedNode, path: str) -> Access:
    """A kubeconfig on the node's drive. BadKubeconfigError, also when it or a file it names is missing."""

    def content(name: str) -> bytes:
        try:
            return node.drive.read(windows(name, node.drive.parent(path)))
        except WinError as error:
            raise BadKubeconfigError(f"open {name}: {error.text}") from error

    return read(content(path).decode("utf-8-sig", errors="replace"), content)


class NodeClient:
    """Requests with the credentials of one kubeconfig. insecure: the server's certificate is not looked at."""

    def __init__(self, node: SimulatedNode, access: Access, *, insecure: bool = False) -> None:
        self._node, self._access, self._insecure = node, access, insecure

    @property
    def ca(self) -> bytes:
        """Of the API server's certificate, PEM."""
        return self._access.ca

    @property
    def server(self) -> str:
        return self._access.server

    def _cluster(self, url: str) -> Cluster:
        parts = urlsplit(self._access.server)
        host, port = (parts.hostname or "").lower(), parts.port or 443
        if parts.scheme != "https" or not host:
            raise UnreachableError(f'unsupported protocol scheme "{parts.scheme}"')
        network = self._node.network
        if not network.up():
            raise UnreachableError(
                f"{url}: dial tcp {host}:{port}: connectex: A socket operation was attempted to an unreachable network."
            )
        try:
            found = at_address(network.resolve(host, port))
        except NetworkError as error:
            if host not in {"127.0.0.1", "localhost"}:
                raise UnreachableError(f"{url}: dial tcp: lookup {host}: no such host") from error
            found = None
        if found is None:
            refused = "connectex: No connection could be made because the target machine actively refused it."
            raise UnreachableError(f"{url}: dial tcp {host}:{port}: {refused}")
        if not self._insecure:
            self._verify(found, url, host)
        return found

    def _verify(self, cluster: Cluster, url: str, host: str) -> None:
        """As a TLS client: the authority, the name, and the time by the node's own clock."""
        failed = f"{url}: tls: failed to verify certificate: x509:"
        try:
            known = bool(self._access.ca) and same_key(self._access.ca, cluster.server_ca.pem)
            cluster.server_ca.verify(cluster.server_certificate, self._node.clock.utc(), "server auth")
        except BadCertificateError as error:
            raise UnreachableError(f"{failed} {str(error).removeprefix('x509: ')}") from error
        if not known:
            raise UnreachableError(f"{failed} certificate signed by unknown authority")
        if host not in cluster.names:
            raise UnreachableError(f"{failed} certificate is valid for {', '.join(sorted(cluster.names))}, not {host}")

    def send(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> dict[str, Any]:
        """The answer's object. UnreachableError, RefusedError."""
        url = f'{method.capitalize()} "{self._access.server}{path}"'
        cluster = self._cluster(url)
        certificate = b""
        if self._access.pair is not None:
            try:
                if not belong_together(self._access.pair.certificate, self._access.pair.key):
                    raise UnreachableError("tls: private key does not match public key")
            except BadCertificateError as error:
                raise UnreachableError(str(error)) from error
            certificate = self._access.pair.certificate
        data = b"" if body is None else json.dumps(body).encode()
        plain, _, query = path.partition("?")
        pairs = dict(item.partition("=")[::2] for item in query.split("&") if item)
        request = Request(method, plain, pairs, data, kind, self._access.token, certificate)
        response = cluster.from_node(self._node, request)
        if not 200 <= response.status < 300:
            raise RefusedError(response.status, str(response.json.get("message")))
        return response.json

    def get(self, path: str) -> dict[str, Any]:
        return self.send("GET", path)

    def show_config(self, name: str, document: dict[str, Any], client_ca: bytes, serving: bytes) -> None:
        """Leaves a kubelet's configuration where the API server finds it when it is asked for /configz of the Node, and
        what both would verify of each other: in the lab no request goes from the API server to a node. `client_ca`: by
        which it knows its callers; `serving`: its certificate, empty for one that it has made itself.
        """
        cluster = self._cluster("configz")
        with cluster.api.lock:
            cluster.api.proxied[name, "configz"] = {"kubeletconfig": document}
            cluster.api.trust[name] = (client_ca, serving)

    def pods_of(self, name: str) -> list[dict[str, Any]]:
        """The pods that the scheduler gave to a Node. A kubelet watches them; here it asks where there are any."""
        if not self._cluster("pods").has_pods(name):
            return []
        return list(self.get(f"/api/v1/pods?fieldSelector=spec.nodeName={name}")["items"])

    def find(self, path: str) -> dict[str, Any] | None:
        """None for 404."""
        try:
            return self.send("GET", path)
        except RefusedError as error:
            if error.status == 404:
                return None
            raise
