"""What the controller reads over the network itself: a server leads elsewhere, sends too much, or never ends."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.transfer import download

from tests.lab.cluster.pki import Authority, Identity

PLAIN: dict[str, str] = {}
"""`{port}`: where the server speaks plain http."""


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
def serving(context: ssl.SSLContext | None = None) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_about: None  # type: ignore[method-assign]
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """The same files over http and over https."""
    authority = Authority()
    pair = authority.issue(Identity("files", (), ("localhost",)), ["server auth"])
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    (tmp_path / "both.pem").write_bytes(pair.certificate + pair.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "both.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("no_proxy", "*")
    with serving() as plain, serving(context) as tls:
        yield f"http://localhost:{plain}", f"https://localhost:{tls}"


def test_a_redirect_is_followed_but_never_to_a_weaker_scheme(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, tls = servers
    assert download.read(f"{tls}/sums") == b"sum"
    assert download.read(f"{tls}/to//sums") == b"sum", "on the same server"
    assert download.read(f"{plain}/to/{tls}/sums") == b"sum", "to a stronger one"
    for ask in (download.read, lambda address: download.save(address, tmp_path / "file", 5)):
        with pytest.raises(OSError, match=r"redirected from https to http://localhost:\d+/sums; that is not followed"):
            ask(f"{tls}/to/{plain}/sums")
        with pytest.raises(OSError, match="redirected from http to file:///etc/passwd; that is not followed"):
            ask(f"{plain}/to/file:///etc/passwd")
    with pytest.raises(OSError, match=r"http://\*\*\*@other/\?sig=\*\*\*; that is not followed"):
        download.read(f"{tls}/to/http://ann:s3cret@other/?sig=s3cret")


def test_a_circle_ends(servers: tuple[str, str]) -> None:
    plain, _tls = servers
    with pytest.raises(OSError, match="more than 5 redirects"):
        download.read(f"{plain}/to/" + "/to/" * 8 + "/sums")


def test_what_is_too_large_is_not_read(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, _tls = servers
    with pytest.raises(OSError, match="it has 10000000000 bytes, and at most 4194304 are read"):
        download.read(f"{plain}/announced")
    with pytest.raises(OSError, match="it has more than the 2000000 bytes that are read"):
        download.save(f"{plain}/endless", tmp_path / "file", 5, 2_000_000)
    assert (tmp_path / "file").stat().st_size <= 2_000_000


def test_a_trickle_ends_with_the_time(servers: tuple[str, str]) -> None:
    plain, _tls = servers
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no end after 0\.3 s"):
        download.read(f"{plain}/trickle", timeout_s=0.3)
    assert time.monotonic() - began < 3
