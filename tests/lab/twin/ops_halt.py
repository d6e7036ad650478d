"""halt: a service and what depends on it, stopped in whatever state they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.twin.ops_system import execute
from tests.lab.twin.work import Args, OpError, OpRun, Work

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

SC = "C:\\Windows\\System32\\sc.exe"
WINDOWS = "c:\\windows\\"
PATIENCE_S = 30.0


def halt(work: Work, args: Args) -> OpRun:
    """A service and all that depends on it, in whatever state: asked to stop, and ended where that does not help."""
    node, name = work.node, str(args["name"])
    clock, began = node.clock, node.clock.now()
    timeout = work.time_left(float(args["timeout_s"]))
    patience = min(timeout, float(args.get("end_after_s") or PATIENCE_S))
    ended: set[str] = set()
    before: dict[str, str] = {}
    since = began
    changed, pause = False, 0.5
    work.seam("halting")
    while active := _active(node, name):
        changed = True
        passed = clock.now() - began
        if (now := {service: node.services.state(service) for service in active}) != before:
            before, since = now, clock.now()
        for service in active:
            state = node.services.state(service)
            # One that runs may wait for what depends on it, which is on its way down and comes before it.
            rises = state not in {"stop_pending", "running", "paused"}
            refuses = state != "stop_pending" and service == active[0]
            late = (state == "stop_pending" and passed >= timeout) or (
                clock.now() - since >= patience and (rises or refuses)
            )
            if late and service not in ended:
                ended.add(service)
                _end_process(node, service)
                pause = 0.5
            elif state in {"running", "paused"}:
                order = {"program": SC, "args": ["stop", service], "timeout_s": 30}
                yield from execute(work, order, 30.0)
        if passed >= timeout + patience + 30:
            first = active[0]
            raise OpError(
                f"The service {first} did not stop within {round(passed, 1):g} s: it is "
                f"{node.services.state(first)}, although its process was ended."
            )
        yield pause
        pause = min(5.0, pause * 1.5)
    return {"changed": changed}


def _active(node: SimulatedNode, name: str) -> list[str]:
    """Those that live among the service and what depends on it, the last of a chain first."""
    found: list[str] = []

    def visit(service: str) -> None:
        for other in node.services.dependents(service) if node.services.exists(service) else ():
            visit(other)
        if service not in found and node.services.state(service) not in {"stopped", "absent"}:
            found.append(service)

    visit(name)
    return found


def _end_process(node: SimulatedNode, name: str) -> None:
    """Its children stay, pods among them, but for what nssm runs. A process of Windows' own is left alone."""
    process = node.services.runtime(name).process
    image = node.services.config(name).image_path.strip('"').lower()
    if process is None or image.startswith(WINDOWS):
        return
    if node.registry.value(f"HKLM\\SYSTEM\\CurrentControlSet\\Services\\{name}\\Parameters", "Application"):
        node.processes.kill_tree(process.pid)
    else:
        node.processes.kill(process.pid)
