"""The lab's nssm tells of a program that ends at once what nssm.exe told on Wine (tests/windows/crash_loop.py)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.lab.machine.builds import build
from tests.lab.twin.node import LabNode
from tests.windows import crash_loop
from tests.windows.crash_loop import Said, Story

RECORDED = crash_loop.recorded()
# The system's own messages: Wine's are shorter.
WORDS = {
    "Success.": "The operation completed successfully.",
    "Service already running.": "An instance of the service is already running.",
    "Service not active.": "The service has not been started.",
    "Service does not exist.": "The specified service does not exist as an installed service.",
}
# Between two starts of its program the service is PAUSED. While the program is started again, up to 2.24 it counts as
# RUNNING, in later builds as START_PENDING until AppThrottle is over. The lab's nssm is 2.24.
STARTED_AGAIN = {"2.23": "running", "2.24-101-g897c7ad": "start_pending"}


def in_the_lab() -> Story:
    node = LabNode("win1")
    node.drive.mkdir(r"C:\k")
    node.drive.write(crash_loop.NSSM, build("nssm", "2.24", resource="2.24"))
    node.drive.write(crash_loop.PROGRAM, build("kubelet", crash_loop.KUBERNETES))
    return crash_loop.tell(node)


def as_windows_says(said: Said) -> Said:
    out = said.out
    for wine, windows in WORDS.items():
        out = out.replace(wine, windows)
    return replace(said, out=out)


@pytest.mark.parametrize("version", RECORDED)
def test_the_lab_tells_the_same_story(version: str) -> None:
    real, lab = RECORDED[version], in_the_lab()
    assert [as_windows_says(said) for said in real.said] == list(lab.said)
    assert real.ends == lab.ends
    assert {"paused"} <= set(real.states) <= {"paused", "start_pending", STARTED_AGAIN[version]}
    assert lab.states == ("paused", "running")
    assert min(real.runs, lab.runs) >= 1


def test_both_builds_are_recorded() -> None:
    assert set(RECORDED) == set(STARTED_AGAIN)
