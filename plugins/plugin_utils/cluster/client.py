# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Kubernetes API from the controller: objects by path, as plain JSON or as the dataclasses that a Record makes.
Requests that fail temporarily are repeated."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from ..engine.clock import Clock
from ..engine.gate import Record, Unexpected
from ..engine.secret import Secret
from ..engine.waiting import Wait
from .access import list_files
from .answer import Answer, Object, StrangeAnswerError, check_answer, refuse_field, text
from .connection import Connection, connection
from .error import CONTINUED, FORBIDDEN, GONE, ClusterError
from .records import CONFIG_MAP, NODE, ConfigMap, NodeObject

T = TypeVar("T")

STRANGE_TIMES = 5
"""The number of attempts if the answers cannot be the API server's."""
PATIENCE_S = 60.0
"""Seconds for which a temporarily failing request is repeated: the restart of an API server without a load balancer."""
FIRST_PATIENCE_S = 3.0
"""The same for a server that has never answered: the address may be wrong."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 8.0
NODES = "/api/v1/nodes"
PIECE = 500
"""How many objects of a list an answer has at most, as for kubectl. Source: k8s.io/kubectl v0.37.0
pkg/cmd/util/helpers.go (DefaultChunkSize), k8s.io/client-go v0.37.1 tools/pager/pager.go (defaultPageSize)."""
_PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_VERSION = re.compile(r"v?(\d+\.\d+\.\d+)")


class Remember(Protocol):
    """Returns the known answer for a path, or asks and keeps the answer."""

    def __call__(self, path: str, ask: Callable[[], Object | None], /) -> Object | None: ...

    def find_item(self, path: str, name: str, ask: Callable[[], Object | None], /) -> Object | None:
        """One item of the collection at `path`."""


def wait_for(
    wait: Wait, timeout_s: float, what: Callable[[], T | None], sentence: str = "", interval_s: float = 1.0
) -> T:
    """The first result of `what` that is not None; it is called at least twice, at the start and at the end. A cluster
    that does not answer for a while does not end the wait, of which `wait` tells the user.

    ClusterError with `sentence`, and the last attempt's error, after `timeout_s` seconds.
    """
    clock, end = wait.clock, wait.clock.now() + timeout_s
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
        wait.sleep(min(interval_s, left), failed or "")


class Cluster:
    """One cluster. It connects at the first request."""

    def __init__(self, connect: Callable[[], Connection], remember: Remember | None = None) -> None:
        """`remember`: where a plan, which waits for nothing, keeps its answers; see `remembering`."""
        self._connection = cache(connect)
        self._remember = remember
        self.clock = Clock()
        self._has_answered = False

    @classmethod
    def open(cls, options: Mapping[str, Any]) -> Cluster | None:
        """From `{"kubeconfig": paths on the controller or "", "context": name or ""}`; None without a kubeconfig.

        No request is sent. ClusterError if the file, the context or the package urllib3 is missing.
        """
        found = cls.remembering(options, None)
        if found is not None:
            found._connection()
        return found

    @classmethod
    def remembering(cls, options: Mapping[str, Any], remember: Remember | None) -> Cluster | None:
        """As `open`, but each path is requested once and its answer remembered; the kubeconfig is read only for a
        request."""
        setting, context = str(options.get("kubeconfig") or ""), str(options.get("context") or "")
        if not setting:
            return None
        files = list_files(setting)
        return cls(lambda: connection(files, context), remember)

    def with_token(self, token: Secret[str]) -> Cluster:
        """The same cluster, asked with this token alone; nothing is remembered."""

        def connect() -> Connection:
            made = self._connection().with_token
            if made is None:
                raise ClusterError("This way to the cluster knows no other credentials.")
            return made(token)

        return Cluster(connect)

    def find_out(self, what: str, ask: Callable[[], Object]) -> Object:
        """The result of `ask`, which asks several things of the cluster, as the answer to `what`; asked once where
        answers are remembered."""
        return self._ask_once(what, ask) or {}

    @property
    def server(self) -> str:
        """The API's address in the kubeconfig."""
        return self._connection().server

    @property
    def ca_pem(self) -> bytes:
        """The CA certificates in the kubeconfig; empty: the controller's own."""
        return self._connection().ca_pem

    @property
    def server_time(self) -> datetime | None:
        """The API server's clock in its last answer, in whole seconds (the header Date); None before any."""
        try:
            return parsedate_to_datetime(self._connection().dates[-1])
        except (IndexError, ValueError):
            return None

    def now(self) -> datetime:
        """The API server's clock, so that controllers agree on what is over whatever their own clocks say; this
        controller's, where the server tells none."""
        if self.server_time is None:
            with suppress(ClusterError):
                self._request("GET", "/version")
        return self.server_time or datetime.now(UTC)

    def get(self, path: str) -> Object | None:
        """The object at `path` (`/api/v1/nodes/win1`), None if there is none. ClusterError for everything else."""
        answer = self._ask_once(path, lambda: self._request("GET", path, missing=True))
        return answer if self._remember is None else copy.deepcopy(answer)

    def _ask_once(self, path: str, ask: Callable[[], Object | None]) -> Object | None:
        return ask() if self._remember is None else self._remember(path, ask)

    def create(self, path: str, body: Mapping[str, Any], *, unique: bool = False) -> Object:
        """POST `body` to the collection `path`. `unique`: no other object can have its name, so that one that is there
        after a lost answer is ours, and need not be read."""
        return self._request("POST", path, body, unique=unique) or {}

    def read(self, path: str, record: Record[T]) -> T | None:
        """The object at `path` as a dataclass, None if there is none. ClusterError."""
        found = self._ask_once(path, lambda: self._request("GET", path, missing=True))
        return None if found is None else self._make("GET", path, record, found)

    def read_all(self, path: str, record: Record[T]) -> tuple[T, ...]:
        """The objects of the collection `path` as dataclasses; see `items`."""
        return tuple(self._make("GET", path, record, each) for each in self.items(path))

    def ask(self, path: str, body: Mapping[str, Any], record: Record[T]) -> T:
        """POST a question, such as an access review, of which nothing is kept; its answer may be remembered."""
        what = f"{path} {json.dumps(body, sort_keys=True)}"
        return self._make("POST", path, record, self._ask_once(what, lambda: self._request("POST", path, body)))

    def _make(self, method: str, path: str, record: Record[T], found: object) -> T:
        try:
            return record(found, "")
        except Unexpected as error:
            raise refuse_field(method, f"{self.server}{path}", str(error)) from None

    def patch(self, path: str, body: Mapping[str, Any], kind: str = "merge") -> Object:
        """PATCH the object at `path`; `kind` is `merge` or `strategic`."""
        return self._request("PATCH", path, body, _PATCH_TYPES[kind]) or {}

    def replace(self, path: str, body: Mapping[str, Any]) -> Object:
        """PUT `body` to `path`; for subresources that want the whole object, such as a CSR's approval."""
        return self._request("PUT", path, body) or {}

    def delete(self, path: str, uid: str = "") -> bool:
        """DELETE the object at `path`; False if there is none. `uid`: only that object, not another of the same name.

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
        listen = self._connection().listen
        if listen is None:
            raise ClusterError(f"{self.server}{path} cannot be followed: this connection has no streams.")
        return listen(path, timeout_s)

    def converse(self, path: str, stdin: Iterable[bytes], protocols: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        """(channel, bytes) of the exec at `path`, with `stdin` as its input; see `stream.conversation`."""
        converse = self._connection().converse
        if converse is None:
            raise ClusterError(f"{self.server}{path} cannot be spoken with: this connection has no streams.")
        return converse(path, stdin, protocols)

    def items(self, path: str) -> list[Object]:
        """The objects of the collection `path`, read-only; an API group that the cluster does not serve has none.

        An empty list is believed only if it comes twice: one of several API servers may lag behind.
        """
        return list((self._ask_once(path, partial(self._list, path)) or {}).get("items") or ())

    def _list(self, path: str) -> Object | None:
        for _time in range(2):
            found = self._list_in_pieces(path)
            if found is None or found.get("items"):
                break
        return found

    def _list_in_pieces(self, path: str) -> Object | None:
        """All pieces are of the time of the first one. A list that can be continued no more is read anew in one piece,
        as client-go does: v0.37.1 tools/pager/pager.go, ListPager with FullListIfExpired."""
        begins = f"{path}{'&' if '?' in path else '?'}limit={PIECE}"
        found = piece = self._request("GET", begins, missing=True)
        items = list((piece or {}).get("items") or ())
        seen: set[str] = set()
        while piece is not None and (token := str((piece.get("metadata") or {}).get("continue") or "")):
            if token in seen:
                raise ClusterError(f"GET {self.server}{path}: the list does not end: the API continues it in a circle.")
            seen.add(token)
            try:
                piece = self._request("GET", f"{begins}{CONTINUED}{quote(token, safe='')}")
            except ClusterError as error:
                if error.status != GONE:
                    raise
                return self._request("GET", path, missing=True)
            items += (piece or {}).get("items") or ()
        return None if found is None else {**found, "items": items}

    def text(self, path: str) -> str:
        """The answer to GET `path` if it is text, such as a pod's log. ClusterError."""

        def ask() -> str:
            answer = Answer(*self._connection().send("GET", path, None, "application/json"))
            return text("GET", f"{self.server}{path}", path, answer)

        return self.insist(ask)

    def node(self, name: str) -> Object | None:
        """A Node. If answers are remembered, from the list of all: a run with many nodes then sends one request."""
        if self._remember is not None:
            try:
                return copy.deepcopy(self._remember.find_item(NODES, name, partial(self._list, NODES)))
            except ClusterError as error:
                if error.status != FORBIDDEN:
                    raise
        return self.get(f"{NODES}/{name}")

    def nodes(self) -> list[Object]:
        return self.items(NODES)

    def find_node(self, name: str) -> NodeObject | None:
        """As `node`, as a dataclass."""
        found = self.node(name)
        return None if found is None else self._make("GET", f"{NODES}/{name}", NODE, found)

    def list_nodes(self, select: str) -> tuple[NodeObject, ...]:
        """The Nodes that a label selector selects."""
        return self.read_all(f"{NODES}?labelSelector={quote(select)}", NODE)

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

    def config_map(self, namespace: str, name: str) -> ConfigMap | None:
        return self.read(f"/api/v1/namespaces/{namespace}/configmaps/{name}", CONFIG_MAP)

    def _request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        *,
        missing: bool = False,
        unique: bool = False,
    ) -> Object | None:
        try:
            return self._insist(method, path, body, content_type, missing=missing)
        except _LostAnswerError as lost:
            if unique:
                return dict(body or {})
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
                answer = Answer(*self._connection().send(method, path, body, content_type))
                return check_answer(method, f"{self.server}{path}", path, answer, missing=missing)
            except ClusterError as error:
                if attempts > 1 and error.status == 409 and method == "POST":
                    raise _LostAnswerError(error) from error
                # The drain sees this refusal, and asks again itself.
                error.passing &= not error.is_budget
                raise

        return self.insist(ask)

    def insist(self, work: Callable[[], T]) -> T:
        """The result of `work`; repeated, with growing pauses, while the failure is temporary."""
        began, pause, repeated, strange = self.clock.now(), FIRST_PAUSE_S, False, 0
        wait: Wait | None = None
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
                longer = max(pause, error.after_s)
                if waited + longer > patience or strange >= STRANGE_TIMES:
                    said = f"Gave up after {waited:.0f} s, the last error was: {error}" if repeated else str(error)
                    raise ClusterError(said, error.status, passing=True) from error
                wait = wait or Wait(f"waiting for the API server {self.server}", self.clock)
                wait.sleep(longer, error)
                pause, repeated = min(2 * pause, LONGEST_PAUSE_S), True


class _LostAnswerError(Exception):
    """The object to be made already exists, after an attempt whose answer was lost."""

    def __init__(self, conflict: ClusterError) -> None:
        super().__init__(str(conflict))
        self.conflict = conflict


def _is_ours(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an object has all labels and annotations that we wanted for it, and some: a run's are unique."""
    there, ours = found.get("metadata") or {}, wanted.get("metadata") or {}
    marks = [(key, name, value) for key in ("labels", "annotations") for name, value in (ours.get(key) or {}).items()]
    return bool(marks) and all((there.get(key) or {}).get(name) == value for key, name, value in marks)
