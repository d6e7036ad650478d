"""A minute of `make soak` in each run of all tests: two nodes, a few turns, another seed than its own."""

from __future__ import annotations

import pytest

from tests.integration.lab import Bench
from tests.soak import Soak


@pytest.mark.exhaustive
def test_a_minute_of_joins_upgrades_pushes_and_resets_while_something_goes_wrong(bench: Bench) -> None:
    soak = Soak(bench, 4, nodes=2)
    soak.go_on(12)
    assert (soak.mixed, soak.stuck, soak.leaked) == ([], [], []), soak.line()
    assert soak.runs == 12
    assert soak.faults.total() >= 4
    assert {"join", "push"} <= soak.actions.keys(), soak.actions
