"""Slices over a receptor mesh, small: what `make mesh` shows on 200 nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import mesh

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(mesh.missing() is not None, reason=f"lane real: {mesh.missing()}"),
]


def test_the_slice_of_a_worker_that_is_killed_is_done_by_another(tmp_path: Path) -> None:
    report = mesh.sliced(tmp_path, 4, 2, kill=True)
    assert (report["ok"], report["failed"], report["workers_killed"]) == (4, [], 1)
    assert report["more_batches"] == [], "nothing is done twice"
    assert report["tries"][0][1:] == [["worker1", "lost"], ["worker2", "successful"]]
