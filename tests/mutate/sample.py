"""How many of a sample of changes in plugins/ the tests notice, and whether they do so without the spare scenarios.

    python -m tests.mutate.sample --seed 1 [--count 80] [--from .cache/cover]

The sample is the same for a seed and a state of plugins/: the folders of plugins/ take turns, each with a change in a
function that some test executes. For each change the tests that execute its line, as `make cover` has recorded them,
run up to the first that fails: unit tests, then the scenarios of `make test`, the cheap ones first, then spare ones.
The last line is JSON: changes caught by each of the three, and by none. Everything happens in a copy of the tree.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tests.cover.__main__ import FOLDER, SCENARIOS, recorded
from tests.mutate.__main__ import limit_s
from tests.mutate.mutants import Mutant, mutants_of
from tests.mutate.tree import ROOT, Tree

MOST_S = {"unit": 20.0, "scenario": 60.0, "spare": 60.0}
"""Processor seconds, as recorded, that the tests of a kind may take for one change."""
_LEFT_OUT = ("tests/quality/", "tests/integration/test_demo.py")


@dataclass(frozen=True)
class Runs:
    """The tests by kind, as they are run for a line: those that execute little else, or cost little, first."""

    of_line: Mapping[str, Mapping[str, Sequence[str]]]

    @classmethod
    def read(cls, folder: Path, spare: frozenset[str]) -> Runs:
        found: dict[str, dict[str, list[tuple[float, float, str]]]] = defaultdict(lambda: defaultdict(list))
        for test in recorded(folder):
            if test.name.startswith(_LEFT_OUT):
                continue
            scenario = test.name.startswith(SCENARIOS)
            kind = "spare" if test.name in spare else "scenario" if scenario else "unit"
            lines = [one for one in test.covers if one.startswith("plugins/") and ">" not in one]
            for line in lines:
                found[line][kind].append((test.cost_s if scenario else len(lines), test.cost_s, test.name))
        return cls(
            {
                line: {kind: _within(tests, MOST_S[kind]) for kind, tests in kinds.items()}
                for line, kinds in found.items()
            }
        )


def _within(tests: Iterable[tuple[float, float, str]], most_s: float) -> list[str]:
    chosen: list[str] = []
    spent_s = 0.0
    for _, cost_s, name in sorted(tests):
        spent_s += cost_s
        if chosen and spent_s > most_s:
            break
        chosen.append(name)
    return chosen[:200]


def spare_scenarios() -> frozenset[str]:
    """What `make test` leaves out of tests/integration."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-m", "exhaustive", SCENARIOS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return frozenset(line for line in done.stdout.splitlines() if line.startswith(SCENARIOS))


def drawn(runs: Runs, seed: int, count: int) -> Iterator[Mutant]:
    """Changes in lines that some test executes; the folders of plugins/ take turns."""
    chance = random.Random(seed)
    folders: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted({line.rpartition(":")[0] for line in runs.of_line if line.rpartition(":")[0].endswith(".py")}):
        text = (ROOT / path).read_text(encoding="utf-8")
        local = [one for one in mutants_of(path, text) if one.local and not one.told]
        folders[str(PurePosixPath(path).parent)] += [one for one in local if f"{path}:{one.line}" in runs.of_line]
    for mutants in folders.values():
        chance.shuffle(mutants)
    turns = [name for name in sorted(folders) if folders[name]]
    for number in range(count):
        mutants = folders[turns[number % len(turns)]]
        if mutants:
            yield mutants.pop()


class Judge:
    """Runs tests on changes; a test that fails in the unchanged copy, too, is asked no more."""

    def __init__(self, tree: Tree, runs: Runs) -> None:
        self._tree = tree
        self._runs = runs
        self._sound: dict[str, bool] = {}

    def caught_by(self, mutant: Mutant) -> tuple[str, str]:
        """The first kind of tests that notice, with the test; ("none", "") if none do."""
        for kind in MOST_S:
            tests = self._runs.of_line[f"{mutant.path}:{mutant.line}"].get(kind, ())
            while tests := [test for test in tests if self._sound.get(test, True)]:
                with self._tree.changed(mutant.path, mutant.apply(self._tree.read(mutant.path))):
                    verdict = self._tree.run(tests, limit_s(tests))
                if verdict.state not in {"failed", "time"}:
                    break
                # A case whose id has blanks is told up to the first.
                failed = next((test for test in tests if verdict.test and test.startswith(verdict.test)), "")
                if not failed or self._is_sound(failed):
                    return kind, failed or f"({verdict.state})"
        return "none", ""

    def _is_sound(self, test: str) -> bool:
        if test not in self._sound:
            self._sound[test] = self._tree.run([test], limit_s([test])).state == "passed"
        return self._sound[test]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="what of a sample of changes the tests notice")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=80)
    parser.add_argument("--from", dest="folder", type=Path, default=FOLDER, help="what make cover has recorded")
    options = parser.parse_args(arguments)
    runs = Runs.read(options.folder, spare_scenarios())
    caught: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="wk") as folder:
        judge = Judge(Tree(Path(folder)), runs)
        for mutant in drawn(runs, options.seed, options.count):
            kind, test = judge.caught_by(mutant)
            caught[kind] += 1
            print(f"{kind:8}  {mutant.path}:{mutant.line}  {mutant.old!r} -> {mutant.new!r}  {test}", flush=True)
    print(
        json.dumps(
            {"seed": options.seed, "changes": caught.total(), **{kind: caught[kind] for kind in (*MOST_S, "none")}}
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
