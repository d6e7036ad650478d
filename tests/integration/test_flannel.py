"""flannel from bare to a network: the virtual switch that cuts every connection, flanneld, cni.conf; refusals."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import differences, served
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.machine.builds import build, nssm_archive
from tests.lab.server.host import NodeHost
from tests.unit.calico.objects import operator

PLAY = """
- hosts: all
  gather_facts: false
  roles:
    - winkube.node.cni
    - winkube.node.flannel
"""
CONF = r"C:\k\cni\config\cni.conf"
SUBNET_ENV = r"C:\run\flannel\subnet.env"
KUBECONFIG = r"C:\flannel\flanneld.kubeconfig"
PARAMETERS = r"HKLM\SYSTEM\CurrentControlSet\Services\flanneld\Parameters"


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def node(bench: Bench, cluster: Cluster, **spec: Any) -> NodeHost:
    """A machine that has joined: its Node is there, and the kubeconfig that the role join would have written."""
    host = bench.node(**spec)
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "win1", "labels": {"kubernetes.io/os": "windows"}},
        "spec": {},
    }
    cluster.store.create(BY_NAME["Node"], "", body)
    cluster.advance(30)
    kubeconfig = cluster.kubeconfig.read_bytes()

    def place() -> None:
        host.node.drive.mkdir(r"C:\flannel", "S-1-5-18")
        host.node.drive.write(KUBECONFIG, kubeconfig)

    host.in_turn(place)
    # The administrator's kubeconfig stands in for flanneld's own, at its place.
    bench.lawful["the key of admin.conf"] = (KUBECONFIG,)
    return host


CNI_PLUGINS = "http://github.com/cni-plugins-windows-amd64-v1.10.0.tgz"
FLANNEL_CNI = "http://github.com/cni-plugin-flannel-windows-amd64-v1.9.1-flannel3.tgz"


def flannel(bench: Bench, cluster: Cluster | None, *args: object, mode: str = "l2bridge", **more: Any) -> Run:
    variables = {
        "winkube_network_mode": mode,
        "winkube_cni_plugins_url": CNI_PLUGINS,
        "winkube_flannel_cni_url": FLANNEL_CNI,
        "winkube_flannel_url": "http://github.com/v0.28.10/flanneld.exe",
        "winkube_flannel_checksum": sha256(build("flanneld", "0.28.10")),
        "winkube_nssm_url": "http://xyz/nssm-2.24.zip",
        "winkube_nssm_checksum": sha256(nssm_archive()),
        "winkube_cni_plugins_checksum": served(bench, CNI_PLUGINS),
        "winkube_flannel_cni_checksum": served(bench, FLANNEL_CNI),
        "winkube_cluster": {"kubeconfig": str(cluster.shipped("site")) if cluster else "", "context": ""},
        **more,
    }
    extra = bench.file("extra.json", json.dumps(variables))
    return bench.ansible_playbook(bench.play(PLAY), "-e", f"@{extra}", *args)


def converge(bench: Bench, cluster: Cluster, *args: object, **more: Any) -> Run:
    run = flannel(bench, cluster, *args, **more)
    assert run.rc == 0, str(run)
    return run


def networks(host: NodeHost) -> dict[str, str]:
    return {each["Name"]: each["Type"] for each in host.in_turn(lambda: host.node.hns.networks)}


def text(host: NodeHost, path: str) -> str:
    return host.in_turn(lambda: host.node.drive.read(path)).decode()


def adapters(host: NodeHost) -> dict[str, list[str]]:
    def found() -> dict[str, list[str]]:
        return {
            each.name: [str(address.address) for address in host.node.adapters.current(each).addresses]
            for each in host.node.adapters.all()
        }

    return host.in_turn(found)


def value(host: NodeHost, name: str) -> Any:
    return host.in_turn(lambda: host.node.registry.get(PARAMETERS, name))


def pid(host: NodeHost) -> int:
    return int(host.in_turn(lambda: host.node.services.runtime("flanneld").pid))


MODES = pytest.mark.parametrize(
    ("mode", "backend", "name", "plugin"),
    [("l2bridge", "host-gw", "cbr0", "win-bridge"), ("overlay", "vxlan", "vxlan0", "win-overlay")],
)


@pytest.mark.exhaustive
@pytest.mark.row("NW-01", "NW-07", "NW-08", "NW-09", "NW-10", "NW-13", "NW-26", "NW-31", "NW-33", "FL-01", "FL-02")
@pytest.mark.row("FL-03", "FL-04", "FL-05", "FL-06", "FL-07", "FL-08", "FL-16")
@MODES
def test_from_bare_to_a_network_and_again(bench: Bench, mode: str, backend: str, name: str, plugin: str) -> None:
    cluster = bench.cluster(backend=backend)
    host = node(bench, cluster)
    address = host.spec.address
    first = converge(bench, cluster, mode=mode)
    assert first.recap["win1"].changed == 2, first
    maker = {"l2bridge": "created", "overlay": "had flanneld create"}[mode]
    first_network = {"l2bridge": "External", "overlay": name}[mode]
    assert f"{maker} the external vSwitch on Ethernet (HNS network {first_network})" in first.output

    # The switch took the address along; in l2bridge the placeholder keeps it.
    kind = {"l2bridge": "L2Bridge", "overlay": "Overlay"}[mode]
    assert networks(host) == {first_network: kind, name: kind}
    assert adapters(host)["vEthernet (Ethernet)"] == [address]

    # FL-01 to FL-04, as the documents' nssm commands leave it.
    assert value(host, "Application") == r"C:\flannel\flanneld.exe"
    assert value(host, "AppParameters") == (
        rf"--kubeconfig-file={KUBECONFIG} --iface={address} --ip-masq=1 --kube-subnet-mgr=1"
    )
    assert value(host, "AppEnvironmentExtra") == ["NODE_NAME=win1"]
    assert value(host, "AppDirectory") == r"C:\flannel"
    assert host.in_turn(lambda: host.node.services.state("flanneld")) == "running"

    # FL-06: flanneld has told the cluster; FL-08: and written what the plugin reads.
    found = cluster.nodes["win1"]
    assert found["metadata"]["annotations"]["flannel.alpha.coreos.com/public-ip"] == address
    assert f"FLANNEL_SUBNET={found['spec']['podCIDR'].replace('.0/', '.1/')}" in text(host, SUBNET_ENV)
    assert "FLANNEL_IPMASQ=true" in text(host, SUBNET_ENV)

    conf = json.loads(text(host, CONF))
    assert (conf["name"], conf["delegate"]["type"], conf["delegate"]["apiVersion"]) == (name, plugin, 2)
    own = ["192.168.122.0/24"] if mode == "l2bridge" else []
    exceptions = conf["delegate"]["policies"][0]["Value"]["Settings"]["Exceptions"]
    assert exceptions == ["10.244.0.0/16", "10.96.0.0/12", *own]
    assert conf["delegate"]["dns"] == {"Nameservers": ["10.96.0.10"], "Search": ["svc.cluster.local"]}
    programs = {"flannel.exe", "host-local.exe", "win-bridge.exe", "win-overlay.exe"}
    assert programs <= set(host.in_turn(lambda: host.node.drive.listdir(r"C:\k\cni")))

    before, running = bench.dump(), pid(host)
    bench.reset_ledger()
    second = converge(bench, cluster, mode=mode)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert differences(before, bench.dump()) == []
    assert pid(host) == running


@pytest.mark.exhaustive
def test_a_static_address_that_the_switch_loses_is_set_again(bench: Bench) -> None:
    cluster = bench.cluster()
    host = node(bench, cluster, lost_static_address=True)
    converge(bench, cluster)
    assert adapters(host)["vEthernet (Ethernet)"] == [host.spec.address]
    assert set(networks(host)) == {"External", "cbr0"}


def test_a_switch_behind_which_the_api_does_not_answer_is_taken_back_by_the_node(bench: Bench) -> None:
    cluster = bench.cluster()
    host = node(bench, cluster)
    address = host.spec.address
    run = flannel(bench, cluster, winkube_api_server="192.168.122.10:6443")
    assert run.rc != 0
    assert "Rolled back." in run.output, run
    assert networks(host) == {}
    assert adapters(host) == {"Ethernet": [address]}
    assert host.in_turn(lambda: host.node.services.state("flanneld")) == "absent"
    assert host.in_turn(lambda: host.node.drive.kind(CONF)) is None


@pytest.mark.exhaustive
@pytest.mark.row("NW-10")
def test_without_a_network_there_is_no_cni_conf(bench: Bench) -> None:
    """flanneld ends, since its kubeconfig is of no use: the kubelet must not call the node Ready."""
    cluster = bench.cluster()
    host = node(bench, cluster)
    host.in_turn(lambda: host.node.drive.write(KUBECONFIG, b"apiVersion: v1\nkind: Config\n"))
    service = {"manager": "nssm", "start_timeout": 20, "stop_timeout": 20}
    run = flannel(bench, cluster, winkube_flannel_service=service)
    assert run.rc != 0
    assert SUBNET_ENV in run.output, run
    assert host.in_turn(lambda: host.node.drive.kind(CONF)) is None
    assert host.in_turn(lambda: host.node.services.state("flanneld")) == "absent"
    # The switch stays: it worked, and to take it away would break the connection once more.
    assert set(networks(host)) == {"External"}


@pytest.mark.exhaustive
@MODES
def test_after_a_restart_of_the_machine(bench: Bench, mode: str, backend: str, name: str, plugin: str) -> None:
    cluster = bench.cluster(backend=backend)
    host = node(bench, cluster)
    converge(bench, cluster, mode=mode)

    def restart() -> None:
        host.node.restart()
        host.node.clock.advance(120)

    host.in_turn(restart)
    cluster.advance(30)
    assert set(networks(host)) == ({"External", name} if mode == "l2bridge" else {name})
    assert converge(bench, cluster, mode=mode).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("NW-08")
def test_from_flannel_0_24_1_on_there_is_no_placeholder_in_overlay(bench: Bench) -> None:
    """It asks HNS for a network on the interface that has the address; beside a placeholder that is a vEthernet."""
    cluster = bench.cluster(backend="vxlan")
    host = node(bench, cluster)
    old = {
        "winkube_flannel_version": "0.24.0",
        "winkube_flannel_url": "http://github.com/v0.24.0/flanneld.exe",
        "winkube_flannel_checksum": sha256(build("flanneld", "0.24.0")),
    }
    converge(bench, cluster, mode="overlay", **old)
    assert set(networks(host)) == {"External", "vxlan0"}
    run = converge(bench, cluster, mode="overlay")
    assert "removed the HNS network External" in run.output
    assert set(networks(host)) == {"vxlan0"}

    def restart() -> None:
        host.node.restart()
        host.node.clock.advance(180)

    host.in_turn(restart)
    cluster.advance(30)
    assert set(networks(host)) == {"vxlan0"}
    assert adapters(host)["vEthernet (Ethernet)"] == [host.spec.address]
    assert converge(bench, cluster, mode="overlay").recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("NW-09")
@pytest.mark.parametrize(("mode", "backend"), [("l2bridge", "host-gw"), ("overlay", "vxlan")])
def test_a_new_switch_on_a_public_network_keeps_nobody_out(bench: Bench, mode: str, backend: str) -> None:
    """OpenSSH's rule on Windows Server 2025 is for private networks; a new vEthernet is on a public one."""
    cluster = bench.cluster(backend=backend)
    host = node(bench, cluster, release="2025")
    converge(bench, cluster, mode=mode)
    categories = host.in_turn(lambda: {each.name: each.category for each in host.node.adapters.all()})
    assert categories["vEthernet (Ethernet)"] == "Private"
    assert converge(bench, cluster, mode=mode).recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("NW-08")
def test_a_switch_of_flannelds_own_that_loses_the_address_gets_it_back_from_the_node(bench: Bench) -> None:
    cluster = bench.cluster(backend="vxlan")
    host = node(bench, cluster, lost_static_address=True)
    converge(bench, cluster, mode="overlay")
    assert set(networks(host)) == {"vxlan0"}
    assert adapters(host)["vEthernet (Ethernet)"] == [host.spec.address]


@pytest.mark.exhaustive
@pytest.mark.row("NW-26", "NW-28", "NW-29")
def test_a_new_exception_is_for_new_pods_and_restarts_nothing(bench: Bench) -> None:
    cluster = bench.cluster()
    host = node(bench, cluster)
    converge(bench, cluster)
    running = pid(host)
    more = {"winkube_exception_list": ["192.168.7.0/24"], "winkube_external_targets": ["192.168.7.9"]}
    run = converge(bench, cluster, **more)
    assert run.recap["win1"].changed == 1
    assert "existing pods keep the old policy" in run.output
    assert "the exceptions cover 192.168.7.9, which is said to lie outside the cluster" in run.output
    assert "192.168.7.0/24" in text(host, CONF)
    assert pid(host) == running


@pytest.mark.exhaustive
def test_check_mode_says_all_and_does_nothing(bench: Bench) -> None:
    cluster = bench.cluster()
    node(bench, cluster)
    before = bench.dump()
    run = converge(bench, cluster, "--check", "--diff")
    for part in (
        "would create the external vSwitch on Ethernet",
        "would register the service flanneld with nssm",
        CONF,
    ):
        assert part in run.output, run
    assert bench.dump() == before


@pytest.mark.exhaustive
@pytest.mark.row("FL-05")
def test_another_configuration_is_warned_of_and_left(bench: Bench) -> None:
    cluster = bench.cluster()
    host = node(bench, cluster)
    other = r"C:\k\cni\config\10-other.conflist"

    def place() -> None:
        host.node.drive.mkdir(r"C:\k\cni\config", "S-1-5-18")
        host.node.drive.write(other, b"{}")

    host.in_turn(place)
    run = converge(bench, cluster)
    assert rf"{other} is another network configuration, which is used" in run.output, run
    assert text(host, other) == "{}"


@pytest.mark.exhaustive
@pytest.mark.row("NW-27", "NW-26")
def test_a_template_of_the_users_own_is_checked_before_it_is_sent(bench: Bench) -> None:
    cluster = bench.cluster()
    node(bench, cluster)
    bench.file("mine.j2", '{"name": "{{ cni.network }}", # my network\n}')
    run = flannel(bench, cluster, winkube_cni_conf_template="mine.j2")
    assert run.rc != 0
    assert "cni.conf: line 1, column 18: Expecting property name" in run.output, run
    assert "Traceback" not in run.output


def daemon_set(name: str, os: str) -> dict[str, Any]:
    spec = {"nodeSelector": {"kubernetes.io/os": os}, "containers": [{"name": name, "image": f"{name}:1"}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    body = {"selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": body}


@pytest.mark.exhaustive("overlay-backend1-has VNI 1, Windows nodes need 4096")
@pytest.mark.row("NW-03", "NW-15", "FL-14")
@pytest.mark.parametrize(
    ("mode", "backend", "sentence"),
    [
        ("overlay", {"backend": "host-gw"}, "uses the backend host-gw, winkube_network_mode overlay needs vxlan"),
        ("overlay", {"backend": "vxlan", "vni": 1}, "has VNI 1, Windows nodes need 4096"),
    ],
)
def test_a_cluster_that_does_not_fit_is_refused(
    bench: Bench, mode: str, backend: dict[str, Any], sentence: str
) -> None:
    cluster = bench.cluster(**backend)
    host = node(bench, cluster)
    run = flannel(bench, cluster, mode=mode)
    assert run.rc != 0
    assert sentence in run.output, run
    assert networks(host) == {}


def test_a_vni_that_only_the_nodes_tell_is_refused(bench: Bench) -> None:
    """The flannel of k3s has no ConfigMap."""
    cluster = bench.cluster(backend="vxlan", vni=1)
    take_map_away(cluster)
    host = node(bench, cluster)
    run = flannel(bench, cluster, mode="overlay")
    assert run.rc != 0
    assert "its flannel has VNI 1, Windows nodes need 4096" in run.output, run
    assert networks(host) == {}


def test_a_port_that_nobody_tells_is_said_before_the_network_is_made_and_not_afterwards(bench: Bench) -> None:
    cluster = bench.cluster(backend="vxlan")
    take_map_away(cluster)
    host = node(bench, cluster)
    planned = flannel(bench, cluster, "--check", mode="overlay")
    said = "its flannel tells its VNI, and nothing in the cluster its port. Windows nodes need 4789"
    assert said in " ".join(planned.output.split()), planned
    assert networks(host) == {}
    made = flannel(bench, cluster, mode="overlay")
    assert made.rc == 0 and said in " ".join(made.output.split()), made
    again = flannel(bench, cluster, mode="overlay")
    assert again.recap["win1"].changed == 0 and said not in " ".join(again.output.split()), again


def take_map_away(cluster: Cluster) -> None:
    for space in ("kube-flannel", "kube-system"):
        if cluster.store.find(BY_NAME["ConfigMap"], space, "kube-flannel-cfg") is not None:
            cluster.store.delete(BY_NAME["ConfigMap"], space, "kube-flannel-cfg")


@pytest.mark.exhaustive
@pytest.mark.row("FL-06", "FL-12", "FL-14")
def test_what_cannot_be_is_refused_before_the_connection_breaks(bench: Bench) -> None:
    cluster = bench.cluster()
    host = node(bench, cluster)
    windows = daemon_set("kube-flannel-ds-windows", "windows")
    cluster.store.create(BY_NAME["DaemonSet"], "kube-flannel", windows)
    service = {"manager": "sc", "start_timeout": 60, "stop_timeout": 60}
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "runs flannel on this node; a service flanneld beside it"),
        ({"winkube_node_name": "win9"}, "The cluster has no Node 'win9'"),
    ]
    for more, sentence in refused:
        run = flannel(bench, cluster, **more)
        assert run.rc != 0
        assert sentence in run.output, run
    cluster.store.delete(BY_NAME["DaemonSet"], "kube-flannel", "kube-flannel-ds-windows")
    run = flannel(bench, cluster, winkube_flannel_service=service)
    assert run.rc != 0
    assert "flanneld cannot run under the service manager 'sc'" in run.output, run
    assert networks(host) == {}


CALICO = ROOT / "playbooks" / "calico.yml"


@pytest.mark.row("FL-15")
def test_a_network_of_the_clusters_own_is_only_looked_at(bench: Bench) -> None:
    cluster = bench.cluster()
    host = node(bench, cluster)
    operator(cluster)
    kubeconfig = f'{{"winkube_cluster": {{"kubeconfig": "{cluster.shipped("calico")}", "context": ""}}}}'
    given = {"winkube_hosts": "windows", "winkube_network_mode": "calico", "winkube_api_server": "192.168.122.10:6443"}
    made = bench.ansible_playbook(CALICO, "-e", kubeconfig, *(f"-e{name}={value}" for name, value in given.items()))
    assert made.rc == 0 and "created the Installation default" in made.output, str(made)
    cluster.store.create(BY_NAME["DaemonSet"], "kube-system", daemon_set("calico-node-windows", "windows"))
    run = converge(bench, cluster, winkube_network_mode="calico")
    assert run.recap["win1"].changed == 2, "the folders, and the port of VXLAN"
    assert "winkube-vxlan" in run.output, run
    assert host.in_turn(lambda: host.node.drive.is_dir(r"C:\etc\cni\net.d")), "where DaemonSets of networks write to"
    assert not host.in_turn(lambda: host.node.drive.exists(r"C:\k\cni"))
    assert networks(host) == {}
    assert converge(bench, cluster, winkube_network_mode="calico").recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("FL-15")
def test_a_daemon_set_that_writes_elsewhere_than_containerd_looks_is_named(bench: Bench) -> None:
    cluster = bench.cluster()
    node(bench, cluster)
    windows = daemon_set("kube-flannel-ds-windows", "windows")
    (container,) = windows["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "CNI_CONFIG_PATH", "value": "C:\\\\etc\\\\cni\\\\net.d"}]
    cluster.store.create(BY_NAME["DaemonSet"], "kube-flannel", windows)
    found = {"winkube_cni_managed_by": "cluster", "winkube_cni_conf_dir": "C:\\own\\net.d"}
    run = flannel(bench, cluster, **found)
    assert run.rc != 0
    assert "writes to C:\\etc\\cni\\net.d, but containerd on this node looks in C:\\own\\net.d" in run.output, run


def test_without_a_way_to_the_cluster_it_says_what_it_did_not_look_at(bench: Bench) -> None:
    cluster = bench.cluster()
    host = node(bench, cluster)
    run = flannel(bench, None)
    assert run.rc == 0, run
    assert "skipped the comparison with the cluster's flannel (winkube_cluster.kubeconfig is empty)" in run.output
    assert set(networks(host)) == {"External", "cbr0"}
    assert flannel(bench, None).recap["win1"].changed == 0
