# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Kubernetes API from the controller: a kubeconfig and plain JSON, over the PyPI package `kubernetes`.

Of that package only the loading of kubeconfigs (certificates, tokens, exec plugins) and its HTTPS client are used:
paths and objects are the API's own, the same for every release of the package.
"""

from __future__ import annotations

import copy
import re
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from .answer import Answer, Object, StrangeAnswerError, checked, text
from .error import ClusterError

_missing: ImportError | None = None
try:
    # Not where it is used: Ansible loads an action before it forks its workers, so that a run pays for this once.
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
STRANGE_TIMES = 5
"""So often something is asked for that is answered by what the API server cannot have said."""
PATIENCE_S = 60.0
"""How long a request is repeated that fails for a moment: the restart of an API server behind no load balancer."""
FIRST_PATIENCE_S = 3.0
"""The same for a server that has never answered: it may just be the wrong address."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
_PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+)")


class Send(Protocol):
    """How a request reaches the API: an Answer, or what begins as one. Raises ClusterError where there is none."""

    def __call__(
        self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str
    ) -> Answer | tuple[int, bytes] | tuple[int, bytes, float]: ...


class Listen(Protocol):
    """How a stream of the API is read: the messages of the WebSocket at `path`, until the server closes it.

    Raises ClusterError, with the status of the answer if the server refuses, and when `timeout_s` are up.
    """

    def __call__(self, path: str, timeout_s: float) -> Iterator[bytes]: ...


class Converse(Protocol):
    """How a stream of the API is read while something is sent: see `conversation.conversation`."""

    def __call__(self, path: str, stdin: Iterable[bytes], protocols: Sequence[str]) -> Iterator[tuple[int, bytes]]: ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def wait_for(
    clock: Clock, timeout_s: float, what: Callable[[], T | None], sentence: str = "", interval_s: float = 1.0
) -> T:
    """What `what` returns as soon as that is not None; it is asked at least twice, at the begin and at the end. That a
    cluster does not answer for a while ends nothing.

    ClusterError with `sentence`, and what the last attempt said, when `timeout_s` are up.
    """
    end = clock.now() + timeout_s
    while True:
        failed: ClusterError | None = None
        try:
            if (found := what()) is not None:
                return found
        except ClusterError as error:
            if not error.passing:
                raise
            failed = error
        left = end - clock.now()
        if left <= 0:
            said = sentence or f"Waited {timeout_s:g} s in vain."
            raise ClusterError(f"{said} The last attempt: {failed}" if failed else said) from failed
        clock.sleep(min(interval_s, left))


class Cluster:
    """One cluster. `server` is its address and `ca_pem` the certificates that it is trusted by (empty: the
    controller's own), both as the kubeconfig says."""

    def __init__(
        self,
        server: str,
        ca_pem: bytes,
        send: Send,
        listen: Listen | None = None,
        converse: Converse | None = None,
        dates: Sequence[str] = (),
    ) -> None:
        self.server = server
        self.ca_pem = ca_pem
        self._send = send
        self._listen = listen
        self._converse = converse
        self._dates = dates
        self.clock = Clock()
        self._has_answered = False
        self._remembered: dict[str, Object | None] | None = None

    @classmethod
    def open(cls, options: Mapping[str, Any]) -> Cluster | None:
        """From `{"kubeconfig": path on the controller or "", "context": name or ""}`; None without a kubeconfig.

        No request is sent. ClusterError if the file, the context or the package `kubernetes` is missing.
        """
        path = str(options.get("kubeconfig") or "")
        if not path:
            return None
        file = Path(path).expanduser()
        if not file.is_file():
            raise ClusterError(
                f"cluster.kubeconfig: there is no file {path} on the controller; winkube_cluster.kubeconfig names it."
            )
        configuration = _configuration(file, str(options.get("context") or ""))
        ca_file = getattr(configuration, "ssl_ca_cert", None)
        ca_pem = Path(ca_file).read_bytes() if ca_file else b""
        try:
            tls = _tls(configuration)
        except (OSError, ValueError) as error:
            raise ClusterError(f"cluster.kubeconfig: the certificates of {file} cannot be used: {error}.") from error
        finally:
            _forget_files()
        dates: deque[str] = deque(maxlen=1)
        return cls(
            str(configuration.host).rstrip("/"),
            ca_pem,
            _sender(configuration, tls, dates),
            _listener(configuration, tls),
            _converser(configuration, tls),
            dates,
        )

    @property
    def server_time(self) -> datetime | None:
        """The API server's clock as its last answer had it, in whole seconds (the header Date); None before any."""
        try:
            return parsedate_to_datetime(self._dates[-1])
        except (IndexError, ValueError):
            return None

    def remembering(self) -> Self:
        """This cluster, of which each path is asked once from now on: for a plan, which waits for nothing."""
        self._remembered = {}
        return self

    def get(self, path: str) -> Object | None:
        """The object at `path` (`/api/v1/nodes/win1`), None if there is none. ClusterError for everything else."""
        if self._remembered is None:
            return self._request("GET", path, missing=True)
        if path not in self._remembered:
            self._remembered[path] = self._request("GET", path, missing=True)
        return copy.deepcopy(self._remembered[path])

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """POST `body` to the collection `path`."""
        return self._request("POST", path, body) or {}

    def patch(self, path: str, body: Mapping[str, Any], kind: str = "merge") -> Object:
        """PATCH the object at `path`; `kind` is `merge` or `strategic`."""
        return self._request("PATCH", path, body, _PATCH_TYPES[kind]) or {}

    def replace(self, path: str, body: Mapping[str, Any]) -> Object:
        """PUT `body` to `path`; for subresources that want the whole object, such as a CSR's approval."""
        return self._request("PUT", path, body) or {}

    def delete(self, path: str, uid: str = "") -> bool:
        """DELETE the object at `path`; False if there is none. `uid`: only that one, no other of the same name.

        Source: kubernetes apimachinery pkg/apis/meta/v1/types.go, Preconditions.
        """
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}} if uid else None
        try:
            return self._request("DELETE", path, options, missing=True) is not None
        except ClusterError as error:
            if not uid or error.status != 409:
                raise
            return False

    def listen(self, path: str, timeout_s: float) -> Iterator[bytes]:
        """The messages of the WebSocket at `path`; see Listen."""
        if self._listen is None:
            raise ClusterError(f"{self.server}{path} cannot be followed: this connection has no streams.")
        return self._listen(path, timeout_s)

    def converse(self, path: str, stdin: Iterable[bytes], protocols: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        """(channel, bytes) of the exec at `path`, which is sent `stdin`; see `conversation.conversation`."""
        if self._converse is None:
            raise ClusterError(f"{self.server}{path} cannot be spoken with: this connection has no streams.")
        return self._converse(path, stdin, protocols)

    def items(self, path: str) -> list[Object]:
        """The objects of the collection `path`; an API group that the cluster does not serve has none.

        That there are none is believed when it is said twice: one of several API servers may lag behind the others.
        """
        remembered = {} if self._remembered is None else self._remembered
        known = path in remembered
        found = self.get(path)
        if found is not None and not found.get("items") and not known:
            remembered.pop(path, None)
            found = self.get(path)
        return list((found or {}).get("items") or ())

    def text(self, path: str) -> str:
        """What GET `path` answers where that is text, such as a pod's log. ClusterError."""

        def ask() -> str:
            answer = Answer(*self._send("GET", path, None, "application/json"))
            return text("GET", f"{self.server}{path}", path, answer)

        return self.insist(ask)

    def node(self, name: str) -> Object | None:
        """A Node."""
        return self.get(f"/api/v1/nodes/{name}")

    def nodes(self) -> list[Object]:
        """All Nodes."""
        return self.items("/api/v1/nodes")

    def version(self) -> str:
        """The API server's version, such as 1.37.1, without a vendor's suffix."""
        said = str((self.get("/version") or {}).get("gitVersion", ""))
        match = _VERSION.match(said)
        if match is None:
            raise ClusterError(f"{self.server}/version says '{said}', which is not a version of Kubernetes.")
        return match.group(1)

    def daemon_sets(self) -> list[Object]:
        """The DaemonSets of all namespaces."""
        return self.items("/apis/apps/v1/daemonsets")

    def config_map(self, namespace: str, name: str) -> Object | None:
        """A ConfigMap."""
        return self.get(f"/api/v1/namespaces/{namespace}/configmaps/{name}")

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        *,
        missing: bool = False,
    ) -> Object | None:
        try:
            return self._insist(method, path, body, content_type, missing=missing)
        except _LostAnswerError as lost:
            # The first attempt may have made the object, and only its answer was lost.
            there = self.get(f"{path}/{((body or {}).get('metadata') or {}).get('name')}")
            if there is not None and _is_ours(there, body or {}):
                return there
            raise lost.conflict from None

    def _insist(
        self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str, *, missing: bool
    ) -> Object | None:
        attempts = 0

        def ask() -> Object | None:
            nonlocal attempts
            attempts += 1
            try:
                answer = Answer(*self._send(method, path, body, content_type))
                return checked(method, f"{self.server}{path}", path, answer, missing=missing)
            except ClusterError as error:
                if attempts > 1 and error.status == 409 and method == "POST":
                    raise _LostAnswerError(error) from error
                # Whoever drains a node goes by this refusal, and asks again by itself.
                error.passing &= not error.is_budget
                raise

        return self.insist(ask)

    def insist(self, work: Callable[[], T]) -> T:
        """What `work` returns; it is repeated, with growing pauses, while the failure is one that passes."""
        began, pause, repeated, strange = self.clock.now(), FIRST_PAUSE_S, False, 0
        while True:
            try:
                answer = work()
                self._has_answered = True
                return answer
            except ClusterError as error:
                if not error.passing:
                    raise
                strange += isinstance(error, StrangeAnswerError)
                self._has_answered |= error.status > 0
                patience = PATIENCE_S if self._has_answered else FIRST_PATIENCE_S
                waited = self.clock.now() - began
                wait = max(pause, error.after_s)
                if waited + wait > patience or strange >= STRANGE_TIMES:
                    said = f"Gave up after {waited:.0f} s, the last error was: {error}" if repeated else str(error)
                    raise ClusterError(said, error.status, passing=True) from error
                self.clock.sleep(wait)
                pause, repeated = min(2 * pause, LONGEST_PAUSE_S), True


class _LostAnswerError(Exception):
    """Something that was to be made is there already, after an attempt whose answer was lost."""

    def __init__(self, conflict: ClusterError) -> None:
        super().__init__(str(conflict))
        self.conflict = conflict


def _is_ours(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an object has all labels and annotations that we wanted for it, and some: those of a run are its own."""
    there, ours = found.get("metadata") or {}, wanted.get("metadata") or {}
    marks = [(key, name, value) for key in ("labels", "annotations") for name, value in (ours.get(key) or {}).items()]
    return bool(marks) and all((there.get(key) or {}).get(name) == value for key, name, value in marks)


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
    """With the certificates of the kubeconfig, read now."""
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
    """Remove the files to which the package has written what a kubeconfig has inline, private keys among it.

    The package removes them when its process ends as Python processes do; Ansible's workers do not.
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
    """The package's HTTPS client behind this kubeconfig's certificates, token and proxy. `dates` gets the header Date
    of the last answer."""
    client: Any = RESTClientObject(configuration)
    keywords = client.pool_manager.connection_pool_kw
    for name in ("cert_file", "key_file", "ca_certs", "ca_cert_data", "cert_reqs", "assert_hostname"):
        keywords.pop(name, None)
    keywords["ssl_context"] = tls
    keywords["retries"] = False  # urllib3's own have no pause, and would come on top of ours

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
        except ApiException as error:  # releases of the package before 30 raise for every status that is not a success
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
    """What `work` returns or raises; ClusterError with `late` when it takes longer.

    By a thread, since the time limits of urllib3 count from one piece of an answer to the next: what trickles has none.
    A thread that is late is left to itself.
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
    """Seconds; 0 where the server names none, or a date."""
    text = str((headers or {}).get("Retry-After") or "")
    return float(text) if text.isdigit() else 0
