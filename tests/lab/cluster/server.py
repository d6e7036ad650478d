"""The API over HTTPS on 127.0.0.1; a program run in a pod answers over a WebSocket, as `kubectl exec` has it."""

from __future__ import annotations

import json
import socket
import ssl
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.lab.cluster.api import Request, Response
from tests.lab.cluster.trouble import refusal, spoiled
from tests.lab.cluster.websocket import Channels, accept

Answer = Callable[[Request], Response]


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away, or does not trust the certificate, is no error of the lab."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class HttpsServer:
    """Serves `answer`; a client certificate is asked for, and verified against the CA by TLS. `epoch`: what its clock
    says, in seconds since 1970 UTC."""

    def __init__(
        self,
        answer: Answer,
        certificate: Path,
        key: Path,
        ca: Path,
        protocols: tuple[str, ...],
        epoch: Callable[[], float],
    ) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.load_verify_locations(ca)
        context.verify_mode = ssl.CERT_OPTIONAL
        self.protocols = protocols
        self.trouble: Callable[[Request], str] = lambda request: ""
        """What befalls a request: a mode of trouble.py, or nothing."""
        self.released = threading.Event()
        """Set when those who hang may go."""
        handler = _handler(
            answer, context, lambda: self.protocols, lambda request: self.trouble(request), epoch, self.released
        )
        self._server = _Server(("127.0.0.1", 0), handler)
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="winkube-lab-api", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def _handler(
    answer: Answer,
    context: ssl.SSLContext,
    spoken: Callable[[], tuple[str, ...]],
    trouble: Callable[[Request], str],
    epoch: Callable[[], float],
    released: threading.Event,
) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        server_version = "winkube-lab-simulated"
        sys_version = ""
        protocol_version = "HTTP/1.1"
        timeout = 60
        disable_nagle_algorithm = True

        def setup(self) -> None:
            # The handshake belongs here, in the request's own thread: a client that never answers blocks nobody.
            self.request.settimeout(10)
            self.request = context.wrap_socket(self.request, server_side=True)
            super().setup()

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(epoch() if timestamp is None else timestamp)

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            parts = urlsplit(self.path)
            kind, _, token = (self.headers.get("Authorization") or "").partition(" ")
            found = self.request.getpeercert(binary_form=True)
            pairs = parse_qsl(parts.query, keep_blank_values=True)
            request = Request(
                self.command,
                unquote(parts.path),
                dict(pairs),
                self.rfile.read(length) if length else b"",
                self.headers.get("Content-Type") or "application/json",
                token.strip() if kind.lower() == "bearer" else "",
                ssl.DER_cert_to_PEM_cert(found).encode() if found else b"",
                tuple(value for name, value in pairs if name == "command"),
                outside=True,
            )
            befalls = trouble(request)
            if befalls == "hang":
                released.wait(60)
            if befalls in {"hang", "reset"}:
                self._cut()
                return
            if (refused := refusal(befalls)) is not None:
                self._say(*refused)
                return
            response = answer(request)
            if befalls == "lost":
                self._cut()
            elif response.status == 101:
                self._stream(response, dropped=befalls == "dropped")
            elif befalls == "trickle":
                self._trickle(response)
            else:
                body = spoiled(befalls, response) if befalls and response.status < 300 else response.body
                self._say(response.status, body, response.kind, {}, cut=befalls == "cut")

        def _say(self, status: int, body: bytes, kind: str, headers: dict[str, str], *, cut: bool = False) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if cut else body)
            if cut:
                self._cut()

        def _trickle(self, response: Response) -> None:
            self.send_response(response.status)
            self.send_header("Content-Type", response.kind)
            self.send_header("Content-Length", str(10**6))
            self.end_headers()
            while not released.wait(0.05):
                self.wfile.write(b" ")

        def _cut(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        def _stream(self, response: Response, *, dropped: bool) -> None:
            """A program in a pod, over a WebSocket: its messages are known already, or it is spoken with."""
            key = self.headers.get("Sec-WebSocket-Key") or ""
            offered = [item.strip() for item in (self.headers.get("Sec-WebSocket-Protocol") or "").split(",")]
            protocols = spoken()
            chosen = next((item for item in protocols if item in offered), "")
            if (self.headers.get("Upgrade") or "").lower() != "websocket" or not key:
                self.send_error(400, "you must use an upgrade to a WebSocket")
                return
            if not chosen:  # Source: kubernetes apimachinery pkg/util/httpstream/wsstream/conn.go, golang.org/x/net
                self.send_error(403, f"requested protocol(s) are not supported: {offered}; supports {list(protocols)}")
                return
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Sec-WebSocket-Accept", accept(key))
            self.send_header("Sec-WebSocket-Protocol", chosen)
            self.end_headers()
            channels = Channels(self.rfile, self.wfile, chosen)
            channels.begin()
            self.close_connection = True
            if dropped:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if response.program is not None:
                if not response.program(channels):
                    self.connection.shutdown(socket.SHUT_RDWR)
                return
            found = json.loads(response.body)
            for channel, text in found["said"]:
                channels.say(channel, text.encode())
            channels.end(found["code"], found["why"])

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *arguments: object) -> None:
            """`Api.calls` is the log."""

    return Handler
