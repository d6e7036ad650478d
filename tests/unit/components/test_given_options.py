"""What a task is told reaches the program's command line: the options of the modules, one at a time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from ansible_collections.winkube.node.plugins.plugin_utils.components import inbound, networks
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import component as flannel_component
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import flannel
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel.options import FlannelOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import component as host_component
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import (
    component as kube_proxy_component,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import component as kubelet_component
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.log_limit import LogLimitOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.networks import management
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import NO_TEXT, Secret
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import read_options

from . import test_cni_conf, test_source_vip
from .nodes import LAYOUT, Controller, wanted_kube_proxy
from .nodes import given as stage_given
from .windows_network import SWITCHED, adapter

NOWHERE = {"url": "https://example.com/x.exe", "checksum": f"sha256:{'a' * 64}", "proxy": ""}


def default(found: dict[str, Any]) -> Any:
    if "suboptions" in found and "default" not in found:
        return {name: default(each) for name, each in found["suboptions"].items()}
    return found.get("default")


def options(module: str, **given: Any) -> dict[str, Any]:
    """The module's defaults, except for what is given."""
    found = {name: default(each) for name, each in read_options(module).items()}
    nobody: dict[str, Any] = {"cluster": {"kubeconfig": "", "context": ""}, "source": NOWHERE, "nssm_source": NOWHERE}
    nobody["log_runner_source"] = NOWHERE | {"version": "1.37.1"}
    nobody["log"] = {"max_mb": 10, "keep_files": 10, "keep_days": 14}
    nobody["runner"] = "task"
    nobody["firewall"] = {"enabled": True, "sources": [], "health_check_sources": [], "node_port_range": "30000-32767"}
    return found | nobody | {"version": "1.29.15", "node_name": "win1"} | given


def given(rows: str, argument: str, **option: Any) -> ParameterSet:
    """The option makes this argument, which is missing without it; rows are separated by blanks."""
    mark = pytest.mark.row(*rows.split())
    return pytest.param(option, argument, marks=mark, id="-".join(option))


def resolved(wanted: dict[str, Any], reading: Reading) -> kubelet_args.Kubelet:
    return kubelet_args.Kubelet(kubelet_component.resolve(stage_given("kubelet", wanted, reading)), LAYOUT)


def kubelet(**more: Any) -> tuple[str, ...]:
    wanted = options("win_kubelet", join="kubeconfig", **more)
    return kubelet_args.arguments(resolved(wanted, SWITCHED))


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        given("KU-02", "--hostname-override=win7", node_name="win7"),
        given("KU-03", "--v=6", verbosity=6),
        given("KU-09", "--cluster-dns=10.0.0.10,10.0.0.11", cluster_dns=["10.0.0.10", "10.0.0.11"]),
        given("KU-10", "--cluster-domain=corp.local", cluster_domain="corp.local"),
        given("KU-18", "--windows-priorityclass=HIGH_PRIORITY_CLASS", priority_class="HIGH_PRIORITY_CLASS"),
        given("KU-19", "--system-reserved=memory=3Gi", system_reserved={"memory": "3Gi"}),
        given("KU-19", "--kube-reserved=cpu=200m", kube_reserved={"cpu": "200m"}),
        given("RS-07", "--system-reserved=cpu=750m,memory=2Gi", system_reserved={"cpu": "750m", "memory": "2Gi"}),
        given("KU-20", "--eviction-hard=memory.available<1Gi", eviction_hard={"memory.available": "1Gi"}),
        given("KU-20", "--eviction-soft=memory.available<2Gi", eviction_soft={"memory.available": "2Gi"}),
        given("KU-21", "--register-with-taints=gpu:NoExecute", taints=["gpu:NoExecute"]),
        given("KU-22 KU-30", "--feature-gates=WindowsHostNetwork=true", feature_gates={"WindowsHostNetwork": "true"}),
        given("KU-26", "--feature-gates=NodeLogQuery=false", feature_gates={"NodeLogQuery": "False"}),
        given("KU-32", "--max-pods=60", extra_arguments=["--max-pods=60"]),
    ],
)
def test_the_kubelets(option: dict[str, Any], argument: str) -> None:
    assert argument in kubelet(**option)
    assert argument not in kubelet()


@pytest.mark.row("KU-22")
def test_the_kubelets_gates_are_judged_by_the_containerd_that_is_wanted() -> None:
    wanted = options("win_kubelet", containerd_version="1.6.38")
    found = resolved(wanted, SWITCHED)
    assert str(found.containerd_version) == "1.6.38"


@pytest.mark.row("VC-10", "KU-13", "KU-17", "KU-24")
def test_a_kubelet_for_docker_is_told_so_and_nothing_of_a_pipe() -> None:
    docker = kubelet(version="1.23.17", container_runtime="dockershim")
    assert {"--network-plugin=cni", "--image-pull-progress-deadline=20m"} <= set(docker)
    assert not [word for word in docker if word.startswith("--container-runtime")]
    assert "--container-runtime=remote" in kubelet(version="1.23.17")


@pytest.mark.row("KU-04")
@pytest.mark.parametrize(
    ("version", "wanted"), [("1.26.15", "--pod-infra-container-image=own/pause:1"), ("1.27.16", "")]
)
def test_the_pause_image_is_told_up_to_1_26(version: str, wanted: str) -> None:
    found = kubelet(version=version, pause_image="own/pause:1")
    assert [word for word in found if "pause" in word] == ([wanted] if wanted else [])


def proxy(**more: Any) -> tuple[tuple[str, ...], Any]:
    """kube-proxy's arguments, and the other settings of its service."""
    wanted = options("win_kube_proxy", **more)
    wanted["service"] |= {"manager": "sc"}
    reading = test_source_vip.node("10.244.3.2")
    args = kube_proxy_component.arguments(stage_given("kube-proxy", wanted, reading))
    return kube_proxy_args.arguments(args.wanted), args


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        given("KP-07", "--hostname-override=win7", node_name="win7"),
        given("KP-08", "--v=4", verbosity=4),
        given("KP-09 KP-15 NW-20", "--enable-dsr=true", dsr=True),
        given("KP-15", "--feature-gates=WinDSR=true", dsr=True),
        given("KP-11", "--feature-gates=WinOverlay=true", network_mode="overlay"),
        given("KP-12", "--network-name=flannel.4096", network_mode="overlay", network_name="flannel.4096"),
        given("KP-14", "--cluster-cidr=10.42.0.0/16", cluster_cidr="10.42.0.0/16"),
        given("KP-11 KP-15", "--feature-gates=NodeLogQuery=true", feature_gates={"NodeLogQuery": True}),
    ],
)
def test_kube_proxys(option: dict[str, Any], argument: str) -> None:
    assert argument in proxy(**option)[0]
    assert argument not in proxy()[0]


@pytest.mark.row("KP-04")
def test_kube_proxy_depends_on_what_the_task_says_and_on_nothing_else() -> None:
    assert proxy()[1].service.options.depends_on == ()
    service = options("win_kube_proxy")["service"] | {"depends_on": ["kubelet"]}
    assert proxy(service=service)[1].service.options.depends_on == ("kubelet",)


@pytest.mark.row("KP-13")
def test_the_source_vip_is_the_one_that_host_local_keeps_and_the_range_is_the_nodes() -> None:
    kept = json.dumps({"ip4": {"ip": "10.244.3.7/24"}}).encode()
    reading = test_source_vip.node("10.244.3.7", kept=kept)
    wanted = options("win_kube_proxy", network_mode="overlay")
    wanted["service"] |= {"manager": "sc"}
    found = kube_proxy_component.arguments(stage_given("kube-proxy", wanted, reading)).wanted
    assert (found.source_vip, found.pod_cidr) == ("10.244.3.7", "10.244.3.0/24")


def conf(**more: Any) -> Any:
    """cni.conf from win_flannel's own template."""
    wanted = options("win_flannel", **more)
    node = management(SWITCHED, interface_name="Ethernet", address="")
    made = flannel_component.conf(stage_given("flannel", wanted, SWITCHED, Controller(test_cni_conf.rendered)), node)
    found = json.loads(made)
    values = {policy["Value"]["Type"]: policy["Value"]["Settings"] for policy in found["delegate"]["policies"][:2]}
    return {
        "name": found["name"],
        "version": found["cniVersion"],
        "delegate": found["delegate"]["type"],
        "dns": found["delegate"]["dns"],
        "exceptions": values["OutBoundNAT"]["Exceptions"],
        "route": values["SDNRoute"]["DestinationPrefix"],
    }


PLAIN = {
    "name": "cbr0",
    "version": "1.0.0",
    "delegate": "win-bridge",
    "dns": {"Nameservers": ["10.96.0.10"], "Search": ["svc.cluster.local"]},
    "exceptions": ["10.244.0.0/16", "10.96.0.0/12", "10.127.130.0/24"],
    "route": "10.96.0.0/12",
}
SERVICES = {"service_cidr": "10.64.0.0/12", "dns_service_ip": "10.64.0.10"}


def made(rows: str, option: dict[str, Any], **changed: Any) -> ParameterSet:
    """The options change these parts of cni.conf and no others."""
    return pytest.param(option, changed, marks=pytest.mark.row(*rows.split()), id="-".join(option) or "defaults")


@pytest.mark.parametrize(
    ("option", "changed"),
    [
        made("NW-01 NW-07 NW-13 NW-26 NW-32 NW-33 NW-34", {}),
        made(
            "NW-01 NW-08 NW-13 NW-26",
            {"network_mode": "overlay"},
            name="vxlan0",
            delegate="win-overlay",
            exceptions=["10.244.0.0/16", "10.96.0.0/12"],
        ),
        made("NW-14", {"cni_version": "0.3.0"}, version="0.3.0"),
        made("NW-14", {"plugins_version": "0.8.7"}, version="0.2.0"),
        made("NW-33", {"cluster_domain": "corp"}, dns={"Nameservers": ["10.96.0.10"], "Search": ["svc.corp"]}),
        made(
            "NW-26 NW-32 NW-33",
            SERVICES,
            dns={"Nameservers": ["10.64.0.10"], "Search": ["svc.cluster.local"]},
            exceptions=["10.244.0.0/16", "10.64.0.0/12", "10.127.130.0/24"],
            route="10.64.0.0/12",
        ),
        made(
            "NW-26",
            {"cluster_cidr": "10.42.0.0/16"},
            exceptions=["10.42.0.0/16", "10.96.0.0/12", "10.127.130.0/24"],
        ),
        made(
            "NW-28",
            {"exception_list": ["192.168.7.0/24"]},
            exceptions=["10.244.0.0/16", "10.96.0.0/12", "10.127.130.0/24", "192.168.7.0/24"],
        ),
    ],
)
def test_cni_confs(option: dict[str, Any], changed: dict[str, Any]) -> None:
    assert conf(**option) == PLAIN | changed


@pytest.mark.row("NW-25", "NW-35")
@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"dns_service_ip": "10.0.0.10"}, "10.0.0.10 does not lie in winkube_service_cidr 10.96.0.0/12"),
        ({"cluster_cidr": "10.127.0.0/16"}, "and the subnet of the node's own address 10.127.130.0/24 overlap"),
        (
            {"service_cidr": "10.244.0.0/16", "dns_service_ip": "10.244.0.10"},
            "winkube_service_cidr 10.244.0.0/16 overlap",
        ),
        ({"cluster_cidr": "10.244.0.0/16,fd00::/56", "network_mode": "overlay"}, "has two families"),
    ],
)
def test_the_clusters_ranges(option: dict[str, Any], sentence: str) -> None:
    node = management(SWITCHED, interface_name="Ethernet", address="")
    assert flannel.range_problems(read(FlannelOptions, options("win_flannel")), node) == ()
    (found,) = flannel.range_problems(read(FlannelOptions, options("win_flannel", **option)), node)
    assert sentence in found


def made_by_flannel(found: Reading, said: list[str], **more: Any) -> tuple[Resource, ...]:
    """What win_flannel makes without access to the cluster; `said` gets its warnings."""
    wanted = options("win_flannel", **more)
    return flannel_component.build_resources(stage_given("flannel", wanted, found, Controller(said=said)))


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        pytest.param({"network_mode": "nat"}, "flannel has no backend for nat", marks=pytest.mark.row("NW-02")),
        pytest.param({"network_mode": "overlay"}, "on Windows Server, version 1803", marks=pytest.mark.row("NW-12")),
        pytest.param({"node_name": "WIN1"}, "'WIN1' cannot be the name of a Node", marks=pytest.mark.row("FL-03")),
        pytest.param({}, r"C:\k\cni\host-local.exe is missing on the node", marks=pytest.mark.row("NW-31")),
    ],
)
def test_flannels_that_are_refused(option: dict[str, Any], sentence: str) -> None:
    old = SWITCHED.merge({"system": {**SWITCHED.parts.get("system", {}), "os": {"build": 17134}}})
    with pytest.raises(Refused) as refused:
        made_by_flannel(old, [], **option)
    assert any(sentence in each for each in refused.value.sentences)


@pytest.mark.row("NW-16")
def test_an_old_flannel_is_warned_of() -> None:
    said: list[str] = []
    with pytest.raises(Refused, match="is missing on the node"):
        made_by_flannel(SWITCHED, said, version="0.11.0")
    (sentence,) = said
    assert "flannel 0.11.0: with vxlan a node cannot reach its own pods; 0.12.0 and later can" in sentence


@pytest.mark.row("FL-15")
def test_a_network_of_the_clusters_own_has_no_flanneld() -> None:
    service = {"name": "flanneld", "state": "running", "image_path": LAYOUT.flanneld_binary}
    ours = SWITCHED.merge({"service:flanneld": service})
    made = make_plan("flannel", made_by_flannel(ours, [], managed_by="cluster"), ours)
    assert [step.text for step in made.steps] == ["remove the service flanneld"]
    assert not make_plan("flannel", made_by_flannel(SWITCHED, [], managed_by="cluster"), SWITCHED).changed
    theirs = SWITCHED.merge({"service:flanneld": service | {"image_path": r"C:\other.exe"}})
    with pytest.raises(Refused, match="The service flanneld runs on this node, but winkube_cni_managed_by is cluster"):
        made_by_flannel(theirs, [], managed_by="cluster")


@pytest.mark.row("NW-28")
def test_targets_outside_that_an_exception_covers_are_warned_of() -> None:
    controller = Controller(test_cni_conf.rendered)
    node = management(SWITCHED, interface_name="Ethernet", address="")
    wanted = options("win_flannel", exception_list=["192.168.7.0/24"], external_targets=["192.168.7.9", "8.8.8.8"])
    flannel_component.conf(stage_given("flannel", wanted, SWITCHED, controller), node)
    (sentence,) = controller.said
    assert "the exceptions cover 192.168.7.9" in sentence


@pytest.mark.row("HP-03", "HP-05", "HP-07", "HP-08", "HP-13")
def test_the_machines() -> None:
    wanted = options(
        "win_k8s_host",
        kubernetes_version="1.35.1",
        computer_name="win7",
        page_file_min_mb=4096,
        log={"max_mb": 5, "keep_files": 7, "keep_days": 3},
        proxy={"http": "http://p:80/", "https": "http://p:443/", "no_proxy": ["git.example.com"]},
        network={
            "mode": "overlay",
            "interface_name": "Ethernet 2",
            "address": "10.0.0.5",
            "cluster_cidr": "10.244.0.0/16, fd00::/56",
            "service_cidr": "10.96.0.0/12",
            "domain": "cluster.local",
        },
    )
    found = host_component.find_wanted(stage_given("host", wanted, SWITCHED))
    assert found.options.log == LogLimitOptions(max_mb=5, keep_files=7, keep_days=3) and found.limits
    assert r"C:\k\kubelet.log" in found.logs and r"C:\k\kube-proxy.log" in found.logs
    image = host_component.find_wanted(stage_given("host", wanted | {"golden_image": True}, SWITCHED))
    assert (found.options.computer_name, image.options.computer_name) == ("win7", "")
    assert (found.options.proxy.http, image.options.proxy.http) == (Secret("http://p:80/"), NO_TEXT)
    assert not host_component.find_wanted(stage_given("host", wanted | {"runner": "inline"}, SWITCHED)).limits
    with pytest.raises(Refused, match="keep_files -1"):
        _ = host_component.find_wanted(
            stage_given("host", wanted | {"log": {"max_mb": 5, "keep_files": -1, "keep_days": 3}}, SWITCHED)
        ).limits


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, ["--node-ip=10.127.130.14"]),
        ({"node_ip": "10.7.0.99"}, ["--node-ip=10.7.0.99"]),
        ({"node_ip": "10.7.0.99", "golden_image": True}, []),
    ],
)
def test_the_kubelet_is_told_the_nodes_address_but_in_an_image(more: dict[str, Any], found: list[str]) -> None:
    assert [one for one in kubelet(**more) if one.startswith("--node-ip")] == found


TWO = "10.244.0.0/16,fd00:10:244::/56"
SIX = adapter(
    "vEthernet (Ethernet)", ipv6=[{"address": "fd00:7::25", "prefix": 64}, {"address": "fe80::1", "prefix": 64}]
)
TWO_FAMILIES = SWITCHED.merge({"adapters": [adapter("Ethernet") | {"ipv4": []}, SIX]})


def told(reading: Reading, cluster: str, **more: Any) -> tuple[str, ...]:
    wanted = options("win_kubelet", join="kubeconfig", cluster_cidr=cluster, **more)
    return tuple(one for one in kubelet_args.arguments(resolved(wanted, reading)) if one.startswith("--node-ip"))


def test_a_kubelet_reports_an_address_of_each_family_that_pods_have() -> None:
    assert told(TWO_FAMILIES, TWO) == ("--node-ip=10.127.130.14,fd00:7::25",)
    assert told(TWO_FAMILIES, ",".join(reversed(TWO.split(",")))) == ("--node-ip=fd00:7::25,10.127.130.14",)
    assert told(TWO_FAMILIES, "10.244.0.0/16") == ("--node-ip=10.127.130.14",)
    assert told(SWITCHED, TWO, node_ip="10.7.0.9,fd00::9") == ("--node-ip=10.7.0.9,fd00::9",)
    with pytest.raises(Refused, match=r"winkube_kubelet_node_ip: 10\.7\.0\.9 is one address, and winkube_cluster_cidr"):
        told(TWO_FAMILIES, TWO, node_ip="10.7.0.9")
    with pytest.raises(Refused, match=r"has no IPv6 address; name .* such as 10.127.130.14,fd00::5"):
        told(SWITCHED, TWO)
    several = SIX | {"ipv6": [{"address": f"fd00:7::{last}", "prefix": 64} for last in (25, 26)]}
    with pytest.raises(Refused, match=r"has several IPv6 addresses \(fd00:7::25, fd00:7::26\)"):
        told(SWITCHED.merge({"adapters": [several]}), TWO)


def test_the_firewall_knows_the_nodes_own_network_of_each_family() -> None:
    own = networks.management(TWO_FAMILIES, interface_name="Ethernet", address="")
    found = inbound.scope((), own, TWO, ("10.127.130.9", "fd00:7::9"))
    assert [str(one) for one in found] == [*TWO.split(","), "10.127.130.0/24", "fd00:7::/64"]
    assert inbound.scope((), own, TWO, ("fd00:8::9",)) == (), "everybody: a node lies outside of them"
    assert "fd00:7::/64" not in [str(one) for one in inbound.scope((), own, "10.244.0.0/16", ())]
    rule = inbound.kubelet(found)
    batch = make_plan("kubelet", (rule,), Reading().merge({next(iter(rule.reads())).key: {"exists": False}})).batch
    assert batch is not None
    (op,) = batch.ops
    assert op.args["args"][-1] == "remoteip=10.244.0.0/16,fd00:10:244::/56,10.127.130.0/24,fd00:7::/64"


def test_kube_proxy_is_told_both_of_the_clusters_ranges() -> None:
    settings = wanted_kube_proxy(cluster_cidr=TWO)
    line = kube_proxy_args.arguments(settings)
    assert f"--cluster-cidr={TWO}" in line
    names = [entry.name for entry in kube_proxy_args.environment(settings)]
    assert kube_proxy_args.check_command_line(line, settings.version, names) == []
