# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a module: its arguments as the module documents them, and sentences for what goes wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ..cluster.error import ClusterError
from ..engine.local_path import FULL, explain_full
from ..engine.printable import make_printable, make_sentence
from ..engine.resource import Refused
from ..engine.waiting import LOGGED_S, WATCHED_S, Voice, telling
from ..node import run_id
from ..record.store import FILE, Store
from ..transfer.progress import is_watched
from . import argument_spec, recorded
from .argument_spec import plain
from .screen import display
from .variables import RECORD

FACTS = "ansible_facts"
_PREFIX = re.compile(r"^(win_k8s_|win_|k8s_windows_)")


class ModuleAction(ActionBase):
    """A subclass names its module."""

    module: ClassVar[str]
    topic: ClassVar[str] = ""
    """What its batches are called, and what its errors begin with."""
    refusals: ClassVar[tuple[type[Exception], ...]] = ()
    """Errors whose text is a sentence for the user."""
    _task_vars: dict[str, Any]

    adds: recorded.Adding
    """What the task notes for the record of its host while it works."""

    @property
    def about(self) -> str:
        """What the record calls the module's work: `drain` of win_k8s_drain."""
        return _PREFIX.sub("", self.module)

    @property
    def _host(self) -> str:
        """The inventory's name of the host that is worked on."""
        return str(self._task.delegate_to or self._task_vars["inventory_hostname"])

    def _shares_facts(self) -> bool:
        """Ansible would give the fact of a `run_once` task to every host of the play."""
        return self._task.delegate_to is not None or self._task.loop is not None or bool(self._task.run_once)

    def keep_record(self, work: Callable[[], dict[str, Any]], *, changes: bool) -> dict[str, Any]:
        """What `work` returns, with the host's record as a fact; what it did, or failed at, gets into the record.
        `changes`: it brings something about on its host."""
        self.adds = recorded.Adding()
        task, store = self._describe_task(changes=changes), recorded.find_store()
        try:
            self._send_record(store)
            result = work()
        except AnsibleError as error:
            state = "unreachable" if isinstance(error, AnsibleConnectionFailure) else "failed"
            store.add(recorded.of_failure(task, self.adds, state, error.message))
            raise
        added = recorded.of_result(task, self.adds, result)
        if not changes and not recorded.says_anything(added):
            return result
        store.add(added)
        if self._shares_facts():
            return result
        record = store.record(self._host).to_data()
        return result | {FACTS: {**(result.get(FACTS) or {}), RECORD: record}}

    def _describe_task(self, *, changes: bool) -> recorded.Task:
        task = self._task
        ignored = {"failed": task.ignore_errors, "unreachable": task.ignore_unreachable}
        return recorded.Task(
            run=run_id.RUN_ID,
            host=self._host,
            id=str(task._uuid),
            name=str(task.get_name()),
            about=self.about,
            check=bool(task.check_mode),
            hides=bool(task.no_log),
            changes=changes,
            loops=task.loop is not None,
            goes_on=frozenset(state for state, goes_on in ignored.items() if goes_on),
        )

    def _send_record(self, store: Store) -> None:
        """From here on the record goes to the file that a variable names."""
        try:
            value = plain(self._templar.template(self._task_vars.get(FILE) or ""))
        except AnsibleError:  # a task that has it says so
            return
        if not value:
            return
        try:
            store.send_to(self._host, str(value))
        except OSError as error:
            raise AnsibleActionFail(
                f"{FILE}: {value} cannot be written: {error.strerror or error}. Name a file on the controller "
                "in a folder that you may write to."
            ) from None

    def check_options(self) -> dict[str, Any]:
        """The task's arguments and the module's defaults, as plain values."""
        spec = argument_spec.load_spec(self.module)
        return argument_spec.normalize(self.validate_argument_spec(argument_spec=spec)[1], spec)

    def say(self, sentence: str) -> None:
        """A line about what the task waits for, for the screen and for the record."""
        self.adds.wait(sentence)
        display.display(f"  {self.topic or self.about}: {sentence}")

    def explain_errors(self, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What `work` returns, fit to be printed; facts stay as they are. Its errors become sentences that end the
        task."""
        try:
            with telling(Voice(self.say, WATCHED_S if is_watched() else LOGGED_S)):
                result = work()
        except Refused as refused:  # the sentences are whole; a chain of causes would say them twice
            raise AnsibleActionFail(make_sentence("\n".join(refused.sentences)), obj=self._task.args) from None
        except ClusterError as error:
            raise AnsibleActionFail(make_sentence(f"{self.topic}: {error}" if self.topic else error)) from None
        except self.refusals as error:
            raise AnsibleActionFail(make_sentence(error)) from None
        except OSError as error:
            if error.errno not in FULL:
                raise
            raise AnsibleActionFail(make_sentence(explain_full(Path(str(error.filename or "."))))) from None
        return {name: value if name == FACTS else make_printable(value) for name, value in result.items()}


class ControllerAction(ModuleAction):
    """The action of a module that works on the controller and asks no node; a subclass does `work`."""

    _requires_connection = False

    def work(self, options: dict[str, Any]) -> dict[str, Any]:
        """The task's result. May raise Refused, ClusterError, and what `refusals` lists."""
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the arguments, do the work."""
        self._task_vars = task_vars or {}
        result: dict[str, Any] = super().run(tmp, self._task_vars)
        return result | self.keep_record(
            lambda: self.explain_errors(lambda: self.work(self.check_options())), changes=False
        )
