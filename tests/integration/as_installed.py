"""A playbook as after an installation: Ansible's own defaults, and nothing of the clone's ansible.cfg."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.warm import COLLECTIONS


def play(folder: Path, inventory: str, playbook: str, *extra: str, bundle: bool = True) -> tuple[int, str]:
    """Exit status and output, its blanks folded. Without `bundle` the collections of the package `ansible` are not
    there, as after `ansible-galaxy collection install --no-deps`."""
    (folder / "hosts.yml").write_text(inventory, encoding="utf-8")
    environment = {name: text for name, text in os.environ.items() if not name.startswith("ANSIBLE_")} | {
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "ANSIBLE_COLLECTIONS_SCAN_SYS_PATH": str(bundle).lower(),
        "ANSIBLE_HOME": str(folder),
    }
    program = str(Path(sys.executable).parent / "ansible-playbook")
    command = [program, "-i", "hosts.yml", f"winkube.node.{playbook}", *extra]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())
