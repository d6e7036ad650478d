"""wevtutil.exe, judged by memory.

wevtutil.exe `qe <log> /c:<n> /rd:true /f:text`: the log's events as they lie, as text, in its .evtx in the lab.

A test writes them there, an event a block behind an empty line; a log without a file has no events. An unknown log is
Windows' error 15007; its text is field knowledge, unverified.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.lab.machine.program import Caller, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

FOLDER = "C:\\Windows\\System32\\winevt\\Logs"
KNOWN = {
    "system",
    "application",
    "microsoft-windows-host-network-service-admin",
    "microsoft-windows-hyper-v-compute-admin",
    "microsoft-windows-hyper-v-compute-operational",
}


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    words = argv[1:]
    options = {item.partition(":")[0].lower(): item.partition(":")[2].lower() for item in words[2:]}
    if words[:1] != ["qe"] or set(options) != {"/c", "/rd", "/f"} or options["/f"] != "text":
        return text(1, "", crlf(f"The lab does not simulate wevtutil {' '.join(words)}."))
    if words[1].lower() not in KNOWN:
        return text(15007, "", crlf("The specified channel could not be found."))
    path = f"{FOLDER}\\{words[1]}.evtx"
    if not node.drive.is_file(path):
        return text(0, "")
    events = [block for block in node.drive.read(path).decode().split("\n\n") if block.strip()]
    if options["/rd"] == "true":
        events.reverse()
    shown = [f"Event[{number}]\n{block}" for number, block in enumerate(events[: int(options["/c"])])]
    return text(0, "\n\n".join(shown).replace("\n", "\r\n"))
