"""The small HTTP server that stands for `{web}` in the cases."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class _Handler(BaseHTTPRequestHandler):
    """GET only. /proxied is what a proxy is asked for: its path is then a whole URL."""

    def do_GET(self) -> None:
        path = self.path
        if path.startswith("http://behind-the-proxy"):
            self._answer(200, b"through the proxy")
        elif path == "/hello":
            self._answer(200, b"hello")
        elif path == "/big":
            self._answer(200, b"x" * 5000)
        elif path == "/page":
            self._answer(200, b"<!DOCTYPE html><html>log in first</html>")
        elif path == "/moved":
            self._answer(302, b"", {"Location": "/hello"})
        elif path == "/round":
            self._answer(302, b"", {"Location": "/round"})
        elif path == "/short":
            self._answer(200, b"hel", {"Content-Length": "5"})
        elif path == "/secret":
            told = self.headers.get("X-Token") == "open-sesame"
            self._answer(200 if told else 403, b"told" if told else b"who are you")
        elif path == "/sick":
            self._answer(503, b"not yet")
        else:
            self._answer(404, b"nothing here")

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        given = {"Content-Length": str(len(body)), **(headers or {})}
        self.send_response(status)
        for name, value in given.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def serve() -> Iterator[str]:
    """`127.0.0.1:PORT` of the server, for as long as the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
