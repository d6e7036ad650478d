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
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tests import yaml_text
from tests.cache import shared
from tests.contract.powershell import TIMEOUT_S, command_line
from tests.contract.resident import Resident
from tests.mutate.tree import Tree
from tests.pwsh import program, statements
from tests.pwsh.report import TRACES
from tests.pwsh.statements import Change, Statement

REASONS = Path(__file__).with_name("nowhere.yml")
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
    with tempfile.TemporaryDirectory(prefix="winkube-trace-") as folder:
        tree = Tree(Path(folder))
        plant(tree, all_statements)
        traces = Path(folder) / "traces"
        traces.mkdir()
        traces.chmod(0o777)
        environment = {**os.environ, TRACES: str(traces)}
        line = [str(tree.root / ".venv" / "bin" / "python"), "-m", "tests.pwsh", "--whole", *arguments]
        try:
            done = subprocess.run(line, cwd=tree.root, env=environment, check=False)
        finally:
            # Of a run that is broken off, too: the next one adds to it.
            keep(place, all_statements, traces)
    executed = {each: kept(each, all_statements) for each in PLACES}
    print("\n".join(lines(all_statements, executed, reasons())))
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
        (tree.root / file).write_text(statements.traced(text, own), encoding="ascii")
    (tree.root / "powershell" / "shared" / "trace.ps1").write_text(statements.TRACER_TEXT, encoding="ascii")
    write_programs(tree)


def write_programs(tree: Tree) -> None:
    """What `make generate` makes of the tree's scripts."""
    line = [str(tree.root / ".venv" / "bin" / "python"), "-c", _WRITE]
    subprocess.run(line, cwd=tree.root, check=True)


def keep(place: program.Platform, found: Sequence[Statement], traces: Path) -> None:
    """What was executed, by test; a test that ran again replaces its own."""
    by_test = kept(place, found)
    for path in traces.iterdir():
        name, *numbers = path.read_text(encoding="utf-8").splitlines()
        by_test[name] = sorted({int(number) for number in numbers})
    target = _file(place, found)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(by_test), encoding="utf-8")


def kept(place: program.Platform, found: Sequence[Statement]) -> dict[str, list[int]]:
    """By test the numbers of the statements that it executed; empty where nothing is known of these scripts."""
    path = _file(place, found)
    known: dict[str, list[int]] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return known


def _file(place: program.Platform, found: Sequence[Statement]) -> Path:
    digest = hashlib.sha256()
    for file in sorted({one.file for one in found}):
        digest.update((program.ROOT / file).read_bytes())
    return shared("pwsh-traces") / f"{digest.hexdigest()[:16]}-{place}.json"


def figures(
    found: Sequence[Statement], executed: Mapping[program.Platform, Mapping[str, Iterable[int]]]
) -> dict[str, int]:
    """`linux` and `wine` count statements that were executed there, `nowhere` those of neither."""
    linux, wine = (_all(executed[place]) for place in PLACES)
    return {"statements": len(found), "linux": len(linux), "wine": len(wine), "nowhere": len(found) - len(linux | wine)}


def _all(by_test: Mapping[str, Iterable[int]]) -> set[int]:
    return {number for numbers in by_test.values() for number in numbers}


def lines(
    found: Sequence[Statement],
    executed: Mapping[program.Platform, Mapping[str, Iterable[int]]],
    reasons: Mapping[str, str],
) -> list[str]:
    """A line for each function with statements that were executed nowhere: how many of how many, where, why."""
    there = set().union(*(_all(executed[place]) for place in PLACES))
    of: dict[tuple[str, str], list[Statement]] = {}
    for one in found:
        of.setdefault((one.file, one.function), []).append(one)
    told = []
    for (file, function), own in sorted(of.items()):
        missed = [one for one in own if one.number not in there]
        if missed:
            where = ", ".join(str(one.line) for one in missed[:8]) + (" .." if len(missed) > 8 else "")
            why = reasons.get(function) or "NO REASON IS GIVEN"
            name = f"{file}:{function or 'outside functions'}"
            told.append(f"nowhere  {name}  {len(missed)} of {len(own)} (lines {where}): {why}")
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
