"""What a process executes of the project: lines, ways out of branches, and the text files that it opens.

Each is written once in a process and from one `restart` to the next, as a line `path:what` of a file: `path:12` is a
line, `path:10@34>50` a way (the function's first line, from which instruction to which), `path:0` a file opened.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CODE = ("plugins/", "tests/lab/")
TEXTS = ("plugins/", "roles/", "playbooks/", "meta/", "docs/", "README.md")
_COLLECTION = "/ansible_collections/winkube/node/"
_TOOL = 4  # 0, 1 and 2 are for debuggers, coverage and profilers by convention

_NUMBER = 500  # of the file in the process: one that no other will get


def project_path(name: str, folders: tuple[str, ...]) -> str | None:
    """A file name as Python knows it, relative to the project; None for files of others, and for code that ansible-core
    names after a collection but has made itself (`plugins/__synthetic__`)."""
    _, found, tail = name.partition(_COLLECTION)
    if not found and name.startswith(f"{ROOT}{os.sep}"):
        tail = name[len(str(ROOT)) + 1 :]
    return tail if tail.startswith(folders) and (ROOT / tail).is_file() else None


def start(file: str) -> None:
    """Trace this process and those that it forks, into this file; a second call does nothing."""
    monitoring = vars(sys).get("monitoring")
    if monitoring is None:
        raise SystemExit("cover: what is executed can be traced from Python 3.12 on: use .venv, made by a newer Python")
    if monitoring.get_tool(_TOOL) is not None:
        return
    low = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    target = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _NUMBER)
    os.close(low)
    events, disable = monitoring.events, monitoring.DISABLE
    # Up to Python 3.13 there is one event for both ways, and disabling it disables both.
    ways = events.BRANCH_LEFT | events.BRANCH_RIGHT if hasattr(events, "BRANCH_LEFT") else events.BRANCH
    known: dict[str, str | None] = {}
    taken: dict[tuple[CodeType, int], int] = {}

    def tell(line: str) -> None:
        with contextlib.suppress(OSError):  # a process that goes into the background closes its files
            os.write(target, f"{line}\n".encode())

    def path_of(code: CodeType) -> str | None:
        name = code.co_filename
        if name not in known:
            known[name] = project_path(name, CODE)
        return known[name]

    def began(code: CodeType, _offset: int) -> Any:
        path = path_of(code)
        if path and code.co_name != "<module>":
            monitoring.set_local_events(_TOOL, code, events.LINE | (ways if path.startswith("plugins/") else 0))
        return disable

    def line(code: CodeType, number: int) -> Any:
        tell(f"{path_of(code)}:{number}")
        return disable

    def branch(code: CodeType, offset: int, to: int) -> Any:
        other = taken.setdefault((code, offset), -1)
        if to != other:
            tell(f"{path_of(code)}:{code.co_firstlineno}@{offset}>{to}")
            taken[code, offset] = to
        return None if other in (-1, to) else disable

    def opened(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and not arguments[0].endswith((".py", ".pyc")):
            path = project_path(arguments[0], TEXTS)
            if path:
                tell(f"{path}:0")

    monitoring.use_tool_id(_TOOL, "winkube-cover")
    monitoring.register_callback(_TOOL, events.PY_START, began)
    monitoring.register_callback(_TOOL, events.LINE, line)
    for event in (events.BRANCH_LEFT, events.BRANCH_RIGHT) if ways != events.BRANCH else (events.BRANCH,):
        monitoring.register_callback(_TOOL, event, branch)
    monitoring.set_events(_TOOL, events.PY_START)
    sys.addaudithook(opened)
    _TAKEN.append(taken)


_TAKEN: list[dict[tuple[CodeType, int], int]] = []


def restart() -> None:
    """What was written before is written again when it is executed again."""
    for taken in _TAKEN:
        taken.clear()
    vars(sys)["monitoring"].restart_events()
