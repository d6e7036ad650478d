"""crictl.exe, judged by cri-tools v1.31 cmd/crictl/sandbox.go.

`version`, `pods -o json`, `ps -a -o json`, `rmp --all --force` and `rmi --all`, which need containerd's pipe and its
CRI plugin.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs import containers, images
from tests.lab.programs.containerd import version_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

DEFAULT = "npipe:////./pipe/containerd-containerd"
_ENDPOINT = ("--runtime-endpoint", "-r")
_WITH_VALUE = {*_ENDPOINT, "--image-endpoint", "-i", "--timeout", "-t", "--config", "-c"}

_LISTS = (["pods", "-o", "json"], ["ps", "-a", "-o", "json"])
_REMOVES = (["rmp", "--all", "--force"], ["rmi", "--all"])


def _listed(found: list[containers.Container], *, sandboxes: bool) -> dict[str, Any]:
    """As CRI's answers in JSON. Source: cri-tools v1.31 cmd/crictl/sandbox.go, container.go."""
    chosen = [{"id": one.id, "labels": one.labels} for one in found if bool(one.container) != sandboxes]
    return {"items" if sandboxes else "containers": chosen}


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.15
    endpoint, rest = DEFAULT, argv[1:]
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).partition("=")
        if name in {"--version", "-v"}:
            return text(0, f"crictl version v{version_of(node, argv[0])}\n")
        if name in _WITH_VALUE:
            value = value if equals else (rest.pop(0) if rest else "")
            endpoint = value if name in _ENDPOINT else endpoint
    if rest != ["version"] and rest not in (*_LISTS, *_REMOVES):
        return text(1, "", f"crictl: the lab does not simulate the command {' '.join(rest)}\n")
    owner = node.pipes.owner(endpoint)
    server = node.processes.get(owner) if owner is not None else None
    if server is None:
        yield 2.0
        said = "connection error: the system cannot find the file specified"
        return text(
            1,
            "",
            f'level=fatal msg="validate service connection: validate CRI v1 runtime API for endpoint '
            f'\\"{endpoint}\\": rpc error: code = Unavailable desc = {said}"\n',
        )
    if server.facts.get("cri") != "yes":
        return text(
            1,
            "",
            f'level=fatal msg="validate service connection: validate CRI v1 runtime API for endpoint '
            f'\\"{endpoint}\\": rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"\n',
        )
    if rest == _REMOVES[0]:  # source: cri-tools v1.31 cmd/crictl/sandbox.go, removePodCommand
        gone = [one.id for one in containers.of(server) if not one.container]
        server.facts[containers.FACT] = "[]"
        node.pods.sync([], "")
        return text(0, "".join(f"Stopped sandbox {one}\nRemoved sandbox {one}\n" for one in gone))
    if rest in _REMOVES:
        images.clear(node)
        return text(0, "")
    if rest in _LISTS:
        return text(0, json.dumps(_listed(containers.of(server), sandboxes=rest == _LISTS[0]), indent=2) + "\n")
    found = server.facts.get("version", "unknown")
    return text(0, f"Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  v{found}\nRuntimeApiVersion:  v1\n")
