# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds Node YAML files: recognises them by content and expands the `paths` of a source."""

from __future__ import annotations

import glob
import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from ..engine.local_path import expand_home
from ..foreign.encoding import decode

API_GROUP = "windows.k8s.io"
API_VERSION = "windows.k8s.io/v1alpha1"
KIND = "Node"
VAULT_HEADER = b"$ANSIBLE_VAULT;"
HEAD_BYTES = 256 * 1024
MOST_BYTES = 8 * 1024 * 1024
"""Holds about 10,000 nodes, which take half a minute to read."""

_FIRST_KEY = re.compile(r"^(?P<indent>[ ]*)[^\s#%\-{]", re.MULTILINE)
_NODE_INSIDE = re.compile(r"^\s*(?:-\s+)?kind\s*:\s*[\"']?Node[\"']?\s*(?:#.*)?$", re.MULTILINE)


def _top_level(text: str, key: str) -> list[str]:
    """The values of a top-level key, found line by line: cheap, and works on invalid YAML."""
    first = _FIRST_KEY.search(text)
    indent = first["indent"] if first else ""
    pattern = rf"^(?:---\s+)?{indent}[\"']?{key}[\"']?\s*:\s*[\"']?(?P<value>[^\s\"'#]*)"
    return [match["value"] for match in re.finditer(pattern, text, re.MULTILINE)]


def _header(text: str) -> tuple[list[str], list[str]]:
    if text.lstrip().startswith("{"):
        try:
            data = json.loads(text)
        except ValueError:
            return [], []
        return [str(data.get("apiVersion", ""))], [str(data.get("kind", ""))]
    return _top_level(text, "apiVersion"), _top_level(text, "kind")


def is_node_yaml(text: str) -> bool:
    """Whether a text is a Node YAML, or so close to one that it must not be skipped silently.

    That is: an apiVersion of our group; kind Node or NodeList whatever the apiVersion (a core Node is refused with a
    reason, not passed over); a List that holds Nodes. Only keys in the outermost column count: an inventory may carry
    manifests in its variables.
    """
    versions, kinds = _header(text)
    if any(version == API_GROUP or version.startswith(API_GROUP + "/") for version in versions):
        return True
    if any(kind in (KIND, "NodeList") for kind in kinds):
        return True
    return "List" in kinds and _NODE_INSIDE.search(text) is not None


def is_vaulted(data: bytes) -> bool:
    return data.startswith(VAULT_HEADER)


# Which files are Node YAMLs, and which ones the `paths` of a source mean.

EXTENSIONS = (".yml", ".yaml", ".json")
_VARIABLE_FOLDERS = frozenset({"group_vars", "host_vars", "vars_plugins"})


_NO_FILES = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


def name_special_file(path: Path) -> str:
    """`a FIFO`, `a socket` or `a ... device`, else empty. Opening a FIFO would block until somebody writes to it."""
    try:
        return _NO_FILES.get(stat.S_IFMT(path.stat().st_mode), "")
    except OSError:
        return ""


def names_plugin(path: Path, plugin: str) -> bool:
    """Whether a file is a source file of the plugin, such as `plugin: winkube.node.node_yaml`."""
    if name_special_file(path):
        return False
    try:
        with path.open("rb") as stream:
            return plugin in _top_level(decode(stream.read(HEAD_BYTES)), "plugin")
    except (OSError, UnicodeDecodeError):
        return False


def claims(path: Path) -> bool:
    """Whether a file is or may be a Node YAML.

    A vaulted file may be one: only decryption would tell. So may an empty or unreadable file with such a name, and a
    pipe or device, which the plugins after this one would open.
    """
    if name_special_file(path):
        return path.suffix in EXTENSIONS
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
        empty = not head.strip() and path.suffix in EXTENSIONS
        return empty or is_vaulted(head) or is_node_yaml(decode(head))
    except OSError:
        return path.suffix in EXTENSIONS and (path.is_symlink() or path.is_file()) and not path.is_dir()
    except UnicodeDecodeError as error:
        # A character cut at the end of the head is not a reason; one before it is for `read` to complain about.
        return b"\0" not in head and is_node_yaml(head[: error.start].decode("utf-8", errors="replace"))


def expand(pattern: str, base: Path) -> tuple[list[Path], str | None]:
    """The files that one entry of `paths` names, or a sentence if there are none. Raises OSError.

    A file is taken as it is named; a glob means the files that match; a directory means the Node YAMLs in it and below
    it, other files in there are left alone.
    """
    path = expand_home(pattern)
    path = path if path.is_absolute() else base / path
    if path.is_dir():
        found = sorted(_in_directory(path))
        none = f"found no Node YAML in the folder {pattern}, wanted at least one file with kind: Node."
        return found, None if found else none
    if path.exists():
        return [path], None
    if glob.has_magic(str(path)):
        names = glob.glob(str(path), recursive=True)  # noqa: PTH207 - pathlib takes no absolute pattern
        matches = sorted(path for path in map(Path, names) if not path.is_dir())
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
