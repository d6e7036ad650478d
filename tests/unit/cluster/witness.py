"""A server that answers with what it was asked: over TLS with the lab's authority, or over plain HTTP."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from tests.lab.cluster.pki import Authority, Identity

HOST, HANDSHAKE_S = "127.0.0.1", 30


@cache
def authority() -> Authority:
    """The one that signs the server's certificate and those of its clients."""
    return Authority()


class Server(ThreadingHTTPServer):
    """On 127.0.0.1, over TLS where it has a context. The handshake belongs to the connection's own thread: in `accept`
    one client that says nothing would hold up all others, and the server's end with them."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None) -> None:
        super().__init__((HOST, 0), handler)
        self.tls = tls

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.tls is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(HANDSHAKE_S)
        with self.tls.wrap_socket(request, server_side=True) as secured:
            secured.settimeout(None)
            super().finish_request(secured, client_address)

    def handle_error(self, *_about: Any) -> None:
        """Who does not trust it hangs up."""


S = TypeVar("S", bound=Server)


@contextmanager
def running(server: S) -> Iterator[S]:
    """It answers; it and its thread end with it."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Witness(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # its connections stay open

    def do_GET(self) -> None:
        said = json.dumps({"kind": "Seen", "gitVersion": "v1.37.1", "seen": self._describe()}).encode()
        self.send_response(401 if self.headers.get("Authorization") == "Bearer expired" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def _describe(self) -> dict[str, Any]:
        kept = ("authorization", "impersonate-")
        headers = [[name.title(), value] for name, value in self.headers.items() if name.lower().startswith(kept)]
        subject = dict(each[0] for each in (self._certificate() or {}).get("subject", ()))
        return {"path": self.path, "headers": sorted(headers), "certificate": subject.get("commonName", "")}

    def _certificate(self) -> Any:
        return self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None

    def log_message(self, *_words: Any) -> None:
        """Nothing: a test reads the answers."""


@contextmanager
def serving(*, tls: bool) -> Iterator[int]:
    """Its port on 127.0.0.1."""
    with running(Server(_Witness, context() if tls else None)) as server:
        yield server.port


def context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority().issue(Identity("witness", (), ("witness.example",), (HOST,)), ["server auth"])
    with TemporaryDirectory() as folder:
        both = Path(folder, "both.pem")
        both.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(both)
    context.load_verify_locations(cadata=authority().pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    return context
