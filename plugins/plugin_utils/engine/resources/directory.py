# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder, and who may write to it and to its parents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .. import security, windows_path
from ..batch import Op
from ..reading import Query, Reading, file_key, file_query
from ..resource import Change, Refused, Resource


def add_parents(*directories: Directory) -> tuple[Directory, ...]:
    """`directories` and their parents, outermost first: what is made step by step can be rolled back step by step."""
    wanted = {windows_path.key(directory.path): directory for directory in directories}
    for directory in directories:
        path = windows_path.parent(directory.path)
        while windows_path.parent(path) != path:
            wanted.setdefault(windows_path.key(path), Directory(path))
            path = windows_path.parent(path)
    return tuple(wanted[key] for key in sorted(wanted, key=lambda key: key.split("\\")))


def each_once(resources: Sequence[Resource]) -> tuple[Resource, ...]:
    """`resources` with each folder only once: at its first place, and as strict as the strictest wish for it."""
    strictest: dict[str, Directory] = {}
    for resource in resources:
        if isinstance(resource, Directory):
            key = windows_path.key(resource.path)
            strictest[key] = max(strictest.get(key, resource), resource, key=Directory.strictness)
    left = dict(strictest)
    return tuple(
        resource if not isinstance(resource, Directory) else left.pop(windows_path.key(resource.path))
        for resource in resources
        if not isinstance(resource, Directory) or windows_path.key(resource.path) in left
    )


RUN_OR_READ = ("", ".exe", ".dll", ".cmd", ".bat", ".ps1", ".conf", ".conflist", ".json", ".yaml", ".toml", ".env")
"""Endings of files that a service runs or reads: its program, libraries, settings."""


def _find_planted(folder: str, inside: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each file that a SYSTEM service would use and others may change."""
    found: list[str] = []
    for name, sddl in sorted(inside.items()):
        why = "is a link, and others may change its target" if sddl == "link" else security.complain(sddl)
        if why:
            path = windows_path.join(folder, name)
            found.append(f"{path} {why}: SYSTEM services run or read the files there. Check it and remove it.")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class MadeByUs:
    """A folder that a service makes and trusts: it does not exist yet, or SYSTEM or an administrator made it."""

    path: str

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def reads(self) -> tuple[Query, ...]:
        """The folder and its owner."""
        return (file_query(self.path, sddl=True),)

    def change(self, reading: Reading) -> Change | None:
        """Never a change. Refused if someone else made it, or a link or file is in its place."""
        found = reading.file(self.path)
        if not found.get("exists"):
            return None
        owner = security.judge(found.get("sddl")).owner
        why = f"is owned by {owner}, not by SYSTEM or Administrators" if owner else ""
        if found.get("kind") != "directory":
            why = f"should be a folder, but is a {found.get('kind')}"
        if why:
            raise Refused(f"{self.path} {why}: a SYSTEM service trusts its content. Check it and remove it.")
        return None


@dataclass(frozen=True, slots=True)
class Directory:
    """A folder at `path`.

    `sddl` is set when the folder is made, and again if anyone but SYSTEM and Administrators owns it or may write to it.
    Such a folder may hold no file that a service would run or read and that others own or may write to. With `private`
    nobody else may read it either. Without `sddl` the folder inherits its access, and is left alone once it exists.
    """

    path: str
    sddl: str | None = None
    private: bool = False

    @property
    def label(self) -> str:
        """The path."""
        return self.path

    def strictness(self) -> tuple[bool, bool]:
        """For comparison: its own access list is stricter than an inherited one, a private one stricter still."""
        return (self.sddl is not None, self.private)

    def reads(self) -> tuple[Query, ...]:
        """The folder, and its descriptor if it matters."""
        return (file_query(self.path, sddl=self.sddl is not None, inside=RUN_OR_READ if self.sddl else ()),)

    def change(self, reading: Reading) -> Change | None:
        """Make the folder or correct its descriptor. Refused if something else is in its place."""
        found = reading.file(self.path)
        if not found.get("exists"):
            op = Op("mkdir", self._args()).with_undo(Op("remove", {"path": self.path, "only_if_empty": True}))
            return self._change(f"create the folder {self.path}", "absent", op, {"entries": [], "inside": {}})
        if found.get("kind") != "directory":
            what = "a link or junction" if found.get("kind") == "link" else "a file"
            raise Refused(
                f"{self.path} should be a folder, but is {what}: it is not followed or replaced; move it away or "
                "choose another path."
            )
        if self.sddl is None:
            return None
        if planted := _find_planted(self.path, found.get("inside") or {}):
            raise Refused(*planted)
        present = found.get("sddl")
        complaint = security.complain(present, private=self.private)
        if not complaint:
            return None
        op = Op("mkdir", self._args()).with_undo(Op("mkdir", {"path": self.path, "sddl": str(present)}))
        text = f"secure the folder {self.path} (it {complaint})"
        return self._change(text, str(present), op, found)

    def _args(self) -> dict[str, str]:
        return {"path": self.path} | ({"sddl": self.sddl} if self.sddl else {})

    def _change(self, text: str, before: str, op: Op, found: Mapping[str, object]) -> Change:
        (query,) = self.reads()
        after = {**found, "exists": True, "kind": "directory"} | ({"sddl": self.sddl} if self.sddl else {})
        return Change(
            text=text,
            before=f"{before}\n",
            after=f"folder{' ' + self.sddl if self.sddl else ''}\n",
            prepare=(op,),
            predicted={file_key(windows_path.key(self.path)): after},
            state=(query,),
        )


# Folders that services run programs from, with all parents. On a fresh Windows any user may make folders in `C:\`, and
# rename those that inherit from there: anyone who may rename `C:\run` can put another `C:\run\flannel` in place of the
# protected one. So every folder up to the drive is protected.

_WINDOWS_OWN = frozenset({"program files", "program files (x86)", "programdata", "users", "windows"})
"""Folders at the top of the drive whose access lists Windows itself has set; they are never touched."""


def guard(*paths: str) -> tuple[Directory, ...]:
    """`paths` and their parents, writable only by administrators. Below Windows' own folders the access list is
    inherited."""
    everything = [path for given in paths for path in _list_upwards(given)]
    return add_parents(*(_guard(path) for path in everything))


def guard_always(*paths: str) -> tuple[Directory, ...]:
    """As `guard`, but `paths` themselves get their own access list wherever they lie."""
    above = [path for given in paths for path in _list_upwards(windows_path.parent(given))]
    own = (Directory(path, sddl=security.ADMINS_WRITE) for path in paths)
    return add_parents(*(_guard(path) for path in above), *own)


def _guard(path: str) -> Directory:
    return Directory(path, sddl=None if _is_windows_own(path) else security.ADMINS_WRITE)


def _is_windows_own(path: str) -> bool:
    return windows_path.key(path).split("\\")[1] in _WINDOWS_OWN


def _list_upwards(path: str) -> Iterator[str]:
    """`path` and its parents, without the drive."""
    while windows_path.parent(path) != path:
        yield path
        path = windows_path.parent(path)
