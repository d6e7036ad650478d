# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks, in the order of Kubernetes' pages, and asking them all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from ..diagnosis.finding import ERROR, Finding
from ..diagnosis.remedies import advice
from . import network, services, support, traffic, virtual, workloads
from .evidence import Evidence
from .model import BROKEN, CANNOT_TELL, Answer, Check, Result, Verdict, cannot_tell

CHECKS: tuple[Check, ...] = (
    Check("services.set-up", "How do I know that the node was set up successfully?", services.completed),
    Check("services.outside", "Do the node's processes run in the background as services?", services.managers),
    Check("services.state", "What do sc.exe query and sc.exe qc say?", services.queried),
    Check(
        "services.arguments",
        "Do the services have the right arguments?",
        services.drifted,
        ("unknown flag", "flag provided but not"),
    ),
    Check("services.output", "Where does what the programs print go?", services.redirected),
    Check(
        "pod.stuck",
        "My pods are stuck at ContainerCreating or restarting over and over",
        workloads.stuck,
        ("ContainerCreating", "CrashLoopBackOff", "FailedCreatePodSandBox", *workloads.MISMATCH),
    ),
    Check("host.mac-spoofing", "My Windows pods do not have network connectivity", virtual.mac_spoofing),
    Check("traffic.outside", "My Windows pods cannot ping external resources", traffic.outside),
    Check("traffic.node-port", "My Windows node cannot access NodePort services", traffic.node_ports),
    Check(
        "kube-proxy.hostname-override",
        "vNICs and HNS endpoints of containers are being deleted",
        services.hostname_override,
    ),
    Check("node.earlier-life", "With flannel, my node has issues after rejoining a cluster", network.rejoined),
    Check(
        "flannel.waits",
        "flanneld is stuck waiting for the network to be created",
        network.waits_for_network,
        (network.WAITS,),
    ),
    Check(
        "flannel.lease",
        "My Windows pods cannot launch because of a missing subnet.env",
        network.lease_file,
        ("/run/flannel/subnet.env", "subnet.env: no such file"),
    ),
    Check("traffic.service-ip", "My Windows node cannot access my services by their service IP", traffic.service_ips),
    Check(
        "host.adapter",
        "No network adapter is found when starting the kubelet",
        network.adapter,
        ("virtual network creation", "no network adapter"),
    ),
    Check("traffic.names", "DNS resolution is not working properly", traffic.names, ("DNS name does not exist",)),
    Check(
        "pod.port-forward",
        "kubectl port-forward fails: wincat not found",
        workloads.port_forward,
        (workloads.NO_WINCAT, "wincat"),
    ),
    Check(
        "host.proxy",
        "The installation fails behind a proxy",
        traffic.proxy,
        ("proxyconnect", "407 Proxy Authentication"),
    ),
    Check("services.logs", "Which logs are there for whoever helps?", support.logs),
    Check("help", "Where do I get help, and what do I have to say?", support.bug_report),
    Check("pod.cpu-zero", "The CPU usage of a busy pod is 0", workloads.cpu_zero, ("usageNanoCores",)),
    Check("hns.endpoints", "HNS endpoints are deleted, or belong to no pod", network.endpoints),
    Check("services.exit-codes", "With which exit codes did the services end?", services.exit_codes),
    Check(
        "kube-proxy.source-vip",
        "Does kube-proxy have a source VIP that is its own?",
        network.vip,
        ("source-vip flag not set",),
    ),
    Check(
        "containerd.cni-folders",
        "Do containerd and CNI agree on their folders?",
        network.cni_folders,
        ("cni plugin not initialized",),
    ),
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


_NETWORK = ("hns.*", "flannel.*", "cni.*", "kube-proxy.*", "host.*")

FAULTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "services.set-up": ("The node was not set up successfully", services.RUNS),
    "services.outside": ("A program runs outside its service", ()),
    "services.state": ("A service is not as it has to be", services.RUNS),
    "services.arguments": ("A service has other arguments", ("*.not-installed", "kube-proxy.*", "flannel.iface")),
    "services.output": ("What a program prints is lost", ("*.no-log",)),
    "pod.stuck": ("Pods do not start", ()),
    "host.mac-spoofing": ("The hypervisor drops what pods send", ("host.mac-spoofing",)),
    "traffic.outside": ("Pods do not reach what is outside the cluster", ("cni.*",)),
    "traffic.node-port": ("NodePorts do not answer", ()),
    "kube-proxy.hostname-override": ("kube-proxy runs under another name", ("kube-proxy.*",)),
    "node.earlier-life": (
        "The node keeps files of an earlier life",
        ("hns.network-pod-cidr", "node.absent", "flannel.*"),
    ),
    "flannel.waits": ("flanneld does not get its network", _NETWORK),
    "flannel.lease": ("flanneld's lease does not fit the node", _NETWORK),
    "traffic.service-ip": ("Pods do not reach Services", ()),
    "host.adapter": ("The pod network has no adapter", _NETWORK),
    "traffic.names": ("Names do not resolve in pods", ()),
    "pod.port-forward": ("kubectl port-forward does not work", ()),
    "host.proxy": ("The node does not reach registries", ()),
    "services.logs": ("Logs are not there", ("*.no-log", *services.RUNS)),
    "pod.cpu-zero": ("A busy container's CPU usage is 0", ()),
    "hns.endpoints": ("HNS's endpoints are not those of the pods", ("hns.*", "flannel.*", "containerd.*")),
    "services.exit-codes": ("A service has ended with an error", services.RUNS),
    "kube-proxy.source-vip": ("kube-proxy has no usable source VIP", ("kube-proxy.*", "flannel.*", "hns.*")),
    "containerd.cni-folders": ("containerd and CNI do not agree on their folders", ("cni.plugin-missing",)),
}
"""What is wrong where a question's answer is that something is broken, and the findings of the table of checks
(plugin_utils/diagnosis) that say the same: a fault is told once."""


def as_findings(results: Iterable[Result], known: Iterable[Finding]) -> tuple[Finding, ...]:
    """What is broken and is not among the findings that are known, as findings."""
    ids = [one.id for one in known]
    found = []
    for result in wrong(results):
        title, same = FAULTS[result.check.id]
        if any(fnmatchcase(each, pattern) for each in ids for pattern in same):
            continue
        answer = result.answer
        found.append(
            Finding(
                id=result.check.id,
                severity=ERROR,
                title=title,
                subject=result.host,
                seen=answer.why.rstrip("."),
                wanted="",
                cause="",
                remedy=advice(" ".join(part for part in (answer.remedy, answer.run) if part)),
                evidence=answer.seen,
            )
        )
    return tuple(found)


def count(results: Iterable[Result]) -> dict[Verdict, int]:
    """How many answers of each kind."""
    found = Counter(result.answer.verdict for result in results)
    return {verdict: found.get(verdict, 0) for verdict in (BROKEN, CANNOT_TELL, "known_limitation", "ok")}


def wrong(results: Iterable[Result]) -> Iterator[Result]:
    """What is broken."""
    return (result for result in results if result.answer.verdict == BROKEN)
