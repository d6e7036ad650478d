"""What is in a document of the state folder, by its types: a field of another one is as none (state.ps1,
Select-NodeField)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Document = dict[str, Any]
Fits = Callable[[Any], bool]
IS_ID = re.compile(r"[0-9a-f]{32}").fullmatch
IS_SHA256 = re.compile(r"[0-9a-f]{64}").fullmatch


def text(value: Any) -> bool:
    return isinstance(value, str)


def number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def table(value: Any) -> bool:
    return isinstance(value, dict)


OPEN: Mapping[str, Fits] = {
    **dict.fromkeys(("id", "controller", "since", "boot_id", "mode", "started"), text),
    "uptime_s": number,
    "pid": whole,
}
ENTRY: Mapping[str, Fits] = {
    **dict.fromkeys(("at", "e", "op", "message", "outcome"), text),
    **dict.fromkeys(("result", "data", "error"), table),
    "n": whole,
}
BATCH: Mapping[str, Fits] = {
    **dict.fromkeys(("component", "was", "hns"), text),
    "deadline_s": number,
    "opened": table,
}
HASH: Mapping[str, Fits] = {**dict.fromkeys(("written", "file_id", "sha256"), text), "size": number}


def fitting(found: Any, kinds: Mapping[str, Fits]) -> Document:
    return {key: found[key] for key, fits in kinds.items() if key in found and fits(found[key])} if table(found) else {}


def opened(found: Any) -> Document:
    """open.json, or `opened` of batch.json; without an id that is one it has none."""
    kept = fitting(found, OPEN)
    if not IS_ID(kept.get("id", "")):
        kept.pop("id", None)
    return kept


def entry(found: Any) -> Document | None:
    """An entry of a journal; None where it says nothing: no kind, an outcome without one, an op's end without its
    number."""
    kept = fitting(found, ENTRY)
    needed = {"done": ("e", "n"), "undone": ("e", "n"), "outcome": ("e", "outcome")}.get(kept.get("e", ""), ("e",))
    return kept if all(name in kept for name in needed) else None


def batch(found: Document | None) -> Document | None:
    """batch.json; None where its ops or gate are none."""
    if found is None or not _is_op_list(found.get("ops"), numbered=True) or not _is_op_list(found.get("gate")):
        return None
    return {key: value for key, value in found.items() if key not in BATCH or BATCH[key](value)}


def _is_op_list(found: Any, *, numbered: bool = False) -> bool:
    if found is None:
        return True
    return isinstance(found, list) and all(
        table(op)
        and text(op.get("op"))
        and (whole(op.get("n")) or not numbered)
        and isinstance(op.get("args") or {}, dict)
        and isinstance(op.get("secrets") or [], list)
        and _is_op_list(op.get("undo"))
        for op in found
    )
