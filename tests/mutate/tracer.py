"""Which lines of the project a test executes, and which of its text files it opens; also in ansible-playbook.

As a pytest plugin (`-p tests.mutate.tracer`) in the test's own process; the copy of the tree that is traced begins it
in Ansible's processes, too (tests/mutate/tree.py). Each line is written once in a process, as `path:line`, a file that
is opened as `path:0`, into the file that the copy's `.trace` names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("plugins/", "roles/", "playbooks/", "meta/", "docs/", "README.md")
POINTER = ROOT / ".trace"
_TOOL = 4  # 0, 1 and 2 are for debuggers, coverage and profilers by convention
_COLLECTION = "/ansible_collections/winkube/node/"


def project_path(name: str, folders: tuple[str, ...]) -> str | None:
    """A file name as Python knows it, relative to the project; None for files of others, and for code that ansible-core
    names after a collection but has made itself (`plugins/__synthetic__`)."""
    _, found, tail = name.partition(_COLLECTION)
    if not found and name.startswith(f"{ROOT}{os.sep}"):
        tail = name[len(str(ROOT)) + 1 :]
    return tail if tail.startswith(folders) and (ROOT / tail).is_file() else None


def may_have_values(name: str) -> bool:
    """Whether an opened file may have values that somebody wrote: Python's own are traced line by line, and a packed
    table is generated."""
    return not name.endswith((".py", ".pyc", ".gz"))


def start() -> None:
    """Trace this process and those that it forks, if the tree is one that is traced."""
    if not POINTER.exists():
        return
    monitoring = vars(sys)["monitoring"]  # from Python 3.12 on
    if monitoring.get_tool(_TOOL) is not None:
        return
    target = os.open(POINTER.read_text(encoding="utf-8"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    known: dict[str, str | None] = {}

    def line(code: CodeType, number: int) -> Any:
        name = code.co_filename
        if name not in known:
            known[name] = project_path(name, FOLDERS)
        if known[name]:
            os.write(target, f"{known[name]}:{number}\n".encode())
        return monitoring.DISABLE

    def opened(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and may_have_values(arguments[0]):
            path = project_path(arguments[0], FOLDERS)
            if path:
                os.write(target, f"{path}:0\n".encode())

    monitoring.use_tool_id(_TOOL, "winkube-mutate")
    monitoring.register_callback(_TOOL, monitoring.events.LINE, line)
    monitoring.set_events(_TOOL, monitoring.events.LINE)
    sys.addaudithook(opened)


start()
