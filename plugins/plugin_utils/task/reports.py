# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of a report on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..engine.local_path import expand_home
from ..engine.resource import Refused


def write_report(directory: str, texts: Mapping[str, str], *, check: bool) -> tuple[dict[str, str], bool]:
    """Write what differs, with `check` nothing.

    Args:
        directory: The folder; a relative one counts from the current folder.
        texts: The files' texts by their names.
        check: Whether nothing is written.

    Returns:
        The paths of all files by the ends of their names, and whether one of them differed.

    Raises:
        Refused: The folder cannot be written to.
    """
    folder = expand_home(directory).absolute()
    try:
        changed = [name for name, text in texts.items() if _write(folder / name, text, check=check)]
    except OSError as error:
        raise Refused(
            f"directory: the report cannot be written to {folder}: {error.strerror or error}. Name a folder on the "
            "controller that you may write to."
        ) from error
    return {name.partition(".")[2]: str(folder / name) for name in texts}, bool(changed)


def _write(path: Path, text: str, *, check: bool) -> bool:
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    if not check:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return True
