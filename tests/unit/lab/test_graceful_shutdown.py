"""Graceful node shutdown in the lab: which kubelet hears of the machine's preshutdown, and what it makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.machine.builds import build
from tests.unit.lab import kube_machine
from tests.unit.lab.kube_machine import CONFIG, KUBECONFIG, KUBELET_CONFIG, K, Kube

LOG = f"{K}\\kubelet.log"
RUNNER = f"{K}\\kube-log-runner.exe"
KEY = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\kubelet"
GRACE = "shutdownGracePeriod: 60s\nshutdownGracePeriodCriticalPods: 20s\n"
PODS = "/api/v1/namespaces/default/pods"
Make = Callable[..., Kube]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Kube] = []

    def one(version: str = "1.37.1", config: str = GRACE) -> Kube:
        kube = kube_machine.make(tmp_path / str(len(made)), version)
        made.append(kube)
        kube.write(RUNNER, build("kube-log-runner", "1.37.1"))
        kube.write(CONFIG, KUBELET_CONFIG + config)
        kube.write(KUBECONFIG, kube.cluster.kubeconfig_for("system:node:win1", "system:nodes"))
        return kube

    yield one
    for kube in made:
        kube.cluster.stop()


def started(kube: Kube, name: str = "kubelet", before: str = f"{RUNNER} -log-file={LOG} ") -> Kube:
    """As a service behind kube-log-runner."""
    line = f"{K}\\kubelet.exe --windows-service --config={CONFIG} --kubeconfig={KUBECONFIG} --hostname-override=win1"
    kube.sc("create", name, "binPath=", before + line)
    kube.sc("start", name)
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    return kube


def pod(kube: Kube, name: str, **spec: Any) -> None:
    one = {"containers": [{"name": "a", "image": "registry/core:ltsc2022"}], "nodeName": "win1", **spec}
    kube.cluster.request("POST", PODS, {"metadata": {"name": name}, "spec": one})
    bound = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    kube.cluster.request("PATCH", f"{PODS}/{name}/status", {"status": bound})


def phases(kube: Kube) -> dict[str, str]:
    return {one["metadata"]["name"]: one["status"].get("phase") for one in kube.cluster.request("GET", PODS)["items"]}


def seconds_until_off(kube: Kube) -> float:
    began = kube.node.clock.now()
    kube.node.shut_down(None)
    while kube.node.powered:
        kube.wait(1)
    return kube.node.clock.now() - began


@pytest.mark.parametrize("before", ["", f"{RUNNER} -log-file={LOG} "], ids=["bare", "behind kube-log-runner"])
def test_a_kubelet_that_is_its_own_service_ends_its_pods_before_the_machine_goes_down(make: Make, before: str) -> None:
    kube = started(make(), before=before)
    assert "ACCEPTS_PRESHUTDOWN" in kube.sc("query", "kubelet").stdout.decode()
    assert kube.node.registry.get(KEY, "PreshutdownTimeout") == 60_000
    pod(kube, "web", terminationGracePeriodSeconds=30)
    pod(kube, "slow", terminationGracePeriodSeconds=300)
    pod(kube, "system", terminationGracePeriodSeconds=5, priority=2_000_001_000)
    began = kube.node.clock.now()
    kube.node.shut_down(None)
    kube.wait(20)
    assert kube.node.online, "until the services have had their time the machine answers"
    assert kube.ready() == "False"
    while kube.node.powered:
        kube.wait(1)
    assert 55 <= kube.node.clock.now() - began <= 58
    assert phases(kube) == {"web": "Failed", "slow": "Failed", "system": "Failed"}


def test_without_pods_nobody_waits(make: Make) -> None:
    assert seconds_until_off(started(make())) < 15


def test_one_of_another_name_is_not_found_by_the_kubelet(make: Make) -> None:
    kube = started(make(), name="my-kubelet")
    pod(kube, "web")
    assert "Could not access service kubelet" in kube.read(LOG)
    assert seconds_until_off(kube) < 15
    assert phases(kube)["web"] != "Failed"


def test_under_another_process_it_says_so_and_hears_nothing(make: Make) -> None:
    kube = make()
    kube.start("kubelet", f"--config={CONFIG}", f"--kubeconfig={KUBECONFIG}", "--hostname-override=win1")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    assert any("kubelet is NOT running as a Windows service" in line for line in kube.log)
    pod(kube, "web")
    assert seconds_until_off(kube) < 15
    assert phases(kube)["web"] != "Failed"


@pytest.mark.parametrize(
    ("version", "config", "works"),
    [
        ("1.31.14", GRACE, False),
        ("1.33.13", GRACE, False),
        ("1.33.13", f"{GRACE}featureGates: {{WindowsGracefulNodeShutdown: true}}\n", True),
        ("1.37.1", f"{GRACE}featureGates: {{WindowsGracefulNodeShutdown: false}}\n", False),
        ("1.37.1", "", False),
    ],
)
def test_releases_gates_and_a_period(make: Make, version: str, config: str, works: bool) -> None:
    kube = started(make(version, config))
    assert (kube.node.registry.get(KEY, "PreshutdownTimeout") is not None) == works


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s\n", "must be <= shutdownGracePeriod"),
        ("shutdownGracePeriod: 500ms\n", "shutdownGracePeriod must be either zero or otherwise >= 1 sec"),
        ("shutdownGracePeriod: '30'\n", "missing unit in duration"),
        ("shutdownGracePeriod: 30\n", "cannot unmarshal"),
    ],
)
def test_periods_that_it_does_not_start_with(make: Make, config: str, said: str) -> None:
    kube = make("1.37.1", config)
    done = kube.run("kubelet", f"--config={CONFIG}", f"--kubeconfig={KUBECONFIG}")
    assert done.exit_code == 1
    assert said in done.stderr.decode()
