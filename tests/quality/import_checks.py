"""Who may import whom, read from the syntax trees."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Import:
    """One import: `target` is a dotted name, relative ones already made absolute from the repository's root."""

    line: int
    target: str
    relative: bool
    only_types: bool = False
    """Not done when the file is loaded: behind TYPE_CHECKING."""


@functools.cache
def imports_of(name: str, source: str) -> tuple[Import, ...]:
    """Every import in a file, wherever it stands, also by import_module with a plain text."""
    package = PurePosixPath(name).parent.parts
    tree = ast.parse(source, filename=name)
    types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for each in node.body
        for inner in ast.walk(each)
    }
    found = []
    for node in ast.walk(tree):
        only = id(node) in types
        if isinstance(node, ast.Import):
            found += [Import(node.lineno, alias.name, False, only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found += [Import(node.lineno, f"{node.module}.{alias.name}", False, only) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            found += [Import(node.lineno, f"{base}.{alias.name}", True, only) for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node) in {"import_module", "__import__"} and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.append(Import(node.lineno, first.value, False))
    return tuple(found)


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def lab_reaches_plugins(root: Path, names: Iterable[str]) -> list[str]:
    """Files of tests/lab that import from the collection, or name its plugin_utils: plan and judge must not copy."""
    found = []
    for name in names:
        if not (name.startswith("tests/lab/") and name.endswith(".py")):
            continue
        source = (root / name).read_text(encoding="utf-8")
        for item in imports_of(name, source):
            if item.target.split(".")[0] in {"plugins", "ansible_collections"}:
                found.append(f"{name}:{item.line}: imports {item.target}; the lab imports nothing of the collection")
        for number, line in enumerate(source.splitlines(), 1):
            if "plugin_utils" in line:
                found.append(f"{name}:{number}: names plugin_utils; the lab shares nothing with the collection's code")
    return found
