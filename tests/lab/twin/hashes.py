"""The cache of hashes: a file whose size, write time and file id are as noted is not read again."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING, Any

from tests.lab.machine.errors import WinError
from tests.lab.twin import shapes

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.twin.state import StateFolder

AT_REST_S = 2.0
"""A file that was written later can change again without a new time: its hash is not noted."""


class Hashes:
    """`hashes.json` of a state folder; nothing is written when there is no folder, or it is not ours to write to."""

    def __init__(self, node: SimulatedNode, folder: StateFolder, writable: bool) -> None:
        self._node = node
        self._folder = folder
        self._writable = writable and folder.exists() and folder.refusal() is None
        self._known: dict[str, Any] = {}
        if self._writable:
            self._known = {path.lower(): noted for path, noted in (folder.read("hashes.json") or {}).items()}
        self._changed = False

    def sha256(self, path: str, fresh: bool = False) -> str:
        """fresh: what is noted is not believed."""
        stat = self._node.drive.stat(path)
        facts = {"size": stat.size, "written": self._node.clock.iso(stat.written), "file_id": f"{stat.file_id:x}"}
        known = shapes.fitting(self._known.get(path.lower()), shapes.HASH)
        noted: str = known.pop("sha256", "")
        if not fresh and known == facts and shapes.IS_SHA256(noted):
            return noted
        found = hashlib.sha256(self._node.drive.read(path)).hexdigest()
        if self._node.clock.now() - stat.written < AT_REST_S:
            return found
        self._known[path.lower()] = {**facts, "sha256": found}
        self._changed = True
        return found

    def save(self) -> None:
        """Where it cannot be written, as on a full disk, the next probe takes longer."""
        if self._writable and self._changed:
            with contextlib.suppress(WinError):
                self._folder.write(dict(sorted(self._known.items())), "hashes.json")
