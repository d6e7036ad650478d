# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How requests reach the Kubernetes API from the controller: with a kubeconfig, through the PyPI package `kubernetes`.

Only the package's loading of kubeconfigs (certificates, tokens, exec plugins) and its HTTPS client are used: paths and
objects are the API's own, the same for every release of the package.
"""

from __future__ import annotations

import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from .answer import Answer
from .error import ClusterError

_missing: ImportError | None = None
try:
    # Imported here, not where it is used: Ansible loads an action before it forks its workers, so a run pays for this
    # once.
    from kubernetes import config
    from kubernetes.client import Configuration
    from kubernetes.client.exceptions import ApiException
    from kubernetes.client.rest import RESTClientObject
    from urllib3.exceptions import HTTPError
except ImportError as error:
    _missing = error

T = TypeVar("T")

REQUEST_S = 30
"""How long one request may take, from the connection to the last byte of the answer, in seconds."""


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
    """Reads a stream of the API while sending input: see `conversation.conversation`."""

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


def connection(file: Path, context: str) -> Connection:
    """From a kubeconfig's context, "" for the current one. No request is sent.

    ClusterError if the file, the context or the package `kubernetes` is missing.
    """
    configuration = _configuration(file, context)
    ca_file = getattr(configuration, "ssl_ca_cert", None)
    ca_pem = Path(ca_file).read_bytes() if ca_file else b""
    try:
        tls = _tls(configuration)
    except (OSError, ValueError) as error:
        raise ClusterError(f"cluster.kubeconfig: the certificates of {file} cannot be used: {error}.") from error
    finally:
        _forget_files()
    dates: deque[str] = deque(maxlen=1)
    return Connection(
        str(configuration.host).rstrip("/"),
        ca_pem,
        _sender(configuration, tls, dates),
        _listener(configuration, tls),
        _converser(configuration, tls),
        dates,
    )


def _configuration(file: Path, context: str) -> Any:
    if _missing is not None:
        raise ClusterError(
            f"The Python package kubernetes is missing on the controller ({_missing}); it is needed for what is asked "
            "of the cluster: pip install kubernetes."
        ) from _missing
    configuration = Configuration()
    load: Any = config.load_kube_config
    try:
        load(
            config_file=str(file),
            context=context or None,
            client_configuration=configuration,
            persist_config=False,  # the file is the user's
        )
    except (config.ConfigException, ValueError, OSError) as error:
        raise ClusterError(
            f"cluster.kubeconfig: {file} cannot be used{f' with the context {context}' if context else ''}: "
            f"{str(error).strip().rstrip('.')}."
        ) from error
    return configuration


def _tls(configuration: Any) -> ssl.SSLContext:
    """TLS with the kubeconfig's certificates, read now."""
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert or None)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif configuration.assert_hostname is not None:
        context.check_hostname = bool(configuration.assert_hostname)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _forget_files() -> None:
    """Delete the files to which the package has written the kubeconfig's inline data, including private keys.

    The package deletes them when a Python process ends normally; Ansible's workers do not.
    """
    forget: Any = getattr(config.kube_config, "_cleanup_temp_files", None)
    if forget is not None:
        forget()


def _listener(configuration: Any, tls: ssl.SSLContext) -> Listen:
    def listen(path: str, timeout_s: float) -> Iterator[bytes]:
        from .stream import messages  # few runs follow a stream

        return messages(configuration, tls, path, timeout_s)

    return listen


def _converser(configuration: Any, tls: ssl.SSLContext) -> Converse:
    def converse(path: str, stdin: Iterable[bytes], protocols: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        from .stream import conversation

        return conversation(configuration, tls, path, stdin, protocols)

    return converse


def _sender(configuration: Any, tls: ssl.SSLContext, dates: deque[str]) -> Send:
    """The package's HTTPS client with this kubeconfig's certificates, token and proxy. `dates` gets the header Date
    of the last answer."""
    client: Any = RESTClientObject(configuration)
    keywords = client.pool_manager.connection_pool_kw
    for name in ("cert_file", "key_file", "ca_certs", "ca_cert_data", "cert_reqs", "assert_hostname"):
        keywords.pop(name, None)
    keywords["ssl_context"] = tls
    keywords["retries"] = False  # urllib3's own have no pause, and would add to ours

    def ask(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> Answer:
        headers = {"Accept": "application/json", "Content-Type": content_type}
        for setting in configuration.auth_settings().values():
            if setting["in"] == "header" and setting["value"]:
                headers[setting["key"]] = setting["value"]
        arguments: dict[str, Any] = {"headers": headers, "_request_timeout": REQUEST_S}
        if body is not None:
            arguments["body"] = dict(body)  # every content type here ends with json: the package encodes it
        try:
            answer = client.request(method, f"{str(configuration.host).rstrip('/')}{path}", **arguments)
            read = getattr(answer, "read", None)
            data = (read() if callable(read) else None) or answer.data or b""
        except ApiException as error:  # before release 30 the package raises for every status that is not a success
            if error.status:
                return _answer(int(error.status), error.body or b"", error.headers)
            raise ClusterError(f"{configuration.host} cannot be asked: {error.reason}.", passing=True) from error
        except (HTTPError, OSError) as error:
            raise ClusterError(f"{configuration.host} cannot be asked: {error}.", passing=True) from error
        heard = getattr(answer, "headers", None) or answer.getheaders()
        if date := (heard or {}).get("Date"):
            dates.append(str(date))
        return _answer(int(answer.status), data, heard)

    def send(method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> Answer:
        late = f"{method} {configuration.host}{path} was not answered whole within {REQUEST_S:g} s."
        return _within(REQUEST_S, lambda: ask(method, path, body, content_type), late)

    return send


def _answer(status: int, data: bytes | str, headers: Any) -> Answer:
    heard = headers or {}
    said = data if isinstance(data, bytes) else data.encode()
    kind = str(heard.get("Content-Type") or "").partition(";")[0].strip().lower()
    return Answer(status, said, _retry_after(heard), kind, str(heard.get("Location") or ""))


def _within(limit_s: float, work: Callable[[], T], late: str) -> T:
    """The result or exception of `work`; ClusterError with `late` if it takes longer.

    It uses a thread: urllib3's time limits apply to each piece of an answer, so a trickle has no limit. A late thread
    is abandoned.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="winkube-request", daemon=True)
    thread.start()
    thread.join(limit_s)
    if failed:
        raise failed[0]
    if not done:
        raise ClusterError(late, passing=True)
    return done[0]


def _retry_after(headers: Any) -> float:
    """Seconds; 0 if the server names none, or a date."""
    text = str((headers or {}).get("Retry-After") or "")
    return float(text) if text.isdigit() else 0
