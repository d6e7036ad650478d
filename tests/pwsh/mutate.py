"""Changes executed statements of the scripts, one at a time, and looks whether a case under PowerShell notices.

    python -m tests.pwsh.mutate --seed 1 --count 60

What is executed is known from `python -m tests.pwsh.trace`. For each change the cases run that execute it, at most
CASES, those first that execute least. `--function NAME` draws among a function's changes. `--minutes` ends it early,
and the next run goes on: what was noticed is kept as long as the scripts are the same. A survivor is printed; one that
changes nothing is in equivalent.yml, with the reason. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Self

from tests import yaml_text
from tests.mutate.tree import Tree
from tests.pwsh import program, statements, trace
from tests.pwsh.statements import Change, Statement

EQUIVALENT = Path(__file__).with_name("equivalent.yml")
CASES = 40
WORKERS = 2
LIMIT_S = 900.0
_CASES = (trace.CASE, "tests/contract/test_people.py::test_a_script_for_people_run_twice[")


@dataclass(frozen=True)
class Result:
    """What became of a change: `noticed` (by `test`), `survived`, `equivalent` (`test` is the reason), `not run`."""

    change: Change
    name: str
    state: str
    test: str = ""

    def __str__(self) -> str:
        return f"{self.state:10}  {self.change.file}:{self.change.line}  {self.name}  {self.test}".rstrip()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.pwsh.mutate", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--function", default="")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args(arguments)
    try:
        found = program.find("linux")
    except program.LaneError as error:
        print(f"pwsh mutate: {error}")
        return 1
    if found is None:
        print(f"pwsh mutate: {program.lacking('linux')}")
        return 1
    os.environ.update({program.VARIABLES["linux"]: str(found.path), **found.environment})
    own, changes = trace.parsed(found)
    reasons: Mapping[str, str] = yaml_text.load_file(EQUIVALENT)
    for name in stale(reasons, changes):
        print(f"{EQUIVALENT.name} names a change that there is not: {name}")
    changes = tuple(change for change in changes if given.function in {"", change.function})
    by_test = trace.kept("linux", own)
    if not by_test:
        print("pwsh mutate: what the cases execute is not known of these scripts: python -m tests.pwsh.trace")
        return 1
    chosen = drawn(changes, by_test, given.seed, given.count)
    began = time.monotonic()
    kept = Noticed.of(own)
    results = judge(chosen, by_test, kept, reasons, given.workers, began + given.minutes * 60)
    for result in results:
        print(result)
    states = [result.state for result in results]
    print(
        json.dumps(
            {
                "mutants": len(results),
                **{state: states.count(state) for state in ("noticed", "survived", "equivalent", "not run")},
                "seconds": round(time.monotonic() - began),
            }
        )
    )
    return 0


def drawn(changes: Sequence[Change], by_test: Mapping[str, Sequence[int]], seed: int, count: int) -> list[Change]:
    """Of the changes in statements that a case executes; the same for a seed, the scripts and what is executed."""
    executed = {number for test, numbers in by_test.items() if test.startswith(_CASES) for number in numbers}
    among = [change for change in changes if change.within in executed]
    return random.Random(seed).sample(among, min(count, len(among)))


def tests_for(change: Change, by_test: Mapping[str, Sequence[int]]) -> list[str]:
    """The cases that execute it, those first that execute least."""
    found = [test for test, numbers in by_test.items() if test.startswith(_CASES) and change.within in numbers]
    return sorted(found, key=lambda test: (len(by_test[test]), test))[:CASES]


@dataclass(frozen=True)
class Noticed:
    """The changes of these scripts that a case has noticed, by key: the case."""

    file: Path
    tests: dict[str, str]

    @classmethod
    def of(cls, found: Sequence[Statement]) -> Self:
        file = trace.file_of(found, "noticed")
        return cls(file, json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {})

    def add(self, result: Result) -> None:
        self.tests[self.key(result.change)] = result.test
        self.file.write_text(json.dumps(self.tests), encoding="utf-8")

    @staticmethod
    def key(change: Change) -> str:
        return f"{change.file}:{change.start}-{change.end}:{change.new}"


def judge(
    chosen: Sequence[Change],
    by_test: Mapping[str, Sequence[int]],
    kept: Noticed,
    reasons: Mapping[str, str],
    workers: int,
    until: float,
) -> list[Result]:
    """Each in a copy of the tree, some at a time; none is begun after `until` (time.monotonic)."""
    trees: Queue[Tree] = Queue()
    with ExitStack() as stack:
        for _ in range(workers):
            trees.put(Tree(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="winkube-mutate-")))))

        def one(change: Change) -> Result:
            if (test := kept.tests.get(kept.key(change))) is not None:
                return Result(change, "as before", "noticed", test)
            if time.monotonic() > until:
                return Result(change, "the time is up", "not run")
            tree = trees.get()
            try:
                result = judge_one(change, tests_for(change, by_test), tree, reasons)
            finally:
                trees.put(tree)
            if result.state == "noticed":
                kept.add(result)
            print(result, file=sys.stderr, flush=True)
            return result

        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, chosen))


def judge_one(change: Change, tests: Sequence[str], tree: Tree, reasons: Mapping[str, str]) -> Result:
    """One change; the tree is as before afterwards."""
    before = tree.read(change.file)
    name = name_of(change, before)
    if name in reasons:
        return Result(change, name, "equivalent", reasons[name])
    try:
        with tree.changed(change.file, statements.changed(before, change)):
            trace.write_programs(tree)
            verdict = tree.run(tests, LIMIT_S, "-q")
    finally:
        trace.write_programs(tree)
    # A script that does not end is a failed case; a run that does not is only slow.
    if verdict.state in {"nothing", "time"}:
        return Result(change, name, "not run", verdict.output[-200:].replace("\n", " "))
    return Result(change, name, "survived" if verdict.state == "passed" else "noticed", verdict.test)


def stale(reasons: Iterable[str], changes: Sequence[Change]) -> list[str]:
    """The names that no change has any more."""
    texts = {file: (program.ROOT / file).read_text(encoding="ascii") for file in {change.file for change in changes}}
    names = {name_of(change, texts[change.file]) for change in changes}
    return [name for name in reasons if name not in names]


def name_of(change: Change, text: str) -> str:
    """What is changed, without a line number: it is the key of equivalent.yml."""
    old = " ".join(text[change.start : change.end].split())
    if not change.new:
        return f"{change.function}: {change.what}: {old[:100]} -> nothing"
    # An operator alone would name others of the function, too.
    before, after = text[: change.start].rpartition("\n")[2], text[change.end :].partition("\n")[0]
    return f"{change.function}: {change.what}: {before.lstrip()}[{old} -> {change.new}]{after}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
