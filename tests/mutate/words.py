"""What a row is about, in the words of its tests: the texts and numbers that they name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

Word = str | int | float
_COMMON: frozenset[Word] = frozenset({0, 1, 2, -1, "", "win1", "all", "utf-8", "name", "path", "row", "args"})


def words_of(root: Path, row: str, tests: Iterable[str]) -> dict[Word, float]:
    """Words with weights: 1 for what stands beside the row's id or in its test, less for what the test refers to."""
    names: dict[str, set[str]] = {}
    for test in tests:
        path, _, rest = test.partition("::")
        names.setdefault(path, set()).update(part.partition("[")[0] for part in rest.split("::"))
    words: dict[Word, float] = {}
    for path, wanted in names.items():
        module = ast.parse((root / path).read_text(encoding="utf-8"))
        for word, weight in _in_module(module, row, wanted):
            words[word] = max(weight, words.get(word, 0.0))
    return {word: weight for word, weight in words.items() if _tells(word) and word != row}


def _in_module(module: ast.Module, row: str, wanted: set[str]) -> Iterator[tuple[Word, float]]:
    """A row whose id stands in a table is about its line there; else about the whole test."""
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef) and node.name in wanted]
    entries = [node for node in ast.walk(module) if is_entry(node, row)]
    for node in entries:
        yield from ((word, 1.0) for word in constants(node))
    weight = 0.5 if entries else 1.0
    assigned = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in functions:
        yield from ((word, weight) for word in constants(function))
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in assigned and not entries:
                yield from ((word, weight / 2) for word in constants(assigned[node.id]))


def is_entry(node: ast.AST, row: str) -> bool:
    """A tuple, list or call of several parts, one of which is the row's id; not the marker alone."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Tuple | ast.List):
        parts = node.elts
    elif isinstance(node, ast.Call):
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
    own = any(isinstance(part, ast.Constant) and part.value == row for part in parts)
    marked = any(isinstance(part, ast.Call) and is_entry(part, row) for part in parts)
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return (own and name != "row") or (marked and name == "param")


def lines_naming(text: str, row: str) -> frozenset[int]:
    """The lines of a Python file's tables and calls that name the row: there the code says itself whose it is."""
    entries = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.expr) and is_entry(node, row)]
    return frozenset(line for node in entries for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def constants(node: ast.AST) -> Iterator[Word]:
    """Texts, their words, and numbers below a node; not its docstring."""
    doc = _docstring(node)
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and each is not doc and isinstance(each.value, str | int | float):
            if isinstance(each.value, bool):
                continue
            yield each.value
            if isinstance(each.value, str):
                yield from each.value.split()


def _docstring(node: ast.AST) -> ast.AST | None:
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
        return body[0].value
    return None


def _tells(word: Word) -> bool:
    return word not in _COMMON and (not isinstance(word, str) or len(word.strip()) > 2)
