"""A playbook that takes machines apart, started without --limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.as_installed import play


@pytest.mark.parametrize(
    ("playbook", "given"),
    [
        ("reset", "winkube_reset=true"),
        ("repair", "winkube_repair=take_over"),
        ("repair", "winkube_repair=network winkube_repair_switch_mode=true"),
    ],
)
def test_a_forgotten_limit_changes_no_host(playbook: str, given: str, tmp_path: Path) -> None:
    """The hosts do not exist: with nothing confirmed, no connection is tried, whatever `serial` is."""
    code, said = play(tmp_path, "windows_nodes: {hosts: {win1: , win2: , win3: }}\n", playbook, "-e", given)
    assert code == 2, said
    assert "This run works on win1, win2, win3" in said
    assert "unreachable=0" in said
    assert "UNREACHABLE" not in said
