# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of Kubernetes and containerd: reading, ordering, release lines.

Source: SemVer 2.0.0, section 11 (order of pre-releases). Both projects tag releases as `v<release>[-<pre-release>]`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_RELEASE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:[+~]([0-9A-Za-z.~+-]+))?")
_LINE = re.compile(r"v?(\d+)\.(\d+)")

_PreKey = tuple[tuple[bool, int, str], ...]


class VersionError(ValueError):
    """A text that is not a version; str() is the sentence for the user."""


@dataclass(frozen=True, order=True, slots=True)
class Line:
    """A release line, what Kubernetes calls a minor: 1.29, 2.3. Ordered by number."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str, what: str = "version") -> Line:
        """The line of `1.29`, `v1.29` or of any release of it (`1.29.3`). VersionError names `what` and the text."""
        found = _LINE.fullmatch(text.strip())
        if found:
            return cls(int(found[1]), int(found[2]))
        return Version.parse(text, what).line

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, order=True, slots=True)
class Version:
    """A release, ordered as SemVer orders releases: `2.0.0-rc.1` < `2.0.0`.

    `build` is what follows `+` or, in Debian's package versions, `~`; it takes no part in comparisons.
    """

    major: int
    minor: int
    patch: int
    _order: tuple[bool, _PreKey] = field(default=(True, ()), repr=False)
    pre: str = field(default="", compare=False)
    build: str = field(default="", compare=False)

    @classmethod
    def parse(cls, text: str, what: str = "version") -> Version:
        """Reads `1.7.11`, `v1.29.0`, `2.0.0-rc.1`, `1.6.20~ds1`.

        VersionError is a sentence that names `what` (for example `containerd version`) and the text; for a release line
        such as `1.29` it says that the patch number is missing.
        """
        stripped = text.strip()
        found = _RELEASE.fullmatch(stripped)
        if found is None:
            line = _LINE.fullmatch(stripped)
            if line:
                raise VersionError(
                    f"{what} is {text!r}, which names the release line {line[1]}.{line[2]} and no release: write the "
                    f"patch number too, for example '{line[1]}.{line[2]}.0', in quotes (YAML reads 1.30 as 1.3)."
                )
            raise VersionError(f"{what} is {text!r}; wanted is a release such as '1.29.0' or '2.0.0-rc.1'.")
        pre = found[4] or ""
        return cls(int(found[1]), int(found[2]), int(found[3]), (not pre, _pre_key(pre)), pre, found[5] or "")

    @property
    def line(self) -> Line:
        """The release line: 1.7 of 1.7.11."""
        return Line(self.major, self.minor)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}" + (f"-{self.pre}" if self.pre else "")


def _pre_key(pre: str) -> _PreKey:
    """Numbers sort by value and before words; a longer list after its own beginning."""
    parts = pre.split(".") if pre else []
    return tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
