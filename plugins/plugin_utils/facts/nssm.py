# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nssm's releases: nssm.cc publishes SHA-1 sums only, so the sha256 of the one that is wanted stands here."""

from __future__ import annotations

from dataclasses import dataclass

VERSION = "2.24"
"""The last release (2014-08-31). Builds after it, such as 2.24-101-g897c7ad, call themselves 2.24 with a suffix."""

PROGRAM = "win64/nssm.exe"
"""The 64-bit program in the zip's one folder. Source: thespianpy/Thespian, thespian/director.py (member names)."""


@dataclass(frozen=True, slots=True)
class NssmRelease:
    """One release. `file`: the zip's name; `sha256`: the zip's, lower-case hex."""

    file: str
    sha256: str
    source: str
    unverified: bool = False


RELEASES: tuple[NssmRelease, ...] = (
    NssmRelease(
        "nssm-2.24.zip",
        "727d1e42275c605e0f04aba98095c38a8e1e46def453cdffce42869428aa6743",
        "ten public repositories that pin https://nssm.cc/release/nssm-2.24.zip (351,793 bytes) agree on it; of its "
        "win64/nssm.exe they say f689ee9a...6c97, as thespianpy/Thespian thespian/director.py does",
    ),
)


def known_sha256(file: str) -> str | None:
    """The sha256 of nssm's own zip of this name, None if it is not known."""
    return next((release.sha256 for release in RELEASES if release.file == file), None)
