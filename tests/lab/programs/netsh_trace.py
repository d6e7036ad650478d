"""netsh.exe trace, judged by memory.

netsh.exe `trace start` and `trace stop`: one session on the machine; its file appears when it is stopped.

The texts are field knowledge, unverified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Completed, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

SESSION = "HKLM\\SOFTWARE\\Lab\\Trace"


def main(node: SimulatedNode, argv: list[str], caller: Caller) -> Completed:
    verb = argv[2].lower() if len(argv) > 2 else ""
    if not caller.elevated:
        return text(1, crlf("The requested operation requires elevation (Run as administrator)."))
    running = node.registry.text(SESSION, "file")
    if verb == "start":
        given = dict(word.split("=", 1) for word in argv[3:] if "=" in word)
        if running:
            return text(1, crlf("A tracing session is already in progress."))
        providers = [word for word in argv[3:] if word.startswith("provider=")]
        if "tracefile" not in given or not providers:
            return text(1, crlf("The following command was not found or a parameter is missing."))
        node.registry.set(SESSION, "file", "string", given["tracefile"])
        node.registry.set(SESSION, "providers", "dword", len(providers))
        return text(0, crlf("", "Trace configuration:", f"Trace File: {given['tracefile']}"))
    if verb != "stop":
        return text(1, crlf(f"The lab does not simulate netsh {' '.join(argv[1:])}."))
    if not running:
        return text(1, crlf("There is no trace session currently in progress."))
    count = node.registry.number(SESSION, "providers")
    node.drive.write(running, f"ETL of {count} providers\n".encode() + bytes(range(256)))
    node.registry.delete_key(SESSION)
    return text(0, crlf("Merging traces ... done", f"File location = {running}"))
