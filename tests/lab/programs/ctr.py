r"""ctr.exe, judged by transcripts.

`version`, `task ls`, `images ls -q` and `images pull`, which need the pipe. Default address:
\\.\pipe\containerd-containerd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, text
from tests.lab.programs import containers, images
from tests.lab.programs.containerd import revision, version_of
from tests.lab.programs.containerd_config import DEFAULT_ADDRESS

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

_ADDRESS = ("--address", "-a")
_WITH_VALUE = {*_ADDRESS, "--namespace", "-n", "--timeout", "--connect-timeout"}


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.15
    version = version_of(node, argv[0])
    package = "github.com/containerd/containerd" + ("" if version.startswith("1.") else "/v2")
    address, namespace, rest = DEFAULT_ADDRESS, "default", argv[1:]
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).partition("=")
        if name in {"--version", "-v"}:
            return text(0, f"ctr {package} v{version}\n")
        if name in _WITH_VALUE:
            value = value if equals else (rest.pop(0) if rest else "")
            address = value if name in _ADDRESS else address
            namespace = value if name in ("--namespace", "-n") else namespace
    listing = rest in (["task", "ls"], ["tasks", "ls"], ["t", "ls"])
    of_images = rest == ["images", "ls", "-q"] or (rest[:3] == ["images", "pull", "--hosts-dir"] and len(rest) == 5)
    if rest[:1] not in (["version"], ["v"]) and not listing and not of_images:
        return text(1, "", f"ctr: the lab does not simulate the command {' '.join(rest)}\n")
    client = (
        ""
        if listing or of_images
        else f"Client:\n  Version:  v{version}\n  Revision: {revision(version)}\n  Go version: go1.20.12\n\n"
    )
    owner = node.pipes.owner(address)
    server = node.processes.get(owner) if owner is not None else None
    if server is None:
        yield 10.0
        # The text is field knowledge, unverified; what matters is exit code 1.
        shown = address.replace("\\", "/")
        return text(
            1,
            client,
            f'ctr: failed to dial "{shown}": open {shown}: The system cannot find the file specified.: context '
            "deadline exceeded\n",
        )
    if listing:
        # Only the kubelet's namespace has any.
        found_tasks = containers.of(server) if namespace == "k8s.io" else []
        lines = [f"{one.id}    {one.pid}    {one.status}\n" for one in found_tasks]
        return text(0, f"{'TASK':64}    PID     STATUS    \n" + "".join(lines))
    if of_images and rest[1] == "ls":
        return text(0, "".join(f"{name}\n" for name in images.names(node)) if namespace == "k8s.io" else "")
    if of_images:
        yield 5.0
        problem = images.pull(node, rest[-1], rest[3])
        return text(1, "", f"ctr: {problem}\n") if problem else text(0, "done\n")
    found = server.facts.get("version", "unknown")
    uuid = "00000000-0000-4000-8000-000000000000"
    return text(0, f"{client}Server:\n  Version:  v{found}\n  Revision: {revision(found)}\n  UUID: {uuid}\n")
