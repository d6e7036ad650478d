# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables that are data: a JSON file of rows, each with its `source`.

What is made of names of other tables stays Python.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILES = (
    "base_image_ends.json",
    "base_images.json",
    "kubernetes_fixes.json",
    "os_switches.json",
    "windows_revisions.json",
)


def read_rows(file: str) -> list[dict[str, Any]]:
    """The rows of a table of this folder, one of FILES."""
    found: list[dict[str, Any]] = json.loads(Path(__file__).with_name(file).read_text(encoding="utf-8"))
    return found
