# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a node's networks; documented in modules/hns_check.py."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.node import Node
from ..plugin_utils.components.options import read
from ..plugin_utils.diagnosis.cluster_view import ClusterView, ask
from ..plugin_utils.diagnosis.network_report import HnsCheckOptions, list_objects, show_conf, summarize
from ..plugin_utils.diagnosis.scene import complete_cni, list_adapters, read_dump, reads, scene_of
from ..plugin_utils.diagnosis.table import HNS_CHECK, diagnose, list_left_out
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.network import port_blocks, virtual_machine
from ..plugin_utils.network.port_blocks import Ports
from ..plugin_utils.network.virtual_machine import VmAdapter
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.task.node_action import NodeAction
from ..plugin_utils.task.screen import display
from ..plugin_utils.words.cause import WARNING
from ..plugin_utils.words.finding import fails


class ActionModule(NodeAction):
    """hns_check."""

    module = topic = "hns_check"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """One reading of the node, one look at the cluster, and what is wrong in them."""
        expected, how = Node.of(options, layout), read(HnsCheckOptions, options)
        recorded = how.dump.recorded or how.dump.cni_conf
        reading = read_dump(how.dump, layout) if recorded else self._read(expected)
        view = self._view(expected.node_name)
        scene = scene_of(reading, expected, view, *_parse_pasted(how), subnet=how.subnet, vni=how.vni)
        report = diagnose(scene, HNS_CHECK)
        findings = report.findings
        failed = fails(findings, how.fail_on)
        for one in findings:
            if one.severity == WARNING and not failed:
                self.warn_once(f"{self._host}: {one.sentence}")
        return (
            {
                "changed": False,
                "failed": failed,
                "msg": summarize(self._host, report),
                "findings": [one.as_data(self._host) for one in findings],
                "left_out": list(list_left_out(scene, HNS_CHECK)),
                "reminders": _reminders(reading, asked=bool(how.vm_adapters)),
                "winkube": {"calls": self._node.calls},
            }
            | list_objects(scene, findings)
            | show_conf(reading, expected, diff=self._task.diff)
        )

    def _read(self, expected: Node) -> Reading:
        """One remote call; more for a CNI configuration in a folder, or of a name, that no one has."""
        return complete_cni(self._node.read_queries(reads(expected.layout)), expected, self._node.probe)

    def _view(self, name: str) -> ClusterView | None:
        """The cluster's side; None, and a line at -v, without a kubeconfig."""
        cluster = self._asks.cluster(self._shared.cluster)
        if cluster is None:
            display.v(f"{self._host}: cluster.kubeconfig is empty; Services, endpoints and pods were not compared")
            return None
        return ask(cluster, name)


def _parse_pasted(how: HnsCheckOptions) -> tuple[tuple[VmAdapter, ...], tuple[Ports, ...]]:
    """What the playbook has asked elsewhere: the Hyper-V host's adapters, the node's ports."""
    text = how.vm_adapters
    try:
        return virtual_machine.parse(text) if text else (), port_blocks.parse(asdict(how.port_ranges))
    except (virtual_machine.VmAdaptersError, port_blocks.PortsError) as error:
        raise NodeError(f"hns_check: {error}") from error


def _reminders(reading: Reading, *, asked: bool) -> list[str]:
    """What cannot be seen from inside and no one was asked for."""
    return [text for text in ("" if asked else virtual_machine.reminder(list_adapters(reading)),) if text]
