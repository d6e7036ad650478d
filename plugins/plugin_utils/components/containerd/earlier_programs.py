# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""containerd's programs in the folder of an earlier installation, from which its service still runs.

containerd's guide for Windows (`Copy-Item -Path .\bin -Destination "$Env:ProgramFiles\containerd" -Recurse`) makes a
folder bin only if `C:\Program Files\containerd` exists already. sig-windows-tools (hostprocess Install-Containerd.ps1:
`tar --strip=1`), image-builder (ansible/windows/roles/runtimes/tasks/containerd.yml: `--strip-components 1`) and AKS
(AgentBaker staging/cse/windows/containerdfunc.ps1: `Move-Item bin\*`) make none. All put that folder into the machine's
Path, so a shim left there would run the pods of the new containerd (shim.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...engine import windows_path
from ...engine.reading import Query, Reading, file_key, file_query
from ...engine.resource import Change
from ...engine.resources.programs import LEFT_BEHIND
from ...engine.services.existing import Existing
from ...engine.tools import move
from ...facts.containerd import PROGRAMS
from ..layout import Layout
from . import shim

PROGRAM = "containerd.exe"


def folder(layout: Layout, reading: Reading) -> str:
    """The folder that the service runs containerd.exe from, if it differs from the layout's; else empty."""
    service = reading.service(layout.containerd_service) if "services" in reading.parts else None
    program = Existing(service).program if service else ""
    if windows_path.problem(program) or windows_path.name(program).casefold() != PROGRAM:
        return ""
    found = windows_path.parent(program)
    return "" if windows_path.is_same(found, layout.containerd_bin_dir) else found


@dataclass(frozen=True, slots=True)
class EarlierPrograms:
    """No program of containerd stays in `folder`. Those that the source brings (`brought`, paths) are renamed, and a
    later batch deletes them; the others move to the layout's folder. `mark` makes this batch's names unique."""

    layout: Layout
    folder: str
    brought: tuple[str, ...]
    mark: str

    @property
    def label(self) -> str:
        """The folder."""
        return self.folder

    def reads(self) -> tuple[Query, ...]:
        """The programs in both folders."""
        return (
            *(file_query(windows_path.join(self.folder, name), sha256=True) for name in PROGRAMS),
            *(file_query(windows_path.join(self.layout.containerd_bin_dir, name), sha256=True) for name in PROGRAMS),
        )

    def change(self, reading: Reading) -> Change | None:
        """Move the programs. Running shims continue from their new place."""
        there = [name for name in PROGRAMS if self._at(self.folder, name, reading).get("kind") == "file"]
        if not there:
            return None
        ways = {windows_path.join(self.folder, name): self._to(name, reading) for name in there}
        return Change(
            text=f"move containerd from {self.folder} to {self.layout.containerd_bin_dir}, since it runs pods by the "
            "shim that is first in Path (winkube_containerd_binary names another place, such as where it is)",
            before="".join(f"{path}\n" for path in ways),
            after="".join(f"{path}\n" for path in ways.values() if not path.endswith(LEFT_BEHIND)),
            commit=tuple(move(old, to) for old, to in ways.items()),
            touches=frozenset(file_key(to) for to in ways.values()),
            predicted={file_key(path): {"exists": False} for path in ways},
            state=(*self.reads(), shim.ON_PATH),
        )

    def _to(self, name: str, reading: Reading) -> str:
        """The program's new path if that stays free; else a name beside it, or its old folder if the new one is on
        another drive."""
        target = windows_path.join(self.layout.containerd_bin_dir, name)
        taken = any(windows_path.is_same(target, path) for path in self.brought)
        same_drive = self.folder[:2].casefold() == target[:2].casefold()
        if same_drive and not taken and not self._at(self.layout.containerd_bin_dir, name, reading).get("exists"):
            return target
        aside = f"{name}.{self.mark[:8]}.moved{LEFT_BEHIND}"
        return windows_path.join(windows_path.parent(target) if same_drive else self.folder, aside)

    @staticmethod
    def _at(folder: str, name: str, reading: Reading) -> Mapping[str, Any]:
        return reading.parts.get(file_key(windows_path.join(folder, name))) or {}
