"""A playbook that takes machines apart, started without --limit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.warm import COLLECTIONS


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
    inventory = tmp_path / "hosts.yml"
    inventory.write_text("windows_nodes: {hosts: {win1: , win2: , win3: }}\n")
    # Ansible's own defaults, not those of the clone's ansible.cfg.
    environment = {name: text for name, text in os.environ.items() if not name.startswith("ANSIBLE_")} | {
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_HOME": str(tmp_path),
    }
    command = [
        str(Path(sys.executable).parent / "ansible-playbook"),
        "-i",
        str(inventory),
        f"winkube.node.{playbook}",
        "-e",
        given,
    ]
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = " ".join(run.stdout.split())
    assert run.returncode == 2, run.stdout + run.stderr
    assert "This run works on win1, win2, win3" in said
    assert "unreachable=0" in said
    assert "UNREACHABLE" not in said
