"""Which scenarios are enough for `make test`: records what each test executes and costs, chooses, and marks the others.

    python -m tests.cover [--from FOLDER] [--budget 500] [--write]

A scenario (tests/integration) has to stay in `make test` if it is the cheapest that executes some line of plugins/,
takes some way out of a branch, opens some file of roles/ or playbooks/, ends some task in some way, or claims some row,
and no test that is not a scenario does; or if it counts calls or looks for secrets, which no line shows. The rest of
the budget (seconds of processor time) goes to those that execute most of what one test alone executes else. All others
get the marker `spare`, with `--write` in their files: `make check-whole` runs them. New scenarios are in `make test`
until this is asked again. What the choice loses of the changes that tests notice, tests/mutate/sample.py says. Needs
Python 3.12 (sys.monitoring), and minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cover.choice import Choice, Scenario, choose
from tests.cover.marks import marked

ROOT = Path(__file__).resolve().parents[2]
BUDGET_S = 800.0
OTHERS_S = 400.0
"""What `make test` spends on all that is not a scenario, and on collecting."""
FOLDER = ROOT / ".cache" / "cover"
TIMES = "times.jsonl"
CHEAP_S = 0.5
"""A scenario that costs less stays: a marker more would cost its readers more than that."""
LONG = 60
"""A case whose id is longer stays: nobody would want to read it in a marker."""
NOT_COVERED = ("docs/", "tests/lab/")
UNSEEN = ("ansible", "molecule", "python", "bash", "make")
"""How the names of programs begin whose doing is not recorded: tests that start them stay."""
SCENARIOS = "tests/integration/"
STAY = tuple(f"{SCENARIOS}test_{name}.py" for name in ("seams", "secrets", "first_landing"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make cover", description="which scenarios are enough for make test")
    parser.add_argument("--from", dest="folder", type=Path, help="a folder recorded before, instead of recording now")
    parser.add_argument(
        "--budget", type=float, default=BUDGET_S - OTHERS_S, help="seconds of processor time for the scenarios"
    )
    parser.add_argument("--write", action="store_true", help="set the marker in the tests' files")
    options = parser.parse_args(arguments)
    if options.folder is None:
        record(FOLDER)
    tests = list(recorded(options.folder or FOLDER))
    others = frozenset().union(*(test.covers for test in tests if not test.name.startswith(SCENARIOS)))
    choice = choose([test for test in tests if test.name.startswith(SCENARIOS)], others, options.budget)
    for line in said(choice):
        print(line)
    if options.write:
        write(choice)
    return 0


def record(folder: Path) -> None:
    """Run the tests, the spare ones too."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "worksteal", "-m", "spare or not exhaustive"]
    command += [f"--cover={folder}", f"--times={folder / TIMES}", "tests"]
    subprocess.run(command, cwd=ROOT, check=False)


def recorded(folder: Path) -> Iterator[Scenario]:
    """What was recorded of the tests that passed."""
    costs = {}
    for line in (folder / TIMES).read_text(encoding="utf-8").splitlines():
        said = json.loads(line)
        costs[said["test"]] = said["cpu"]
    for file in sorted(folder.glob("*.jsonl")):
        if file.name == TIMES:
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            covers = {one for one in said["seen"] if not one.startswith(NOT_COVERED)}
            covers |= {f"row:{row}" for row in said["rows"]}
            name, cost_s = said["test"], costs.get(said["test"])
            if cost_s is not None:
                bound = cost_s < CHEAP_S or len(name.partition("[")[2]) > LONG or said["quick"]
                bound |= name.startswith(STAY) or any(program.startswith(UNSEEN) for program in said["started"])
                yield Scenario(name, cost_s, frozenset(covers), bound)


def said(choice: Choice) -> Iterator[str]:
    """The choice: what is spare, file by file, and what that saves."""
    for test in sorted(choice.spare, key=lambda test: test.name):
        yield f"spare  {test.cost_s:6.1f} s  {test.name}"
    spare_s = sum(test.cost_s for test in choice.spare)
    yield (
        f"{len(choice.kept)} scenarios stay in make test, {choice.cost_s:.0f} s of processor time; "
        f"{len(choice.spare)} are spare, {spare_s:.0f} s"
    )


def write(choice: Choice) -> None:
    """Set the marker in every file that a recorded test is in, as ruff lays it out."""
    cases: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for test in (*choice.kept, *choice.spare):
        cases[test.name.partition("::")[0]]
    for test in sorted(choice.spare, key=lambda test: test.name):
        path, _, name = test.name.partition("::")
        function, _, case = name.removesuffix("]").partition("[")
        found = cases[path][function]
        if case:
            found.append(case)
    kept: dict[tuple[str, str], list[str]] = defaultdict(list)
    for test in sorted(choice.kept, key=lambda test: test.name):
        path, _, name = test.name.partition("::")
        function, _, case = name.removesuffix("]").partition("[")
        kept[path, function].append(case)
    for path, spare in cases.items():
        file = ROOT / path
        but = {function: kept[path, function] for function in spare if kept[path, function]}
        file.write_text(marked(file.read_text(encoding="utf-8"), spare, but), encoding="utf-8")
    for command in (("check", "--select", "I", "--fix"), ("format",)):
        subprocess.run([sys.executable, "-m", "ruff", *command, "-q", *cases], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
