# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node of a task: what is read of it, sent to it, and known of it afterwards."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ansible.errors import AnsibleError

from ..components.host import sshd
from ..components.layout import Layout
from ..components.registry import DAEMONS, read_plan
from ..engine.answer import Answer
from ..engine.batch import Batch
from ..engine.reading import Query, Reading, file_key, merge_queries, widen
from ..engine.resource import Refused
from ..node import restart, verdict
from ..node.link import Link, NodeError
from ..node.run_id import RUN_ID
from ..node.runner_text import runner_sha256
from . import rolled_back
from .one_machine import Machines, Others, describe_clones, describe_same
from .screen import display


class NotAsReadError(Exception):
    """Nothing was done, or not what was planned: the node is no longer as it was read. The text is a clause."""


@dataclass(frozen=True, slots=True)
class TaskNode:
    """`name` is the inventory's name of the node, `connection` Ansible's way to it; `warn_once` says a sentence as a
    warning of the task; `machines` knows those of the run's other hosts."""

    link: Link
    layout: Layout
    name: str
    connection: Any
    warn_once: Callable[[str], None]
    check: bool = False
    machines: Machines | None = None

    @property
    def calls(self) -> int:
        """How many remote calls there were so far."""
        return self.link.calls

    def read(self, needed: Sequence[Query] = ()) -> Reading:
        """Everything that any component needs, and these: one remote call."""
        return self.read_queries(merge_queries((*read_plan(self.layout), *needed)))

    def read_queries(self, queries: Sequence[Query]) -> Reading:
        """A reading of these and of nothing else: one remote call."""
        empty = Reading(run=RUN_ID, taken_at=time.time(), predicted=self.check)
        reading = empty.merge(self.link.probe(queries), queries)
        others = self._others(reading)
        for sentence in (describe_same(self.name, others), describe_clones(self.name, others)):
            if sentence:
                self.warn_once(sentence)
        return reading

    def refuse_shared(self, reading: Reading) -> None:
        """Refused if another host of the run is on this machine."""
        if sentence := describe_same(self.name, self._others(reading)):
            raise Refused(sentence)

    def refuse_restart(self, reading: Reading) -> None:
        """Refused if the machine is reached by SSH, and its sshd would end when it starts again. A newer sshd that only
        logs it is a warning."""
        found = sshd.look(reading) if self.is_reached_by_ssh else None
        if found is not None and found.ends:
            raise Refused(f"{self.name} is not restarted, since nobody would reach it by SSH again: {found.sentence}")
        if found is not None:
            self.warn_once(f"{self.name}: {found.sentence}")

    @property
    def is_reached_by_ssh(self) -> bool:
        """Whether Ansible's connection needs the node's sshd."""
        return str(getattr(self.connection, "ansible_name", "")).rpartition(".")[2] == "ssh"

    def _others(self, reading: Reading) -> Others:
        return self.machines.meet(reading.machine, reading.boot_id) if self.machines else Others()

    def complete(self, reading: Reading, queries: Sequence[Query]) -> Reading:
        """With those of the queries that are not answered in it; no remote call if all are. NodeError where the node
        leaves out what it is asked for."""
        found = reading.complete(queries, self.link.probe)
        if found is not reading and (left := found.find_missing(queries)):
            names = ", ".join(each.key for each in left)
            raise NodeError(
                f"The node was asked for {names}, and its answer leaves out a part of that. Look for what changes its "
                "output, such as a profile of PowerShell; -vvv shows the answer."
            )
        return found

    def ask_again(self, reading: Reading, queries: Sequence[Query]) -> Reading:
        """With the node's answers of now to these; no remote call without queries."""
        return reading.merge(self.probe(queries), queries) if queries else reading

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What the node answers."""
        return self.link.probe(queries)

    def apply(self, batch: Batch, batch_id: str, reading: Reading) -> Answer:
        """The answer to a batch that is done. NotAsReadError if the node is no longer as in the reading, NodeError for
        everything else."""
        self.refuse_shared(reading)
        answer = self.link.apply(batch, batch_id, reading.file(self.layout.runner).get("sha256"))
        if answer.answer == "stale":
            raise NotAsReadError(verdict.stale_sentence(answer))
        if answer.outcome == "undone":
            raise NodeError(f"{batch.component}: {self._look_after(batch, answer, reading)}")
        verdict.check_done(answer, batch.component)
        return answer

    def _look_after(self, batch: Batch, answer: Answer, reading: Reading) -> str:
        """What is said of a batch that was rolled back, and whether the services that it had touched work again."""

        def send(waits: Batch, batch_id: str) -> Answer:
            return self.link.apply(waits, batch_id, None)

        touched = rolled_back.list_touched(batch, answer, reading, self.layout, tuple(DAEMONS.values()))
        return verdict.sentence(answer, rolled_back.explain(touched, send, self.probe))

    def run_once(self, batch: Batch, reading: Reading) -> Answer:
        """The answer to a batch that nobody plans a second time. NodeError if it is not done."""
        try:
            return self.apply(batch, uuid.uuid4().hex, reading)
        except NotAsReadError as changed:
            raise NodeError(f"{batch.component}: {changed}") from None

    def after(self, reading: Reading, batch: Batch, answer: Answer) -> Reading:
        """The reading with the new state of what the batch touched; the node's runner is now the one that was sent."""
        runner = {"exists": True, "kind": "file", "sha256": runner_sha256()}
        return reading.merge({**answer.state, file_key(self.layout.runner): runner}, batch.state)

    def wait_until_back(self, boot_id: str, timeout_s: float) -> None:
        """Returns when the machine, last read in the boot `boot_id`, is in another one. NodeError if it is not within
        that time."""
        restart.wait_until_back(self.link, boot_id, timeout_s)

    def put_file(self, in_path: str, out_path: str) -> object:
        """Copy a file of the controller to the node; what does not get there in time is a lost connection."""
        return self.link.carry(lambda: self.connection.put_file(in_path, out_path))

    def peer(self) -> str:
        """What the connection plugin calls the node."""
        for option in ("host", "remote_addr"):
            with suppress(KeyError, AnsibleError):
                if found := self.connection.get_option(option):
                    return str(found)
        return self.name

    def say(self, line: str, *, verbose: bool = False) -> None:
        """For someone who watches."""
        (display.v if verbose else display.display)(line)


def widen_state(batch: Batch, layout: Layout) -> Batch:
    """The batch, asking of what it touches all that any component wants to know of it: the next ones need not ask."""
    return replace(batch, state=widen(batch.state, read_plan(layout)))
