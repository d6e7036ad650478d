# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints what tasks add to the records of their nodes, equal lines once for all nodes, and each record at the end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.errors import AnsibleError
from ansible.plugins.callback import CallbackBase
from ansible.template import Templar

from ..plugin_utils.engine.printable import make_sentence
from ..plugin_utils.node import run_id
from ..plugin_utils.record.hosts import by_number, name_hosts
from ..plugin_utils.record.node_record import FAILED, HIDDEN, OK, UNKNOWN, UNREACHABLE, Added, Failure, NodeRecord
from ..plugin_utils.record.store import FILE, Store, write_at_end

DOCUMENTATION = r"""
name: steps
type: aggregate
short_description: Prints what a component did, or would do, under its task
version_added: 0.1.0
author: The winkube.node authors
description:
  - Prints what a task of this collection did, or would do, as one line each, after the line of the stdout callback. It
    takes it from the record of the node (docs/record.md), and from nothing else.
  - Each line begins with what it is about, such as C(kubelet). A line that several nodes have is printed once, when the
    task is done on all of them and before the next one begins; with C(-v) each node's own are printed at once.
  - Of a plan for a whole node, which the first task of C(site.yml) makes, it prints one line, with how many steps each
    role has; with C(-v) each step. One line more, once in a run, names the programs that nothing but the server that
    they come from vouches for.
  - At the end it prints one line for the nodes that fared alike - whether they are Ready and with which releases, else
    what was changed; drained, restarted, how long it took; of a failure the reason and what is left.
  - It completes the records with what Ansible alone knows, such as that a node was not reached by a task of another
    collection.
  - A play that no host of the inventory matches is named, and so is a run whose tags leave no task in it, since Ansible
    ends with 0 there.
  - It is an aggregate callback and goes with every stdout callback. If that one writes JSON, the lines go to stderr.
  - Enable it with C(callbacks_enabled = winkube.node.steps).
"""

LEFT_OUT = "all:!all"
"""The hosts of a play that a playbook leaves out."""
LONGEST_REASON = 300
"""Characters of a reason in the last lines; the whole one stands in the record."""
Line = tuple[str, str, str]
"""What a line is about, its text and its colour."""


class CallbackModule(CallbackBase):
    """Listens to results of tasks."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "winkube.node.steps"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, display: Any = None, options: Any = None, *, store: Store | None = None) -> None:
        super().__init__(display=display, options=options)
        self._store = store or Store(Path(C.DEFAULT_LOCAL_TMP))
        write_at_end(self._store.folder, self._display.warning)
        # Of several playbooks in one command each has a callback of its own.
        self._taken = {host: len(self._store.additions(host)) for host in self._store.hosts()}
        """How much of each host's record has been shown."""
        self._waiting: list[tuple[Line, list[str]]] = []
        """Lines and their hosts, until the task is done on all hosts; the lines of each host are in its order."""
        self._running = 0
        """The hosts on which the task has begun and not ended. Ansible begins on the next before it tells of an end, so
        there are none only when the task is done on all of them."""
        self._chosen = 0
        """The plays that have hosts and of which tags choose the tasks."""
        self._began = False
        """Whether any task began; the one that Ansible itself adds for a role's arguments does not count."""
        self._play: Any = None
        self._wanted = ""
        """The hosts of the play, as it names them."""
        self._tagged = False
        self._unpinned: dict[str, bool] = {}
        """Programs that nothing but their own server vouches for -> whether that has been told."""

        stdout = str(C.config.get_config_value("DEFAULT_STDOUT_CALLBACK")).rpartition(".")[2]
        self._place = {"stderr": True} if stdout.startswith("json") else {}

    def _print(self, text: str, color: str) -> None:
        self._display.display(make_sentence(text), color=color, **self._place)

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """A play begins, on no host perhaps."""
        self._play = play
        hosts = play.hosts
        self._wanted = hosts if isinstance(hosts, str) else ",".join(map(str, hosts))
        self._tagged = set(play.only_tags) != {"all"} or bool(play.skip_tags)
        self._chosen += self._tagged

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """A play has no host: it ends well and has looked at nothing. `all:!all` is a play that is left out."""
        self._chosen -= self._tagged
        if self._wanted != LEFT_OUT:
            self._print(
                f"  No host of the inventory matches '{self._wanted}': nothing was looked at. Is the group empty, the "
                "inventory another one, or its folder full of files that Ansible passes over (.bak, .ini, .txt)?",
                color=C.COLOR_WARN,
            )

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        """The task before is done on all hosts."""
        self._flush()
        self._running = 0
        self._began |= not str(task.action).endswith("validate_argument_spec")

    def v2_runner_on_start(self, host: Any, task: Any) -> None:
        """A task begins on a host."""
        self._running += 1

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task is done, in check mode too."""
        self._take(result)
        self._end_on_host()

    def v2_runner_on_skipped(self, result: Any) -> None:
        """A task is left out on a host."""
        self._end_on_host()

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        self._complete(result, FAILED, self._take(result), went_on=ignore_errors)
        self._end_on_host()

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A node could not be reached."""
        went_on = bool(getattr(_task(result), "ignore_unreachable", False))
        self._complete(result, UNREACHABLE, self._take(result), went_on=went_on)
        self._end_on_host()

    def _take(self, result: Any) -> list[Added]:
        """Let wait what the task has added to the record of its host, and to that of the one it was delegated to."""
        added: list[Added] = []
        for host in dict.fromkeys((_host(result).get_name(), getattr(_task(result), "delegate_to", None))):
            if host is None:
                continue
            new = self._store.additions(str(host), self._taken.get(str(host), 0))
            self._taken[str(host)] = self._taken.get(str(host), 0) + len(new)
            added += new
            fold(self._waiting, str(host), (line for each in new for line in self._lines(each)))
        return added

    def _complete(self, result: Any, state: str, added: Iterable[Added], *, went_on: bool) -> None:
        """Add to the record what a task of another collection failed at."""
        if any(each.failure is not None for each in added):
            return
        host, task, values = _host(result), _task(result), _values(result)
        said = (
            HIDDEN if values.get("_ansible_no_log") or getattr(task, "no_log", False) else str(values.get("msg") or "")
        )
        now = time.time()
        self._store.add(
            Added(
                run=run_id.RUN_ID,
                host=host.get_name(),
                task=str(getattr(task, "_uuid", "")),
                name=str(task.get_name()),
                about="",
                began=now,
                ended=now,
                failure=Failure(
                    state=state, task=str(task.get_name()), reason=make_sentence(said or "no reason was given")
                ),
                went_on=went_on,
            )
        )
        self._taken[host.get_name()] = self._taken.get(host.get_name(), 0) + 1
        self._send_to_file(host)

    def _send_to_file(self, host: Any) -> None:
        """The file of a host on which no task of this collection has run."""
        if self._play is None:
            return
        variables = self._play.get_variable_manager().get_vars(play=self._play, host=host)
        try:
            templar = Templar(loader=self._play.get_loader(), variables=variables)
            if name := templar.template(variables.get(FILE) or ""):
                self._store.send_to(host.get_name(), str(name))
        except (AnsibleError, OSError) as error:
            self._display.warning(make_sentence(f"{FILE}: {error}"))

    def _end_on_host(self) -> None:
        """Print what waits before the next heading comes: the stdout callback prints that one before this is told."""
        self._running -= 1
        if self._running <= 0 or self._display.verbosity:
            self._flush()

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """The run is over."""
        self._flush()
        if self._chosen and not self._began:
            self._print("  The run's tags leave no task in it: nothing was looked at.", color=C.COLOR_WARN)
        self._settle(stats)
        alike: dict[str, list[NodeRecord]] = {}
        for record in sorted(self._store.records(), key=lambda record: by_number(record.host)):
            if text := describe(record):
                alike.setdefault(_mask(text, record), []).append(record)
        for records in alike.values():
            first = records[0]
            name = name_hosts(record.host for record in records)
            text = describe(first)
            if len(records) > 1 and _mask(text, first) != text:
                text += f" ({first.host}; the same of the others)"
            color = C.COLOR_ERROR if first.state != OK else C.COLOR_CHANGED if first.done else C.COLOR_OK
            longest = max(record.minutes for record in records)
            self._print(f"{name}: {text}; {_duration(longest * 60)}", color=color)

    def _settle(self, stats: Any) -> None:
        """Each record says of its host what the recap says: a failure may have been rescued, or be another one's."""
        known = self._store.hosts()
        for host in sorted({*stats.processed, *known}):
            summary = stats.summarize(host)
            state = UNREACHABLE if summary["unreachable"] else FAILED if summary["failures"] else OK
            if host in known or state != OK:
                self._store.add(Added(run=run_id.RUN_ID, host=host, state=state))

    def _lines(self, added: Added) -> Iterator[tuple[str, str, str]]:
        """What was added, a line each."""
        if added.plan is not None:
            for program in added.plan.unpinned:
                self._unpinned.setdefault(program, False)
            color = C.COLOR_CHANGED if added.planned else C.COLOR_OK
            yield "plan", _summary(added), color
            if self._display.verbosity:
                for about, steps in added.planned.items():
                    yield from (("plan", f"{about}: would {step.text}", color) for step in steps)
            return
        for about, steps in added.planned.items():
            yield from ((about, f"would {step.text}", C.COLOR_CHANGED) for step in steps)
        yield from ((added.about, text, C.COLOR_CHANGED) for text in (*added.done, *added.found))

    def _flush(self) -> None:
        """Print what waits: each line once, with the names of its hosts."""
        for (subject, text, color), hosts in self._waiting:
            self._print(f"  {subject}: {name_hosts(sorted(hosts, key=by_number))}: {text}", color=color)
        self._waiting = []
        if new := [program for program, told in self._unpinned.items() if not told]:
            self._print(
                f"  plan: not pinned: {', '.join(new)}: only the server of the file vouches for it",
                color=C.COLOR_VERBOSE,
            )
            self._unpinned = dict.fromkeys(self._unpinned, True)


def fold(waiting: list[tuple[Line, list[str]]], host: str, lines: Iterable[Line]) -> None:
    """Add a host's lines, in their order: to equal ones of other hosts, else as new ones behind those of others."""
    place = len(waiting)
    for line in reversed(list(lines)):
        same = next((n for n in reversed(range(place)) if waiting[n][0] == line), None)
        if same is None:
            waiting.insert(place, (line, [host]))
        else:
            place = same
            waiting[place][1].append(host)


def _host(result: Any) -> Any:
    """A result's host, under each ansible-core."""
    return result.host if hasattr(result, "host") else result._host


def _task(result: Any) -> Any:
    return result.task if hasattr(result, "task") else result._task


def _values(result: Any) -> Mapping[str, Any]:
    values: Mapping[str, Any] = result.result if hasattr(result, "result") else result._result
    return values


def describe(record: NodeRecord) -> str:
    """One sentence about a node of the run, for its last line; "" if nothing happened to it."""
    steps = sum(len(texts) for texts in record.done.values())
    counted = [f"{_plural(steps, 'step')} ({', '.join(record.done)})"] if steps else []
    more = ["drained"] if record.drained else []
    more += ["restarted"] if record.restarted else []
    if (failed := record.failed) is not None:
        what = "not reached" if record.state == UNREACHABLE else "failed"
        told = [*counted, *more, f"{what} in '{failed.task}'" if failed.task else what]
        left = f"; left: {', '.join(record.left)}" if record.left else ""
        return f"{', '.join(told)}: {_shorten(failed.reason)}{left}"
    if steps:
        return ", ".join([*(record.standing or counted), *more])
    return "planned, nothing changed" if record.differs else ""


def _shorten(reason: str) -> str:
    """A reason on one line, without a full stop."""
    line = " ".join(reason.split())
    return line.removesuffix(".") if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]} ..."


def _mask(text: str, record: NodeRecord) -> str:
    """The text with one word in place of the host's names: what several nodes fared alike."""
    names = sorted({record.host, record.node} - {UNKNOWN}, key=len, reverse=True)
    return re.sub(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-])", "<host>", text)


def _summary(added: Added) -> str:
    """One line: nothing differs, or how many steps there are to take, by role."""
    counts = {about: len(steps) for about, steps in added.planned.items()}
    told = f"{_plural(sum(counts.values()), 'step')}: " + ", ".join(f"{role} {count}" for role, count in counts.items())
    plan = added.plan
    if plan is None or not plan.looked:
        return "nothing was looked at: the run's tags leave no role in it"
    if plan.whole:
        return told if counts else "nothing differs"
    return f"{told if counts else 'nothing differs so far'}; the rest is planned by its tasks"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
