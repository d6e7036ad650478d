"""Lines of program, of tables and documentation, and of tests, by package, of the files of one revision.

Program: the lines of functions and classes at the top of a Python file, without docstrings. Tables and documentation:
its other lines. Blank lines do not count. Data: the lines of files that are neither Python nor PowerShell.
"""

from __future__ import annotations

import ast
import io
import statistics
import subprocess
import tarfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.quality import prose

Texts = Mapping[str, str]
_DATA = frozenset({".txt", ".json", ".yml", ".yaml", ".toml", ".csv", ".j2", ".md"})
_BLOCKS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCRIPTS = frozenset({".ps1", ".psm1", ".cs"})


@dataclass(frozen=True)
class Size:
    """Of one revision. The names of packages are paths of folders, such as `plugins/plugin_utils/engine`."""

    program: Mapping[str, int]
    tables: Mapping[str, int]
    data: Mapping[str, int]
    scripts: Mapping[str, int]
    """Lines of PowerShell and C#."""
    tests: Mapping[str, int]
    words: Mapping[str, int]
    """Of pages, by what they are for: those that no program writes."""
    functions: tuple[int, ...]
    """Lines of each function of plugins, in order of size."""

    def total(self) -> dict[str, int]:
        """What `make figures` ends with, as one JSON object."""
        functions = self.functions
        return {
            "program": sum(self.program.values()),
            "tables": sum(self.tables.values()),
            "data": sum(self.data.values()),
            "scripts": sum(self.scripts.values()),
            "tests": sum(self.tests.values()),
            "words": sum(self.words.values()),
            "functions": len(functions),
            "function_median": int(statistics.median(functions)) if functions else 0,
            "function_99th_percentile": functions[len(functions) * 99 // 100] if functions else 0,
        }


def read_revision(root: Path, revision: str) -> dict[str, str]:
    """The text files of a revision; CalledProcessError if git does not know it."""
    packed = subprocess.run(["git", "archive", revision], cwd=root, check=True, capture_output=True).stdout
    texts = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            data = stream.read() if stream else b"\0"
            if b"\0" not in data[:8192]:
                texts[member.name] = data.decode("utf-8", errors="replace")
    return texts


def last_tag(root: Path) -> str | None:
    """The newest tag that the last commit descends from."""
    command = ["git", "describe", "--tags", "--abbrev=0"]
    found = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    return found.stdout.strip() or None


def measure(texts: Texts) -> Size:
    program: Counter[str] = Counter()
    tables: Counter[str] = Counter()
    data: Counter[str] = Counter()
    scripts: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    functions: list[int] = []
    for name, text in texts.items():
        path = PurePosixPath(name)
        if path.parts[0] == "tests":
            if path.suffix == ".py":
                tests["/".join(path.parts[:2]) if len(path.parts) > 2 else "tests"] += len(text.splitlines())
        elif path.suffix in _SCRIPTS and path.parts[0] in {"plugins", "powershell"}:
            scripts[_package(path)] += len(text.splitlines())
        elif path.parts[0] == "plugins" and path.suffix == ".py":
            tree = ast.parse(text, filename=name)
            inside = _inside(tree)
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    (program if number in inside else tables)[_package(path)] += 1
            functions += [_lines(each) for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
        elif path.parts[0] == "plugins" and path.suffix in _DATA:
            data[_package(path)] += len(text.splitlines())
    return Size(program, tables, data, scripts, tests, prose.words(texts), tuple(sorted(functions)))


def _package(path: PurePosixPath) -> str:
    """The room of a file: a package of plugin_utils, a kind of plugin, else the folder at the top."""
    parts = path.parts
    if parts[0] != "plugins":
        return parts[0]
    return "/".join(parts[: 3 if parts[1] == "plugin_utils" and len(parts) > 3 else 2])


def _inside(tree: ast.Module) -> set[int]:
    """The numbers of the lines of functions and classes at the top of a file, but for docstrings."""
    found: set[int] = set()
    for each in tree.body:
        if isinstance(each, _BLOCKS):
            first = min([each.lineno, *(one.lineno for one in each.decorator_list)])
            found.update(range(first, (each.end_lineno or 0) + 1))
            for block in ast.walk(each):
                if isinstance(block, _BLOCKS) and ast.get_docstring(block, clean=False) is not None:
                    found.difference_update(range(block.body[0].lineno, (block.body[0].end_lineno or 0) + 1))
    return found


def _lines(function: ast.FunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1
