"""schtasks.exe, judged by memory.

`/Create /TN <path> /XML <file> /F`, `/Delete /TN <path> /F`, `/Query /TN <path>`, `/End /TN <path>`.

Of a task's XML: one trigger in time with a repetition, one at boot, the account SYSTEM, one program.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from tests.lab.machine.commandline import split_arguments
from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Completed, Run, crlf, text
from tests.lab.machine.tasks import Task

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

_NS = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
_UNITS = {"H": 3600, "M": 60, "S": 1}


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.2
    verb = argv[1].lower() if len(argv) > 1 else ""
    words = argv[2:]
    given = {words[n].lower(): words[n + 1] for n in range(len(words) - 1) if words[n].lower() in ("/tn", "/xml")}
    if not caller.elevated:
        return text(1, "", crlf("ERROR: Access is denied."))
    path = given.get("/tn", "")
    if verb == "/create" and path and "/xml" in given and words[-1].lower() == "/f":
        return _create(node, path, given["/xml"])
    if verb in ("/delete", "/query", "/end") and path:
        if node.tasks.get(path) is None:
            return text(1, "", crlf("ERROR: The system cannot find the file specified."))
        if verb == "/end":
            node.tasks.end(path)
            return text(0, crlf(f'SUCCESS: The scheduled task "{path}" has been terminated successfully.'))
        if verb == "/delete":
            node.tasks.delete(path)
            return text(0, crlf(f'SUCCESS: The scheduled task "{path}" was successfully deleted.'))
        return text(0, crlf(path))
    return text(1, "", crlf(f"The lab does not simulate schtasks {' '.join(argv[1:])}."))


def _create(node: SimulatedNode, path: str, file: str) -> Completed:
    try:
        data = node.drive.read(file)
    except WinError as error:
        return text(1, "", crlf(f"ERROR: {error.text}"))
    if not data.startswith(b"\xff\xfe"):
        return text(1, "", crlf("ERROR: The task XML is malformed.", "(1,40)::ERROR: unable to switch the encoding"))
    try:
        task = _task(node, path, data)
    except (ElementTree.ParseError, ValueError) as error:
        return text(1, "", crlf(f"ERROR: The task XML is malformed. {error}"))
    node.tasks.register(task)
    return text(0, crlf(f'SUCCESS: The scheduled task "{path}" has successfully been created.'))


def _task(node: SimulatedNode, path: str, data: bytes) -> Task:
    root = ElementTree.fromstring(data)

    def value(place: str) -> str:
        return root.findtext(place.replace("/", f"/{_NS}").replace(".", f".//{_NS}", 1), "") or ""

    if value(".Principal/UserId") != "S-1-5-18":
        raise ValueError("only tasks of SYSTEM are simulated")
    interval, start = value(".TimeTrigger/Repetition/Interval"), value(".TimeTrigger/StartBoundary")
    repeat = start_at = None
    if start:
        found = re.fullmatch(r"PT(\d+)([HMS])", interval)
        if found is None:
            raise ValueError(f"unexpected Interval {interval!r}")
        if value(".Settings/StartWhenAvailable") != "true":
            raise ValueError("only tasks that are started when a start was missed are simulated")
        repeat = float(int(found[1]) * _UNITS[found[2]])
        start_at = node.clock.now() + (datetime.fromisoformat(start) - node.clock.utc()).total_seconds()
    return Task(
        path,
        value(".Exec/Command"),
        split_arguments(value(".Exec/Arguments")),
        at_boot=root.find(f".//{_NS}BootTrigger") is not None,
        repeat_s=repeat,
        enabled=value(".Settings/Enabled") != "false",
        start_at=start_at,
    )
