# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a program that should run as a service, of any program."""

from __future__ import annotations

from collections.abc import Mapping

from .cause import ERROR, WARNING, Area, Cause
from .remedies import advice, converge, restart
from .remedy import Remedy

FOLLOW = {
    "containerd": ("kubelet.*", "node.not-ready", "node.taint", "pod.*", "cri-tcp.*"),
    "kubelet": ("node.*", "pod.*"),
    "flannel": (
        *("hns.no-network", "hns.no-management-address", "hns.network-range", "flannel.no-subnet-env", "cni.absent"),
        *("hns.no-host-adapter", "kube-proxy.*", "node.not-ready", "node.taint", "pod.*"),
    ),
    "kube_proxy": ("kube-proxy.no-rules", "kube-proxy.rule-*", "traffic.*"),
}
"""What follows where a program does not run, by the component's role."""

_READS_LOG = "The end of its log says why; see the evidence."


def causes_of(role: str, name: str) -> Mapping[str, Cause]:
    """By their kind, such as `stopped`: of the program that a role installs, by its name in sentences."""
    label = role.replace("_", "-")
    again = converge(
        role,
        text=f"sc.exe config {name} start= auto, then Start-Service {name}; sc.exe qc {name} shows its command line.",
    )
    follow = (*FOLLOW.get(role, ()), f"{label}.*")

    def cause(kind: str, title: str, why: str, remedy: Remedy) -> Cause:
        explains = tuple(each for each in follow if each != f"{label}.{kind}")
        return Cause(f"{label}.{kind}", ERROR, title, why, remedy, explains=explains, area=Area.PROGRAMS)

    def log(kind: str, title: str, why: str, remedy: Remedy) -> Cause:
        return Cause(f"{label}.{kind}", WARNING, title, why, remedy, area=Area.PROGRAMS)

    return {
        "not-installed": cause(
            "not-installed",
            f"There is no service of {name}",
            "It was not installed, or somebody removed it.",
            converge(
                role, text=f"Put {name} on the node and make its service (sc.exe create {name}), or its DaemonSet."
            ),
        ),
        "disabled": cause(
            "disabled", f"{name} is disabled", "Somebody disabled the service: it does not start.", again
        ),
        "stopped": cause(
            "stopped",
            f"{name} does not run",
            "Somebody stopped it, or it ended.",
            restart(f"Start-Service {name}. If it stops again, the end of its log says why.", role),
        ),
        "crashes": cause(
            "crashes",
            f"{name} ends again and again",
            _READS_LOG,
            converge(role, text="Read the end of its log, mend what it names, and start the service again."),
        ),
        "no-pipe": cause(
            "no-pipe",
            f"{name} runs, but its pipe is not there",
            "A plugin did not start, or its configuration names another address.",
            again,
        ),
        "unhealthy": cause(
            "unhealthy",
            f"{name} does not report that it is healthy",
            _READS_LOG,
            restart(f"Restart-Service {name}.", role),
        ),
        "no-log": log(
            "no-log",
            f"{name} writes no log",
            "Its service has no file for what it prints, or the disk is full.",
            again,
        ),
        "log-old": log(
            "log-old",
            f"The log of {name} is older than its process",
            "The service logs elsewhere, or the disk is full.",
            advice("Look whether the service logs elsewhere, or the disk is full."),
        ),
    }
