"""kubelet.exe's shutdown, judged by kubernetes v1.37.1 pkg/kubelet/nodeshutdown/nodeshutdown_manager_windows.go.

Graceful node shutdown: what the kubelet sets up for it, and what it does when the machine goes down.

Sources: kubernetes v1.37.1 pkg/kubelet/nodeshutdown/nodeshutdown_manager{,_windows}.go, pkg/windows/service/service.go,
pkg/features/kube_features.go, pkg/kubelet/apis/config/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.lab.cluster.client import MERGE, NodeClient
from tests.lab.machine.services import PRESHUTDOWN_MS
from tests.lab.programs.daemon import Daemon, ExitError, Steps
from tests.lab.programs.flags import pairs

SINCE, ON_SINCE = 32, 34
"""WindowsGracefulNodeShutdown: alpha, and on by default. Before, a kubelet on Windows has no shutdown manager."""
GATE = "WindowsGracefulNodeShutdown"
SERVICE = "kubelet"
"""The name is fixed: serviceKubelet."""
CRITICAL = 2_000_000_000
CONTROL = "HKLM\\SYSTEM\\CurrentControlSet\\Control"
SERVICES = f"{CONTROL.rpartition(chr(92))[0]}\\Services"
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(value: object) -> float:
    """A metav1.Duration. ExitError with Go's words."""
    if not isinstance(value, str):
        raise ExitError(
            f"failed to load kubelet config file: json: cannot unmarshal {value!r} into Go value of type string"
        )
    sign, rest = (-1, value[1:]) if value.startswith("-") else (1, value)
    parts = re.findall(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|ms|s|m|h)", rest)
    if rest != "0" and (not parts or "".join(number + unit for number, unit in parts) != rest):
        what = "missing unit in duration" if re.fullmatch(r"[\d.]+", rest) else "invalid duration"
        raise ExitError(f'failed to load kubelet config file: time: {what} "{value}"')
    return sign * sum(float(number) * _UNITS[unit] for number, unit in parts)


def _periods(document: Mapping[str, Any]) -> tuple[float, float]:
    total, critical = (document.get(name, "0s") for name in ("shutdownGracePeriod", "shutdownGracePeriodCriticalPods"))
    return seconds(total), seconds(critical)


def check(document: Mapping[str, Any]) -> None:
    """What the kubelet refuses when it starts, whatever its gates for Windows."""
    total, critical = _periods(document)
    problems = []
    if critical > total:
        problems.append("shutdownGracePeriodCriticalPods must be <= shutdownGracePeriod")
    problems += [
        f"{name} must be either zero or otherwise >= 1 sec"
        for name, value in (("shutdownGracePeriod", total), ("shutdownGracePeriodCriticalPods", critical))
        if value < 0 or 0 < value < 1
    ]
    if problems:
        raise ExitError(f"failed to validate kubelet configuration, error: invalid configuration: {problems[0]}")


@dataclass(frozen=True)
class Handler:
    """What the preshutdown of the kubelet's service runs."""

    daemon: Daemon
    normal_s: int
    critical_s: int

    def process(self, api: NodeClient, name: str) -> Steps:
        """Ends the pods, those of the system last; each has its own grace period, cut at that of its group."""
        node = self.daemon.node
        self.daemon.log('"Shutdown manager detected new preshutdown event" event="preshutdown"')
        pods = api.pods_of(name)
        for limit, critical in ((self.normal_s, False), (self.critical_s, True)):
            group = [pod for pod in pods if (int(pod["spec"].get("priority") or 0) >= CRITICAL) == critical]
            if not group:
                continue
            end = node.clock.now() + max(min(_grace(pod), limit) for pod in group)
            while node.clock.now() < end:
                yield end - node.clock.now()
            for pod in group:
                metadata = pod["metadata"]
                path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
                message = "Pod was terminated in response to imminent node shutdown."
                api.send(
                    "PATCH", path, {"status": {"phase": "Failed", "reason": "Terminated", "message": message}}, MERGE
                )
        self.daemon.log('"Shutdown manager completed processing preshutdown event, node will shutdown shortly"')


def _grace(pod: Mapping[str, Any]) -> int:
    return int(pod["spec"].get("terminationGracePeriodSeconds", 30))


def handler(daemon: Daemon, document: Mapping[str, Any]) -> Handler | None:
    """The kubelet starts without it all the same, and says why in its log."""
    gates = {**(document.get("featureGates") or {}), **pairs(daemon.flags.text("feature-gates"))}
    wanted = str(gates.get(GATE, daemon.minor >= ON_SINCE)).lower() == "true"
    total, critical = _periods(document)
    if daemon.minor < SINCE or not wanted:
        return None
    if not total:
        daemon.log('"Node shutdown manager is disabled as no shutdown grace period is configured"')
        return None
    problem = _problem(daemon)
    if problem:
        daemon.log(f'"Failed to start node shutdown manager" err="{problem}"', "E")
        return None
    registry, key = daemon.node.registry, f"{SERVICES}\\{SERVICE}"
    found = Handler(daemon, int(total - critical), int(critical))
    wanted_ms = (found.normal_s + found.critical_s) * 1000
    if wanted_ms > registry.number(key, "PreshutdownTimeout", PRESHUTDOWN_MS):
        registry.set(key, "PreshutdownTimeout", "dword", wanted_ms)
    return found


def _problem(daemon: Daemon) -> str:
    node = daemon.node
    if daemon.host is None:
        return f"{SERVICE} is NOT running as a Windows service"
    if not node.services.exists(SERVICE):
        return f"Could not access service {SERVICE}: The specified service does not exist as an installed service."
    if not node.registry.strings(CONTROL, "PreshutdownOrder"):
        return "Could not access registry value PreshutdownOrder: The system cannot find the file specified."
    return ""
