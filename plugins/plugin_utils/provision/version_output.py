# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program says of its own version, and whether that is the version that was wanted.

Formats, each seen in the source: `containerd github.com/containerd/containerd v1.7.11 <commit>` (containerd
cmd/containerd/command/main.go), `Kubernetes v1.29.0` (k8s.io/component-base/version/verflag), flanneld the bare version
(flannel main.go); a PE version resource `1.7.11.0` (learn.microsoft.com, VS_FIXEDFILEINFO).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["same", "other", "unclear"]

_VERSION = re.compile(r"(?<![\w.])v?(\d+\.\d+\.\d+)([-+~][0-9A-Za-z.+~$%:-]*|\.m)?(?![\w])")
_RESOURCE = re.compile(r"v?(\d+)[.,]\s?(\d+)[.,]\s?(\d+)(?:[.,]\s?\d+)?([-+].*)?")
_BETWEEN_RELEASES = re.compile(r"-\d+-g[0-9a-f]{7,}|dirty|\.m\b|\+unknown|\+\$|^-master|alpha\.\d+\.\d+|-g[0-9a-f]{7,}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`same`: it is the wanted version; `other`: it is not; `unclear`: nothing tells. `text` ends a sentence that
    begins with the program's name; empty for `same`."""

    kind: Kind
    text: str = ""


def reported(output: str) -> str | None:
    """The version in what a program printed for `--version`, without a leading v: `1.7.11`, `0.0.0-master+4a5f6e7`.
    None if there is none."""
    for line in output.splitlines():
        if found := _VERSION.search(line):
            return found[1] + (found[2] or "")
    return None


def of_resource(text: str) -> str | None:
    """The version in a PE version resource, `1.7.11` for `1.7.11.0` and for `1, 7, 11, 0`; None if it says nothing
    (`0.0.0.0`)."""
    found = _RESOURCE.fullmatch(text.strip())
    if not found or found.group(1, 2, 3) == ("0", "0", "0"):
        return None
    return ".".join(found.group(1, 2, 3)) + (found[4] or "")


def is_development(version: str) -> bool:
    """Whether this is a build between releases: commits behind a tag, uncommitted changes, no tag at all (0.0.0)."""
    rest = re.sub(r"^\d+\.\d+\.\d+", "", version)
    return version.startswith("0.0.0") or bool(_BETWEEN_RELEASES.search(rest))


def compare(wanted: str, found: str | None) -> Verdict:
    """Whether `found` (as `reported` or `of_resource` gives it) is the version that was `wanted`."""
    if found is None:
        return Verdict("unclear", f"does not say its version; wanted was {plain(wanted)}")
    if plain(wanted) == found or plain(wanted) == found.partition("+")[0]:
        return Verdict("same")
    if is_development(found):
        return Verdict("unclear", f"says it is {found}, a build between releases; wanted was {plain(wanted)}")
    return Verdict("other", f"says it is {found}, and wanted was {plain(wanted)}")


def plain(version: str) -> str:
    """Without blanks around it and the leading v."""
    return version.strip().removeprefix("v")
