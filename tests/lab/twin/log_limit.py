"""Logs within limits: logs.json of the state folder (docs/protocol.md, section 7)."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from tests.lab.machine.errors import WinError
from tests.lab.twin.state import Document, StateFolder

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

DISK_FULL = 112
FILE_EXISTS = 80


def keep_small(node: SimulatedNode, folder: StateFolder) -> None:
    """Each log of logs.json; what cannot be done now is left for the next time."""
    for log in (folder.read("logs.json") or {}).get("logs") or []:
        with contextlib.suppress(WinError):
            if node.drive.kind(node.drive.parent(log["path"])) == "directory":
                if log["empty"]:
                    _clear(node, log)
                _remove_old(node, log)


def _parts(path: str) -> tuple[str, str, str]:
    """Folder, name and ending."""
    place, _, name = path.rpartition("\\")
    stem, dot, ending = name.rpartition(".")
    return (place, stem, dot + ending) if dot else (place, name, "")


def _clear(node: SimulatedNode, log: Document) -> None:
    drive, path = node.drive, str(log["path"])
    if drive.kind(path) != "file" or drive.stat(path).size <= log["max_bytes"]:
        return
    place, stem, ending = _parts(path)
    aside = f"{place}\\{stem}-{node.clock.utc():%Y%m%dT%H%M%S}{ending}"
    if drive.exists(aside):
        raise WinError(FILE_EXISTS, aside)
    try:
        drive.write(aside, drive.read(path)[-log["max_bytes"] :])
    except WinError as error:
        if drive.exists(aside):
            drive.delete(aside)
        if error.code != DISK_FULL:
            raise
    drive.write(path, b"")


def _remove_old(node: SimulatedNode, log: Document) -> None:
    place, stem, ending = _parts(str(log["path"]))
    form = re.compile(rf"{re.escape(stem)}-\d{{8}}T\d{{6}}(\.\d{{3}})?{re.escape(ending)}", re.IGNORECASE)
    names = sorted((name for name in node.drive.listdir(place) if form.fullmatch(name)), key=str.lower)
    over = len(names) - int(log["keep_files"])
    limit = node.clock.now() - 86400 * float(log["keep_days"])
    for number, name in enumerate(names):
        with contextlib.suppress(WinError):
            if number < over or node.drive.stat(f"{place}\\{name}").written < limit:
                node.drive.delete(f"{place}\\{name}")
