"""Node objects of Windows machines, as their kubelets register them."""

from __future__ import annotations

from typing import Any

TAINT = {"key": "os", "value": "windows", "effect": "NoSchedule"}
REVISIONS = {17763: 6532, 20348: 2655, 26100: 1742}
NAMES = {17763: "2019", 20348: "2022", 26100: "2025"}


def windows(
    name: str, build: int, *, kubelet: str = "1.36.1", containerd: str = "2.3.2", taints: bool = True, **labels: str
) -> dict[str, Any]:
    """A Ready Node of this build. `labels` with `_` for what a keyword cannot hold are not needed here."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/os": "windows",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "node.kubernetes.io/windows-build": f"10.0.{build}",
                **labels,
            },
        },
        "spec": {"taints": [dict(TAINT)] if taints else []},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "nodeInfo": {
                "operatingSystem": "windows",
                "architecture": "amd64",
                "osImage": f"Windows Server {NAMES[build]} Datacenter",
                "kernelVersion": f"10.0.{build}.{REVISIONS[build]}",
                "kubeletVersion": f"v{kubelet}",
                "kubeProxyVersion": f"v{kubelet}",
                "containerRuntimeVersion": f"containerd://{containerd}",
            },
        },
    }


def ten() -> list[dict[str, Any]]:
    """Ten nodes of three builds; the last two have no taint yet."""
    builds = [17763] * 3 + [20348] * 4 + [26100] * 3
    return [windows(f"win{number}", build, taints=number < 9) for number, build in enumerate(builds, 1)]
