"""The same files over http and over https: a server that leads elsewhere, sends too much, or never ends."""

from __future__ import annotations

import hashlib
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.lab.cluster.pki import Authority, Identity
from tests.unit.cluster import witness

PROGRAM = b"MZ, a program"
SHA256 = hashlib.sha256(PROGRAM).hexdigest()


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.connection.settimeout(5)
        name, _, rest = self.path[1:].partition("/")
        if name == "to":
            self.send_response(302)
            self.send_header("Location", rest)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif name == "sums":
            self._send(b"sum", 3)
        elif name == "kubelet.exe.sha256":
            self._send(SHA256.encode(), 64)
        elif name == "kubelet.exe":
            self._send(PROGRAM, len(PROGRAM))
        elif name == "announced":
            self._send(b"", 10**10)
        elif name == "endless":
            self._send(b"x" * 3_000_000)
        else:
            self._trickle()

    def _send(self, body: bytes, length: int | None = None) -> None:
        self.send_response(200)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def _trickle(self) -> None:
        """A byte now and then, in the headers: each comes within every limit of its own."""
        try:
            self.wfile.write(b"HTTP/1.0 200 OK\r\nX: ")
            for _byte in range(100):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.05)
        except OSError:
            pass

    def log_message(self, *_words: object) -> None:
        """Nothing."""


@contextmanager
def _serving(context: ssl.SSLContext | None = None) -> Iterator[int]:
    with witness.running(witness.Server(_Server, context)) as server:
        yield server.port


@contextmanager
def serve_both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """The addresses of http and of https, whose certificate this process trusts meanwhile."""
    authority = Authority()
    pair = authority.issue(Identity("files", (), ("localhost",)), ["server auth"])
    (folder / "ca.pem").write_bytes(authority.pem)
    (folder / "both.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    monkeypatch.setenv("no_proxy", "*")
    with _serving() as plain, _serving(context) as tls:
        yield f"http://localhost:{plain}", f"https://localhost:{tls}"
