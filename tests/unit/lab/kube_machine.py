"""A node with containerd's pipe and Kubernetes' programs, and the lab's cluster: for the tests of both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.lab.machine.builds import build, release_archive
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.processes import Process
from tests.lab.machine.program import Completed
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops_transfer import read_archive

T = TypeVar("T")
K = "C:\\k"
CNI_BIN, CNI_CONF = "C:\\Program Files\\containerd\\cni\\bin", "C:\\Program Files\\containerd\\cni\\conf"
CONTAINERD = "C:\\Program Files\\containerd\\bin\\containerd.exe"
CONFIG = "C:\\var\\lib\\kubelet\\config.yaml"
KUBECONFIG = "C:\\etc\\kubernetes\\kubelet.conf"
BOOTSTRAP = "C:\\etc\\kubernetes\\bootstrap-kubelet.conf"
SC = "C:\\Windows\\System32\\sc.exe"
ON_WINDOWS = "cgroupsPerQOS: false\nenforceNodeAllocatable: []\n"
KUBELET_CONFIG = f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{ON_WINDOWS}"


@dataclass
class Kube:
    """One node and its cluster. `start` starts a program that stays; `wait` lets the node's time pass."""

    node: SimulatedNode
    cluster: Cluster
    log: list[str] = field(default_factory=list)

    def in_turn(self, work: Callable[[], T]) -> T:
        with self.node.lock:
            return work()

    def write(self, path: str, content: str | bytes) -> None:
        self.node.drive.mkdir(self.node.drive.parent(path))
        self.node.drive.write(path, content.encode() if isinstance(content, str) else content)

    def read(self, path: str) -> str:
        return self.node.drive.read(path).decode()

    def start(self, name: str, *arguments: str, **environment: str) -> tuple[Process, list[Completed]]:
        return self.node.start_program(
            f"{K}\\{name}.exe", list(arguments), environment=environment, log=self.log.append
        )

    def run(self, name: str, *arguments: str) -> Completed:
        return self.node.run(f"{K}\\{name}.exe", list(arguments))

    def sc(self, *arguments: str) -> Completed:
        return self.node.run(SC, list(arguments))

    def wait(self, seconds: float) -> None:
        self.node.clock.advance(seconds)

    def wait_for(self, done: Callable[[], object], seconds: float = 120) -> None:
        end = self.node.clock.now() + seconds
        while not done():
            assert self.node.clock.now() < end, self.log[-5:]
            self.wait(1)

    def ready(self, name: str = "win1") -> str:
        node = self.cluster.nodes.get(name) or {}
        found = (node.get("status") or {}).get("conditions") or []
        return next((str(item["status"]) for item in found if item["type"] == "Ready"), "absent")

    def add_cni(self, kind: str = "win-bridge") -> None:
        self.write(f"{CNI_BIN}\\{kind}.exe", build(kind, "1.5.1"))
        conf = {"name": "cbr0", "cniVersion": "0.2.0", "type": kind, "apiVersion": 2}
        self.write(f"{CNI_CONF}\\cni.conf", json.dumps(conf))


def make(
    folder: Path, version: str = "1.30.4", containerd: str = "2.0.1", cluster: str = "1.37.1", **settings: Any
) -> Kube:
    """containerd runs, the kubelet's programs lie in C:\\k, and config.yaml is there; nothing else is done."""
    node = LabNode("win1")
    for member in read_archive("a", release_archive("containerd", containerd)):
        node.drive.mkdir("C:\\Program Files\\containerd\\bin")
        node.drive.write(f"C:\\Program Files\\containerd\\{member.name}".replace("/", "\\"), member.data or b"")
    kube = Kube(node, Cluster(folder / "cluster", Settings(version=cluster, **settings)))
    kube.cluster.attach(node)
    for name in ("kubelet", "kubeadm", "kube-proxy"):
        kube.write(f"{K}\\{name}.exe", build(name, version))
    kube.write(f"{K}\\flanneld.exe", build("flanneld", "0.26.1"))
    kube.write(CONFIG, KUBELET_CONFIG)
    node.run(CONTAINERD, ["--register-service"])
    node.run(SC, ["start", "containerd"])
    kube.wait(30)
    assert node.pipes.exists("\\\\.\\pipe\\containerd-containerd")
    return kube
