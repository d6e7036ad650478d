"""The places in the collection that take a secret out of its type (engine/secret.py), a line each.

    python -m tests.quality.revealed

A reader of the list asks of each: does it go to nothing but what has to have it? The exit status is 1 where something
reaches for the value without `reveal`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.quality.sanity import ROOT, project_files

HOME = "plugins/plugin_utils/engine/secret.py"
METHOD, HIDDEN = "reveal", "_Secret__value"


def find_places(root: Path, names: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """`file:line: code`, and whether it is the method that does it."""
    for name in names:
        if not name.startswith("plugins/") or not name.endswith(".py") or name == HOME:
            continue
        source = (root / name).read_text(encoding="utf-8")
        lines = source.splitlines()
        for node in ast.walk(ast.parse(source, filename=name)):
            if isinstance(node, ast.Attribute) and node.attr in {METHOD, HIDDEN}:
                yield f"{name}:{node.lineno}: {lines[node.lineno - 1].strip()}", node.attr == METHOD


def main() -> int:
    found = sorted(find_places(ROOT, project_files()))
    print("".join(f"{place}\n" for place, _allowed in found), end="")
    return int(not all(allowed for _place, allowed in found))


if __name__ == "__main__":
    sys.exit(main())
