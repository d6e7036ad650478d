"""What the tests say about the rows, as a pytest plugin: claims (markers), and results in .cache/rows.json.

The file, written after a run of all tests: {"taken_at": "<UTC time>", "tests": {"<test id>": {"rows": ["NY-01"],
"outcome": "passed"}}}. The outcome is one of passed, failed, skipped, and null where the test was only collected.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from tests.rows.table import Row

RESULTS = Path(".cache") / "rows.json"
OPTION = "--rows-to"
ALL_OF_MAKE_TEST = "not exhaustive"
"""The marker expression of `make test`: what it leaves out is more of the same."""


def rows_of(item: pytest.Item) -> tuple[str, ...]:
    """The rows that a test claims, over all its `row` markers."""
    return tuple(dict.fromkeys(row for marker in item.iter_markers("row") for row in marker.args))


def objection(item_id: str, claimed: tuple[str, ...], rows: Mapping[str, Row]) -> str | None:
    """What is wrong with a test's claim, as a sentence; None if nothing is."""
    for row in claimed:
        if row not in rows:
            return f"{item_id}: there is no row {row!r} in tests/rows.yml"
        declined = rows[row].declined
        if declined is not None:
            return f"{item_id}: row {row} is declined in tests/rows.yml ({declined}), yet this test claims to prove it"
    return None


class RowsPlugin:
    """Checks every claim when tests are collected; writes the results of a whole run."""

    def __init__(self, config: pytest.Config, rows: Mapping[str, Row]) -> None:
        self._config = config
        self._rows = rows
        self._tests: dict[str, dict[str, object]] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            claimed = rows_of(item)
            sentence = objection(item.nodeid, claimed, self._rows)
            if sentence is not None:
                raise pytest.UsageError(sentence)
            if claimed:
                self._tests[item.nodeid] = {"rows": list(claimed), "outcome": None}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        # With pytest-xdist the test is collected and run in another process: the report is all that comes back.
        report.user_properties.append(("rows", list(rows_of(item))))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        claimed = dict(report.user_properties).get("rows")
        if claimed:
            self._tests.setdefault(report.nodeid, {"rows": claimed, "outcome": None})
        test = self._tests.get(report.nodeid)
        if test is not None and (report.when == "call" or report.outcome != "passed"):
            test["outcome"] = "failed" if "failed" in (report.outcome, test["outcome"]) else report.outcome

    def pytest_sessionfinish(self) -> None:
        target = self._target()
        if target is not None and not hasattr(self._config, "workerinput"):  # a worker of pytest-xdist knows a part
            target.parent.mkdir(parents=True, exist_ok=True)
            now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            target.write_text(json.dumps({"taken_at": now, "tests": self._tests}, indent=1) + "\n", encoding="utf-8")

    def _target(self) -> Path | None:
        """Where to write: what the option says, or the usual file if this run was of all tests."""
        asked = self._config.getoption(OPTION)
        if asked:
            return Path(asked)
        options = self._config.option
        chosen = options.markexpr not in ("", ALL_OF_MAKE_TEST)
        narrowed = options.keyword or chosen or options.collectonly or options.deselect or options.ignore
        whole = self._config.args_source is not pytest.Config.ArgsSource.ARGS and not narrowed
        return self._config.rootpath / RESULTS if whole else None
