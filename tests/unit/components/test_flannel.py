"""From the arguments of win_flannel and a reading to one batch; what the cluster says against it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import ConfigMap
from ansible_collections.winkube.node.plugins.plugin_utils.components import networks
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import (
    flannel,
    flannel_conf,
    in_cluster,
    virtual_switch,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel.in_cluster import Answers
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel.options import FlannelOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, service_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from tests.unit.cluster.fake import Fake

from .nodes import LAYOUT, bare, file, lines, running
from .windows_network import CBR0, EXTERNAL, SWITCHED, adapter, reading

MARK = "0123456789abcdef0123456789abcdef"
SOURCE = Source("https://example.com/flanneld.exe", "a" * 64, "0.28.0")
CONF = '{"name": "cbr0"}'
NET_CONF = r"C:\etc\kube-flannel\net-conf.json"
NOTHING: Mapping[str, Any] = {}
SUBNET_ENV = r"C:\run\flannel\subnet.env"
SUBNET = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.4.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"


def args(
    found: Reading = SWITCHED, mode: str = "l2bridge", options: Mapping[str, Any] = NOTHING, **more: Any
) -> flannel.Flanneld:
    management = networks.management(found, interface_name="Ethernet", address="")
    given: dict[str, Any] = {
        "options": read(FlannelOptions, {"node_name": "win1", "network_mode": mode, **options}),
        "layout": LAYOUT,
        "source": SOURCE,
        "management": management,
        "conf": CONF,
        "switch": (virtual_switch.network(mode, management, found),),
        "mark": MARK,
    }
    return flannel.Flanneld(**(given | more))


def plan(found: Reading = SWITCHED, **more: Any) -> Plan:
    return make_plan(flannel.NAME, flannel.build_resources(args(found, **more)), found)


def converged(**more: Any) -> Reading:
    """A node after the batch, with the files and the network that flanneld makes."""
    done = plan(**more).predicted
    parts = {
        file_key(LAYOUT.flanneld_binary): file(b"flanneld") | {"sha256": "a" * 64},
        file_key(SUBNET_ENV): file(SUBNET.encode()),
        "hns": {"available": True, "networks": json.dumps({"Success": True, "Output": [EXTERNAL, CBR0]})},
    }
    return done.merge(parts, predicted=False)


def service(found: Reading | None = None) -> dict[str, Any]:
    return dict((found or plan().predicted).service("flanneld") or {})


def waits(ops: tuple[Op, ...]) -> list[dict[str, Any]]:
    return [dict(op.args) for op in ops if op.op == "wait"]


# -- the batch ---------------------------------------------------------------------------------------------------------


@pytest.mark.row("FL-01", "FL-02", "FL-04", "FL-05", "FL-06", "FL-07", "NW-10")
def test_flanneld_runs_before_cni_conf_is_written() -> None:
    made = plan(service=running(start_timeout=180)).batch
    assert made is not None
    found = [line for line in lines(made.ops) if not line.startswith(("mkdir", "run nssm.exe set"))]
    staging = r"C:\ProgramData\winkube\staging\flanneld-01234567"
    assert found == [
        rf"fetch {staging}\flanneld.exe",
        rf"move {staging}\flanneld.exe -> C:\flannel\flanneld.exe",
        rf"write {NET_CONF}",
        r"run nssm.exe install flanneld C:\flannel\flanneld.exe",
        r"registry_set HKLM\SYSTEM\CurrentControlSet\Services\flanneld\Parameters",
        "run sc.exe start flanneld",
        "wait service flanneld running",
        r"record C:\ProgramData\winkube\receipts\flanneld.json",
        rf"remove {staging}",
        rf"wait file {SUBNET_ENV}",
        "wait hns_network cbr0",
        "wait service flanneld running",
        r"write C:\k\cni\config\cni.conf",
    ]
    gate = [{"for": "file", "path": SUBNET_ENV, "timeout_s": 180}]
    gate.append({"for": "hns_network", "name": "cbr0", "management_ip": True, "timeout_s": 180})
    gate.append({"for": "service", "name": "flanneld", "state": "running", "timeout_s": 180, "stable_s": 3})
    assert waits(made.gate) == [{**each, "log": r"C:\k\flanneld.log"} for each in gate]
    assert service()["nssm"]["AppDirectory"] == r"C:\flannel"


@pytest.mark.row("NW-08")
def test_overlay_waits_for_its_own_network() -> None:
    found = reading(adapters=[adapter("vEthernet (Ethernet)")], networks=[EXTERNAL | {"Type": "Overlay"}])
    made = plan(found, mode="overlay").batch
    assert made is not None
    assert [each["name"] for each in waits(made.gate) if each["for"] == "hns_network"] == ["vxlan0"]


@pytest.mark.row("FL-02", "FL-16")
def test_the_documents_arguments_in_their_order() -> None:
    line = service()["nssm"]["AppParameters"]
    assert command_line.split(f"x {line}")[1:] == [
        r"--kubeconfig-file=C:\flannel\flanneld.kubeconfig",
        "--iface=10.127.130.14",
        "--ip-masq=1",
        "--kube-subnet-mgr=1",
    ]


@pytest.mark.row("FL-02", "FL-07")
def test_what_is_not_where_flanneld_looks_is_told_to_it() -> None:
    layout = replace(LAYOUT, flannel_run_dir=r"D:\run\flannel")
    found = flannel.arguments(args(layout=layout, options={"net_conf": r"C:\flannel\net-conf.json"}))
    assert found[4:] == (r"--net-config-path=C:\flannel\net-conf.json", r"--subnet-file=D:\run\flannel\subnet.env")
    same = flannel.arguments(args(options={"net_conf": "c:/etc/kube-flannel/net-conf.json"}))
    assert len(same) == 4


@pytest.mark.row("FL-03")
def test_flanneld_gets_the_name_of_its_node() -> None:
    made = plan().batch
    assert made is not None
    variables = next(op for op in made.ops if op.op == "registry_set")
    assert (variables.args["name"], variables.args["value"]) == ("AppEnvironmentExtra", [Secret("NODE_NAME=win1")])


@pytest.mark.row("FL-03")
@pytest.mark.parametrize("name", ["", "WIN1"])
def test_a_name_that_no_node_has_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=f"winkube_node_name: '{name}' cannot be the name of a Node"):
        flannel.check(release=Version.parse("0.28.0"), node_name=name, warn=lambda text: None)


@pytest.mark.row("FL-12", "FL-01")
def test_flanneld_cannot_be_a_service_by_itself() -> None:
    with pytest.raises(Refused) as refused:
        plan(service=running("sc"))
    (sentence,) = refused.value.sentences
    assert "flanneld cannot run under the service manager 'sc', only under nssm" in sentence
    assert "does not speak to the service control manager: under sc.exe it would be killed after 30 seconds" in sentence


@pytest.mark.row("FL-01", "FL-08")
def test_a_converged_node_gets_nothing() -> None:
    found = plan(converged())
    assert found.batch is None, found.steps


@pytest.mark.row("NW-29")
def test_a_new_cni_conf_restarts_nothing_and_says_for_whom_it_is() -> None:
    found = plan(converged(), conf='{"name": "cbr0", "x": 1}')
    assert found.batch is not None
    assert not [line for line in lines(found.batch.ops) if line.startswith("run")]
    assert lines(found.batch.ops)[-1] == r"write C:\k\cni\config\cni.conf"
    (step,) = found.steps
    assert step.text == r"rewrite C:\k\cni\config\cni.conf (for new pods; existing pods keep the old policy)"
    assert converged().text(r"C:\k\cni\config\cni.conf") == CONF
    assert "existing pods" not in "".join(step.text for step in plan().steps)


def test_a_new_net_conf_restarts_flanneld() -> None:
    found = plan(converged(), options={"cluster_cidr": "10.0.0.0/9"})
    assert found.batch is not None
    steps = [line for line in lines(found.batch.ops) if not line.startswith(("mkdir", "wait"))]
    assert steps == [
        "run sc.exe stop flanneld",
        rf"write {NET_CONF}",
        rf"remove {SUBNET_ENV}",
        "run sc.exe start flanneld",
    ]


@pytest.mark.row("FL-07")
def test_a_missing_subnet_env_restarts_flanneld() -> None:
    found = plan(converged().merge({file_key(SUBNET_ENV): {"exists": False}}))
    assert found.batch is not None
    assert [line for line in lines(found.batch.ops) if line.startswith("run")] == [
        "run sc.exe stop flanneld",
        "run sc.exe start flanneld",
    ]


def test_the_documents_service_is_adopted_without_a_restart() -> None:
    """The service as register-svc.ps1 leaves it, except for the settings that the script does not make."""
    node = converged()
    layout = replace(LAYOUT, flanneld_kubeconfig=r"c:\k\config")
    by_hand = service(node)
    by_hand["nssm"] = by_hand["nssm"] | {
        "AppParameters": r"--kubeconfig-file=c:\k\config --iface=10.127.130.14 --ip-masq=1 --kube-subnet-mgr=1"
    }
    node = node.merge({service_key("flanneld"): by_hand})
    assert plan(node, layout=layout).batch is None


# -- what other roles bring --------------------------------------------------------------------------------------------


@pytest.mark.row("NW-31", "NW-03")
def test_plugins_and_kubeconfig_have_to_be_there() -> None:
    with pytest.raises(Refused) as refused:
        flannel.prerequisites(LAYOUT, SWITCHED)
    assert [sentence.split(" is missing")[0] for sentence in refused.value.sentences] == [
        r"C:\k\cni\flannel.exe",
        r"C:\k\cni\host-local.exe",
        r"C:\k\cni\win-bridge.exe",
        r"C:\k\cni\win-overlay.exe",
        r"C:\flannel\flanneld.kubeconfig",
    ]
    flannel.prerequisites(LAYOUT, replace(SWITCHED, predicted=True))


def test_one_read_plan_is_enough() -> None:
    assert SWITCHED.find_missing(query for each in flannel.build_resources(args()) for query in each.reads()) == ()


@pytest.mark.row("NW-16")
def test_an_old_flannel_is_a_warning() -> None:
    said: list[str] = []
    for version in ("0.11.0", "0.12.0"):
        flannel.check(release=Version.parse(version), node_name="win1", warn=said.append)
    assert [sentence.split(":")[0] for sentence in said] == ["flannel 0.11.0"]


# -- modes, net-conf.json ----------------------------------------------------------------------------------------------


@pytest.mark.row("NW-01", "NW-07", "NW-08", "NW-15")
def test_net_conf_by_mode() -> None:
    assert json.loads(flannel_conf.net_conf("l2bridge", "10.244.0.0/16", "cbr0")) == {
        "Network": "10.244.0.0/16",
        "Backend": {"Type": "host-gw"},
    }
    assert json.loads(flannel_conf.net_conf("overlay", "10.244.0.0/16", "vxlan0")) == {
        "Network": "10.244.0.0/16",
        "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789, "Name": "vxlan0"},
    }
    written = next(op for op in (plan().batch or pytest.fail()).ops if op.args.get("path") == NET_CONF)
    assert json.loads(base64.b64decode(written.args["content"])) == json.loads(
        flannel_conf.net_conf("l2bridge", "10.244.0.0/16", "cbr0")
    )


@pytest.mark.row("NW-02")
@pytest.mark.parametrize(
    ("mode", "why"), [("l2tunnel", "Azure's own"), ("transparent", "ovn-kubernetes"), ("nat", "not used by Kubernetes")]
)
def test_other_modes_are_refused_with_a_reason(mode: str, why: str) -> None:
    with pytest.raises(
        Refused, match=f"flannel has no backend for {mode}, .*{why}.* set winkube_cni_managed_by: cluster"
    ):
        flannel_conf.check_mode(mode, 20348)
    with pytest.raises(Refused, match="'bridge' is not one of l2bridge, overlay, calico, l2tunnel, transparent, nat"):
        flannel_conf.check_mode("bridge", 20348)


@pytest.mark.row("NW-12")
def test_overlay_on_1803_is_refused() -> None:
    with pytest.raises(Refused, match=r"version 1803 \(build 17134\) service addresses do not work"):
        flannel_conf.check_mode("overlay", 17134)
    flannel_conf.check_mode("l2bridge", 17134)
    flannel_conf.check_mode("overlay", 17763)


# -- the cluster -------------------------------------------------------------------------------------------------------

VXLAN = {"Type": "vxlan", "VNI": 4096, "Port": 4789}
WHERE = "kube-flannel/kube-flannel-cfg"


def compared(backend: dict[str, Any], mode: str = "overlay", network: str = "10.244.0.0/16") -> tuple[str, ...]:
    found = ConfigMap({"net-conf.json": json.dumps({"Network": network, "Backend": backend})})
    conf = flannel_conf.cluster_net_conf(found, WHERE)
    return flannel_conf.cluster_problems(conf, mode, "10.244.0.0/16", WHERE)


@pytest.mark.row("NW-03", "NW-15", "FL-14")
def test_a_cluster_that_fits() -> None:
    assert compared(VXLAN) == ()
    assert compared({"Type": "host-gw"}, "l2bridge") == ()


@pytest.mark.row("NW-03", "FL-14")
@pytest.mark.parametrize(
    ("backend", "mode", "sentence"),
    [
        (
            {"Type": "host-gw"},
            "overlay",
            "uses the backend host-gw, winkube_network_mode overlay needs vxlan; take winkube_network_mode l2bridge.",
        ),
        (VXLAN, "l2bridge", "take winkube_network_mode overlay."),
        ({"Type": "wireguard"}, "l2bridge", "it has to be changed there."),
        ({}, "l2bridge", "uses the backend udp"),
    ],
)
def test_another_backend_is_refused(backend: dict[str, Any], mode: str, sentence: str) -> None:
    (found,) = compared(backend, mode)
    assert found.startswith(f"{WHERE}: ")
    assert sentence in found


@pytest.mark.row("NW-15")
@pytest.mark.parametrize(
    ("backend", "sentences"),
    [
        (VXLAN | {"VNI": 1}, ["has VNI 1, Windows nodes need 4096"]),
        (VXLAN | {"Port": 8472}, ["has Port 8472, Windows nodes need 4789"]),
        ({"Type": "vxlan"}, ["has VNI 1 (its default)", "has Port 8472 (its default)"]),
        (VXLAN | {"DirectRouting": True}, ['has "DirectRouting": true']),
        (VXLAN | {"GBP": True}, ['has "GBP": true']),
    ],
)
def test_vni_and_port_are_those_of_windows(backend: dict[str, Any], sentences: list[str]) -> None:
    found = compared(backend)
    assert len(found) == len(sentences)
    assert all(part in sentence for part, sentence in zip(sentences, found, strict=True))


def linux(name: str, kind: str | None, data: str = "null", system: str = "linux") -> dict[str, Any]:
    notes = {"flannel.alpha.coreos.com/backend-type": kind, "flannel.alpha.coreos.com/backend-data": data}
    metadata = {"name": name, "labels": {"kubernetes.io/os": system}, "annotations": notes if kind else {}}
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("nodes", "mode", "sentences"),
    [
        ([linux("a", "vxlan", '{"VNI":1,"VtepMAC":"0e:2a"}')], "overlay", ["Node a: its flannel has VNI 1, Windows"]),
        ([linux("a", "vxlan", '{"VNI":1}'), linux("b", "vxlan", '{"VNI":1}')], "overlay", ["Node a: "]),
        ([linux("a", "vxlan", '{"VNI":4096}')], "overlay", []),
        (
            [linux("a", "vxlan", '{"VNI":1}')],
            "l2bridge",
            ["vxlan, winkube_network_mode l2bridge needs host-gw"],
        ),
        ([linux("a", "host-gw")], "overlay", ["Node a: its flannel uses the backend host-gw"]),
        ([linux("a", "host-gw")], "l2bridge", []),
        ([linux("a", "vxlan", "no JSON"), linux("b", "vxlan", '{"VNI":"1"}'), linux("c", None)], "overlay", []),
        ([linux("win1", "vxlan", '{"VNI":1}', "windows")], "overlay", []),
    ],
)
def test_without_a_config_map_the_nodes_tell_the_backend(
    nodes: list[dict[str, Any]], mode: str, sentences: list[str]
) -> None:
    """As with k3s, whose flannel has no ConfigMap."""
    found = flannel_conf.node_problems(nodes, mode)
    assert len(found) == len(sentences)
    assert all(part in sentence for part, sentence in zip(sentences, found, strict=True))


@pytest.mark.parametrize(
    ("args", "version", "mode", "said"),
    [
        (
            '["server","--flannel-conf","/etc/k3s/f.json"]',
            "v1.37.1+k3s1",
            "overlay",
            "Node n runs v1.37.1+k3s1, whose flannel tells its VNI, and nothing in the cluster its port. Windows nodes "
            'need 4789: where /etc/k3s/f.json (--flannel-conf) on each Linux node has no "Port": 4789, it is 8472',
        ),
        ("[", "v1.37.1+k3s1", "overlay", "where its net-conf.json on each Linux node has no"),
        ('{"a": 1}', "v1.37.1+k3s1", "overlay", "where its net-conf.json on each Linux node has no"),
        ('["server","--flannel-conf"]', "v1.37.1+k3s1", "overlay", "where its net-conf.json on each Linux node has no"),
        ('["server"]', "v1.37.1", "overlay", "Node n: its flannel tells its VNI, and nothing in the cluster its port."),
        ('["server"]', "v1.37.1+k3s1", "l2bridge", ""),
    ],
)
def test_a_port_that_nothing_in_the_cluster_tells_is_named_with_the_file_that_has_it(
    args: str, version: str, mode: str, said: str
) -> None:
    notes = {
        "flannel.alpha.coreos.com/backend-type": "vxlan",
        "flannel.alpha.coreos.com/backend-data": '{"VNI": 4096}',
        "k3s.io/node-args": args,
    }
    linux = {"name": "n", "labels": {"kubernetes.io/os": "linux"}, "annotations": notes}
    nodes = [{"metadata": linux, "status": {"nodeInfo": {"kubeletVersion": version}}}]
    found = flannel_conf.unseen_port(nodes, mode)
    assert said in found and bool(said) == bool(found)
    assert flannel_conf.unseen_port([], mode) == ""


@pytest.mark.parametrize(
    ("backend", "sentences"),
    [
        (VXLAN | {"VNI": 4100}, []),
        ({"Type": "vxlan"}, ["has VNI 1 (its default)", "has Port 8472 (its default)"]),
        ({"Type": "host-gw"}, []),
    ],
)
def test_a_flannel_that_the_cluster_runs_on_windows_has_to_start_there(
    backend: dict[str, Any], sentences: list[str]
) -> None:
    config_map = ConfigMap({"net-conf.json": json.dumps({"Network": "10.244.0.0/16", "Backend": backend})})

    def problems(system: str) -> tuple[str, ...]:
        spec = {"template": {"spec": {"nodeSelector": {"kubernetes.io/os": system}}}}
        daemon_set = {"metadata": {"namespace": "kube-flannel", "name": "kube-flannel-ds"}, "spec": spec}
        return Answers("", None, [daemon_set], config_map, WHERE).backend_problems()

    assert all(part in sentence for part, sentence in zip(sentences, problems("windows"), strict=True))
    assert problems("linux") == ()


@pytest.mark.row("FL-14")
def test_another_network_and_a_map_that_cannot_be_read() -> None:
    (found,) = compared(VXLAN, network="10.0.0.0/16")
    assert "has the Network 10.0.0.0/16, winkube_cluster_cidr is 10.244.0.0/16" in found
    for data, why in (
        ({}, r"has no net-conf\.json\."),
        ({"net-conf.json": "{"}, r"can be read: it is not JSON: .* \(line 1, column 2\)\."),
        ({"net-conf.json": "[]"}, r"can be read: net-conf\.json is a list of 0, expected an object\."),
        ({"net-conf.json": '{"Backend": "vxlan"}'}, r"net-conf\.json\.Backend is 'vxlan', expected an object\."),
        (
            {"net-conf.json": '{"Backend": {"VNI": "1"}}'},
            r"net-conf\.json\.Backend\.VNI is '1', expected a whole",
        ),
    ):
        with pytest.raises(Refused, match=why):
            flannel_conf.cluster_net_conf(ConfigMap(data), WHERE)


@pytest.mark.row("FL-14", "NW-03", "NW-15")
@pytest.mark.parametrize("namespace", ["kube-flannel", "kube-system"])
def test_the_config_map_is_compared_wherever_flannels_manifest_put_it(namespace: str) -> None:
    cluster = Fake()
    cluster.add_node("win1")["spec"] = {"podCIDR": "10.244.4.0/24"}
    data = {"net-conf.json": json.dumps({"Network": "10.244.0.0/16", "Backend": {"Type": "host-gw"}})}
    cluster.objects[f"/api/v1/namespaces/{namespace}/configmaps/kube-flannel-cfg"] = {"data": data}
    answers = Answers.of(cluster.cluster, cluster.cluster, "win1", ours=True, waits=False)
    assert answers.where == f"{namespace}/kube-flannel-cfg"
    options = read(FlannelOptions, {"node_name": "win1", "cluster_cidr": "10.244.0.0/16", "source": {"url": "x"}})
    assert answers.problems(replace(options, network_mode="l2bridge"), check=True) == ()
    (sentence,) = answers.problems(replace(options, network_mode="overlay"), check=True)
    assert "winkube_network_mode overlay needs vxlan" in sentence
    assert cluster.writes == [], "the cluster is never edited"


@pytest.mark.parametrize("ours", [True, False])
def test_all_nodes_are_listed_for_a_flannel_of_ours_alone(ours: bool) -> None:
    cluster = Fake()
    cluster.add_node("win1")
    assert bool(Answers.of(cluster.cluster, cluster.cluster, "win1", ours=ours, waits=False).nodes) == ours


@pytest.mark.row("FL-06")
@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (None, "The cluster has no Node 'win1'"),
        ({"spec": {}}, "The Node 'win1' has no podCIDR"),
        ({"spec": {"podCIDR": "10.9.0.0/24"}}, "has the podCIDR 10.9.0.0/24, which does not lie in"),
    ],
)
def test_without_a_range_there_is_no_lease(node: dict[str, Any] | None, sentence: str) -> None:
    assert sentence in (in_cluster.node_problem(node, "win1", "10.244.0.0/16") or "")


def test_a_node_with_a_range() -> None:
    two = {"spec": {"podCIDR": "10.244.4.0/24", "podCIDRs": ["10.244.4.0/24", "fd00:10:244:4::/64"]}}
    assert in_cluster.node_problem(two, "win1", "10.244.0.0/16,fd00:10:244::/56") is None


def daemon_set(name: str, os: str) -> dict[str, Any]:
    spec = {"nodeSelector": {"kubernetes.io/os": os}, "containers": [{"name": name, "image": f"{name}:1"}]}
    return {"metadata": {"namespace": "kube-flannel", "name": name}, "spec": {"template": {"spec": spec}}}


@pytest.mark.row("FL-14")
def test_a_daemon_set_on_this_node_is_refused_beside_the_service() -> None:
    linux, windows = daemon_set("kube-flannel-ds", "linux"), daemon_set("kube-flannel-ds-windows", "windows")
    assert in_cluster.find_daemon_set([linux], None, "win1") is None
    found = in_cluster.find_daemon_set([linux, windows], None, "win1")
    assert found is not None
    assert "The DaemonSet kube-flannel/kube-flannel-ds-windows runs flannel on this node" in found


@pytest.mark.row("FL-15")
def test_a_network_of_the_clusters_own() -> None:
    running = {"name": "flanneld", "state": "running", "image_path": "x"}
    windows = [daemon_set("calico-node-windows", "windows")]
    node = bare(flannel.reads(LAYOUT), running)
    (found,) = in_cluster.cluster_managed_problems(LAYOUT, node, windows, None, "win1")
    assert "The service flanneld runs on this node, but winkube_cni_managed_by is cluster" in found
    assert in_cluster.leave_to_cluster(LAYOUT, node) == ()
    own = running | {"image_path": r"C:\k\nssm.exe", "nssm": {"Application": r"c:\Flannel\flanneld.exe"}}
    ours = bare(flannel.reads(LAYOUT), own)
    assert in_cluster.cluster_managed_problems(LAYOUT, ours, windows, None, "win1") == ()
    made = make_plan(flannel.NAME, in_cluster.leave_to_cluster(LAYOUT, ours), ours)
    assert [step.text for step in made.steps] == ["remove the service flanneld"]
    assert not make_plan(flannel.NAME, in_cluster.leave_to_cluster(LAYOUT, made.predicted), made.predicted).changed
    gone = bare(flannel.reads(LAYOUT), running | {"state": "stopped"})
    assert in_cluster.cluster_managed_problems(LAYOUT, gone, windows, None, "win1") == ()
    assert in_cluster.cluster_managed_problems(LAYOUT, gone, None, None, "win1") == ()
    for name in ("kube-flannel-ds-windows", "calico-node-windows", "antrea-agent-windows", "ovnkube-node-windows"):
        there = [daemon_set(name, "windows")]
        assert in_cluster.cluster_managed_problems(LAYOUT, gone, there, None, "win1") == (), name
    told = daemon_set("kube-flannel-ds-windows", "windows")
    pod = told["spec"]["template"]["spec"]
    for env, volumes, expected in (
        ({"CNI_BIN_PATH": LAYOUT.cni_bin_dir.replace("\\", "\\\\"), "CNI_CONFIG_PATH": LAYOUT.cni_conf_dir}, (), 0),
        ({"CNI_BIN_PATH": "C:\\opt\\cni\\bin", "CNI_CONFIG_PATH": LAYOUT.cni_conf_dir}, (), 1),
        ({"CNI_BIN_DIR": "/opt/cni/bin", "CNI_NET_DIR": "/etc/cni/net.d"}, (), 2),
        ({}, ("/opt/cni/bin", "/etc/cni/net.d", "/var/run/calico"), 2),
    ):
        pod["containers"][0]["env"] = [{"name": name, "value": value} for name, value in env.items()]
        pod["volumes"] = [{"name": str(number), "hostPath": {"path": path}} for number, path in enumerate(volumes)]
        problems = in_cluster.cluster_managed_problems(LAYOUT, gone, [told], None, "win1")
        assert len(problems) == expected, (env, volumes)
        assert all("but containerd on this node looks in" in sentence for sentence in problems)
    (nobody,) = in_cluster.cluster_managed_problems(LAYOUT, gone, [], None, "win1")
    assert "no DaemonSet of a network" in nobody


# -- the cluster's ranges ----------------------------------------------------------------------------------------------


def ranges(**more: str) -> tuple[str, ...]:
    found = {"cluster": "10.244.0.0/16", "service": "10.96.0.0/12", "dns": "10.96.0.10", "mode": "l2bridge"}
    return networks.range_problems(**(found | {"subnet": "10.127.130.0/24"} | more))


@pytest.mark.row("NW-34", "NW-35")
def test_the_documents_ranges_fit() -> None:
    assert ranges() == ()


@pytest.mark.row("NW-35")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dns": "10.244.0.10"}, "10.244.0.10 does not lie in winkube_service_cidr 10.96.0.0/12"),
        ({"dns": "dns"}, "'dns' is not an IP address"),
        (
            {"service": "10.244.128.0/20", "dns": "10.244.128.10"},
            "winkube_cluster_cidr 10.244.0.0/16 and winkube_service_cidr 10.244.128.0/20 overlap",
        ),
        ({"subnet": "10.244.9.0/24"}, "and the subnet of the node's own address 10.244.9.0/24 overlap"),
        ({"subnet": "10.96.7.0/24"}, "winkube_service_cidr 10.96.0.0/12 and the subnet"),
        ({"cluster": "fd00:10:244::/56"}, "has no IPv4 network"),
    ],
)
def test_ranges_that_cannot_be(change: dict[str, str], sentence: str) -> None:
    (found,) = ranges(**change)
    assert sentence in found


@pytest.mark.row("NW-25")
@pytest.mark.parametrize("name", ["cluster", "service"])
def test_two_families_do_not_go_with_flannel(name: str) -> None:
    two = {"cluster": "10.244.0.0/16,fd00:10:244::/56", "service": "10.96.0.0/12,fd00:10:96::/112"}[name]
    (found,) = ranges(**{name: two})
    assert found.startswith(f"winkube_{name}_cidr: {two} has two families, which flannel does not support on Windows")
    (found,) = ranges(**{name: two}, mode="overlay")
    assert "has two families, which overlay networks on Windows do not support" in found


@pytest.mark.parametrize(
    ("mode", "cni", "build", "why"),
    [
        ("l2bridge", "", 20348, ""),
        ("l2bridge", "", None, ""),
        ("l2bridge", "", 17763, "which Windows of build 17763 does not support"),
        ("l2bridge", "calico", 20348, "which Calico does not support"),
        ("l2bridge", "flannel", 20348, "which flannel does not support"),
        ("overlay", "", 20348, "which overlay networks"),
    ],
)
def test_two_families_with_another_network(mode: str, cni: str, build: int | None, why: str) -> None:
    found = networks.two_families_problem(mode, cni, build)
    assert found.startswith(why) if why else found == ""


def test_what_is_no_range() -> None:
    with pytest.raises(Refused, match=r"winkube_cluster_cidr: .10\.244\.0\.0/33. is not a network"):
        ranges(cluster="10.244.0.0/33")


@pytest.mark.row("NW-28", "NW-30")
def test_exceptions_by_address_and_by_network() -> None:
    found = ["10.244.0.0/16", "10.96.0.0/12"]
    assert networks.exception_list_covers(found, "10.244.7.7")
    assert not networks.exception_list_covers(found, "8.8.8.8")
    assert networks.find_uncovered(found, ["10.244.4.0/24", "10.127.130.0/24"]) == ("10.127.130.0/24",)
    assert networks.find_uncovered(["10.244.4.0/25"], ["10.244.4.0/24"]) == ("10.244.4.0/24",), "a half is not enough"
