# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths on the controller as users write them."""

from __future__ import annotations

import os
from pathlib import Path


def expand_home(path: str) -> Path:
    """The path with `~` and `~user` as the folders that they stand for. A user whom the controller does not know stays
    as written, so that the error is about a file that is missing; Path.expanduser raises RuntimeError."""
    return Path(os.path.expanduser(path))  # noqa: PTH111
