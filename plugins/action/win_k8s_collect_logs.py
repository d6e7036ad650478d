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
from ..plugin_utils.node.runner_text import runner_sha256
from ..plugin_utils.task.node_action import NodeAction, display

REPORT = "issue_report.md"
MEGA = 1024 * 1024


class ActionModule(NodeAction):
    """win_k8s_collect_logs."""

    module = "win_k8s_collect_logs"
    _runner: str | None = None

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Start a trace, or collect, with a trace that is stopped before if that is wanted."""
        expected = Expected.of(options)
        try:
            own = patterns(options["redact"])
        except ValueError as error:
            raise Refused(str(error)) from None
        reading = self._look(layout, expected)
        self._runner = reading.file(layout.runner).get("sha256")
        if options["hnstrace"] == "start":
            return self._start(options, reading)
        paths, secret = collect.wanted(layout, expected, reading, options["files"])
        commands = collect.commands(
            layout, expected, events=options["events"], channels=options["channels"] or collect.CHANNELS
        )
        programs = dict.fromkeys(command.program for command in commands)
        there = Reading().merged(self._link.probe([file_query(path) for path in dict.fromkeys((*paths, *programs))]))
        if self._task.check_mode:
            lie = [path for path in paths if collect.sized(there, path)]
            return self._result(changed=False, would_collect=[*lie, *(command.line for command in commands)])
        store = self._store(options, own)
        for path in secret:
            store.leave_out(f"files/{name_in_bundle(path)}", "it holds secrets")
        stopped = self._stop(options, store, reading) if options["hnstrace"] == "stop" else False
        node = collect.Node(self._link.probe, lambda ops: self._apply(ops, reading), verdict.sentence)
        collect.put_files(node, store, paths, there)
        collect.put_state(store, reading)
        outputs, why = collect.put_outputs(node, store, commands, there)
        if why:
            display.warning(f"{self._host}: programs were not run, their output is not in the bundle: {why}")
        server, found = self._in_cluster(options, expected)
        facts = issue.Facts.of(
            expected.node_name or self._host,
            expected,
            layout,
            reading,
            store=store,
            outputs=outputs,
            kubernetes=options["kubernetes_version"],
            cloud=options["cloud"],
            server=server,
            node=found,
        )
        store.put(REPORT, issue.report(facts), source="facts")
        archive = store.zipped()
        return self._result(
            changed=bool(store.written) or stopped,
            bundle=str(archive),
            report=str(store.folder / REPORT),
            **store.told(),
        )

    def _result(self, **values: Any) -> dict[str, Any]:
        return {**values, "winkube": {"calls": self._link.calls}}

    def _store(self, options: Mapping[str, Any], own: Sequence[re.Pattern[str]]) -> Store:
        folder = Path(options["dest"]).expanduser() / self._host
        try:
            return Store.open(folder, options["max_total"] * MEGA, own)
        except OSError as error:
            raise Refused(f"dest: {folder} cannot be made: {error.strerror}.") from error

    def _look(self, layout: Layout, expected: Expected) -> Reading:
        """State, and what lies in the folders of logs: one remote call, two where services log elsewhere."""
        reading = self.read_of(collect.reads(layout, expected))
        more = collect.more_reads(layout, expected, reading)
        return reading.merged(self._link.probe(more), more) if more else reading

    def _apply(self, ops: Sequence[Op], reading: Reading) -> Mapping[str, Any]:
        answer = self._link.apply(collect.batch(ops, reading.machine), uuid.uuid4().hex, self._runner)
        self._runner = runner_sha256()
        return answer

    def _start(self, options: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
        script = str(options["hnstrace_script"])
        if script and not (self._link.probe([file_query(script)]).get(file_key(script)) or {}).get("exists"):
            raise Refused(
                f"hnstrace_script: {script} is not on {self._host}. Copy it there, or leave the option out: netsh.exe "
                "alone can do it."
            )
        if self._task.check_mode:
            return self._result(changed=True)
        op = collect.start_trace(script, options["hnstrace_file"], options["hnstrace_max"])
        verdict.must_be_done(self._apply([op], reading), "hnstrace")
        return self._result(changed=True, trace=options["hnstrace_file"])

    def _stop(self, options: Mapping[str, Any], store: Store, reading: Reading) -> bool:
        """Stop the trace and fetch its file. NodeError if there is none."""
        file = str(options["hnstrace_file"])
        answer = self._apply([collect.stop_trace()], reading)
        verdict.must_be_done(answer, "hnstrace")
        found = self._link.probe([file_query(file)]).get(file_key(file)) or {}
        if not found.get("exists"):
            said = " ".join(str(result.get("stdout") or "") for result in answer.get("results") or ()).strip()
            raise NodeError(
                f"hnstrace: there is no {file} on {self._host}: was a trace started (tag hnstrace_start)? netsh says: "
                f"{said or 'nothing'}"
            )
        store.take("network/hnstrace.etl", file, lambda path: self._connection.fetch_file(file, str(path)))
        store.save()
        return True

    def _in_cluster(self, options: Mapping[str, Any], expected: Expected) -> tuple[str, Mapping[str, Any] | None]:
        """The API server's version and the Node; empty for what it cannot be said."""
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is not None:
                return f"v{cluster.version()}", cluster.node(expected.node_name or self._host)
        except ClusterError as error:
            display.v(f"{self._host}: {error}")
        return "", None
