"""Prints the figures of the last commit and of the last tag side by side; the last line is one JSON object.

python -m tests.figures [REVISION ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence

from tests.figures.size import Size, last_tag, measure, read_revision
from tests.quality.sanity import ROOT

PARTS: Mapping[str, str] = {
    "program": "lines in functions and classes",
    "tables": "lines of tables and documentation",
    "data": "lines of data files",
    "scripts": "lines of PowerShell and C#",
    "tests": "lines of tests",
    "words": "words of pages by hand",
}


def main(revisions: Sequence[str]) -> int:
    """1 if there is no such revision."""
    tag = last_tag(ROOT)
    wanted = list(revisions) or ["HEAD", *([tag] if tag else [])]
    try:
        sizes = {name: measure(read_revision(ROOT, name)) for name in wanted}
    except subprocess.CalledProcessError as error:
        print(f"figures: {error.stderr.decode().strip()}", file=sys.stderr)
        return 1
    for line in lines(sizes):
        print(line)
    if not revisions and not tag:
        print("There is no tag before the last commit to set beside it.")
    print(json.dumps({name: size.total() for name, size in sizes.items()}))
    return 0


def lines(sizes: Mapping[str, Size]) -> Iterator[str]:
    """A table for each part: a package a line, a revision a column."""
    for part, title in PARTS.items():
        columns: list[Mapping[str, int]] = [getattr(size, part) for size in sizes.values()]
        yield _row(title, sizes)
        for package in sorted(set().union(*columns)):
            yield _row(f"  {package}", [f"{column.get(package, 0):,}" for column in columns])
        yield _row("  total", [f"{sum(column.values()):,}" for column in columns])
        yield ""


def _row(name: str, cells: Iterator[str] | Sequence[str] | Mapping[str, Size]) -> str:
    return f"{name:<44}" + "".join(f"{cell:>14}" for cell in cells)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
