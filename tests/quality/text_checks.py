"""Checks of what stands in the project's files: each takes a root and file names and returns sentences, or none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# What belongs to the machine somebody works on, in paths. Windows paths have backslashes and are not meant.
_MACHINE_PATH = re.compile(r"(?<![\w.:/~-])/(?:work|root|home|Users)/[\w.-]+")
# Package registries: where packages come from is a setting of each machine. Put together here, or this file would fail.
_REGISTRIES = tuple(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("proxy", "golang", "org"),
        ("deb", "debian", "org"),
        ("crates", "io"),
        ("repo", "maven", "apache", "org"),
    )
)
# Characters that an editor makes of a quote, a hyphen or a blank: a command copied with one of them does not work.
_TYPOGRAPHY = re.compile("[\u2018\u2019\u201c\u201d\u2013\u2014\u2212\u00a0]")
_LICENSE_LINES = (
    "Copyright (c) 2026, The winkube.node authors",
    "GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)",
    "SPDX-License-Identifier: GPL-3.0-or-later",
)


def _texts(root: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and text of each file that is text."""
    for name in names:
        data = (root / name).read_bytes()
        if b"\0" not in data[:8192]:
            yield name, data.decode("utf-8", errors="replace")


def machine_traces(root: Path, names: Iterable[str], own_paths: Iterable[str] = ()) -> list[str]:
    """Paths of somebody's machine (`own_paths`: of this one) and hosts of package registries."""
    own = [rf"(?<![\w.~-]){re.escape(path)}(?![\w-])" for path in own_paths if len(path) > 3]
    hit = re.compile("|".join([_MACHINE_PATH.pattern, *own, *map(re.escape, _REGISTRIES)]))
    found = []
    for name, text in _texts(root, names):
        for match in hit.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            found.append(f"{name}:{number}: {match[0]} belongs to one machine or is a package registry")
    return found


def not_ascii(root: Path, names: Iterable[str]) -> list[str]:
    """PowerShell files with other characters: Windows PowerShell 5.1 reads a file without BOM as ANSI."""
    found = []
    for name in names:
        if name.endswith((".ps1", ".psm1")):
            for number, line in enumerate((root / name).read_bytes().splitlines(), 1):
                if not line.isascii():
                    found.append(f"{name}:{number}: {line.decode('utf-8', 'replace').strip()!r} is not ASCII")
    return found


def wrong_line_endings(root: Path, names: Iterable[str]) -> list[str]:
    """Text files with a carriage return: what is sent to a node has the same bytes everywhere."""
    return [f"{name}: has carriage returns, wanted is LF" for name, text in _texts(root, names) if "\r" in text]


def typographic_commands(root: Path, names: Iterable[str]) -> list[str]:
    """Code in the documentation, and templates, with curly quotes, long dashes or hard blanks."""
    found = []
    for name, text in _texts(root, [name for name in names if name.endswith((".md", ".j2"))]):
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith(("```", "~~~")):
                fenced = not fenced
                continue
            code = [line] if fenced or name.endswith(".j2") or line.startswith("    ") else re.findall(r"`[^`]+`", line)
            for part in code:
                match = _TYPOGRAPHY.search(part)
                if match:
                    found.append(f"{name}:{number}: {part.strip()!r} has U+{ord(match[0]):04X}, which no shell takes")
    return found


def without_license(root: Path, names: Iterable[str]) -> list[str]:
    """Source files in plugins/ without the licence header at the top (a line `#!powershell` may stand before)."""
    found = []
    for name in names:
        if not name.startswith("plugins/") or not name.endswith((".py", ".ps1", ".psm1", ".cs")):
            continue
        head = (root / name).read_text(encoding="utf-8").splitlines()[:6]
        if not all(any(wanted in line for line in head) for wanted in _LICENSE_LINES):
            found.append(f"{name}: does not begin with the licence header (three lines, see any other file there)")
    return found


# "The documents", and their lines, which only those who wrote the requirements have.
_SOURCES = re.compile(r"\b[Tt]he (?:source )?documents\b|\bS[0-5] L[0-9]+")


def requirement_names(root: Path, names: Iterable[str], kinds: Iterable[str]) -> list[str]:
    """Ids of requirement rows (`kinds`: NW, TS, ..) and documents without a name: outside of tests unknown to all."""
    row = re.compile(rf"\b(?:{'|'.join(sorted(kinds))})-[0-9]{{2}}\b")
    found = []
    for name, text in _texts(root, [name for name in names if not name.startswith("tests/")]):
        for number, line in enumerate(text.splitlines(), 1):
            found += [f"{name}:{number}: {hit} is the id of a row: say what it means" for hit in row.findall(line)]
            found += [f"{name}:{number}: {hit!r}: which? Give the name or a link" for hit in _SOURCES.findall(line)]
        if row.search(name):
            found.append(f"{name}: the file is named after a row")
    return found
