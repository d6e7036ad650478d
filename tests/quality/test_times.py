"""What tests cost is said: whole runs of pytest."""

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

def pytest_addoption(parser):
    parser.addoption(times.OPTION)

def pytest_configure(config):
    file = None if hasattr(config, "workerinput") else config.getoption(times.OPTION)
    config.pluginmanager.register(times.TimesPlugin(file and Path(file)), "times-under-test")
"""
_BUSY = """
import time
def test_busy():
    end = time.process_time() + 0.2
    while time.process_time() < end: pass
def test_asleep(): time.sleep(0.3)
"""


@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_processor_time_and_sleep_are_told_for_each_test(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    pytester.makeconftest(_CONFTEST.format(root=str(ROOT)))
    pytester.makepyfile(test_it=_BUSY)
    result = pytester.runpytest_subprocess(*ONLY_XDIST, *options, "--times=times.jsonl")
    assert result.parseoutcomes() == {"passed": 2}
    result.stdout.fnmatch_lines(["*s of processor time*test_it.py::test_busy", "2 tests: *s slept*the slowest 2*"])
    lines = [json.loads(line) for line in (pytester.path / "times.jsonl").read_text().splitlines()]
    slept = {line["test"].rpartition("::")[2]: line["slept"] for line in lines}
    assert slept == {"test_busy": 0, "test_asleep": 0.3}
    busy = next(line for line in lines if line["test"].endswith("test_busy"))
    assert busy["cpu"] >= 0.2


def test_the_ten_slowest_and_the_total() -> None:
    lines = times.summary({f"test_{n}": times.Times(n, n, 1) for n in range(1, 13)}, 40)
    assert [line.split()[-1] for line in lines[:-1]] == [f"test_{n}" for n in range(12, 2, -1)]
    assert lines[-1] == ("12 tests: 78 s of processor time, 12 s slept, 40 s by the clock; the slowest 10 are above")
