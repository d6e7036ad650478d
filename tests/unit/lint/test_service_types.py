"""The types of a Service that there are, and no other; headless ones are fine."""

from __future__ import annotations

import pytest
import yaml

from .test_rules import FIXTURES, findings

CLEAN = yaml.safe_load((FIXTURES / "rules" / "service-type.yml").read_text(encoding="utf-8"))["clean"]


@pytest.mark.row("NW-18")
@pytest.mark.parametrize(
    ("kind", "flagged"),
    [
        ("ClusterIP", False),
        ("ClusterIP\n  clusterIP: None", False),
        ("NodePort", False),
        ("LoadBalancer", False),
        ("ExternalName", False),
        ("External", True),
        ("clusterip", True),
    ],
)
def test_a_type_that_there_is_not_is_told(kind: str, flagged: bool) -> None:
    assert "type: LoadBalancer" in CLEAN
    found = findings(CLEAN.replace("type: LoadBalancer", f"type: {kind}"), {})
    assert [each.severity.name[0] for each in found if each.rule == "service-type"] == ["E"] * flagged
