# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says what is wrong with a node; documented in modules/win_k8s_diagnose.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.cluster.records import NODE
from ..plugin_utils.components.host.node_fit import Machine
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.diagnosis import gather
from ..plugin_utils.diagnosis.checks_programs import exit_line
from ..plugin_utils.diagnosis.picture import picture_of
from ..plugin_utils.diagnosis.programs import programs
from ..plugin_utils.diagnosis.table import DIAGNOSE, VERIFY, Report, check_ids, describe, diagnose, report_of
from ..plugin_utils.engine.answer import Answer
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.clock import Clock
from ..plugin_utils.engine.gate import Unexpected
from ..plugin_utils.engine.reading import Query, Reading
from ..plugin_utils.engine.waiting import Wait
from ..plugin_utils.node.link import NodeError, OutcomeUnknown
from ..plugin_utils.task.node_action import NodeAction
from ..plugin_utils.task.screen import display
from ..plugin_utils.words.cause import ERROR
from ..plugin_utils.words.finding import fails
from ..plugin_utils.words.meanings import meanings

AGAIN_S = 5
"""Between two looks while something is still coming up after a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnoseOptions:
    """The module's options that say neither what the node should be nor how it is looked at. `timeout` is seconds."""

    message: str
    checks: tuple[str, ...]
    depth: Literal["quick", "full"]
    timeout: int
    fail_on: Literal["error", "warning", "never"]


class ActionModule(NodeAction):
    """win_k8s_diagnose. It is the Machine that gather.py looks at."""

    module = "win_k8s_diagnose"
    topic = "check"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """The findings; the task fails if they are as severe as that."""
        how = read(DiagnoseOptions, options)
        check_ids(how.checks)
        question = gather.Question.of(options, layout, self._host)
        return self._quick(how, question) if how.depth == "quick" else self._full(how, question)

    def _quick(self, how: DiagnoseOptions, question: gather.Question) -> dict[str, Any]:
        """Looks until there is no error or the time is up."""
        clock = Clock()
        end, wait = clock.now() + how.timeout, Wait("diagnose: waiting for what is wrong to pass", clock)
        while True:
            scene = gather.quick(self, question, self._cluster(question))
            report = diagnose(scene, VERIFY)
            errors = [one for one in report.findings if one.severity == ERROR]
            if not errors or clock.now() >= end:
                break
            wait.sleep(AGAIN_S, "; ".join(one.title for one in errors))
        self._see(scene.node)
        failed, result = self._report(report.only(how.checks), how, describe(scene, VERIFY), {})
        if failed:
            return result
        for one in report.findings:
            self.warn_once(f"{self._host}: {one.sentence}")
        return result | self.facts(scene.first)

    def _full(self, how: DiagnoseOptions, question: gather.Question) -> dict[str, Any]:
        """Everything, and what the report of all nodes shows."""
        cluster, why = None, "winkube_cluster.kubeconfig is empty."
        try:
            cluster = self._cluster(question)
        except ClusterError as error:
            why = str(error)
        scene, findings = gather.full(self, question, cluster, why)
        self._see(scene.node)
        services = (scene.second.service(each.service) for each in programs(question.layout, question.expected))
        whole = {
            "windows": Machine.of(scene.first).name,
            "message": how.message,
            "message_means": meanings(how.message, self._host),
            "services": [exit_line(found) for found in services if found is not None],
            "facts": list(gather.bug_report(scene)),
            "picture": picture_of(scene),
        }
        return self._report(report_of(findings).only(how.checks), how, describe(scene, DIAGNOSE), whole)[1]

    def _see(self, node: Mapping[str, Any] | None) -> None:
        """Note the Node for the record; of one that the record cannot have is said why."""
        try:
            self.adds.see(None if node is None else NODE(node, ""))
        except Unexpected as error:
            self.warn_once(f"{self._host}: the record says nothing of the Node, since in it {error}.")

    def _report(
        self, report: Report, how: DiagnoseOptions, looked: str, whole: Mapping[str, Any]
    ) -> tuple[bool, dict[str, Any]]:
        """Whether the task fails, and the results, `whole` among them; of a task that fails Ansible prints all, so
        those are short."""
        lines = list(report.lines(self._host))
        short = {
            "changed": False,
            "host": self._host,
            "findings": [one.as_data(self._host) for one in report.findings],
            "broken": [one.id for one in report.findings if one.severity == ERROR],
            "counts": report.counts,
            "looked_at": looked,
            "winkube": {"calls": self._node.calls},
        }
        notes = [one.as_data(self._host) for one in report.notes]
        more = {"causes": report.as_data(self._host), "notes": notes, "said": lines}
        self.adds.diagnose({**short, **more, **whole})
        if fails(report.findings, how.fail_on):
            return True, short | {
                "failed": True,
                "msg": "\n".join([f"{self._host} does not work as it should:", *lines, looked]),
            }
        return False, {**short, **more, **whole}

    def _cluster(self, question: gather.Question) -> Cluster | None:
        """The way to the cluster; None for a node without Kubernetes, and without a kubeconfig."""
        cluster = self._asks.cluster(self._shared.cluster) if question.expected.kubernetes else None
        if cluster is None:
            display.v(f"{self._host}: winkube_cluster.kubeconfig is empty; the Node object was not looked at")
        return cluster

    # -- what gather.Machine has ---------------------------------------------------------------------------------------

    def read_queries(self, queries: tuple[Query, ...]) -> Reading:
        """A reading of these."""
        return self._node.read_queries(queries)

    def probe(self, queries: tuple[Query, ...]) -> Mapping[str, Any]:
        """Asked again."""
        return self._node.probe(queries)

    def carry_out(self, batch: Batch, reading: Reading) -> Answer:
        """Nothing is run in check mode."""
        if self._task.check_mode:
            raise gather.NotRunError("no program is run in check mode")
        try:
            return self._node.run_once(batch, reading)
        except (NodeError, OutcomeUnknown) as error:
            display.vv(f"{self._host}: {error}")
            raise gather.NotRunError(str(error)) from error
