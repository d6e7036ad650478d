# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks, in the order of the documents, and asking them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from . import network, services, support, traffic, virtual, workloads
from .evidence import Evidence
from .model import BROKEN, CANNOT_TELL, Answer, Check, Result, Verdict, cannot_tell

CHECKS: tuple[Check, ...] = (
    Check("TS-01", "How do I know that the node was set up successfully?", services.completed),
    Check("TS-02", "Do the node's processes run in the background as services?", services.managers),
    Check("TS-03", "What do sc.exe query and sc.exe qc say?", services.queried),
    Check(
        "TS-04",
        "Do the services have the right arguments?",
        services.drifted,
        ("unknown flag", "flag provided but not"),
    ),
    Check("TS-05", "Where does what the programs print go?", services.redirected),
    Check(
        "TS-06",
        "My pods are stuck at ContainerCreating or restarting over and over",
        workloads.stuck,
        ("ContainerCreating", "CrashLoopBackOff", "FailedCreatePodSandBox", *workloads.MISMATCH),
    ),
    Check("TS-07", "My Windows pods do not have network connectivity", virtual.mac_spoofing),
    Check("TS-08", "My Windows pods cannot ping external resources", traffic.outside),
    Check("TS-09", "My Windows node cannot access NodePort services", traffic.node_ports),
    Check("TS-10", "vNICs and HNS endpoints of containers are being deleted", services.hostname_override),
    Check("TS-11", "With flannel, my node has issues after rejoining a cluster", network.rejoined),
    Check(
        "TS-12", "flanneld is stuck waiting for the network to be created", network.waits_for_network, (network.WAITS,)
    ),
    Check(
        "TS-13",
        "My Windows pods cannot launch because of a missing subnet.env",
        network.lease_file,
        ("/run/flannel/subnet.env", "subnet.env: no such file"),
    ),
    Check("TS-14", "My Windows node cannot access my services by their service IP", traffic.service_ips),
    Check(
        "TS-15",
        "No network adapter is found when starting the kubelet",
        network.adapter,
        ("virtual network creation", "no network adapter"),
    ),
    Check("TS-16", "DNS resolution is not working properly", traffic.names, ("DNS name does not exist",)),
    Check(
        "TS-17", "kubectl port-forward fails: wincat not found", workloads.port_forward, (workloads.NO_WINCAT, "wincat")
    ),
    Check(
        "TS-18", "The installation fails behind a proxy", traffic.proxy, ("proxyconnect", "407 Proxy Authentication")
    ),
    Check("TS-19", "Which logs are there for whoever helps?", support.logs),
    Check("TS-20", "Where do I get help, and what do I have to say?", support.bug_report),
    Check("TS-21", "The CPU usage of a busy pod is 0", workloads.cpu_zero, ("usageNanoCores",)),
    Check("TS-22", "HNS endpoints are deleted, or belong to no pod", network.endpoints),
    Check("OB-07", "With which exit codes did the services end?", services.exit_codes),
    Check(
        "source-vip", "Does kube-proxy have a source VIP that is its own?", network.vip, ("source-vip flag not set",)
    ),
    Check(
        "cni-folders",
        "Do containerd and CNI agree on their folders?",
        network.cni_folders,
        ("cni plugin not initialized",),
    ),
    Check("network", "What else is wrong with the node's network?", network.hns_findings),
)


def examine(evidence: Evidence, checks: Iterable[Check] = CHECKS) -> tuple[Result, ...]:
    """Every check's answer about a node."""
    return tuple(Result(evidence.host, check, _ask(check, evidence)) for check in checks)


def _ask(check: Check, evidence: Evidence) -> Answer:
    """A check's answer, with the user's own message among what was seen where it leads here. One that stumbles over
    what it was given says so, and the others go on."""
    try:
        answer = check.look(evidence)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return cannot_tell(
            f"The check could not make sense of what it read ({type(error).__name__}: {error}).",
            "Please report this with the JSON report.",
        )
    if evidence.message and any(piece.casefold() in evidence.message.casefold() for piece in check.says):
        return replace(answer, seen=(f"your message: {evidence.message}", *answer.seen))
    return answer


def about(message: str, checks: Iterable[Check] = CHECKS) -> tuple[Check, ...]:
    """The checks that an error message leads to."""
    said = message.casefold()
    return tuple(check for check in checks if message and any(piece.casefold() in said for piece in check.says))


def count(results: Iterable[Result]) -> dict[Verdict, int]:
    """How many answers of each kind."""
    found = Counter(result.answer.verdict for result in results)
    return {verdict: found.get(verdict, 0) for verdict in (BROKEN, CANNOT_TELL, "known_limitation", "ok")}


def wrong(results: Iterable[Result]) -> Iterator[Result]:
    """What is broken."""
    return (result for result in results if result.answer.verdict == BROKEN)
