"""As much of HTTP/1.1 as WinRM's clients use: requests with a Content-Length, connections that stay open."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

SERVER = "winkube-lab-simulated"
MAX_HEAD = 65536
MAX_BODY = 8 * 1024 * 1024
_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    411: "Length Required",
    413: "Payload Too Large",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


class BadRequestError(Exception):
    """What arrived cannot be read: `status` and a sentence. The connection ends after the answer."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class Request:
    """One request. authority: the `host:port` that it is meant for; headers: by their names in lower case."""

    method: str
    authority: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes = b""
    kind: str = "application/soap+xml;charset=UTF-8"
    headers: tuple[tuple[str, str], ...] = ()


def hurry(writer: asyncio.StreamWriter) -> None:
    """Acknowledge the next bytes at once.

    urllib3 leaves Nagle's algorithm on for connections to a proxy: the body of each request would wait for the kernel's
    delayed acknowledgement of its head, 40 ms.
    """
    if hasattr(socket, "TCP_QUICKACK"):  # Linux; nothing but time is lost without
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    """The next request, with its body; None when the client has gone. BadRequestError."""
    try:
        hurry(writer)
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, OSError):
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequestError(400, f"the head of the request has more than {MAX_HEAD} bytes") from error
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequestError(400, f"this is no request of HTTP/1.1: {first:.80}")
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise BadRequestError(400, f"this is no header: {line:.80}")
        headers[name.strip().lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise BadRequestError(411, "the lab reads bodies with a Content-Length only")
    length = headers.get("content-length", "0")
    if not length.isdigit() or int(length) > MAX_BODY:
        raise BadRequestError(413, f"Content-Length is {length:.20}; the lab takes up to {MAX_BODY} bytes")
    try:
        body = await reader.readexactly(int(length))
    except (asyncio.IncompleteReadError, OSError):
        return None
    return _request(words[0], words[1], headers, body)


def _request(method: str, target: str, headers: Mapping[str, str], body: bytes) -> Request:
    """target: `host:port` (CONNECT), an absolute URL (to a proxy), or a path."""
    if method == "CONNECT":
        return Request(method, target, "", headers, body)
    if target.startswith("/"):
        return Request(method, headers.get("host", ""), target, headers, body)
    url = urlsplit(target)
    return Request(method, url.netloc.rpartition("@")[2], url.path or "/", headers, body)


async def write_response(writer: asyncio.StreamWriter, response: Response) -> None:
    lines = [
        f"HTTP/1.1 {response.status} {_REASONS[response.status]}",
        *(f"{name}: {value}" for name, value in _all_headers(response)),
    ]
    writer.write("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + response.body)
    await writer.drain()


def _all_headers(response: Response) -> Iterable[tuple[str, str]]:
    if response.body:
        yield "Content-Type", response.kind
    yield "Server", SERVER
    yield from response.headers
    yield "Content-Length", str(len(response.body))


def text(status: int, sentence: str) -> Response:
    return Response(status, f"{sentence}\r\n".encode(), "text/plain; charset=utf-8")
