"""What runs on a node, for docs/what-runs-on-a-node.md and docs/figures.md.

Every PowerShell program of the collection, what starts it, as whom, for how long, and what PowerShell logs of it. A
program without a row here ends `make generate`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.conftest import ROOT
from tests.quality.powershell_programs import parts, programs
from tests.unit.powershell.source import read

LARGE = 2000
"""Bytes from which on a function has a row of its own."""
_FUNCTION = re.compile(r"^function ([\w-]+)", re.MULTILINE)
_LOGIN = "the user of the connection, elevated"


@dataclass(frozen=True, slots=True)
class Payload:
    """One program: what starts it, as whom, until when, and what of it PowerShell logs by itself."""

    starts: str
    user: str
    until: str
    logged: str


PAYLOADS = {
    "node_probe.ps1": Payload("Ansible, for each reading", _LOGIN, "the call ends; it changes nothing", "the script"),
    "node_apply.ps1": Payload(
        "Ansible, for each change", _LOGIN, "the batch has an outcome, or the connection breaks", "the script"
    ),
    "runner.ps1": Payload(
        r"the scheduled task `\winkube\runner`: when a batch comes, at startup, and every minute while one is open; "
        "with `winkube_runner: inline` the call itself",
        f"SYSTEM (`inline`: {_LOGIN})",
        "the batch is done or rolled back; the task is disabled while none is open",
        "the script, read from `C:\\ProgramData\\winkube`",
    ),
    "hns.ps1": Payload("the runner, in a batch that changes HNS", "SYSTEM", "the batch ends", "as a block of its own"),
    "hns_read.ps1": Payload("`node_probe`, when it asks HNS", _LOGIN, "the call ends", "as a block of its own"),
    "host_process.ps1": Payload(
        "the pod of the connection `host_process`, for servers that cannot close a stream, for files and long commands",
        "SYSTEM, in a HostProcess container",
        "the command ends, at the latest with the pod",
        "the script",
    ),
}


def list_payloads() -> Iterator[str]:
    """A row for each program. KeyError for one that has none in PAYLOADS."""
    for path, text in programs().items():
        each = PAYLOADS[path.name]
        place = path.relative_to(ROOT)
        link = f"[`{path.name}`](../{place})"
        size = f"{len(text.encode()):,}"
        yield f"| {link} | {each.starts} | {each.user} | {each.until} | {each.logged} | {size} |"


def list_functions() -> Iterator[str]:
    """A row for each large function of a program, the largest first, and one for the others together."""
    for path, text in programs().items():
        sizes = sorted(((_sizes()[name], name) for name in _FUNCTION.findall(text)), reverse=True)
        for size, name in sizes:
            if size >= LARGE:
                yield f"| {path.name} | {name} | {size:,} |"
        small = [size for size, _name in sizes if size < LARGE]
        yield f"| {path.name} | {len(small)} smaller ones | {sum(small):,} |"


@cache
def _sizes() -> dict[str, int]:
    """Each function's bytes, as it is sent: without its comments."""
    sources = sorted((ROOT / "powershell").rglob("*.ps1"))
    return {part.function: len(part.text.encode()) for path in sources for part in parts(read(path)) if part.function}
