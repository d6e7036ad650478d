"""What decides whether a swap has worked: the service's own health, CRI, the Node; and what the swap costs pods."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import places
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key
from ansible_collections.winkube.node.plugins.plugin_utils.provision import in_cluster, provision
from ansible_collections.winkube.node.plugins.plugin_utils.provision.in_cluster import node_is_back
from ansible_collections.winkube.node.plugins.plugin_utils.task.drain import interrupts

from tests.unit.components.nodes import LAYOUT, file

from .test_provision import OLD, item, judged, node, plan, running, service, task

KIND = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.mark.row("PV-20")
@pytest.mark.parametrize(
    ("name", "line", "config", "gate"),
    [
        ("kubelet", "", "", "127.0.0.1:10248"),
        ("kubelet", "--healthz-port=11248", f"{KIND}healthzPort: 9", "127.0.0.1:11248"),
        ("kubelet", "", f"{KIND}healthzPort: 9248\n", "127.0.0.1:9248"),
        ("kubelet", "", f"{KIND}healthzBindAddress: 0.0.0.0\n", "127.0.0.1:10248"),
        ("kubelet", "--healthz-bind-address 10.0.0.5", f"{KIND}healthzBindAddress: 0.0.0.0\n", "10.0.0.5:10248"),
        ("kubelet", "--healthz-port 0", "", ""),
        ("kubelet", "", f"{KIND}healthzPort: 0\n", ""),
        ("kube-proxy", "", "", "127.0.0.1:10256"),
        ("kube-proxy", "--healthz-bind-address=0.0.0.0:10999", "", "127.0.0.1:10999"),
        ("kube-proxy", "--healthz-bind-address=10.0.0.5", "", "10.0.0.5:10256"),
        ("kube-proxy", "--healthz-bind-address 0.0.0.0 --healthz-port 9", "", "127.0.0.1:9"),
        ("kube-proxy", "--healthz-bind-address=", "", ""),
        ("kube-proxy", "--healthz-port=0", "", ""),
        ("kube-proxy", r"--config C:\k\proxy.yaml", "", ""),
    ],
)
def test_health_is_asked_where_the_service_answers(name: str, line: str, config: str, gate: str) -> None:
    wanted = item(name)
    written = {file_key(places.config_file(LAYOUT)): file(config.encode())} if config else {}
    line += f" --config={places.config_file(LAYOUT)}" if config else ""
    reading = node(service(name, f"{wanted.destination} {line}"), items=(wanted,)).merge(written)
    made = plan(judged(task(reading, wanted), reading), reading).batch
    assert made is not None
    asked = [op.args["url"] for op in made.gate if op.args["for"] == "http"]
    assert asked == ([f"http://{gate}/healthz"] * 2 if gate else [])
    assert any(op.args.get("stable_s") == (3 if gate else 10) for op in made.gate), "and the service runs"


@pytest.mark.row("PV-20")
@pytest.mark.parametrize("has_crictl", [True, False])
def test_containerd_has_to_answer_with_the_new_program_over_cri_where_crictl_is_there(has_crictl: bool) -> None:
    wanted = item("containerd")
    beside = {file_key(r"C:\Program Files\containerd\bin\crictl.exe"): {"exists": has_crictl, "kind": "file"}}
    reading = node(service("containerd", wanted.destination), items=(wanted,))
    reading = reading.merge({file_key(wanted.destination): file(OLD), **beside})
    made = plan(judged(task(reading, wanted), reading), reading).batch
    assert made is not None
    pipe, *_rest = made.gate
    assert (pipe.args["for"], pipe.args["name"]) == ("pipe", "containerd-containerd")
    assert (made.gate[-1].args["for"], made.gate[-1].args["state"]) == ("service", "running")
    asked = [[op.args["program"], *op.args["args"]] for op in made.gate if "crictl" in op.args.get("program", "")]
    program = r"C:\Program Files\containerd\bin\crictl.exe"
    cri = [program, "--runtime-endpoint", "npipe:////./pipe/containerd-containerd", "version"]
    assert asked == ([cri] if has_crictl else [])


@pytest.mark.row("PV-20")
@pytest.mark.parametrize(
    ("ready", "reports", "wanted", "there"),
    [
        ("True", "v1.29.0", {"1.29.0"}, True),
        ("True", "v1.28.4", {"1.29.0"}, False),
        ("True", "v1.28.4", set(), True),
        ("False", "v1.29.0", {"1.29.0"}, False),
    ],
)
def test_the_node_is_back_when_it_is_ready_and_reports_the_new_kubelet(
    ready: str, reports: str, wanted: set[str], there: bool
) -> None:
    conditions = [{"type": "Ready", "status": ready}]
    known = {"status": {"conditions": conditions, "nodeInfo": {"kubeletVersion": reports}}}
    assert node_is_back(known, wanted) is there
    assert node_is_back(None, wanted) is False


@pytest.mark.row("PV-05", "PV-20")
def test_a_service_without_health_has_to_stay_up_and_none_is_content_with_less() -> None:
    for wait_for, kinds in (("service", ["service"]), ("none", [])):
        wanted = item("flanneld", wait_for=wait_for)
        reading = node(service("flanneld", wanted.destination), items=(wanted,))
        made = plan(judged(task(reading, wanted), reading, "v1.29.0"), reading).batch
        assert made is not None
        assert [op.args["for"] for op in made.gate] == kinds
        assert all(op.args["stable_s"] == 10 for op in made.gate)


def test_a_node_is_emptied_for_the_swap_and_not_for_the_transfer() -> None:
    reading = running()
    found = task(reading)
    stage, made = provision.stage([found], {}, LAYOUT, reading, proxy="", timeout_s=60), plan(found, reading).batch
    assert made is not None
    assert (interrupts(stage), interrupts(made)) == (False, True)


@pytest.mark.parametrize(("rounds", "comes"), [(3, True), (10_000, False)])
def test_the_run_waits_until_the_node_is_back(rounds: int, comes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    passed, asked = [0.0], [0]

    def node(_name: str) -> dict[str, Any]:
        asked[0] += 1
        reports = "v1.29.0" if asked[0] > rounds else "v1.28.4"
        conditions = [{"type": "Ready", "status": "True"}]
        return {"status": {"conditions": conditions, "nodeInfo": {"kubeletVersion": reports}}}

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(in_cluster, "Clock", lambda: Clock(now=lambda: passed[0], sleep=sleep))
    cluster: Any = SimpleNamespace(node=node)
    how: Any = SimpleNamespace(node_timeout=60)
    swapped: Any = SimpleNamespace(item=SimpleNamespace(wait_for="node_ready", name="kubelet"), what="replace")
    swapped.version = "1.29.0"
    if comes:
        assert in_cluster.wait_for_node(lambda: cluster, how, "win1", [swapped]) == (
            "wait until the Node win1 is Ready",
        )
        assert asked[0] == rounds + 1
    else:
        with pytest.raises(ClusterError, match="The Node win1 is not Ready 60 s after the swap"):
            in_cluster.wait_for_node(lambda: cluster, how, "win1", [swapped])
        assert passed[0] >= 60
    swapped.item.wait_for = "service"
    asked[0] = 0
    assert in_cluster.wait_for_node(lambda: cluster, how, "win1", [swapped]) == () and asked[0] == 0
