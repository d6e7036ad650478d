"""The small HTTP server that stands for `{web}` in the cases. It refuses who does not say what he is (User-Agent)."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Page:
    """What a GET whose target begins with `start` is answered, if the request has the header `header` (any: empty), and
    has not the header `lacks`; without `says_length` it ends where the connection ends. `pause_s` comes before it."""

    start: str
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    header: str = ""
    lacks: str = ""
    says_length: bool = True
    pause_s: float = 0

    @property
    def request(self) -> str:
        """How the request's first line begins."""
        return f"GET {self.start}"

    def raw(self) -> bytes:
        """The whole answer."""
        length = {"Content-Length": str(len(self.body))} if self.says_length else {}
        given = {**length, **self.headers, "Connection": "close"}
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}", *map(": ".join, given.items())]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


PAGES = (
    # As some mirrors, proxies and firewalls do with who does not say what he is.
    Page("", 403, b"say what you are", lacks="User-Agent: "),
    # What a proxy is asked for: a whole URL.
    Page("http://behind-the-proxy", body=b"through the proxy"),
    # ann:open%20sesame
    Page("http://behind-the-door", body=b"let in", header="Proxy-Authorization: Basic YW5uOm9wZW4gc2VzYW1l\r\n"),
    Page("http://behind-the-door", 407, b"who are you", headers={"Proxy-Authenticate": 'Basic realm="door"'}),
    Page("/hello ", body=b"hello"),
    Page("/big ", body=b"x" * 5000),
    Page("/stream-of-five ", body=b"hello", says_length=False),
    Page("/stream ", body=b"x" * 5000, says_length=False),
    Page("/page ", body=b"<!DOCTYPE html><html>log in first</html>"),
    Page("/moved ", 302, headers={"Location": "/hello"}),
    # Over five pages to the last one.
    Page("/moved-5 ", 301, headers={"Location": "/moved-4"}),
    Page("/moved-4 ", 302, headers={"Location": "/moved-3"}),
    Page("/moved-3 ", 307, headers={"Location": "/moved-2"}),
    Page("/moved-2 ", 308, headers={"Location": "/moved"}),
    Page("/round ", 302, headers={"Location": "/round"}),
    Page("/short ", body=b"hel", headers={"Content-Length": "5"}),
    Page("/secret ", body=b"told", header="X-Token: open-sesame\r\n"),
    Page("/secret ", 403, b"who are you"),
    Page("/sick ", 503, b"not yet"),
    Page("/late ", body=b"at last", pause_s=3),
    Page("", 404, b"nothing here"),
)
"""The first that fits answers."""


class _Handler(BaseHTTPRequestHandler):
    """GET only."""

    def do_GET(self) -> None:
        headers = "".join(f"{name}: {value}\r\n" for name, value in self.headers.items()).lower()
        fits = (page for page in PAGES if self.requestline.startswith(page.request) and page.header.lower() in headers)
        page = next(page for page in fits if not (page.lacks and page.lacks.lower() in headers))
        time.sleep(page.pause_s)
        self.wfile.write(page.raw())
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class _Six(ThreadingHTTPServer):
    address_family = socket.AF_INET6


@contextmanager
def serve() -> Iterator[str]:
    """`127.0.0.1:PORT` of the server, for as long as the block lasts."""
    with _served(ThreadingHTTPServer(("127.0.0.1", 0), _Handler)) as port:
        yield f"127.0.0.1:{port}"


@contextmanager
def serve_six() -> Iterator[str | None]:
    """`[::1]:PORT` of the same server at IPv6, None where this machine has no IPv6."""
    try:
        server = _Six(("::1", 0), _Handler)
    except OSError:
        yield None
        return
    with _served(server) as port:
        yield f"[::1]:{port}"


@contextmanager
def _served(server: ThreadingHTTPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
