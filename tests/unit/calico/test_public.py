"""Public failures of Calico on Windows from the objects in their threads, and set-ups without a finding. In
calico#10692 and felix#1992 the clusters had no Windows node yet. Failures that only a log shows are in tests/judge
(calico-*, rke2-*)."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.calico.judge import RULES, problems
from ansible_collections.winkube.node.plugins.plugin_utils.calico.view import View, Wanted
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.checks_calico import CHECKS

from tests.conftest import ROOT
from tests.unit.scheduling.objects import windows

from .objects import POOL, SPEC, WANTED, installation

LINUX = {"metadata": {"name": "cp", "labels": {"kubernetes.io/os": "linux"}}}
ENDPOINT = {"data": {"KUBERNETES_SERVICE_HOST": "192.168.122.10", "KUBERNETES_SERVICE_PORT": "6443"}}
SERVED = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}
AFFINE = {"spec": {"strictAffinity": True}}
SETS = ({"metadata": {"name": "calico-node-windows", "namespace": "calico-system"}},)


def view(**other: Any) -> View:
    """A cluster without a problem, except for what is given."""
    given: dict[str, Any] = {
        "operator": "tigera-operator",
        "installation": installation(),
        "endpoint": ENDPOINT,
        "served": SERVED,
        "api_server": True,
        "ipam": AFFINE,
        "felix": {"spec": {"vxlanVNI": 4096}},
        "daemon_sets": SETS,
        "nodes": (LINUX, windows("win1", 20348)),
        "kubernetes": "1.35.2",
    }
    return View(**(given | other))


def spec(version: str = "v3.31.7", **changes: Any) -> dict[str, Any]:
    """An Installation whose spec, or calicoNetwork (`network`), differs from a correct one; None removes a key."""
    found = deepcopy(SPEC)
    network = changes.pop("network", {})
    for whole, part in ((found, changes), (found["calicoNetwork"], network)):
        for key, value in part.items():
            if value is None:
                del whole[key]
            else:
                whole[key] = value
    return installation(found, version)


def manifests(windows_tag: str = "v3.31.7", **other: Any) -> View:
    """Calico as kubespray installs it, with the DaemonSet of calico.yml beside it (no `windows_tag`: without)."""
    home, of_windows = "kube-system", {"name": "felix", "image": f"quay.io/calico/node-windows:{windows_tag}"}
    linux = {"name": "calico-node", "image": "quay.io/calico/node:v3.31.7", "env": other.pop("env", [])}
    sets = [("calico-node", linux), *([("calico-node-windows", of_windows)] if windows_tag else ())]
    given: dict[str, Any] = {
        "operator": "",
        "installation": None,
        "endpoint": None,
        "served": None,
        "api_server": False,
        "felix": {"spec": {}},
        "config": {"data": {"calico_backend": "vxlan", "cni_network_config": '{"ipam": {"type": "calico-ipam"}}'}},
        "daemon_sets": tuple(
            {
                "metadata": {"name": name, "namespace": home},
                "spec": {"template": {"spec": {"containers": [container]}}},
            }
            for name, container in sets
        ),
    }
    return view(**(given | other))


def config(**data: str) -> dict[str, Any]:
    return {"data": {"calico_backend": "vxlan", **data}}


def pool(**changes: Any) -> dict[str, Any]:
    return {"ipPools": [{**POOL, **changes}]}


def waiting(reason: str, message: str, container: str = "felix", *, init: bool = False) -> tuple[dict[str, Any], ...]:
    status = [{"name": container, "state": {"waiting": {"reason": reason, "message": message}}}]
    key = "initContainerStatuses" if init else "containerStatuses"
    return ({"metadata": {"name": "calico-node-windows-x"}, "spec": {"nodeName": "win1"}, "status": {key: status}},)


def endpoint_at(host: str) -> dict[str, Any]:
    return {"data": {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}}


def old_windows() -> dict[str, Any]:
    node = windows("win1", 17763)
    node["status"]["nodeInfo"]["kernelVersion"] = "10.0.17763.1397"
    return node


def degraded(reason: str, message: str) -> dict[str, Any]:
    return {"status": {"conditions": [{"type": "Degraded", "status": "True", "reason": reason, "message": message}]}}


CASES: tuple[tuple[str, View, str], ...] = (
    (
        "tigera/docs#1547",
        view(installation=spec(network=pool(encapsulation="VXLANCrossSubnet"))),
        "calico.encapsulation",
    ),
    (
        "projectcalico/calico#6996",
        view(
            installation=spec(network={"ipPools": None}),
            pools=(
                {
                    "metadata": {"name": "default-ipv4-ippool"},
                    "spec": {"cidr": "10.244.0.0/16", "vxlanMode": "Never", "ipipMode": "Always"},
                },
            ),
        ),
        "calico.encapsulation",
    ),
    ("projectcalico/calico#5534", view(installation=spec(network={"bgp": None})), "calico.bgp"),
    (
        "tigera/operator#3276",
        view(served=None, status=degraded("ResourceNotReady", "Waiting for IPAMConfiguration watch to be established")),
        "calico.no-api",
    ),
    (
        "projectcalico/calico#8669",
        view(
            served={
                "status": {
                    "conditions": [
                        {
                            "type": "Available",
                            "status": "False",
                            "reason": "MissingEndpoints",
                            "message": "no endpoints",
                        }
                    ]
                }
            },
        ),
        "calico.no-api",
    ),
    ("Azure/AKS-Edge#43", view(ipam={"spec": {"strictAffinity": False}}), "calico.affinity"),
    ("kubernetes-sigs/kubespray#8583", view(ipam=None), "calico.affinity"),
    ("projectcalico/calico#4404", view(ipam={"spec": {"autoAllocateBlocks": True}}), "calico.affinity"),
    (
        "projectcalico/calico#7164",
        view(endpoint=None, operator="calico", elsewhere=("tigera-operator",)),
        "calico.no-endpoint",
    ),
    ("projectcalico/calico#13702", view(endpoint=None), "calico.no-endpoint"),
    ("tigera/operator#3113", view(endpoint={"data": {"KUBERNETES_SERVICE_HOST": "10.0.0.4"}}), "calico.no-endpoint"),
    ("projectcalico/calico#10692", view(felix={"spec": {"vxlanPort": 4799, "vxlanVNI": 4096}}), "calico.vxlan-port"),
    ("projectcalico/felix#1992", view(felix={"spec": {"vxlanVNI": 1}}), "calico.vni"),
    (
        "projectcalico/calico#11401",
        view(installation=spec(network={"windowsDataplane": None}), daemon_sets=()),
        "calico.disabled",
    ),
    (
        "projectcalico/calico#11109",
        view(installation=spec(cni={"type": "AmazonVPC", "ipam": {"type": "AmazonVPC"}})),
        "calico.other-cni",
    ),
    (
        "projectcalico/calico#6122",
        view(installation=spec(windowsNodes={"cniBinDir": "/k/cni", "cniConfigDir": "/k/cni/config"})),
        "calico.cni-folder",
    ),
    (
        "kubernetes-sigs/sig-windows-tools#310",
        view(pods=waiting("ImagePullBackOff", "Back-off pulling image", "install-cni", init=True)),
        "calico.waiting",
    ),
    (
        "kubernetes-sigs/sig-windows-tools#302",
        view(pods=waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container=felix")),
        "calico.waiting",
    ),
    ("projectcalico/calico#7594", view(installation=spec("v3.21.6"), kubernetes="1.20.15"), "calico.old"),
    ("projectcalico/calico#10536", view(installation=spec("v3.26.4"), kubernetes="1.28.2"), "calico.old"),
    (
        "kubernetes-sigs/sig-windows-tools#371",
        view(installation=None, operator="", endpoint=None),
        "calico.no-operator",
    ),
    (
        "projectcalico/calico#13702: an Installation without serviceCIDRs",
        view(installation=spec(serviceCIDRs=None)),
        "calico.service-cidrs",
    ),
    (
        "tigera/docs#1313",
        view(pods=waiting("CrashLoopBackOff", "back-off restarting failed container", "node")),
        "calico.waiting",
    ),
)


@pytest.mark.parametrize(("source", "cluster", "first"), CASES, ids=[case[0] for case in CASES])
def test_a_public_failure_is_told_with_what_to_do(source: str, cluster: View, first: str) -> None:
    found = problems(cluster, WANTED)
    assert found and found[0].id == first, (source, [each.sentence for each in found])
    assert found[0].sentence.endswith("."), found[0].sentence


HEALTHY: tuple[tuple[str, View], ...] = (
    ("kubernetes-sigs/sig-windows-tools#378", view(installation=spec(network={
        "hostPorts": "Enabled", "linuxDataplane": "Iptables", "multiInterfaceMode": "None",
        **pool(allowedUses=["Workload", "Tunnel"], disableBGPExport=False)}))),
    ("tigera/operator#3850", view(installation=spec(network={"mtu": 1350}))),
    ("Calico's own CRDs, without its API server", view(served={"metadata": {}, "spec": {}})),
    ("a pool of the user's own", view(
        installation=spec(network={"ipPools": None}),
        pools=({"metadata": {"name": "p"},
                "spec": {"cidr": "10.244.0.0/16", "ipipMode": "Never", "vxlanMode": "Always"}},))),
    ("an IPv6 pool beside it, for Linux", view(installation=spec(network={
        "ipPools": [POOL, {"cidr": "fd00::/48", "encapsulation": "None"}]}))),
    ("two IPv4 pools", view(installation=spec(network={
        "ipPools": [{**POOL, "cidr": "10.244.0.0/17"}, {**POOL, "cidr": "10.244.128.0/17"}]}))),
    ("Windows Server 2019 and 2025 beside 2022", view(
        nodes=(LINUX, windows("a", 20348), windows("b", 17763), windows("c", 26100)))),
    ("kubespray's, with its part for Windows", manifests()),
    ("folders with a drive", view(installation=spec(windowsNodes={"cniBinDir": "c:/opt/cni/bin"}))),
    ("pods that start", view(pods=waiting("PodInitializing", "", "felix"))),
    ("a load balancer's name", view(
        endpoint={"data": {"KUBERNETES_SERVICE_HOST": "api.example.com", "KUBERNETES_SERVICE_PORT": "6443"}})),
    ("an operator that was degraded once", view(
        status={"status": {"conditions": [{"type": "Degraded", "status": "False"}]}})),
    ("Helm in a namespace of its own", view(operator="calico")),
    ("computed by the operator", view(installation={**spec(network={"ipPools": None}), "status": {
        "calicoVersion": "v3.32.1", "computed": {"calicoNetwork": {"ipPools": [POOL]}}}})),
)  # fmt: skip


@pytest.mark.parametrize(("name", "cluster"), HEALTHY, ids=[case[0] for case in HEALTHY])
def test_of_a_healthy_cluster_nothing_is_said(name: str, cluster: View) -> None:
    assert [each.sentence for each in problems(cluster, WANTED)] == []


def test_the_figures() -> None:
    said = {"cases": len(CASES), "rules": len(RULES), "healthy": len(HEALTHY)}
    print(json.dumps(said))
    shown = {first for _source, _cluster, first in CASES}
    never = {rule.cause.id for rule in RULES} - shown
    assert never == {
        *("calico.endpoint-address", "calico.endpoint-name"),
        *("calico.kubernetes", "calico.windows-revision", "calico.no-linux", "calico.no-installation"),
        *("calico.pool", "calico.block-size", "calico.degraded", "calico.no-daemonset"),
        *("calico.routes", "calico.etcd", "calico.host-local", "calico.ebpf"),
        *("calico.no-windows", "calico.other-release"),
    }, "these are shown below"


@pytest.mark.parametrize(
    ("cluster", "wanted", "first"),
    [
        (view(kubernetes="1.37.0"), WANTED, "calico.kubernetes"),
        (view(kubernetes="1.21.0", installation=spec("")), WANTED, "calico.kubernetes"),
        (view(nodes=(LINUX, old_windows())), WANTED, "calico.windows-revision"),
        (view(endpoint=endpoint_at("10.96.0.1")), WANTED, "calico.endpoint-address"),
        (view(endpoint=endpoint_at("kubernetes.default.svc")), WANTED, "calico.endpoint-name"),
        (view(nodes=(windows("win1", 20348),)), WANTED, "calico.no-linux"),
        (view(installation=None, ipam=None), WANTED, "calico.no-installation"),
        (view(), Wanted(pods="10.42.0.0/16"), "calico.pool"),
        (view(installation=spec(network=pool(blockSize=30))), WANTED, "calico.block-size"),
        (view(status=degraded("ResourceReadError", "no secret typha-certs")), WANTED, "calico.degraded"),
        (view(daemon_sets=()), WANTED, "calico.no-daemonset"),
        (manifests(config=config(calico_backend="bird")), WANTED, "calico.routes"),
        (manifests(config=config(etcd_endpoints="https://10.0.0.1:2379")), WANTED, "calico.etcd"),
        (manifests(config=config(cni_network_config='{"ipam": {"type" : "host-local"}}')), WANTED, "calico.host-local"),
        (manifests(felix={"spec": {"bpfEnabled": True}}), WANTED, "calico.ebpf"),
        (view(felix={"spec": {"bpfEnabled": True}}), WANTED, "calico.ebpf"),
        (manifests(""), WANTED, "calico.no-windows"),
        (manifests("v3.30.1"), WANTED, "calico.other-release"),
        (manifests(ipam=None), WANTED, "calico.affinity"),
        (manifests(env=[{"name": "FELIX_VXLANVNI", "value": "1"}]), WANTED, "calico.vni"),
        (manifests(env=[{"name": "FELIX_VXLANPORT", "value": "8472"}]), WANTED, "calico.vxlan-port"),
    ],
)
def test_what_no_public_case_shows(cluster: View, wanted: Wanted, first: str) -> None:
    assert next((each.id for each in problems(cluster, wanted)), "") == first


def test_a_field_in_the_wrong_place_is_named() -> None:
    """As in opencenter's templates; the API server drops such a field silently where it prunes."""
    (found,) = problems(view(installation=spec(windowsDataplane="HNS", network={"windowsDataplane": None})), WANTED)[:1]
    assert "stands beside calicoNetwork, where nothing reads it" in found.text


def test_the_diagnosis_has_every_rule_and_the_page_names_the_releases() -> None:
    assert [check.id for check in CHECKS] == [rule.cause.id for rule in RULES]
    page = (ROOT / "docs" / "calico.md").read_text(encoding="utf-8")
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.calico import RELEASES

    for row in RELEASES:
        said = f"{row.kubernetes[0]} to {row.kubernetes[-1]}" if row.kubernetes else "not known here"
        assert f"| {row.calico} | {row.operator} | {said} |" in page
