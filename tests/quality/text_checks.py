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
LONGEST_FILE = 550


def _texts(root: Path, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Name and text of each file that is text."""
    for name in names:
        data = (root / name).read_bytes()
        if b"\0" not in data[:8192]:
            yield name, data.decode("utf-8", errors="replace")


def machine_traces(root: Path, names: Iterable[str], own_paths: Iterable[str] = ()) -> list[str]:
    """Paths of somebody's machine (`own_paths`: of this one) and hosts of package registries."""
    own = [path for path in own_paths if len(path) > 3]
    found = []
    for name, text in _texts(root, names):
        for number, line in enumerate(text.splitlines(), 1):
            hits = [match[0] for match in _MACHINE_PATH.finditer(line)]
            hits += [path for path in own if re.search(rf"(?<![\w.~-]){re.escape(path)}(?![\w-])", line)]
            hits += [host for host in _REGISTRIES if host in line]
            found += [f"{name}:{number}: {hit} belongs to one machine or is a package registry" for hit in hits]
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


def too_long(root: Path, names: Iterable[str]) -> list[str]:
    """Source files that have more than one job, by their length."""
    found = []
    for name in names:
        if name.endswith((".py", ".ps1", ".psm1", ".cs")):
            lines = len((root / name).read_text(encoding="utf-8").splitlines())
            if lines > LONGEST_FILE:
                found.append(f"{name}: {lines} lines, more than {LONGEST_FILE}: split it by what it does")
    return found
