# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prints the sentences of plans under their tasks, equal ones once for all nodes, and a summary at the end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.plugins.callback import CallbackBase

from ..plugin_utils.engine.printable import make_sentence

DOCUMENTATION = r"""
name: steps
type: aggregate
short_description: Prints what a component did, or would do, under its task
version_added: 0.1.0
author: The winkube.node authors
description:
  - Prints the C(steps) of a result as one line each, after the line of the stdout callback. Results without C(steps)
    print nothing.
  - Each line begins with what it is about, such as C(kubelet). Of several nodes with equal steps it prints them once,
    when the task is done on all of them and before the next one begins; with C(-v) it prints each node's own at once.
  - Of a plan for a whole node, which the first task of C(site.yml) makes, it prints one line, with how many steps each
    role has; with C(-v) each step. One line more, once in a run, names the programs that nothing but the server that
    they come from vouches for.
  - At the end it prints one line for the nodes that fared alike - what was changed, drained and restarted, how long it
    took, and what is left after a failure.
  - A play that no host of the inventory matches is named, and so is a run whose tags leave no task in it, since Ansible
    ends with 0 there.
  - It is an aggregate callback and goes with every stdout callback. If that one writes JSON, the lines go to stderr.
  - Enable it with C(callbacks_enabled = winkube.node.steps).
"""

LEFT_OUT = "all:!all"
"""The hosts of a play that a playbook leaves out."""
_NUMBERED = re.compile(r"(.*?)(\d+)")
_PREFIX = re.compile(r"^(win_k8s_|win_|k8s_windows_)")


@dataclass(slots=True)
class _Node:
    """What the tasks of a run did to one node."""

    began: float
    ended: float
    planned: Sequence[str] = ()
    """The roles with steps to take, by the plan of the first task."""
    steps: int = 0
    roles: list[str] = field(default_factory=list)
    drained: bool = False
    restarted: bool = False
    failed: str = ""
    """The task that failed, or in which the node could not be reached."""


class CallbackModule(CallbackBase):
    """Listens to results of tasks."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "winkube.node.steps"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(
        self, display: Any = None, options: Any = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(display=display, options=options)
        self._clock = clock
        self._nodes: dict[str, _Node] = {}
        self._waiting: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
        """What lines are about, and the lines with colours -> their hosts, until the task is done on all hosts."""
        self._running = 0
        """The hosts on which the task has begun and not ended. Ansible begins on the next before it tells of an end, so
        there are none only when the task is done on all of them."""
        self._chosen = 0
        """The plays that have hosts and of which tags choose the tasks."""
        self._began = False
        """Whether any task began; the one that Ansible itself adds for a role's arguments does not count."""
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
        hosts = play.hosts
        self._wanted = hosts if isinstance(hosts, str) else ",".join(map(str, hosts))
        self._tagged = set(play.only_tags) != {"all"} or bool(play.skip_tags)
        self._chosen += self._tagged

    def v2_playbook_on_no_hosts_matched(self) -> None:
        """A play has no host: it ends well and has looked at nothing. `all:!all` is a play that is left out."""
        self._chosen -= self._tagged
        if self._wanted != LEFT_OUT:
            self._print(
                f"  No host of the inventory matches '{self._wanted}': nothing was looked at. Is the group empty, or "
                "the inventory another one?",
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
        self._node(host.get_name())

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task is done, in check mode too."""
        host, task, values = _parts(result)
        node = self._node(host)
        if lines := self._lines(node, values):
            subject = "plan" if "plan" in values else _subject(str(_task(result).action))
            self._waiting.setdefault((subject, lines), []).append(host)
        _count(node, task, values)
        self._end_on_host()

    def v2_runner_on_skipped(self, result: Any) -> None:
        """A task is left out on a host."""
        self._end_on_host()

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task failed."""
        host, task, _values = _parts(result)
        if not ignore_errors:
            self._node(host).failed = f"failed in '{task}'"
        self._end_on_host()

    def v2_runner_on_unreachable(self, result: Any) -> None:
        """A node could not be reached."""
        host, task, _values = _parts(result)
        self._node(host).failed = f"not reached in '{task}'"
        self._end_on_host()

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
        alike: dict[str, list[str]] = {}
        longest: dict[str, float] = {}
        for host, node in self._nodes.items():
            if text := _describe(node):
                alike.setdefault(text, []).append(host)
                longest[text] = max(longest.get(text, 0.0), node.ended - node.began)
        for text, hosts in alike.items():
            color = C.COLOR_ERROR if self._nodes[hosts[0]].failed else C.COLOR_CHANGED
            self._print(f"{name_hosts(sorted(hosts, key=_by_number))}: {text}; {_duration(longest[text])}", color=color)

    def _node(self, host: str) -> _Node:
        now = self._clock()
        node = self._nodes.setdefault(host, _Node(began=now, ended=now))
        node.ended = now
        return node

    def _lines(self, node: _Node, values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        """What a result says, a line and its colour each."""
        lines: list[tuple[str, str]] = []
        plan = values.get("plan")
        if isinstance(plan, dict) and isinstance(plan.get("steps"), dict):
            node.planned = tuple(plan["steps"])
            for program in plan.get("unpinned") or ():
                self._unpinned.setdefault(program, False)
            color = C.COLOR_CHANGED if plan["steps"] else C.COLOR_OK
            lines.append((_summary(plan), color))
            if self._display.verbosity:
                lines += [(f"{role}: {text}", color) for role, texts in plan["steps"].items() for text in texts]
        lines += [(text, C.COLOR_CHANGED) for text in _texts(values)]
        return tuple(lines)

    def _flush(self) -> None:
        """Print what waits: each group of lines once, with the names of its hosts."""
        for (subject, lines), hosts in self._waiting.items():
            name = name_hosts(sorted(hosts, key=_by_number))
            for text, color in lines:
                self._print(f"  {subject}: {name}: {text}", color=color)
        self._waiting = {}
        if new := [program for program, told in self._unpinned.items() if not told]:
            self._print(
                f"  plan: not pinned: {', '.join(new)}: only the server of the file vouches for it",
                color=C.COLOR_VERBOSE,
            )
            self._unpinned = dict.fromkeys(self._unpinned, True)


def name_hosts(hosts: Iterable[str]) -> str:
    """Hosts as a person names them: `win1 to win3, win7`, in their order."""
    runs: list[list[str]] = []
    for host in hosts:
        if runs and _follows(runs[-1][-1], host):
            runs[-1].append(host)
        else:
            runs.append([host])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _by_number(host: str) -> tuple[str, int, str]:
    """win2 before win10."""
    match = _NUMBERED.fullmatch(host)
    return (match[1], int(match[2]), host) if match else (host, -1, host)


def _follows(one: str, other: str) -> bool:
    """Whether the second name is the first with the next number at its end."""
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if first is None or second is None:
        return False
    return first[1] == second[1] and int(second[2]) == int(first[2]) + 1


def _parts(result: Any) -> tuple[str, str, Mapping[str, Any]]:
    """Host, name of the task and values of a result, under each ansible-core."""
    host = result.host if hasattr(result, "host") else result._host
    values = result.result if hasattr(result, "result") else result._result
    return host.get_name(), _task(result).get_name(), values


def _task(result: Any) -> Any:
    return result.task if hasattr(result, "task") else result._task


def _subject(action: str) -> str:
    """What a module is about: `kubelet` of winkube.node.win_kubelet, `drain` of winkube.node.win_k8s_drain."""
    return _PREFIX.sub("", action.rpartition(".")[2])


def _texts(values: Mapping[str, Any]) -> list[str]:
    return [str(step["text"]) for step in values.get("steps") or () if isinstance(step, dict) and "text" in step]


def _count(node: _Node, task: str, values: Mapping[str, Any]) -> None:
    """Add a result to what is known of its node."""
    texts = _texts(values)
    if not values.get("changed") or not texts:
        return
    node.steps += len(texts)
    node.roles.append(task.partition(" : ")[0].rpartition(".")[2] if " : " in task else task)
    node.drained |= bool((values.get("winkube") or {}).get("drained"))
    node.restarted |= bool(values.get("rebooted"))


def _describe(node: _Node) -> str:
    """One sentence about a node of the run; "" if nothing happened to it."""
    done = [f"{_plural(node.steps, 'step')} ({', '.join(dict.fromkeys(node.roles))})"] if node.steps else []
    done += ["drained"] if node.drained else []
    done += ["restarted"] if node.restarted else []
    if node.failed:
        left = [role for role in node.planned if role not in node.roles]
        done += [node.failed, *([f"left: {', '.join(left)}"] if left else ())]
    return ", ".join(done)


def _summary(plan: Mapping[str, Any]) -> str:
    """One line: nothing differs, or how many steps there are to take, by role."""
    counts = {role: len(texts) for role, texts in plan["steps"].items()}
    told = f"{_plural(sum(counts.values()), 'step')}: " + ", ".join(f"{role} {count}" for role, count in counts.items())
    if not plan.get("looked", True):
        return "nothing was looked at: the run's tags leave no role in it"
    if plan.get("converged"):
        return "nothing differs"
    if plan.get("whole", True):
        return told
    return f"{told if counts else 'nothing differs so far'}; the rest is planned by its tasks"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
