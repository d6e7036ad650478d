"""The marker `spare` in the tests' own files."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping, Sequence

import pytest

from tests.rows.record import rows_of

MARKER = "spare"
_FUTURE = "from __future__ import annotations\n"


def is_spare(item: pytest.Item) -> bool:
    """`@pytest.mark.spare`: of all cases; `@pytest.mark.spare("sc", "vxlan")`: of these; with `keep=("nssm",)`: of all
    but these."""
    case = getattr(getattr(item, "callspec", None), "id", "")
    return any(
        case not in marker.kwargs["keep"] if "keep" in marker.kwargs else not marker.args or case in marker.args
        for marker in item.iter_markers(MARKER)
    )


def lost_rows(items: Iterable[pytest.Item]) -> list[str]:
    """The rows that spare tests claim, and no test of `make test`. The marker `exhaustive` is at spare ones already."""
    spare, kept = set[str](), set[str]()
    for item in items:
        if is_spare(item):
            spare.update(rows_of(item))
        elif item.get_closest_marker("exhaustive") is None:
            kept.update(rows_of(item))
    return sorted(spare - kept)


def marked(text: str, spare: Mapping[str, Sequence[str]], kept: Mapping[str, Sequence[str]] | None = None) -> str:
    """A file of tests with the marker at these functions and no others, each with its cases (none: no parameters), or
    with those that are `kept` where these are fewer; a function of whose cases none is kept is spare with all."""
    lines = text.splitlines(keepends=True)
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    for node in reversed(functions):
        first = min((decorator.lineno for decorator in node.decorator_list), default=node.lineno) - 1
        left = [
            line
            for number, line in enumerate(lines[first : node.lineno - 1], start=first + 1)
            if not any(_is_marker(one) and one.lineno <= number <= _end(one) for one in node.decorator_list)
        ]
        if node.name in spare:
            but = None if kept is None else kept.get(node.name, ())
            left.insert(0, f"@pytest.mark.{MARKER}{_cases(spare[node.name], but)}\n")
        lines[first : node.lineno - 1] = left
    whole = "".join(lines)
    return whole.replace(_FUTURE, f"{_FUTURE}import pytest\n", 1) if spare and "import pytest" not in whole else whole


def _cases(spare: Sequence[str], kept: Sequence[str] | None) -> str:
    """The marker's arguments."""
    if not spare or (kept is not None and not kept):
        return ""
    shown, but = (", ".join(json.dumps(case) for case in cases or ()) for cases in (spare, kept))
    return f"(keep=({but},))" if kept and len(but) < len(shown) else f"({shown})"


def _is_marker(node: ast.expr) -> bool:
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Attribute) and called.attr == MARKER


def _end(node: ast.expr) -> int:
    return node.end_lineno or node.lineno
