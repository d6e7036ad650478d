# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Revisions of Windows that are known to break nodes, and the updates that bring them.

A revision is the fourth part of 10.0.20348.2582, the registry's UBR. windows_updates.txt has the updates: build,
revision, KB number (`-` for the first release), date. windows_revisions.json has the revisions.

    known_bad(20348, 2582)                 # the entries
    next_good(20348, 2582).name            # 10.0.20348.2762 (KB5044281)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from .rows import read_rows

_FILE = Path(__file__).with_name("windows_updates.txt")


@dataclass(frozen=True, slots=True)
class Update:
    """A cumulative update; `kb` is empty for a first release, `date` is ISO 8601."""

    build: int
    revision: int
    kb: str
    date: str

    @property
    def name(self) -> str:
        """For people: `10.0.20348.2762 (KB5044281)`."""
        return f"10.0.{self.build}.{self.revision}" + (f" ({self.kb})" if self.kb else "")


@cache
def updates() -> tuple[Update, ...]:
    """All known ones, by build and revision."""
    rows = (line.split() for line in _FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return tuple(Update(int(build), int(revision), kb.strip("-"), date) for build, revision, kb, date in rows)


def find_last(build: int) -> Update | None:
    """The last known update of a build; None of a build without any."""
    return next((each for each in reversed(updates()) if each.build == build), None)


@dataclass(frozen=True, slots=True)
class BadRevision:
    """What is wrong from the revision `since` (0: from the first release) up to `mended`, which has it no more (0: no
    update is known to mend it).

    `breaks` is a sentence. `concerns` names whom it concerns where that is not every node: a network mode, or words
    such as `Remote Desktop`. `source` is a public address. `unverified`: users report it, or the update is concluded
    from what was announced.
    """

    build: int
    since: int
    mended: int
    breaks: str
    source: str
    concerns: str = ""
    unverified: bool = False

    @property
    def summary(self) -> str:
        """A line for people."""
        whom = f" Concerns {self.concerns}." if self.concerns else ""
        doubt = " Unverified." if self.unverified else ""
        return f"{self.breaks}{whom}{doubt} {self.source}".rstrip()

    def has(self, build: int, revision: int) -> bool:
        """Whether this revision is one of them."""
        return build == self.build and self.since <= revision and not 0 < self.mended <= revision


BAD_REVISIONS: tuple[BadRevision, ...] = tuple(BadRevision(**row) for row in read_rows("windows_revisions.json"))


class BadEntryError(ValueError):
    """An entry of a user's that cannot be read; the text is for people."""


def parse_entries(entries: Any) -> tuple[BadRevision, ...]:
    """A user's own entries, of the shape of BadRevision, as winkube_windows_revisions has them. BadEntryError says
    which entry is wrong and why."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise BadEntryError(f"winkube_windows_revisions: it is {entries!r}, wanted a list of entries.")
    return tuple(_entry(number, each) for number, each in enumerate(entries, 1))


def _entry(number: int, each: Any) -> BadRevision:
    where = f"winkube_windows_revisions, entry {number}"
    if not isinstance(each, Mapping):
        raise BadEntryError(f"{where}: it is {each!r}, wanted keys such as build, since, mended and breaks.")
    names = {one.name: one for one in fields(BadRevision)}
    if strange := sorted(str(key) for key in each if key not in names):
        raise BadEntryError(f"{where}: {', '.join(strange)} is not a key; there are {', '.join(names)}.")
    values = {"since": 0, "mended": 0, "source": "", **each}
    for name, one in names.items():
        if name not in values and one.default is MISSING:
            raise BadEntryError(f"{where}: {name} is missing.")
    try:
        numbers = {name: int(values[name]) for name in ("build", "since", "mended")}
    except (TypeError, ValueError) as error:
        raise BadEntryError(f"{where}: build, since and mended are numbers such as 20348 and 2582: {error}.") from error
    source = str(values["source"])
    return BadRevision(
        build=numbers["build"],
        since=numbers["since"],
        mended=numbers["mended"],
        breaks=str(values["breaks"]),
        source=source,
        concerns=str(values.get("concerns", "")),
        unverified=bool(values.get("unverified", False)) or not source,
    )


def find_bad(build: int, revision: int, own: Iterable[BadRevision] = (), mode: str = "") -> tuple[BadRevision, ...]:
    """The entries of this revision, those of the table and one's `own`; with the node's network `mode` without those
    of another mode."""
    return tuple(each for each in (*BAD_REVISIONS, *own) if each.has(build, revision) and _meets(each, mode))


MODES = ("l2bridge", "overlay")


def _meets(entry: BadRevision, mode: str) -> bool:
    return not mode or entry.concerns not in MODES or entry.concerns == mode


def next_good(build: int, revision: int, own: Iterable[BadRevision] = (), mode: str = "") -> Update | None:
    """The first known update after this revision with which nothing is known to be wrong; None if there is none."""
    extra = tuple(own)
    later = (each for each in updates() if each.build == build and each.revision > revision)
    return next((each for each in later if not find_bad(build, each.revision, extra, mode)), None)


def find_update(build: int, revision: int) -> Update:
    """The update that brings a revision; without its number where no table has it."""
    found = next((each for each in updates() if (each.build, each.revision) == (build, revision)), None)
    return found or Update(build, revision, "", "")


@dataclass(frozen=True, slots=True)
class Refused:
    """An update that would break the node: its number for a reject list, and why, for people."""

    kb: str
    why: str


def find_refused(
    found: Iterable[tuple[str, Sequence[str]]],
    build: int,
    revision: int,
    own: Iterable[BadRevision] = (),
    mode: str = "",
) -> Iterator[Refused]:
    """The updates that would bring a node of this build and revision a known fault that it does not have yet.

    `found` are the updates of Windows Update, as title and KB numbers. A fault counts if it is verified, concerns every
    node or the network `mode`, and is fixed by a later update. A fault that an update merely leaves does not count.
    """
    extra = tuple(own)
    for title, numbers in found:
        for number in numbers:
            kb = f"KB{number.upper().removeprefix('KB')}"
            brought = _revision(title, kb, build)
            entries = find_bad(build, brought, extra, mode) if brought else ()
            new = [each for each in entries if each.since > revision and each.mended and _stops(each, mode)]
            if new:
                after = next_good(build, brought, extra, mode)
                good = after.name if after else f"10.0.{build}.{max(each.mended for each in new)}"
                said = " ".join(f"{each.breaks} ({each.source})" for each in new)
                yield Refused(
                    kb, f"{kb} (10.0.{build}.{brought}) is not installed: {said} The next good one is {good}."
                )


def _stops(entry: BadRevision, mode: str) -> bool:
    return not entry.unverified and (not entry.concerns or entry.concerns == mode)


_IN_TITLE = re.compile(r"\((\d{5})\.(\d+)\)")


def _revision(title: str, kb: str, build: int) -> int:
    """The revision that an update brings, by the table, else by its title (`.. (KB5058411) (26100.4061)`); else 0."""
    row = next((each for each in updates() if each.build == build and each.kb == kb), None)
    if row is not None:
        return row.revision
    named = _IN_TITLE.search(title)
    return int(named[2]) if named and int(named[1]) == build else 0
