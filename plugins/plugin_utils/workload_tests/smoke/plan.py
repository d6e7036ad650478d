# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checks: kubernetes.io's seven, the matrix of supported flows, and substitutes for Linux-only tests.

A check that is not run is in the plan with its reason. Source of the flows and limitations: kubernetes.io, Windows
containers in Kubernetes (Networking; Troubleshooting) and Guide for scheduling Windows containers; of the names in
`suite`: Kubernetes enhancement 116, Test Plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from . import commands
from .manifests import PEER, PEER_NAMES, PEER_PORT, WEB
from .model import Check, Facts, NodeFact, PodFact, build_pod_check, make_known
from .node_checks import node_checks

GROUPS = {
    "nodes": "all nodes are healthy",
    "pods": "the pods run",
    "node-to-pod": "node to pod",
    "pod-to-pod": "pod to pod",
    "service": "Service to pod",
    "discovery": "Service discovery",
    "inbound": "inbound connectivity",
    "outbound": "outbound connectivity",
    "pod-to-node": "pod to node",
    "image": "images are pulled",
    "dns-config": "DNS settings of pods",
    "user": "users in pods",
    "reserved": "resources kept back for the node",
}
SEVEN = ("pods", "node-to-pod", "pod-to-pod", "service", "discovery", "inbound", "outbound")
"""The seven checks of kubernetes.io's guide for Windows, in their order: a to g."""

FLOWS = (
    "Pod -> Pod (IP)",
    "Pod -> Pod (Name)",
    "Pod -> Service (Cluster IP)",
    "Pod -> Service (PQDN)",
    "Pod -> external (IP)",
    "Pod -> external (DNS)",
    "Node -> Pod",
    "Pod -> Node",
)
"""The flows that are supported for TCP and UDP."""
POD_IP, POD_NAME, SERVICE_IP, PQDN, EXTERNAL_IP, EXTERNAL_DNS, NODE_POD, POD_NODE = FLOWS

KUBELET_PORT = 10250
NO_PODS = "No pod is Ready that it could be tried with."
NO_PEER = "The pod that answers UDP is not Ready."
OVERLAY = (
    "With flannel's VXLAN, nodes reach only their own pods (flannel 0.12.0 and later); that is its design, not a fault."
)
# Names are resolved at a Service's address, so faults of Services come first.
_NAME_NEEDS = ("pod-to-pod", "service", "dns-config")
NO_POD_NAMES = (
    "The cluster's DNS serves no names of pods: the Corefile of CoreDNS has neither 'pods insecure' nor 'pods "
    "verified'."
)
_GRANULAR = "[sig-network] [sig-windows] Networking Granular Checks: Pods should function for {} communication: {}"


def plan(facts: Facts) -> tuple[Check, ...]:
    """All checks, in the order of the report, with unique ids."""
    parts = (_nodes, _pods, _node_to_pod, _pod_to_pod, _service, _discovery, _inbound, _outbound, _pod_to_node)
    flows = tuple(_note_policies(check, facts.policies) for part in parts for check in part(facts))
    return (*flows, *node_checks(facts))


def page_at(address: str) -> str:
    """The web server's page at an address of either family."""
    return f"http://[{address}]/" if ":" in address else f"http://{address}/"


def _note_policies(check: Check, policies: tuple[str, ...]) -> Check:
    """The check with a note: if it fails, NetworkPolicies that others put into the namespace may be the reason."""
    if not policies or check.limitation or check.group in {"nodes", "pods"}:
        return check
    said = f"The namespace got the NetworkPolicy {', '.join(policies)} from somebody: it may be what keeps this off."
    return replace(check, limitation=said)


def _list_ready(facts: Facts) -> list[PodFact]:
    return [pod for pod in facts.web if pod.is_ready]


def _peer(facts: Facts) -> PodFact | None:
    return facts.peer if facts.peer is not None and facts.peer.is_ready else None


def _find_missing(facts: Facts) -> str:
    """Which of the two pods needed for UDP is missing."""
    return NO_PEER if _peer(facts) is None else NO_PODS


def _not_run(name: str, group: str, flow: str, protocol: str, why: str) -> Check:
    title = f"{flow}, {protocol}" if flow else GROUPS[group]
    return Check(name, group, title, "none", flow, protocol, exclusion=why)


def _nodes(facts: Facts) -> Iterator[Check]:
    for node in facts.nodes:
        yield Check(
            f"nodes/{node.name}",
            "nodes",
            "the node is Ready",
            "api",
            target=node.name,
            argv=("kubectl", "get", "node", node.name),
            answer=make_known(node.problem),
        )


def _pods(facts: Facts) -> Iterator[Check]:
    listing = ("kubectl", "get", "pods", "-n", facts.namespace, "-o", "wide")
    for pod in (*facts.web, *((facts.peer,) if facts.peer else ())):
        yield Check(
            f"pods/{pod.name}",
            "pods",
            "the pod is Ready",
            "api",
            source=pod.node or "no node",
            target=pod.name,
            argv=listing,
            answer=make_known(pod.problem),
        )
    hosts = {pod.node for pod in facts.web if pod.node}
    usable = [node for node in facts.nodes if node.windows and node.usable]
    spread = Check("pods/spread", "pods", "the pods are on different nodes", "api", argv=listing)
    if len(usable) < 2:
        yield replace(spread, where="none", exclusion="There is one usable Windows node.")
    else:
        yield replace(spread, answer=make_known("" if len(hosts) > 1 else f"all are on {', '.join(hosts)}"))


def _node_to_pod(facts: Facts) -> Iterator[Check]:
    limitation = OVERLAY if facts.mode == "overlay" else ""
    base = Check("", "node-to-pod", "node to pod", "linux", NODE_POD, source=facts.linux, limitation=limitation)
    if not facts.linux:
        why = "No Linux node of the cluster is named (winkube_smoke_linux_host)."
        yield _not_run("node-to-pod/tcp", "node-to-pod", NODE_POD, "TCP", why)
        yield _not_run("node-to-pod/udp", "node-to-pod", NODE_POD, "UDP", why)
        return
    for pod in _list_ready(facts):
        yield replace(
            base,
            id=f"node-to-pod/tcp/{pod.name}",
            protocol="TCP",
            target=pod.name,
            argv=commands.curl_page(page_at(pod.address), windows=False),
            expect="banner",
            suite=_GRANULAR.format("node-pod", "http"),
        )
    if not _list_ready(facts):
        yield _not_run("node-to-pod/tcp", "node-to-pod", NODE_POD, "TCP", NO_PODS)
    peer = _peer(facts)
    if peer is None:
        yield _not_run("node-to-pod/udp", "node-to-pod", NODE_POD, "UDP", NO_PEER)
        return
    yield replace(
        base,
        id="node-to-pod/udp",
        protocol="UDP",
        target=peer.name,
        argv=commands.udp_from_linux(peer.address, PEER_PORT),
        expect="echo",
        suite=_GRANULAR.format("node-pod", "udp"),
    )


def _pod_to_pod(facts: Facts) -> Iterator[Check]:
    pods, peer = _list_ready(facts), _peer(facts)
    for pod, other in _pairs(pods, peer):
        base = build_pod_check(pod, "pod-to-pod", "", "pod to pod")
        base = replace(base, target=other.name)
        yield replace(
            base,
            id=f"pod-to-pod/ping/{pod.name}",
            title="pod to pod, ping",
            protocol="ICMP",
            argv=commands.ping(other.address),
            expect="reply",
        )
        if other is peer:
            continue
        yield replace(
            base,
            id=f"pod-to-pod/tcp/{pod.name}",
            flow=POD_IP,
            protocol="TCP",
            argv=commands.curl_page(page_at(other.address), windows=True),
            expect="banner",
            suite=_GRANULAR.format("intra-pod", "http"),
        )
        if other.second:
            yield replace(
                base,
                id=f"pod-to-pod/tcp-second/{pod.name}",
                title="pod to pod, the other family",
                protocol="TCP",
                target=other.second,
                argv=commands.curl_page(page_at(other.second), windows=True),
                expect="banner",
            )
        if facts.pod_names is False:
            yield _not_run(f"discovery/pod-name/{pod.name}", "discovery", POD_NAME, "TCP", NO_POD_NAMES)
            continue
        dashed = other.address.replace(".", "-")
        yield replace(
            base,
            id=f"discovery/pod-name/{pod.name}",
            group="discovery",
            title="pod to pod by name",
            flow=POD_NAME,
            protocol="TCP",
            argv=commands.curl_page(f"http://{dashed}.{facts.namespace}.pod.{facts.dns_domain}/", windows=True),
            expect="banner",
            needs=_NAME_NEEDS,
        )
    if len(pods) < 2:
        for name, flow in (("pod-to-pod/tcp", POD_IP), ("discovery/pod-name", POD_NAME)):
            why = "It takes two web servers that are Ready."
            yield _not_run(name, name.partition("/")[0], flow, "TCP", why)
    yield from _udp_to_peer(facts, pods, peer)
    if len({pod.node for pod in pods}) < 2:
        why = "All pods that are Ready are on one node, so nothing goes from host to host."
        yield _not_run("pod-to-pod/hosts", "pod-to-pod", "", "", why)


def _pairs(pods: list[PodFact], peer: PodFact | None) -> Iterator[tuple[PodFact, PodFact]]:
    """Each pod with the next one, preferably on another node, so that every node sends and receives."""
    order = sorted(pods, key=lambda pod: (pod.node, pod.name))
    if len(order) == 1 and peer is not None:
        yield order[0], peer
    for index, pod in enumerate(order if len(order) > 1 else ()):
        rest = [*order[index + 1 :], *order[:index]]
        yield pod, next((other for other in rest if other.node != pod.node), rest[0])


def _udp_to_peer(facts: Facts, pods: list[PodFact], peer: PodFact | None) -> Iterator[Check]:
    name = f"{PEER}.{PEER_NAMES}.{facts.namespace}.svc.{facts.dns_domain}"
    if peer is None or not pods:
        for flow, kind in ((POD_IP, "pod-to-pod/udp"), (POD_NAME, "discovery/pod-udp-name")):
            yield _not_run(kind, kind.partition("/")[0], flow, "UDP", _find_missing(facts))
        return
    for pod in pods:
        base = build_pod_check(pod, "pod-to-pod", "udp", "pod to pod")
        yield replace(
            base,
            flow=POD_IP,
            protocol="UDP",
            target=peer.name,
            argv=commands.udp_from_windows(peer.address, PEER_PORT),
            expect="echo",
            suite=_GRANULAR.format("intra-pod", "udp"),
        )
    yield replace(
        build_pod_check(pods[0], "discovery", "pod-udp-name", "pod to pod by name"),
        flow=POD_NAME,
        protocol="UDP",
        target=name,
        argv=commands.udp_from_windows(name, PEER_PORT),
        expect="echo",
        needs=_NAME_NEEDS,
    )


def _service(facts: Facts) -> Iterator[Check]:
    page = page_at(facts.web_address)
    if facts.linux and _list_ready(facts):
        yield Check(
            "service/linux",
            "service",
            "the Service's address, from a node",
            "linux",
            protocol="TCP",
            source=facts.linux,
            target=facts.web_address,
            argv=commands.curl_page(page, windows=False),
            expect="banner",
            needs=("node-to-pod",),
        )
    else:
        why = NO_PODS if facts.linux else "No Linux node of the cluster is named (winkube_smoke_linux_host)."
        yield _not_run("service/linux", "service", "", "TCP", why)
    for pod in _list_ready(facts):
        yield replace(
            build_pod_check(pod, "service", "tcp", "the Service's address, from a pod"),
            flow=SERVICE_IP,
            protocol="TCP",
            target=facts.web_address,
            argv=commands.curl_page(page, windows=True),
            expect="banner",
            needs=("pod-to-pod",),
        )
        if facts.web_second:
            yield replace(
                build_pod_check(pod, "service", "tcp-second", "the Service's address of the other family, from a pod"),
                protocol="TCP",
                target=facts.web_second,
                argv=commands.curl_page(page_at(facts.web_second), windows=True),
                expect="banner",
                needs=("pod-to-pod",),
            )
    if not _list_ready(facts):
        yield _not_run("service/tcp", "service", SERVICE_IP, "TCP", NO_PODS)
    if _peer(facts) is None or not _list_ready(facts):
        yield _not_run("service/udp", "service", SERVICE_IP, "UDP", _find_missing(facts))
    else:
        yield replace(
            build_pod_check(_list_ready(facts)[0], "service", "udp", "the Service's address, from a pod"),
            flow=SERVICE_IP,
            protocol="UDP",
            target=facts.peer_address,
            argv=commands.udp_from_windows(facts.peer_address, PEER_PORT),
            expect="echo",
            needs=("pod-to-pod",),
        )
    yield Check(
        "service/windows-host",
        "service",
        "the Service's address, from a Windows node",
        "none",
        limitation="Windows nodes do not reach Service addresses; Windows pods do. It is not tried.",
    )


def _discovery(facts: Facts) -> Iterator[Check]:
    full = f"{WEB}.{facts.namespace}.svc.{facts.dns_domain}"
    for pod in _list_ready(facts):
        name = f"kubernetes.default.svc.{facts.dns_domain}"
        yield replace(
            build_pod_check(pod, "discovery", "dns", "DNS of the cluster"),
            target=name,
            argv=commands.resolve(name),
            expect="address",
            needs=("service", "dns-config"),
            suite="should provide DNS for the cluster",
        )
        yield replace(
            build_pod_check(pod, "discovery", "fqdn", "the Service's full name"),
            target=full,
            argv=commands.curl_page(f"http://{full}/", windows=True),
            expect="banner",
            needs=_NAME_NEEDS,
        )
        yield replace(
            build_pod_check(pod, "discovery", "short", "the Service's short name"),
            flow=PQDN,
            protocol="TCP",
            target=WEB,
            argv=commands.curl_page(f"http://{WEB}/", windows=True),
            expect="banner",
            needs=_NAME_NEEDS,
        )
    if not _list_ready(facts):
        yield _not_run("discovery/short", "discovery", PQDN, "TCP", NO_PODS)
    if _list_ready(facts) and _peer(facts) is not None:
        yield replace(
            build_pod_check(_list_ready(facts)[0], "discovery", "udp", "the Service's short name"),
            flow=PQDN,
            protocol="UDP",
            target=PEER,
            argv=commands.udp_from_windows(PEER, PEER_PORT),
            expect="echo",
            needs=_NAME_NEEDS,
        )
    else:
        yield _not_run("discovery/udp", "discovery", PQDN, "UDP", _find_missing(facts))
    yield Check(
        "discovery/between",
        "discovery",
        "names between short and full",
        "none",
        target=f"{WEB}.{facts.namespace}",
        limitation="Windows takes every name with a dot as a full one, so such names do not resolve. It is not tried.",
    )


def _inbound(facts: Facts) -> Iterator[Check]:
    targets = [node for node in facts.nodes if node.usable and node.address]
    for where, host in (("linux", facts.linux), ("outside", facts.outside)):
        if not host or not targets or not _list_ready(facts):
            why = NO_PODS if targets else "No node is usable that it could be tried at."
            why = why if host else f"No host for it is named (winkube_smoke_{where}_host)."
            yield _not_run(f"inbound/{where}", "inbound", "", "TCP", why)
            continue
        for node in _each_system(targets):
            yield Check(
                f"inbound/{where}/{node.name}",
                "inbound",
                "the NodePort, from a Linux node" if where == "linux" else "the NodePort, from outside",
                "linux" if where == "linux" else "outside",
                protocol="TCP",
                source=host,
                target=f"{node.address}:{facts.web_node_port}",
                argv=commands.curl_page(f"http://{node.address}:{facts.web_node_port}/", windows=False),
                expect="banner",
                needs=("service",) if node.windows else ("service", "node-to-pod"),
            )
    yield Check(
        "inbound/windows-host",
        "inbound",
        "a NodePort, from the Windows node itself",
        "none",
        limitation="A Windows node does not reach NodePorts of its own; other machines do. It is not tried.",
    )


def _each_system(nodes: list[NodeFact]) -> list[NodeFact]:
    """All Windows nodes, and one Linux node."""
    return [node for node in nodes if node.windows] + [node for node in nodes if not node.windows][:1]


def _outbound(facts: Facts) -> Iterator[Check]:
    goals = (
        ("tcp", EXTERNAL_IP, facts.external_address, "external address", "winkube_smoke_external_address", ()),
        ("name", EXTERNAL_DNS, facts.external_name, "external name", "winkube_smoke_external_name", ("discovery",)),
    )
    for name, flow, target, title, variable, needs in goals:
        if not target or not _list_ready(facts):
            why = NO_PODS if target else f"{variable} is empty: there is nothing outside to ask."
            yield _not_run(f"outbound/{name}", "outbound", flow, "TCP", why)
            continue
        for pod in _list_ready(facts):
            yield replace(
                build_pod_check(pod, "outbound", name, f"an {title}"),
                flow=flow,
                protocol="TCP",
                target=target,
                argv=commands.curl_status(f"http://{target}/", inside=False),
                expect="http",
                needs=needs,
            )
    if facts.external_dns and facts.external_name and _list_ready(facts):
        yield replace(
            build_pod_check(_list_ready(facts)[0], "outbound", "udp", "an external DNS server"),
            flow=EXTERNAL_IP,
            protocol="UDP",
            target=facts.external_dns,
            argv=commands.resolve(facts.external_name, facts.external_dns),
            expect="address",
        )
    else:
        unset = next((name for name in ("dns", "name") if not getattr(facts, f"external_{name}")), "")
        why = f"winkube_smoke_external_{unset} is empty: there is nothing outside to ask." if unset else NO_PODS
        yield _not_run("outbound/udp", "outbound", EXTERNAL_IP, "UDP", why)
    why = "Once a name is resolved it is the flow by address; the question for it goes to the cluster's DNS."
    yield _not_run("outbound/udp-name", "outbound", EXTERNAL_DNS, "UDP", why)
    yield Check(
        "outbound/ping",
        "outbound",
        "ping of something external",
        "none",
        protocol="ICMP",
        limitation="Windows' data plane does not carry ICMP out of the pods' network; curl shows the same. Not tried.",
    )


def _pod_to_node(facts: Facts) -> Iterator[Check]:
    asked = False
    for pod in _list_ready(facts):
        others = [node for node in facts.nodes if node.name != pod.node and node.usable and node.address]
        target = next(iter(others or [node for node in facts.nodes if node.name == pod.node and node.address]), None)
        if target is None:
            continue
        yield replace(
            build_pod_check(pod, "pod-to-node", "tcp", "pod to node"),
            flow=POD_NODE,
            protocol="TCP",
            target=f"{target.address}:{KUBELET_PORT}",
            argv=commands.curl_status(f"https://{target.address}:{KUBELET_PORT}/healthz"),
            expect="http",
        )
        asked = True
    if not asked:
        why = "No node has an address that it could be asked at." if _list_ready(facts) else NO_PODS
        yield _not_run("pod-to-node/tcp", "pod-to-node", POD_NODE, "TCP", why)
    why = "Nothing that every node runs answers UDP to pods."
    yield _not_run("pod-to-node/udp", "pod-to-node", POD_NODE, "UDP", why)
