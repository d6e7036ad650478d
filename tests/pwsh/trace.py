"""Which statements of the scripts the lane executes: the lane, run in a copy of the tree whose scripts say so.

    python -m tests.pwsh.trace           under PowerShell 7 on Linux
    python -m tests.pwsh.trace --wine    under PowerShell 7 for Windows on Wine 10

Further arguments go to the lane. What each test executed is kept in the cache, for both places side by side, as long as
the scripts are the same. The last line is one JSON object of what is known by now; nowhere.yml has the reason for each
function with statements that were executed in no place.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tests import yaml_text
from tests.cache import shared
from tests.contract.case import all_cases
from tests.contract.powershell import TIMEOUT_S, command_line
from tests.contract.provides import LINUX, WINE
from tests.contract.resident import Resident
from tests.mutate.tree import Tree
from tests.pwsh import program, statements
from tests.pwsh.report import TRACES, report_of
from tests.pwsh.statements import Change, Statement

REASONS = Path(__file__).with_name("nowhere.yml")
LIST = Path(__file__).with_name("nowhere.txt")
"""The functions with statements that are executed nowhere, as of the last run."""
HEAD = "# Written by `make pwsh-trace` where each case is traced in one place; nowhere.yml has the reasons.\n"
OUTSIDE = "outside functions"
CASE = "tests/contract/test_contract.py::test_real_powershell["
PLACES: tuple[program.Platform, ...] = ("linux", "windows")
_WRITE = """
from tests.quality.powershell_programs import programs
for path, text in programs().items():
    path.write_text(text)
"""


def main(arguments: list[str]) -> int:
    place: program.Platform = "windows" if "--wine" in arguments else "linux"
    try:
        there, found = program.find("linux"), program.find(place)
    except program.LaneError as error:
        print(f"pwsh trace: {error}")
        return 1
    if there is None or found is None:
        print(f"pwsh trace: {program.lacking('linux' if there is None else place)}")
        return 1
    all_statements, _ = parsed(there)
    those = parts(place, all_statements)
    with tempfile.TemporaryDirectory(prefix="winkube-trace-") as folder:
        tree = Tree(Path(folder))
        plant(tree, all_statements)
        traces = Path(folder) / "traces"
        traces.mkdir()
        traces.chmod(0o777)
        # Beside the copy there is no archive.
        there_too = {program.VARIABLES[place]: str(found.path), **found.environment}
        environment = {**os.environ, **there_too, TRACES: str(traces)}
        line = [str(tree.root / ".venv" / "bin" / "python"), "-m", "tests.pwsh", "--whole", *arguments]
        try:
            done = subprocess.run(line, cwd=tree.root, env=environment, check=False)
        finally:
            # Of a run that is broken off, too: the next one adds to it.
            keep(those, traces)
        report = report_of(place)
        if (tree.root / report).is_file():
            (program.ROOT / report.parent).mkdir(exist_ok=True)
            shutil.copyfile(tree.root / report, program.ROOT / report)
    executed = {each: kept(each, all_statements) for each in PLACES}
    missed = nowhere(all_statements, executed)
    told = reasons()
    print("\n".join(lines(missed, told)))
    if not untraced(all_statements):
        LIST.write_text(listed(missed), encoding="utf-8")
    print(json.dumps(figures(all_statements, executed)))
    return done.returncode


def reasons() -> dict[str, str]:
    """Function -> why statements of it are executed nowhere."""
    table: Mapping[str, Sequence[str]] = yaml_text.load_file(REASONS)
    return {function: reason for reason, functions in table.items() for function in functions}


def parsed(powershell: program.PowerShell) -> tuple[tuple[Statement, ...], tuple[Change, ...]]:
    """The statements and changes of this tree's scripts, by that PowerShell (for Linux)."""
    os.environ.update(powershell.environment)
    with Resident(lambda text: command_line(str(powershell.path), text), TIMEOUT_S) as resident:
        return statements.read(resident, program.ROOT)


def plant(tree: Tree, found: Sequence[Statement]) -> None:
    """The tree's scripts note what they execute, and its programs are made of them."""
    for file in {one.file for one in found}:
        text = (tree.root / file).read_text(encoding="ascii")
        own = [one for one in found if one.file == file]
        write = statements.traced_alone if file in statements.ALONE else statements.traced
        (tree.root / file).write_text(write(text, own), encoding="ascii")
    (tree.root / "powershell" / "shared" / "trace.ps1").write_text(statements.TRACER_TEXT, encoding="ascii")
    write_programs(tree)


def write_programs(tree: Tree) -> None:
    """What `make generate` makes of the tree's scripts."""
    line = [str(tree.root / ".venv" / "bin" / "python"), "-c", _WRITE]
    subprocess.run(line, cwd=tree.root, check=True)


@dataclass(frozen=True)
class Part:
    """The nodes' scripts or those for people, as they are now: a change of one part says nothing about the other.
    `numbers` are its statements', in order; `file` keeps by test the places in it of those that the test executed,
    which a change of the other part leaves as they are."""

    numbers: tuple[int, ...]
    file: Path

    def known(self) -> dict[str, list[int]]:
        """Empty where nothing is known of these scripts."""
        if not self.file.is_file():
            return {}
        by_test = cast(dict[str, list[int]], json.loads(self.file.read_text(encoding="utf-8")))
        return {test: [self.numbers[place] for place in places] for test, places in by_test.items()}

    def write(self, by_test: Mapping[str, Iterable[int]]) -> None:
        """What `known` is to say."""
        place_of = {number: place for place, number in enumerate(self.numbers)}
        places = {
            test: sorted(place_of[number] for number in numbers if number in place_of)
            for test, numbers in by_test.items()
        }
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(places), encoding="utf-8")


def parts(place: program.Platform, found: Sequence[Statement]) -> list[Part]:
    """Of all statements."""
    of: dict[bool, list[Statement]] = {}
    for one in found:
        of.setdefault(one.file in statements.FOR_PEOPLE, []).append(one)
    return [Part(tuple(sorted(one.number for one in own)), file_of(own, f"{place}-places")) for own in of.values()]


def keep(those: Sequence[Part], traces: Path) -> None:
    """What was executed, by test; a test that ran again replaces its own."""
    executed = {}
    for path in traces.iterdir():
        name, *numbers = path.read_text(encoding="utf-8").splitlines()
        executed[name] = {int(number) for number in numbers}
    for part in those:
        part.write({**part.known(), **executed})


def kept(place: program.Platform, found: Sequence[Statement]) -> dict[str, list[int]]:
    """By test the numbers of the statements that it executed; empty where nothing is known of these scripts."""
    by_test: dict[str, list[int]] = {}
    for part in parts(place, found):
        for name, numbers in part.known().items():
            by_test[name] = [*by_test.get(name, []), *numbers]
    return by_test


def file_of(found: Sequence[Statement], what: str) -> Path:
    """Where something is kept of these scripts as they are now."""
    digest = hashlib.sha256()
    for file in sorted({one.file for one in found}):
        digest.update((program.ROOT / file).read_bytes())
    return shared("pwsh-traces") / f"{digest.hexdigest()[:16]}-{what}.json"


def figures(
    found: Sequence[Statement], executed: Mapping[program.Platform, Mapping[str, Iterable[int]]]
) -> dict[str, int]:
    """`linux` and `wine` count statements that were executed there, `nowhere` those of neither."""
    linux, wine = (_all(executed[place]) for place in PLACES)
    return {"statements": len(found), "linux": len(linux), "wine": len(wine), "nowhere": len(found) - len(linux | wine)}


def _all(by_test: Mapping[str, Iterable[int]]) -> set[int]:
    return {number for numbers in by_test.values() for number in numbers}


@dataclass(frozen=True)
class Missed:
    """A function (of a file; empty outside functions) and its statements that were executed nowhere."""

    file: str
    function: str
    statements: tuple[Statement, ...]
    of: int

    @property
    def name(self) -> str:
        return f"{self.file}:{self.function or OUTSIDE}"


def nowhere(
    found: Sequence[Statement], executed: Mapping[program.Platform, Mapping[str, Iterable[int]]]
) -> list[Missed]:
    """By file and function."""
    there = set().union(*(_all(executed[place]) for place in PLACES))
    of: dict[tuple[str, str], list[Statement]] = {}
    for one in found:
        of.setdefault((one.file, one.function), []).append(one)
    every = [
        Missed(file, function, tuple(one for one in own if one.number not in there), len(own))
        for (file, function), own in sorted(of.items())
    ]
    return [one for one in every if one.statements]


def lines(missed: Iterable[Missed], reasons: Mapping[str, str]) -> list[str]:
    """A line for each: how many of how many, where, why."""
    told = []
    for one in missed:
        where = ", ".join(str(each.line) for each in one.statements[:8]) + (" .." if len(one.statements) > 8 else "")
        why = reasons.get(one.function or OUTSIDE) or "NO REASON IS GIVEN"
        told.append(f"nowhere  {one.name}  {len(one.statements)} of {one.of} (lines {where}): {why}")
    return told


def listed(missed: Iterable[Missed]) -> str:
    """The text of LIST."""
    return HEAD + "".join(f"{one.name}  {len(one.statements)} of {one.of}\n" for one in missed)


def untraced(found: Sequence[Statement]) -> list[str]:
    """The cases that one of the places provides for and none has traced in all of the scripts as they are."""
    traced = {
        test for place in PLACES for test in set.intersection(*(set(part.known()) for part in parts(place, found)))
    }
    provided = [case for case in all_cases() if any(case.needs <= each - {"ipv6"} for each in (LINUX, WINE))]
    return [case.id for case in provided if f"{CASE}{case.id}]" not in traced]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
