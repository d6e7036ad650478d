# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects what someone who helps with a node wants to see; documented in modules/win_k8s_collect_logs.py."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..plugin_utils.bundle import collect, issue
from ..plugin_utils.bundle.redact import name_in_bundle, patterns
from ..plugin_utils.bundle.store import Store
from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.expected import Expected
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.batch import Op
from ..plugin_utils.engine.reading import Reading, file_key, file_query
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node import verdict
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.task.node_action import NodeAction, display

REPORT = "issue_report.md"
MEGA = 1024 * 1024


class ActionModule(NodeAction):
    """win_k8s_collect_logs."""

    module = "win_k8s_collect_logs"

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._options: Mapping[str, Any] = {}
        self._layout: Layout
        self._expected: Expected
        self._reading = Reading()

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Start a trace, or collect; a trace that is to be stopped is stopped before."""
        self._options, self._layout, self._expected = options, layout, Expected.of(options)
        try:
            own = patterns(options["redact"])
        except ValueError as error:
            raise Refused(str(error)) from None
        self._reading = self._look()
        if options["hnstrace"] == "start":
            return self._start()

        paths, secret = collect.select_files(layout, self._expected, self._reading, options["files"])
        channels = options["channels"] or collect.CHANNELS
        commands = collect.commands(layout, self._expected, events=options["events"], channels=channels)
        wanted = dict.fromkeys((*paths, *(command.program for command in commands)))
        there = Reading().merged(self._link.probe([file_query(path) for path in wanted]))
        if self._task.check_mode:
            lie = [path for path in paths if collect.read_size(there, path)]
            return self._result(changed=False, would_collect=[*lie, *(command.line for command in commands)])

        store = self._store(own)
        for path in secret:
            store.leave_out(f"files/{name_in_bundle(path)}", "it holds secrets")
        stopped = options["hnstrace"] == "stop"
        if stopped:
            self._stop(store)
        outputs = self._collect(store, paths, commands, there)
        store.put(REPORT, issue.report(self._facts(store, outputs)), source="facts")
        archive = store.pack()
        return self._result(
            changed=bool(store.written) or stopped,
            bundle=str(archive),
            report=str(store.folder / REPORT),
            **store.summarize(),
        )

    def _collect(
        self, store: Store, paths: Sequence[str], commands: Sequence[collect.Command], there: Reading
    ) -> Mapping[str, str]:
        """Fill the store: files, what was read, what the programs printed, which is returned."""
        node = collect.Node(self._link.probe, self._apply, verdict.sentence)
        collect.put_files(node, store, paths, there)
        collect.put_state(store, self._reading)
        outputs, why = collect.put_outputs(node, store, commands, there)
        if why:
            display.warning(f"{self._host}: programs were not run, their output is not in the bundle: {why}")
        return outputs

    def _facts(self, store: Store, outputs: Mapping[str, str]) -> issue.Facts:
        """What the issue report says."""
        name = self._expected.node_name or self._host
        server, node = self._in_cluster(name)
        return issue.Facts.of(
            name,
            self._expected,
            self._layout,
            self._reading,
            store=store,
            outputs=outputs,
            kubernetes=self._options["kubernetes_version"],
            cloud=self._options["cloud"],
            server=server,
            node=node,
        )

    def _result(self, **values: Any) -> dict[str, Any]:
        return {**values, "winkube": {"calls": self._link.calls}}

    def _store(self, own: Sequence[re.Pattern[str]]) -> Store:
        folder = Path(self._options["dest"]).expanduser().absolute() / self._host
        try:
            return Store.open(folder, self._options["max_total"] * MEGA, own)
        except OSError as error:
            raise Refused(f"dest: {folder} cannot be made: {error.strerror}.") from error

    def _look(self) -> Reading:
        """State, and what lies in the folders of logs: one remote call, two where services log elsewhere."""
        reading = self._node.read_queries(collect.reads(self._layout, self._expected))
        more = collect.more_reads(self._layout, self._expected, reading)
        return reading.merged(self._link.probe(more), more) if more else reading

    def _apply(self, ops: Sequence[Op]) -> Mapping[str, Any]:
        """The node's answer, whatever it is. The runner that the first batch brings is there for the next."""
        batch = collect.batch(ops, self._reading.machine)
        answer = self._link.apply(batch, uuid.uuid4().hex, self._reading.file(self._layout.runner).get("sha256"))
        self._reading = self._node.after(self._reading, batch, answer)
        return answer

    def _start(self) -> dict[str, Any]:
        script, file = str(self._options["hnstrace_script"]), self._options["hnstrace_file"]
        if script and not self._on_the_node(script):
            raise Refused(
                f"hnstrace_script: {script} is not on {self._host}. Copy it there, or leave the option out: netsh.exe "
                "alone can do it."
            )
        if self._task.check_mode:
            return self._result(changed=True)
        op = collect.start_trace(script, file, self._options["hnstrace_max"])
        verdict.must_be_done(self._apply([op]), "hnstrace")
        return self._result(changed=True, trace=file)

    def _stop(self, store: Store) -> None:
        """Stop the trace and fetch its file. NodeError if there is none."""
        file = str(self._options["hnstrace_file"])
        answer = self._apply([collect.stop_trace()])
        verdict.must_be_done(answer, "hnstrace")
        if not self._on_the_node(file):
            said = " ".join(str(result.get("stdout") or "") for result in answer.get("results") or ()).strip()
            raise NodeError(
                f"hnstrace: there is no {file} on {self._host}: was a trace started (tag hnstrace_start)? netsh says: "
                f"{said or 'nothing'}"
            )
        store.take("network/hnstrace.etl", file, lambda path: self._connection.fetch_file(file, str(path)))
        store.save()

    def _on_the_node(self, path: str) -> bool:
        return bool((self._link.probe([file_query(path)]).get(file_key(path)) or {}).get("exists"))

    def _in_cluster(self, name: str) -> tuple[str, Mapping[str, Any] | None]:
        """The API server's version and the Node of this name; empty for what it cannot be said."""
        try:
            cluster = Cluster.open(self._options["cluster"])
            if cluster is not None:
                return f"v{cluster.version()}", cluster.node(name)
        except ClusterError as error:
            display.v(f"{self._host}: {error}")
        return "", None
