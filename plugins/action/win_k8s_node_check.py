# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks whether a node works; documented in modules/win_k8s_node_check.py."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.expected import Expected
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.registry import read_plan
from ..plugin_utils.cri_tcp import expiry
from ..plugin_utils.diagnosis import programs
from ..plugin_utils.diagnosis.expectations import Expectations
from ..plugin_utils.diagnosis.finding import ERROR
from ..plugin_utils.diagnosis.scene import reads as scene_reads
from ..plugin_utils.diagnosis.scene import scene_of
from ..plugin_utils.diagnosis.table import VERIFY, Report, diagnose
from ..plugin_utils.engine.reading import Reading, merge_queries
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node_action import NodeAction, display

AFTER_BOOT_PAUSE_S = 5


class ActionModule(NodeAction):
    """win_k8s_node_check."""

    module = "win_k8s_node_check"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Look until there is no error or the time is up; then say what was found."""
        expected = Expected.of(options)
        end = time.monotonic() + options["timeout"]
        while True:
            reading, report = self._look(options, layout, expected)
            errors = [one for one in report.findings if one.severity == ERROR]
            if not errors or time.monotonic() >= end:
                break
            display.vv(f"{self._host}: {len(errors)} findings so far; looking again")
            time.sleep(AFTER_BOOT_PAUSE_S)
        result: dict[str, Any] = {
            "changed": False,
            "findings": [one.as_data(self._host) for one in report.findings],
            "winkube": {"calls": self._link.calls},
        }
        if errors:
            # without the reading: Ansible prints the whole result of a task that fails
            said = "\n".join(report.lines(self._host))
            return result | {"failed": True, "msg": f"{self._host} does not work as it should:\n{said}"}
        for one in report.findings:
            self.warn_once(f"{self._host}: {one.sentence}")
        return result | self.facts(reading)

    def _look(self, options: Mapping[str, Any], layout: Layout, expected: Expected) -> tuple[Reading, Report]:
        """Two readings of the node, one of the cluster, and what is wrong in them."""
        watched = programs.reads(layout, expected)
        expect = Expectations.of(layout, expected)
        network = scene_reads(expect) if expected.kubernetes else ()
        first = self.read_of(merge_queries((*read_plan(layout), *watched, *network, *expiry.outcome_reads(layout))))
        node, asked = self._node(options, expected)
        time.sleep(options["watch"])
        again = (*watched, *programs.logs(layout, expected, first), *programs.health(layout, expected, first))
        second = first.merged(self._link.probe(again), again)
        scene = scene_of(first, expect, second=second, expected=expected, node=node, asked=asked)
        return first, diagnose(scene, VERIFY)

    def _node(self, options: Mapping[str, Any], expected: Expected) -> tuple[Mapping[str, Any] | None, bool]:
        """The Node object, and whether the cluster was asked; it is not without a kubeconfig."""
        if not expected.kubernetes:
            return None, False
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                display.v(f"{self._host}: winkube_cluster.kubeconfig is empty; the Node object was not looked at")
                return None, False
            return cluster.node(expected.node_name), True
        except ClusterError as error:
            raise NodeError(f"check: {error}") from error
