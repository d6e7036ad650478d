# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a Windows node reports wrong CPU usage: what is known, by call and containerd's version.

Read in the sources of the releases that each entry names, not run on them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..facts.version import Version
from .samples import CONTAINER_STATS, POD_STATS, SUMMARY

ZERO, UNDERFLOW, MISSING, OFF = "zero", "underflow", "missing", "off"
"""A zero of something busy; a negative difference read as unsigned; no value where one could be; values that are not
what the counter proves."""

_LIST = "pkg/cri/server/container_stats_list.go"
_SANDBOX = "pkg/cri/server/sandbox_stats_windows.go"


@dataclass(frozen=True, slots=True)
class Defect:
    """One of them. `since` is the first containerd that has it, `fixed` the first that has not (empty: none yet).

    For `call` SUMMARY it is kubelet's, whatever containerd runs. `issue` is empty where upstream has none for it.
    """

    name: str
    call: str
    symptom: str
    since: str
    fixed: str
    text: str
    issue: str
    source: str

    def is_in(self, containerd: Version) -> bool:
        """Whether that containerd has it."""
        if containerd < Version.parse(self.since):
            return False
        return not self.fixed or containerd < Version.parse(self.fixed)


DEFECTS = (
    Defect(
        "container-zero",
        CONTAINER_STATS,
        ZERO,
        "1.7.0",
        "2.3.0",
        "containerd computes usageNanoCores against the last call of anybody, the kubelet's included; on the first "
        "call, after a call with the same or a newer timestamp, and where the counter has not moved since, it answers "
        "0.",
        "https://github.com/containerd/containerd/issues/9531",
        f"containerd v1.7.0, v1.7.35, v2.0.14, v2.1.9, v2.2.9 {_LIST} getUsageNanoCores; v2.3.0 answers null",
    ),
    Defect(
        "container-underflow",
        CONTAINER_STATS,
        UNDERFLOW,
        "1.7.0",
        "1.7.22",
        "containerd subtracts a counter that has gone back (two callers at once, or a container that is being removed) "
        "as an unsigned number.",
        "https://github.com/containerd/containerd/pull/10652",
        f"containerd v1.7.20, v1.7.21 (no check) and v1.7.22, v2.0.0 (check) {_LIST} getUsageNanoCores",
    ),
    Defect(
        "container-missing",
        CONTAINER_STATS,
        MISSING,
        "0.0.0",
        "1.7.0",
        "containerd before 1.7 reports only the counter on Windows; the kubelet computes usageNanoCores itself.",
        "https://github.com/containerd/containerd/issues/7184",
        "containerd v1.6.36 pkg/cri/server/container_stats_list_windows.go containerMetrics",
    ),
    Defect(
        "container-null",
        CONTAINER_STATS,
        MISSING,
        "2.3.0",
        "",
        "containerd leaves usageNanoCores out where it cannot compute it; the collector that fills it on Linux is "
        "empty on Windows. That is right: null is not 0.",
        "https://github.com/containerd/containerd/pull/13138",
        "containerd v2.3.0, v2.3.7, v2.4.2 internal/cri/server/container_stats_list.go, stats_collector_other.go",
    ),
    Defect(
        "pod-zero",
        POD_STATS,
        ZERO,
        "1.7.0",
        "",
        "for pods containerd answers 0 without a value to compare with and for an interval of 0 or less; it stops "
        "remembering values at the first container without CPU data, so the containers behind it stay at their old "
        "ones.",
        "https://github.com/containerd/containerd/issues/9531",
        f"containerd v1.7.0, v1.7.35, v2.0.14, v2.3.7, v2.4.2 {_SANDBOX} getUsageNanoCores, saveSandBoxMetrics",
    ),
    Defect(
        "pod-underflow",
        POD_STATS,
        UNDERFLOW,
        "1.7.0",
        "",
        "for pods containerd subtracts without a look whether the counter has gone back; the check that "
        "ListContainerStats got in 1.7.22 is not in this call.",
        "https://github.com/containerd/containerd/pull/10652",
        f"containerd v1.7.0, v1.7.35, v2.0.14, v2.3.7, v2.4.2 {_SANDBOX} getUsageNanoCores",
    ),
    Defect(
        "kubelet-null-as-zero",
        SUMMARY,
        ZERO,
        "0.0.0",
        "",
        "the kubelet adds up a pod's usageNanoCores from its containers and counts one without a value as 0.",
        "",
        "kubernetes v1.37.1 pkg/kubelet/stats/cri_stats_provider.go addPodCPUMemoryStats",
    ),
)


def find_defect(call: str, symptom: str, containerd: Version | None) -> Defect | None:
    """The entry for a symptom, or None. Without containerd's version only the kubelet's own entries are found."""
    for defect in DEFECTS:
        if defect.call == call and defect.symptom == symptom:
            if call == SUMMARY:
                return defect
            if containerd is not None and defect.is_in(containerd):
                return defect
    return None
