"""A night of 23 nodes on the lab: keep.yml, look.yml and a person at once, under a budget of 3.

    right       converged, and nothing is written to it
    drifting    its config.toml was changed by hand; one of them was left cordoned by a run that is dead
    cordoned    by a person, and stays so
    paused      dead for weeks; a person has taken it out
    dead        dead since tonight; it counts as away
    new         machines that are to join, over SSH

keep.yml reaches nodes that are Ready through pods of theirs, the others and the person by SSH. The dead run has left a
pod behind. Everything runs as real processes of ansible-playbook. A judge looks at the Nodes all the while, between two
requests.
"""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.host_process.pod import BASE_IMAGE, SILENCE_S, Wanted, body

from tests.integration.lab import ROOT, Bench, parse_recap
from tests.integration.site import CONFIG
from tests.integration.whole import BRIDGE, Whole
from tests.lab.cluster.shipped import USER
from tests.lab.cluster.store import Object
from tests.lab.server.host import NodeHost

PLAYBOOKS = ROOT / "playbooks"
PODS = "/api/v1/namespaces/winkube-node/pods"
ENDED, LIVES_S = ("Succeeded", "Failed"), 14400
LATER_S = 10
"""Until a kubelet has told what it saw."""
UP_TO_DATE = "winkube.node/UpToDate"
MARK, PAUSED = "winkube.node/mark", "winkube.node/paused"
BUDGET = 3
LOOK_EVERY_S = 0.01
PATIENCE_S = 3000.0
DRIFTED = b"version = 2\n# by hand\n"
NIGHTS = 3
"""So many runs of keep.yml may follow each other until every node is mended that can be."""


@dataclass(frozen=True)
class Fleet:
    """How many nodes of each kind; the defaults are the whole night."""

    right: int = 12
    drifting: int = 6
    cordoned: int = 1
    paused: int = 1
    dead: int = 1
    new: int = 2

    def names(self) -> dict[str, list[str]]:
        """By kind."""
        numbers = iter(range(1, 1 + self.count))
        kinds = {kind: getattr(self, kind) for kind in ("right", "drifting", "cordoned", "paused", "dead", "new")}
        return {kind: [f"win{next(numbers)}" for _number in range(count)] for kind, count in kinds.items()}

    @property
    def count(self) -> int:
        return self.right + self.drifting + self.cordoned + self.paused + self.dead + self.new


@dataclass
class Judge:
    """Looks at the Nodes all the while. `over` counts the pictures in which more counted Nodes were cordoned, or not
    Ready, than the budget; `mistaken` the looks in which the person's cordon was gone."""

    whole: Whole
    person: str
    most: int = 0
    over: int = 0
    mistaken: int = 0
    looks: int = 0
    seen: set[frozenset[str]] = field(default_factory=set)
    served: set[str] = field(default_factory=set)
    """Nodes that could take pods once. One that joins is cordoned until all of it is there, and has nothing to lose."""
    _end: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        with self.whole.cluster.api.lock:
            nodes = dict(self.whole.cluster.nodes)
        self.served |= {name for name, node in nodes.items() if _is_ready(node) and not _is_cordoned(node)}
        away = frozenset(
            name for name in self.served & set(nodes) if _is_windows(nodes[name]) and _is_away(nodes[name])
        )
        self.looks += 1
        self.most = max(self.most, len(away))
        if away not in self.seen:
            self.seen.add(away)
            self.over += len(away) > BUDGET
        if self.person in nodes and not nodes[self.person]["spec"].get("unschedulable"):
            self.mistaken += 1

    @contextmanager
    def looking(self) -> Iterator[None]:
        def watch() -> None:
            while not self._end.wait(LOOK_EVERY_S):
                self.look()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()


def _is_windows(node: Object) -> bool:
    return (node["metadata"].get("labels") or {}).get("kubernetes.io/os") == "windows"


def _is_away(node: Object) -> bool:
    """As docs/budget.md has it, without the marks: a mark alone takes nothing away."""
    if PAUSED in (node["metadata"].get("annotations") or {}):
        return False
    return _is_cordoned(node) or not _is_ready(node)


def _is_cordoned(node: Object) -> bool:
    return bool(node["spec"].get("unschedulable"))


def _is_ready(node: Object) -> bool:
    return _is_true(node, "Ready")


def _is_true(node: Object, condition: str) -> bool:
    conditions = node["status"].get("conditions") or ()
    return any(each["type"] == condition and each["status"] == "True" for each in conditions)


def _address(number: int) -> str:
    return f"192.168.122.{20 + number}"


class Kept(Whole):
    """With the rights of keep.yml."""

    RIGHTS = ("site", "conditions", "host_process")


class Night:
    """The fleet, and who works on it."""

    def __init__(self, folder: Path, fleet: Fleet, seed: int, log: Callable[[str], None]) -> None:
        self.fleet, self.log, self.names = fleet, log, fleet.names()
        self.chance = random.Random(seed)
        self.bench = Bench(folder)
        self.bench.patience_s = PATIENCE_S
        self.whole = Kept(self.bench, BRIDGE, server=BRIDGE.kubernetes, containers=True, address=_address(1))
        self.hosts: dict[str, NodeHost] = {"win1": self.whole.host}
        for number in range(2, 1 + fleet.count):
            self.hosts[f"win{number}"] = self.bench.node(f"win{number}", containers=True, address=_address(number))

    # -- runs --------------------------------------------------------------------------------------------------------

    def start(self, playbook: str, name: str, *arguments: str, **more: Any) -> subprocess.Popen[str]:
        """A process of its own, as a CronJob or a person starts it."""
        arguments = (*arguments, "-i", str(self._inventory_of_keep())) if playbook == "keep" else arguments
        given = {"winkube_max_unavailable": str(BUDGET), "winkube_budget_timeout": 120, **more}
        extra = self.bench.file(f"{name}.json", json.dumps(self.whole.variables(**given)))
        return self.bench.start(PLAYBOOKS / f"{playbook}.yml", "-e", f"@{extra}", "-f", "10", *arguments)

    def run(self, playbook: str, name: str, *arguments: str, **more: Any) -> tuple[int, str]:
        """Exit status and output."""
        with self.start(playbook, name, *arguments, **more) as run:
            said = run.communicate(timeout=PATIENCE_S)[0]
        self.bench.file(f"{name}.log", said)
        return run.returncode, said

    def _inventory_of_keep(self) -> Path:
        """As the example's: through a pod where the kubelet answers, else by SSH."""
        ready = [name for kind in ("right", "drifting", "cordoned") for name in self.names[kind]]
        text = self.bench.inventory().read_text(encoding="utf-8").replace("ansible_connection=ssh\n", "")
        lines = [f"[pods]\n{chr(10).join(ready)}", "[pods:vars]\nansible_connection=winkube.node.host_process"]
        others = [name for name in self.hosts if name not in ready]
        lines += [f"[machines]\n{chr(10).join(others)}", "[machines:vars]\nansible_connection=ssh"]
        return self.bench.file("keep.ini", text + "\n".join(lines) + "\n")

    # -- what is there -----------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """All but the new machines are nodes; then everything befalls them."""
        members = ",".join(name for kind, names in self.names.items() if kind != "new" for name in names)
        code, said = self.run("site", "before", "--limit", members, winkube_conditions=True)
        assert code == 0, said
        for name in self.names["drifting"]:
            host = self.hosts[name]
            host.in_turn(partial(host.node.drive.write, CONFIG, DRIFTED))
        for name in self.names["cordoned"]:
            self._patch(name, {"spec": {"unschedulable": True}})
        if self.names["drifting"]:
            run = {"id": "a" * 32, "by": "keep", "pod": "default/keep-gone/1"}
            mark = json.dumps({"run": run, "why": "last night", "budget": str(BUDGET), "cordoned": True})
            dead = self.names["drifting"][0]
            self._patch(dead, {"metadata": {"annotations": {MARK: mark}}, "spec": {"unschedulable": True}})
            self._leave_pod(dead)
        self.whole.cluster.advance(120)
        for name in (*self.names["paused"], *self.names["dead"]):
            self.hosts[name].in_turn(self.hosts[name].node.power_off)
            self.hosts[name].set(access="refused")
        for name in self.names["paused"]:
            self._patch(name, {"metadata": {"annotations": {PAUSED: "its disk is on its way"}}})
        self.whole.cluster.advance(120)
        assert [name for name in self.names["dead"] if not _is_away(self.whole.cluster.nodes[name])] == []

    def _patch(self, name: str, body: dict[str, Any]) -> None:
        self.whole.cluster.request("PATCH", f"/api/v1/nodes/{name}", body)

    def _leave_pod(self, node: str) -> None:
        """Of a run that is dead. Runs know its namespace, which was there before them."""
        space = PODS.split("/")[4]
        self.whole.cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": space}})
        wanted = Wanted(node, space, BASE_IMAGE, "a" * 16, "keep-gone", LIVES_S)
        self.whole.cluster.request("POST", PODS, body(wanted, datetime.now(UTC)))

    def pods_running(self) -> list[str]:
        """Pods of the connection."""
        found = self.whole.cluster.request("GET", PODS).get("items") or ()
        return [pod["metadata"]["name"] for pod in found if pod.get("status", {}).get("phase") not in ENDED]

    def is_mended(self, name: str) -> bool:
        """Machine and Node, and the Node says so."""
        host, node = self.hosts[name], self.whole.cluster.nodes[name]
        config = host.in_turn(lambda: host.node.drive.read(CONFIG))
        is_marked = MARK in (node["metadata"].get("annotations") or {})
        return config != DRIFTED and not is_marked and not _is_away(node) and _is_true(node, UP_TO_DATE)

    def has_joined(self, name: str) -> bool:
        node = self.whole.cluster.nodes.get(name)
        return node is not None and not _is_away(node) and _is_true(node, UP_TO_DATE)

    def batches(self) -> Counter[str]:
        """How many batches each machine has worked off; it keeps the last 20."""
        folder = "C:\\ProgramData\\winkube\\batches"

        def count(host: NodeHost) -> int:
            drive = host.node.drive
            return len(drive.listdir(folder)) if drive.is_dir(folder) else 0

        return Counter({name: host.in_turn(partial(count, host)) for name, host in self.hosts.items()})

    def write_count(self, names: Sequence[str]) -> int:
        """Requests that changed these Nodes, or told something of them, since the last count."""
        with self.whole.cluster.api.lock:
            calls = list(self.whole.cluster.calls)
            self.whole.cluster.calls.clear()
        paths = {f"/api/v1/nodes/{name}" for name in names}
        wrote = [call for call in calls if call.user.startswith(USER) and call.method != "GET"]
        return sum(call.path.removesuffix("/status") in paths or call.path.endswith("/events") for call in wrote)


def spend(folder: Path, fleet: Fleet, seed: int, log: Callable[[str], None]) -> dict[str, Any]:
    """The night, and what became of whom."""
    night = Night(folder, fleet, seed, log)
    try:
        log(f"{fleet.count - fleet.new} nodes are made")
        night.prepare()
        before = night.batches()
        members = {name for kind, names in night.names.items() if kind != "new" for name in names}
        judge = Judge(night.whole, next(iter(night.names["cordoned"]), ""), served=members)
        with judge.looking():
            nights = _go_on(night)
        changed = night.batches() - before
        night.write_count(())
        code, said = night.run("keep", "second")
        looked, report = night.run("look", "look")
        log(f"a second keep.yml ended with {code}, look.yml with {looked}")
        told = {name for kind in ("cordoned", "paused", "dead") for name in night.names[kind] if f"{name}: " in report}
        writes = night.write_count(night.names["right"])
        night.whole.cluster.advance(SILENCE_S)
        night.whole.cluster.advance(LATER_S)
        running = night.pods_running()
        if running:
            log(f"still running: {running}")
        return {
            "nodes": fleet.count,
            "mended": sum(map(night.is_mended, night.names["drifting"])),
            "joined": sum(map(night.has_joined, night.names["new"])),
            "reported": len(told),
            "over_budget": judge.over,
            "uncordoned_by_mistake": judge.mistaken,
            "pods_running_after_5_min": len(running),
            "writes_per_converged_node": writes,
            "second_run_changed": sum(each.changed for each in parse_recap(said).values()),
            # One thing is wrong with each of them, so one batch mends it.
            "batches_more_than_once": sum(max(0, changed[name] - 1) for name in night.names["drifting"]),
            "most_away": judge.most,
            "looks_of_the_judge": judge.looks,
            "runs_of_keep": nights,
            "away_at_once": [sorted(away) for away in judge.seen if len(away) > BUDGET],
        }
    finally:
        night.bench.close()


def _go_on(night: Night) -> int:
    """keep.yml again and again, with look.yml beside it, and the first time a person, until every node is mended; how
    often."""
    wrong = night.names["drifting"]
    for number in range(1, 1 + NIGHTS):
        began = time.monotonic()
        with night.start("keep", f"keep-{number}") as keep:
            person = None
            if number == 1 and wrong:
                chosen = ",".join(night.chance.sample(wrong, min(2, len(wrong))))
                more = {
                    "winkube_drain": True,
                    "winkube_serial": 1,
                    "winkube_budget_full": "report",
                    "winkube_conditions": True,
                }
                person = night.start("site", "person", "--limit", chosen, **more)
                night.log(f"a person runs site.yml for {chosen}")
            while keep.poll() is None:
                night.run("look", "look-beside")
            said = keep.communicate()[0]
            night.bench.file(f"keep-{number}.log", said)
            if person is not None:
                night.bench.file("person.log", person.communicate(timeout=PATIENCE_S)[0])
        left = [name for name in wrong if not night.is_mended(name)]
        left += [name for name in night.names["new"] if not night.has_joined(name)]
        night.log(
            f"keep.yml {number}: exit {keep.returncode}, {time.monotonic() - began:.0f} s; left: {left or 'none'}"
        )
        if not left:
            return number
    return NIGHTS
