r"""The drive of a machine made of Wine: the prefix's C:, with Windows' rules about names, locks and running programs.

`C:\Windows` stays the lab's image. Access lists are kept here, by file: Wine can set no owner and not all of a list.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.lab.machine.clock import Clock
from tests.lab.machine.drive import SYSTEM, Drive, Entry
from tests.lab.machine.errors import WinError
from tests.lab.machine.faults import Faults
from tests.lab.machine.security import Security, sid_of

SIMULATED = ("windows",)
"""Folders of the root that are the lab's."""
Holders = Callable[[int], set[int]]
"""Inode -> processes whose program the file is."""


@dataclass(eq=False)
class Disk:
    """What entries share: access lists by inode, who runs what, the moment the node's clock began."""

    security: dict[int, Security]
    holders: Holders
    began: float
    held: dict[int, tuple[list[int], list[int]]] = field(default_factory=dict)
    """By inode: the processes that have it open, and those that share it."""
    doomed: set[int] = field(default_factory=set)


class DiskEntry(Entry):
    """A file or folder that lies on the disk: nothing of it is kept here but its access list."""

    def __init__(self, real: Path, name: str, disk: Disk, parent: Entry) -> None:
        self.real, self.name, self.disk, self.parent = real, name, disk, parent
        held = disk.held.setdefault(self.file_id, ([], []))
        self.handles, self.readers = held
        self.target = ""

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "link" if self.real.is_symlink() else "directory" if self.real.is_dir() else "file"

    @property
    def file_id(self) -> int:  # type: ignore[override]
        return self.real.lstat().st_ino

    @property
    def doomed(self) -> bool:
        return self.file_id in self.disk.doomed

    @doomed.setter
    def doomed(self, value: bool) -> None:
        (self.disk.doomed.add if value else self.disk.doomed.discard)(self.file_id)

    @property
    def written(self) -> float:
        return self.real.lstat().st_mtime - self.disk.began

    @written.setter
    def written(self, value: float) -> None:
        """The disk knows."""

    @property
    def data(self) -> bytes:
        return self.real.read_bytes() if self.kind == "file" else b""

    @data.setter
    def data(self, value: bytes) -> None:
        self.real.write_bytes(value)

    @property
    def durable(self) -> bytes:
        return self.data

    @durable.setter
    def durable(self, value: bytes) -> None:
        """The disk of this machine loses nothing."""

    @property
    def images(self) -> set[int]:  # type: ignore[override]
        return self.disk.holders(self.file_id)

    @property
    def children(self) -> MutableMapping[str, Entry]:  # type: ignore[override]
        return Listing(self, {})

    @property
    def security(self) -> Security:
        kept = self.disk.security.get(self.file_id)
        if kept is not None:
            return kept
        return Security(SYSTEM).inheriting(self.parent.security, self.kind == "directory")

    @security.setter
    def security(self, value: Security) -> None:
        self.disk.security[self.file_id] = value


class Root(Entry):
    """The root of the drive: the lab's folders and the disk's."""

    def __init__(self, real: Path, disk: Disk, simulated: Entry) -> None:
        super().__init__(simulated.name, "directory", simulated.security, simulated.file_id)
        self.real, self.disk = real, disk
        self.simulated = {name: simulated.children[name] for name in SIMULATED if name in simulated.children}
        self.children = Listing(self, self.simulated)  # type: ignore[assignment]


class Listing(MutableMapping[str, Entry]):
    """A folder's entries by their name in small letters, as the disk has them now."""

    def __init__(self, folder: Root | DiskEntry, simulated: dict[str, Entry]) -> None:
        self._folder, self._simulated = folder, simulated

    def __getitem__(self, name: str) -> Entry:
        if name in self._simulated:
            return self._simulated[name]
        for item in self._names():
            if item.lower() == name:
                return DiskEntry(self._folder.real / item, item, self._folder.disk, self._folder)
        raise KeyError(name)

    def __setitem__(self, name: str, entry: Entry) -> None:
        """A new entry, as the lab has made it."""
        real = self._folder.real / entry.name
        if entry.kind == "directory":
            real.mkdir()
        elif entry.kind == "file":
            real.write_bytes(entry.data)
        else:
            raise WinError(50, str(real))
        self._folder.disk.security[real.lstat().st_ino] = entry.security

    def __delitem__(self, name: str) -> None:
        entry = self[name]
        assert isinstance(entry, DiskEntry), f"{name} is the lab's"
        self._folder.disk.security.pop(entry.file_id, None)
        if entry.kind == "directory":
            entry.real.rmdir()
        else:
            entry.real.unlink()

    def __iter__(self) -> Iterator[str]:
        yield from self._simulated
        yield from (item.lower() for item in self._names() if item.lower() not in self._simulated)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _names(self) -> list[str]:
        try:
            return sorted(entry.name for entry in self._folder.real.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []


class WineDrive(Drive):
    """The lab's until `use()`; then `C:` is the prefix's, but for `C:\\Windows`."""

    def __init__(self, clock: Clock, faults: Faults) -> None:
        super().__init__(clock, faults)

    def use(self, drive_c: Path, disk: Disk) -> None:
        """Folders outside of `C:\\Windows` that the lab's image has are made on the disk, with their access lists."""
        volume = self.volumes["C:"]
        before = volume.root
        volume.root = Root(drive_c, disk, before)
        for path, entry in list(self._descend("C:", before)):
            if path.split("\\")[1].lower() in SIMULATED:
                continue
            if entry.kind == "directory":
                self.mkdir(path)
            else:
                self.write(path, entry.data)
            found = self._get(path)
            found.security = entry.security

    def real(self, path: str) -> Path | None:
        """Where a file lies on the disk; None for the lab's."""
        entry = self._walk(path, True)
        return entry.real if isinstance(entry, DiskEntry) else None

    def _add(self, path: str, kind: str, owner: str) -> Entry:
        folder = self._folder(path)
        if not isinstance(folder, Root | DiskEntry):
            return super()._add(path, kind, owner)
        security = Security(sid_of(owner)).inheriting(folder.security, kind == "directory")
        entry = Entry(self.name(path), kind, security, 0)
        folder.children[entry.name.lower()] = entry
        return folder.children[entry.name.lower()]

    def rename(self, source: str, destination: str, *, replace: bool = False) -> None:
        entry, folder = self._get(source, follow=False), self._folder(destination)
        if not isinstance(entry, DiskEntry) or not isinstance(folder, Root | DiskEntry):
            super().rename(source, destination, replace=replace)
            return
        self._refuse_locked(source)
        self._refuse_locked(destination)
        if entry.kind == "directory" and any(child.images for _, child in self._descend("", entry)):
            raise WinError(5, source)
        there = self._walk(destination, False)
        if isinstance(there, DiskEntry) and there.real != entry.real:
            if not replace or there.kind == "directory":
                raise WinError(183 if not replace else 5, destination)
            if there.images:
                raise WinError(5, destination)
            there.real.unlink()  # its name may have other letters
        entry.real.rename(folder.real / self.name(destination))

    def free(self, letter: str) -> int:
        root = self.volumes[letter.upper()].root
        real = shutil.disk_usage(root.real).free if isinstance(root, Root) else super().free(letter)
        left: Any = self._faults.disk_full_after
        return real if left is None else max(0, min(real, left))
