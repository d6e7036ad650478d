"""kube-proxy on a simulated node: both modes, both managers, the source VIP, kube-proxy of the cluster."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from tests.integration import stand_ins
from tests.integration.lab import Bench, Run
from tests.integration.site import differences
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.machine.builds import build, nssm_archive
from tests.lab.server.host import NodeHost

PLAY = """
- hosts: all
  gather_facts: false
  roles:
    - winkube.node.kube_proxy
"""
BASE = "http://dl.k8s.io/release/v{}/bin/windows/amd64"
SERVICE = r"HKLM\SYSTEM\CurrentControlSet\Services\kube-proxy"
PARAMETERS = rf"{SERVICE}\Parameters"
EXE = r"C:\k\kube-proxy.exe"
SUBNET_ENV = r"C:\run\flannel\subnet.env"
MANAGERS = ("nssm", "sc")


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def kube_proxy(bench: Bench, *args: object, version: str = "1.37.1", manager: str = "nssm", **more: Any) -> Run:
    wanted = {
        "winkube_kubernetes_version": version,
        "winkube_kubernetes_base_url": BASE.format(version),
        "winkube_kube_proxy_checksum": sha256(build("kube-proxy", version)),
        "winkube_service_manager": manager,
        "winkube_nssm_url": "http://xyz/nssm-2.24.zip",
        "winkube_nssm_checksum": sha256(nssm_archive()),
        "winkube_log_runner_url": f"{BASE.format('1.37.1')}/kube-log-runner.exe",
        "winkube_log_runner_checksum": sha256(build("kube-log-runner", "1.37.1")),
        **more,
    }
    extra = bench.file("extra.json", json.dumps(wanted))
    return bench.ansible_playbook(bench.play(PLAY), "-e", f"@{extra}", *args)


def converge(bench: Bench, *args: object, **wanted: Any) -> Run:
    run = kube_proxy(bench, *args, **wanted)
    assert run.rc == 0, str(run)
    return run


def joined(bench: Bench, *, subnet: str = "10.244.3.1/24") -> NodeHost:
    """A node that has joined, with flannel's lease and host-local."""
    host = bench.node()

    def prepare() -> None:
        for folder in (r"C:\k\cni", r"C:\run\flannel"):
            host.node.drive.mkdir(folder)
        host.node.drive.write(r"C:\k\kube-proxy.kubeconfig", b"apiVersion: v1\n")
        host.node.drive.write(r"C:\k\cni\host-local.exe", build("host-local", "1.6.0"))

    host.in_turn(prepare)
    lease(host, subnet)
    return host


def lease(host: NodeHost, subnet: str) -> None:
    rows = ("FLANNEL_NETWORK=10.244.0.0/16", f"FLANNEL_SUBNET={subnet}", "FLANNEL_MTU=1450", "FLANNEL_IPMASQ=true")
    host.in_turn(lambda: host.node.drive.write(SUBNET_ENV, "\n".join(rows).encode()))


def value(host: NodeHost, name: str, key: str = SERVICE) -> Any:
    return host.in_turn(lambda: host.node.registry.get(key, name))


def line(host: NodeHost, manager: str = "nssm") -> list[str]:
    found = value(host, "AppParameters", PARAMETERS) if manager == "nssm" else value(host, "ImagePath")
    return str(found).split()


def pid(host: NodeHost) -> int:
    return int(host.in_turn(lambda: host.node.services.runtime("kube-proxy").pid))


@pytest.mark.exhaustive
@pytest.mark.row("KP-01", "KP-03", "KP-05", "SV-12")
@pytest.mark.parametrize("manager", MANAGERS)
def test_l2bridge_from_joined_to_running_and_again(bench: Bench, monkeypatch: pytest.MonkeyPatch, manager: str) -> None:
    stand_ins.healthy_at(monkeypatch, "kube-proxy", 10256)
    host = joined(bench)
    first = converge(bench, manager=manager)
    assert first.recap["win1"].changed == 1, first
    assert bench.calls() == 2, first
    assert host.in_turn(lambda: host.node.services.state("kube-proxy")) == "running"
    assert {"--enable-dsr=false", "--hostname-override=win1", "--cluster-cidr=10.244.0.0/16"} <= set(
        line(host, manager)
    )
    where = (PARAMETERS, "AppEnvironmentExtra") if manager == "nssm" else (SERVICE, "Environment")
    assert value(host, where[1], where[0]) == ["KUBE_NETWORK=cbr0"]

    for port in (10256, 31000):
        assert host.in_turn(lambda port=port: host.node.lets_in("TCP", port, "203.0.113.50")), "a load balancer's check"  # type: ignore[misc]

    before, running = bench.dump(), pid(host)
    bench.reset_ledger()
    second = converge(bench, manager=manager)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert differences(before, bench.dump()) == []
    assert pid(host) == running


@pytest.mark.exhaustive
@pytest.mark.row("KP-13")
@pytest.mark.parametrize("manager", MANAGERS)
def test_overlay_reserves_its_address_once(bench: Bench, monkeypatch: pytest.MonkeyPatch, manager: str) -> None:
    stand_ins.healthy_at(monkeypatch, "kube-proxy", 10256)
    commands = stand_ins.host_local(monkeypatch)
    host = joined(bench)
    wanted = {"winkube_network_mode": "overlay", "manager": manager}
    first = converge(bench, **wanted)
    assert bench.calls() == 3, first
    assert {"--source-vip=10.244.3.2", "--network-name=vxlan0"} <= set(line(host, manager))
    entry = r"C:\var\lib\cni\networks\vxlan0\10.244.3.2"
    assert host.in_turn(lambda: host.node.drive.read(entry)) == b"kube-proxy\r\nsource-vip"

    bench.reset_ledger()
    assert converge(bench, **wanted).recap["win1"].changed == 0
    assert bench.calls() == 1
    assert commands == ["DEL", "ADD"]

    # Another lease: another address, and kube-proxy is started with it.
    running = pid(host)
    lease(host, "10.244.8.1/24")
    assert converge(bench, **wanted).recap["win1"].changed == 1
    assert "--source-vip=10.244.8.2" in line(host, manager)
    assert pid(host) != running
    assert not host.in_turn(lambda: host.node.drive.exists(entry))


@pytest.mark.exhaustive
@pytest.mark.row("KP-03", "KP-13")
def test_from_l2bridge_to_overlay_and_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins.healthy_at(monkeypatch, "kube-proxy", 10256)
    stand_ins.host_local(monkeypatch)
    host = joined(bench)
    converge(bench)
    converge(bench, winkube_network_mode="overlay")
    assert value(host, "AppEnvironmentExtra", PARAMETERS) is None
    assert "--source-vip=10.244.3.2" in line(host)
    converge(bench)
    assert value(host, "AppEnvironmentExtra", PARAMETERS) == ["KUBE_NETWORK=cbr0"]
    assert not any(word.startswith(("--source-vip", "--network-name")) for word in line(host))


@pytest.mark.exhaustive
def test_an_upgrade_restarts_once_and_a_sick_one_is_taken_back(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins.healthy_at(monkeypatch, "kube-proxy", 10256)
    host = joined(bench)
    converge(bench)
    first = host.in_turn(lambda: host.node.drive.read(EXE))
    starts = pid(host)
    run = converge(bench, version="1.37.2")
    assert run.output.count("restarted kube-proxy") == 1, run
    second = host.in_turn(lambda: host.node.drive.read(EXE))
    assert second != first and pid(host) != starts

    stand_ins.healthy_at(monkeypatch, "kube-proxy", 10999)  # its own port is silent
    failed = kube_proxy(bench, version="1.37.3", winkube_kube_proxy_start_timeout=10)
    assert failed.rc != 0
    assert "http://127.0.0.1:10256/healthz" in failed.output, failed
    assert host.in_turn(lambda: host.node.drive.read(EXE)) == second


def test_check_mode_does_not_reserve_and_says_so(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    commands = stand_ins.host_local(monkeypatch)
    joined(bench)
    before = bench.dump()
    run = converge(bench, "--check", "--diff", winkube_network_mode="overlay")
    assert "--source-vip=(known after the source VIP is reserved)" in run.output, run
    assert commands == []
    assert bench.dump() == before


@pytest.mark.parametrize(
    ("wanted", "absent", "sentence"),
    [
        ({}, r"C:\k\kube-proxy.kubeconfig", "The role join writes it"),
        ({"winkube_network_mode": "overlay"}, SUBNET_ENV, "flanneld writes it (role flannel)"),
        ({"winkube_network_mode": "overlay"}, r"C:\k\cni\host-local.exe", "it comes with the CNI plugins (role cni)"),
        ({"winkube_network_mode": "nat"}, "", "the network mode is 'nat', but this role can do l2bridge and overlay"),
        ({"winkube_kube_proxy_feature_gates": {"WinDSR": "false"}}, "", "WinDSR=false: locked to true"),
        ({"winkube_kube_proxy_feature_gates": {"WinDSR": "perhaps"}}, "", "'perhaps' is neither true nor false"),
        ({"winkube_kube_proxy_depends_on": ["nobody"]}, "", "shall depend on nobody, which is not a service"),
    ],
)
def test_what_cannot_be_is_a_sentence_and_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, Any], absent: str, sentence: str
) -> None:
    commands = stand_ins.host_local(monkeypatch)
    host = joined(bench)
    if absent:
        # As soon as antivirus lets go of it.
        host.in_turn(lambda: host.node.clock.advance(5))
        host.in_turn(lambda: host.node.drive.delete(absent))
    before = bench.dump()
    run = kube_proxy(bench, **wanted)
    assert run.rc != 0
    assert sentence in run.output, run
    assert "Traceback" not in run.output
    assert differences(before, bench.dump()) == []
    assert commands == []


def test_left_to_the_cluster_nothing_is_done_and_a_service_of_ours_goes(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_ins.healthy_at(monkeypatch, "kube-proxy", 10256)
    host = joined(bench)
    theirs = {"winkube_kube_proxy_managed_by": "cluster"}
    assert converge(bench, **theirs).recap["win1"].changed == 1, "the rule for load balancers is the machine's"
    assert host.in_turn(lambda: host.node.lets_in("TCP", 10256, "203.0.113.50"))
    before = bench.dump()
    assert converge(bench, **theirs).recap["win1"].changed == 0
    assert differences(before, bench.dump()) == []
    converge(bench)
    run = converge(bench, **theirs)
    assert "removed the service kube-proxy" in run.output, run
    assert not host.in_turn(lambda: host.node.services.exists("kube-proxy"))
    assert converge(bench, **theirs).recap["win1"].changed == 0


@pytest.mark.row("JR-06", "VC-08")
def test_what_the_cluster_says_is_asked_for_and_counts(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_ins.healthy_at(monkeypatch, "kube-proxy", 10256)
    joined(bench)
    cluster = bench.cluster(version="1.36.2")
    access: dict[str, Any] = {"winkube_cluster": {"kubeconfig": str(cluster.shipped("site")), "context": ""}}
    before = bench.dump()
    run = kube_proxy(bench, **access)
    assert run.rc != 0
    assert "kube-proxy 1.37 is newer than the cluster's API server 1.36" in run.output, str(run)
    assert differences(before, bench.dump()) == []

    # kubeadm's own DaemonSet is for Linux; one for Windows owns the node's policies.
    fitting: dict[str, Any] = {"version": "1.36.2", **access}
    assert "API server" not in converge(bench, **fitting).output
    pods = {"nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "kube-proxy", "image": "x/y:1"}]}
    theirs = {"metadata": {"name": "proxy-windows"}, "spec": {"template": {"spec": pods}}}
    cluster.store.create(BY_NAME["DaemonSet"], "kube-system", theirs)
    beside = kube_proxy(bench, **fitting)
    assert beside.rc != 0
    assert "the DaemonSet kube-system/proxy-windows runs it on win1 already" in beside.output, str(beside)
