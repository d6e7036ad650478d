"""Services and their programs: who runs them, with which arguments, where they log, how they ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import service_key

from tests.unit.components.nodes import LAYOUT

from .nodes import (
    Node,
    broken,
    fine,
    healthy,
    noted,
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
    ("breaks", "check", "piece"),
    [
        (stopped, "kubelet.stopped", "service kubelet: it is stopped"),
        (loops, "flannel.crashes", "flanneld.exe was started again while it was watched"),
        (no_pipe, "containerd.no-pipe", r"its pipe \\.\pipe\containerd-containerd is not there"),
        (ill, "kube-proxy.unhealthy", "answers 503 stale; wanted 200"),
        (not_ready, "node.not-ready", "Node win1: it is not Ready (KubeletNotReady: no CNI)"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-01", "OB-01")
def test_what_does_not_run_answer_or_count_as_ready(breaks: Callable[[Node], None], check: str, piece: str) -> None:
    node = healthy()
    fine(node)
    breaks(node)
    broken(node, check, piece)


@pytest.mark.row("TS-01")
def test_without_a_cluster_readiness_is_not_known() -> None:
    node = healthy()
    node.no_cluster = "winkube_cluster.kubeconfig is empty."
    noted(node, "node.not-asked", "winkube_cluster.kubeconfig is empty", remedy="kubectl get node win1")


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
    broken(node, "services.outside", piece, remedy="winkube.node.site")
    assert "(a window of start.ps1)" in node.find("services.outside")[0].why


def disabled(node: Node) -> None:
    node.service("kubelet")["start"] = 4


def deleting(node: Node) -> None:
    node.service("kubelet")["deleting"] = True


@pytest.mark.parametrize(
    ("breaks", "check", "piece", "remedy"),
    [
        (stopped, "kubelet.stopped", "it is stopped", "Start-Service kubelet"),
        (disabled, "kubelet.disabled", "it is disabled", "sc.exe config kubelet start= auto"),
        (deleting, "services.deleting", "marked for deletion", "restart the machine"),
        (without_service, "flannel.not-installed", "service flanneld: there is none", "--tags flannel"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-03", "SV-08")
def test_what_sc_says_of_a_service(breaks: Callable[[Node], None], check: str, piece: str, remedy: str) -> None:
    node = healthy()
    breaks(node)
    broken(node, check, piece, remedy=remedy)


@pytest.mark.parametrize(
    ("service_name", "old", "new", "sentence"),
    [
        ("kubelet", "--cluster-dns=10.96.0.10 ", "", "service kubelet: it lacks --cluster-dns=10.96.0.10"),
        (
            "kubelet",
            "--cluster-domain=cluster.local",
            "--cluster-domain=example.org",
            "service kubelet: it has --cluster-domain=example.org, wanted is --cluster-domain=cluster.local",
        ),
        ("kube-proxy", "--proxy-mode=kernelspace ", "", "service kube-proxy: it lacks --proxy-mode=kernelspace"),
        (
            "kube-proxy",
            r"--kubeconfig=C:\k\kube-proxy.kubeconfig",
            r"--kubeconfig=C:\k\config",
            r"service kube-proxy: it has --kubeconfig=C:\k\config, wanted is --kubeconfig=C:\k\kube-proxy.kubeconfig",
        ),
        ("kubelet", "--v=6", "--v=6 --network-plugin=cni", "service kubelet: it would not start: "),
        ("flanneld", "--ip-masq=1 ", "", "service flanneld: it lacks --ip-masq=1"),
        (
            "flanneld",
            "--kube-subnet-mgr=1",
            "--kube-subnet-mgr=false",
            "service flanneld: it has --kube-subnet-mgr=false",
        ),
    ],
)
@pytest.mark.row("TS-04")
def test_arguments_that_drifted_are_named_flag_by_flag(service_name: str, old: str, new: str, sentence: str) -> None:
    node = healthy()
    node.line(service_name, lambda line: line.replace(old, new))
    broken(node, "services.arguments", sentence, remedy="winkube.node.site")


@pytest.mark.row("TS-04")
def test_what_the_user_chose_is_no_drift() -> None:
    node = healthy()
    node.line("kubelet", lambda line: line.replace("--v=6", "--v=2 --max-pods=40"))
    node.line("kubelet", lambda line: line.replace(r"C:\etc\kubernetes\kubelet.conf", "c:/etc/kubernetes/kubelet.conf"))
    fine(node, "services.arguments")


@pytest.mark.row("TS-04")
def test_arguments_in_a_script_cannot_be_told() -> None:
    node = healthy()
    node.service("kubelet")["nssm"]["Application"] = "powershell.exe"
    noted(node, "services.arguments-not-read", "cannot be told", remedy="nssm.exe dump kubelet")


@pytest.mark.row("TS-05")
def test_a_service_whose_output_goes_nowhere() -> None:
    node = healthy()
    node.expected = replace(node.expected, layout=replace(LAYOUT, log_dir=r"D:\logs"))
    node.service("kubelet")["nssm"] |= {"AppStdout": "", "AppStderr": ""}
    remedy = r"nssm.exe set kubelet AppStdout D:\logs\kubelet.log; nssm.exe set kubelet AppStderr D:\logs\kubelet.log"
    broken(node, "services.output", "service kubelet: what its program prints goes nowhere", remedy=remedy)


@pytest.mark.row("TS-05")
def test_under_sc_without_kube_log_runner_there_is_no_file() -> None:
    node = healthy(overlay=True)
    node.line("kubelet", lambda line: line.partition(r"kubelet.log ")[2])
    broken(node, "services.output", remedy="kube-log-runner.exe -log-file")


@pytest.mark.row("OB-07")
def test_exit_codes_are_shown_as_they_are() -> None:
    node = healthy()
    stopped(node)
    line = "kubelet: stopped, WIN32_EXIT_CODE 1066 (0x42a), SERVICE_EXIT_CODE 255 (0xff)"
    broken(node, "kubelet.stopped", "its last exit code was 255")
    assert line in node.find("kubelet.stopped")[0].evidence
    node.service("kubelet").update(exit_code=-1073741515, service_exit_code=0)
    assert "WIN32_EXIT_CODE -1073741515 (0xc0000135)" in str(node.find("kubelet.stopped")[0].evidence)
