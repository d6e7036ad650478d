# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that is looked at, changed by a batch, and looked at again, as often as a repair takes."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from ..engine.batch import Batch
from ..engine.clock import Clock
from ..engine.reading import Query, Reading
from ..engine.sentences import as_result
from ..engine.waiting import Wait
from ..node.link import NodeError
from ..repair import COMPONENT, rejoin
from ..repair.network import Remedy
from .converge import Converge
from .screen import display
from .task_node import NotAsReadError, TaskNode


class NodeRepair:
    """One repair of one node. Has what repair.network.Node asks for."""

    def __init__(self, node: TaskNode, run: Converge, queries: Sequence[Query]) -> None:
        """Looks at the node for the first time.

        Args:
            node: The node.
            run: What sends the batches.
            queries: What the repair is about. What runs batches on the node is read besides.
        """
        self._node, self._run = node, run
        self._queries = (*queries, *rejoin.runner_reads(node.layout))
        self._texts: list[str] = []
        self.seen = node.read_queries(self._queries)
        """The node as it was when it was last read."""

    def look(self, after_s: float = 0) -> Reading:
        """Read it again."""
        if not self._node.check:
            Wait("repair: waiting before the next look", Clock()).sleep(after_s)
        self.seen = self._node.read_queries(self._queries)
        return self.seen

    def send(self, remedy: Remedy) -> None:
        """Apply the remedy's batch and look. NodeError if it was rolled back."""
        self.apply(remedy.batch, f"{remedy.text} ({remedy.why})")
        if not self._node.check:
            self.look()

    def attempt(self, remedy: Remedy) -> str:
        """As `send`; why it was rolled back is warned of."""
        try:
            self.send(remedy)
        except NodeError as error:
            display.warning(f"{self._node.name}: {error}")
            return str(error)
        return ""

    def apply(self, batch: Batch, *texts: str) -> None:
        """Send a batch, in check mode only note it.

        Args:
            batch: What is done; pods are moved away before, if it interrupts them and that is wanted.
            texts: The steps that the task's result has of it, as orders ("remove ..").

        Raises:
            NodeError: It was rolled back, or the machine is no longer as it was looked at.
        """
        if not self._node.check:
            emptied = len(self._run.emptied)
            try:
                self._run.send(batch, uuid.uuid4().hex, self.seen)
            except NotAsReadError:
                raise NodeError(f"{COMPONENT}: the machine was restarted meanwhile. Run again.") from None
            finally:
                self._texts += self._run.emptied[emptied:]
        self._texts += texts

    def result(self, *, diff: bool) -> dict[str, Any]:
        """The task's result: the steps of all that was applied."""
        return repair_result(self._node, self._texts, diff=diff)


def repair_result(node: TaskNode, texts: Sequence[str], *, diff: bool) -> dict[str, Any]:
    """The result of a task with these steps."""
    lines = ({"prepared": "".join(f"{text}\n" for text in texts)},) if diff else ()
    return as_result(texts, planned=node.check, diff=lines) | {"winkube": {"calls": node.calls}}
