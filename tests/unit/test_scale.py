"""What make scale makes of its runs."""

from __future__ import annotations

import math

import pytest

from tests.bench.scale import Slice, fit


def run(nodes: int, cpu_s: float) -> Slice:
    return Slice("look", 4, 0, nodes, 2000, 0.0, cpu_s, 0, 0, 0, 0)


def test_a_straight_line_and_n_log_n_are_told_apart() -> None:
    line = fit([run(nodes, 3 + 0.25 * nodes) for nodes in (50, 100, 200, 500)])
    assert (line["start_s"], line["per_node_s"], line["linear_rms_s"]) == (3.0, 0.25, 0.0)
    assert line["n_log_n_rms_s"] > 0.5
    curve = fit([run(nodes, 3 + 0.03 * nodes * math.log2(nodes)) for nodes in (50, 100, 200, 500)])
    assert curve["n_log_n_rms_s"] == 0.0 and curve["linear_rms_s"] > 0.5


@pytest.mark.parametrize("sizes", [(), (50,), (50, 100, 100)])
def test_few_sizes_are_no_growth(sizes: tuple[int, ...]) -> None:
    assert fit([run(nodes, 1.0) for nodes in sizes]) == {}
