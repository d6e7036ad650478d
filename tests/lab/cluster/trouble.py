"""What goes wrong between a controller and an API server: one lane of faults, that every request may befall.

    lab.https.trouble = Trouble("html", every=3)      one request in three
    lab.https.trouble = Trouble("hang", after=5)      from the sixth on, for ever

The names are what `HttpsServer` knows; MODES says what each is.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.lab.cluster.store import ApiError

if TYPE_CHECKING:
    from tests.lab.cluster.api import Request, Response

MODES = {
    "429": "priority and fairness refuses",
    "500": "etcd has no leader",
    "503": "the API server is starting",
    "hang": "no answer ever comes",
    "reset": "the connection is cut before the request is carried out",
    "lost": "the connection is cut after it was carried out",
    "trickle": "the answer comes byte by byte and never ends",
    "cut": "half of the announced bytes come",
    "half": "half of a JSON object comes, as if it were whole",
    "html": "a proxy's page to log in, with 200",
    "html-404": "a proxy's own page for what it does not find",
    "redirect": "302 to a page to log in",
    "empty": "200 without a body",
    "null": "200 and null",
    "failed": "200 and a Status that failed",
    "wrong-kind": "200 and an object of another kind",
    "deep": "200 and JSON as deep as a well",
    "401": "the credentials are over",
    "410": "the resourceVersion is too old",
    "dropped": "a stream that was opened is cut",
    "contradiction": "a list is empty that the next request finds full",
}
PAGE = b"<html><head><title>Sign in</title></head><body>Corporate proxy</body></html>"
_REFUSALS = {
    "401": ("Unauthorized", "Unauthorized"),
    "410": ("Expired", "The resourceVersion for the provided list is too old."),
    "429": ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    "500": ("InternalError", "etcdserver: no leader"),
    "503": ("ServiceUnavailable", "the server is currently unable to handle the request"),
}
NOT_CARRIED_OUT = frozenset({*_REFUSALS, "hang", "reset", "html", "html-404", "redirect"})
"""Modes in which the API server never sees the request."""


@dataclass
class Trouble:
    """Befalls each `every`th request after the first `after` ones, `times` of them; none where `of` is false."""

    mode: str
    every: int = 1
    after: int = 0
    times: int = 10**9
    of: Callable[[Request], bool] = lambda request: True
    asked: int = 0
    befallen: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> str:
        if not self.of(request) or (self.mode == "contradiction" and not _is_list(request)):
            return ""
        if self.mode == "dropped" and not request.path.endswith("/exec"):
            return ""
        with self._lock:
            self.asked += 1
            number = self.asked - self.after
            if number <= 0 or number % self.every or self.befallen >= self.times:
                return ""
            self.befallen += 1
            return self.mode


def _is_list(request: Request) -> bool:
    return request.method == "GET" and request.path.endswith("s")


def refusal(mode: str) -> tuple[int, bytes, str, dict[str, str]] | None:
    """(status, body, content type, headers) of an answer that somebody else than the API gives."""
    if mode in _REFUSALS:
        body = json.dumps(ApiError(int(mode), *_REFUSALS[mode]).body()).encode()
        return int(mode), body, "application/json", {"Retry-After": "1"} if mode in {"429", "503"} else {}
    if mode in {"html", "html-404"}:
        return (404 if mode == "html-404" else 200), PAGE, "text/html; charset=utf-8", {}
    if mode == "redirect":
        return 302, b"", "text/html", {"Location": "https://login.example.com/?back=secret"}
    return None


def spoiled(mode: str, response: Response) -> bytes:
    """What becomes of the body of a good answer on its way."""
    if mode == "half":
        return response.body[: len(response.body) // 2]
    if mode == "contradiction":
        found = json.loads(response.body)
        return json.dumps({**found, "items": []} if "items" in found else found).encode()
    return {
        "empty": b"",
        "null": b"null",
        "failed": json.dumps(ApiError(500, "InternalError", "leader changed").body()).encode(),
        "wrong-kind": b'{"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "x"}}',
        "deep": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    }.get(mode, response.body)
