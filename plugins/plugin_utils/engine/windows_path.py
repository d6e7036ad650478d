# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Windows paths as the engine compares and builds them: always absolute, compared without case."""

from __future__ import annotations

import ntpath
import re
from functools import cache

_DRIVE = re.compile(r"^[A-Za-z]:\\")
_FORBIDDEN = re.compile(r'[<>"|?*\x00-\x1f]')


@cache
def key(path: str) -> str:
    r"""A key that is the same for `C:/K\..\k\Kubelet.exe` and `c:\k\kubelet.exe`."""
    return ntpath.normcase(ntpath.normpath(path))


def is_same(left: str, right: str) -> bool:
    """Whether the spelling of two paths shows that they are the same file."""
    return key(left) == key(right)


def join(*parts: str) -> str:
    """The parts joined by backslashes, case unchanged."""
    return ntpath.normpath(ntpath.join(*parts))


def parent(path: str) -> str:
    """The folder that holds `path`."""
    return ntpath.dirname(path)


def name(path: str) -> str:
    """The last part of `path`."""
    return ntpath.basename(path)


def problem(path: str) -> str | None:
    r"""Why `path` is not an absolute Windows path, as the end of a sentence; None if it is one.

    Control characters usually come from a double-quoted `"c:\bin"` in YAML, where `\b` is a backspace.
    """
    if any(ord(char) < 32 for char in path):
        return "holds a control character: in YAML write the path without double quotes"
    if not _DRIVE.match(path.replace("/", "\\")):
        return "is not an absolute Windows path such as C:\\k\\kubelet.exe"
    if _FORBIDDEN.search(path):
        return 'holds a character that no Windows file name may have (one of < > " | ? *)'
    if ":" in path[2:]:
        return "names an alternate data stream (a second colon)"
    return None
