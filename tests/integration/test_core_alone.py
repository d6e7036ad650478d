"""ansible-core and this collection alone, as after an installation with --no-deps: no other collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.as_installed import play

WEB = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {os: {name: windows}, containers: []}}\n"
HOSTS = "windows_nodes: {hosts: {win1: {ansible_connection: ssh, ansible_port: 9}}}\n"


def run(folder: Path, playbook: str, *extra: str) -> tuple[int, str]:
    """Exit status and output; the host does not exist."""
    (folder / "web.yml").write_text(WEB)
    return play(folder, HOSTS, playbook, *extra, bundle=False)


@pytest.mark.parametrize(
    ("playbook", "given", "missing"),
    [
        ("patch", "winkube_patch_kinds=[]", "ansible.windows"),
        ("setup", "winkube_setup_enable_rdp=true", "ansible.windows community.windows chocolatey.chocolatey"),
    ],
)
def test_a_missing_collection_is_named_with_the_command_that_installs_it(
    playbook: str, given: str, missing: str, tmp_path: Path
) -> None:
    code, output = run(tmp_path, playbook, "-e", given)
    assert code == 2, output
    assert f"Install with: ansible-galaxy collection install {missing}" in output
    assert "unreachable=0" in output, "said before the machine is asked"
    assert "couldn't resolve" not in output


def test_files_are_linted(tmp_path: Path) -> None:
    code, output = run(tmp_path, "lint", "-e", "winkube_lint_paths=web.yml")
    assert code == 0, output
    assert "couldn't resolve" not in output


@pytest.mark.parametrize(
    "playbook", ["site", "provision", "diagnose", "drift", "repair", "reset", "verify", "bootstrap", "scheduling"]
)
def test_no_playbook_needs_another_collection_to_begin(playbook: str, tmp_path: Path) -> None:
    code, output = run(tmp_path, playbook, "--syntax-check")
    assert code == 0, output
