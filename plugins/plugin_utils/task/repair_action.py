# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An action that looks at a node, applies a batch, and looks again, as often as a repair takes.

A file of its own: what the actions of win_k8s_repair share, apart from what each of them does.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ..components.layout import Layout
from ..engine.batch import Batch
from ..engine.reading import Query, Reading
from ..engine.sentences import as_steps
from ..node.link import NodeError
from ..node.run_id import RUN_ID
from ..repair import rejoin
from ..repair.network import Remedy
from . import drain
from .component_action import ConvergingAction
from .node_action import display


class RepairAction(ConvergingAction):
    """Has what repair.network.Node asks for. An action calls `begin`, then `look_at` what it is about."""

    seen: Reading

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._options: dict[str, Any] = {}
        self._layout: Layout
        self._queries: Sequence[Query] = ()
        self._texts: list[str] = []

    def begin(self, options: dict[str, Any], layout: Layout) -> None:
        """What the user wants, of which node."""
        self._options, self._layout = options, layout

    def look_at(self, queries: Sequence[Query]) -> Reading:
        """Read what the action is about, and what runs batches there; `look` reads the same again."""
        self._queries = (*queries, *rejoin.runner_reads(self._layout))
        return self.look()

    def look(self, after_s: float = 0) -> Reading:
        """Read again what the action is about."""
        if not self._task.check_mode:
            time.sleep(after_s)
        self.seen = self.read_of(self._queries)
        return self.seen

    def probe(self, queries: tuple[Query, ...]) -> Mapping[str, Any]:
        """Asked again, as diagnosis.gather wants it."""
        return self._link.probe(queries)

    def send(self, remedy: Remedy) -> None:
        """NodeError if it was rolled back."""
        self.carry_out(remedy.batch, f"{remedy.text} ({remedy.why})")
        if not self._task.check_mode:
            self.look()

    def attempt(self, remedy: Remedy) -> str:
        """As `send`; why it was rolled back is warned of."""
        try:
            self.send(remedy)
        except NodeError as error:
            display.warning(f"{self._host}: {error}")
            return str(error)
        return ""

    def carry_out(self, batch: Batch, *texts: str) -> None:
        """Send a batch, in check mode only note it.

        Args:
            batch: What is done; pods are moved away before, if it interrupts them and that is wanted.
            texts: The steps that the task's result has of it, as orders ("remove ..").

        Raises:
            NodeError: It was rolled back, or the machine is no longer as it was looked at.
        """
        if not self._task.check_mode:
            self._texts += drain.before(batch, self._options, RUN_ID)
            answer = self._node.apply(batch, uuid.uuid4().hex, self.seen)
            if answer.get("answer") == "stale":
                raise NodeError(f"{self.component}: the machine was restarted meanwhile. Run again.")
        self._texts += texts

    def result(self) -> dict[str, Any]:
        """The task's result: the steps of all that was carried out."""
        result: dict[str, Any] = {
            "changed": bool(self._texts),
            "steps": as_steps(self._texts, planned=self._task.check_mode),
            "winkube": {"calls": self._link.calls},
        }
        if self._task.diff and self._texts:
            result["diff"] = [{"prepared": "".join(f"{text}\n" for text in self._texts)}]
        return result
