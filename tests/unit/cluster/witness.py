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
from typing import Any

from tests.lab.cluster.pki import Authority, Identity

HOST = "127.0.0.1"


@cache
def authority() -> Authority:
    """The one that signs the server's certificate and those of its clients."""
    return Authority()


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
    with ThreadingHTTPServer((HOST, 0), _Witness) as server:
        server.daemon_threads = True
        if tls:
            server.socket = context().wrap_socket(server.socket, server_side=True)
        server.handle_error = lambda *_about: None  # type: ignore[method-assign]  # who does not trust it hangs up
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


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
