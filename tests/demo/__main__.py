"""`make demo`, step by step. The node is simulated; Ansible, SSH and what is sent over it are real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.integration.whole import BASE, BRIDGE, OVERLAY, write_sums
from tests.lab.cluster.seed import Settings
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodeSpec
from tests.lab.server.show import show
from tests.lab.server.whole import contexts

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "192.168.122.220"
"""The address in SWDT's own Node YAML."""
NODES = {"win-bridge": ("192.168.122.231", BRIDGE), "win-overlay": ("192.168.122.232", OVERLAY)}
"""Files of examples/nodes: where they say the machine is, and what the cluster is like that it joins."""
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
        "ANSIBLE_SSH_COMMON_ARGS": f"-F {lab.ssh_config} -o ServerAliveInterval=1 -o ServerAliveCountMax=2",
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
    say("A bare Windows Server 2022, simulated, answers at the address of SWDT's own Node YAML.")
    print(Path(ROOT, "examples/swdt/sample.yml").read_text(encoding="utf-8"))
    say(
        "Its http://xyz/ is a small server here; examples/swdt/group_vars has the checksum of the containerd.exe there."
    )

    say("First run: everything has to be done.")
    must(run(env, "ansible-playbook", "-i", "examples/swdt", "site.yml") == 0, "the first run ends with 0")
    print(
        f"The lab counted {lab.ledger.node('sample').remote_calls} remote calls: one to read, one for each "
        "component that changed."
    )

    lab.ledger.reset()
    say("Again: nothing differs.")
    must(run(env, "ansible-playbook", "-i", "examples/swdt", "site.yml") == 0, "the second run ends with 0")
    calls = lab.ledger.node("sample").remote_calls
    print(f"The lab counted {calls} remote call{'' if calls == 1 else 's'}.")
    must(calls == 1, "the second run costs one remote call")

    say("What is on the node now:")
    print(host.in_turn(lambda: show(host.node, host.spec)))

    say("The same file as SWDT's article prints it, with a colon too many:")
    status = run(env, "ansible-inventory", "-i", AS_PRINTED, "--list")
    must(status != 0, "the file as printed is refused")
    print(f"exit status {status}")

    whole_nodes(lab, env)

    say(
        "Next: `make lab` leaves a node running and prints what to try on it; docs/getting-started.md goes on from "
        "there."
    )


def whole_nodes(lab: Lab, env: dict[str, str]) -> None:
    """Two nodes from bare to Ready, and again."""
    say("Two more bare machines, one for each way a node can be set up, and a simulated cluster for each.")
    for name in NODES:
        print(Path(ROOT, f"examples/nodes/{name}.yml").read_text(encoding="utf-8"))
    for name, (address, kind) in NODES.items():
        lab.add_node(NodeSpec(name, address, containers=False))
        lab.start_cluster(Settings(version=kind.kubernetes, backend=kind.backend), name)
    sums = str(write_sums(lab.sources, lab.directory, *(kind for _, kind in NODES.values())))
    env = {**env, "KUBECONFIG": str(contexts(lab.clusters, lab.directory / "kubeconfig"))}
    places = {"winkube_download_base": BASE, "winkube_download_sums": sums, "winkube_nssm_checksum": sums}
    command = ["ansible-playbook", "-i", "examples/nodes", "site.yml"]
    command += [word for item in places.items() for word in ("-e", "=".join(item))]
    say("All downloads come from http://xyz/, laid out like a bundle, and are compared with its SHA256SUMS.")
    must(run(env, *command) == 0, "both nodes are made")
    for name, cluster in lab.clusters.items():
        for _ in range(6):
            cluster.advance(10)
        must(cluster.is_ready(name), f"{name} is Ready")
        info = cluster.nodes[name]["status"]["nodeInfo"]
        print(f"{name}: Ready, kubelet {info['kubeletVersion']}, {info['containerRuntimeVersion']} (simulated)")

    lab.ledger.reset()
    say("Again: nothing differs.")
    must(run(env, *command) == 0, "the second run ends with 0")
    for name in NODES:
        calls = lab.ledger.node(name).remote_calls
        print(f"{name}: the lab counted {calls} remote call{'' if calls == 1 else 's'}.")
        must(calls == 1, "the second run costs one remote call for each node")


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
