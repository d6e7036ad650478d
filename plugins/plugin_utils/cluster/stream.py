# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams of the Kubernetes API over WebSockets, through the package websocket-client, a dependency of `kubernetes`.

kubernetes.stream is unsuitable: it connects without a time limit and has no option for one (ws_client.create_websocket;
`_request_timeout` starts after the connection), and a refusal loses its HTTP status. Source: kubernetes 37.0.2.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from ..engine.printable import make_sentence
from .access import Access
from .answer import LONGEST_MESSAGE, decode_object, read_first_line
from .error import ClusterError, passes
from .proxy import credentials

_missing: ImportError | None = None
try:
    from websocket import (
        ABNF,
        WebSocket,
        WebSocketBadStatusException,
        WebSocketConnectionClosedException,
        WebSocketException,
        WebSocketTimeoutException,
    )
except ImportError as error:
    _missing = error

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
"""Both have standard output on channel 1, errors on 2 and the exit status on 3. Only v5 can close standard input:
API servers speak it from Kubernetes 1.30 on (gate TranslateStreamCloseWebsocketRequests), with any kubelet release.
Source: kubernetes staging/src/k8s.io/apimachinery/pkg/util/remotecommand/constants.go,
pkg/features/kube_features.go."""
PROTOCOLS = (V5, V4)


def messages(reached: Access, path: str, timeout_s: float) -> Iterator[bytes]:
    """A `client.Listen` with this kubeconfig's certificates, token and proxy."""
    end = time.monotonic() + timeout_s
    where = _describe_target(reached, path)
    try:
        with connect(reached, path, timeout_s) as socket:
            while True:
                left = end - time.monotonic()
                if left <= 0:
                    raise WebSocketTimeoutException("no time is left")
                socket.settimeout(left)
                kind, data = socket.recv_data()
                if kind == ABNF.OPCODE_CLOSE:
                    return
                yield data if isinstance(data, bytes) else data.encode()
    except WebSocketConnectionClosedException:
        return
    except (WebSocketTimeoutException, TimeoutError) as error:
        raise ClusterError(f"{where} had not ended after {timeout_s:g} s.") from error
    except (WebSocketException, OSError, ValueError) as error:
        raise ClusterError(f"{where} cannot be followed: {error}.") from error


@contextmanager
def connect(reached: Access, path: str, timeout_s: float, protocols: Sequence[str] = PROTOCOLS) -> Iterator[WebSocket]:
    """The WebSocket at `path` with one of the protocols; closed afterwards.

    ClusterError, with the answer's status, if the server refuses or cannot be reached: then no program has started, and
    the error may be temporary. Later errors are websocket-client's own, including timeouts.
    """
    if _missing is not None:
        raise ClusterError(
            f"The Python package websocket-client is missing on the controller ({_missing}); it is needed to run "
            "programs in pods: pip install websocket-client."
        ) from _missing
    socket: Any = WebSocket(sslopt=_options(reached), enable_multithread=True)
    try:
        _connect(socket, reached, path, timeout_s, protocols)
        yield socket
    finally:
        socket.close()


def _connect(socket: Any, reached: Access, path: str, timeout_s: float, protocols: Sequence[str]) -> None:
    socket.settimeout(timeout_s)
    try:
        socket.connect(
            f"{reached.server.replace('http', 'ws', 1)}{path}",
            header=[f"{name}: {value}" for name, value in reached.identity()],
            subprotocols=list(protocols),
            redirect_limit=0,
            **_proxy(reached),
        )
    except WebSocketBadStatusException as error:
        status = int(error.status_code)
        raise ClusterError(
            f"{_describe_target(reached, path)} was answered with {status}: {_reason(error)}.",
            status,
            passing=passes(path, status, _reason(error)),
        ) from error
    except (WebSocketTimeoutException, TimeoutError):
        raise
    except (WebSocketException, OSError) as error:
        raise ClusterError(f"{_describe_target(reached, path)} cannot be reached: {error}.", passing=True) from error


def _describe_target(reached: Access, path: str) -> str:
    return f"{reached.server}{path.partition('?')[0]}"


def _reason(error: WebSocketBadStatusException) -> str:
    """The message of the Status object in a refusal."""
    body = error.resp_body or b""
    text = body.decode(errors="replace") if isinstance(body, bytes) else str(body)
    message = make_sentence((decode_object(text) or {}).get("message") or "", LONGEST_MESSAGE)
    return (message or read_first_line(text.encode()) or "no reason was given").rstrip(".")


def _options(reached: Access) -> dict[str, Any]:
    options: dict[str, Any] = {"context": reached.tls}
    if reached.server_name:
        options["server_hostname"] = reached.server_name
    return options


def _proxy(reached: Access) -> dict[str, Any]:
    """websocket-client asks the environment if it is given no host, or no exceptions."""
    if not reached.proxy:
        return {"http_proxy_host": "none", "http_no_proxy": ["*"]}
    parts = urlsplit(reached.proxy)
    return {
        "http_proxy_host": parts.hostname,
        "http_proxy_port": parts.port or (80 if parts.scheme == "http" else 1080),
        "http_proxy_auth": credentials(parts),
        "proxy_type": parts.scheme,
        "http_no_proxy": ["none"],
    }


with suppress(ImportError):  # `connect` says what is missing
    from websocket import ABNF, WebSocketConnectionClosedException, WebSocketException

CONNECT_S = 30.0
PING_S = 15.0
SILENT_S = 60.0
"""Seconds without even an answer to a ping after which a server counts as lost. The pings also keep load balancers
from ending a quiet connection."""
PIECE = 32 * 1024
"""The size of kubectl's writes: io.Copy's buffer."""
_STDIN, _CLOSE = 0, 255


def conversation(
    reached: Access, path: str, stdin: Iterable[bytes], protocols: Sequence[str]
) -> Iterator[tuple[int, bytes]]:
    """(channel, bytes) of the exec at `path`, with `stdin` as its input, until the server closes it.

    The program sees the end of its input only if the server speaks v5. ClusterError if the server refuses, with the
    status of its answer, or is lost.
    """
    server = reached.server
    try:
        with connect(reached, path, CONNECT_S, protocols) as socket:
            socket.settimeout(SILENT_S)
            with _speaking(socket, stdin):
                yield from _listen(socket)
    except WebSocketConnectionClosedException as error:
        raise ClusterError(f"{server} closed the connection without the program's exit status.") from error
    except (WebSocketException, OSError, ValueError) as error:
        raise ClusterError(f"The connection to {server} was lost: {str(error) or type(error).__name__}.") from error


def _listen(socket: Any) -> Iterator[tuple[int, bytes]]:
    while True:
        kind, frame = socket.recv_data_frame(control_frame=True)
        if kind == ABNF.OPCODE_CLOSE:
            return
        if kind == ABNF.OPCODE_BINARY and frame.data:
            yield frame.data[0], bytes(frame.data[1:])


@contextmanager
def _speaking(socket: Any, stdin: Iterable[bytes]) -> Iterator[None]:
    """Send in a separate thread: a program may answer before it has read everything."""
    over = threading.Event()

    def speak() -> None:
        pinged = time.monotonic()
        # The listening thread gets the error through the connection.
        with suppress(WebSocketException, OSError):
            for piece in stdin:
                for start in range(0, len(piece), PIECE):
                    if over.is_set():
                        return
                    socket.send_binary(bytes([_STDIN]) + piece[start : start + PIECE])
                    if time.monotonic() - pinged >= PING_S:
                        socket.ping()
                        pinged = time.monotonic()
            if socket.getsubprotocol() == V5:
                socket.send_binary(bytes([_CLOSE, _STDIN]))
            while not over.wait(PING_S):
                socket.ping()

    thread = threading.Thread(target=speak, name="winkube-exec-stdin", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
