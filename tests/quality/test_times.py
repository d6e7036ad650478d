"""What tests cost is said, and a test of `make quick` that costs too much fails in CI: whole runs of pytest."""

from __future__ import annotations

import json

import pytest

from tests import times
from tests.quality.sanity import ROOT
from tests.quality.test_lanes import ONLY_XDIST

pytest_plugins = ["pytester"]

_CONFTEST = """
import sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests import times
times.QUICK = times.Limit(0.05, "a test of `make quick`", "slow")

def pytest_addoption(parser):
    parser.addoption(times.OPTION)

def pytest_configure(config):
    config.addinivalue_line("markers", "quick: x")
    file = None if hasattr(config, "workerinput") else config.getoption(times.OPTION)
    config.pluginmanager.register(times.TimesPlugin(strict={strict}, file=file and Path(file)), "times-under-test")
"""
_BUSY = """
import gc, pytest, time
LEFT = [[] for _ in range(300_000)]
@pytest.mark.quick
def test_busy():
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
@pytest.mark.quick
def test_asleep(): time.sleep(0.3)
@pytest.mark.quick
def test_after_others():
    for _ in range(20): gc.collect()
def test_not_quick():
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
"""


@pytest.mark.parametrize(("strict", "options"), [(False, ()), (True, ("-n", "1"))])
def test_processor_time_is_judged_in_ci_and_time_of_day_is_not(
    pytester: pytest.Pytester, strict: bool, options: tuple[str, ...]
) -> None:
    pytester.makeconftest(_CONFTEST.format(root=str(ROOT), strict=strict))
    pytester.makepyfile(test_it=_BUSY)
    result = pytester.runpytest_subprocess(*ONLY_XDIST, *options, "--times=times.jsonl")
    assert result.parseoutcomes() == {"passed": 4, **({"errors": 1} if strict else {})}
    result.stdout.fnmatch_lines(["*s of processor time*test_it.py::test_*", "4 tests: *s slept*the slowest 4*"])
    if strict:
        result.stdout.fnmatch_lines(["*test_busy: took 0.? s of processor time, and a test of `make quick` may take*"])
    lines = [json.loads(line) for line in (pytester.path / "times.jsonl").read_text().splitlines()]
    slept = {line["test"].rpartition("::")[2]: line["slept"] for line in lines}
    assert slept == {"test_busy": 0, "test_asleep": 0.3, "test_after_others": 0, "test_not_quick": 0}


def test_the_ten_slowest_and_the_total() -> None:
    lines = times.summary({f"test_{n}": times.Times(n, n, 1) for n in range(1, 13)}, 40)
    assert [line.split()[-1] for line in lines[:-1]] == [f"test_{n}" for n in range(12, 2, -1)]
    assert lines[-1] == ("12 tests: 78 s of processor time, 12 s slept, 40 s by the clock; the slowest 10 are above")


def test_a_limit_that_is_just_kept() -> None:
    fails_at_s = times.QUICK.seconds * times.FAILS_AT
    assert times.objection(times.Times(9, fails_at_s, 0), times.QUICK) is None
    assert times.objection(times.Times(0, fails_at_s + 0.1, 0), None) is None
    assert times.objection(times.Times(0, fails_at_s + 1, 0, 1), times.QUICK) is None
    assert times.objection(times.Times(0, fails_at_s + 0.1, 0), times.SCENARIO) is None
    assert "6.1 s of processor time" in str(times.objection(times.Times(0, fails_at_s + 0.1, 0), times.QUICK))
