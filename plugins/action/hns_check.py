# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Looks at a node's networks; documented in modules/hns_check.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.diagnosis.checks_cni import subject_of
from ..plugin_utils.diagnosis.cluster_view import ClusterView, ask
from ..plugin_utils.diagnosis.cni_mend import mended
from ..plugin_utils.diagnosis.expectations import Expectations
from ..plugin_utils.diagnosis.finding import WARNING, Finding, fails
from ..plugin_utils.diagnosis.scene import Scene, completed, list_adapters, read_dump, reads, scene_of
from ..plugin_utils.diagnosis.table import HNS_CHECK, Report, counts_of, diagnose, list_left_out
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.network import port_blocks, virtual_machine
from ..plugin_utils.network.cni_guess import guess
from ..plugin_utils.network.port_blocks import Ports
from ..plugin_utils.network.virtual_machine import VmAdapter
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.task.node_action import NodeAction, display


class ActionModule(NodeAction):
    """hns_check."""

    module = "hns_check"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """One reading of the node, one look at the cluster, and what is wrong in them."""
        expect = _expectations(options, layout)
        recorded = any(text for name, text in (options["dump"] or {}).items() if name != "cni_conf_name")
        reading = read_dump(options["dump"], layout) if recorded else self._read(expect)
        view = self._view(options)
        scene = scene_of(reading, expect, view, *_parse_pasted(options))
        report = diagnose(scene, HNS_CHECK)
        findings = report.findings
        failed = fails(findings, options["fail_on"])
        for one in findings:
            if one.severity == WARNING and not failed:
                self.warn_once(f"{self._host}: {one.sentence}")
        return (
            {
                "changed": False,
                "failed": failed,
                "msg": _message(self._host, report),
                "findings": [one.as_data(self._host) for one in findings],
                "left_out": list(list_left_out(scene, HNS_CHECK)),
                "reminders": _reminders(reading, asked=bool(options["vm_adapters"])),
                "winkube": {"calls": self._link.calls},
            }
            | _inventory(scene, findings)
            | _conf(reading, expect, shown=self._task.diff)
        )

    def _read(self, expect: Expectations) -> Reading:
        """One remote call; more for a CNI configuration in a folder, or of a name, that no one has."""
        return completed(self.read_queries(reads(expect)), expect, self._link.probe)

    def _view(self, options: Mapping[str, Any]) -> ClusterView | None:
        """The cluster's side; None, and a line at -v, without a kubeconfig."""
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                display.v(f"{self._host}: cluster.kubeconfig is empty; Services, endpoints and pods were not compared")
                return None
            return ask(cluster, options["node_name"])
        except ClusterError as error:
            raise NodeError(f"hns_check: {error}") from error


def _expectations(options: Mapping[str, Any], layout: Layout) -> Expectations:
    return Expectations(
        layout=layout,
        network_name=options["network_name"],
        network_mode=options["network_mode"],
        vni=options["vni"],
        subnet=options["subnet"],
        interface_name=options["interface_name"],
        management_ip=options["management_ip"],
        cluster_cidr=options["cluster_cidr"],
        service_cidr=options["service_cidr"],
        cluster_domain=options["cluster_domain"],
        node_name=options["node_name"],
        plugins_version=options["plugins_version"],
        flannel=options["cni_managed_by"] == "service",
        kube_proxy=options["kube_proxy_managed_by"] == "service",
    )


def _parse_pasted(options: Mapping[str, Any]) -> tuple[tuple[VmAdapter, ...], tuple[Ports, ...]]:
    """What the playbook has asked elsewhere: the Hyper-V host's adapters, the node's ports."""
    text = options["vm_adapters"]
    try:
        return virtual_machine.parse(text) if text else (), port_blocks.parse(options["port_ranges"] or {})
    except (virtual_machine.VmAdaptersError, port_blocks.PortsError) as error:
        raise NodeError(f"hns_check: {error}") from error


def _reminders(reading: Reading, *, asked: bool) -> list[str]:
    """What cannot be seen from inside and no one was asked for."""
    return [text for text in ("" if asked else virtual_machine.reminder(list_adapters(reading)),) if text]


def _inventory(scene: Scene, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """HNS's objects as they were understood."""
    hns, cni = scene.hns, guess(scene.hns, scene.cni_conf)
    return {
        "cni": {"name": cni.name, "why": list(cni.why), "others": list(cni.others)},
        "counts": counts_of(hns, findings),
        "networks": [asdict(each) for each in hns.networks],
        "endpoints": [asdict(each) for each in hns.endpoints],
        "namespaces": [asdict(each) for each in hns.namespaces],
        "policy_lists": [asdict(each) for each in hns.policy_lists],
        "adapters": [asdict(each) for each in scene.adapters or ()],
    }


def _conf(reading: Reading, expect: Expectations, *, shown: bool) -> dict[str, Any]:
    """The CNI configuration as it would be mended, and with --diff the difference."""
    found = mended(reading, expect.layout, subject_of(expect)) if expect.flannel else None
    if found is None:
        return {"cni_conf": None}
    result: dict[str, Any] = {"cni_conf": found.as_data()}
    if shown and found.differs:
        result["diff"] = [
            {
                "before": found.before,
                "after": found.after,
                "before_header": f"{found.path} (as it is)",
                "after_header": f"{found.path} (as action=cni_conf of win_k8s_repair would mend it)",
            }
        ]
    return result


def _message(host: str, report: Report) -> str:
    if not report.causes:
        return f"{host}: no finding."
    count = "1 finding" if len(report.findings) == 1 else f"{len(report.findings)} findings"
    return "\n".join([f"{host}: {count}.", *report.lines(host)])
