# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hns_check returns: HNS's objects, the CNI configuration, and a message.

A file of its own: win_k8s_diagnose returns findings, and none of this."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..components.node import Node
from ..engine.reading import Reading
from ..network.cni_guess import guess
from ..words.finding import Finding
from .checks_cni import subject_of
from .cni_mend import plan_mend
from .scene import Dump, Scene
from .table import Report, counts_of


@dataclass(frozen=True, slots=True)
class PortRanges:
    """What netsh prints on the node: an option of hns_check."""

    tcp_dynamic: str
    tcp_excluded: str
    udp_dynamic: str
    udp_excluded: str


@dataclass(frozen=True, slots=True)
class HnsCheckOptions:
    """The options of hns_check that do not belong to a component."""

    subnet: str
    vni: int
    dump: Dump
    port_ranges: PortRanges
    vm_adapters: str
    fail_on: str


def list_objects(scene: Scene, findings: tuple[Finding, ...]) -> dict[str, Any]:
    """HNS's objects as they were understood, how many there are, and which CNI made them."""
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


def show_conf(reading: Reading, expected: Node, *, diff: bool) -> dict[str, Any]:
    """`cni_conf`: the CNI configuration as win_k8s_repair would mend it, None where it is another CNI's; with `diff`,
    the difference for Ansible's --diff."""
    ours = expected.flannel_is_ours
    found = plan_mend(reading, expected.layout, subject_of(expected, expected.network_name)) if ours else None
    if found is None:
        return {"cni_conf": None}
    result: dict[str, Any] = {"cni_conf": found.as_data()}
    if diff and found.differs:
        result["diff"] = [
            {
                "before": found.before,
                "after": found.after,
                "before_header": f"{found.path} (as it is)",
                "after_header": f"{found.path} (as action=cni_conf of win_k8s_repair would mend it)",
            }
        ]
    return result


def summarize(host: str, report: Report) -> str:
    """How many findings there are, and a sentence for each cause."""
    if not report.causes:
        return f"{host}: no finding."
    count = "1 finding" if len(report.findings) == 1 else f"{len(report.findings)} findings"
    return "\n".join([f"{host}: {count}.", *report.lines(host)])
