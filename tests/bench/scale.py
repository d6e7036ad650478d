"""What a slice of an Indexed Job costs, in a cluster of many nodes: `python -m tests.bench.scale [--nodes 2000]`.

look.yml and keep.yml run as the pods of examples/in-cluster/slices do: inventory plugin, index of count, connection
through HostProcess pods, five forks. Nothing differs. Simulated are the cluster, its nodes and the machines, which are
copies of one that site.yml has made; Nodes of other slices are objects alone. Real are Ansible and what it needs:

    memory_mib       of the run's processes together, shared pages counted once (PSS), the most that was seen
    parent_mib       of ansible-playbook's own process, the most that it had (VmHWM)
    cpu_s            processor seconds of all its processes
    requests         to the API server, as the lab counted them; lists: those of all Nodes
    seconds          by the clock, on the machine as it was

The last line is JSON. `fit` has for each playbook the straight line through processor seconds and nodes of a slice, and
how much better, or worse, n log n explains them (both by the root of the mean square, in seconds).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.winkube.node.plugins.inventory.cluster_nodes import find_slice
from ansible_collections.winkube.node.plugins.plugin_utils.task.fingerprint import LENGTH

from tests.bench import copies
from tests.bench.fleet import BenchFailed, resident_peak, run_playbook
from tests.bench.measure import say
from tests.integration.lab import ROOT, Bench, told
from tests.integration.whole import OVERLAY, Whole
from tests.lab.server.nodes import NodeSpec

NODES = 2000
SLICES = (40, 20, 8, 4)
PATTERN = "win1"
"""The machine that site.yml makes."""
IMAGES = 30
"""So many a Node tells of; a kubelet tells of 50 at most."""
SAMPLE_S = 0.5
FORKS = "5"
OF_CLUSTER = {"ANSIBLE_INVENTORY_ENABLED": "winkube.node.cluster_nodes"}
FINGERPRINT = """
from ansible.plugins.action import ActionBase
from ansible_collections.winkube.node.plugins.plugin_utils.task.fingerprint import write_wanted

class ActionModule(ActionBase):
    def run(self, tmp=None, task_vars=None):
        return {"wanted": write_wanted(self._templar, task_vars)}
"""
ASK = """
- hosts: windows_nodes
  gather_facts: false
  vars: {winkube_golden_image: false, winkube_network_needed: false}
  module_defaults:
    group/winkube.node.node:
      node: "{{ winkube_node }}"
  tasks:
    - fingerprint:
      register: found
    - import_tasks: NODE
      when: false
      tags: never
    - debug: {msg: "told={{ found.wanted | to_json | b64encode }}"}
"""


class Kept(Whole):
    """With the rights of keep.yml."""

    RIGHTS = ("site", "conditions", "host_process")


@dataclass(frozen=True)
class Slice:
    """One run. `slices`: into how many the Nodes are divided; `nodes`: how many it has, of `of` in the cluster."""

    playbook: str
    slices: int
    index: int
    nodes: int
    of: int
    seconds: float
    cpu_s: float
    memory_mib: int
    parent_mib: int
    requests: int
    lists: int

    def as_dict(self) -> dict[str, Any]:
        """What is printed."""
        plain = asdict(self)
        return {name: round(value, 1) if isinstance(value, float) else value for name, value in plain.items()}


class Fleet:
    """A cluster of `count` Nodes, of which those of the slice 0 of `fewest` are machines."""

    def __init__(self, folder: Path, count: int, fewest: int) -> None:
        self.bench = Bench(folder, warm=False)
        network = {"pod_network": "10.128.0.0/9"}
        self.whole = Kept(self.bench, OVERLAY, address="10.77.0.1", containers=True, cluster=network)
        self.cluster = self.whole.cluster
        made = self.whole.site("-e", "winkube_conditions=true")
        if made.rc != 0:
            raise BenchFailed(str(made))
        self.cluster.advance(60)
        images = [{"names": [f"registry.example.com/{'a' * 40}@sha256:{n:064}"], "sizeBytes": n} for n in range(IMAGES)]
        self.cluster.request("PATCH", f"/api/v1/nodes/{PATTERN}/status", {"status": {"images": images}})
        names = [f"win{1000 + number}" for number in range(1, count)]
        wanted = self._ask_wanted()

        def note(name: str) -> dict[str, str]:
            mine = wanted.replace(f'"{PATTERN}"', f'"{name}"')
            return {"winkube.node/applied": hashlib.sha256(mine.encode()).hexdigest()[:LENGTH]}

        self.cluster.request("PATCH", f"/api/v1/nodes/{PATTERN}", {"metadata": {"annotations": note(PATTERN)}})
        self.names = [PATTERN, *names]
        mine = [name for name in names if find_slice(name, fewest) == 0]
        copies.make_nodes(PATTERN, mine, self.cluster, note)
        addresses = [f"10.77.{1 + number // 250}.{1 + number % 250}" for number in range(len(mine))]
        specs = [NodeSpec(name, at, containers=True) for name, at in zip(mine, addresses, strict=True)]
        hosts = self.bench.lab.add_nodes(dict.fromkeys(specs))
        copies.make_machines(self.whole.host, hosts, self.cluster)
        self.cluster.advance(60)
        # Last: each machine's programs list all Nodes when they start.
        copies.make_nodes(PATTERN, [name for name in names if name not in mine], self.cluster, note, len(mine))

    def close(self) -> None:
        self.bench.close()

    def run(self, playbook: str, slices: int, index: int = 0) -> Slice:
        """As a pod of the Job."""
        nodes = sum(find_slice(name, slices) == index for name in self.names)
        more = {"WINKUBE_SLICES": str(slices), "JOB_COMPLETION_INDEX": str(index), "ANSIBLE_FORKS": FORKS}
        what = [
            "-i",
            str(self._inventory(playbook)),
            "-e",
            f"@{self._extra()}",
            str(ROOT / "playbooks" / f"{playbook}.yml"),
        ]
        with self.cluster.api.lock:
            self.cluster.calls.clear()
        seconds, cpu_s, (parent, memory) = run_playbook(self.bench, what, OF_CLUSTER | more, _watch)
        with self.cluster.api.lock:
            calls = [call for call in self.cluster.calls if call.outside]
        if wrote := [call.path for call in calls if call.method == "PATCH"]:
            raise BenchFailed(f"{playbook}.yml changed {len(wrote)} Nodes, and nothing differs: {wrote[:3]}")
        lists = sum(call.method == "GET" and call.path == "/api/v1/nodes" for call in calls)
        made = Slice(playbook, slices, index, nodes, len(self.names), seconds, cpu_s, memory, parent, len(calls), lists)
        say(json.dumps(made.as_dict()))
        return made

    def list_mib(self) -> float:
        """A list of all Nodes, as JSON."""
        return len(json.dumps(self.cluster.request("GET", "/api/v1/nodes"))) / 2**20

    def _inventory(self, account: str) -> Path:
        """The example's."""
        source = {"plugin": "winkube.node.cluster_nodes", "kubeconfig": str(self.cluster.account(account))}
        return self.bench.file(f"{account}.yml", yaml.safe_dump(source, sort_keys=False))

    def _extra(self) -> Path:
        given = self.whole.variables()
        del given["winkube_cluster"], given["winkube_hosts"]
        return self.bench.file("extra.json", json.dumps({**given, "winkube_max_unavailable": 2}))

    def _ask_wanted(self) -> str:
        """Of what the fingerprint of PATTERN is made, in which only the name differs from node to node; whether that is
        right, the runs say, which write otherwise."""
        actions = self.bench.file("actions/fingerprint.py", FINGERPRINT).parent
        play = self.bench.play(ASK.replace("NODE", str(ROOT / "playbooks" / "tasks" / "node.yml")))
        asked = self.bench.ansible_playbook(
            "-i", self._inventory("look"), play, "-e", f"@{self._extra()}", "--limit", PATTERN,
            env=self.bench.environment() | OF_CLUSTER | {"ANSIBLE_ACTION_PLUGINS": str(actions)},
        )  # fmt: skip
        if asked.rc != 0 or "told=" not in asked.stdout:
            raise BenchFailed(str(asked))
        return str(told(asked.stdout))


def _watch(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Wait for its end; MiB of the process itself, and of it and all that it has started."""
    parent = most = 0
    while process.poll() is None:
        parent = resident_peak(process.pid) or parent
        most = max(most, sum(map(_share, _descendants(process.pid))))
        time.sleep(SAMPLE_S)
    return parent // 1024, most // 1024


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        with suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="ascii").split())
    return found


def _share(pid: int) -> int:
    """KiB of a process, of what it shares its part. Source: Linux, proc_pid_smaps(5)."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    return 0


def fit(runs: Sequence[Slice]) -> dict[str, float]:
    """Processor seconds by nodes: the line, and what it leaves beside n log n. Nothing where there are too few."""
    sizes = [float(run.nodes) for run in runs]
    if len(set(sizes)) < 3:
        return {}
    took = [run.cpu_s for run in runs]
    line = statistics.linear_regression(sizes, took)
    logs = [size * math.log2(size) for size in sizes]
    curve = statistics.linear_regression(logs, took)
    return {
        "start_s": round(line.intercept, 2),
        "per_node_s": round(line.slope, 4),
        "linear_rms_s": round(_rms(sizes, took, line), 2),
        "n_log_n_rms_s": round(_rms(logs, took, curve), 2),
    }


def _rms(xs: Sequence[float], ys: Sequence[float], line: statistics.LinearRegression) -> float:
    return math.sqrt(statistics.fmean((y - line.intercept - line.slope * x) ** 2 for x, y in zip(xs, ys, strict=True)))


def main(arguments: Sequence[str] | None = None) -> int:
    """No figure fails anything; exit status 1 if it cannot be measured."""
    parser = argparse.ArgumentParser(prog="make scale", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=NODES, help=f"Nodes of the cluster (default {NODES})")
    parser.add_argument(
        "--slices", type=int, nargs="+", default=SLICES, help="into how many they are divided, each once"
    )
    parser.add_argument("--playbooks", nargs="+", choices=("look", "keep"), default=("look", "keep"))
    parser.add_argument("--whole", action="store_true", help="look with each of the fewest slices, one after the other")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    counts = sorted(options.slices, reverse=True)
    if any(count % counts[-1] for count in counts):
        parser.error(f"--slices: {counts[-1]} divides each, so that its first slice has the nodes of the others' first")
    folder = Path(tempfile.mkdtemp(prefix="wk"))
    fleet = None
    try:
        # look asks no machine.
        fleet = Fleet(folder, options.nodes, counts[-1] if "keep" in options.playbooks else options.nodes * 10)
        say(f"{options.nodes} Nodes, {len(fleet.bench.lab.hosts)} machines, {fleet.list_mib():.1f} MiB a list")
        runs = {name: [fleet.run(name, count) for count in counts] for name in options.playbooks}
        document: dict[str, Any] = {"nodes": options.nodes, "list_mib": round(fleet.list_mib(), 1)}
        if options.whole and "look" in runs:
            runs["look"] += [fleet.run("look", counts[-1], index) for index in range(1, counts[-1])]
        for name, found in runs.items():
            document[name] = {"slices": [each.as_dict() for each in found], "fit": fit(found)}
    except BenchFailed as failed:
        print(failed, file=sys.stderr)
        return 1
    finally:
        if fleet is not None:
            fleet.close()
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
