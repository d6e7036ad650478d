# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths on the controller as users write them, and its full disk."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .resource import Refused

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""Errors of a disk, or a user's part of it, without room."""


@contextmanager
def needing_room(path: Path, needed: int) -> Iterator[None]:
    """Refused if the disk becomes full while `needed` bytes are written to `path`; other errors pass."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise Refused(explain_full(path, needed)) from None


def explain_full(path: Path, needed: int = 0) -> str:
    """A sentence: which path on the controller has no room, for how many bytes, and what to do."""
    what = f"{needed:,} bytes have to be written there" if needed else "more has to be written there"
    try:
        free = f", and {shutil.disk_usage(path.parent).free:,} are free"
    except OSError:
        free = ""
    return f"{path}: the controller's disk is full. {what.capitalize()}{free}: make room, and run again."


def expand_home(path: str) -> Path:
    """The path with `~` and `~user` as the folders that they stand for. A user whom the controller does not know stays
    as written, so that the error is about a file that is missing; Path.expanduser raises RuntimeError."""
    return Path(os.path.expanduser(path))  # noqa: PTH111
