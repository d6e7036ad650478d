"""kubelet.exe and kube-proxy.exe by nssm.exe on a machine made of Wine, converged by their roles.

Both are installed and left as they should be before the join. Configured, they are started and end where Wine has no
performance counters and no HNS: the readiness check fails, and what was there before is there again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.unit.components.nodes import LAYOUT
from tests.windows import lines
from tests.windows.conftest import require
from tests.windows.machine.bench import PROGRAMS, WineBench, made_of_wine
from tests.windows.machine.witness import program
from tests.windows.programs import cannot_build
from tests.windows.test_command_lines import REACHED, WINDOWS_NT
from tests.wine.prefix import REG

VERSION, CONTAINERD = "1.37.1", "2.3.7"
PUT_BACK = "Rolled back"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WineBench]:
    """A machine on which containerd runs, and an API server that knows its Node."""
    for name in PROGRAMS:
        require(name, CONTAINERD)
    for name in ("kubelet", "kube-proxy"):
        require(name, VERSION)
    if not program().exists() and (why := cannot_build()) is not None:
        pytest.skip(f"lane windows: {why}")
    with made_of_wine(tmp_path_factory.mktemp("machine"), CONTAINERD) as made:
        made.node.prefix.run(REG, ["add", WINDOWS_NT, "/v", "UBR", "/t", "REG_DWORD", "/d", "4652", "/f"])
        made.converge()
        yield made


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), Settings(version=VERSION))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "win1"}, "spec": {"podCIDR": "10.244.2.0/24"}}
    cluster.request("POST", "/api/v1/nodes", node)
    yield cluster.kubeconfig_for("kubernetes-admin", "system:masters")
    cluster.stop()


def state(machine: WineBench, service: str) -> str:
    return machine.host.in_turn(lambda: machine.node.services.state(service))


def configure(machine: WineBench, kubeconfig: str) -> None:
    """As after a join."""

    def write() -> None:
        for path, text in lines.files(VERSION, kubeconfig).items():
            if not machine.node.drive.exists(path):
                machine.node.drive.mkdir(machine.node.drive.parent(path))
                machine.node.drive.write(path, text.encode())

    machine.host.in_turn(write)


def test_the_kubelet_waits_for_the_join_and_is_put_back_when_it_ends(
    machine: WineBench, kubeconfig: str, judged: Callable[..., None]
) -> None:
    first = machine.role("kubelet", "kubelet", VERSION)
    assert first.rc == 0, first
    assert first.recap["win1"].changed == 1, first
    assert "left kubelet stopped: it waits for join" in first.output
    assert state(machine, "kubelet") == "stopped"
    again = machine.role("kubelet", "kubelet", VERSION)
    assert again.recap["win1"].changed == 0, again

    configure(machine, kubeconfig)
    run = machine.role("kubelet", "kubelet", VERSION, winkube_node_labels={"tier": "web"})
    assert run.rc != 0, run
    assert PUT_BACK in run.output, run
    (end,) = REACHED["kubelet"][VERSION]
    assert end.partition(": ")[2] in machine.text(rf"{LAYOUT.log_dir}\kubelet.log"), run
    judged("kubelet", VERSION, "a machine: role, nssm, waits for the join", "readiness check fails: rolled back")


def test_kube_proxy_is_put_back_when_it_ends(machine: WineBench, kubeconfig: str, judged: Callable[..., None]) -> None:
    configure(machine, kubeconfig)
    before = machine.host.in_turn(lambda: machine.node.services.exists("kube-proxy"))
    run = machine.role("kube_proxy", "kube-proxy", VERSION)
    assert run.rc != 0, run
    assert PUT_BACK in run.output, run
    assert machine.host.in_turn(lambda: machine.node.services.exists("kube-proxy")) == before == False  # noqa: E712
    judged("kube-proxy", VERSION, "a machine: role, nssm, started", "readiness check fails: rolled back")
