# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The sums of publishers' files that came with the collection: pins.txt, by host and path of the file.

A publisher's sum file is on the server of the file: who changes one can change the other. A pin was read earlier.
A file of its own: its table is written by `make pins`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

TABLE = Path(__file__).with_suffix(".txt")
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")


@cache
def pins() -> dict[str, str]:
    """Host and path -> sha256."""
    found = map(_LINE.fullmatch, TABLE.read_text(encoding="utf-8").splitlines())
    return {match[2]: match[1] for match in found if match}


def find_pin(url: str) -> str | None:
    """The sha256 of the file at `url`, also at a mirror that keeps hosts and paths; None if it has no pin."""
    parts = urlsplit(url)
    path = f"{parts.netloc.rpartition('@')[2]}{parts.path}"
    while path:
        if found := pins().get(path):
            return found
        path = path.partition("/")[2]
    return None
