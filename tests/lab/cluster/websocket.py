"""The server's side of a WebSocket, as far as exec needs it. Source: RFC 6455."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Any

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _BINARY, _CLOSE, _PING, _PONG = 1, 2, 8, 9, 10
STDIN, STDOUT, STDERR, STATUS, CLOSE_OF = 0, 1, 2, 3, 255


def protocols(version: str) -> tuple[str, ...]:
    """What an API server of this release speaks: v5 from 1.30 on, where TranslateStreamCloseWebsocketRequests is on."""
    return (V5, V4) if int(version.split(".")[1]) >= 30 else (V4,)


def accept(key: str) -> str:
    """The answer to a WebSocket's key. Source: RFC 6455, section 1.3."""
    return base64.b64encode(hashlib.sha1(f"{key}{_MAGIC}".encode(), usedforsecurity=False).digest()).decode()


def frame(opcode: int, payload: bytes) -> bytes:
    """One whole frame of a server: not masked. Source: RFC 6455, section 5.2."""
    size = len(payload)
    if size < 126:
        length = bytes([size])
    elif size < 65536:
        length = b"\x7e" + size.to_bytes(2, "big")
    else:
        length = b"\x7f" + size.to_bytes(8, "big")
    return bytes([0x80 | opcode]) + length + payload


@dataclass
class Channels:
    """The streams of one exec. `protocol` is what was agreed on."""

    reader: BufferedIOBase
    writer: BufferedIOBase
    protocol: str
    gone: bool = field(default=False, init=False)
    """The client has closed the connection."""

    def begin(self) -> None:
        """A kubelet writes nothing to standard output first, so that a client sees that it is there."""
        self.writer.write(frame(_BINARY, bytes([STDOUT])))

    def say(self, channel: int, data: bytes) -> None:
        """In pieces, as the kubelet's copying makes them."""
        for start in range(0, len(data), 32768):
            self.writer.write(frame(_BINARY, bytes([channel]) + data[start : start + 32768]))

    def end(self, code: int | None, why: str = "") -> None:
        """The program's exit code; None if it was not started."""
        self.say(STATUS, json.dumps(_status(self.protocol, code, why)).encode())
        self.writer.write(frame(_CLOSE, (1000).to_bytes(2, "big")))

    def stdin(self) -> Iterator[bytes]:
        """What comes on standard input, to its end, which only v5 tells; else until the client is gone."""
        while (message := self._message()) is not None:
            if message[:1] == bytes([STDIN]):
                yield message[1:]
            elif self.protocol == V5 and message[:2] == bytes([CLOSE_OF, STDIN]):
                return
        self.gone = True

    def _message(self) -> bytes | None:
        while True:
            head = self.reader.read(2)
            if len(head) < 2:
                return None
            opcode, size = head[0] & 0x0F, head[1] & 0x7F
            if size >= 126:
                size = int.from_bytes(self.reader.read(2 if size == 126 else 8), "big")
            mask = self.reader.read(4) if head[1] & 0x80 else b"\0\0\0\0"
            data = _unmasked(self.reader.read(size), mask)
            if opcode == _PING:
                self.writer.write(frame(_PONG, data))
            elif opcode == _CLOSE:
                return None
            elif opcode in {_TEXT, _BINARY}:
                return data


def _status(protocol: str, code: int | None, why: str) -> dict[str, Any]:
    """The Status object that ends an exec: a kubelet's own with v4; with v5 the API server has read it and says it in
    its own words. Source: tests/fixtures/exec, which tests/real/exec_server says."""
    v5 = protocol == V5
    said: dict[str, Any] = {"metadata": {}} if v5 else {}
    if code is None:
        message = f"Internal error occurred: {why}"
        if v5:
            details = {"details": {"causes": [{"message": message}]}}
            message = f"Internal error occurred: {message}"
        else:
            details = {}
        return said | {"status": "Failure", "message": message, "reason": "InternalError", **details, "code": 500}
    if not code:
        return said | {"status": "Success"}
    words = "command terminated with exit code" if v5 else "exit status"
    return said | {
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {words} {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }


def _unmasked(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    repeated = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
