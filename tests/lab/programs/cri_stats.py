"""containerd.exe's CPU usage, judged by containerd v1.7.12 pkg/cri/server/container_stats_list.go.

What a simulated containerd and the kubelet above it say of the CPU usage of their containers.

Windows moves a container's counter in steps; containerd 1.7.0 to 2.2 computes usageNanoCores against the last call of
anybody, and so says 0 where the counter has not moved. 1.6 reports the counter alone, and the kubelet computes the
usage against its own last reading; where containerd does report a value, the kubelet passes it on.
Sources: containerd v1.6.36 and v1.7.12 pkg/cri/server/container_stats_list_windows.go, container_stats_list.go
(getUsageNanoCores); kubernetes v1.37.1 pkg/kubelet/stats/cri_stats_provider.go (getAndUpdateContainerUsageNanoCores).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.lab.programs import containers

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process

SECOND = 1_000_000_000
STEP_S = 1.0
"""So long a counter stands still. In the log of containerd#9531 it was 0.36 s at least."""


@dataclass(frozen=True)
class Cpu:
    """Of one container: nanoseconds since 1970, CPU time so far, nanocores (None: not reported)."""

    container: containers.Container
    at_ns: int
    core_ns: int
    nano_cores: int | None


class Stats:
    """One node's: `call_s` pass on it with each call of CRI, `summary_s` with each of the summary."""

    def __init__(self, node: SimulatedNode, call_s: float = 0.4, summary_s: float = 2.5) -> None:
        self.node, self.call_s, self.summary_s = node, call_s, summary_s
        self._containerd: dict[str, tuple[int, int]] = {}
        self._kubelet: dict[str, tuple[int, int]] = {}

    def server(self, port: int = 8888) -> Process | None:
        """The containerd that serves CRI on this TCP port; None where nobody listens, or without CRI."""
        if port not in self.node.network.listeners or self.node.services.state("containerd") != "running":
            return None
        found = self.node.processes.get(self.node.services.runtime("containerd").pid)
        return found if found is not None and found.facts.get("cri") == "yes" else None

    def list_container_stats(self) -> list[Cpu]:
        """CRI's answer."""
        self.node.clock.advance(self.call_s)
        return self._asked()

    def summary(self) -> dict[str, Any]:
        """kubelet's `/stats/summary`."""
        self.node.clock.advance(self.summary_s)
        pods: dict[str, dict[str, Any]] = {}
        for cpu in self._asked():
            found = {
                "time": self.node.clock.iso(),
                "usageCoreNanoSeconds": cpu.core_ns,
                "usageNanoCores": self._of_kubelet(cpu),
            }
            one = cpu.container
            pod = {"podRef": {"namespace": one.namespace, "name": one.pod}, "cpu": found, "containers": []}
            pods.setdefault(one.pod, pod)["containers"].append({"name": one.container, "cpu": found})
        return {"node": {}, "pods": list(pods.values())}

    def _asked(self) -> list[Cpu]:
        server = self.server()
        found = containers.of(server) if server is not None else []
        version = server.facts.get("version", "") if server is not None else ""
        return [self._of_containerd(one, version) for one in found if one.container]

    def _of_containerd(self, one: containers.Container, version: str) -> Cpu:
        process = self.node.processes.get(one.pid)
        age = self.node.clock.now() - (process.started if process is not None else self.node.clock.now())
        at = int(self.node.clock.utc().timestamp() * SECOND)
        core = int(age // STEP_S * STEP_S * one.cores * SECOND)
        line = tuple(int(part) for part in version.split(".")[:2])
        if line < (1, 7):
            return Cpu(one, at, core, None)
        before = self._containerd.get(one.id)
        self._containerd[one.id] = (at, core)
        cannot = before is None or at <= before[0]
        if cannot or before is None:
            return Cpu(one, at, core, None if line >= (2, 3) else 0)
        return Cpu(one, at, core, (core - before[1]) * SECOND // (at - before[0]))

    def _of_kubelet(self, cpu: Cpu) -> int | None:
        if cpu.nano_cores is not None:
            return cpu.nano_cores
        before = self._kubelet.get(cpu.container.id)
        self._kubelet[cpu.container.id] = (cpu.at_ns, cpu.core_ns)
        if before is None or cpu.at_ns <= before[0]:
            return None
        return (cpu.core_ns - before[1]) * SECOND // (cpu.at_ns - before[0])
