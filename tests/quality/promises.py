"""Sentences of README and docs that promise something: `always`, `never`, `until`, `whatever`, `refuses`.

tests/quality/promises.yml has a row for each, with the test that breaks it, or who else it is about.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

TABLE = Path(__file__).with_name("promises.yml")
WORDS = re.compile(r"\b(?:always|never|until|whatever|refuses)\b", re.IGNORECASE)
ABOUT = ("others", "reader", "value")
"""What a sentence without a test is about: what other people's programs do; what the reader does; a value's name or a
figure of speech."""
_NO_PROSE = re.compile(
    r"<!-- generated.*?<!-- end[^>]*-->|^ *(?P<fence>```|~~~).*?^ *(?P=fence)", re.DOTALL | re.MULTILINE
)
_TARGET = re.compile(r"\]\([^()\s]*\)")
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\. ))")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[(])|(?<=:)\s+(?=[A-Z*\[(])|\s\|\s")
_WHOLE_PAGES_GENERATED = ("docs/messages.md", "docs/bad-inputs.md")


@dataclass(frozen=True)
class Row:
    """`says` is a part of the sentence on `page`; `tests` break what it promises, else it is about something else."""

    page: str
    says: str
    tests: tuple[str, ...]
    about: str


def read_table(text: str) -> list[Row]:
    """The rows; a page has a list of them. KeyError for one without `says`."""
    pages: dict[str, list[dict[str, Any]]] = yaml.safe_load(text)
    return [
        Row(page, row["says"], _tests(row.get("test")), row.get("about", "")) for page in pages for row in pages[page]
    ]


def _tests(named: str | list[str] | None) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else tuple(named or ())


def pages(root: Path) -> Iterator[Path]:
    """README, docs, roles. READMEs; not what is generated whole, nor the rules, which say what Kubernetes does."""
    for path in (root / "README.md", *sorted(root.glob("docs/**/*.md")), *sorted(root.glob("roles/*/README.md"))):
        name = path.relative_to(root).as_posix()
        if name not in _WHOLE_PAGES_GENERATED and not name.startswith("docs/rules/"):
            yield path


def find_promises(text: str) -> Iterator[str]:
    """The sentences of a page that have one of the words, their blanks single."""
    for block in _BLOCK.split(_TARGET.sub("]", _NO_PROSE.sub("", text))):
        for sentence in _SENTENCE.split(" ".join(block.split())):
            if WORDS.search(sentence):
                yield sentence


def is_test(root: Path, name: str) -> bool:
    """Whether `path::function` is a test, or `path` a file of contract cases."""
    path, _, function = name.partition("::")
    if not (root / path).is_file():
        return False
    if not function:
        return path.startswith("tests/contract/ops/")
    tree = ast.parse((root / path).read_text(encoding="utf-8"))
    return function.startswith("test_") and any(
        isinstance(node, ast.FunctionDef) and node.name == function for node in ast.walk(tree)
    )
