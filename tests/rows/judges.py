"""What the programs of the lab were judged by: the first line of each one's docstring says so.

`transcripts` are answers of the real program that were recorded, `Wine` is the real program on Wine; else a source with
its tag and path, or `memory`: nothing but what somebody knows of it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

MEMORY = "memory"
LABS_OWN = frozenset({"__init__", "catalogue", "unsimulated", "worker"})
"""Modules that stand for no program of a real machine."""
_JUDGE = re.compile(r", judged by (?:(transcripts|Wine|memory)|\S+ (?:v?\d[\d.]+|[\da-f]{7,40}) \S+\.\w+)\.$")


def judge_of(text: str) -> str | None:
    """`transcripts`, `Wine`, `source` or `memory`, as the text of a program of the lab says; None if it does not."""
    found = _JUDGE.search((ast.get_docstring(ast.parse(text)) or "").partition("\n")[0])
    return None if found is None else found[1] or "source"


def judges(folder: Path) -> dict[str, str | None]:
    """Each program's module of tests/lab/programs, and its judge."""
    return {
        str(path.relative_to(folder)): judge_of(path.read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.py"))
        if path.stem not in LABS_OWN
    }


def count_judges(folder: Path) -> dict[str, int]:
    """How many programs each kind of judge has."""
    return dict(sorted(Counter(each or "nothing" for each in judges(folder).values()).items()))
