"""What ends by itself: expiry.json of the state folder (docs/protocol.md, section 6)."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tests.lab.machine.errors import WinError
from tests.lab.twin.ops import perform
from tests.lab.twin.state import Document, StateFolder
from tests.lab.twin.work import OpError, Work

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.processes import Process

Steps = Generator[float | None, None, None]


def expire(node: SimulatedNode, folder: StateFolder, process: Process) -> Steps:
    """Does what expiry.json says, if its time is over. OpError if one of the first ops fails."""
    document = folder.read("expiry.json")
    if document is None or datetime.fromisoformat(str(document["at"])) > node.clock.utc():
        return
    work = Work(node, process, state_dir=folder.path)
    yield from _all(work, document, "first")
    outcome: dict[str, Any] = {"schema": 1, "at": node.clock.iso(), "same": False, "error": ""}
    try:
        path = str(document["path"])
        if node.drive.kind(path) == "file":
            outcome["same"] = hashlib.sha256(node.drive.read(path)).hexdigest() in document["sha256"]
        if outcome["same"]:
            yield from _all(work, document, "same")
    except (OpError, WinError) as error:
        outcome["error"] = str(error)
    folder.write(outcome, "expired.json")
    folder.drop("expiry.json")
    yield from _all(work, document, "last")


def _all(work: Work, document: Document, name: str) -> Steps:
    for op in document[name]:
        yield from perform(work, str(op["op"]), op["args"])
