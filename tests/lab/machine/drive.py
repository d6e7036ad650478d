"""The drives: files, folders and reparse points, with Windows' rules about names, locks, room and running programs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.lab.machine.clock import Clock
from tests.lab.machine.errors import WinError
from tests.lab.machine.faults import Faults
from tests.lab.machine.security import Security, applied, parse_sddl, sid_of

MAX_PATH = 260
LONG = "\\\\?\\"
"""In front of a path it lifts the limit of 260 characters. Without it a longer one is a path that does not exist (3).
Source: Microsoft, "Maximum Path Length Limitation"."""
SYSTEM = "S-1-5-18"
ADMINISTRATORS = "S-1-5-32-544"
_FORBIDDEN = set('<>:"|?*') | {chr(code) for code in range(32)}


@dataclass(eq=False)
class Entry:
    """A file, a folder or a reparse point (`link`), under its name as it was written."""

    name: str
    kind: str
    security: Security
    file_id: int
    written: float = 0.0
    data: bytes = b""
    durable: bytes = b""
    target: str = ""
    read_only: bool = False
    """Nobody writes to it, replaces or deletes it: error 5. Source: Microsoft, ReplaceFile, DeleteFile, CreateFile."""
    children: dict[str, Entry] = field(default_factory=dict)
    images: set[int] = field(default_factory=set)
    """Processes whose main module this is."""
    handles: list[int] = field(default_factory=list)
    """Processes that hold it open without sharing."""
    readers: list[int] = field(default_factory=list)
    """Processes that hold it open and let others delete and rename it."""
    doomed: bool = False
    """Deleted while somebody reads it: it stays until the last of them closes it. Source: Microsoft, DeleteFile."""


@dataclass(frozen=True)
class Stat:
    """written: clock seconds; file_id: stays the same over a rename."""

    kind: str
    size: int
    written: float
    file_id: int


@dataclass(eq=False)
class Volume:
    letter: str
    size: int
    root: Entry
    used: int = 0
    reparse: bool = False


class Drive:
    """All volumes of a machine. Paths are absolute, `C:\\a\\b`; letter case is kept and does not matter."""

    def __init__(self, clock: Clock, faults: Faults, size: int = 80 * 1024**3) -> None:
        self._clock = clock
        self._faults = faults
        self._ids = 0x1000000000000
        self.volumes: dict[str, Volume] = {}
        self.add_volume("C:", size)
        self.rename_pending = False

    def add_volume(self, letter: str, size: int, *, reparse: bool = False) -> None:
        """reparse: its root carries that attribute, as a volume that is mounted may, and drive Z: of Wine does."""
        self._ids += 1
        root = Entry(letter, "directory", Security(SYSTEM), self._ids)
        self.volumes[letter.upper()] = Volume(letter.upper(), size, root, reparse=reparse)

    # -- names ---------------------------------------------------------------------------------------------------

    @staticmethod
    @functools.lru_cache(maxsize=4096)
    def parts(path: str) -> tuple[str, ...]:
        """`C:\\a\\b` -> `("C:", "a", "b")`; error 123 does not exist here: 87 for what is no absolute path."""
        text = path.replace("/", "\\").removeprefix(LONG)
        pieces = [piece for piece in text.split("\\") if piece]
        if len(text) < 2 or text[1] != ":" or not text[0].isalpha() or (len(text) > 2 and text[2] != "\\"):
            raise WinError(87, path)
        result: list[str] = []
        for piece in pieces:
            if piece == "..":
                if len(result) > 1:
                    result.pop()
            elif piece != ".":
                result.append(piece)
        if any(_FORBIDDEN & set(piece) for piece in result[1:]):
            raise WinError(87, path)
        return tuple(result)

    @classmethod
    def normal(cls, path: str) -> str:
        pieces = cls.parts(path)
        return "\\".join(pieces) if len(pieces) > 1 else pieces[0] + "\\"

    @classmethod
    def parent(cls, path: str) -> str:
        pieces, long = cls.parts(path), LONG if path.startswith(LONG) else ""
        return long + ("\\".join(pieces[:-1]) if len(pieces) > 2 else pieces[0] + "\\")

    @classmethod
    def name(cls, path: str) -> str:
        return cls.parts(path)[-1]

    # -- walking -------------------------------------------------------------------------------------------------

    def _walk(self, path: str, follow: bool, depth: int = 0) -> Entry | None:
        if self._too_long(path):
            return None
        if depth > 31:
            raise WinError(2, path)
        pieces = self.parts(path)
        volume = self.volumes.get(pieces[0].upper())
        if volume is None:
            return None
        entry = volume.root
        for index, piece in enumerate(pieces[1:], 1):
            found = entry.children.get(piece.lower()) if entry.kind == "directory" else None
            if found is None:
                return None
            last = index == len(pieces) - 1
            if found.kind == "link" and (follow or not last):
                rest = "\\".join([found.target, *pieces[index + 1 :]])
                return self._walk(rest, follow, depth + 1)
            entry = found
        return entry

    @staticmethod
    def _too_long(path: str) -> bool:
        return len(path) >= MAX_PATH and not path.startswith(LONG)

    def _get(self, path: str, follow: bool = True) -> Entry:
        entry = self._walk(path, follow)
        if self._too_long(path):
            raise WinError(3, path)
        if entry is None:
            folder = self._walk(self.parent(path), True)
            raise WinError(2 if folder is not None else 3, path)
        return entry

    def _folder(self, path: str) -> Entry:
        entry = self._walk(self.parent(path), True)
        if entry is None or entry.kind != "directory":
            raise WinError(3, path)
        return entry

    # -- reading -------------------------------------------------------------------------------------------------

    def kind(self, path: str) -> str | None:
        """`file`, `directory`, `link` (never followed), or None."""
        entry = self._walk(path, False)
        if entry is not None and len(self.parts(path)) == 1 and self.volumes[self.parts(path)[0].upper()].reparse:
            return "link"
        return entry.kind if entry else None

    def name_of(self, path: str) -> str:
        """The name as it is written on the disk: letter case does not matter in `path`."""
        return self._get(path, follow=False).name

    def exists(self, path: str) -> bool:
        return self._walk(path, True) is not None

    def is_file(self, path: str) -> bool:
        entry = self._walk(path, True)
        return entry is not None and entry.kind == "file"

    def is_dir(self, path: str) -> bool:
        entry = self._walk(path, True)
        return entry is not None and entry.kind == "directory"

    def read(self, path: str) -> bytes:
        entry = self._get(path)
        if entry.kind != "file":
            raise WinError(5, path)
        self._refuse_locked(path)
        return entry.data

    def stat(self, path: str) -> Stat:
        entry = self._get(path, follow=False)
        return Stat(entry.kind, len(entry.data), entry.written, entry.file_id)

    def listdir(self, path: str) -> list[str]:
        entry = self._get(path)
        if entry.kind != "directory":
            raise WinError(267, path)
        return sorted((child.name for child in entry.children.values()), key=str.lower)

    def target(self, path: str) -> str:
        return self._get(path, follow=False).target

    def entry(self, path: str) -> Entry:
        """The file behind the path, links followed: what a running program holds."""
        return self._get(path)

    def holders(self, path: str) -> list[int]:
        entry = self._walk(path, True)
        return sorted(entry.images) if entry else []

    def walk(self) -> Iterator[tuple[str, Entry]]:
        """Every entry with its path, sorted without regard to case; links are not followed."""
        for letter in sorted(self.volumes):
            yield from self._descend(letter, self.volumes[letter].root)

    def _descend(self, path: str, entry: Entry) -> Iterator[tuple[str, Entry]]:
        for key in sorted(entry.children):
            child = entry.children[key]
            full = f"{path}\\{child.name}"
            yield full, child
            yield from self._descend(full, child)

    def free(self, letter: str) -> int:
        volume = self.volumes[letter.upper()]
        free = volume.size - volume.used
        left = self._faults.disk_full_after
        return free if left is None else max(0, min(free, left))

    # -- writing -------------------------------------------------------------------------------------------------

    def mkdir(self, path: str, owner: str = ADMINISTRATORS) -> None:
        """The folder and its missing parents; 183 when something else has the name."""
        pieces, long = self.parts(path), LONG if path.startswith(LONG) else ""
        for count in range(2, len(pieces) + 1):
            part = long + "\\".join(pieces[:count])
            found = self._walk(part, True)
            if found is None:
                if not long and len(part) >= MAX_PATH - 12:
                    raise WinError(206, part)
                self._add(part, "directory", owner)
            elif found.kind != "directory":
                raise WinError(183 if count == len(pieces) else 3, part)
        if pieces[0].upper() not in self.volumes:
            raise WinError(3, path)

    def _add(self, path: str, kind: str, owner: str) -> Entry:
        folder = self._folder(path)
        self._ids += 1
        security = Security(sid_of(owner)).inheriting(folder.security, kind == "directory")
        entry = Entry(self.name(path), kind, security, self._ids, self._clock.now())
        folder.children[entry.name.lower()] = entry
        return entry

    def write(
        self,
        path: str,
        data: bytes,
        *,
        owner: str = ADMINISTRATORS,
        flush: bool = True,
        append: bool = False,
        opened: bool = False,
        closed: bool = True,
    ) -> None:
        """Makes the file or replaces its content. Without `flush` a loss of power turns what is new into zeros.

        opened: the writer has had it open before, so that who locked it since then is nothing to him. closed: he closes
        it now, which is when a scanner takes it.

        Errors: 2, 3 (also a path of 260 characters and more), 5 (a folder, or read-only), 32 (running, open or
        scanned), 112 (what fitted stays).
        """
        entry = self._walk(path, True)
        if self._too_long(path):
            raise WinError(3, path)
        if entry is not None and (entry.kind != "file" or entry.read_only):
            raise WinError(5, path)
        if not opened:
            self._refuse_locked(path)
        if entry is None:
            if self._walk(path, False) is not None:
                raise WinError(2, path)
            entry = self._add(path, "file", owner)
        elif entry.images or entry.handles:
            raise WinError(32, path)
        before = len(entry.data)
        content = entry.data + data if append else data
        room = self._room(path, len(content) - before)
        written = content if room is None else content[: before + room]
        self._use(path, len(written) - before)
        entry.data = written
        entry.written = self._clock.now()
        if flush:
            entry.durable = written
        if room is not None:
            raise WinError(112, path)
        if closed:
            self._scan(path)

    def flush(self, path: str) -> None:
        entry = self._get(path)
        entry.durable = entry.data

    def rename(self, source: str, destination: str, *, replace: bool = False) -> None:
        """A rename on one volume. Errors: 2, 3, 5 (the target runs, or an open file below a folder), 17, 32, 183."""
        entry = self._get(source, follow=False)
        if self.parts(source)[0].upper() != self.parts(destination)[0].upper():
            raise WinError(17, source)
        self._refuse_locked(source)
        self._refuse_locked(destination)
        if self._too_long(destination):
            raise WinError(3, destination)
        if entry.handles:
            raise WinError(32, source)
        if entry.kind == "directory" and any(child.images or child.handles for _, child in self._descend("", entry)):
            raise WinError(5, source)
        folder = self._folder(destination)
        there = self._walk(destination, False)
        if there is not None and there is not entry:
            if not replace or there.kind == "directory":
                raise WinError(183 if not replace else 5, destination)
            if there.images or there.handles or there.read_only:
                raise WinError(5, destination)
            self._use(destination, -len(there.data))
        self._folder(source).children.pop(entry.name.lower())
        entry.name = self.name(destination)
        folder.children[entry.name.lower()] = entry

    def copy(self, source: str, destination: str, *, owner: str = ADMINISTRATORS) -> None:
        self.write(destination, self.read(source), owner=owner)

    def delete(self, path: str) -> None:
        """A file, a reparse point (not what it points to) or an empty folder. Errors: 2, 3, 5 (running), 32, 145."""
        entry = self._get(path, follow=False)
        self._refuse_locked(path)
        if entry.images or entry.read_only or self._denied(path):
            raise WinError(5, path)
        if entry.handles:
            raise WinError(32, path)
        if entry.kind == "directory" and entry.children:
            raise WinError(145, path)
        if entry.readers:
            entry.doomed = True
            return
        entry.doomed = False
        self._use(path, -len(entry.data))
        del self._folder(path).children[entry.name.lower()]

    def hold(self, path: str, pid: int, *, shared: bool) -> Callable[[], None]:
        """A process opens a file; what closes it again. Errors: 2, 3, 32."""
        entry = self._get(path)
        if entry.handles:
            raise WinError(32, path)
        holders = entry.readers if shared else entry.handles
        holders.append(pid)

        def close() -> None:
            if pid in holders:
                holders.remove(pid)
            there = self._walk(path, False)
            if entry.doomed and not entry.readers and there is not None and there.file_id == entry.file_id:
                self.delete(path)

        return close

    def delete_tree(self, path: str) -> None:
        """As a recursive delete does it: depth first, links unlinked, stopping at the first error."""
        entry = self._get(path, follow=False)
        if entry.kind == "directory":
            for child in sorted(entry.children):
                self.delete_tree(f"{path}\\{entry.children[child].name}")
        self.delete(path)

    def link(self, path: str, target: str, owner: str = ADMINISTRATORS) -> None:
        """A directory junction or symbolic link: a reparse point."""
        if self._walk(path, False) is not None:
            raise WinError(183, path)
        self._add(path, "link", owner).target = target

    def _use(self, path: str, size: int) -> None:
        self.volumes[self.parts(path)[0].upper()].used += size

    def _room(self, path: str, size: int) -> int | None:
        """None if `size` more bytes fit, else how many do."""
        if size <= 0:
            return None
        free = self.free(self.parts(path)[0])
        if self._faults.disk_full_after is not None:
            self._faults.disk_full_after = max(0, self._faults.disk_full_after - size)
        return None if size <= free else free

    def _scan(self, path: str) -> None:
        name = self.name(path).lower()
        if name in self._faults.antivirus_deletes:
            self.delete(path)
        elif name.removesuffix(".winkube-new").endswith(".exe") and self._faults.antivirus_s:
            self._faults.lock(self.normal(path), self._clock.now() + self._faults.antivirus_s)

    def set_read_only(self, path: str, read_only: bool) -> None:
        self._get(path, follow=False).read_only = read_only

    def is_read_only(self, path: str) -> bool:
        return self._get(path, follow=False).read_only

    def _denied(self, path: str) -> bool:
        return self._faults.denied.get(self.normal(path).lower(), 0.0) > self._clock.now()

    def _refuse_locked(self, path: str) -> None:
        until = self._faults.locked.get(self.normal(path).lower())
        if until is not None and self._clock.now() < until:
            raise WinError(32, path)

    # -- security ------------------------------------------------------------------------------------------------

    def sddl(self, path: str) -> str:
        return self._get(path, follow=False).security.sddl()

    def security(self, path: str) -> Security:
        return self._get(path, follow=False).security

    def set_sddl(self, path: str, sddl: str, *, restore_privilege: bool = False) -> None:
        """Owner and access list, and what children inherit from it. ValueError for what is no SDDL.

        Error 1307 for an owner who is neither SYSTEM nor Administrators nor the present one: for others the caller has
        to enable SeRestorePrivilege. Source: Microsoft, SetSecurityInfo, ERROR_INVALID_OWNER.
        """
        entry = self._get(path, follow=False)
        owner = parse_sddl(sddl)[0]
        if owner not in {None, SYSTEM, ADMINISTRATORS, entry.security.owner} and not restore_privilege:
            raise WinError(1307, path)
        entry.security = applied(entry.security, sddl, self._parent_security(path), entry.kind == "directory")
        self._propagate(entry)

    def set_root_sddl(self, letter: str, sddl: str) -> None:
        root = self.volumes[letter.upper()].root
        root.security = applied(root.security, sddl, None, True)
        self._propagate(root)

    def set_security(self, path: str, change: Callable[[Security], Security]) -> None:
        entry = self._get(path, follow=False)
        entry.security = change(entry.security).inheriting(self._parent_security(path), entry.kind == "directory")
        self._propagate(entry)

    def _parent_security(self, path: str) -> Security | None:
        return self._folder(path).security if len(self.parts(path)) > 1 else None

    def _propagate(self, entry: Entry) -> None:
        for child in entry.children.values():
            child.security = child.security.inheriting(entry.security, child.kind == "directory")
            self._propagate(child)

    # -- power ---------------------------------------------------------------------------------------------------

    def lose_power(self) -> None:
        """What was never flushed is zeros afterwards; nobody holds anything."""
        for _, entry in self.walk():
            entry.images.clear()
            entry.handles.clear()
            entry.readers.clear()
            if entry.kind == "file" and entry.durable != entry.data:
                kept = entry.durable if entry.data.startswith(entry.durable) else b""
                entry.data = entry.durable = kept + bytes(len(entry.data) - len(kept))

    def shut_down(self) -> None:
        for _, entry in self.walk():
            entry.durable = entry.data
