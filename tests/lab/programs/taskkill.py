"""taskkill.exe, judged by memory.

/PID n or /IM name, with /T, /F and `/FI "IMAGENAME eq <name>"`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

_IMAGE = "imagename eq "


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    rest, pids, names, tree, image = argv[1:], list[int](), list[str](), False, ""
    while rest:
        option = rest.pop(0).lower()
        if option == "/t":
            tree = True
        elif option == "/pid" and rest and rest[0].isdigit():
            pids.append(int(rest.pop(0)))
        elif option == "/im" and rest:
            names.append(rest.pop(0))
        elif option == "/fi" and rest and rest[0].lower().startswith(_IMAGE):
            image = rest.pop(0)[len(_IMAGE) :].lower()
        elif option != "/f":
            return text(1, "", crlf(f"ERROR: Invalid argument/option - '{option}'."))
    found = [pid for pid in pids if node.processes.get(pid)] + [process.pid for process in node.processes.named(names)]
    if image:  # with a filter, no process is no error; field knowledge, unverified
        found = [one.pid for one in node.processes.named([image]) if one.pid in found]
        if not found:
            return text(0, crlf("INFO: No tasks running with the specified criteria."))
    if not found:
        wanted = str(pids[0]) if pids else names[0] if names else ""
        return text(128, "", crlf(f'ERROR: The process "{wanted}" not found.'))
    if not caller.elevated:
        return text(
            1, "", crlf(f"ERROR: The process with PID {found[0]} could not be terminated.", "Reason: Access is denied.")
        )
    for pid in found:
        if tree:
            node.processes.kill_tree(pid)
        else:
            node.processes.kill(pid)
    return text(0, crlf(*(f"SUCCESS: The process with PID {pid} has been terminated." for pid in found)))
