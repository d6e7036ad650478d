# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Services in front of Windows pods, and their CNI configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..facts.feature_gates import gate
from ..facts.version import Line
from .catalog import ObjectCase, PodCase
from .model import Hit, Severity, as_list, as_map, as_text
from .profile import build_title
from .rule import DOC, Find, Rule, always, needing

_SERVICE = ("Service",)
_MOST_BACKENDS = 64
_AFFINITY_BUILD = 19551
_PRESERVE_BUILD = 18362
_PRESERVE = "preserve-destination"
_DEFAULT_STICKY_SECONDS = 10800


def backends(case: ObjectCase) -> tuple[int, str]:
    """The largest number of pods behind the Service, and how that is known."""
    namespace = case.object.namespace
    addresses = _addresses(case)
    total, words = 0, []
    for pod in case.catalog.select_pods(as_map(case.spec.get("selector")), namespace):
        owner = pod.pod.object
        count = _copies(pod)
        total += count
        words.append(f"{owner.kind} {owner.name}: {count}")
    if addresses > total:
        return addresses, f"its endpoints: {addresses}"
    return total, ", ".join(words[:3]) + (", ..." if len(words) > 3 else "")


def _copies(pod: Any) -> int:
    owner = pod.pod.object
    if owner.kind == "DaemonSet":
        return len(pod.catalog.windows_nodes) or 1
    for scaler in pod.catalog.of_kind("HorizontalPodAutoscaler", owner.namespace):
        target = as_map(scaler.spec.get("scaleTargetRef"))
        if target.get("kind") == owner.kind and target.get("name") == owner.name:
            most = scaler.spec.get("maxReplicas")
            return most if isinstance(most, int) else 1
    replicas = owner.spec.get("replicas", 1)
    return replicas if isinstance(replicas, int) and owner.kind != "Pod" else 1


def _addresses(case: ObjectCase) -> int:
    found: set[str] = set()
    endpoints = case.catalog.find("Endpoints", case.object.name, case.object.namespace)
    for subset in as_list(endpoints.value.get("subsets")) if endpoints else []:
        found |= {as_text(as_map(each).get("ip")) for each in as_list(as_map(subset).get("addresses"))}
    for piece in case.catalog.of_kind("EndpointSlice", case.object.namespace):
        if as_map(piece.metadata.get("labels")).get("kubernetes.io/service-name") == case.object.name:
            for each in as_list(piece.value.get("endpoints")):
                found |= set(map(str, as_list(as_map(each).get("addresses"))))
    return len(found - {""})


def _headless(case: ObjectCase) -> bool:
    """Whether the Service is headless: DNS answers with the pods themselves, without kube-proxy."""
    return case.spec.get("clusterIP") == "None" or case.spec.get("type") == "ExternalName"


def _too_many(case: ObjectCase) -> Iterator[Hit]:
    if _headless(case):
        return
    count, words = backends(case)
    if count > _MOST_BACKENDS:
        yield Hit(("spec", "selector"), {"count": str(count), "what": words})


def _node_ports(case: ObjectCase) -> Iterator[Hit]:
    if case.spec.get("type") == "NodePort":
        yield Hit(("spec", "type"))


def _local_policy(case: ObjectCase) -> Iterator[Hit]:
    if case.spec.get("externalTrafficPolicy") == "Local" and case.profile.dsr is False:
        yield Hit(("spec", "externalTrafficPolicy"))


def _local_policy_unknown(case: ObjectCase) -> Iterator[Hit]:
    if case.spec.get("externalTrafficPolicy") == "Local" and case.profile.dsr is None:
        yield Hit(("spec", "externalTrafficPolicy"), {"how": _how_dsr(case)})


def _how_dsr(case: ObjectCase) -> str:
    """How to turn direct server return on in this version: a flag that is off by default, and up to 1.32 a gate."""
    found = gate("kube-proxy", "WinDSR", Line(1, case.profile.minor))
    needs_gate = found is not None and not found.default
    return "kube-proxy --enable-dsr=true" + (" and its feature gate WinDSR=true" if needs_gate else "")


def _local_policy_with_dsr(case: ObjectCase) -> Iterator[Hit]:
    if case.spec.get("externalTrafficPolicy") == "Local" and case.profile.dsr:
        yield Hit(("spec", "externalTrafficPolicy"), {"what": "externalTrafficPolicy: Local"})
    if _preserves(case) and case.profile.dsr:
        yield Hit(("metadata", "annotations", _PRESERVE), {"what": f"the annotation {_PRESERVE}"})


def _node_builds(case: ObjectCase) -> tuple[int, ...]:
    """The builds that the pods behind the Service select, else the cluster's."""
    selected = {build for pod in case.pods for build in pod.target.builds}
    return tuple(sorted(selected)) if selected else case.catalog.builds


def _affinity(case: ObjectCase) -> Iterator[Hit]:
    old = [build for build in _node_builds(case) if build < _AFFINITY_BUILD]
    if case.spec.get("sessionAffinity") == "ClientIP" and old and not _headless(case):
        yield Hit(("spec", "sessionAffinity"), {"builds": ", ".join(map(build_title, old))})


def _sticky_time(case: ObjectCase) -> Iterator[Hit]:
    """The API server fills in 10800, so that value may not be the author's."""
    seconds = as_map(as_map(case.spec.get("sessionAffinityConfig")).get("clientIP")).get("timeoutSeconds")
    if seconds is not None and seconds != _DEFAULT_STICKY_SECONDS and not _headless(case):
        yield Hit(("spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"), {"value": str(seconds)})


def _preserves(case: ObjectCase) -> bool:
    return str(as_map(case.object.metadata.get("annotations")).get(_PRESERVE)).lower() == "true"


def _preserve_destination(case: ObjectCase) -> Iterator[Hit]:
    if not _preserves(case):
        return
    path = ("metadata", "annotations", _PRESERVE)
    if case.profile.dsr is False:
        yield Hit(path, {"what": "kube-proxy runs without DSR"})
    old = [build for build in _node_builds(case) if build < _PRESERVE_BUILD]
    if old:
        yield Hit(path, {"what": f"the nodes include {', '.join(map(build_title, old))}"})


def _families(case: ObjectCase) -> tuple[list[str], str]:
    return [str(each) for each in as_list(case.spec.get("ipFamilies"))], as_text(
        case.spec.get("ipFamilyPolicy")
    ) or "SingleStack"


def _single_ipv6(told: bool) -> Find:
    """Single-family Services work in a dual-stack cluster, also IPv6 ones. `told`: the cluster's families are known."""

    def find(case: ObjectCase) -> Iterator[Hit]:
        families, policy = _families(case)
        cluster = case.profile.ip_families
        if families == ["IPv6"] and policy == "SingleStack" and len(cluster) < 2 and bool(cluster) is told:
            yield Hit(("spec", "ipFamilies"))

    return find


def _dual_stack(case: ObjectCase) -> Iterator[Hit]:
    families, policy = _families(case)
    if policy in ("PreferDualStack", "RequireDualStack") or len(families) > 1:
        field = "ipFamilyPolicy" if policy != "SingleStack" else "ipFamilies"
        yield Hit(("spec", field), {"value": policy if field == "ipFamilyPolicy" else ", ".join(families)})


def _dual_stack_on_overlay(case: ObjectCase) -> Iterator[Hit]:
    if case.profile.mode == "overlay":
        yield from _dual_stack(case)


def _ipv6_on_overlay(case: ObjectCase) -> Iterator[Hit]:
    families, policy = _families(case)
    if case.profile.mode == "overlay" and families == ["IPv6"] and policy == "SingleStack":
        yield Hit(("spec", "ipFamilies"))


# Fields that kube-proxy in winkernel mode does not read. Source: k8s.io/kubernetes pkg/proxy/winkernel proxier.go, 1.22
# to 1.37: no use of LoadBalancerSourceRanges and of the hints behind trafficDistribution; #107019, #120033.
_NOT_READ = {
    "loadBalancerSourceRanges": "packets of all sources reach the pods through Windows nodes",
    "trafficDistribution": "Windows nodes send to all endpoints alike",
}


def _fields_not_read(case: ObjectCase) -> Iterator[Hit]:
    for field, effect in _NOT_READ.items() if not _headless(case) else ():
        if case.spec.get(field):
            yield Hit(("spec", field), {"value": field, "effect": effect})


def _unknown_type(case: ObjectCase) -> Iterator[Hit]:
    kind = case.spec.get("type")
    if kind is not None and kind not in ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName"):
        yield Hit(("spec", "type"), {"value": str(kind)})


def _find_old_policies(case: ObjectCase) -> Iterator[Hit]:
    """A cni.conf in a ConfigMap with keys of the old form under apiVersion 2, which have no effect."""
    for name, text in as_map(case.object.value.get("data")).items():
        if not isinstance(text, str) or "OutBoundNAT" not in text:
            continue
        try:
            parsed = json.loads(text)
        except ValueError:
            continue
        for part in _networks(parsed):
            for policy in map(as_map, as_list(part.get("policies")) or as_list(part.get("Policies"))):
                value = as_map(policy.get("value")) or as_map(policy.get("Value"))
                if "ExceptionList" in value and value.get("Type") == "OutBoundNAT":
                    yield Hit(("data", str(name)), {"what": str(name)})


def _networks(parsed: Any) -> Iterator[dict[str, Any]]:
    """Every part of a network configuration with apiVersion 2, its own or that of the plugin that delegates to it."""
    for part in (as_map(parsed), *map(as_map, as_list(as_map(parsed).get("plugins")))):
        delegate = as_map(part.get("delegate"))
        for each in (part, delegate):
            if str(each.get("apiVersion", part.get("apiVersion"))) == "2":
                yield each


def _sctp(case: ObjectCase) -> Iterator[Hit]:
    for number, port in enumerate(as_list(case.spec.get("ports"))):
        if case.pods and as_map(port).get("protocol") == "SCTP":
            yield Hit(("spec", "ports", number, "protocol"), {"what": "a port of the Service"})


@needing("protocol")
def _sctp_of_containers(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        for number, port in enumerate(as_list(container.value.get("ports"))):
            if as_map(port).get("protocol") == "SCTP":
                path = (*container.path, "ports", number, "protocol")
                yield Hit(path, {"what": f"a port of container {container.name}"}, container.name)


RULES: tuple[Rule, ...] = (
    Rule(
        id="sctp",
        title="SCTP",
        level=always(Severity.WARNING),
        find=_sctp,
        message="{what} is for SCTP, which Windows nodes do not have.",
        remedy="Use TCP or UDP, or run the program on Linux.",
        source="Kubernetes documentation, Protocols for Services",
        kinds=_SERVICE,
        paths=("spec.ports[*].protocol",),
    ),
    Rule(
        id="sctp",
        title="SCTP of a container",
        level=always(Severity.WARNING),
        find=_sctp_of_containers,
        message="{what} is for SCTP, which Windows nodes do not have.",
        remedy="Use TCP or UDP, or run the program on Linux.",
        source="Kubernetes documentation, Protocols for Services",
        paths=("spec.containers[*].ports[*].protocol",),
    ),
    Rule(
        id="service-type",
        title="Type of the Service",
        level=always(Severity.ERROR),
        find=_unknown_type,
        message="type is {value}; there are ClusterIP, NodePort, LoadBalancer and ExternalName. The API"
        " server rejects it.",
        remedy="Correct the type.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.type",),
    ),
    Rule(
        id="too-many-backends",
        title="More than 64 backends",
        level=always(Severity.WARNING),
        find=_too_many,
        message="up to {count} pods are behind the Service ({what}); Windows nodes balance over 64 at most.",
        remedy="Split the workload over several Services, or lower maxReplicas.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.selector",),
    ),
    Rule(
        id="node-port",
        title="NodePort from the node itself",
        level=always(Severity.INFO),
        find=_node_ports,
        message="type is NodePort; a Windows node cannot reach the port on itself, other nodes and clients can.",
        remedy="Nothing, unless something on the node calls the port: then use the cluster IP from a pod.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.type",),
    ),
    Rule(
        id="ipv6-on-overlay",
        title="IPv6 on overlay",
        level=always(Severity.WARNING),
        find=_ipv6_on_overlay,
        message="the Service is IPv6 and the network mode overlay; Windows pods do not talk IPv6 over it.",
        remedy="Use IPv4, or the network mode l2bridge.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.ipFamilies",),
    ),
    Rule(
        id="local-traffic-policy",
        title="Traffic policy Local without DSR",
        level=always(Severity.WARNING),
        find=_local_policy,
        message="externalTrafficPolicy is Local, which needs kube-proxy with DSR on Windows nodes; this profile"
        " has it off.",
        remedy="Turn DSR on (kube-proxy --enable-dsr=true) and tell the linter, or use Cluster.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.externalTrafficPolicy",),
    ),
    Rule(
        id="local-traffic-policy",
        title="Traffic policy Local, and dsr is not set",
        level=always(Severity.WARNING),
        find=_local_policy_unknown,
        message="externalTrafficPolicy is Local, which needs kube-proxy with DSR on Windows nodes; it is off unless"
        " somebody turned it on ({how}).",
        remedy="Tell the linter (dsr: true) if it is on, else turn it on or use Cluster.",
        source=DOC + "; k8s.io/kubernetes cmd/kube-proxy/app/init_windows.go (enable-dsr)",
        kinds=_SERVICE,
        paths=("spec.externalTrafficPolicy",),
    ),
    Rule(
        id="local-policy-side-effects",
        title="What Local and preserve-destination also switch off",
        level=always(Severity.INFO),
        find=_local_policy_with_dsr,
        message="{what} also disables forwarding from node to node: a node without a local pod does not answer.",
        remedy="Nothing, if the load balancer checks the health of nodes.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.externalTrafficPolicy", f"metadata.annotations[{_PRESERVE}]"),
    ),
    Rule(
        id="session-affinity",
        title="Session affinity on old builds",
        level=always(Severity.WARNING),
        find=_affinity,
        message=f"sessionAffinity is ClientIP, which Windows has from build {_AFFINITY_BUILD} on; the nodes"
        f" include {{builds}}.",
        remedy="Use Windows Server 2022 or later, or keep the session outside of the connection.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.sessionAffinity",),
    ),
    Rule(
        id="session-timeout",
        title="Length of a session",
        level=always(Severity.WARNING),
        find=_sticky_time,
        message="timeoutSeconds is {value}; Windows does not support a maximum session sticky time.",
        remedy="Remove sessionAffinityConfig.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.sessionAffinityConfig.clientIP.timeoutSeconds",),
    ),
    Rule(
        id="service-field",
        title="Fields of a Service that kube-proxy on Windows does not read",
        level=always(Severity.WARNING),
        find=_fields_not_read,
        message="{value} is set, and kube-proxy on Windows does not look at it: {effect}.",
        remedy="Filter in the network or in a NetworkPolicy; do not rely on it.",
        source="k8s.io/kubernetes pkg/proxy/winkernel proxier.go; kubernetes/kubernetes#107019, #120033",
        kinds=_SERVICE,
        paths=("spec.loadBalancerSourceRanges", "spec.trafficDistribution"),
    ),
    Rule(
        id="preserve-destination",
        title="preserve-destination",
        level=always(Severity.WARNING),
        find=_preserve_destination,
        message="the annotation preserve-destination needs DSR and Windows Server 1903 or later, but {what}.",
        remedy="Turn DSR on and use newer nodes, or remove the annotation.",
        source=DOC,
        kinds=_SERVICE,
        paths=(f"metadata.annotations[{_PRESERVE}]",),
    ),
    Rule(
        id="ipv6-only-service",
        title="IPv6-only Service in a cluster that may be single-stack",
        level=always(Severity.WARNING),
        find=_single_ipv6(told=False),
        message="the Service is IPv6-only; only dual-stack clusters serve it to Windows nodes, and you have not said"
        " whether this is one.",
        remedy="Use IPv4, or tell the linter that the cluster has both (ip_families).",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.ipFamilies",),
    ),
    Rule(
        id="ipv6-only-service",
        title="IPv6-only Service",
        level=always(Severity.ERROR),
        find=_single_ipv6(told=True),
        message="the Service is IPv6-only; Windows nodes have no single-stack IPv6, only dual-stack clusters"
        " serve it, and in one of IPv4 the API server rejects it.",
        remedy="Use IPv4, or tell the linter that the cluster has both (ip_families).",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.ipFamilies",),
    ),
    Rule(
        id="dual-stack-service",
        title="Dual-stack Service",
        level=always(Severity.WARNING),
        find=_dual_stack,
        message="the Service is dual-stack ({value}); Windows nodes serve Services of one family.",
        remedy="Make one Service for each family, with ipFamilyPolicy: SingleStack.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.ipFamilyPolicy", "spec.ipFamilies"),
    ),
    Rule(
        id="dual-stack-on-overlay",
        title="Dual-stack on overlay",
        level=always(Severity.WARNING),
        find=_dual_stack_on_overlay,
        message="the Service is dual-stack ({value}) and the network mode overlay, which has no dual-stack on Windows.",
        remedy="Use IPv4 only, or the network mode l2bridge.",
        source=DOC,
        kinds=_SERVICE,
        paths=("spec.ipFamilyPolicy",),
    ),
    Rule(
        id="outdated-cni-policy",
        title="Old policy keys in a CNI configuration of apiVersion 2",
        level=always(Severity.WARNING),
        find=_find_old_policies,
        message="{what} has ExceptionList beside Type under apiVersion 2: it decodes to a policy without"
        " settings, and all pod traffic"
        " leaves with the node's address.",
        remedy='Write {"Type": "OutBoundNAT", "Settings": {"Exceptions": [...]}}.',
        source="containernetworking/plugins pkg/hns netconf_windows.go (3d27709)",
        kinds=("ConfigMap",),
        paths=("data.*",),
        all_pods=True,
    ),
)
