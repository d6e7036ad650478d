# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends requests to a node and survives a lost connection.

After any exception of the connection the outcome of a batch is unknown: the node is asked for the batch's id until it
answers or the time is up. Only if it has never seen this id, the batch is sent again, once; if the first one still
arrives it does nothing, since a node takes an id once. A call without an answer in its time limit counts as a lost
connection too. docs/protocol.md describes the node's answers.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, TypeVar

from ..engine import windows_path
from ..engine.answer import Answer, Recovered
from ..engine.batch import Batch, encode
from ..engine.clock import Clock
from ..engine.gate import Unexpected
from ..engine.printable import make_sentence
from ..engine.reading import Query
from ..engine.sentences import end_sentence
from ..engine.user import user
from ..engine.waiting import LOGGED_S, WATCHED_S, Voice, Wait
from . import progress
from .answer import RECOVERED, check_answer, check_parts, check_recovered
from .runner_text import add_hns_text, runner_sha256, runner_text

T = TypeVar("T")
AGAIN_S = 5.0
"""Seconds for cleaning up after a call, such as telling a silent node that a command is over."""
END_S = 2.0
"""Seconds that a program gets to end when it is told to."""


class NoAnswerError(Exception):
    """The time is up; `seconds` was the limit."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no answer for {seconds:g} s")
        self.seconds = seconds


class _TimeUp(BaseException):
    """Not an Exception, so that plugins that retry after any Exception let it pass."""


def run_within(seconds: float, work: Callable[[], T]) -> T:
    """The result or exception of `work`. NoAnswerError if it takes longer than `seconds`; the programs that it waits
    for are then ended.

    An earlier `timeout` of the task itself still applies. Outside of the main thread there is no limit, since only that
    thread gets signals.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    theirs = signal.getitimer(signal.ITIMER_REAL)[0]
    if 0 < theirs <= seconds:
        return work()
    over = False

    def up(number: int, frame: FrameType | None) -> None:
        if not over:
            raise _TimeUp

    before = signal.signal(signal.SIGALRM, up)
    started = time.perf_counter()
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN_S)
        answer = work()
        over = True
        return answer
    except _TimeUp as time_up:
        over = True
        _end(list(_programs(time_up)))
        raise NoAnswerError(seconds) from None
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if theirs:
            signal.setitimer(signal.ITIMER_REAL, max(theirs - (time.perf_counter() - started), 0.001))


def _programs(error: BaseException | None) -> Iterator[subprocess.Popen[bytes]]:
    """The programs that the interrupted functions were waiting for: Ansible's ssh plugin leaves its ssh running."""
    while error is not None:
        traceback = error.__traceback__
        while traceback is not None:
            yield from (value for value in traceback.tb_frame.f_locals.values() if isinstance(value, subprocess.Popen))
            traceback = traceback.tb_next
        error = error.__context__


def _end(programs: list[subprocess.Popen[bytes]]) -> None:
    for program in programs:
        with suppress(OSError):
            program.terminate()
    for program in programs:
        try:
            program.wait(END_S)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


SCHEMA = 1
_SWITCHES = frozenset({"hns_network", "hns_network_remove"})
FAILURES = 3
"""The number of successive times that a reachable node may fail to report a batch's outcome."""
UNMOVED = 3
"""The number of successive answers without progress after which that is said."""
_WAITING = "waiting for the node to answer"
_LOOK = "Look at the node: its answer is not the probe's or the runner's own, or was changed on the way."
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 12.0
SWITCHED_S = 5.0
"""A node makes a virtual switch within these seconds after it took the batch; an earlier connection would be cut
off."""
CUT_OFF_S = 10.0
"""Seconds after which a call cut off by a new virtual switch is abandoned; doubled at each further attempt."""

Within = Callable[[float, Callable[[], Any]], Any]
"""Runs a piece of work within a number of seconds; NoAnswerError if it takes longer."""
Execute = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Runs a module on the node: (name, arguments) -> its result. Raises what the connection plugin raises."""


class NodeError(Exception):
    """The node's answer does not match the request. The text is a sentence."""


class NeverArrivedError(NodeError):
    """The connection was lost, and the node has never received the batch. The text is a sentence."""


class Silence(ConnectionError):  # noqa: N818 - what it says
    """A call got no answer in its time limit, and was ended here. The text is a sentence."""


class OutcomeUnknown(Exception):  # noqa: N818 - what it says
    """The connection did not come back in time; `cause` is the connection's last exception."""

    def __init__(self, sentence: str, cause: BaseException) -> None:
        super().__init__(sentence)
        self.cause = cause


@dataclass(slots=True)
class Link:
    """One node's link for one task. `calls` counts its remote executions.

    `reset` closes the connection, `abandon` the remains of a silent one. `reconnect_s` is how long to wait for a lost
    node; `answer_s` how long a node may take for an answer, besides its work. `runner_mode` is `task` (a SYSTEM
    scheduled task) or `inline`. `noted` is called with everything that was read.
    """

    execute: Execute
    reset: Callable[[], None]
    state_dir: str
    host: str = "The node"
    abandon: Callable[[], None] = lambda: None
    reconnect_s: float = 300.0
    answer_s: float = 300.0
    runner_mode: str = "task"
    clock: Clock = field(default_factory=Clock)
    within: Within = run_within
    notice: Callable[[str], None] = lambda sentence: None
    said: Callable[[str], None] = lambda sentence: None
    """Gets the node's progress when a batch takes longer than `progress_s`, and expected losses of the connection."""
    progress_s: float = LOGGED_S
    through: frozenset[str] = frozenset()
    """Services that the connection goes through, in lower case: it is lost when they stop."""
    noted: Callable[[Mapping[str, Any], Sequence[Query]], None] = lambda parts, queries: None
    calls: int = 0
    accepted: bool = False
    """Whether the node has taken a batch of this task."""
    recovered: list[Recovered] = field(default_factory=list)
    """Earlier batches that the node finished or rolled back before this task's."""

    def probe(self, queries: Sequence[Query], *, again: bool = True) -> dict[str, Any]:
        """Read with one remote call: `{key: value}`. NodeError if the module failed; exceptions of the connection
        pass through. With `again` a silent node is asked again until it answers or `reconnect_s` is over."""
        request = {"schema": SCHEMA, "state_dir": self.state_dir, "queries": [query.wire() for query in queries]}
        args = {"request": encode(add_hns_text(request))}
        try:
            answer = self._run("node_probe", args, self.answer_s)
        except Silence as silence:
            if not again:
                raise
            answer = self._read_again(args, silence)
        if answer.get("failed") or "parts" not in answer:
            raise NodeError(f"The node could not be read: {_failure_message(answer, 'the probe gave no parts')}")
        try:
            parts = check_parts(answer["parts"], queries)
        except Unexpected as error:
            raise NodeError(f"What {self.host} answered cannot be used: {error}. {_LOOK}") from None
        self.noted(parts, queries)
        return parts

    def _read_again(self, args: dict[str, Any], silence: Silence) -> dict[str, Any]:
        self.notice(f"{silence} Reading again.")
        cause: Exception = silence
        wait = self.wait(f"reading: {_WAITING}")
        for pause in _pauses(self.reconnect_s, self.clock):
            wait.sleep(pause, cause)
            try:
                self.renew()
                return self._run("node_probe", args, self.answer_s)
            except Exception as error:  # as in apply
                cause = error
                wait.say(error)
        raise OutcomeUnknown(
            f"{self.host} could not be read: it went silent, and did not answer for {self.reconnect_s:g} s. Run the "
            f"playbook again when the node can be reached. The last attempt said: {cause}",
            cause,
        )

    def apply(self, batch: Batch, batch_id: str, known_runner: str | None = None) -> Answer:
        """Send the batch and return its outcome (docs/protocol.md, section 2).

        `known_runner` is the sha256 of the node's runner.ps1, None if it has none; the runner's text is sent only if it
        differs.

        OutcomeUnknown if the node does not come back; NodeError if the module failed before it took the batch.
        """
        envelope = self._envelope("submit", batch_id, batch) | {"batch": batch.wire(batch_id)}
        if self._is_cut_off_by(batch):
            envelope |= {"follow_s": 0, "state": []}
        if known_runner != runner_sha256():
            envelope["runner"]["text"] = runner_text()
        args = {"batch": encode(add_hns_text(envelope))}
        try:
            answer = self._submit(args, batch, batch_id)
        except NeverArrivedError as never:
            self.notice(f"{never} Sending it again.")
            answer = self._submit(args, batch, batch_id)
        self.accepted |= answer.answer == "accepted"
        return answer

    def _submit(self, args: dict[str, Any], batch: Batch, batch_id: str) -> Answer:
        try:
            said = self._run("node_apply", args, self._submit_limit(batch))
        except Exception as lost:  # connection plugins raise many types; after each the outcome is unknown
            return self._ask(batch, batch_id, lost)
        if not _is_answer(said):
            return self._ask(batch, batch_id, _failure(said))
        answer = self._take(said, batch_id, batch, asks=not self._is_cut_off_by(batch))
        if answer.answer == "accepted" and self._is_cut_off_by(batch):
            # A connection that dies silently is noticed only after a minute: close this one first.
            self.renew()
            self.clock.sleep(SWITCHED_S)
            return self._ask(batch, batch_id, ConnectionError("it was closed before the node's network changes"))
        return self._until_over(answer, batch, batch_id)

    def acknowledge(self, batch_id: str) -> Answer:
        """Tell the node that a person has looked at a failed undo."""
        answer = self._run("node_apply", {"batch": encode(self._envelope("acknowledge", batch_id))}, self.answer_s)
        if not _is_answer(answer):
            raise NodeError(f"The node could not be asked: {_failure(answer)}")
        return self._take(answer, batch_id)

    def _ask(self, batch: Batch, batch_id: str, lost: Exception) -> Answer:
        failed = isinstance(lost, ModuleError)
        what = "the node failed" if failed else "connection lost"
        if loses_connection(batch, self.through) and not failed:
            self.said(f"{batch.component}: no connection, as expected during this change; waiting for the node")
        else:
            why = str(lost).strip().rstrip(":")  # ssh's own words may be missing behind a colon
            self.notice(f"{what} while batch {batch_id} was under way ({why}); asking the node what became of it")
        follow = encode(add_hns_text(self._envelope("follow", batch_id, batch)))
        cause: Exception = lost
        wait = self.wait(f"{batch.component}: {_WAITING}")
        failures = int(failed)
        limit_s = self._follow_limit(batch)
        for pause in _pauses(self.reconnect_s, self.clock):
            wait.sleep(pause, cause)
            try:
                if not isinstance(cause, ModuleError):
                    self.renew()
                answer = self._run("node_apply", {"batch": follow}, limit_s)
            except Exception as error:  # as in apply
                cause, failures = error, 0
                limit_s = min(2 * limit_s, self._submit_limit(batch))
                wait.say(error)
                continue
            if _is_answer(answer):
                found = self._take(answer, batch_id, batch)
                return self._until_over(self._report_loss(found, batch_id, lost), batch, batch_id)
            cause = _failure(answer)
            failures = failures + 1 if isinstance(cause, ModuleError) else 0
            if failures == FAILURES:
                raise NodeError(
                    f"The node can be reached, but {failures} times in a row it failed to say what became of batch "
                    f"{batch_id} ({batch.component}): {end_sentence(cause)} The node finishes or rolls back the batch "
                    "by itself; fix that and run the playbook again."
                )
            self.notice(f"the node's answer for batch {batch_id} was not understood ({cause}); asking again")
        raise OutcomeUnknown(
            f"The node did not answer for {self.reconnect_s:g} s after the connection was lost while batch "
            f"{batch_id} ({batch.component}) was under way. "
            "The node finishes or rolls back the batch by itself; run the playbook again when the node can be "
            "reached. "
            f"The last attempt said: {cause}",
            cause,
        )

    def wait(self, what: str) -> Wait:
        """A wait of this task's that begins now, such as "waiting for the node to answer"."""
        return Wait(what, self.clock, Voice(self.said, self.progress_s))

    def _report_loss(self, answer: Answer, batch_id: str, lost: Exception) -> Answer:
        if answer.outcome != "unknown":
            return answer
        if isinstance(lost, ModuleError):
            raise NodeError(f"The node did not take batch {batch_id}, nothing was done: {end_sentence(lost)}")
        raise NeverArrivedError(
            f"The connection was lost before batch {batch_id} arrived: nothing was done. The connection said: {lost}"
        )

    def _until_over(self, answer: Answer, batch: Batch, batch_id: str) -> Answer:
        """Ask again for a batch that is still running when the node stops following it, up to the batch's deadline.
        After an answer that came before its time there is a pause, as after a lost connection."""
        started, pauses = self.clock.now(), _growing_pauses()
        moved, still = progress.measure(answer), 1
        while answer.outcome == "running" and self.clock.now() - started < batch.deadline_s:
            self.said(progress.sentence(batch, answer, self.clock.now() - started + self._follow_s(batch)))
            if still == UNMOVED:
                self.notice(
                    f"{self.host} has not moved: {UNMOVED} times it said that batch {batch_id} ({batch.component}) is "
                    f"running, each time with {moved[0]} of {len(batch.ops)} steps done. It is asked for "
                    f"{batch.deadline_s:g} s altogether."
                )
            done = min(len(answer.results), len(batch.ops))
            follow = encode(add_hns_text(self._envelope("follow", batch_id, batch, done)))
            asked = self.clock.now()
            try:
                said = self._run("node_apply", {"batch": follow}, self._follow_limit(batch, done))
            except Exception as lost:  # as in apply
                return self._ask(batch, batch_id, lost)
            if not _is_answer(said):
                return self._ask(batch, batch_id, _failure(said))
            answer = self._take(said, batch_id, batch)
            now = progress.measure(answer)
            moved, still = now, still + 1 if now == moved else 1
            if answer.outcome == "running" and self.clock.now() - asked < self._follow_s(batch, done):
                self.clock.sleep(next(pauses))
        return progress.drop_parts(answer, batch)

    def _take(
        self, answer: Mapping[str, Any], batch_id: str, batch: Batch | None = None, *, asks: bool = True
    ) -> Answer:
        """The answer behind the gate; `asks` for the batch's state was sent with the request. NodeError for one that
        is not of its form."""
        queries = (*batch.state, *progress.part_queries(batch)) if batch and asks else ()
        try:
            return check_answer(answer, batch_id, queries)
        except Unexpected as error:
            does = " The node finishes or rolls back the batch by itself." if batch else ""
            raise NodeError(
                f"What {self.host} answered about batch {batch_id} cannot be used: {error}.{does} {_LOOK}"
            ) from None

    @property
    def _is_inline(self) -> bool:
        return self.runner_mode == "inline"

    def _is_cut_off_by(self, batch: Batch, done: int = 0) -> bool:
        """Whether the rest of the batch, after `done` ops, silently breaks open connections by making or removing a
        virtual switch. The batch continues without its session, unless the session executes it."""
        return not self._is_inline and any(op.op in _SWITCHES for op in batch.ops[done:])

    def _follow_s(self, batch: Batch, done: int = 0) -> float:
        """How long a node follows a batch in one call. Then it answers `running`, and its progress is shown."""
        most = WATCHED_S if self._is_cut_off_by(batch, done) else self.progress_s
        return min(batch.deadline_s, self.answer_s, most)

    def _follow_limit(self, batch: Batch, done: int = 0) -> float:
        """Seconds for a call that follows the batch."""
        patience_s = min(CUT_OFF_S, self.answer_s) if self._is_cut_off_by(batch, done) else self.answer_s
        return self._follow_s(batch, done) + patience_s

    def _submit_limit(self, batch: Batch) -> float:
        """Seconds for the call that sends the batch. Inline, that call also executes it, and its rollback may take
        as long as its ops."""
        return self.answer_s + (2 * batch.deadline_s if self._is_inline else self._follow_s(batch))

    def carry(self, work: Callable[[], T]) -> T:
        """Send a part of a file; each part is as quick as an answer. Silence if it is not."""
        return self._run_within(self.answer_s, work, "it was sent a file")

    def renew(self) -> None:
        """Close the connection, so that the next call opens a new one."""
        self._run_within(self.answer_s, self.reset, "its connection was closed")

    def _envelope(self, kind: str, batch_id: str, batch: Batch | None = None, done: int = 0) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "kind": kind,
            "id": batch_id,
            "state_dir": self.state_dir,
            "controller": controller(),
            "follow_s": self._follow_s(batch, done) if batch else 0,
            "runner": {"mode": self.runner_mode, "sha256": runner_sha256()},
            "state": [query.wire() for query in (*batch.state, *progress.part_queries(batch))] if batch else [],
        }

    def _run(self, module: str, args: dict[str, Any], limit_s: float) -> dict[str, Any]:
        self.calls += 1
        doing = "it was read" if module == "node_probe" else "it worked"
        answer = self._run_within(limit_s, lambda: self.execute(module, args), doing)
        if answer.get("recovered"):
            try:
                recovered = check_recovered(answer["recovered"])
            except Unexpected as error:
                self.notice(f"what {self.host} says of an earlier batch, which it ended by itself, is wrong: {error}")
            else:
                self.recovered.append(recovered)
                self.notice(describe_recovery(recovered))
        return answer

    def _run_within(self, limit_s: float, work: Callable[[], T], doing: str) -> T:
        """Run `work`. Silence if it takes longer than `limit_s`; nothing of that connection then remains here."""
        try:
            answer: T = self.within(limit_s, work)
            return answer
        except NoAnswerError as none:
            self.abandon()
            raise Silence(
                f"{self.host} sent nothing for {none.seconds:g} s while {doing}, and did not close the connection, so "
                "it was closed here. If the node only needs longer, raise answer_timeout (winkube_answer_timeout)."
            ) from None


def person() -> str:
    """The user of this playbook: `user@host`."""
    return f"{user()}@{socket.gethostname()}"


def controller() -> str:
    """This run: `user@host (pid n)`, the same for all tasks of one run, whose workers are its forks."""
    return f"{person()} (pid {os.getppid()})"


class ModuleError(NodeError):
    """The module ran on the node and failed; the connection works."""


def loses_connection(batch: Batch, through: Collection[str] = ()) -> bool:
    """Whether the batch breaks every connection of the machine, or the one `through` these services: the first
    network on an adapter makes a virtual switch, and so does a restart."""
    return any(
        op.op in _SWITCHES
        or (op.op == "run" and windows_path.name(str(op.args["program"])).casefold() == "shutdown.exe")
        or (op.op == "halt" and str(op.args["name"]).casefold() in through)
        for op in batch.ops
    )


def describe_recovery(recovered: Recovered) -> str:
    """What the node did about an earlier batch."""
    return "the node " + RECOVERED[recovered.outcome].format(id=recovered.id)


def _failure(answer: Mapping[str, Any]) -> NodeError:
    """Why there is no answer. If Ansible could not parse the output (it then returns `module_stdout`), the
    connection may have ended in the middle of it."""
    text = _failure_message(answer, str(answer))
    return NodeError(text) if "module_stdout" in answer else ModuleError(text)


_HELD_BACK = (
    (
        re.compile(r"inthislanguagemode|ConstrainedLanguage|ConversionSupportedOnlyToCoreTypes|CannotDefineNewType"),
        "PowerShell runs in Constrained Language Mode on the node, as AppLocker and App Control (WDAC) make it: "
        "nothing of this collection works in it. Exempt scripts on nodes from that policy, or sign what it has to "
        "trust, see docs/endpoint-protection.md.",
    ),
    (
        re.compile(r"ScriptNotTrusted|ScriptUnsupported"),
        "App Control on the node asks for signed lists, and none has this script: docs/endpoint-protection.md says "
        "what to sign.",
    ),
    (
        re.compile(r"ScriptContainedMaliciousContent|maliciouscontent"),
        "The node's antivirus blocked the script: docs/endpoint-protection.md says what to allow.",
    ),
)
"""Policies that stop the first call already, in texts without white space: Windows PowerShell breaks standard error at
the width of a console. Sources: PowerShell 7.6.9 in that language mode (tests/contract/app_control.py); ansible-core
2.21.5 executor/powershell/exec_wrapper.ps1, module_wrapper.ps1; PowerShell's id ScriptContainedMaliciousContent.
Ids are the same in every language. Unverified under a policy of Windows."""


def _failure_message(answer: Mapping[str, Any], nothing: str) -> str:
    """The message of a failed module, with the policy that blocks it if that can be told."""
    said = make_sentence(answer.get("msg") or nothing)
    texts = (str(answer.get(name, "")) for name in ("msg", "exception", "module_stdout", "module_stderr"))
    all_said = " ".join("".join(text.split()) for text in texts)
    return next((f"{end_sentence(said)} {why}" for pattern, why in _HELD_BACK if pattern.search(all_said)), said)


def _is_answer(answer: Mapping[str, Any]) -> bool:
    return not answer.get("failed") and ("answer" in answer or "module_stdout" not in answer)


def _pauses(total_s: float, clock: Clock) -> Iterator[float]:
    """Growing pauses until `total_s` have passed, at least one."""
    started = clock.now()
    for pause in _growing_pauses():
        yield pause
        if clock.now() - started >= total_s:
            return


def _growing_pauses() -> Iterator[float]:
    pause = FIRST_PAUSE_S
    while True:
        yield pause
        pause = min(pause * 1.7, LONGEST_PAUSE_S)
