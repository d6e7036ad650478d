"""A lab in the background for the Node YAMLs of a molecule scenario, each with a cluster of its own if it joins one.

    python -m tests.molecule create --dir DIR [--windows 2019] [--mode l2bridge] [--kubernetes 1.22.17] NODE.yml ...
    python -m tests.molecule destroy --dir DIR

DIR has afterwards what Ansible needs to know: `ssh_config`, `kubeconfig` (a context for each node, by its name) and
`SHA256SUMS` of what the nodes download. `python -m tests.lab ... --dir DIR` shows the nodes and breaks them.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from tests.integration.whole import Kind, write_sums
from tests.lab.cluster.seed import Settings
from tests.lab.machine.release import RELEASES
from tests.lab.server.client import ControlError, ask
from tests.lab.server.control import Control
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodeSpec, parse_nodes
from tests.lab.server.whole import add_linux_hosts, contexts

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
BACKENDS = {"l2bridge": "host-gw", "overlay": "vxlan"}


@dataclass(frozen=True)
class Wanted:
    """A node of the lab: the machine, and the kind of node that it is to become (None: it joins no cluster)."""

    spec: NodeSpec
    kind: Kind | None


def wanted(path: Path, windows: str | None, mode: str | None, kubernetes: str | None, containerd: str | None) -> Wanted:
    """What a Node YAML with one node asks for; what is given besides comes before what it says."""
    (spec,) = parse_nodes([str(path)])
    if windows is not None and windows not in RELEASES:
        raise ControlError(f"the lab knows the releases {', '.join(RELEASES)} of Windows Server, not {windows}")
    document: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["spec"]
    version = kubernetes or (document.get("kubernetes") or {}).get("version")
    spec = replace(spec, release=windows, containers=not version)
    if not version:
        return Wanted(spec, None)
    network = mode or document["network"]["mode"]
    manager = (document.get("kubernetes") or {}).get("serviceManager") or "nssm"
    runtime = containerd or document["containerd"]["version"]
    return Wanted(spec, Kind(network, manager, version, runtime, BACKENDS[network]))


def serve(directory: Path, nodes: Sequence[Wanted]) -> int:
    """Run the lab until somebody stops it."""
    with Lab(directory) as lab:
        for node in nodes:
            lab.add_node(node.spec)
            if node.kind is not None:
                lab.start_cluster(Settings(version=node.kind.kubernetes, backend=node.kind.backend), node.spec.name)
        add_linux_hosts(lab)
        write_sums(lab.sources, directory, *(node.kind for node in nodes if node.kind is not None))
        contexts(lab.clusters, directory / "kubeconfig")
        control = Control(lab)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: control.stopped.set())
        control.start()
        control.stopped.wait()
        control.stop()
    (directory / "lab.json").unlink(missing_ok=True)
    return 0


def create(directory: Path, arguments: Sequence[str]) -> int:
    """Start `serve` in the background; a lab that runs there already is left as it is."""
    if runs(directory):
        print(f"The lab of {directory} runs already.")
        return 0
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = directory / "lab.log"
    command = [sys.executable, "-m", "tests.molecule", "serve", *arguments]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    deadline = time.monotonic() + START_TIMEOUT_S
    while not runs(directory):
        if process.poll() is not None or time.monotonic() > deadline:
            process.terminate()
            raise ControlError(f"the lab did not start; its output ends:\n{log.read_text(encoding='utf-8')[-2000:]}")
        time.sleep(0.05)
    print(f"The lab of {directory} is ready.")
    return 0


def destroy(directory: Path) -> int:
    """Stop it, if it runs."""
    if not runs(directory):
        print(f"No lab runs in {directory}.")
        return 0
    ask(directory, {"op": "stop"})
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while (directory / "lab.json").exists():
        if time.monotonic() > deadline:
            raise ControlError(f"the lab of {directory} did not stop within {STOP_TIMEOUT_S:g} s")
        time.sleep(0.05)
    print(f"The lab of {directory} is stopped.")
    return 0


def runs(directory: Path) -> bool:
    """Whether a lab answers there, with all of its files written."""
    try:
        ask(directory, {"op": "status"})
    except ControlError:
        return False
    return True


def main(arguments: Sequence[str]) -> int:
    """Exit status 0, or 1 with a sentence."""
    parser = argparse.ArgumentParser(prog="python -m tests.molecule", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["create", "serve", "destroy"])
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--windows", help=f"release of Windows Server: {', '.join(RELEASES)}")
    parser.add_argument("--mode", choices=list(BACKENDS))
    parser.add_argument("--kubernetes", help="version of the cluster and of what the node gets")
    parser.add_argument("--containerd", help="version that the node gets")
    parser.add_argument("nodes", nargs="*", type=Path, metavar="NODE.yml")
    options = parser.parse_intermixed_args(arguments)
    directory: Path = options.dir.absolute()
    try:
        if options.command == "destroy":
            return destroy(directory)
        if options.command == "create":
            return create(directory, arguments[1:])
        given = (options.windows, options.mode, options.kubernetes, options.containerd)
        return serve(directory, [wanted(path, *given) for path in options.nodes])
    except ControlError as error:
        print(f"winkube lab (simulated): {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
