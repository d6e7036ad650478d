"""Writes tests/rows.yml from the requirements document: its rows (part A) and the table of who owns which (part D).

    python -m tests.rows.from_requirements PATH

Reasons of declined rows that stand in the present file are kept.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tests.rows.table import PIECES, ROWS_FILE, Row, load_rows

_ROW = re.compile(r"^\| ([A-Z]{2})-([0-9]{2}) \|", re.MULTILINE)
_HEADER = (
    "# Every requirement row and the piece of work that owns it. Written by tests/rows/from_requirements.py.\n---\n"
)


def rows_in(document: str) -> list[str]:
    """The ids of part A, in order. Raises ValueError where one is there twice."""
    part = document.partition("\n# Part A.")[2].partition("\n# Part B.")[0]
    ids = [f"{group}-{number}" for group, number in _ROW.findall(part)]
    twice = sorted({row for row in ids if ids.count(row) > 1})
    if twice:
        raise ValueError(f"rows that are there twice: {', '.join(twice)}")
    return ids


def owners_in(document: str, ids: list[str]) -> dict[str, str]:
    """Row id -> piece, from part D, where "CT 1-4,20; NY all" names rows.

    Raises ValueError where a piece's count, part D and part A do not agree.
    """
    owners: dict[str, str] = {}
    for line in document.partition("\n# Part D.")[2].partition("\n# Part E.")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not cells[1].isdigit():
            continue
        piece, announced, which = cells
        mine = [row for entry in which.split(";") for row in _rows_of(entry.strip(), ids)]
        if len(mine) != int(announced):
            raise ValueError(f"piece {piece!r}: the table announces {announced} rows and names {len(mine)}")
        for row in mine:
            if row in owners:
                raise ValueError(f"{row} is owned by {owners[row]!r} and by {piece!r}")
            if row not in ids:
                raise ValueError(f"piece {piece!r} names {row}, which part A does not have")
            owners[row] = piece
    ownerless = [row for row in ids if row not in owners]
    if ownerless:
        raise ValueError(f"rows that no piece owns: {', '.join(ownerless)}")
    return owners


def _rows_of(entry: str, ids: list[str]) -> list[str]:
    group, _, numbers = entry.partition(" ")
    if numbers == "all":
        return [row for row in ids if row.startswith(f"{group}-")]
    found = []
    for part in numbers.split(","):
        first, _, last = part.partition("-")
        found += [f"{group}-{number:02}" for number in range(int(first), int(last or first) + 1)]
    return found


def render(ids: list[str], owners: dict[str, str], before: dict[str, Row]) -> str:
    """The text of rows.yml."""
    lines = []
    for row in ids:
        declined = before[row].declined if row in before else None
        reason = "" if declined is None else ', declined: "' + declined.replace("\\", "\\\\").replace('"', '\\"') + '"'
        lines.append(f"{row}: {{piece: {owners[row]}{reason}}}\n")
    return _HEADER + "".join(lines)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    document = Path(arguments[0]).read_text(encoding="utf-8")
    ids = rows_in(document)
    owners = owners_in(document, ids)
    ROWS_FILE.write_text(render(ids, owners, load_rows() if ROWS_FILE.exists() else {}), encoding="utf-8")
    for piece in PIECES:
        print(f"{piece}: {sum(1 for owner in owners.values() if owner == piece)}")
    print(f"in all: {len(ids)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
