# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command-line flags of one program over the release lines of Kubernetes: which exist, since when, until when."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .version import Line

OLDEST = Line(1, 22)
NEWEST = Line(1, 37)
"""The lines that the tables of flags and gates were read from."""


class UnknownLineError(ValueError):
    """A line older than the tables; str() is the sentence."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `since` is None where it is older than OLDEST, `removed` is the first line without it.

    `system`: `windows` or `linux` where only that build has it. `boolean`: without `=` it takes no value.
    """

    name: str
    boolean: bool = False
    since: Line | None = None
    deprecated: Line | None = None
    removed: Line | None = None
    system: str = ""

    def in_line(self, line: Line) -> bool:
        """Whether this line has it, on whatever system."""
        return (self.since is None or self.since <= line) and (self.removed is None or line < self.removed)


@dataclass(frozen=True, slots=True)
class FlagTable:
    """All flags of one program. `spellings`: names that documents use and the program never had, with the right one.
    `instead`: for a removed flag, what to do (the end of a sentence)."""

    program: str
    flags: Mapping[str, Flag]
    spellings: Mapping[str, str]
    instead: Mapping[str, str]
    source: str

    def known(self, line: Line, system: str = "windows") -> frozenset[str]:
        """The flags that this line's build for `system` accepts. UnknownLineError for lines before OLDEST."""
        judged = judged_by(line)
        return frozenset(
            flag.name for flag in self.flags.values() if flag.in_line(judged) and flag.system in {"", system}
        )

    def deprecated(self, line: Line) -> frozenset[str]:
        """Those that upstream announced to remove; not those that it only wants in a configuration file."""
        judged = judged_by(line)
        return frozenset(
            flag.name
            for flag in self.flags.values()
            if flag.in_line(judged) and flag.deprecated is not None and flag.deprecated <= judged
        )

    def why_unknown(self, name: str, line: Line) -> str:
        """Why a Windows build of this line refuses `--name`, and what to do, as the rest of a sentence."""
        if name in self.spellings:
            return f"no {self.program} ever had this flag; write --{self.spellings[name]}"
        flag = self.flags.get(name)
        if flag is None and name in self.instead:
            return f"it was removed before Kubernetes {OLDEST}: {self.instead[name]}"
        if flag is None:
            return f"{self.program} has no such flag{_hint(self, name, line)}"
        if flag.system == "linux":
            return "only builds for Linux have it: leave it out"
        if flag.since is not None and judged_by(line) < flag.since:
            return f"it came with Kubernetes {flag.since}: leave it out"
        return f"it was removed in Kubernetes {flag.removed}: {self.instead.get(name, 'leave it out')}"


def judged_by(line: Line) -> Line:
    """The line whose flags are taken for `line`: its own, for newer ones NEWEST. UnknownLineError for older ones."""
    if line < OLDEST:
        raise UnknownLineError(
            f"The flags of Kubernetes {line} are not known; the tables begin with {OLDEST}. Install a newer release."
        )
    return min(line, NEWEST)


def flags_of(blocks: Mapping[str, str]) -> dict[str, Flag]:
    """The flags of blocks `attributes -> names`. Attributes are words: `bool`, `since=1.25`, `deprecated=1.24`,
    `removed=1.27`, `windows`, `linux`."""
    found: dict[str, Flag] = {}
    for attributes, names in blocks.items():
        words = attributes.split()
        lines = {key: Line.parse(value) for key, _equals, value in (word.partition("=") for word in words) if value}
        system = next((word for word in words if word in {"windows", "linux"}), "")
        for name in names.split():
            if name in found:
                raise ValueError(f"--{name} stands in two blocks")
            found[name] = Flag(
                name,
                "bool" in words,
                lines.get("since"),
                lines.get("deprecated"),
                lines.get("removed"),
                system,
            )
    return found


def normalized(name: str) -> str:
    """As the programs see a flag's name: underscores are hyphens. Source: component-base cli/flag/flags.go,
    WordSepNormalizeFunc, set by kubelet and kube-proxy."""
    return name.replace("_", "-")


def _hint(table: FlagTable, name: str, line: Line) -> str:
    near = _nearest(name, sorted(table.known(line)))
    return f"; meant is probably --{near}" if near else ": leave it out"


def _nearest(name: str, names: list[str]) -> str | None:
    found: Iterator[str] = iter(difflib.get_close_matches(name, names, n=1, cutoff=0.75))
    return next(found, None)
