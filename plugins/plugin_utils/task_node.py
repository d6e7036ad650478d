# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node of a task, for what is not an action itself (provision/delivery.py).

A file of its own: it is the one place where provision/ reaches what Ansible gives to an action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ansible.errors import AnsibleError

from .components.layout import Layout
from .engine.batch import Batch
from .engine.reading import Query, Reading
from .node_action import display


@dataclass(frozen=True, slots=True)
class TaskNode:
    """`action` is the task's KubernetesAction, `name` the inventory's name of the node."""

    action: Any
    layout: Layout
    name: str

    def apply(self, batch: Batch, batch_id: str, reading: Reading) -> Mapping[str, Any]:
        """The answer to a batch that is done, or `stale`. NodeError for everything else."""
        answer: Mapping[str, Any] = self.action._apply(batch, batch_id, self.layout, reading)
        return answer

    def after(self, reading: Reading, batch: Batch, answer: Mapping[str, Any]) -> Reading:
        """The reading with the new state of what the batch touched."""
        found: Reading = self.action._after(reading, batch, answer, self.layout)
        return found

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What the node answers."""
        found: dict[str, Any] = self.action._link.probe(queries)
        return found

    def put_file(self, in_path: str, out_path: str) -> object:
        """Copy a file of the controller to the node; what does not get there in time is a lost connection."""
        return self.action._link.carry(lambda: self.action._connection.put_file(in_path, out_path))

    def peer(self) -> str:
        """What the connection plugin calls the node."""
        for option in ("host", "remote_addr"):
            with suppress(KeyError, AnsibleError):
                if found := self.action._connection.get_option(option):
                    return str(found)
        return self.name

    def warn(self, sentences: list[str]) -> None:
        """Each as a warning of the task."""
        self.action.warn_all(sentences)

    def say(self, line: str, *, verbose: bool = False) -> None:
        """For somebody who watches."""
        (display.v if verbose else display.display)(line)
