"""How far each piece of work is.

    python -m tests.rows [--row NY-13] [--results FILE]

A row is done when at least one test that carries @pytest.mark.row(<id>) has passed and none has failed, in the last run
of all tests or in the results given. Without results it tells which rows some test claims.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rows.judges import MEMORY, count_judges, judges
from tests.rows.record import OPTION, RESULTS
from tests.rows.table import PIECES, Row, load_rows

ROOT = Path(__file__).resolve().parents[2]
FACTS = Path("plugins/plugin_utils/facts")
PROGRAMS = Path("tests/lab/programs")


@dataclass(frozen=True)
class Claim:
    """One test that claims a row; `outcome` is None where it has not been run."""

    test: str
    outcome: str | None


def claims_in(tests: Mapping[str, Mapping[str, object]]) -> dict[str, list[Claim]]:
    """Row id -> the tests that claim it, from the `tests` of a results file."""
    claims: dict[str, list[Claim]] = defaultdict(list)
    for test, entry in tests.items():
        rows, outcome = entry["rows"], entry["outcome"]
        if isinstance(rows, list):
            for row in rows:
                claims[row].append(Claim(test, None if outcome is None else str(outcome)))
    return dict(claims)


def state_of(row: Row, claims: Sequence[Claim], *, with_results: bool) -> str:
    """`declined`, `done`, `claimed` (a test is there, nothing has run) or `not yet`."""
    if row.declined is not None:
        return "declined"
    if not with_results:
        return "claimed" if claims else "not yet"
    outcomes = {claim.outcome for claim in claims}
    return "done" if "passed" in outcomes and "failed" not in outcomes else "not yet"


def report(rows: Mapping[str, Row], claims: Mapping[str, Sequence[Claim]], *, with_results: bool) -> list[str]:
    """The table, one line a piece."""
    good = "done" if with_results else "claimed"
    lines = [f"{'piece':14}{'rows':>6}{good:>9}{'declined':>10}{'not yet':>9}"]
    totals = dict.fromkeys(("rows", good, "declined", "not yet"), 0)
    for piece in PIECES:
        states = [
            state_of(row, claims.get(row.id, ()), with_results=with_results)
            for row in rows.values()
            if row.piece == piece
        ]
        counts = {"rows": len(states)} | {state: states.count(state) for state in (good, "declined", "not yet")}
        totals = {key: totals[key] + counts[key] for key in totals}
        lines.append(_line(piece, counts))
    return [*lines, _line("all", totals)]


def _line(name: str, counts: Mapping[str, int]) -> str:
    numbers = list(counts.values())
    return f"{name:14}{numbers[0]:>6}{numbers[1]:>9}{numbers[2]:>10}{numbers[3]:>9}"


def unverified_marks(facts: Path) -> dict[str, int]:
    """File -> how many lines mark a fact `unverified`, for the tables of facts per version; the tables' own field of
    that name is none."""
    counts = {}
    for path in sorted(facts.rglob("*")):
        if path.is_file() and path.suffix in {".py", ".yml", ".yaml", ".json", ".txt"}:
            lines = path.read_text(encoding="utf-8").splitlines()
            counts[str(path.relative_to(facts))] = sum(
                1 for line in lines if re.search(r"\bunverified\b(?!: bool\b)", line)
            )
    return {name: count for name, count in counts.items() if count}


def collect() -> dict[str, dict[str, object]]:
    """What all tests claim, by collecting them without running any."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "rows.json"
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = pytest.main(
                ["--collect-only", "-qq", f"--rootdir={ROOT}", f"{OPTION}={target}", str(ROOT / "tests")]
            )
        if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            sys.exit(f"{said.getvalue()}rows: the tests cannot be collected (above), so nothing can be said about rows")
        tests: dict[str, dict[str, object]] = json.loads(target.read_text(encoding="utf-8"))["tests"]
        return tests


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make rows", description="how far each piece of work is")
    parser.add_argument("--row", metavar="ID", help="one row: its owner and its tests")
    parser.add_argument("--results", type=Path, help=f"results of a run (default: {RESULTS}, if it is there)")
    options = parser.parse_args(arguments)

    rows = load_rows()
    source = options.results or (ROOT / RESULTS if (ROOT / RESULTS).exists() else None)
    if source is not None and not source.exists():
        parser.error(f"there is no {source}; a run of all tests (make test) writes {RESULTS}")
    document = json.loads(source.read_text(encoding="utf-8")) if source else {"tests": collect()}
    claims = claims_in(document["tests"])

    if options.row:
        if options.row not in rows:
            parser.error(f"there is no row {options.row} in tests/rows.yml")
        row = rows[options.row]
        print(f"{row.id} ({row.piece}): {state_of(row, claims.get(row.id, ()), with_results=source is not None)}")
        if row.declined:
            print(f"  {row.declined}")
        for claim in claims.get(row.id, []):
            print(f"  {claim.test}{f': {claim.outcome}' if claim.outcome else ''}")
        return 0

    print(
        f"from {source}, taken {document['taken_at']}"
        if source
        else "no results at hand (make test writes them): claims"
    )
    print("\n".join(report(rows, claims, with_results=source is not None)))
    marks = unverified_marks(ROOT / FACTS)
    print(f"unverified marks in {FACTS}: {sum(marks.values())}")
    for name, count in marks.items():
        print(f"  {name}: {count}")
    told = count_judges(ROOT / PROGRAMS)
    print(f"programs of the lab judged by {MEMORY}: {told.get(MEMORY, 0)} of {sum(told.values())} ({PROGRAMS})")
    for name, judge in judges(ROOT / PROGRAMS).items():
        if judge == MEMORY:
            print(f"  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
