"""Services and their programs: rows services.set-up to services.output and services.exit-codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import service_key

from tests.unit.components.nodes import LAYOUT

from .scene import (
    Node,
    broken,
    healthy,
    stopped,
)


def loops(node: Node) -> None:
    def later(parts: dict[str, Any]) -> None:
        parts["processes"][2]["pid"] = 999

    node.later = later


def no_pipe(node: Node) -> None:
    node.parts["pipe:containerd-containerd"] = {"exists": False}


def ill(node: Node) -> None:
    node.parts["http:http://127.0.0.1:10256/healthz"] = {"status": 503, "body": "stale"}


def not_ready(node: Node) -> None:
    assert node.node is not None
    node.node["status"]["conditions"][0] |= {"status": "False", "reason": "KubeletNotReady", "message": "no CNI"}


@pytest.mark.parametrize(
    ("breaks", "piece"),
    [
        (stopped, "service kubelet: it is stopped"),
        (loops, "flanneld.exe was started again while it was watched"),
        (no_pipe, r"its pipe \\.\pipe\containerd-containerd is not there"),
        (ill, "answers 503 stale; wanted 200"),
        (not_ready, "Node win1: it is not Ready (KubeletNotReady: no CNI)"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-01", "OB-01")
def test_what_does_not_run_answer_or_count_as_ready(breaks: Callable[[Node], None], piece: str) -> None:
    node = healthy()
    breaks(node)
    broken(node, "services.set-up", piece)


@pytest.mark.row("TS-01", "OB-01")
def test_three_services_that_run_and_a_node_that_is_ready_are_what_is_seen() -> None:
    node = healthy()
    answer = node.answer("services.set-up")
    assert answer.verdict == "ok"
    assert {"kubelet: running", "kube-proxy: running", "flanneld: running", "Node win1: Ready=True"} <= set(answer.seen)
    not_ready(node)
    assert "Node win1: Ready=False" in node.answer("services.set-up").seen


@pytest.mark.row("TS-01")
def test_without_a_cluster_readiness_is_not_known() -> None:
    node = healthy()
    node.no_cluster = "winkube_cluster.kubeconfig is empty."
    answer = node.answer("services.set-up")
    assert answer.verdict == "cannot_tell"
    assert answer.run == "kubectl get node win1"
    assert "winkube_cluster.kubeconfig is empty" in answer.why


@pytest.mark.row("TS-02")
def test_who_owns_each_service_is_told() -> None:
    assert healthy().answer("services.outside").seen == (
        "containerd: sc",
        "kubelet: nssm",
        "flanneld: nssm",
        "kube-proxy: nssm",
    )
    assert healthy(overlay=True).answer("services.outside").seen[1] == "kubelet: kube-log-runner"


def in_a_window(node: Node) -> None:
    node.service("kube-proxy")["state"] = "stopped"


def twice(node: Node) -> None:
    node.parts["processes"].append({"pid": 7, "name": "kubelet.exe", "path": r"C:\k\kubelet.exe"})


def twice_beside_sc(node: Node) -> None:
    node.parts["processes"].append({"pid": 8, "name": "containerd.exe", "path": LAYOUT.containerd_binary})


def without_service(node: Node) -> None:
    del node.parts[service_key("flanneld")]


@pytest.mark.parametrize(
    ("breaks", "piece"),
    [
        (in_a_window, r"C:\k\kube-proxy.exe (pid 103)"),
        (twice, r"C:\k\kubelet.exe (pid 7)"),
        (twice_beside_sc, f"{LAYOUT.containerd_binary} (pid 8)"),
        (without_service, r"C:\flannel\flanneld.exe (pid 102)"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-02")
def test_a_process_outside_a_service_is_found(breaks: Callable[[Node], None], piece: str) -> None:
    node = healthy()
    breaks(node)
    broken(
        node,
        "services.outside",
        f"Started outside a service: {piece}.",
        "(a window of start.ps1)",
        remedy="run site.yml",
    )


def disabled(node: Node) -> None:
    node.service("kubelet")["start"] = 4


def deleting(node: Node) -> None:
    node.service("kubelet")["deleting"] = True


@pytest.mark.parametrize(
    ("breaks", "piece", "remedy"),
    [
        (stopped, "kubelet is stopped", "sc.exe start kubelet"),
        (disabled, "kubelet is disabled", "sc.exe config kubelet start= auto"),
        (deleting, "kubelet is marked for deletion", "restart the machine"),
        (without_service, "there is no service flanneld", "Run site.yml with the tag flannel."),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-03", "SV-08")
def test_what_sc_says_of_a_service(breaks: Callable[[Node], None], piece: str, remedy: str) -> None:
    node = healthy()
    breaks(node)
    broken(node, "services.state", piece, remedy=remedy)


@pytest.mark.row("TS-03", "SV-08")
@pytest.mark.parametrize(
    ("start", "word"), [(0, "boot"), (1, "system"), (2, "automatic"), (3, "on demand"), (4, "disabled"), (9, "unknown")]
)
def test_how_a_service_is_started_is_told_in_words(start: int, word: str) -> None:
    node = healthy()
    node.service("kubelet")["start"] = start
    assert rf"kubelet: running, start {word}, runs C:\k\nssm.exe" in node.answer("services.state").seen
    without_service(node)
    assert "flanneld: no such service (sc.exe: 1060)" in node.answer("services.state").seen


@pytest.mark.parametrize(
    ("service_name", "old", "new", "sentence"),
    [
        ("kubelet", "--cluster-dns=10.96.0.10 ", "", "kubelet lacks --cluster-dns=10.96.0.10"),
        (
            "kubelet",
            "--cluster-domain=cluster.local",
            "--cluster-domain=example.org",
            "kubelet has --cluster-domain=example.org, wanted is --cluster-domain=cluster.local",
        ),
        ("kube-proxy", "--proxy-mode=kernelspace ", "", "kube-proxy lacks --proxy-mode=kernelspace"),
        (
            "kube-proxy",
            r"--kubeconfig=C:\k\kube-proxy.kubeconfig",
            r"--kubeconfig=C:\k\config",
            r"kube-proxy has --kubeconfig=C:\k\config, wanted is --kubeconfig=C:\k\kube-proxy.kubeconfig",
        ),
        ("kubelet", "--v=6", "--v=6 --network-plugin=cni", "kubelet: "),
        ("flanneld", "--ip-masq=1 ", "", "flanneld lacks --ip-masq=1"),
        ("flanneld", "--kube-subnet-mgr=1", "--kube-subnet-mgr=false", "flanneld has --kube-subnet-mgr=false"),
    ],
)
@pytest.mark.row("TS-04")
def test_arguments_that_drifted_are_named_flag_by_flag(service_name: str, old: str, new: str, sentence: str) -> None:
    node = healthy()
    node.line(service_name, lambda line: line.replace(old, new))
    broken(node, "services.arguments", sentence, remedy="Run site.yml")


@pytest.mark.row("TS-04")
def test_what_the_user_chose_is_no_drift() -> None:
    node = healthy()
    node.line("kubelet", lambda line: line.replace("--v=6", "--v=2 --max-pods=40"))
    node.line("kubelet", lambda line: line.replace(r"C:\etc\kubernetes\kubelet.conf", "c:/etc/kubernetes/kubelet.conf"))
    assert node.answer("services.arguments").verdict == "ok", node.answer("services.arguments")


@pytest.mark.row("TS-04")
def test_arguments_in_a_script_cannot_be_told() -> None:
    node = healthy()
    node.service("kubelet")["nssm"]["Application"] = "powershell.exe"
    answer = node.answer("services.arguments")
    assert (answer.verdict, answer.run) == ("cannot_tell", "nssm.exe dump kubelet")


@pytest.mark.row("TS-05")
def test_a_service_whose_output_goes_nowhere() -> None:
    node = healthy()
    node.layout = replace(node.layout, log_dir=r"D:\logs")
    node.service("kubelet")["nssm"] |= {"AppStdout": "", "AppStderr": ""}
    remedy = r"nssm.exe set kubelet AppStdout D:\logs\kubelet.log; nssm.exe set kubelet AppStderr D:\logs\kubelet.log"
    broken(node, "services.output", "What kubelet prints goes nowhere.", remedy=remedy)


@pytest.mark.row("TS-05")
def test_under_sc_without_kube_log_runner_there_is_no_file() -> None:
    node = healthy(overlay=True)
    node.line("kubelet", lambda line: line.partition(r"kubelet.log ")[2])
    answer = node.answer("services.output")
    assert answer.verdict == "broken"
    assert "kube-log-runner.exe then keeps what it prints" in answer.remedy


@pytest.mark.row("OB-07")
def test_exit_codes_are_shown_as_they_are() -> None:
    node = healthy()
    stopped(node)
    line = "kubelet: stopped, WIN32_EXIT_CODE 1066 (0x42a), SERVICE_EXIT_CODE 255 (0xff)"
    broken(node, "services.exit-codes", line)
    assert line in node.answer("services.exit-codes").seen
    node.service("kubelet").update(exit_code=1077, service_exit_code=0)
    assert node.answer("services.exit-codes").verdict == "ok", "never started is no error"
    node.service("kubelet").update(exit_code=-1073741515)
    broken(node, "services.exit-codes", "WIN32_EXIT_CODE -1073741515 (0xc0000135)")
