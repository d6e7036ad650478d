"""What is on a simulated node, for people: services with their command lines, containerd's configuration."""

from __future__ import annotations

import re

from tests.lab.machine.node import SimulatedNode
from tests.lab.server.nodes import NodeSpec

START = {0: "boot", 1: "system", 2: "automatic", 3: "manual", 4: "disabled"}
CONFIGURATIONS = (
    "C:\\Program Files\\containerd\\config.toml",
    "C:\\etc\\containerd\\config.toml",
    "C:\\containerd\\config.toml",
)
SERVICES = "HKLM\\SYSTEM\\CurrentControlSet\\Services"
_TOML = re.compile(r"[A-Za-z]:[\\/][^\"<>|?*:]*?\.toml")


def show(node: SimulatedNode, spec: NodeSpec) -> str:
    """Several lines of text; the first says that all of it is simulated."""
    release = node.release
    lines = [
        f"{node.name}: a simulated {release.product} (build {release.build}.{release.revision}), "
        f"{spec.username}@{spec.address}:{spec.port}, {'on' if node.powered else 'switched off'}, "
        f"clock {node.clock.iso()}",
        "",
        "services (simulated; those of Windows itself left out):",
    ]
    lines += _services(node) or ["  none"]
    for path in _configurations(node):
        lines += ["", f"{path} (simulated):"]
        lines += [f"  {line}" for line in node.drive.read(path).decode("utf-8", "replace").splitlines()]
    return "\n".join(lines) + "\n"


def _services(node: SimulatedNode) -> list[str]:
    lines = []
    for name in node.services.names():
        config = node.services.config(name)
        if _is_windows_own(config.image_path):
            continue
        lines += [
            f"  {name}: {node.services.state(name)}, start {START.get(config.start, config.start)}",
            f"    {config.image_path}",
        ]
        wrapped = _wrapped(node, name)
        if wrapped:
            lines.append(f"    runs: {wrapped}")
    return lines


def _is_windows_own(image_path: str) -> bool:
    line = image_path.lower().lstrip('"').replace("\\??\\", "")
    return line.startswith(("c:\\windows\\", "%systemroot%\\", "\\systemroot\\", "system32\\"))


def _wrapped(node: SimulatedNode, name: str) -> str:
    """The command line of what a service manager like nssm runs, "" for a service without one."""
    key = f"{SERVICES}\\{name}\\Parameters"
    return " ".join(filter(None, (node.registry.text(key, value) for value in ("Application", "AppParameters"))))


def _configurations(node: SimulatedNode) -> list[str]:
    """config.toml files: in the usual places, and those that a service's command line names."""
    candidates = list(CONFIGURATIONS)
    for name in node.services.names():
        candidates += _TOML.findall(f"{node.services.config(name).image_path} {_wrapped(node, name)}")
    unique = {path.lower(): path for path in candidates}
    return [path for path in unique.values() if node.drive.is_file(path)]
