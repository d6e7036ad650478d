"""The statements of the scripts, and small changes that a test should notice, as PowerShell's parser sees them.

A statement is numbered by file and place; what stands before a file's first function is left out: it is executed with
the file, and the functions come behind it. `traced` writes a copy of a script that says, once in each process, which of
its statements it executes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.contract.resident import Resident
from tests.unit.powershell.source import FILES, HNS, ROOT

PEOPLE = tuple(sorted((ROOT / "playbooks" / "files").glob("*.ps1")))
"""The scripts for people, whose statements come behind those of powershell/."""
FOR_PEOPLE = frozenset(str(path.relative_to(ROOT)) for path in PEOPLE)
ALONE = FOR_PEOPLE | {str(HNS[0].relative_to(ROOT))}
"""Texts that no shared function travels with."""
TRACE = "WINKUBE_TRACE"
"""Names the file that a traced script writes to; without it nothing is written."""
TRACER = "Add-NodeTrace"
TRACER_TEXT = f"""\
function {TRACER} {{
    <# .SYNOPSIS Notes in a file that a statement is executed. #>
    param([int]$Number)

    $seen = [System.AppDomain]::CurrentDomain.GetData('winkube-trace')
    if ($null -eq $seen) {{
        $seen = New-Object System.Collections.Hashtable
        [System.AppDomain]::CurrentDomain.SetData('winkube-trace', $seen)
    }}
    if (-not $seen.ContainsKey($Number)) {{
        $seen[$Number] = 1
        $path = [System.Environment]::GetEnvironmentVariable('{TRACE}')
        if ($path) {{
            [System.IO.File]::AppendAllText($path, [string]$Number + [string][char]10)
        }}
    }}
}}
"""
_PARSER = Path(__file__).with_name("parse.ps1")


@dataclass(frozen=True)
class Statement:
    """`number` names it in all files together; `start` and `end` are offsets; `kind` is the parser's type."""

    number: int
    file: str
    function: str
    line: int
    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Change:
    """One small change: of `file` the text from `start` to `end` becomes `new`. `within`: the statement that it is part
    of. `what`: turned, bound, swallowed, taken out."""

    what: str
    file: str
    function: str
    line: int
    start: int
    end: int
    new: str
    within: int


def read(resident: Resident, root: Path) -> tuple[tuple[Statement, ...], tuple[Change, ...]]:
    """All of FILES and PEOPLE, below the root of a tree."""
    paths = [str(root / path.relative_to(ROOT)) for path in (*sorted(FILES), *PEOPLE)]
    found: list[Mapping[str, Any]] = json.loads(resident.execute(_script(paths)))
    texts = {path: Path(path).read_text(encoding="ascii") for path in paths}
    statements = [entry for entry in found if entry["what"] == "statement"]
    numbered = []
    for number, entry in enumerate(sorted(statements, key=lambda one: (paths.index(one["path"]), one["start"]))):
        file = str(Path(entry["path"]).relative_to(root))
        line = texts[entry["path"]].count("\n", 0, entry["start"]) + 1
        numbered.append(Statement(number, file, entry["function"], line, entry["start"], entry["end"], entry["kind"]))
    return tuple(numbered), tuple(_changes(found, numbered, texts, root))


def _changes(
    found: Iterable[Mapping[str, Any]], statements: Sequence[Statement], texts: Mapping[str, str], root: Path
) -> Iterator[Change]:
    of = {file: list(group) for file, group in groupby(statements, key=lambda one: one.file)}
    for entry in found:
        file = str(Path(entry["path"]).relative_to(root))
        start, end = entry["start"], entry["end"]
        around = [one for one in of.get(file, []) if one.start <= start and end <= one.end]
        # `param` and attributes stand in no statement; what only gives a table its shape is no behaviour to take out.
        if not around:
            continue
        inner = min(around, key=lambda one: one.end - one.start)
        what = entry["what"]
        if what == "statement":
            if entry["kind"] not in {
                "PipelineAst",
                "AssignmentStatementAst",
                "ThrowStatementAst",
                "ContinueStatementAst",
            }:
                continue
            what = "taken out"
        line = texts[entry["path"]].count("\n", 0, start) + 1
        yield Change(what, file, entry["function"], line, start, end, entry["new"], inner.number)


def _script(paths: Sequence[str]) -> str:
    quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
    return f"$paths = @({quoted})\n{_PARSER.read_text(encoding='ascii')}"


def traced(text: str, statements: Iterable[Statement]) -> str:
    """A script's text with a note before each statement."""
    for one in sorted(statements, key=lambda one: -one.start):
        text = f"{text[: one.start]}{TRACER} {one.number}; {text[one.start :]}"
    return text


def traced_alone(text: str, statements: Iterable[Statement]) -> str:
    """The same of a text that no shared function travels with."""
    head, function, rest = traced(text, statements).partition("\nfunction ")
    return f"{head}\n{TRACER_TEXT}{function}{rest}"


def changed(text: str, change: Change) -> str:
    """A script's text after a change."""
    return text[: change.start] + change.new + text[change.end :]
