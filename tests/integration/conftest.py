"""The fixture `bench`: a lab of simulated nodes and the real Ansible, new for each test; no secret may have leaked, and
the cluster was asked with the rights of examples/rbac alone."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.lab import Bench, overstepped
from tests.integration.records import leaks


@pytest.fixture(scope="session", autouse=True)
def _orderly_end() -> Iterator[None]:
    """A SIGTERM (from `timeout`, from CI) ends the run as Ctrl-C does: labs and Ansible end with it."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    try:
        yield made
        assert leaks(made) == []
        assert overstepped(made) == []
    finally:
        made.close()
