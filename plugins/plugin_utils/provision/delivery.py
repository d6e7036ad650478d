# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings new programs to a node, beside those that run there, and has them judged; takes the others away."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..components.layout import Layout
from ..engine.answer import Answer
from ..engine.batch import Batch, Op, as_base64
from ..engine.reading import Query, Reading
from ..engine.resource import Refused
from ..node.link import NodeError
from ..transfer.cache import PushCache
from ..transfer.progress import show
from ..transfer.push import Base, Mode, Pushed, PushError, Ready, prepare, push
from ..transfer.serve import ServeError, address_towards, ports_of, serve_files
from . import provision
from .options import ProvisionerOptions
from .provision import Task

INLINE = 1000 * 1000
"""The bytes of builds that travel in the batch itself, which is base64 there, and may have 4 MB: a call less, and over
WinRM fewer bytes."""
Brought = tuple[Batch, Answer, Reading]
"""The first batch, the node's answer to it, and the node as it was before."""


class Node(Protocol):
    """What is asked of the node, and of the user of the task."""

    @property
    def name(self) -> str:
        """The inventory's name of it."""

    @property
    def check(self) -> bool:
        """Whether nothing is to be done to it."""

    def apply(self, batch: Batch, batch_id: str, reading: Reading) -> Answer:
        """The answer to a batch that is done. NodeError if it is not, and another error if the node is no longer as in
        the reading."""

    def after(self, reading: Reading, batch: Batch, answer: Answer) -> Reading:
        """The reading with the new state of what the batch touched."""

    def probe(self, queries: Sequence[Query]) -> dict[str, Any]:
        """What the node answers."""

    def put_file(self, in_path: str, out_path: str) -> object:
        """Copy a file of the controller to the node."""

    def peer(self) -> str:
        """What the connection plugin calls the node."""

    def warn_once(self, sentence: str) -> None:
        """A warning of the task."""

    def say(self, line: str, *, verbose: bool = False) -> None:
        """For someone who watches."""


@dataclass(slots=True)
class Delivery:
    """One task's: `pushed` are the ops that make a program of what was transferred, `transfers` is what each transfer
    was, by the item's name; both outlive a plan that was made from an old reading."""

    node: Node
    layout: Layout
    how: ProvisionerOptions
    pushed: dict[str, tuple[Op, ...]] = field(default_factory=dict)
    transfers: dict[str, dict[str, Any]] = field(default_factory=dict)

    def bring(self, tasks: tuple[Task, ...], reading: Reading) -> tuple[tuple[Task, ...], Reading]:
        """Put the new programs beside the present ones and judge them there; in check mode pretend that they are there.
        Refused for one that is not a program for this node."""
        if self.node.check:
            return tasks, provision.predict_staging(tasks, reading)
        if not any(task.is_staged for task in tasks):
            return tasks, reading
        waiting = [
            task
            for task in tasks
            if task.is_staged and task.origin and task.origin.build and task.item.name not in self.pushed
        ]
        pulled = self._pull(tasks, waiting, reading) if waiting and self.how.transfer == "pull" else None
        batch, answer, reading = pulled or self._send(tasks, waiting, reading)
        reading = self.node.after(reading, batch, answer)
        try:
            return provision.judge(tasks, batch, answer, reading), reading
        except Refused:
            self.discard(tasks, reading)
            raise

    def discard(self, tasks: Sequence[Task], reading: Reading, unless: str = "") -> None:
        """Take away what was staged and is not swapped in. What cannot be taken away now is swept the next time."""
        left = [task for task in tasks if task.staged and task.what != unless]
        if not left or self.node.check:
            return
        try:
            self._apply(provision.discard(left, reading), reading)
        except NodeError as error:
            self.node.say(f"{self.node.name}: {error}", verbose=True)

    def _send(self, tasks: tuple[Task, ...], waiting: Sequence[Task], reading: Reading) -> Brought:
        """Send what is `waiting`, in the first batch itself where there is room for it, else by the connection before;
        and run the first batch."""
        left = INLINE
        mode: Mode = "whole" if self.how.transfer == "whole" else "auto"
        for task in waiting:
            with self._prepare(task, mode, reading) as ready:
                size = sum(file.stat().st_size for file in ready.files)
                if size <= left:
                    left -= size
                    self._inline(task, ready, size)
                    continue
                room = provision.make_folders((task,), self.layout, reading)
                if room is not None:
                    reading = self.node.after(reading, room, self._apply(room, reading))
                self._push(task, ready)
        batch = self._first_batch(reading, self.pushed, tasks)
        try:
            return batch, self._apply(batch, reading), reading
        except NodeError:
            self._inspect_failure(tasks, batch, reading)
            raise

    def _pull(self, tasks: tuple[Task, ...], waiting: Sequence[Task], reading: Reading) -> Brought | None:
        """Run the first batch with the node fetching what is `waiting` from here. None, with a warning, where that does
        not work: then it has to be sent."""
        batch: Batch | None = None
        why = ""
        try:
            host = self.how.pull_address or address_towards(self.node.peer())
            with ExitStack() as stack:
                ready = {task.item.name: stack.enter_context(self._prepare(task, "auto", reading)) for task in waiting}
                say = show(f"[{self.node.name}] {', '.join(ready)}", self.node.say)
                offer = stack.enter_context(serve_files(ready, host, ports_of(self.how.pull_ports), say))
                ops = {
                    name: provision.assemble(
                        build.build_result(0, 0.0).op or {},
                        build.remote,
                        offer.fetches(name, self.how.fetch_timeout),
                    )
                    for name, build in ready.items()
                }
                batch = self._first_batch(reading, {**self.pushed, **ops}, tasks)
                answer = self._apply(batch, reading)
                for name in ready:
                    self.transfers[name] = _transfer(offer.build_result(name), "pull")
                return batch, answer, reading
        except ServeError as error:
            why = str(error)
        except NodeError as error:
            if batch is None:
                raise
            found = reading.merge(self.node.probe(batch.state), batch.state)
            if all(found.file(task.staged).get("exists") for task in waiting):
                self._inspect_failure(tasks, batch, reading)
                raise
            why = str(error)
        self.node.warn_once(f"transfer: pull did not work, the build is sent by Ansible's connection instead: {why}")
        return None

    def _first_batch(self, reading: Reading, pushed: Mapping[str, tuple[Op, ...]], tasks: tuple[Task, ...]) -> Batch:
        proxy, timeout = self.how.proxy, self.how.fetch_timeout
        return provision.stage(tasks, pushed, self.layout, reading, proxy=proxy, timeout_s=timeout)

    def _inspect_failure(self, tasks: tuple[Task, ...], batch: Batch, reading: Reading) -> None:
        """A staged program that could not be started may be none: then its first bytes say more than Windows does.
        Refused with that sentence."""
        found = reading.merge(self.node.probe(batch.state), batch.state)
        there = tuple(task for task in tasks if task.is_staged and found.file(task.staged).get("exists"))
        try:
            provision.judge(there, batch, Answer("refused"), found)
        finally:
            self.discard(there, found)

    def _inline(self, task: Task, ready: Ready, size: int) -> None:
        """The parts travel as what the first batch writes: no call of their own."""
        writes = [
            Op("write", {"path": there, "content": as_base64(file.read_bytes())}).with_undo(
                Op("remove", {"path": there, "in_use_ok": True})
            )
            for file, there in zip(ready.files, ready.remote, strict=True)
        ]
        pushed = ready.build_result(size, 0.0)
        if pushed.op is not None:
            self.pushed[task.item.name] = provision.assemble(pushed.op, pushed.parts, writes)
        self.transfers[task.item.name] = _transfer(pushed, "batch")

    def _push(self, task: Task, ready: Ready) -> None:
        """Send a build of the controller, as the difference from one that is on the node where that can be made."""
        say = show(f"[{self.node.name}] {task.item.name}", self.node.say)
        pushed = push(self.node, ready, say)
        if pushed.op is not None:
            self.pushed[task.item.name] = provision.assemble(pushed.op, pushed.parts)
        self.transfers[task.item.name] = _transfer(pushed, "connection")

    @contextmanager
    def _prepare(self, task: Task, mode: Mode, reading: Reading) -> Iterator[Ready]:
        """The parts of a task's build. NodeError if they cannot be made."""
        cache = PushCache.default()
        there = [Base(path, sha256) for path, sha256 in provision.list_bases(task, reading)]
        known = [base for base in there if cache.find(base.sha256) is not None] or there
        build = task.origin.build if task.origin else None
        if build is None:
            raise ValueError(f"{task.item.name} comes from no file of the controller")
        with ExitStack() as stack:
            try:
                ready = stack.enter_context(
                    prepare(
                        build.path,
                        build.sha256,
                        build.size,
                        known[0] if known else None,
                        provision.staging(task.item, self.layout),
                        cache,
                        target=task.staged,
                        mode="whole" if mode == "whole" else "auto",
                    )
                )
            except PushError as error:
                raise NodeError(f"{task.item.name}: {error}") from error
            yield ready

    def _apply(self, batch: Batch, reading: Reading) -> Answer:
        return self.node.apply(batch, uuid.uuid4().hex, reading)


def _transfer(pushed: Pushed, by: str) -> dict[str, Any]:
    return {
        "how": pushed.how,
        "by": by,
        "why": pushed.why,
        "bytes_sent": pushed.bytes_sent,
        "seconds": round(pushed.seconds, 3),
    }
