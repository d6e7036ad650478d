"""The table of feature gates, made of Go sources, against the list that upstream keeps itself (tests/recorded)."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import feature_gates, kubelet_config
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

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


def test_of_the_next_line_gates_and_fields_are_known_as_a_pre_release_has_them_and_it_is_said() -> None:
    """1.38.0-beta.0 knows WinDSR and WindowsHostNetwork no more, and locks EnvFiles."""
    at = Version.parse("1.38.0-beta.0")
    assert (
        feature_gates.gate("kube-proxy", "WinDSR", at) is None
        and feature_gates.gate("kube-proxy", "WinDSR", Line(1, 37)) is not None
    )
    assert feature_gates.problem("kube-proxy", "WinDSR", True, at) == (
        "feature gate WinDSR: kube-proxy 1.38 does not know it any more (as 1.38.0-beta.0 has it) and exits "
        "(unrecognized feature gate: WinDSR); leave it out."
    )
    locked = feature_gates.problem("kubelet", "EnvFiles", False, at) or ""
    assert "locked to true in Kubernetes 1.38 (as 1.38.0-beta.0 has it), so kubelet exits" in locked
    assert "(as " not in (feature_gates.problem("kube-proxy", "WinDSR", False, Line(1, 37)) or "")
    assert "it came with Kubernetes 1.38" in (
        feature_gates.problem("kubelet", "ConditionalAuthorization", True, Line(1, 37)) or ""
    )
    assert feature_gates.gate("kubelet", "WinDSR", Line(1, 39)) is None, "later lines are as the last one that was read"
    fields = [set(kubelet_config.fields(Line(1, minor))) for minor in (37, 38, 39)]
    assert fields[1] - fields[0] == {"clientCertificateKeyAlgorithm", "serverCertificateKeyAlgorithm"}
    assert fields[1] == fields[2]
