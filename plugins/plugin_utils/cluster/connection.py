# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How requests reach the Kubernetes API from the controller, over urllib3, which the package `kubernetes` needs.

Paths and objects are the API's own: no release of that package has to know them.
"""

from __future__ import annotations

import json
import re
import ssl
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from ..engine.address import mask
from ..engine.secret import Secret
from ..engine.time_limit import run_within
from .access import Access, access
from .answer import Answer
from .error import ClusterError
from .proxy import credentials

_missing: ImportError | None = None
try:
    # Imported here, not where it is used: Ansible loads an action before it forks its workers, so a run pays for this
    # once.
    import urllib3
    from urllib3.exceptions import HTTPError
except ImportError as error:
    _missing = error

UNKNOWN = 401
REQUEST_S = 30
"""Seconds for one request, from the connection to the last byte of the answer."""
MEGA = 1024 * 1024
LARGEST = 256 * MEGA
"""Bytes of an answer that is read: the list of 10,000 full pods has about 200 MB."""
_PIECE = 256 * 1024
_SECONDS = re.compile(r"[0-9]{1,6}")
"""Retry-After, as a number. Source: RFC 9110, 10.2.3."""


class Send(Protocol):
    """Sends a request to the API: returns an Answer, or what begins as one. Raises ClusterError without one."""

    def __call__(
        self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str
    ) -> Answer | tuple[int, bytes] | tuple[int, bytes, float]: ...


class Listen(Protocol):
    """Reads a stream of the API: the messages of the WebSocket at `path`, until the server closes it.

    Raises ClusterError, with the answer's status if the server refuses, and when `timeout_s` are up.
    """

    def __call__(self, path: str, timeout_s: float) -> Iterator[bytes]: ...


class Converse(Protocol):
    """Reads a stream of the API while sending input: see `stream.conversation`."""

    def __call__(self, path: str, stdin: Iterable[bytes], protocols: Sequence[str]) -> Iterator[tuple[int, bytes]]: ...


@dataclass(frozen=True, slots=True)
class Connection:
    """`server` is the API's address and `ca_pem` its CA certificates (empty: the controller's own), both from the
    kubeconfig. `dates` has the header Date of the last answer."""

    server: str
    ca_pem: bytes
    send: Send
    listen: Listen | None = None
    converse: Converse | None = None
    dates: Sequence[str] = ()
    with_token: Callable[[Secret[str]], Connection] | None = None
    """The same API, asked with this token alone."""


def connection(files: Sequence[Path], context: str) -> Connection:
    """From a context of kubeconfigs, "" for the current one. No request is sent.

    ClusterError if the context or the package urllib3 is missing.
    """
    if _missing is not None:
        raise ClusterError(
            f"The Python package urllib3 is missing on the controller ({_missing}); it is needed for what is asked of "
            "the cluster: pip install kubernetes, which brings it."
        ) from _missing
    return _connect(access(files, context))


def _connect(reached: Access) -> Connection:
    dates: deque[str] = deque(maxlen=1)
    return Connection(
        reached.server,
        reached.ca_pem,
        _sender(reached, dates),
        _listener(reached),
        _converser(reached),
        dates,
        lambda token: _connect(reached.with_token(token)),
    )


def _listener(reached: Access) -> Listen:
    def listen(path: str, timeout_s: float) -> Iterator[bytes]:
        from .stream import messages  # few runs follow a stream

        return messages(reached, path, timeout_s)

    return listen


def _converser(reached: Access) -> Converse:
    def converse(path: str, stdin: Iterable[bytes], protocols: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        from .stream import conversation

        return conversation(reached, path, stdin, protocols)

    return converse


def _sender(reached: Access, dates: deque[str]) -> Send:
    """`dates` gets the header Date of the last answer."""
    options: dict[str, Any] = {"ssl_context": reached.tls, "server_hostname": reached.server_name or None}
    pool = _pool(reached, options)
    renewals = len(reached.renewals)

    def ask(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> Answer:
        headers = urllib3.HTTPHeaderDict({"Accept": "application/json", "Content-Type": content_type})
        headers.extend(reached.identity())
        nonlocal renewals
        if len(reached.renewals) > renewals:
            renewals = len(reached.renewals)
            pool.clear()  # the connections that are open have the old certificate
        try:
            answer = pool.request(
                method,
                f"{reached.server}{path}",
                body=None if body is None else json.dumps(body),
                headers=headers,
                timeout=urllib3.Timeout(total=REQUEST_S),
                redirect=False,
                retries=False,  # urllib3's own have no pause, and would add to ours
                preload_content=False,
            )
            data = _read(answer, f"{method} {reached.server}{path}")
        except (HTTPError, OSError, ValueError) as error:  # ValueError: what http.client refuses to send
            raise _unreachable(reached.server, error) from error
        if date := answer.headers.get("Date"):
            dates.append(date)
        return _answer(answer.status, data, answer.headers)

    def send(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> Answer:
        late = f"{method} {reached.server}{path} was not answered whole within {REQUEST_S:g} s."
        try:  # urllib3's time limits apply to each piece of an answer, so a trickle has no limit
            answer = run_within(REQUEST_S, lambda: ask(method, path, body, content_type))
            if answer.status == UNKNOWN and reached.forget():
                answer = run_within(REQUEST_S, lambda: ask(method, path, body, content_type))
            return answer
        except TimeoutError as error:
            raise ClusterError(late, passing=True) from error

    return send


def _read(answer: Any, what: str) -> bytes:
    """The body of an answer. ClusterError for one that is too large, before it is read whole."""
    pieces, size = [], 0
    try:
        for piece in answer.stream(_PIECE, decode_content=True):
            size += len(piece)
            if size > LARGEST:
                answer.close()
                raise ClusterError(
                    f"{what} was answered with more than {LARGEST // MEGA} MB, which is not read. Something between "
                    "the controller and the API server may have spoken, or the cluster has more objects than this."
                )
            pieces.append(piece)
    finally:
        answer.release_conn()
    return b"".join(pieces)


def _unreachable(server: str, error: Exception) -> ClusterError:
    cause = error.args[0] if error.args else None
    if not isinstance(cause, ssl.SSLCertVerificationError):
        return ClusterError(
            f"{server} cannot be asked: {_find_reason(error)}. Is the API server up, and does the controller reach "
            "this address of the kubeconfig? `kubectl get nodes` asks it as well.",
            passing=True,
        )
    return ClusterError(
        f"{server} is not trusted: {cause.verify_message.rstrip('.')}. The kubeconfig says whom to trust: "
        "certificate-authority-data or certificate-authority, and tls-server-name."
    )


def _find_reason(error: Exception) -> str:
    """The operating system's words, where they are behind it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error).rstrip(".")


def _pool(reached: Access, options: Mapping[str, Any]) -> Any:
    if not reached.proxy:
        return urllib3.PoolManager(**options)
    if not reached.proxy.startswith("socks"):
        user = credentials(urlsplit(reached.proxy))
        headers = urllib3.make_headers(proxy_basic_auth=":".join(user)) if user else None
        return urllib3.ProxyManager(reached.proxy, proxy_headers=headers, **options)
    if find_spec("socks") is None:
        raise ClusterError(
            "The Python package PySocks is missing on the controller; it is needed for the proxy "
            f"{mask(reached.proxy)}: pip install PySocks."
        )
    from urllib3.contrib.socks import SOCKSProxyManager

    return SOCKSProxyManager(reached.proxy, **options)


def _answer(status: int, data: bytes, headers: Mapping[str, str]) -> Answer:
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return Answer(status, data, _retry_after(headers), kind, headers.get("Location", ""))


def _retry_after(headers: Mapping[str, str]) -> float:
    """Seconds; 0 if the server names none, or a date."""
    text = headers.get("Retry-After", "")
    return float(text) if _SECONDS.fullmatch(text) else 0
