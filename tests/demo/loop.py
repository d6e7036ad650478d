"""`make loop`: the developer's loop of the article, recorded on one simulated node.

Measure usageNanoCores (zeros, by containerd 1.7.12), edit, build and push (it crashes, the old program is back), fix,
push, measure again. Ansible, SSH, gRPC and what is sent over them are real; the node, its containerd and `make` are
not: the build copies a prepared program. The last line is one JSON object.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.integration.lab import ROOT, SCRIPTS, Bench
from tests.integration.test_cri import containerd, serve
from tests.lab.machine.builds import build
from tests.lab.machine.faults import ServiceFault
from tests.lab.programs import containers
from tests.lab.server.host import NodeHost

SICK, CRASHES, FIXED = "1.7.12", "1.6.26", "1.6.27"
MAKE = 'mkdir -p bin && cp "../builds/$(cat VERSION).exe" bin/containerd.exe'
NOISE = re.compile(
    r"(PLAY|TASK|skipping:|ok:|changed:|fatal:|\[WARNING\]|included:|Origin:|\}|\s*\]|\d+( |$)|\s+\^ col|\s*.msg.: \[)"
)
"""Lines of Ansible's that only say where one is in the playbook."""


class Loop:
    """One node, and the folder in which somebody works."""

    def __init__(self, bench: Bench, stack: ExitStack) -> None:
        self.bench = bench
        self.host: NodeHost = bench.node("win1")
        containerd(self.host, SICK)
        cluster = bench.cluster()
        self.containers: list[containers.Container] = []
        self.rounds: list[dict[str, Any]] = []
        self.sources = bench.directory / "containerd"
        self.sources.mkdir()
        for version in (CRASHES, FIXED):
            bench.file(f"builds/{version}.exe", "").write_bytes(build("containerd", version))
        address = serve(stack, self.host, cluster)
        self.stats = {
            "winkube_stats_node": "win1",
            "winkube_stats_address": address,
            "winkube_stats_samples": 8,
            "winkube_stats_interval": 0.5,
            "winkube_stats_second_caller": 0.1,
            "winkube_cluster": {"kubeconfig": str(cluster.kubeconfig)},
        }
        self.push = {
            "winkube_hosts": "windows",
            "winkube_build_name": "containerd",
            "winkube_build_dir": str(self.sources),
            "winkube_build_command": ["sh", "-c", MAKE],
            "winkube_cluster": {},
        }

    def play(self, what: str, shown: str, name: str, variables: dict[str, Any]) -> tuple[int, str]:
        """A playbook: its command as somebody types it, and what it said that matters."""
        print(f"\n# {what}\n$ {shown}", flush=True)
        extra = self.bench.file("extra.json", json.dumps(variables))
        line = [str(SCRIPTS / "ansible-playbook"), "-i", str(self.bench.inventory())]
        line += [str(ROOT / "playbooks" / f"{name}.yml"), "-e", f"@{extra}"]
        self.bench.reset_ledger()
        started = time.monotonic()
        environment, folder = self.bench.environment(), self.bench.directory
        done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        seconds = time.monotonic() - started
        account = self.bench.account()
        errors: set[str] = set()
        for said in done.stdout.split("PLAY RECAP")[0].splitlines():
            text = said.rstrip().replace("Action failed: ", "").replace(str(self.bench.directory), "~")
            if text and not NOISE.match(text) and text not in errors:
                print(text)
            if text.startswith("[ERROR]"):
                errors.add(text)
        sent = (
            f", {account.remote_calls} remote calls, {account.bytes_in / 1000:.0f} KB sent"
            if account.remote_calls
            else ""
        )
        print(f"({seconds:.1f} s{sent}; exit status {done.returncode})", flush=True)
        self.rounds.append({"step": what, "seconds": round(seconds, 1), "calls": account.remote_calls})
        return done.returncode, done.stdout

    def containers_live_on(self) -> None:
        """A containerd that is started finds its containers again, which the lab's does not."""
        node = self.host.node
        server = node.processes.get(node.services.runtime("containerd").pid)
        assert server is not None
        self.containers = containers.of(server) or self.containers
        containers.put(server, self.containers)

    def measure(self, what: str) -> bool:
        """Whether the values are right."""
        self.host.in_turn(self.containers_live_on)
        command = "ansible-playbook winkube.node.stats_watch -e winkube_stats_node=win1"
        return self.play(what, command, "stats_watch", self.stats)[0] == 0

    def edited(self, version: str) -> None:
        """The source is saved."""
        (self.sources / "VERSION").write_text(version, encoding="utf-8")

    def pushed(self, what: str) -> bool:
        """Whether the new program works on the node."""
        command = (
            "ansible-playbook winkube.node.push -e winkube_build_name=containerd -e winkube_build_dir=~/containerd"
        )
        return self.play(what, command, "push", self.push)[0] == 0


def loop(bench: Bench, stack: ExitStack) -> list[str]:
    """The whole of it; what was not as it should be, as sentences."""
    one, wrong = Loop(bench, stack), []
    if one.measure(f"Before: containerd {SICK}; a container that uses half a core"):
        wrong.append(f"containerd {SICK} showed no wrong values")
    one.edited(CRASHES)
    fault = ServiceFault("crash_loop", seconds=0.5, times=1)
    one.host.in_turn(lambda: one.host.node.faults.services.update(containerd=fault))
    if one.pushed("Edit, build, push: this build crashes, and the old program is back before the task ends"):
        wrong.append("the build that crashes was pushed")
    one.edited(FIXED)
    if not one.pushed("Fix, build, push"):
        wrong.append("the fixed build was not pushed")
    if not one.measure(f"After: containerd {FIXED}"):
        wrong.append(f"containerd {FIXED} showed wrong values")
    print(json.dumps({"steps": one.rounds, "wrong": wrong}))
    return wrong


def main() -> int:
    """0 if the loop went as the article has it."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        bench = Bench(Path(folder), warm=False)
        stack.callback(bench.close)
        return 1 if loop(bench, stack) else 0


if __name__ == "__main__":
    sys.exit(main())
