# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one run asks the cluster, and the files and addresses on the controller, about a node. Each question is asked
once, however often the node is planned."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ..cluster.client import Cluster
from ..cluster.remembered import Remembered
from .shared_options import Access

T = TypeVar("T")


class Controller(Protocol):
    """What a component needs from the controller. A task's action implements it."""

    def read_url(self, address: str) -> str:
        """The text behind an https address."""

    def read_file(self, path: str) -> bytes:
        """A file's bytes; the path is searched as Ansible searches `files`. OSError if it cannot be read."""

    def render(self, template: str, variables: Mapping[str, Any], role: str) -> str:
        """A rendered template: the role's, or the user's in its place."""

    def warn_once(self, sentence: str) -> None:
        """Show a warning of the run once."""


class Asks:
    """The answers about one node. `shared` is a folder of the run that keeps answers for the other nodes of `task` too:
    those of addresses and those that are the same for all nodes, and all of the cluster's where the task only `plans`.
    """

    def __init__(
        self, controller: Controller, host: str, *, shared: Path | None = None, task: str = "", plans: bool = False
    ) -> None:
        self.host = host
        self.render = controller.render
        self.read_file = controller.read_file
        self.unpinned: dict[str, str] = {}
        """Address -> program and release, for sources without a checksum, or with one that comes only from
        the file's own server."""
        self.warned: list[str] = []
        """What the node's task has warned of, in that order."""
        self._controller = controller
        self._shared, self._task, self._plans = shared, task, plans
        self._answers: dict[str, Any] = {}
        self._held = ExitStack()

    def once(self, what: str, ask: Callable[[], T]) -> T:
        """The result of `ask`, which is called only the first time that `what` is needed."""
        if what not in self._answers:
            self._answers[what] = ask()
        found: T = self._answers[what]
        return found

    def cluster(self, access: Access, *, shared: bool = False) -> Cluster | None:
        """The cluster. None without a kubeconfig. ClusterError if the kubeconfig cannot be read. `shared`: only for
        what is the same for all nodes, and what none of them changes."""
        reached = asdict(access)

        def open_cluster() -> Cluster | None:
            remembered = self._find_memory(reached) if shared or self._plans else None
            return Cluster.open(reached) if remembered is None else Cluster.remembering(reached, remembered)

        whose = "for all" if shared else "for this node"
        return self.once(f"cluster {whose} {json.dumps(reached, sort_keys=True, default=str)}", open_cluster)

    def _find_memory(self, whose: object) -> Remembered | None:
        """The answers that the nodes of this task share, per cluster or for all; None if each node asks for itself."""
        if self._shared is None:
            return None
        return Remembered(self._shared, (self._task, whose))

    def of_cluster(self, access: Access, what: str, ask: Callable[[Cluster], T], *, shared: bool = False) -> T | None:
        """The result of `ask` for the `cluster`; None without one. ClusterError if the cluster does not answer."""

        def ask_cluster() -> T | None:
            cluster = self.cluster(access, shared=shared)
            return None if cluster is None else ask(cluster)

        return self.once(what, ask_cluster)

    def read_url(self, address: str) -> str:
        """The text behind an https address."""

        def read() -> dict[str, Any]:
            return {"text": self._controller.read_url(address)}

        what, remembered = f"address {address}", self._find_memory("addresses")
        found = self.once(what, read if remembered is None else lambda: remembered(what, read))
        return str((found or {})["text"])

    def warn(self, sentence: str) -> None:
        """Show a warning once, though the node is planned twice, or two components say it, one by the node's name."""
        named = f"{self.host}: "
        if sentence.removeprefix(named) not in {each.removeprefix(named) for each in self.warned}:
            self.warned.append(sentence)
            self._controller.warn_once(sentence)

    def hold(self, what: str, enter: Callable[[], AbstractContextManager[T]]) -> T:
        """Something that exists only during a stage, such as a token. `let_go` ends it."""
        if what not in self._answers:
            self._held.callback(self._answers.pop, what, None)
        return self.once(what, lambda: self._held.enter_context(enter()))

    def let_go(self) -> None:
        """End everything that `hold` began."""
        self._held.close()
