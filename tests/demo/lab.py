"""`make lab`: leaves a simulated node running and prints what to try on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NODE_YAML = "examples/documents/sample.yml"

TRY = """
Try, in this folder:

  export ANSIBLE_SSH_COMMON_ARGS="-F .lab/ssh_config" PATH="$PWD/.venv/bin:$PATH"
  ansible-inventory -i examples/documents --graph                          # what the Node YAML says
  ansible-playbook -i examples/documents site.yml --check --diff           # the whole plan; nothing is touched
  ansible-playbook -i examples/documents site.yml                          # do it; again: changed=0
  ansible -i examples/documents sample -m winkube.node.win_k8s_node_info   # what was read of the node
  python -m tests.lab show sample                                      # services and config.toml on the node
  python -m tests.lab ledger --reset                                   # remote calls that the lab has counted
  python -m tests.lab fault --help                                     # break something and run again
  python -m tests.lab stop
"""


def main() -> int:
    """Exit status of the lab's own start."""
    start = [sys.executable, "-m", "tests.lab", "start", "--detach", "--nodes", NODE_YAML]
    status = subprocess.run(start, cwd=ROOT, check=False).returncode
    if status == 0:
        print(TRY)
    return status


if __name__ == "__main__":
    sys.exit(main())
