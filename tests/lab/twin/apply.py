"""node_apply: takes a batch, hands it to the runner, follows its journal (docs/protocol.md, section 2)."""

from __future__ import annotations

import base64
import binascii
import copy
import gzip
import hashlib
import json
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.registry import Registry
from tests.lab.twin import runner, task
from tests.lab.twin.ops import HNS, OPS
from tests.lab.twin.ops_system import WAITS
from tests.lab.twin.probe import Asker, answer_queries, typed
from tests.lab.twin.shapes import IS_ID
from tests.lab.twin.state import Document, StateFolder
from tests.lab.twin.work import came

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process

Answered = Generator[float | None, None, Document]
MAX_REQUEST = 4 * 1024 * 1024
CASE_MATTERS = frozenset({"sha256", "content"})
POLL_S = 0.25
LOCK_S = 10.0
JOURNAL_ROOM = 1024 * 1024
OUTPUT_ROOM = 512 * 1024
KEPT_END = 1000


class RequestError(Exception):
    """A sentence: why the envelope cannot be read."""


def read_envelope(encoded: str) -> Document:
    """base64 of gzip of JSON with schema 1 -> the document."""
    if len(encoded) > MAX_REQUEST:
        raise RequestError(f"The option batch has {len(encoded)} characters; at most {MAX_REQUEST} are taken.")
    try:
        envelope = json.loads(gzip.decompress(base64.b64decode(encoded, validate=True)))
    except (binascii.Error, OSError, EOFError, ValueError) as error:
        raise RequestError(f"The option batch is no base64 of gzip of JSON: {error}.") from error
    if not isinstance(envelope, dict) or envelope.get("schema") != 1:
        raise RequestError("The envelope has not schema 1.")
    missing = [key for key in ("kind", "id", "state_dir") if not envelope.get(key)]
    if missing:
        raise RequestError(f"The envelope needs {missing[0]}.")
    if not IS_ID(str(envelope["id"])):
        raise RequestError(f"The envelope's id '{envelope['id']}' is not 32 hexadecimal digits.")
    return envelope


@dataclass(frozen=True)
class Apply:
    """One call of node_apply, working in the session's process."""

    node: SimulatedNode
    asker: Asker
    process: Process
    envelope: Document
    check_mode: bool
    recovered: Document = field(default_factory=dict)

    @property
    def folder(self) -> StateFolder:
        return StateFolder(self.node, str(self.envelope["state_dir"]))

    @property
    def id(self) -> str:
        return str(self.envelope["id"])

    def answer(self) -> Answered:
        yield 0.05
        refusal = self._refusal()
        if refusal:
            return self._result("refused", reason=refusal)
        kind = self.envelope["kind"]
        if kind == "submit":
            return (yield from self._submit())
        if kind == "follow":
            if not self.folder.knows(self.id):
                return self._result("accepted", outcome="unknown")
            return (yield from self._follow())
        if kind == "acknowledge":
            return self._acknowledge()
        return self._result("refused", reason=f"There is no kind {kind!r}; there are submit, follow, acknowledge.")

    # -- the steps of submit -------------------------------------------------------------------------------------

    def _refusal(self) -> str | None:
        if self.check_mode:
            return "Batches are not applied under check mode."
        if not self.asker.elevated:
            return "The session is not elevated; log in as a member of Administrators with full rights."
        refusal = self.folder.refusal(self._sid)
        if refusal or self.envelope["kind"] != "submit":
            return refusal
        batch = self.envelope.get("batch")
        if not isinstance(batch, dict):
            return "A submit needs a batch."
        if fault := unknown_word(batch) or self._hns_lacking(batch):
            return fault
        wanted = self.envelope.get("runner") or {}
        text = wanted.get("text")
        if text is not None:
            found = hashlib.sha256(str(text).encode()).hexdigest()
            if wanted.get("sha256") and found != str(wanted["sha256"]).lower():
                return f"The runner that was sent has sha256 {found}, not {wanted['sha256']}."
        elif self._runner_there() != str(wanted.get("sha256", "")).lower():
            return f"The runner with sha256 {wanted.get('sha256')} is neither sent nor in {self.folder.path}."
        return None

    @property
    def _sid(self) -> str:
        return image.user_sid(self.node, self.asker.user)

    def _hns_lacking(self, batch: Document) -> str | None:
        words = [str(word) for op in steps_of(batch) for word in (op.get("op"), (op.get("args") or {}).get("for"))]
        words += [str(item["query"].get("op")) for item in batch.get("pre") or []]
        needs = next((word for word in words if word.startswith(HNS)), None)
        if needs is None or came(self.envelope):
            return None
        return f"{needs!r} calls HNS, and the batch has not brought the text for that (the field hns)."

    def _runner_there(self) -> str | None:
        path = self.folder.file("runner.ps1")
        drive = self.node.drive
        return hashlib.sha256(drive.read(path)).hexdigest() if drive.is_file(path) else None

    def _submit(self) -> Answered:
        folder = self.folder
        # Closed to others before anything in it is believed.
        if folder.exists() and (refusal := folder.protect(self._sid)):
            return self._result("refused", reason=refusal)
        if folder.knows(self.id):
            return (yield from self._follow())
        opened = folder.open_batch()
        if opened is not None:
            if folder.worker() is not None:
                return self._busy(opened)
            trouble = folder.trouble(opened)
            if not trouble and self._is_worked_on(opened):
                return self._busy(opened, folder.runner_error())
            self._save_runner()
            yield from self._finish_open(opened, trouble)
            ended = folder.outcome(str(opened["id"]))
            if ended is not None:
                self.recovered.update(id=opened["id"], outcome=ended["outcome"])
        blocked = folder.block()
        if blocked is not None:
            return self._result("blocked", blocked={key: blocked.get(key) for key in ("id", "error")})
        batch: Document = self.envelope["batch"]
        free, needed = self.node.drive.free(folder.path[:2]), len(json.dumps(batch)) + JOURNAL_ROOM
        if free < needed:
            reason = (
                f"The volume of {folder.path} has only {free} bytes free; the batch needs {needed}. Make room there."
            )
            return self._result("refused", reason=reason)
        if refusal := folder.protect(self._sid):
            return self._result("refused", reason=refusal)
        folder.make()
        self._moment(0)
        locked = yield from self._lock()
        if folder.knows(self.id):
            folder.leave(self.process)
            return (yield from self._follow())
        if not locked:
            return self._busy(folder.open_batch() or {})
        try:
            if (other := folder.open_batch()) is not None:
                return self._busy(other)
            # Under the lock: what somebody else put in before the folder was closed to him is his for ever.
            if refusal := folder.refusal(self._sid):
                return self._result("refused", reason=refusal)
            folder.sweep(batch)
            self._save_runner()
            stale = self._stale(batch)
            if stale:
                return self._result("stale", stale=stale)
            mode = self._open(batch)
        finally:
            folder.leave(self.process)
        if mode == "task":
            self.node.tasks.run(task.PATH)
            self._moment(3)
        else:
            yield from runner.run(self.node, folder.path, self.process)
        return (yield from self._follow())

    def _lock(self) -> Generator[float | None, None, bool]:
        """The node's lock, waited for at most 10 s."""
        end = self.node.clock.now() + LOCK_S
        while not self.folder.enter(self.process):
            if self.node.clock.now() >= end:
                return False
            yield 0.1
        return True

    def _busy(self, opened: Document, problem: str = "") -> Document:
        busy = {key: opened.get(key, "") for key in ("id", "controller", "since")}
        return self._result("busy", busy={**busy, "error": problem} if problem else busy)

    def _save_runner(self) -> None:
        text, folder = self.envelope["runner"].get("text"), self.folder
        if text is not None and self._runner_there() != hashlib.sha256(str(text).encode()).hexdigest():
            self.node.drive.write(folder.file("runner.ps1.new"), str(text).encode())
            self.node.drive.rename(folder.file("runner.ps1.new"), folder.file("runner.ps1"), replace=True)

    def _finish_open(self, opened: Document, trouble: str) -> Generator[float | None, None, None]:
        """An open batch that nobody works on is rolled back in this session, or blocks the node."""
        if self.node.faults.runner_refused:
            message = f"{trouble} In this session: {self.node.faults.runner_refused}"
            self.folder.write({"id": opened["id"], "error": {"message": message}}, "blocked.json")
            return
        yield from runner.run(self.node, self.folder.path, self.process)

    def _is_worked_on(self, opened: Document) -> bool:
        if self.folder.worker() is not None:
            return True
        return opened.get("mode") != "inline" and task.will_run(self.node, self.folder.path)

    def _stale(self, batch: Document) -> list[Document]:
        pre = batch.get("pre") or []
        queries = [{**item["query"], "key": str(index)} for index, item in enumerate(pre)]
        found = answer_queries(self.node, self.asker, self.folder.path, queries, came(self.envelope))
        result: list[Document] = []
        for index, item in enumerate(pre):
            value = found[str(index)]
            expect = item.get("expect") or {}
            there = value if isinstance(value, dict) else {"value": value}
            if any(not equal(wanted, there.get(field), field) for field, wanted in expect.items()):
                shown = {field: there.get(field) for field in expect}
                if "error" in there:
                    shown["error"] = there["error"]
                result.append({"key": item["key"], "expect": expect, "found": shown})
        return result

    def _open(self, batch: Document) -> str:
        """Writes batch.json and open.json; the runner's mode."""
        folder, mode = self.folder, str(self.envelope["runner"].get("mode") or "task")
        self.node.counters.batches += 1
        self.node.drive.mkdir(folder.file("batches", self.id))
        opened = {
            "controller": self.envelope.get("controller"),
            "since": self.node.clock.iso(),
            "boot_id": self.node.boot_id,
            "uptime_s": self.node.clock.now(),
            "mode": mode,
        }
        document = {
            **with_present(self.node.registry, batch),
            "id": self.id,
            "state_dir": folder.path,
            "opened": opened,
        }
        if self.envelope.get("hns"):
            document["hns"] = self.envelope["hns"]
        folder.write(document, "batches", self.id, "batch.json")
        self._moment(1)
        if mode == "task":
            task.enable(self.node, folder.path)
        folder.forget_starts()
        folder.write({**opened, "id": self.id, "pid": None, "started": None}, "open.json")
        self._moment(2)
        return mode

    def _moment(self, step: int) -> None:
        self.node.moment("submit", step, "after")

    # -- following -----------------------------------------------------------------------------------------------

    def _follow(self) -> Answered:
        patience = self.envelope.get("follow_s")
        end = self.node.clock.now() + (900.0 if patience is None else float(patience))
        folder = self.folder
        while True:
            entry = folder.outcome(self.id)
            if entry is not None:
                return self._outcome(str(entry["outcome"]), entry.get("error"))
            opened = folder.open_batch()
            if opened is None or opened.get("id") != self.id:
                message = "The session ended before the batch was opened; nothing was done."
                return self._outcome("interrupted", {"message": message})
            trouble = "" if folder.worker() is not None else folder.trouble(opened)
            if trouble:
                return self._outcome("interrupted", {"message": f"{trouble} The next batch rolls it back."})
            if not self._is_worked_on(opened):
                message = "The process that worked on the batch is gone; the next batch undoes it first."
                return self._outcome("interrupted", {"message": message})
            if self.node.clock.now() >= end:
                return self._outcome("running", None)
            yield POLL_S

    def _outcome(self, outcome: str, error: Document | None) -> Document:
        more: dict[str, Any] = {"error": error} if error else {}
        return self._result("accepted", None, outcome=outcome, **more)

    def _acknowledge(self) -> Document:
        blocked = self.folder.block()
        if blocked is None or blocked.get("id") != self.id:
            return self._result("accepted", outcome="unknown")
        opened = self.folder.open_batch()
        if opened is not None and opened.get("id") == self.id:
            self.node.drive.mkdir(self.folder.file("batches", self.id))
            runner.Runner(self.node, self.folder, self.process, opened).give_up(blocked.get("error"))
        self.folder.drop("blocked.json")
        return self._result("accepted", outcome="done", changed=True)

    # -- the result ----------------------------------------------------------------------------------------------

    def _result(self, answer: str, changed: bool | None = None, **more: Any) -> Document:
        results = self._results() if answer == "accepted" else []
        if changed is None:
            changed = more.get("outcome") == "done" and bool(results)
        queries = self.envelope.get("state") or []
        state: Document = {}
        if answer == "accepted":
            state = answer_queries(self.node, self.asker, self.folder.path, queries, came(self.envelope))
        head = {"changed": changed, "schema": 1, "answer": answer, "batch": self.id}
        recovered = {"recovered": dict(self.recovered)} if self.recovered else {}
        return {**head, "results": results, "state": state, **recovered, **more}

    def _results(self) -> list[Document]:
        found: list[Document] = []
        for entry in self.folder.journal(self.id):
            if entry["e"] == "done":
                found.append({"n": entry["n"], "op": entry.get("op", ""), "ok": True, **entry.get("result", {})})
            elif entry["e"] == "failed" and (entry.get("data") or {}).get("phase") != "gate":
                printed = {key: value for key, value in (entry.get("data") or {}).items() if key in _PRINTED}
                said = {"n": entry.get("n", 0), "op": entry.get("op", ""), "message": entry.get("message", "")}
                found.append({**said, "ok": False, **printed})
        return limited(found)


_PRINTED = frozenset({"exit_code", "stdout", "stderr"})


def steps_of(batch: Document) -> list[Document]:
    """Its ops, its gate and all undo lists."""
    steps = [*(batch.get("ops") or []), *(batch.get("gate") or [])]
    return [*steps, *(undo for step in steps for undo in step.get("undo") or [])]


def unknown_word(batch: Document) -> str | None:
    """The first op or wait kind (in ops, undo lists, gate) that there is not, as a sentence."""
    for op in steps_of(batch):
        name, kind = op.get("op"), (op.get("args") or {}).get("for")
        if name not in OPS:
            return f"There is no op {name!r}; there are {', '.join(OPS)}."
        if name == "wait" and kind not in WAITS:
            return f"There is nothing called {kind!r} to wait for; there are {', '.join(WAITS)}."
    return None


def limited(items: list[Document]) -> list[Document]:
    """What all programs printed within 512 KB: where it is more, only the end of the first ops' outputs is kept."""
    room = OUTPUT_ROOM
    for item in reversed(items):
        for stream in ("stdout", "stderr"):
            text = str(item.get(stream) or "")
            if len(text) > max(room, KEPT_END):
                text = f"... {len(text) - KEPT_END} characters left out ...\n{text[-KEPT_END:]}"
                item[stream] = text
            room = max(0, room - len(text))
    return items


def equal(wanted: Any, found: Any, field: str) -> bool:
    """As preconditions compare: strings without regard to case (not in sha256 and content), lists in order."""
    if isinstance(wanted, str) and isinstance(found, str):
        return wanted == found if field in CASE_MATTERS else wanted.lower() == found.lower()
    if isinstance(wanted, list) and isinstance(found, list):
        return len(wanted) == len(found) and all(
            equal(one, other, field) for one, other in zip(wanted, found, strict=True)
        )
    if isinstance(wanted, dict) and isinstance(found, dict):
        return set(wanted) == set(found) and all(equal(wanted[key], found[key], key) for key in wanted)
    return type(wanted) is type(found) and wanted == found


def with_present(registry: Registry, batch: Document) -> Document:
    """The batch with the registry values that undo ops restore as they are now."""
    found = copy.deepcopy(batch)
    for undo in (undo for op in found.get("ops") or () for undo in op.get("undo") or ()):
        args = undo.get("args") or {}
        if args.pop("present", False):
            value = registry.value(str(args["path"]), str(args["name"]))
            undo["op"] = undo["op"] if value else "registry_remove"
            args |= typed(value) if value else {}
    return found
