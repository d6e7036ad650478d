# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects what someone who helps with a node wants to see; documented in modules/win_k8s_collect_logs.py."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ansible.errors import AnsibleError
from ansible.template import trust_as_template

from ..plugin_utils.bundle import collect, issue, known
from ..plugin_utils.bundle.store import Store
from ..plugin_utils.cluster.access import list_files
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.node import Node
from ..plugin_utils.components.options import read
from ..plugin_utils.engine.answer import Answer
from ..plugin_utils.engine.batch import Op
from ..plugin_utils.engine.local_path import expand_home
from ..plugin_utils.engine.reading import Reading, file_key, file_query
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.secret import Secret
from ..plugin_utils.node import verdict
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.redaction.redact import name_in_bundle, patterns
from ..plugin_utils.task.node_action import NodeAction
from ..plugin_utils.task.screen import display
from ..plugin_utils.task.task_node import TaskNode

REPORT = "issue_report.md"
MEGA = 1024 * 1024
_NOT_OF_HOST = frozenset({"hostvars", "vars", "groups", "ansible_facts"})
"""What Ansible puts beside a host's own variables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectOptions:
    """The module's options that do not say what the node should be. `max_total` and `hnstrace_max` are megabytes."""

    dest: str
    files: tuple[str, ...]
    redact: tuple[str, ...]
    max_total: int
    events: int
    channels: tuple[str, ...]
    cloud: str
    hnstrace: Literal["none", "start", "stop"]
    hnstrace_script: str
    hnstrace_file: str
    hnstrace_max: int


class _Machine:
    """The node, and what is known of it; programs run there in batches."""

    def __init__(self, node: TaskNode, reading: Reading) -> None:
        self._node = node
        self.reading = reading

    def apply(self, ops: Sequence[Op]) -> Answer:
        """The node's answer, whatever it is. The runner that the first batch brings is there for the next."""
        batch = collect.batch(ops, self.reading.machine)
        known = self.reading.file(self._node.layout.runner).get("sha256")
        answer = self._node.link.apply(batch, uuid.uuid4().hex, known)
        self.reading = self._node.after(self.reading, batch, answer)
        return answer

    def find_size(self, path: str) -> int | None:
        """The bytes of a file that is there now; None if it is not."""
        found = self._node.probe([file_query(path)]).get(file_key(path)) or {}
        return int(found.get("size") or 0) if found.get("exists") else None


class ActionModule(NodeAction):
    """win_k8s_collect_logs."""

    module = "win_k8s_collect_logs"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Start a trace, or collect; a trace that is to be stopped is stopped before."""
        how, expected = read(CollectOptions, options), Node.of(options, layout)
        try:
            own = patterns(how.redact)
        except ValueError as error:
            raise Refused(str(error)) from None
        machine = _Machine(self._node, self._look(layout, expected))
        if how.hnstrace == "start":
            return self._start(how, machine)

        paths, secret = collect.select_files(layout, expected, machine.reading, how.files)
        channels = how.channels or collect.CHANNELS
        commands = collect.commands(layout, expected, events=how.events, channels=channels)
        wanted = dict.fromkeys((*paths, *(command.program for command in commands)))
        there = self._node.ask_again(Reading(), [file_query(path) for path in wanted])
        if self._task.check_mode:
            lie = [path for path in paths if collect.read_size(there, path)]
            return self._result(changed=False, would_collect=[*lie, *(command.line for command in commands)])

        store = _open(expand_home(how.dest).absolute() / self._host, how.max_total * MEGA, own, self._known(how))
        for path in secret:
            store.leave_out(f"files/{name_in_bundle(path)}", "it holds secrets")
        stopped = how.hnstrace == "stop"
        if stopped:
            self._stop(how.hnstrace_file, machine, store)
        node = collect.Machine(self._node.probe, machine.apply, verdict.sentence)
        collect.put_files(node, store, paths, there)
        collect.put_state(store, machine.reading)
        outputs, why = collect.put_outputs(node, store, commands, there)
        if why:
            display.warning(f"{self._host}: programs were not run, their output is not in the bundle: {why}")

        name = expected.node_name or self._host
        server, node_object = self._in_cluster(name)
        facts = issue.Facts.of(
            name,
            expected,
            layout,
            machine.reading,
            store=store,
            outputs=outputs,
            cloud=how.cloud,
            server=server,
            node=node_object,
        )
        store.put(REPORT, issue.report(facts), source="facts")
        archive = store.pack()
        return self._result(
            changed=bool(store.written) or stopped,
            bundle=str(archive),
            report=str(store.folder / REPORT),
            **store.summarize(),
        )

    def _known(self, how: CollectOptions) -> tuple[Secret[str], ...]:
        """The secrets that this run knows of the host: of what sets secret options, of variables whose names say so, of
        its connection, of the kubeconfig."""
        own = (self._play_context.password, self._play_context.become_pass)
        found = [Secret(str(each)) for each in own if each]
        harmless = self._say_openly()
        for template, places in known.list_templates().items():
            with suppress(AnsibleError):
                value = self.render_value(trust_as_template(template))
                found += [each for keys in places for each in known.list_given(value, keys, harmless)]
        for name, value in self._task_vars.items():
            if name not in _NOT_OF_HOST and known.has_secret(value, name):
                with suppress(AnsibleError):  # a variable that cannot be rendered has no value that anything could show
                    found += known.list_secrets(self.render_value(value), name)
        if setting := self._shared.cluster.kubeconfig:
            with suppress(ClusterError):
                found += known.list_of_kubeconfigs(list_files(setting))
        return tuple(dict.fromkeys(found))

    def _say_openly(self) -> frozenset[str]:
        """Values of Ansible's and this collection's own variables that are plain texts and no secrets."""
        return frozenset(
            value
            for name, value in self._task_vars.items()
            if name.startswith(("inventory_", "ansible_", "winkube_")) and isinstance(value, str)
            if "{{" not in value and not known.names_known(name)
        )

    def _result(self, **values: Any) -> dict[str, Any]:
        return {**values, "winkube": {"calls": self._node.calls}}

    def _look(self, layout: Layout, expected: Node) -> Reading:
        """State, and what lies in the folders of logs: one remote call, two where services log elsewhere."""
        reading = self._node.read_queries(collect.reads(layout, expected))
        return self._node.ask_again(reading, collect.list_log_reads(layout, expected, reading))

    def _start(self, how: CollectOptions, machine: _Machine) -> dict[str, Any]:
        script, file = how.hnstrace_script, how.hnstrace_file
        if script and machine.find_size(script) is None:
            raise Refused(
                f"hnstrace_script: {script} is not on {self._host}. Copy it there, or leave the option out: netsh.exe "
                "alone can do it."
            )
        if self._task.check_mode:
            return self._result(changed=True)
        op = collect.start_trace(script, file, how.hnstrace_max)
        verdict.check_done(machine.apply([op]), "hnstrace")
        return self._result(changed=True, trace=file)

    def _stop(self, file: str, machine: _Machine, store: Store) -> None:
        """Stop the trace and fetch its file. NodeError if there is none."""
        answer = machine.apply([collect.stop_trace()])
        verdict.check_done(answer, "hnstrace")
        size = machine.find_size(file)
        if size is None:
            said = " ".join(each.stdout for each in answer.results).strip()
            raise NodeError(
                f"hnstrace: there is no {file} on {self._host}: was a trace started (tag hnstrace_start)? netsh says: "
                f"{said or 'nothing'}"
            )
        store.take("network/hnstrace.etl", file, size, lambda path: self._connection.fetch_file(file, str(path)))
        store.save()

    def _in_cluster(self, name: str) -> tuple[str, Mapping[str, Any] | None]:
        """The API server's version and the Node of this name; empty for what it cannot be said."""
        try:
            cluster = self._asks.cluster(self._shared.cluster)
            if cluster is not None:
                return f"v{cluster.version()}", cluster.node(name)
        except ClusterError as error:
            display.v(f"{self._host}: {error}")
        return "", None


def _open(folder: Path, limit: int, own: Sequence[re.Pattern[str]], secrets: Sequence[Secret[str]]) -> Store:
    try:
        return Store.open(folder, limit, own, secrets)
    except OSError as error:
        raise Refused(f"dest: {folder} cannot be made: {error.strerror}.") from error
