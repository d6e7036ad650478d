# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds that the node fetches from the controller: a web server for the duration of one batch.

It serves only the parts of these builds, and only to requests with the task's token, which is in a header.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ..engine import windows_path
from ..engine.batch import Op
from ..engine.secret import Secret
from .progress import Progress
from .push import Pushed, Ready

ANY_PORT = range(1)
QUIET_S = 30
"""Seconds of silence after which a node's connection is closed."""
_CHUNK = 256 * 1024
_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


class ServeError(Exception):
    """Nothing can be served; the text is a sentence."""


@dataclass(slots=True)
class Served:
    """The server as the task sees it: its address, and what has been fetched. `on_part` gets the size of each
    completely fetched file."""

    host: str
    port: int
    token: Secret[str]
    files: Mapping[str, Path]
    on_part: Callable[[int], None] = lambda size: None
    sent: dict[str, int] = field(default_factory=dict)
    first: float = 0.0
    last: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def url(self, name: str) -> str:
        """The address of one file."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/{name}"

    @property
    def headers(self) -> dict[str, Secret[str]]:
        """The required request header."""
        return {"Authorization": Secret(f"Bearer {self.token.reveal()}")}

    def begin(self) -> None:
        """Record that a request with the token has come."""
        with self._lock:
            self.first = self.first or time.monotonic()

    def note(self, name: str, count: int) -> None:
        """Record that `count` bytes of a file have been sent."""
        with self._lock:
            self.sent[name] = count
            self.last = time.monotonic()
            is_whole = count == self.files[name].stat().st_size
        if is_whole:
            self.on_part(count)


def ports_of(text: str) -> range:
    """`8800` or `8800-8899`; an empty text means any free port. ServeError for anything else."""
    if not text:
        return ANY_PORT
    match = _PORTS.fullmatch(text.replace(" ", ""))
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 0 < first <= last < 65536:
        raise ServeError(f"pull_ports: '{text}' is neither a port nor a range of ports, such as 8800-8899.")
    return range(first, last + 1)


def address_towards(peer: str) -> str:
    """This controller's own address on the route to `peer`, a name or address; nothing is sent. ServeError without a
    route."""
    try:
        family, kind, protocol, _name, address = socket.getaddrinfo(peer, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind, protocol) as way:
            way.connect(address)
            return str(way.getsockname()[0])
    except OSError as error:
        raise ServeError(
            f"it is unknown which of the controller's addresses {peer} can reach ({error.strerror}): give pull_address."
        ) from error


@contextmanager
def serve(
    files: Mapping[str, Path], host: str, ports: range = ANY_PORT, on_part: Callable[[int], None] = lambda size: None
) -> Iterator[Served]:
    """Serve `files` (name -> path) at `host`, the node's name for the controller, while the context is open.
    ServeError if no port of `ports` is free."""
    served = Served(host, 0, Secret(secrets.token_urlsafe(32)), dict(files), on_part)
    server = _bind(served, ports)
    served.port = int(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _bind(served: Served, ports: range) -> _Server:
    """A server on the address of `host`, or on all addresses if this machine does not have it, as behind NAT."""
    failed: OSError | None = None
    for family, address in _list_own_addresses(served.host):
        for port in ports:
            try:
                return _Server(family, (address, port), _handler(served))
            except OSError as error:
                failed = error
    where = f"port {ports.start}" if len(ports) == 1 else f"any of the ports {ports.start}-{ports.stop - 1}"
    raise ServeError(
        f"the controller cannot listen on {where if ports != ANY_PORT else 'any port'}"
        f" ({failed.strerror if failed else 'no address'})."
    )


def _list_own_addresses(host: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    with suppress(OSError):
        for family, _kind, _protocol, _name, address in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
            with suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as trial:
                trial.bind((str(address[0]), 0))
                found.append((family, str(address[0])))
    return found or [(socket.AF_INET, "")]


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, family: int, address: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = family
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without asking DNS for the own name, which can take seconds; also at a recently used port."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Print nothing: an incomplete fetch is noticed elsewhere."""


def _handler(served: Served) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "winkube"
        sys_version = ""
        timeout = QUIET_S

        def do_GET(self) -> None:
            wanted = served.headers["Authorization"].reveal().encode()
            given = (self.headers.get("Authorization") or "").encode("utf-8", "replace")
            name = self.path.removeprefix("/")
            if not secrets.compare_digest(given, wanted):
                return self._nothing(403)
            if name not in served.files:
                return self._nothing(404)
            served.begin()
            path = served.files[name]
            count = 0
            with path.open("rb") as file:
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream")
                self.send_header("Content-Length", str(path.stat().st_size))
                self.end_headers()
                while chunk := file.read(_CHUNK):
                    count += len(chunk)
                    served.note(name, count)  # before: the node may finish before this thread continues
                    self.wfile.write(chunk)
            return None

        def _nothing(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:
            """Log nothing."""

    return Handler


REACH_S = 15
"""Seconds for which the node tries to reach the controller: a firewall that drops packets gives no error."""


@dataclass(frozen=True, slots=True)
class Offer:
    """Builds by name, and the server with their parts."""

    builds: Mapping[str, Ready]
    served: Served

    def fetches(self, name: str, timeout_s: int) -> tuple[Op, ...]:
        """The ops with which the node fetches the parts of one build; each is checked against its sha256."""
        ready = self.builds[name]
        if not ready.files:
            return ()
        reach = {"for": "tcp", "host": self.served.host, "port": self.served.port, "timeout_s": REACH_S}
        return (
            Op("wait", reach),
            *(
                Op(
                    "fetch",
                    {
                        "url": self.served.url(windows_path.name(there)),
                        "path": there,
                        "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
                        "timeout_s": timeout_s,
                        "headers": self.served.headers,
                    },
                ).with_undo(Op("remove", {"path": there, "in_use_ok": True}))
                for file, there in zip(ready.files, ready.remote, strict=True)
            ),
        )

    def build_result(self, name: str) -> Pushed:
        """What was fetched of one build."""
        ready = self.builds[name]
        count = sum(self.served.sent.get(windows_path.name(there), 0) for there in ready.remote)
        return ready.build_result(count, max(0.0, self.served.last - self.served.first))


@contextmanager
def serve_files(
    builds: Mapping[str, Ready], host: str, ports: range, progress: Callable[[Progress], None]
) -> Iterator[Offer]:
    """Serve the parts of these builds at `host` while the context is open; `progress` is called after each.
    ServeError if that is impossible."""
    files = {
        windows_path.name(there): file
        for ready in builds.values()
        for file, there in zip(ready.files, ready.remote, strict=True)
    }
    sizes = [file.stat().st_size for file in files.values()]
    started, done = time.monotonic(), list[int]()

    def on_part(size: int) -> None:
        done.append(size)
        progress(Progress(len(done), len(files), sum(done), sum(sizes), time.monotonic() - started))

    with serve(files, host, ports, on_part) as served:
        yield Offer(dict(builds), served)
