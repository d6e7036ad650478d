"""containerd.exe's CRI, judged by containerd v2.2.9 core/runtime/v2/shim_manager.go.

What a client sees of containerd through its pipe.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.lab.cluster.client import windows
from tests.lab.machine import image
from tests.lab.machine.errors import WinError
from tests.lab.machine.pipes import pipe_name

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process

SHIM = "containerd-shim-runhcs-v1.exe"


WINDOWS_PLUGINS = ("win-bridge", "win-overlay")


@dataclass(frozen=True)
class Runtime:
    """conf_dir, bin_dirs: where it looks for CNI configurations and plugins; shim: the one that it runs pods by, empty
    if there is none."""

    version: str
    conf_dir: str
    bin_dirs: tuple[str, ...]
    shim: str = ""


def connect(node: SimulatedNode, endpoint: str, minor: int) -> Runtime | str:
    """The runtime behind the endpoint, or why a kubelet of this minor cannot use it."""
    shown = f'validate service connection: validate CRI v1 runtime API for endpoint "{endpoint}": rpc error'
    owner = node.pipes.owner(endpoint)
    server = node.processes.get(owner) if owner is not None else None
    if server is None:
        pipe = f"//./pipe/{pipe_name(endpoint)}"
        said = f'"transport: Error while dialing: open {pipe}: The system cannot find the file specified."'
        return f"{shown}: code = Unavailable desc = connection error: desc = {said}"
    version = server.facts.get("version", "0.0")
    major, line = (int(part) for part in version.split(".")[:2])
    if server.facts.get("cri") != "yes" or (minor >= 26 and (major, line) < (1, 6)):
        return f"{shown}: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"
    if minor < 23 and major >= 2:
        return f"{shown}: code = Unimplemented desc = unknown service runtime.v1alpha2.RuntimeService"
    bins = tuple(server.facts.get("cni_bin_dirs", "").split(";"))
    return Runtime(version, server.facts.get("cni_conf_dir", ""), bins, shim(node, server))


def shim(node: SimulatedNode, server: Process) -> str:
    """The first of its name in the Path that containerd was started with, only then the one beside itself; it keeps to
    what it has found.

    Source: containerd core/runtime/v2/shim_manager.go, resolveRuntimePath (runtime/v2/manager.go up to 1.7):
    exec.LookPath, and where that finds none the folder of os.Executable. A service gets the Path of the last start of
    the machine.
    """
    if not server.facts.get("shim"):
        beside = f"{server.path.rpartition(chr(92))[0]}\\{SHIM}"
        found = image.on_path(node.drive, server.environment, SHIM)
        server.facts["shim"] = next(iter(found), beside if node.drive.is_file(beside) else "")
    return server.facts["shim"]


def network_problem(node: SimulatedNode, runtime: Runtime) -> str:
    """Why the runtime's network is not ready, in the kubelet's words; `` when it is."""
    why = "cni plugin not initialized"
    for name in _configurations(node, runtime.conf_dir):
        types = _plugins(node, f"{runtime.conf_dir}\\{name}")
        if types and all(_has(node, runtime, kind) for kind in types):
            return ""
        break  # only the first configuration counts
    return (
        "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin "
        f"returns error: {why}"
    )


def delegate(node: SimulatedNode, runtime: Runtime, subnet: str) -> dict[str, Any] | None:
    """What win-bridge or win-overlay is given for each pod; None where the first configuration names neither.

    flannel hands its delegate on with host-local for the node's range. Sources: flannel-io/cni-plugin v1.2.0
    flannel_windows.go (doCmdAdd), flannel.go (delegateAdd).
    """
    for name in _configurations(node, runtime.conf_dir)[:1]:
        document = _document(node, f"{runtime.conf_dir}\\{name}")
        plugins = document.get("plugins") or [document] if isinstance(document, dict) else []
        first = plugins[0] if isinstance(plugins, list) and plugins and isinstance(plugins[0], dict) else {}
        worker = first.get("delegate") if first.get("type") == "flannel" else first
        if not isinstance(worker, dict) or worker.get("type", "win-bridge") not in WINDOWS_PLUGINS:
            return None
        ipam = {"ipam": {"type": "host-local", "subnet": subnet}} if first.get("type") == "flannel" else {}
        return {**worker, **ipam, "name": document.get("name")}
    return None


def _configurations(node: SimulatedNode, folder: str) -> list[str]:
    if not folder or not node.drive.is_dir(windows(folder, "C:")):
        return []
    return sorted(name for name in node.drive.listdir(folder) if name.endswith((".conf", ".conflist", ".json")))


def _document(node: SimulatedNode, path: str) -> Any:
    """A file as Go's encoding/json decodes it: UTF-8, whose broken bytes become U+FFFD, and no byte order mark, which
    is an invalid character at the beginning (so is UTF-16); None for what it refuses."""
    try:
        return json.loads(node.drive.read(path).decode("utf-8", errors="replace"))
    except (WinError, ValueError):
        return None


def _plugins(node: SimulatedNode, path: str) -> list[str]:
    """The types in a configuration, with what `flannel` delegates to; empty if it cannot be read."""
    document = _document(node, path)
    if not isinstance(document, dict) or not document.get("name"):
        return []
    # A list counts under its own ending alone. Source: containerd go-cni opts.go, loadFromConfDir.
    plugins = document.get("plugins") if path.endswith(".conflist") else [document]
    found: list[str] = []
    for plugin in plugins if isinstance(plugins, list) else []:
        if not isinstance(plugin, dict) or not plugin.get("type"):
            return []
        found.append(str(plugin["type"]))
        if plugin["type"] == "flannel":
            delegate = plugin.get("delegate") or {}
            found.append(str(delegate.get("type") or "win-bridge"))
    return found


def _has(node: SimulatedNode, runtime: Runtime, kind: str) -> bool:
    names = [kind] if kind.lower().endswith(".exe") else [f"{kind}.exe", kind]
    return any(node.drive.is_file(f"{folder}\\{name}") for folder in runtime.bin_dirs if folder for name in names)
