"""ansible.windows.win_copy for single files, as its action plugin drives it: `query`, then `single`.

Source: ansible.windows 3.8.0, plugins/modules/win_copy.ps1 and plugins/action/win_copy.py.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from tests.lab.machine.errors import NotSimulated, WinError

if TYPE_CHECKING:
    from tests.lab.machine.drive import Drive
    from tests.lab.server.modules import Call

OPTIONS = frozenset(
    {
        "_copy_mode",
        "_original_basename",
        "backup",
        "content",
        "dest",
        "directories",
        "files",
        "force",
        "src",
        "symlinks",
    }
)


def answer(call: Call) -> dict[str, Any]:
    mode = str(call.arguments.get("_copy_mode") or "single")
    if mode not in ("query", "single") or call.arguments.get("backup"):
        raise NotSimulated(f"win_copy copies single files here, without backup: its mode {mode} is not simulated.")
    with call.node.lock:
        try:
            return _query(call) if mode == "query" else _single(call)
        except WinError as error:
            return {"failed": True, "changed": False, "msg": str(error)}


def _checksum(drive: Drive, path: str) -> str:
    return hashlib.sha1(drive.read(path), usedforsecurity=False).hexdigest()


def _query(call: Call) -> dict[str, Any]:
    """Which of the controller's files are not there, or have other content."""
    drive, dest = call.node.drive, str(call.arguments["dest"])
    if call.arguments.get("directories"):
        raise NotSimulated("win_copy of folders is not simulated.")
    force = call.arguments.get("force", True)
    wanted = []
    for file in call.arguments.get("files") or []:
        path = f"{dest.rstrip(chr(92))}\\{file['dest']}"
        if drive.is_dir(path):
            path = f"{path}\\{str(file['src']).rpartition('/')[2]}"
        if not drive.is_file(path) or (force and _checksum(drive, path) != file["checksum"]):
            wanted.append(file)
    return {"changed": False, "files": wanted, "directories": [], "symlinks": []}


def _single(call: Call) -> dict[str, Any]:
    drive, source, dest = call.node.drive, str(call.arguments["src"]), str(call.arguments["dest"])
    if not drive.is_file(source):
        return {
            "failed": True,
            "changed": False,
            "msg": f"Cannot copy src file: '{source}' as it does not exist",
        }
    folder = dest.rstrip("\\") if dest.endswith("\\") or drive.is_dir(dest) else None
    target = dest if folder is None else f"{folder}\\{call.arguments['_original_basename']}"
    parent = drive.parent(target)
    if drive.is_file(parent):
        return {
            "failed": True,
            "changed": False,
            "msg": f"object at destination parent dir '{parent}' is currently a file",
        }
    if not drive.is_dir(parent):
        if folder is None:
            return {"failed": True, "changed": False, "msg": f"Destination directory '{parent}' does not exist"}
        drive.mkdir(parent)
    if not call.check_mode:
        drive.write(target, drive.read(source))
    return {"changed": True}
