"""Which tests of lane pwsh there are in a run, as a pytest plugin: none without a PowerShell, else those that it runs.

What it cannot provide is not collected, so that a skip stays a failure (tests/lanes.py).
"""

from __future__ import annotations

import os

import pytest

from tests.contract import logged
from tests.contract.case import Case
from tests.contract.provides import HOST, LINUX, WINE
from tests.contract.web import serve_six

LANE = "pwsh"


def provided() -> frozenset[str] | None:
    """What the PowerShell of this run provides, by the variable that names it; None where none is named."""
    if os.environ.get("WINKUBE_LAB_PWSH"):
        found = LINUX
    elif os.environ.get("WINKUBE_LAB_PWSH_WINDOWS"):
        found = WINE
    elif os.environ.get("WINKUBE_TEST_HOST"):
        return HOST
    else:
        return None
    with serve_six() as six:
        return found if six else found - {"ipv6"}


def in_lane(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("lane")
    return marker is not None and LANE in marker.args


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    among = [item for item in items if in_lane(item)]
    there = provided() if among else None
    gone = {item for item in among if not _can_run(item, there)}
    if gone:
        config.hook.pytest_deselected(items=list(gone))
        items[:] = [item for item in items if item not in gone]


def _can_run(item: pytest.Item, there: frozenset[str] | None) -> bool:
    if there is None or not isinstance(item, pytest.Function):
        return False
    # A program of this machine's own: the scripts for people, the one of host_process and what asks PowerShell itself.
    if "pwsh" in item.fixturenames and not os.environ.get("WINKUBE_LAB_PWSH"):
        return False
    if "logged" in item.fixturenames and _cannot_log(there):
        return False
    case = item.callspec.params.get("case") if hasattr(item, "callspec") else None
    return not isinstance(case, Case) or case.needs <= there


def _cannot_log(there: frozenset[str]) -> bool:
    return there == HOST or ("linux" in there and logged.missing() is not None)


@pytest.fixture(scope="session")
def pwsh() -> str:
    """The program that WINKUBE_LAB_PWSH names."""
    return os.environ["WINKUBE_LAB_PWSH"]
