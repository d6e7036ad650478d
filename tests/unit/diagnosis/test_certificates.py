"""Certificates that are over, or that nobody renewed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import checks_certificates

from tests.unit.components.nodes import LAYOUT

from .nodes import Node, healthy

NOW = "2026-11-23T12:00:00Z"


def node(**ends: tuple[str, str]) -> Node:
    """A healthy node whose certificates (client, serving, tcp) have these lives."""
    made = healthy()
    made.parts["system"] = {**made.parts["system"], "clock": NOW}
    queries = checks_certificates.reads(LAYOUT)
    for query, name in zip(queries, ("client", "serving", "tcp"), strict=True):
        begins, over = ends.get(name, ("", ""))
        life: dict[str, Any] = {"exists": True, "not_before": begins, "not_after": over}
        made.parts[query.key] = life if over else {"exists": False}
    return made


def told(made: Node) -> set[str]:
    return {found for found in made.ids() if "certificate" in found}


YEAR = ("2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("ends", "ids"),
    [
        ({}, set()),
        ({"client": YEAR, "serving": YEAR, "tcp": YEAR}, set()),
        # 70 to 90 % of its life: the kubelet may still wait. 0.894 of a year's are over here.
        ({"client": ("2026-11-23T02:00:00Z", "2026-11-23T13:30:00Z")}, set()),
        ({"client": ("2025-11-24T12:00:00Z", "2026-11-24T12:00:00Z")}, {"kubelet.certificate-late"}),
        ({"serving": ("2025-11-24T12:00:00Z", "2026-11-24T12:00:00Z")}, {"kubelet.certificate-late"}),
        ({"client": ("2025-11-23T12:00:00Z", NOW)}, {"kubelet.client-certificate-over"}),
        ({"serving": ("2025-11-23T12:00:00Z", NOW)}, {"kubelet.certificate-over"}),
        ({"tcp": ("2025-11-22T12:00:00.0000000Z", "2026-11-22T12:00:00Z")}, {"kubelet.certificate-over"}),
        # One of CRI over TCP is not renewed by anybody: that it ends soon is not a fault.
        ({"tcp": ("2025-11-24T12:00:00Z", "2026-11-24T12:00:00Z")}, set()),
    ],
)
def test_by_the_nodes_clock(ends: dict[str, tuple[str, str]], ids: set[str]) -> None:
    assert told(node(**ends)) == ids


def test_the_sentences_say_which_and_since_when_and_the_way_back() -> None:
    made = node(client=("2025-11-13T12:00:00Z", "2026-11-13T12:00:00Z"))
    (found,) = made.find("kubelet.client-certificate-over")
    assert "the kubelet's client certificate: it expired 10 days ago" in found.sentence
    assert "winkube_repair=rejoin" in found.remedy.ours("win1")
    (late,) = node(client=("2025-11-24T00:00:00Z", "2026-11-24T00:00:00Z")).find("kubelet.certificate-late")
    assert "12.0 hours of 365 days are left" in late.sentence
