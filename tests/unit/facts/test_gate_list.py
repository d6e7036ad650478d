"""The table of feature gates, made of Go sources, against the list that upstream keeps itself (tests/recorded)."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import feature_gates
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

RECORDED = Path(__file__).resolve().parents[2] / "recorded"
BY_CONSTANT = {"CPUCFSQuotaPeriod": "CustomCPUCFSQuotaPeriod", "RuntimeClassInImageCriAPI": "RuntimeClassInImageCriApi"}
"""Up to 1.35 the list has the name of Go's constant for these. Source: kubernetes v1.35.6 pkg/features."""
LATER = {(37, "DRAFractionalCapacityRange")}
"""Changed in a patch release between the table's and the list's."""


@pytest.mark.parametrize("path", sorted(RECORDED.glob("gates-1.*.txt")), ids=lambda path: path.stem)
def test_the_table_says_what_upstreams_list_says(path: Path) -> None:
    minor = int(path.stem.partition(".")[2])
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(rows) > 150
    for name, default, locked in rows:
        found = feature_gates.gate("kubelet", BY_CONSTANT.get(name, name), Line(1, minor))
        assert found is not None, name
        if (minor, name) not in LATER:
            assert (found.default, found.locked) == (default == "true", locked == "locked"), name
