# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files are Node YAMLs, and which ones the `paths` of a source mean."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path

from .source import HEAD_BYTES, decode, is_node_yaml, is_vaulted

EXTENSIONS = (".yml", ".yaml", ".json")
_VARIABLE_FOLDERS = frozenset({"group_vars", "host_vars", "vars_plugins"})


def claims(path: Path) -> bool:
    """Whether a file looks like a Node YAML. A vaulted file may be one: who wants to know has to decrypt it."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
        return is_vaulted(head) or is_node_yaml(decode(head))
    except OSError:
        return False
    except UnicodeDecodeError as error:
        # A character cut at the end of the head is no reason; one before it is for `read` to complain about.
        return b"\0" not in head and is_node_yaml(head[: error.start].decode("utf-8", errors="replace"))


def expand(pattern: str, base: Path) -> tuple[list[Path], str | None]:
    """The files that one entry of `paths` means, and a sentence if there are none. Raises OSError.

    A file is taken as it is named; a glob means the files that match; a directory means the Node YAMLs in it and below
    it, other files in there are left alone.
    """
    path = Path(pattern).expanduser()
    path = path if path.is_absolute() else base / path
    if path.is_dir():
        found = sorted(_in_directory(path))
        none = f"found no Node YAML in the folder {pattern}, wanted at least one file with kind: Node."
        return found, None if found else none
    if path.exists():
        return [path], None
    if glob.has_magic(str(path)):
        names = glob.glob(str(path), recursive=True)  # noqa: PTH207 - pathlib takes no absolute pattern
        matches = sorted(path for path in map(Path, names) if path.is_file())
        none = f"found no file that matches {pattern}, wanted at least one (relative paths start at {base})."
        return matches, None if matches else none
    return [], f"found no file {pattern}, wanted a Node YAML, a folder or a pattern (relative paths start at {base})."


def _in_directory(folder: Path) -> Iterator[Path]:
    for child in folder.iterdir():
        if child.name.startswith(".") or child.name in _VARIABLE_FOLDERS:
            continue
        if child.is_dir() and not child.is_symlink():
            yield from _in_directory(child)
        elif child.suffix in EXTENSIONS and claims(child):
            yield child
