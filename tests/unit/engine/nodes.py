"""Readings of a node, and plans in few words, for the tables of this folder."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, services_query


def node(*services: dict[str, Any], **parts: Any) -> Reading:
    """A node with these services, and these parts as they are."""
    listed = Reading(parts={"system": {"machine": "m-1", "boot_id": "b-1"}}).merge(
        {"services": list(services)}, (services_query(()),)
    )
    return listed.merge(parts)


def file(path: str, text: str | None = None, **more: Any) -> dict[str, Any]:
    """The part of an existing file with this text; without a text, of a missing file."""
    if text is None and not more:
        return {file_key(path): {"exists": False}}
    content = {} if text is None else {"content": base64.b64encode(text.encode()).decode()}
    return {file_key(path): {"exists": True, "kind": "file", **content, **more}}


def said(ops: Iterable[Op]) -> list[str]:
    """Each op in some words: `stop kubelet`, `wait service stopped`, `write C:\\k\\x`."""
    return [_said(op) for op in ops]


def undone(op: Op) -> list[str]:
    return said(op.undo)


def _said(op: Op) -> str:
    args = op.args
    if op.op == "run":
        return " ".join(map(str, args["args"]))
    if op.op == "wait":
        what = args.get("state") or args.get("name") or args.get("path") or args.get("url") or ""
        return f"wait {args['for']} {what}"
    where = args.get("path") or args.get("name") or args.get("from") or args.get("adapters") or args.get("archive")
    return f"{op.op} {where}"
