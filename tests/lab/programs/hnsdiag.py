"""hnsdiag.exe, judged by memory.

`list networks|endpoints|namespaces|loadbalancers|all`, with -df the objects as JSON.

The form of its text is field knowledge, unverified.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.lab.machine.hns_errors import HnsError
from tests.lab.machine.program import Caller, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

LISTS = {"networks": "networks", "endpoints": "endpoints", "namespaces": "namespaces", "loadbalancers": "policylists"}


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    words = [item.lower() for item in argv[1:]]
    raw = "-df" in words
    words = [item for item in words if item != "-df"]
    if len(words) != 2 or words[0] != "list" or words[1] not in {*LISTS, "all"}:
        return text(1, f"The lab does not simulate hnsdiag {' '.join(argv[1:])}.\r\n")
    if not caller.elevated:
        return text(1, "", crlf("Access is denied."))
    lines: list[str] = []
    try:
        for name in LISTS if words[1] == "all" else [words[1]]:
            found = node.hns.objects(LISTS[name])
            lines += [json.dumps(item) for item in found] if raw else [f"{name.capitalize()}:"]
            lines += [] if raw else [f"{item['ID']} | {item.get('Name', '')}" for item in found]
    except HnsError as error:
        return text(1, "", crlf(str(error)))
    return text(0, crlf(*lines))
