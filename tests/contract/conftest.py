"""Which tests of lane pwsh there are in this run: none without a PowerShell, else those that it can run. What it cannot
provide is not collected, so that a skip stays a failure (tests/lanes.py)."""

from __future__ import annotations

import os

import pytest

from tests.contract.case import Case
from tests.contract.provides import HOST, LINUX, WINE
from tests.contract.web import serve_six


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    there = provided()
    gone = [item for item in items if in_lane(item) and not _can_run(item, there)]
    if gone:
        config.hook.pytest_deselected(items=gone)
        left_out = set(gone)
        items[:] = [item for item in items if item not in left_out]


def in_lane(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("lane")
    return marker is not None and "pwsh" in marker.args


def _on_this_machine(item: pytest.Item) -> bool:
    """Whether it asks for a program of this machine's own: the scripts for people and the one of host_process do."""
    return isinstance(item, pytest.Function) and "pwsh" in item.fixturenames


def _can_run(item: pytest.Item, there: frozenset[str] | None) -> bool:
    if there is None or (_on_this_machine(item) and not os.environ.get("WINKUBE_LAB_PWSH")):
        return False
    case = item.callspec.params.get("case") if isinstance(item, pytest.Function) and hasattr(item, "callspec") else None
    return not isinstance(case, Case) or case.needs <= there


@pytest.fixture(scope="session")
def pwsh() -> str:
    """The program that WINKUBE_LAB_PWSH names."""
    return os.environ["WINKUBE_LAB_PWSH"]
