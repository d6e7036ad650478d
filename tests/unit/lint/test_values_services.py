"""Services in front of Windows pods: each number on both sides of its boundary, each value by its name."""

from __future__ import annotations

from typing import Any

import pytest

from . import several
from .several import service
from .test_rules import findings, places

OF_LINUX = {"spec": {"os": {"name": "linux"}, "nodeSelector": {"kubernetes.io/os": "linux"}}}


def said(rule: str, *objects: dict[str, Any], pod: dict[str, Any] | None = None, **settings: Any) -> list[str]:
    return places(rule, several.of(*objects, pod=pod), **settings)


# -- 64 backends -------------------------------------------------------------------------------------------------------


def workload(kind: str, labels: dict[str, str] | None = None, name: str = "web", **spec: Any) -> dict[str, Any]:
    """A controller of Windows pods that carry the label of the Service."""
    template = {
        "metadata": {"labels": {"app": "shop", **(labels or {})}},
        "spec": {"os": {"name": "windows"}, "containers": [{"name": "c", "image": "registry.example.com/c:1"}]},
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {**spec, "template": template}}


SHOP = {**service(), "spec": {"selector": {"app": "shop"}}}


@pytest.mark.row("LM-50")
@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"])
@pytest.mark.parametrize(("replicas", "flagged"), [(64, False), (65, True), (None, False)])
def test_replicas_behind_one_service(kind: str, replicas: int | None, flagged: bool) -> None:
    spec: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    assert said("too-many-backends", SHOP, workload(kind, **spec)) == (["W spec.selector"] if flagged else [])


@pytest.mark.row("LM-50")
def test_several_workloads_count_together_and_only_those_selected() -> None:
    first = workload("Deployment", replicas=32)
    assert said("too-many-backends", SHOP, first, workload("StatefulSet", replicas=32)) == []
    assert said("too-many-backends", SHOP, first, workload("StatefulSet", replicas=33)) == ["W spec.selector"]
    assert said("too-many-backends", SHOP, first, workload("StatefulSet", {"app": "other"}, replicas=33)) == []
    text = several.of(SHOP, first, workload("StatefulSet", replicas=33))
    (found,) = [each for each in findings(text, {}) if each.rule == "too-many-backends"]
    assert found.message.startswith(
        "up to 65 pods are behind the Service (Deployment web: 32, StatefulSet web: 33); Windows nodes balance over 64"
    )


@pytest.mark.row("LM-50")
@pytest.mark.parametrize(
    ("count", "words"),
    [(3, "(Deployment a: 30, Deployment b: 30, Deployment c: 30)"), (4, "Deployment c: 30, ...)")],
)
def test_three_of_many_workloads_are_named(count: int, words: str) -> None:
    made = [workload("Deployment", name=name, replicas=30) for name in "abcd"[:count]]
    (found,) = [each for each in findings(several.of(SHOP, *made), {}) if each.rule == "too-many-backends"]
    assert f"up to {30 * count} pods" in found.message and words in found.message


def scaler(most: int, kind: str = "Deployment", name: str = "web") -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name}
    spec = {"minReplicas": 1, "maxReplicas": most, "scaleTargetRef": reference}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "s"}, "spec": spec}


@pytest.mark.row("LM-50")
@pytest.mark.parametrize(
    ("scaling", "flagged"),
    [(scaler(65), True), (scaler(64), False), (scaler(65, "StatefulSet"), False), (scaler(65, name="x"), False)],
)
def test_the_most_that_an_autoscaler_may_make(scaling: dict[str, Any], flagged: bool) -> None:
    found = said("too-many-backends", SHOP, workload("Deployment", replicas=2), scaling)
    assert found == (["W spec.selector"] if flagged else [])


@pytest.mark.row("LM-50")
@pytest.mark.parametrize(("count", "flagged"), [(64, False), (65, True)])
def test_one_pod_of_a_daemon_set_on_each_windows_node(count: int, flagged: bool) -> None:
    nodes = [several.node(f"win{number}") for number in range(count)]
    found = said(
        "too-many-backends", SHOP, workload("DaemonSet"), several.node("linux", kubernetes_io__os="linux"), *nodes
    )
    assert found == (["W spec.selector"] if flagged else [])


@pytest.mark.row("LM-50")
@pytest.mark.parametrize(("count", "flagged"), [(64, False), (65, True)])
def test_unique_addresses_of_endpoints_and_slices(count: int, flagged: bool) -> None:
    ips = [f"10.244.0.{number}" for number in range(count)]
    labels = {"labels": {"kubernetes.io/service-name": "web"}}
    slices: list[dict[str, Any]] = [
        {"kind": "EndpointSlice", "metadata": {"name": name, **labels}, "endpoints": [{"addresses": part}]}
        for name, part in (("a", ips[:40]), ("b", ips[30:]))
    ]
    addresses = [{"ip": ip} for ip in ips]
    endpoints = {"kind": "Endpoints", "metadata": {"name": "web"}, "subsets": [{"addresses": addresses}]}
    others: list[dict[str, Any]] = [{**each, "metadata": {"name": "other"}} for each in (*slices, endpoints)]
    for objects in (slices, [endpoints], [*slices, endpoints]):
        versions: list[dict[str, Any]] = [{"apiVersion": "v1", **each} for each in objects]
        assert said("too-many-backends", SHOP, workload("Deployment"), *versions) == (
            ["W spec.selector"] if flagged else []
        )
    foreign: list[dict[str, Any]] = [{"apiVersion": "v1", **each} for each in others]
    assert said("too-many-backends", SHOP, workload("Deployment"), *foreign) == []


# -- types and policies ------------------------------------------------------------------------------------------------


@pytest.mark.row("LM-51", "LM-71")
@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"])
def test_only_a_node_port_is_told_of(kind: str) -> None:
    found = findings(several.of(service(type=kind)), {})
    assert [f"{each.severity.name[0]} {each.rule} {each.path}" for each in found] == (
        ["I node-port spec.type"] if kind == "NodePort" else []
    )
    assert all("a Windows node cannot reach the port on itself" in each.message for each in found)
    assert findings(several.of(service(type=kind), pod=OF_LINUX), {}) == []


@pytest.mark.row("LM-53")
@pytest.mark.parametrize(
    ("policy", "dsr", "flagged"),
    [("Local", False, True), ("Local", True, False), ("Cluster", False, False), (None, False, False)],
)
def test_the_policy_local_needs_dsr(policy: str | None, dsr: bool, flagged: bool) -> None:
    policies = {"externalTrafficPolicy": policy} if policy else {}
    made = service(type="LoadBalancer", internalTrafficPolicy="Local", **policies)
    assert said("local-traffic-policy", made, dsr=dsr) == (["W spec.externalTrafficPolicy"] if flagged else [])
    assert said("local-traffic-policy", made, pod=OF_LINUX, dsr=dsr) == []


@pytest.mark.row("LM-53", "LM-54", "LM-56")
def test_what_is_not_told_of_the_cluster_is_no_error() -> None:
    made = service({"preserve-destination": "true"}, externalTrafficPolicy="Local", sessionAffinity="ClientIP")
    assert said("local-traffic-policy", made) == ["W spec.externalTrafficPolicy"]
    assert said("preserve-destination", made) == []
    assert said("session-affinity", made) == []


# -- affinity ----------------------------------------------------------------------------------------------------------


@pytest.mark.row("LM-54")
@pytest.mark.parametrize(
    ("builds", "flagged"),
    [([17763], True), ([19550], True), ([19551], False), ([20348], False), ([26100, 19550], True), ([], False)],
)
def test_affinity_by_build(builds: list[int], flagged: bool) -> None:
    assert said("session-affinity", service(sessionAffinity="ClientIP"), builds=builds) == (
        ["W spec.sessionAffinity"] if flagged else []
    )
    assert said("session-affinity", service(sessionAffinity="None"), builds=builds) == []


@pytest.mark.row("LM-54", "LM-56")
@pytest.mark.parametrize(("build", "affinity", "preserve"), [(17763, 1, 1), (18362, 1, 0), (20348, 0, 0)])
def test_the_build_that_the_pods_select_stands_before_the_cluster_s(build: int, affinity: int, preserve: int) -> None:
    pod = {"spec": {"nodeSelector": {"node.kubernetes.io/windows-build": f"10.0.{build}"}}}
    made = service({"preserve-destination": "true"}, sessionAffinity="ClientIP")
    settings: dict[str, Any] = {"builds": [20348, 17763], "dsr": True}
    assert said("session-affinity", made, pod=pod, **settings) == ["W spec.sessionAffinity"] * affinity
    assert (
        said("preserve-destination", made, pod=pod, **settings)
        == ["W metadata.annotations.preserve-destination"] * preserve
    )


@pytest.mark.row("LM-55")
@pytest.mark.parametrize(("seconds", "flagged"), [(60, True), (10799, True), (10801, True), (10800, False)])
def test_a_time_other_than_the_default(seconds: int, flagged: bool) -> None:
    made = service(sessionAffinity="ClientIP", sessionAffinityConfig={"clientIP": {"timeoutSeconds": seconds}})
    assert said("session-timeout", made) == (
        ["W spec.sessionAffinityConfig.clientIP.timeoutSeconds"] if flagged else []
    )


# -- preserve-destination ----------------------------------------------------------------------------------------------


@pytest.mark.row("LM-56")
@pytest.mark.parametrize(
    ("value", "dsr", "builds", "count"),
    [
        ("true", True, [18362], 0),
        ("true", True, [18361], 1),
        ("true", True, [26100, 17763], 1),
        ("true", False, [18362], 1),
        ("true", False, [17763], 2),
        ("True", False, [18362], 1),
        ("false", False, [17763], 0),
    ],
)
def test_preserve_destination_needs_dsr_and_1903(value: str, dsr: bool, builds: list[int], count: int) -> None:
    made = service({"preserve-destination": value})
    found = said("preserve-destination", made, dsr=dsr, builds=builds)
    assert found == ["W metadata.annotations.preserve-destination"] * count
    assert said("preserve-destination", service({"preserve-source": value}), dsr=dsr, builds=builds) == []


# -- families ----------------------------------------------------------------------------------------------------------

BOTH = ["IPv4", "IPv6"]
FAMILIES = [
    # ipFamilies, ipFamilyPolicy: what is said on l2bridge, what on overlay
    (["IPv4"], "SingleStack", [], []),
    (["IPv4"], None, [], []),
    (["IPv6"], "SingleStack", ["W ipv6-only-service"], ["W ipv6-on-overlay", "W ipv6-only-service"]),
    (["IPv6"], None, ["W ipv6-only-service"], ["W ipv6-on-overlay", "W ipv6-only-service"]),
    (BOTH, None, ["W dual-stack-service"], ["W dual-stack-on-overlay", "W dual-stack-service"]),
    (["IPv6"], "PreferDualStack", ["W dual-stack-service"], ["W dual-stack-on-overlay", "W dual-stack-service"]),
    (["IPv4"], "RequireDualStack", ["W dual-stack-service"], ["W dual-stack-on-overlay", "W dual-stack-service"]),
    (None, "PreferDualStack", ["W dual-stack-service"], ["W dual-stack-on-overlay", "W dual-stack-service"]),
]


@pytest.mark.row("LM-52", "LM-57", "LM-58", "LM-59")
@pytest.mark.parametrize(("families", "policy", "bridge", "overlay"), FAMILIES)
def test_families_by_network_mode(
    families: list[str] | None, policy: str | None, bridge: list[str], overlay: list[str]
) -> None:
    given = {"ipFamilies": families, "ipFamilyPolicy": policy}
    made = service(**{key: value for key, value in given.items() if value})
    for mode, expected in (("l2bridge", bridge), ("overlay", overlay)):
        found = findings(several.of(made), {"mode": mode})
        assert sorted(f"{each.severity.name[0]} {each.rule}" for each in found) == expected
        assert {each.path for each in found} <= {"spec.ipFamilies", "spec.ipFamilyPolicy"}
        for each in found:
            wanted = "ipFamilyPolicy" if policy in ("PreferDualStack", "RequireDualStack") else "ipFamilies"
            assert each.path == f"spec.{wanted}"
        assert findings(several.of(made, pod=OF_LINUX), {"mode": mode}) == []


@pytest.mark.row("LM-52", "LM-57")
@pytest.mark.parametrize(("cluster", "alone"), [([], "W"), (["IPv6"], "E"), (["IPv4"], "E"), (BOTH, "")])
def test_a_service_of_ipv6_works_only_in_a_cluster_of_both(cluster: list[str], alone: str) -> None:
    made = service(ipFamilies=["IPv6"])
    assert said("ipv6-only-service", made, ip_families=cluster) == ([f"{alone} spec.ipFamilies"] if alone else [])
    assert said("ipv6-on-overlay", made, ip_families=cluster, mode="overlay") == ["W spec.ipFamilies"]
