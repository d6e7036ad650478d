"""docs/smoke.md has what the documents say about their web server and about Windows' networking, and every variable."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.plan import FLOWS, GROUPS, SEVEN
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.report import MARKS

ROOT = Path(__file__).resolve().parents[3]
PAGE = " ".join((ROOT / "docs" / "smoke.md").read_text(encoding="utf-8").split())


@pytest.mark.row("SM-04")
def test_port_mapping_is_supported_and_why_the_example_has_none() -> None:
    assert (
        "Port mapping is also supported on Windows; for simplicity the example exposes port 80 of the container "
        in PAGE
    )
    assert "directly to the Service" in PAGE


@pytest.mark.row("SM-14")
def test_a_windows_node_reaches_no_service_address_and_that_is_no_fault() -> None:
    assert "Windows nodes cannot reach the addresses of Services" in PAGE
    assert "Windows pods and other machines can" in PAGE
    assert "reported as a known limit" in PAGE


@pytest.mark.row("SM-20")
def test_what_kubernetes_also_supports() -> None:
    for thing in (
        "`kubectl exec`",
        "pod and container metrics",
        "horizontal pod autoscaler",
        "resource quotas",
        "scheduler preemption",
    ):
        assert thing in PAGE


def test_every_check_and_verdict_is_told() -> None:
    for number, group in enumerate(SEVEN):
        assert f"| {'abcdefg'[number]} | {GROUPS[group]} |" in PAGE
    for mark in MARKS.values():
        assert f"| {mark} |" in PAGE
    assert len(FLOWS) == 8


def test_every_variable_of_the_playbook_is_told() -> None:
    playbook = (ROOT / "playbooks" / "test.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"(winkube_smoke_\w+) \|", playbook))
    assert len(used) >= 12
    assert {name for name in used if f"`{name}`" not in PAGE} == set()
