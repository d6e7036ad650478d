"""What playbooks/files/bisect.sh tells git of a commit, by what push.yml and the check leave."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "playbooks" / "files" / "bisect.sh"
FIND = 'for word in "$@"; do case $word in winkube_push_notes=*) notes=${word#*=} ;; esac; done\n'


@pytest.mark.parametrize(
    ("push", "check", "status"),
    [
        ("exit 0", "", 0),
        ("exit 0", "true", 0),
        ("exit 0", "exit 3", 1),
        ("exit 0", "exit 125", 125),
        ('touch "$notes/rolled-back"; exit 2', "true", 1),
        ('touch "$notes/unbuilt"; exit 2', "true", 125),
        ("exit 4", "true", 255),  # unreachable: git must not take the commit for a bad one
        ("exit 2", "true", 255),
        ("exit 1", "", 255),
    ],
)
def test_the_exit_status_is_what_git_makes_of_it(tmp_path: Path, push: str, check: str, status: int) -> None:
    stand_in = tmp_path / "ansible-playbook"
    stand_in.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/told"\n{FIND}{push}\n')
    stand_in.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "CHECK": check, "TMPDIR": str(tmp_path)}
    done = subprocess.run([str(SCRIPT), "-i", "nodes/"], cwd=tmp_path, env=environment, check=False, timeout=60)
    assert done.returncode == status
    told = (tmp_path / "told").read_text()
    assert told.startswith(f"winkube.node.push -e winkube_build_dir={tmp_path} ") and told.endswith("-i nodes/\n")
    assert not [one for one in tmp_path.iterdir() if one.is_dir()], "its notes are gone"
