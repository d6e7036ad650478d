"""What real programs said to --help: tests/recorded, read for tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[2] / "recorded"

_NAME = re.compile(r"(?P<program>[a-z-]+)-(?P<version>1\.\d+\.\d+)\.help\.txt")
_FLAG = re.compile(r"^ +(?:-\w, )?--([a-zA-Z][\w-]*)(.*)$")
_GATE = re.compile(r"^ +(?:\S.*:\s)?(\w+)=true\|false \((\w+) - default=(\w+)\)")


@dataclass(frozen=True)
class Recording:
    """One file: its first line, and the program's output."""

    program: str
    version: str
    header: str
    text: str
    system: str

    @property
    def flags(self) -> dict[str, str]:
        """Flag -> the whole of what is said about it, normalized names."""
        found: dict[str, str] = {}
        name = ""
        for line in self.text.splitlines():
            if match := _FLAG.match(line):
                name = match[1].replace("_", "-")
                found[name] = match[2]
            elif name and line.startswith(" "):
                found[name] += f" {line.strip()}"
            else:
                name = ""
        return found

    @property
    def gates(self) -> dict[str, tuple[str, bool]]:
        """Gate -> stage and default, of those that --help shows (neither GA nor deprecated)."""
        return {
            match[1]: (match[2].lower(), match[3] == "true")
            for line in self.text.splitlines()
            if (match := _GATE.match(line))
        }


def recordings(program: str) -> list[Recording]:
    """All of this program, of builds for Linux and for Windows, oldest first."""
    found = []
    for folder, system in ((RECORDED, "linux"), (RECORDED / "windows", "windows")):
        for path in folder.glob(f"{program}-1.*.help.txt"):
            match = _NAME.fullmatch(path.name)
            assert match, path.name
            header, _, text = path.read_text(encoding="utf-8").partition("\n")
            found.append(Recording(match["program"], match["version"], header, text, system))
    return sorted(found, key=lambda one: int(one.version.split(".")[1]))


def system_flags() -> dict[tuple[str, str, str], tuple[int, int, str]]:
    """(program, system, flag) -> first minor, last minor, type: tests/recorded/system-flags.txt."""
    found = {}
    for line in (RECORDED / "system-flags.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            program, minors, system, flag, kind = line.split()
            first, _, last = minors.replace("1.", "").partition("-")
            found[program, system, flag] = (int(first), int(last), kind)
    return found


def flag_changes() -> dict[tuple[str, int], tuple[frozenset[str], frozenset[str]]]:
    """(program, minor) -> flags gained, flags lost against the minor before: tests/recorded/flag-changes.txt."""
    found = {}
    for line in (RECORDED / "flag-changes.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            program, minor, *changes = line.split()
            gained, lost = (frozenset(word[1:] for word in changes if word[0] == sign) for sign in "+-")
            found[program, int(minor.removeprefix("1."))] = (gained, lost)
    return found
