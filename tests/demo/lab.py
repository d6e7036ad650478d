"""`make lab`: leaves simulated nodes and clusters running and prints what to try on them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NODE_YAMLS = ("examples/swdt/sample.yml", "examples/nodes/win-bridge.yml", "examples/nodes/win-overlay.yml")

TRY = """
Try, in this folder:

  export ANSIBLE_SSH_COMMON_ARGS="-F .lab/ssh_config" ANSIBLE_SSH_CONTROL_PATH_DIR="$PWD/.lab/cp"
  export PATH="$PWD/.venv/bin:$PATH"
  ansible-inventory -i examples/swdt --graph                          # what the Node YAML says
  ansible-playbook -i examples/swdt site.yml --check --diff           # the whole plan; nothing is touched
  ansible-playbook -i examples/swdt site.yml                          # do it; again: changed=0
  ansible -i examples/swdt sample -m winkube.node.win_k8s_node_info   # what was read of the node
  ansible-playbook -i examples/nodes site.yml -e @.lab/whole.yml           # whole nodes, each of a cluster of its own
  ansible-playbook -i examples/nodes playbooks/verify.yml -e @.lab/whole.yml
  ansible-playbook -i .lab/fleet.ini site.yml                         # ten nodes of one cluster, as kubespray makes it
  python -m tests.lab fault win3 access refused                        # one is gone; fault win3 clear: it is back
  python -m tests.lab show sample                                      # services and config.toml on the node
  python -m tests.lab ledger --reset                                   # remote calls that the lab has counted
  python -m tests.lab fault --help                                     # break something and run again
  python -m tests.lab stop
"""


def main() -> int:
    """Exit status of the lab's own start."""
    start = [sys.executable, "-m", "tests.lab", "start", "--detach", "--cluster", "--fleet", "10"]
    start += ["--nodes", *NODE_YAMLS]
    status = subprocess.run(start, cwd=ROOT, check=False).returncode
    if status == 0:
        print(TRY)
    return status


if __name__ == "__main__":
    sys.exit(main())
