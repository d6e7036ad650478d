"""What a row is about, in the words of its tests: the texts and numbers that they name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

Word = str | int | float
_OUT_OF_A_SENTENCE = 0.3
_FLAG = re.compile(r"--([\w-]+)(=([^\s,]+))?")
_COMMON: frozenset[Word] = frozenset(
    {0, 1, 2, -1, "", "win1", "all", "utf-8", "name", "path", "row", "args", "true", "false"}
)


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
        yield from weighed(node, 1.0)
    weight = 0.5 if entries else 1.0
    assigned = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for function in functions:
        yield from weighed(function, weight)
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in assigned and not entries:
                yield from weighed(assigned[node.id], weight / 2)


def weighed(node: ast.AST, weight: float) -> Iterator[tuple[Word, float]]:
    """The words below a node. One out of a sentence counts for less, unless it looks like a name or a number."""
    whole = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    whole |= {part for text in whole for part in _arguments(text)}
    for word in constants(node):
        plain = isinstance(word, str) and word not in whole and _is_prose(word)
        yield word, weight * (_OUT_OF_A_SENTENCE if plain else 1)


def _arguments(text: str) -> Iterator[str]:
    """`proxy-mode` and `kernelspace` of `--proxy-mode=kernelspace`."""
    for flag, _equals, value in _FLAG.findall(text):
        yield from (flag, value)


def _is_prose(word: str) -> bool:
    return word.strip(".,:;'\"()").isalpha()


def is_entry(node: ast.AST, row: str) -> bool:
    """A tuple, list or call of several parts, one of which is the row's id; not the marker alone."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.Tuple | ast.List):
        parts = node.elts
    elif isinstance(node, ast.Call):
        parts = [*node.args, *(keyword.value for keyword in node.keywords)]
    own = any(isinstance(part, ast.Constant) and part.value == row for part in parts)
    marked = any(_marks(part, row) for part in parts)
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return (own and name != "row") or (marked and name == "param")


def _marks(node: ast.expr, row: str) -> bool:
    """`pytest.mark.row(...)` with the row in it, alone or in a list."""
    calls = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "row"
        and any(isinstance(part, ast.Constant) and part.value == row for part in call.args)
        for call in calls
    )


def lines_naming(text: str, row: str) -> frozenset[int]:
    """The lines of a Python file's tables and calls that name the row, and of the functions that these name: there the
    code says itself whose it is."""
    module = ast.parse(text)
    entries: list[ast.AST] = [node for node in ast.walk(module) if isinstance(node, ast.expr) and is_entry(node, row)]
    below = [each for node in entries for each in ast.walk(node)]
    called = {each.func for each in below if isinstance(each, ast.Call)}
    named = {each.id for each in below if isinstance(each, ast.Name) and each not in called}
    entries += [node for node in module.body if isinstance(node, ast.FunctionDef) and node.name in named]
    return frozenset(line for node in entries for line in _lines(node))


def _lines(node: ast.AST) -> range:
    first = getattr(node, "lineno", 0)
    return range(first, (getattr(node, "end_lineno", None) or first) + 1)


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
                yield from _arguments(each.value)


def _docstring(node: ast.AST) -> ast.AST | None:
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
        return body[0].value
    return None


def _tells(word: Word) -> bool:
    return word not in _COMMON and (not isinstance(word, str) or len(word.strip()) > 2)
