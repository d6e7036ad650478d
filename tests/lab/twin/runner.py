"""The runner: does, finishes or undoes the open batch (docs/protocol.md, sections 2 and 3)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.lab.machine.errors import WinError
from tests.lab.twin import shapes, task
from tests.lab.twin.expiry import expire
from tests.lab.twin.log_limit import keep_small
from tests.lab.twin.ops import drop_temporaries, perform
from tests.lab.twin.ops_files import clear_replaced
from tests.lab.twin.state import Document, StateFolder
from tests.lab.twin.work import OpError, Work, came, secrets_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Body, Process

Steps = Generator[float | None, None, None]
CHANGES = "changes.json"
NOTES = ("networks.json", "category.json", "ip.json")
INTERRUPTED = "The batch was interrupted"


def all_secrets(batch: Document) -> tuple[str, ...]:
    """Of every op, gate and undo list, longest first: what one op must not show no other shows. What is secret of an op
    is secret of its undo."""
    found: set[str] = set()
    for op in [*(batch.get("ops") or []), *(batch.get("gate") or [])]:
        names = [str(item) for item in op.get("secrets") or []]
        found |= set(secrets_of(dict(op.get("args") or {}), names))
        for undo in op.get("undo") or []:
            more = [*names, *(str(item) for item in undo.get("secrets") or [])]
            found |= set(secrets_of(dict(undo.get("args") or {}), more))
    return tuple(sorted(found, key=len, reverse=True))


def run(node: SimulatedNode, state_dir: str, process: Process) -> Body:
    """Works on the open batch until it is closed. Ends at once when there is none, or somebody else works on it."""
    folder = StateFolder(node, state_dir)
    if not folder.enter(process):
        return 0
    try:
        opened = folder.open_batch()
        if opened is None:
            try:
                yield from expire(node, folder, process)
            finally:
                keep_small(node, folder)
                task.disable(node)
            return 0
        for name in NOTES:
            clear_replaced(node.drive, folder.file(name))
        node.drive.mkdir(folder.file("batches", str(opened["id"])))
        opened |= {"pid": process.pid, "started": node.clock.iso(process.started)}
        folder.write(opened, "open.json")
        yield from Runner(node, folder, process, opened).work()
    except (OpError, WinError) as error:
        # An expiry's op, or the journal on a full disk: nothing is done without it. The task starts the runner anew
        # each minute, which then rolls the batch back.
        folder.note_error(str(error))
        return 1
    finally:
        folder.leave(process)
    return 0


def _begun(batch: Document, entries: list[Document]) -> set[int]:
    """The ops with an intent. One that has lost its number is one of each op: what may have begun is undone."""
    found = [entry.get("n") for entry in entries if entry["e"] == "intent"]
    every = [int(op["n"]) for op in batch.get("ops") or []] if None in found else []
    return {*every, *(n for n in found if n is not None)}


@dataclass(frozen=True)
class Runner:
    node: SimulatedNode
    folder: StateFolder
    process: Process
    opened: Document

    @property
    def id(self) -> str:
        return str(self.opened["id"])

    def work(self) -> Steps:
        """One of the four ways of section 3, by what the journal says."""
        entries = self.folder.journal(self.id)
        batch = shapes.batch(self.folder.read("batches", self.id, "batch.json"))
        if any(entry["e"] == "outcome" for entry in entries):
            self._close(batch or {})
            return
        if batch is None:
            # What was begun can no longer be undone: nobody knows how.
            begun = any(entry["e"] == "intent" for entry in entries)
            error: Document = {"message": f"{INTERRUPTED}, and its batch.json is missing or damaged."}
            self._finish({}, "undo_failed" if begun else "undone", error)
            return
        intents = _begun(batch, entries)
        done = {int(entry["n"]) for entry in entries if entry["e"] == "done"}
        undoing = any(str(entry["e"]).startswith("undo") for entry in entries)
        failed = next((entry for entry in entries if entry["e"] == "failed"), None)
        if not intents and not undoing:
            yield from self._start(batch)
        elif not undoing and failed is None and len(done) == len(batch.get("ops") or []):
            yield from self._gate_and_finish(batch)
        else:
            error = {"message": f"{INTERRUPTED} and rolled back."}
            if failed is not None:
                error = {key: failed[key] for key in ("n", "op", "message", "data") if key in failed}
                error["message"] = f"{INTERRUPTED} while it was rolled back: {failed.get('message')}"
            yield from self._undo(batch, error)

    def _deadline(self, batch: Document) -> float:
        return self.node.clock.now() - self.folder.age(self.opened) + float(batch.get("deadline_s") or 900)

    def _start(self, batch: Document) -> Steps:
        secrets = all_secrets(batch)
        for op in batch.get("ops") or []:
            n, name, args = int(op["n"]), str(op["op"]), dict(op.get("args") or {})
            end = self._deadline(batch)
            work = Work(self.node, self.process, end, "ops", n, secrets, self.folder.path, came(batch))
            self.node.moment("ops", n, "before")
            self._note({"n": n, "e": "intent", "op": name})
            try:
                work.time_left(1.0)
                result = yield from perform(work, name, args)
            except OpError as error:
                yield from self._undo(batch, self._failed(n, name, error))
                return
            self.node.moment("ops", n, "after")
            self._note({"n": n, "e": "done", "op": name, "result": result})
        yield from self._gate_and_finish(batch)

    def _failed(self, n: int, name: str, error: OpError, gate: bool = False) -> Document:
        entry: Document = {"n": n, "op": name, "message": str(error)}
        data = {**error.data, **({"phase": "gate"} if gate else {})}
        if data:
            entry["data"] = data
        self._note({"e": "failed", **entry})
        return entry

    def _gate_and_finish(self, batch: Document) -> Steps:
        for n, op in enumerate(batch.get("gate") or []):
            name, args = str(op["op"]), dict(op.get("args") or {})
            work = Work(
                self.node,
                self.process,
                self._deadline(batch),
                "gate",
                n,
                all_secrets(batch),
                self.folder.path,
                came(batch),
            )
            self.node.moment("gate", n, "before")
            try:
                work.time_left(1.0)
                yield from perform(work, name, args)
            except OpError as error:
                yield from self._undo(batch, self._failed(n, name, error, gate=True))
                return
            self.node.moment("gate", n, "after")
            self._note({"n": n, "e": "gate"})
        self._finish(batch, "done", None)

    def _undo(self, batch: Document, error: Document) -> Steps:
        """The undo lists of all ops with an intent, last op first; one that fails does not stop the others."""
        entries = self.folder.journal(self.id)
        started = _begun(batch, entries)
        undone = {int(entry["n"]) for entry in entries if entry["e"] == "undone"}
        failures: list[Document] = []
        vain: dict[str, str] = {}
        for op in sorted(batch.get("ops") or [], key=lambda op: -int(op["n"])):
            n = int(op["n"])
            if n not in started or n in undone:
                continue
            self.node.moment("undo", n, "before")
            self._note({"n": n, "e": "undo_intent"})
            failure = yield from self._undo_one(batch, op, n, vain)
            self.node.moment("undo", n, "after")
            if failure is None:
                self._note({"n": n, "e": "undone"})
            else:
                self._note({"e": "undo_failed", **failure})
                failures.append(failure)
        if failures:
            error = {**error, "undo": failures}
        elif (self.folder.read("blocked.json") or {}).get("id") == self.id:
            # The power was lost between blocked.json and the outcome of an earlier try.
            self.folder.drop("blocked.json")
        self._finish(batch, "undo_failed" if failures else "undone", error)

    def _undo_one(
        self, batch: Document, op: Document, n: int, vain: dict[str, str]
    ) -> Generator[float | None, None, Document | None]:
        """`vain`: what has taken its whole time in vain, which is not tried a second time; with what it said."""
        secrets = all_secrets(batch)
        drop_temporaries(Work(self.node, self.process), str(op["op"]), dict(op.get("args") or {}))
        for step in op.get("undo") or []:
            step_args = dict(step.get("args") or {})
            work = Work(self.node, self.process, None, "undo", n, secrets, self.folder.path, came(batch))
            name, same = str(step["op"]), json.dumps(step, sort_keys=True)
            if same in vain and name == "halt":
                return {"n": n, "op": name, "message": vain[same]}
            if same in vain:
                step_args["timeout_s"] = 0
            try:
                yield from perform(work, name, step_args)
            except OpError as error:
                if name in {"halt", "wait"}:
                    vain.setdefault(same, str(error))
                return {"n": n, "op": name, "message": str(error)}
        return None

    def _note(self, entry: Document) -> None:
        self.folder.note(self.id, entry)

    def _finish(self, batch: Document, outcome: str, error: Document | None) -> None:
        if outcome == "done":
            self._note_change(batch)
        self._note({"e": "outcome", "outcome": outcome, "error": error})
        self._close(batch)

    def _note_change(self, batch: Document) -> None:
        """Whose batch changed this component last, and when; what cannot be noted spoils no batch."""
        component, by = batch.get("component"), (batch.get("opened") or {}).get("controller")
        if component and by:
            change = {"at": self.node.clock.iso(), "by": by, "id": self.id, "was": str(batch.get("was") or "")}
            with contextlib.suppress(WinError):
                clear_replaced(self.node.drive, self.folder.file(CHANGES))
                before = (self.folder.read(CHANGES) or {}).get("components")
                components = before if isinstance(before, dict) else {}
                self.folder.write({"schema": 1, "components": {**components, component: change}}, CHANGES)

    def give_up(self, error: Document | None) -> None:
        """Somebody has acknowledged a batch that nothing could roll back."""
        self._finish({}, "undo_failed", error)

    def _close(self, batch: dict[str, Any]) -> None:
        """After the outcome: blocked.json if an undo failed, no open batch, no secrets on the disk, the task off."""
        found = self.folder.outcome(self.id) or {}
        if found.get("outcome") == "undo_failed" and self.folder.read("blocked.json") is None:
            blocked = {
                "id": self.id,
                "component": batch.get("component") or self.opened.get("component"),
                "error": found.get("error"),
                "at": self.node.clock.iso(),
            }
            self.folder.write(blocked, "blocked.json")
        if self.folder.knows(self.id):
            self.folder.drop("batches", self.id, "batch.json")
        self.folder.drop("open.json")
        self.folder.forget_starts()
        task.disable(self.node)
        self.folder.prune(self.id)
