"""The requirement rows: which there are, which piece of work owns each, which are declined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import yaml_text

ROWS_FILE = Path(__file__).resolve().parent.parent / "rows.yml"

# How many rows each piece owns, in the order the pieces are built.
PIECES: Mapping[str, int] = {
    "one node": 58,
    "whole node": 134,
    "hardening": 9,
    "provisioner": 21,
    "cri": 44,
    "network": 49,
    "linter": 119,
    "cluster": 41,
    "documents": 12,
}

_ID = re.compile(r"[A-Z]{2}-[0-9]{2}")
_KEYS = {"piece", "declined"}


@dataclass(frozen=True)
class Row:
    """One requirement; `declined` is the reason why it is not going to be met, None where it is."""

    id: str
    piece: str
    declined: str | None = None


def row_from(row_id: object, entry: object) -> Row:
    """One entry of rows.yml. Raises ValueError with a sentence naming the row."""
    if not isinstance(row_id, str) or not _ID.fullmatch(row_id):
        raise ValueError(f"rows.yml: {row_id!r} is not a row id; one looks like NY-01")
    if not isinstance(entry, dict) or set(entry) - _KEYS:
        raise ValueError(
            f"rows.yml: {row_id} has {entry!r}; wanted is {{piece: .., declined: ..}}, the second optional"
        )
    fields: dict[str, Any] = entry
    piece = fields.get("piece")
    if piece not in PIECES:
        raise ValueError(f"rows.yml: {row_id} names the piece {piece!r}; there are {', '.join(PIECES)}")
    declined = fields.get("declined")
    if "declined" not in fields:
        return Row(row_id, str(piece))
    if not isinstance(declined, str) or len(declined.split()) < 3:
        raise ValueError(f"rows.yml: {row_id} is declined without a reason; `declined` holds a sentence")
    return Row(row_id, str(piece), declined)


def load_rows(path: Path = ROWS_FILE) -> dict[str, Row]:
    """All rows by id, in the file's order. Raises ValueError (a sentence) for an entry that is wrong."""
    document = yaml_text.load_file(path)
    if not isinstance(document, dict):
        raise ValueError(f"{path.name}: wanted is a mapping of row ids, found is {type(document).__name__}")
    return {str(row_id): row_from(row_id, entry) for row_id, entry in document.items()}
