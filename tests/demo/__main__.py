"""`make demo`, step by step. The node is simulated; Ansible, SSH and what is sent over it are real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodeSpec
from tests.lab.server.show import show

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "192.168.122.220"
"""The address in the documents' own Node YAML."""
AS_PRINTED = "tests/fixtures/node_yaml/sample-as-printed.yml"


class DemoFailed(Exception):  # noqa: N818 - reads as a sentence
    """A step did not show what it should."""


def say(text: str) -> None:
    """One line of the demo's own, told apart from Ansible's."""
    print(f"\n\033[1m# {text}\033[0m" if sys.stdout.isatty() else f"\n# {text}", flush=True)


def environment(lab: Lab, sockets: str) -> dict[str, str]:
    """Ansible's environment: the clone's ansible.cfg, and ssh told where the lab's nodes are."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        "ANSIBLE_SSH_COMMON_ARGS": f"-F {lab.ssh_config}",
        "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
        "ANSIBLE_LOCALHOST_WARNING": "0",
        "ANSIBLE_FORCE_COLOR": "1" if sys.stdout.isatty() else "0",
    }


def run(env: dict[str, str], *command: str) -> int:
    """Show a command, run it, return its exit status."""
    print(f"$ {' '.join(command)}", flush=True)
    program = [sys.executable, "-m", "ansible", command[0].removeprefix("ansible-"), *command[1:]]
    return subprocess.run(program, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, check=False).returncode


def demo(lab: Lab, sockets: str) -> None:
    """All steps. DemoFailed at the first that does not hold."""
    env = environment(lab, sockets)
    host = lab.add_node(NodeSpec("sample", ADDRESS))
    say("A bare Windows Server 2022, simulated, answers at the address of the documents' own Node YAML.")
    print(Path(ROOT, "examples/documents/sample.yml").read_text(encoding="utf-8"))
    say(
        "Its http://xyz/ is a small server here; examples/documents/group_vars says that containerd may come without a "
        "checksum."
    )

    say("First run: everything has to be done.")
    must(run(env, "ansible-playbook", "-i", "examples/documents", "site.yml") == 0, "the first run ends with 0")
    print(
        f"The lab counted {lab.ledger.node('sample').remote_calls} remote calls: one to read, one for each "
        "component that changed."
    )

    lab.ledger.reset()
    say("Again: nothing differs.")
    must(run(env, "ansible-playbook", "-i", "examples/documents", "site.yml") == 0, "the second run ends with 0")
    calls = lab.ledger.node("sample").remote_calls
    print(f"The lab counted {calls} remote call{'' if calls == 1 else 's'}.")
    must(calls == 1, "the second run costs one remote call")

    say("What is on the node now:")
    print(host.in_turn(lambda: show(host.node, host.spec)))

    say("The same file as the documents print it, with a colon too many:")
    status = run(env, "ansible-inventory", "-i", AS_PRINTED, "--list")
    must(status != 0, "the file as printed is refused")
    print(f"exit status {status}")

    say(
        "Next: `make lab` leaves a node running and prints what to try on it; docs/getting-started.md goes on from "
        "there."
    )


def must(holds: bool, what: str) -> None:
    """A demo that does not show what it says fails."""
    if not holds:
        raise DemoFailed(f"The demo expected that {what}, and it is not so.")


def main() -> int:
    """Exit status 0 if every step held."""
    directory = Path(tempfile.mkdtemp(prefix="wk"))
    try:
        with Lab(directory / "lab") as lab:
            demo(lab, str(directory))
    except DemoFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
