"""One exec over a WebSocket, frame by frame: what is compared between the lab and real servers."""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from websocket import ABNF, WebSocket, WebSocketBadStatusException

from tests.lab.cluster.websocket import CLOSE_OF, STATUS, STDIN, V4, V5

CASES: tuple[tuple[tuple[str, ...], str | None], ...] = (
    (("say", "out", "err"), None),
    (("big", "100000"), None),
    (("exit", "3"), None),
    (("fail", "The system cannot find the file specified."), None),
    (("head", "3"), "hello"),
    (("cat",), "hello"),
    (("cat",), ""),
)
"""Words and standard input, null for none; tests/real/exec_server/main.go has what they mean."""
OFFERS = ((V5, V4), (V4,), (V5,), ("nothing.k8s.io",))


@dataclass(frozen=True)
class Asked:
    """One conversation. `translate`: whether the API server knows v5."""

    words: tuple[str, ...]
    stdin: str | None
    offered: tuple[str, ...]
    translate: bool


def asked() -> Iterator[Asked]:
    """All that are compared. cat ends only where its input can be closed, which v5 alone does."""
    for translate in (True, False):
        for offered in OFFERS:
            ends = translate and V5 in offered
            for words, stdin in CASES:
                if ends or words[0] != "cat":
                    yield Asked(words, stdin, offered, translate)


def talk(url: str, one: Asked, tls: ssl.SSLContext | None = None) -> dict[str, Any]:
    """`{refused: status}`, or `{protocol, first, said: {channel: text}, status, closed}`: the first frame as (channel,
    bytes), what was said on each channel together, the Status object, the code of the frame that closes."""
    switches = {"stdin": one.stdin is not None, "stdout": True, "stderr": True}
    query = [*(("command", word) for word in one.words), *((name, str(on).lower()) for name, on in switches.items())]
    socket: Any = WebSocket(sslopt={"context": tls} if tls else None)
    socket.settimeout(10)
    try:
        socket.connect(f"{url}?{urlencode(query)}", subprotocols=list(one.offered))
    except WebSocketBadStatusException as refused:
        return {"refused": refused.status_code}
    with contextlib.closing(socket):
        if one.stdin is not None:
            socket.send_binary(bytes([STDIN]) + one.stdin.encode())
        if one.words[0] == "cat":
            socket.send_binary(bytes([CLOSE_OF, STDIN]))
        return {"protocol": socket.getsubprotocol(), **_heard(list(_frames(socket)))}


def _frames(socket: Any) -> Iterator[tuple[int, bytes]]:
    while True:
        kind, frame = socket.recv_data_frame(control_frame=True)
        yield kind, bytes(frame.data)
        if kind == ABNF.OPCODE_CLOSE:
            return


def _heard(frames: Sequence[tuple[int, bytes]]) -> dict[str, Any]:
    *messages, (_kind, closing) = frames
    said: dict[int, bytes] = {}
    for _kind, data in messages:
        said[data[0]] = said.get(data[0], b"") + data[1:]
    status = said.pop(STATUS, b"null")
    return {
        "first": [messages[0][1][0], len(messages[0][1]) - 1],
        "said": {str(channel): _short(data.decode()) for channel, data in sorted(said.items()) if data},
        "status": json.loads(status),
        "closed": int.from_bytes(closing[:2], "big"),
    }


def _short(text: str) -> str:
    return text if len(text) < 100 else f"{len(text)} characters, of these {len(set(text))} different"
