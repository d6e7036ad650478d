# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every action that speaks with a node shares: its link, its reading, and the reading's way into the next task."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.template import trust_as_template

from ..components.asks import Asks
from ..components.layout import Layout
from ..components.options import read
from ..components.shared_options import SharedOptions
from ..components.source import text_of
from ..engine.printable import make_sentence
from ..engine.reading import Query, Reading, pack, usable
from ..engine.waiting import LOGGED_S, WATCHED_S
from ..node import run_id
from ..node.link import Link, NodeError, OutcomeUnknown, Silence, describe_recovery
from ..node.run_id import RUN_ID
from ..node.ssh import end_master, keep_alive
from ..transfer import download
from ..transfer.progress import is_watched
from . import variables
from .argument_spec import plain
from .connection_fit import Loaded, find_misfit
from .module_action import ModuleAction
from .one_machine import Machines
from .say_once import is_first_to_say
from .screen import display
from .task_node import TaskNode
from .variables import READING

APPLY = "node_apply"
ANSIBLES_OWN = frozenset({"warnings", "deprecations", "invocation", "exception"})
"""Of a module's result: Ansible shows these itself, and in core 2.19 and later they are objects, not text."""
THROUGH = {"winkube.node.host_process": frozenset({"kubelet", "containerd"})}
"""By connection plugin: the node's services that it goes through."""
OF_FILES: Mapping[str, Any] = {
    "escape_backslashes": False,
    "overrides": {"trim_blocks": True, "lstrip_blocks": True},
}
"""How Ansible's module template renders a file."""
ROLES = Path(__file__).resolve().parents[3] / "roles"


class NodeAction(ModuleAction):
    """An action on one node. A subclass names its module and does `work`."""

    refusals = (NodeError,)

    _supports_async = False
    _node: TaskNode

    _shared: SharedOptions
    _asks: Asks
    """What is asked of cluster and controller, each once in the task."""

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """The task's result. May raise Refused, NodeError, ClusterError, OutcomeUnknown and what connections raise."""
        raise NotImplementedError

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check variables and arguments, make the link, do the work."""
        self._task_vars = task_vars or {}
        result: dict[str, Any] = super().run(tmp, self._task_vars)
        return result | self.keep_record(self._run_on_node, changes=True)

    def _run_on_node(self) -> dict[str, Any]:
        self._check_variables()
        options = self.check_options()
        if misfit := find_misfit(self._loaded()):
            raise AnsibleActionFail(misfit)
        try:
            return self._add_recovery(self.explain_errors(lambda: self._work_on_node(options)))
        except OutcomeUnknown as unknown:
            raise AnsibleConnectionFailure(make_sentence(unknown)) from unknown.cause
        except Silence as silence:
            raise AnsibleConnectionFailure(make_sentence(silence)) from None

    def _work_on_node(self, options: dict[str, Any]) -> dict[str, Any]:
        self._shared = shared = read(SharedOptions, options)
        layout = Layout.of(shared.node)
        keep_alive(self._connection)
        link = Link(
            execute=self._on_node,
            reset=self._reset,
            state_dir=layout.state_dir,
            host=self._host,
            abandon=lambda: end_master(self._connection),
            reconnect_s=shared.reconnect_timeout,
            answer_s=shared.answer_timeout,
            runner_mode=shared.runner,
            notice=lambda sentence: display.warning(f"{self._host}: {sentence}"),
            said=self.say,
            progress_s=WATCHED_S if is_watched() else LOGGED_S,
            through=THROUGH.get(str(self._connection.ansible_name), frozenset()),
        )
        machines = Machines(Path(C.DEFAULT_LOCAL_TMP), self._host)
        self._node = TaskNode(
            link, layout, self._host, self._connection, self.warn_once, self._task.check_mode, machines
        )
        self._asks = Asks(self, self._host, shared=Path(C.DEFAULT_LOCAL_TMP), task=str(self._task._uuid))
        return self.work(options, layout)

    def _loaded(self) -> Loaded:
        """A shell or an option that the plugin does not have is not judged."""
        connection, shell = self._connection, getattr(self._connection, "_shell", None)
        try:
            port = connection.get_option("port")
        except KeyError:
            port = None
        return Loaded(
            connection=str(connection.ansible_name).rpartition(".")[2],
            shell=str(getattr(shell, "SHELL_FAMILY", "powershell")),
            port=int(port) if str(port).isdigit() else None,
            mitogen="ansible_mitogen" in sys.modules,
            become=str(getattr(connection.become, "name", "") or "").rpartition(".")[2],
        )

    def say(self, sentence: str) -> None:
        self.adds.wait(sentence)
        display.display(f"  {self._host}: {sentence}")

    def _check_variables(self) -> None:
        """Refuses a misspelled variable, and in the first task of a run one of a wrong type, before the node is asked
        for anything."""
        problems = variables.find_unknown(self._task_vars)
        if READING not in (self._task_vars.get("ansible_facts") or {}):
            problems |= variables.find_wrong(self._task_vars, self._render_variable)
        if problems:
            first = self._task_vars[next(iter(problems))]
            raise AnsibleActionFail("\n".join(problems.values()), obj=first)

    def _render_variable(self, name: str) -> Any:
        """A variable's value; what cannot be had now is not judged."""
        try:
            return self.render_value(self._task_vars[name])
        except AnsibleError:
            return None

    def variable(self, name: str) -> Any:
        """A variable as it is written; None if there is none."""
        return self._task_vars.get(name)

    def render_value(self, value: Any) -> Any:
        """A value with its templates filled in. AnsibleError if that cannot be done now."""
        return plain(self._templar.template(value))

    def render_in_role(self, value: Any, role: str) -> Any:
        """The same as a task of this role would have it, in a play that has not loaded the role."""
        defaults = self._loader.load_from_file(str(ROLES / role / "defaults" / "main.yml"), trusted_as_template=True)
        templar = self._templar.copy_with_new_env(available_variables={**(defaults or {}), **self._task_vars})
        return plain(templar.template(value))

    def _add_recovery(self, result: dict[str, Any]) -> dict[str, Any]:
        """The result; a node that had to roll back an earlier batch has changed, also if there was nothing else to
        do."""
        recovered = self._node.link.recovered
        if not recovered:
            return result
        steps = [{"text": describe_recovery(each), "state": "done"} for each in recovered]
        told = {**(result.get("winkube") or {}), "recovered": asdict(recovered[-1])}
        return result | {"changed": True, "steps": [*steps, *(result.get("steps") or ())], "winkube": told}

    def reading(self, needed: Sequence[Query] = ()) -> Reading:
        """This run's reading if it can be believed, else a new one, with `needed` in it."""
        known = self.find_reading()
        return self._node.read(needed) if known is None else self._node.complete(known, needed)

    def find_reading(self) -> Reading | None:
        """This run's reading if it can be believed."""
        fact = self.fact()
        if fact is None or self._shared.refresh:
            return None
        check, max_age = self._task.check_mode, self._shared.reading_max_age
        return usable(fact, run=RUN_ID, now=time.time(), max_age=max_age, check=check)

    def fact(self) -> dict[str, Any] | None:
        """What the last task has left of this host's reading. `set_fact` and `run_once` can bring in another's."""
        fact = (self._task_vars.get("ansible_facts") or {}).get(READING)
        own = isinstance(fact, Mapping) and fact.get("host") == self._host
        if not own or self._shares_facts() or run_id.is_spoiled(self._host):
            return None
        found: dict[str, Any] = plain(fact)
        return found

    def facts(self, reading: Reading) -> dict[str, Any]:
        """The reading for the next task, packed unless -v shows it; not from a loop or a delegated task, whose facts
        would be another node's."""
        if self._shares_facts():
            return {}
        run_id.mend(self._host)
        fact = reading.to_fact()
        return {"ansible_facts": {READING: {**(fact if display.verbosity else pack(fact)), "host": self._host}}}

    def warn_once(self, sentence: str) -> None:
        """A warning of the run; what another host or an earlier task has warned of alike is shown by `-v`."""
        self.adds.notes.append(sentence)
        if not self._says_first(sentence):
            display.v(f"[WARNING]: {sentence}")
        elif len(self._task_vars.get("ansible_play_hosts_all") or ()) > 1:
            display.warning(f"{sentence} (-v shows it for each node that it is about.)")
        else:
            display.warning(sentence)

    def tell_once(self, subject: str, sentence: str) -> None:
        """A sentence of the run: the first host that would say it does. `subject`: what it is about."""
        if self._says_first(sentence):
            display.display(f"  {subject}: {sentence}")

    def _says_first(self, text: str) -> bool:
        """Whether no host has said the same of itself in this run, in an earlier task perhaps."""
        names = (str(self._task_vars.get(name) or "") for name in ("winkube_node_name", "ansible_host"))
        return is_first_to_say(Path(C.DEFAULT_LOCAL_TMP), text, self._host, names)

    def _on_node(self, module: str, args: dict[str, Any]) -> dict[str, Any]:
        if module == APPLY:
            run_id.spoil(self._host)
        raw = self._execute_module(
            module_name=f"winkube.node.{module}", module_args=_Unseen(args), task_vars=self._task_vars
        )
        if raw.get("exception"):
            display.vvv(f"{self._host}, {module}: {_traceback(raw['exception'])}")
        answer: dict[str, Any] = plain({key: raw[key] for key in raw if key not in ANSIBLES_OWN})
        if answer.get("unreachable"):
            raise AnsibleConnectionFailure(make_sentence(answer.get("msg", "the node is unreachable")))
        return answer

    def _reset(self) -> None:
        try:
            self._connection.reset()
        except (AttributeError, AnsibleError) as error:
            display.vv(f"the connection could not be reset: {error}")

    def render(self, template: str, variables: Mapping[str, Any], role: str) -> str:
        """The template file `template` rendered with `variables` beside the task's own.

        It is searched in the task's own role, then along the user's search path, then in `role` of this collection: a
        module outside of its role finds its template there.
        """
        path = self._template_path(template, role)
        text = trust_as_template(self._loader.get_text_file_contents(path))
        folders = [str(Path(path).parent), *self._task_vars.get("ansible_search_path", [])]
        search = [place for folder in folders for place in (f"{folder}/templates", folder)]
        templar = self._templar.copy_with_new_env(
            searchpath=search, available_variables={**self._task_vars, **variables}
        )
        return str(templar.template(text, **OF_FILES))

    def _template_path(self, template: str, role: str) -> str:
        try:
            return str(self._find_needle("templates", template))
        except AnsibleError:
            own = ROLES / role / "templates" / template
            if own.is_file():
                return str(own)
            raise

    def read_file(self, path: str) -> bytes:
        """A file on the controller, looked for as Ansible looks in `files`; ansible-vault's are decrypted. OSError if
        it cannot be read."""
        try:
            return Path(self._loader.get_real_file(self._find_needle("files", path))).read_bytes()
        except AnsibleError as error:
            raise OSError(" ".join(str(error).split()).rstrip(".")) from error

    def read_url(self, address: str) -> str:
        """The text behind an https address, read on the controller; certificates are checked."""
        return text_of(download.read(address))

    def download(self, what: str, address: str, folder: Path, timeout_s: int) -> Path:
        """The file behind an address, fetched on the controller; `what` is the beginning of the sentence in Refused."""
        path = folder / hashlib.sha256(address.encode()).hexdigest()
        download.fetch(what, address, path, timeout_s)
        return path


class _Unseen(dict[str, Any]):
    """A module's arguments, of which ANSIBLE_DEBUG, which prints them, shows the names: a batch may hold secrets."""

    def __repr__(self) -> str:
        return f"{{{', '.join(self)}}}"


def _traceback(exception: Any) -> str:
    """Where a module failed, as text: a string of the node's up to ansible-core 2.18, an object around it since."""
    event = getattr(exception, "event", None)
    return str(getattr(event, "formatted_traceback", None) or getattr(event, "msg", None) or exception)
