# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""apiVersion and kind: whether a document is a Node YAML at all, and if not, what it is instead."""

from __future__ import annotations

from .problems import Position, Problem, did_you_mean, shown
from .source import API_GROUP, API_VERSION, KIND
from .tree import Mapping, Scalar, is_null

_LISTS = ("NodeList", "List")
_CORE_NODE = "a core Kubernetes Node is what the cluster says about a node; it has no credentials and is no inventory"


def check(document: Mapping) -> tuple[list[Problem], bool]:
    """Problems of apiVersion and kind, and whether the rest is worth checking (a core Node fails in every line)."""
    version, version_at = _said(document, "apiVersion")
    kind, kind_at = _said(document, "kind")
    group = (version or "").partition("/")[0]
    problems: list[Problem] = []
    if version is None:
        problems.append(Problem(version_at, f"found no apiVersion, wanted 'apiVersion: {API_VERSION}'.", "apiVersion"))
    elif version != API_VERSION:
        reason = f": {_CORE_NODE}" if (version, kind) == ("v1", KIND) else ""
        text = f"found apiVersion {shown(version)}, wanted {API_VERSION}{reason}."
        problems.append(Problem(version_at, text, "apiVersion"))
    if kind is None:
        problems.append(Problem(kind_at, f"found no kind, wanted 'kind: {KIND}'.", "kind"))
    elif kind != KIND:
        problems.append(Problem(kind_at, f"found kind {shown(kind)}, wanted {KIND}: {_instead_of(kind)}", "kind"))
    return problems, group in ("", API_GROUP) and kind not in _LISTS


def _instead_of(kind: str) -> str:
    if kind in _LISTS:
        return "write each node as a document of its own, with a line '---' between two."
    meant = did_you_mean(kind, [KIND])
    return f"did you mean {meant}?" if meant else "keep other objects in other files."


def _said(document: Mapping, key: str) -> tuple[str | None, Position]:
    """The text under a key, None if there is none, and the place to name for it."""
    member = document.member(key)
    if member is None:
        return None, document.at
    value = member.value
    return (value.text if isinstance(value, Scalar) and not is_null(value) else None), member.at_value
