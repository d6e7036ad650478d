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
from ..plugin_utils.components.read_plan import read_plan
from ..plugin_utils.cri_tcp import expiry
from ..plugin_utils.engine.reading import Reading, merge_queries
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node_action import NodeAction, display
from ..plugin_utils.verify import verify, verify_network

AFTER_BOOT_PAUSE_S = 5


class ActionModule(NodeAction):
    """win_k8s_node_check."""

    module = "win_k8s_node_check"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Look until there is no error or the time is up; then say what was found."""
        expected = Expected.of(options)
        end = time.monotonic() + options["timeout"]
        while True:
            reading, findings = self._look(options, layout, expected)
            errors = [one for one in findings if one.severity == verify.ERROR]
            if not errors or time.monotonic() >= end:
                break
            display.vv(f"{self._host}: {len(errors)} findings so far; looking again")
            time.sleep(AFTER_BOOT_PAUSE_S)
        for one in findings:
            if one.severity == verify.WARNING:
                self.warn_once(f"{self._host}: {one.text} {one.remedy}")
        result: dict[str, Any] = {
            "changed": False,
            "findings": [one.as_data() for one in findings],
            "winkube": {"calls": self._link.calls},
        }
        if errors:
            sentences = "\n".join(f"{one.text} {one.remedy}" for one in errors)
            # without the reading: Ansible prints the whole result of a task that fails
            return result | {"failed": True, "msg": f"{self._host} does not work as it should:\n{sentences}"}
        return result | self.facts(reading)

    def _look(
        self, options: Mapping[str, Any], layout: Layout, expected: Expected
    ) -> tuple[Reading, tuple[verify.Finding, ...]]:
        """Two readings of the node, one of the cluster, and what is wrong in them."""
        watched = verify.reads(layout, expected)
        queries = merge_queries(
            (*read_plan(layout), *watched, *verify_network.reads(layout, expected), *expiry.outcome_reads(layout))
        )
        first = self.read_of(queries)
        node, cluster = self._node(options, expected)
        time.sleep(options["watch"])
        again = (*watched, *verify.logs(layout, expected, first), *verify.health(layout, expected, first))
        second = first.merged(self._link.probe(again), again)
        return first, (
            *verify.check_programs(layout, expected, first, second),
            *verify.check_shim(layout, first),
            *verify_network.check_network(layout, expected, first, node),
            *verify_network.check_address(expected, first, node),
            *_left_open(layout, first),
            *cluster,
        )

    def _node(
        self, options: Mapping[str, Any], expected: Expected
    ) -> tuple[Mapping[str, Any] | None, tuple[verify.Finding, ...]]:
        """The Node object and what is wrong with it; neither without a kubeconfig."""
        if not expected.kubernetes:
            return None, ()
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                display.v(f"{self._host}: winkube_cluster.kubeconfig is empty; the Node object was not looked at")
                return None, ()
            node = cluster.node(expected.node_name)
        except ClusterError as error:
            raise NodeError(f"check: {error}") from error
        return node, verify_network.check_node(expected, node)


def _left_open(layout: Layout, reading: Reading) -> tuple[verify.Finding, ...]:
    """CRI over TCP whose time was over, and what the node could not do about it by itself."""
    said = expiry.finding(layout, reading)
    text = said.removesuffix(expiry.REMEDY).strip()
    return (verify.Finding("CRI over TCP", verify.WARNING, text, expiry.REMEDY),) if said else ()
