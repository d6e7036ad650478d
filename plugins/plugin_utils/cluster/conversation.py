# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program in a container that is sent something on its standard input: exec of the Kubernetes API, both ways."""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .error import ClusterError
from .stream import V5, connected

with suppress(ImportError):  # `connected` says what is missing
    from websocket import ABNF, WebSocketConnectionClosedException, WebSocketException

CONNECT_S = 30.0
PING_S = 15.0
SILENT_S = 60.0
"""A server that has not even answered a ping for so long is lost. Load balancers end what is quiet for some minutes:
the pings keep the way open, too."""
PIECE = 32 * 1024
"""What kubectl sends at once: io.Copy's buffer."""
_STDIN, _CLOSE = 0, 255


def conversation(
    configuration: Any, tls: ssl.SSLContext, path: str, stdin: Iterable[bytes], protocols: Sequence[str]
) -> Iterator[tuple[int, bytes]]:
    """(channel, bytes) of the exec at `path`, while it is sent `stdin`, until the server closes it.

    The program sees the end of its input only where the server speaks v5. ClusterError if the server refuses, with the
    status of its answer, or is lost.
    """
    server = str(configuration.host)
    try:
        with connected(configuration, tls, path, CONNECT_S, protocols) as socket:
            socket.settimeout(SILENT_S)
            with _speaking(socket, stdin):
                yield from _heard(socket)
    except WebSocketConnectionClosedException as error:
        raise ClusterError(f"{server} closed the connection without the program's exit status.") from error
    except (WebSocketException, OSError, ValueError) as error:
        raise ClusterError(f"The connection to {server} was lost: {str(error) or type(error).__name__}.") from error


def _heard(socket: Any) -> Iterator[tuple[int, bytes]]:
    while True:
        kind, frame = socket.recv_data_frame(control_frame=True)
        if kind == ABNF.OPCODE_CLOSE:
            return
        if kind == ABNF.OPCODE_BINARY and frame.data:
            yield frame.data[0], bytes(frame.data[1:])


@contextmanager
def _speaking(socket: Any, stdin: Iterable[bytes]) -> Iterator[None]:
    """Sends in a thread of its own: a program may answer before it has read everything."""
    over = threading.Event()

    def speak() -> None:
        pinged = time.monotonic()
        # What went wrong is told to the thread that listens, by the same connection.
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
