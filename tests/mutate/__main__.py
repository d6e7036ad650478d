"""Changes the values behind rows in the code, one at a time, and looks whether the rows' own tests notice.

    python -m tests.mutate --seed N [--count 30] [--rows PV-16,CT-01] [--each 1]

Rows are drawn from those that a test claims. Exit status 1 if a change survives or a value cannot be located.
Everything happens in a copy of the tree.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from tests.mutate.choice import Crowd, Traced, ranked
from tests.mutate.mutants import Mutant, mutants_of, phrases_in
from tests.mutate.tree import Tree, Verdict
from tests.mutate.words import lines_naming, words_of
from tests.rows.__main__ import claims_in, collect
from tests.rows.table import load_rows

LIMIT_S = 300.0
SCENARIOS = 3
"""So many of the tests of tests/integration are enough to say which code a row is about."""
_SLOW = "tests/integration/"
_ID = re.compile(r"\b[A-Z]{2}-[0-9]{2}\b")
# Programs that not every machine has, and what takes minutes.
_LEFT_OUT = ("tests/real/", "tests/wine/", "tests/integration/test_demo.py")


@dataclass(frozen=True)
class Result:
    """What became of a row: `caught`, `survived`, `not located` or `not run` (its tests do not pass as the code is)."""

    row: str
    state: str
    mutant: Mutant | None = None
    test: str = ""

    def __str__(self) -> str:
        if self.mutant is None:
            return f"{self.row}  {self.state.upper()}  {self.test}"
        where = f"{self.mutant.path}:{self.mutant.line}"
        by = f"caught by {self.test}" if self.state == "caught" else self.state.upper()
        return f"{self.row}  {where}  {self.mutant.what}  {by}"


def drawn(claims: Mapping[str, Sequence[str]], seed: int, count: int) -> list[str]:
    """`count` rows, always the same for a seed and a state of the tests."""
    rows = sorted(claims)
    return sorted(random.Random(seed).sample(rows, min(count, len(rows))))


def here(tests: Sequence[str]) -> list[str]:
    """Those that can be run here, in a time that one can wait for."""
    return [test for test in tests if not test.startswith(_LEFT_OUT)]


def usual(tests: Sequence[str]) -> list[str]:
    """A row's tests, the quick ones first: unit tests, or some of tests/integration where there are no others, one of
    each file before a second of any."""
    quick = [test for test in here(tests) if not test.startswith(_SLOW)]
    if quick:
        return sorted(quick, key=lambda test: not test.startswith("tests/unit/"))
    turns: Counter[str] = Counter()
    ordered: dict[str, int] = {}
    for test in here(tests):
        path = test.partition("::")[0]
        ordered[test] = turns[path]
        turns[path] += 1
    return sorted(ordered, key=lambda test: ordered[test])[:SCENARIOS]


def limit_s(tests: Sequence[str]) -> float:
    """How long these may take; a scenario may take as long as all unit tests of a row."""
    return LIMIT_S * max(1, sum(test.startswith(_SLOW) for test in tests))


def say(text: str) -> None:
    """Progress, on stderr."""
    print(f"mutate: {text}", file=sys.stderr, flush=True)


def trace(tree: Tree, claims: Mapping[str, Sequence[str]]) -> tuple[dict[str, Traced], list[Result]]:
    """What each row's tests execute and say; results for rows whose tests do not pass as the code is."""
    traced, wrong = {}, []
    for row, tests in claims.items():
        verdict, lines = tree.trace(usual(tests), limit_s(usual(tests)))
        say(f"{row}: {len(usual(tests))} tests, {verdict.state}, {len(lines)} lines")
        if verdict.state == "passed":
            naming = {(path, line) for path in {path for path, _ in lines} for line in _naming(tree, path, row, tests)}
            words = words_of(tree.root, row, here(tests))
            traced[row] = Traced(frozenset(lines), words, frozenset(naming), subjects(tests))
        else:
            wrong.append(Result(row, "not run", test=f"unchanged, its tests end with '{verdict.state}' {verdict.test}"))
    return traced, wrong


def subjects(tests: Sequence[str]) -> frozenset[str]:
    """What the files of tests are called after."""
    return frozenset(PurePath(test.partition("::")[0]).stem.removeprefix("test_") for test in tests)


def _naming(tree: Tree, path: str, row: str, tests: Sequence[str]) -> frozenset[int]:
    """The lines that name the row, or what a parameter of its tests is called by: `test_flagged[LM-68-0]`."""
    if not path.endswith(".py"):
        return frozenset()
    names = {row, *(name for test in tests for name in _ID.findall(test.partition("[")[2]))}
    text = tree.read(path)
    return frozenset(line for name in sorted(names) if name in text for line in lines_naming(text, name))


def candidates(tree: Tree, traced: Traced, known: dict[str, list[Mutant]]) -> Iterator[Mutant]:
    """Every change in a file that a row's tests use."""
    for path in sorted({path for path, _ in traced.lines}):
        if path.endswith(".md"):
            yield from phrases_in(path, tree.read(path), traced.words)
            continue
        if path not in known:
            known[path] = list(mutants_of(path, tree.read(path)))
        yield from known[path]


def judge(tree: Tree, mutant: Mutant, tests: Sequence[str]) -> Verdict:
    """The quick tests; where they pass, the others too."""
    quick = usual(tests)
    rest = [test for test in here(tests) if test not in quick]
    with tree.changed(mutant.path, mutant.apply(tree.read(mutant.path))):
        verdict = tree.run(quick, limit_s(quick))
        return tree.run(rest, limit_s(rest)) if verdict.state == "passed" and rest else verdict


def results(tree: Tree, rows: Sequence[str], every: Mapping[str, Sequence[str]], each: int) -> Iterator[Result]:
    """The results of `rows`: one for each of the `each` likeliest values. `every`: the tests of all rows."""
    claims = {row: every[row] for row in rows}
    traced, wrong = trace(tree, claims)
    yield from wrong
    crowd = Crowd.of(traced.values(), (words_of(tree.root, row, here(tests)) for row, tests in every.items()))
    known: dict[str, list[Mutant]] = {}
    for row, found in traced.items():
        best = ranked(candidates(tree, found, known), found, crowd)[:each]
        if not best:
            yield Result(row, "not located", test="no value that its tests use is named in them")
        for _, mutant in best:
            verdict = judge(tree, mutant, claims[row])
            state = {"passed": "survived", "nothing": "not run"}.get(verdict.state, "caught")
            yield Result(row, state, mutant, verdict.test or f"({verdict.state})")


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 if every change was caught."""
    parser = argparse.ArgumentParser(prog="make mutate", description="are the values behind rows tested?")
    parser.add_argument("--seed", type=int, required=True, help="decides which rows are drawn")
    parser.add_argument("--count", type=int, default=30, help="how many rows (default 30)")
    parser.add_argument("--rows", help="these rows instead, separated by commas")
    parser.add_argument("--each", type=int, default=1, help="how many values of each row (default 1)")
    parser.add_argument(
        "--results", type=Path, help="a file of results that says what tests claim; else they are collected"
    )
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what it has started ends with it
    if sys.version_info < (3, 12):
        parser.error("it needs Python 3.12 or newer (sys.monitoring): run it in .venv, made by a newer Python")
    known = load_rows()
    tests = json.loads(options.results.read_text(encoding="utf-8"))["tests"] if options.results else collect()
    claims = {row: [claim.test for claim in found] for row, found in claims_in(tests).items()}
    claims = {row: tests for row, tests in claims.items() if known[row].declined is None and usual(tests)}
    rows = options.rows.split(",") if options.rows else drawn(claims, options.seed, options.count)
    for row in rows:
        if row not in claims:
            parser.error(f"no test that can be run here claims {row}")
    with tempfile.TemporaryDirectory(prefix="wk") as folder:
        done = []
        for result in results(Tree(Path(folder)), rows, claims, options.each):
            print(result, flush=True)
            done.append(result)
    caught = sum(1 for result in done if result.state == "caught")
    print(f"seed {options.seed}: {len(rows)} rows, {len(done)} changes, {caught} caught, {len(done) - caught} not")
    for result in done:
        if result.state != "caught":
            print(f"  {result}")
    return 0 if caught == len(done) else 1


if __name__ == "__main__":
    sys.exit(main())
