"""kube-proxy.exe: gates, what it waits for, when it gives up, and its policy lists in HNS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cluster.kinds import BY_NAME
from tests.unit.lab import kube_machine
from tests.unit.lab.kube_machine import SC, K, Kube

Make = Callable[..., Kube]
CONF = "C:\\k\\kube-proxy.conf"
BASE = (f"--kubeconfig={CONF}", "--proxy-mode=kernelspace", "--hostname-override=win1")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Kube] = []

    def one(version: str = "1.30.4", **settings: Any) -> Kube:
        kube = kube_machine.make(tmp_path / str(len(made)), version, **settings)
        made.append(kube)
        kube.write(CONF, kube.cluster.kubeconfig_for("system:kube-proxy"))
        kube.sc("start", "hns")
        kube.wait(5)
        kube.node.faults.blip_s = 5.0
        kube.node.faults.management_ip_s = 1.0
        return kube

    yield one
    for kube in made:
        kube.cluster.stop()


def network(kube: Kube, kind: str = "L2Bridge", name: str = "cbr0") -> str:
    subnet: dict[str, Any] = {"AddressPrefix": "10.244.1.0/24", "GatewayAddress": "10.244.1.1"}
    if kind == "Overlay":
        subnet["Policies"] = [{"Type": "VSID", "VSID": 4096}]
    made = kube.node.hns.create_network({"Name": name, "Type": kind, "Subnets": [subnet]})
    kube.wait(10)
    return str(made["ID"])


@pytest.mark.parametrize(
    ("version", "gates", "said"),
    [
        ("1.34.4", "WinOverlay=false", "cannot set feature gate WinOverlay to false, feature is locked to true"),
        ("1.37.1", "WinDSR=false", "cannot set feature gate WinDSR to false, feature is locked to true"),
        ("1.30.4", "Nonsense=true", "unrecognized feature gate: Nonsense"),
        ("1.38.0", "WinDSR=true", "unrecognized feature gate: WinDSR"),
    ],
)
def test_gates_that_end_it(make: Make, version: str, gates: str, said: str) -> None:
    found = make(version).run("kube-proxy", *BASE, f"--feature-gates={gates}")
    assert (found.exit_code, said in found.stderr.decode()) == (1, True), found.stderr


@pytest.mark.parametrize(
    ("version", "gates"), [("1.34.4", "WinOverlay=true"), ("1.30.4", "WinDSR=true,WinOverlay=false")]
)
def test_gates_that_do_not(make: Make, version: str, gates: str) -> None:
    kube = make(version)
    network(kube)
    process, _ = kube.start("kube-proxy", *BASE, f"--feature-gates={gates}", KUBE_NETWORK="cbr0")
    kube.wait(20)
    assert process.alive, kube.log


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--nonsense",), "Error: unknown flag: --nonsense"),
        (("--kubeconfig=C:\\none",), "CreateFile C:\\none: The system cannot find the file specified."),
        ((*BASE, "--proxy-mode=iptables"), 'KubeProxyConfiguration.Mode: Invalid value: "iptables"'),
        (BASE, "environment variable KUBE_NETWORK and network-flag not initialized"),
    ],
)
def test_what_ends_it(make: Make, arguments: tuple[str, ...], said: str) -> None:
    found = make().run("kube-proxy", *arguments)
    assert (found.exit_code, said in found.stderr.decode()) == (1, True), found.stderr


def test_it_waits_for_the_network(make: Make) -> None:
    kube = make()
    process, _ = kube.start("kube-proxy", *BASE, "--network-name=CBR0")
    kube.wait(60)
    assert process.alive
    assert any("Unable to find HNS Network" in line for line in kube.log)
    assert 10256 not in kube.node.network.listeners
    network(kube)
    kube.wait_for(lambda: 10256 in kube.node.network.listeners)
    assert kube.node.network.get("http://127.0.0.1:10256/healthz").status == 200


@pytest.mark.parametrize(
    ("arguments", "port"),
    [
        (("--healthz-bind-address=10.7.0.25:10300",), 10300),
        (("--healthz-bind-address=10.7.0.25", "--healthz-port=10301"), 10301),
        (("--healthz-port=10301",), 10256),
        (("--healthz-port=0",), None),
    ],
)
def test_where_it_says_that_it_is_healthy(make: Make, arguments: tuple[str, ...], port: int | None) -> None:
    kube = make()
    network(kube)
    kube.start("kube-proxy", *BASE, "--network-name=cbr0", *arguments)
    kube.wait(20)
    assert [found for found in kube.node.network.listeners if found in {10256, 10300, 10301}] == [port] * bool(port)


def test_a_load_balancer_is_kept_out_until_a_rule_lets_it_in(make: Make) -> None:
    kube = make()
    network(kube)
    web = {"clusterIP": "10.96.7.7", "healthCheckNodePort": 31500, "ports": [{"port": 80}]}
    kube.cluster.store.create(BY_NAME["Service"], "default", {"metadata": {"name": "web"}, "spec": web})
    kube.start("kube-proxy", *BASE, "--network-name=cbr0")
    kube.wait_for(lambda: 31500 in kube.node.network.listeners)
    address = kube.node.nic.address
    for port in (10256, 31500):
        assert not kube.node.lets_in("TCP", port, "203.0.113.50")
    rule = ("name=x", "dir=in", "action=allow", "protocol=TCP", "localport=10256,30000-32767", "remoteip=any")
    netsh = "C:\\Windows\\System32\\netsh.exe"
    assert kube.node.run(netsh, ["advfirewall", "firewall", "add", "rule", *rule]).exit_code == 0
    assert kube.node.network.get(f"http://{address}:31500/healthz").status == 503, "no endpoint is here"
    for port in (10256, 31500):
        assert kube.node.lets_in("TCP", port, "203.0.113.50")
    assert not kube.node.lets_in("TCP", 32768, "203.0.113.50")


def test_an_overlay_needs_a_source_vip(make: Make) -> None:
    kube = make()
    network(kube, "Overlay", "vxlan0")
    process, result = kube.start("kube-proxy", *BASE, "--network-name=vxlan0")
    kube.wait_for(lambda: not process.alive)
    assert b"unable to create proxier: source-vip flag not set" in result[0].stderr
    kube.start("kube-proxy", *BASE, "--network-name=vxlan0", "--source-vip=10.244.1.9")
    kube.wait_for(lambda: kube.node.hns.policy_lists)
    assert kube.node.hns.policy_lists[0]["Policies"][0]["SourceVIP"] == "10.244.1.9"
    assert "10.244.1.9" in {item["IPAddress"] for item in kube.node.hns.endpoints}


def test_dsr_needs_its_gate_before_1_33(make: Make) -> None:
    kube = make("1.32.13")
    network(kube)
    process, result = kube.start("kube-proxy", *BASE, "--enable-dsr=true", KUBE_NETWORK="cbr0")
    kube.wait_for(lambda: not process.alive)
    assert b"WinDSR feature gate not enabled" in result[0].stderr
    process, _ = kube.start(
        "kube-proxy", *BASE, "--enable-dsr=true", "--feature-gates=WinDSR=true", KUBE_NETWORK="cbr0"
    )
    kube.wait(20)
    assert process.alive


def test_policy_lists_for_the_services_that_have_endpoints(make: Make) -> None:
    kube = make()
    identity = network(kube)
    kube.start("kube-proxy", *BASE, KUBE_NETWORK="cbr0")
    kube.wait_for(lambda: kube.node.hns.policy_lists)
    assert {item["Policies"][0]["VIPs"][0] for item in kube.node.hns.policy_lists} == {"10.96.0.1", "10.96.0.10"}
    (made,) = [item for item in kube.node.hns.policy_lists if item["Policies"][0]["VIPs"] == ["10.96.0.1"]]
    policy = made["Policies"][0]
    assert (policy["Type"], policy["VIPs"], policy["ExternalPort"], policy["InternalPort"], policy["Protocol"]) == (
        "ELB",
        ["10.96.0.1"],
        443,
        6443,
        6,
    )
    remote = [item for item in kube.node.hns.endpoints if item.get("IsRemoteEndpoint")]
    by_address = {item["IPAddress"]: item["ID"].lower() for item in remote}
    assert set(by_address) == {"192.168.122.10", "10.244.0.2"}
    assert made["References"] == [f"/endpoints/{by_address['192.168.122.10']}"]
    kube.node.hns.delete_network(identity)
    kube.wait(20)
    assert kube.node.hns.policy_lists == []
    network(kube)
    kube.wait(60)
    assert len(kube.node.hns.policy_lists) == 3  # the API server, and DNS over UDP and TCP
    assert any("network id has changed" in line for line in kube.log)


def test_an_account_without_rights_is_refused_and_recorded(make: Make) -> None:
    kube = make()
    network(kube)
    kube.write(CONF, kube.cluster.kubeconfig_for("nobody"))
    kube.start("kube-proxy", *BASE, KUBE_NETWORK="cbr0")
    kube.wait(20)
    assert kube.node.hns.policy_lists == []
    assert {call.user for call in kube.cluster.refusals} == {"nobody"}


def test_as_a_service(make: Make) -> None:
    kube = make()
    network(kube)
    kube.sc(
        "create",
        "kube-proxy",
        "binPath=",
        f"{K}\\kube-proxy.exe --windows-service {' '.join(BASE)} --network-name=cbr0",
    )
    assert kube.node.run(SC, ["start", "kube-proxy"]).exit_code == 0
    kube.wait_for(lambda: kube.node.hns.policy_lists)
    kube.sc("stop", "kube-proxy")
    kube.wait(5)
    assert kube.node.services.state("kube-proxy") == "stopped"
    assert kube.run("kube-proxy", "--windows-service", *BASE).exit_code == 1
