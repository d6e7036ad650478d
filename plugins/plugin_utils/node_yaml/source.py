# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What bytes on disk are: text at all, and if so, ours?"""

from __future__ import annotations

import codecs
import json
import re

API_GROUP = "windows.k8s.io"
API_VERSION = "windows.k8s.io/v1alpha1"
KIND = "Node"
PLUGIN = "winkube.node.node_yaml"
VAULT_HEADER = b"$ANSIBLE_VAULT;"
HEAD_BYTES = 256 * 1024

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_FIRST_KEY = re.compile(r"^(?P<indent>[ ]*)[^\s#%\-{]", re.MULTILINE)
_NODE_INSIDE = re.compile(r"^\s*(?:-\s+)?kind\s*:\s*[\"']?Node[\"']?\s*(?:#.*)?$", re.MULTILINE)


def decode(data: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 with a byte order mark (what Windows PowerShell's `>` writes).

    Raises UnicodeDecodeError.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data.decode(encoding)
    return data.decode("utf-8")


def _top_level(text: str, key: str) -> list[str]:
    """The values of a key in the outermost column, by looking at lines: cheap, and works on invalid YAML."""
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
    """Whether a text says of itself that it is a Node YAML, or something so near to it that silence would be wrong.

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


def is_plugin_source(text: str) -> bool:
    """Whether a text is a source file of the plugin: `plugin: winkube.node.node_yaml`."""
    return PLUGIN in _top_level(text, "plugin")


def is_vaulted(data: bytes) -> bool:
    return data.startswith(VAULT_HEADER)
