# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""node_problem_detector: reports problems of a node's programs as conditions of the Node.

Sources: kubernetes/node-problem-detector v1.36.0 cmd/nodeproblemdetector/node_problem_detector_windows.go (it finds out
by itself whether it is a service), cmd/options/options.go, pkg/exporters/k8sexporter/problemclient/configs.go (a
kubeconfig by `--apiserver-override`), Makefile (the archive and its files).
"""

from __future__ import annotations

from dataclasses import dataclass

from ...engine import windows_path
from ...engine.resource import Refused
from ..declaration import Daemon, ServiceKind
from ..healthz import by_port_flag
from ..layout import Layout
from ..options import option
from ..program_service import Recipe, answers, declare

PORT = 20256
HEALTH = "http://127.0.0.1:{}/healthz"
CHECKS = ("kubelet", "kube-proxy", "cri")
"""What health-checker.exe can check, besides Docker. Source: cmd/healthchecker/options/options.go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProblemDetectorOptions:
    """What node-problem-detector looks at."""

    node_name: str = option("The name of the Node.", variable="winkube_node_name")
    checks: tuple[str, ...] = option(
        "What is checked: kubelet, kube-proxy, and cri, which needs crictl.exe beside containerd.",
        default=("kubelet", "kube-proxy"),
    )
    interval: str = option("How often, such as V(10s).", default="10s")
    port: int = option("The TCP port of its C(/healthz), only on the node.", default=PORT, flag="port")


def _program(layout: Layout) -> str:
    return windows_path.join(layout.root, "node-problem-detector", "node-problem-detector.exe")


def _arguments(layout: Layout, options: NodeProblemDetectorOptions) -> tuple[str, ...]:
    kubeconfig = layout.kubelet_kubeconfig.replace("\\", "/")
    return (
        f"--config.custom-plugin-monitor={windows_path.join(windows_path.parent(_program(layout)), 'checks.json')}",
        f"--apiserver-override=?inClusterConfig=false&auth={kubeconfig}",
        f"--hostname-override={options.node_name.lower()}",
        f"--port={options.port}",
    )


def _check(_version: str, options: NodeProblemDetectorOptions) -> None:
    """Refused without a check, since it panics then, and for an unknown one."""
    if not options.checks or (wrong := sorted(set(options.checks) - set(CHECKS))):
        found = ", ".join(wrong) if options.checks else "none"
        raise Refused(f"node_problem_detector: checks: {found}: name at least one of {', '.join(CHECKS)}.")


DECLARATION = declare(
    "node_problem_detector",
    "node_problem_detector",
    Daemon(
        service=lambda _layout: "NodeProblemDetector",
        program=_program,
        kind=ServiceKind(
            managers=("nssm", "sc"),
            native_flag="",
            why="node-problem-detector does not make its own service.",
            source="kubernetes/node-problem-detector v1.36.0 cmd/nodeproblemdetector/node_problem_detector_windows.go",
        ),
        asks=(),  # on Windows it prints its version and never ends: Execute waits for a stop that never comes
        event_source="NodeProblemDetector",
        health=by_port_flag("port", PORT, HEALTH),
    ),
    Recipe(
        summary="Runs node-problem-detector on a Windows node",
        title="Node Problem Detector",
        version="1.36.0",
        description=(
            "Installs node-problem-detector.exe with health-checker.exe, writes its checks, and creates and starts its "
            "service. It counts as working when C(/healthz) answers, which it does once it has read its Node.",
            "The result of a check becomes a condition of the Node, set with the kubelet's kubeconfig; nothing is "
            "repaired.",
        ),
        example={
            "node_name": "win1",
            "source": {"url": "https://mirror.example.com/node-problem-detector-v1.36.0-windows_amd64.tar.gz"},
        },
        url="{{ winkube_downloads }}github.com/kubernetes/node-problem-detector/releases/download/"
        "v{{ winkube_node_problem_detector_version | regex_replace('^v') }}/"
        "node-problem-detector-v{{ winkube_node_problem_detector_version | regex_replace('^v') }}-windows_amd64.tar.gz",
        members=("bin/node-problem-detector.exe", "bin/health-checker.exe"),
        config="checks.json.j2",
        options=NodeProblemDetectorOptions,
        arguments=_arguments,
        check=_check,
        ready=answers(HEALTH),
    ),
)
