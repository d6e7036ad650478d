"""Runs that drain Nodes of a real API server under a budget of 2, while they are killed and held up at seeded places;
the server's audit log is the judge.

A run is a process that does with Nodes what site.yml does: claim a batch, cordon and drain each, change it (here:
wait), uncordon. The code that decides and writes is the collection's own; Nodes and pods are objects.

    kill    SIGKILL at a request, drawn from the seed
    pause   SIGSTOP at a request, and SIGCONT after PAUSE_S, for one run in ten
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.budget.claim import BudgetFullError, Claim, Wish
from ansible_collections.winkube.node.plugins.plugin_utils.budget.count import Budget
from ansible_collections.winkube.node.plugins.plugin_utils.budget.mark import ANNOTATION
from ansible_collections.winkube.node.plugins.plugin_utils.budget.run import Place, Run
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.run_end import identity
from ansible_collections.winkube.node.plugins.plugin_utils.task.drain import NodeDrain, Rules

from tests.reconcile.apiserver import Real, running

NODES, BUDGET, AT_ONCE, PODS = 10, 2, 4, 2
LAST_REQUEST = 40
"""A run is killed at one of so many requests."""
PAUSE_S, PAUSED = 30.0, 10
WAITS_S = (0.05, 0.3)
"""Between two looks of a run at a full budget: shorter than the collection's own, so that runs meet more often."""


class Counted(Cluster):
    """A cluster whose requests are counted. `before` is called with the number of the next one."""

    before: Callable[[int], None] = staticmethod(lambda number: None)
    asked = 0

    def _request(self, *given: Any, **named: Any) -> Any:
        self.asked += 1
        self.before(self.asked)
        return super()._request(*given, **named)


def name_of(number: int) -> str:
    return f"win{number:02}"


def make(real: Real) -> None:
    """Nodes that are Ready, with pods that a drain evicts."""
    cluster = real.open()
    for number in range(NODES):
        labels = {"kubernetes.io/os": "windows"}
        cluster.create("/api/v1/nodes", {"metadata": {"name": name_of(number), "labels": labels}})
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}
        cluster.patch(f"/api/v1/nodes/{name_of(number)}/status", {"status": {"conditions": [ready]}}, "strategic")


def bring_pods(cluster: Cluster, node: str, count: int = PODS) -> None:
    """What a scheduler and a ReplicaSet would do."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}
    for _pod in range(count):
        metadata = {"name": f"web-{uuid.uuid4().hex[:8]}", "ownerReferences": [owner]}
        spec = {"nodeName": node, "containers": [{"name": "a", "image": "registry.example.com/a:1"}]}
        cluster.create("/api/v1/namespaces/default/pods", {"metadata": metadata, "spec": spec})


def work(kubeconfig: Path, chance: random.Random, at: int = 0, how: int = 0) -> Counter[str]:
    """One run over all Nodes, one at a time or two; at the request `at` it gets the signal `how`."""
    told: Counter[str] = Counter()
    cluster = Counted.open({"kubeconfig": str(kubeconfig)})
    assert isinstance(cluster, Counted)
    if at:
        cluster.before = lambda number: os.kill(os.getpid(), how) if number == at else None
    pid = os.getpid()
    run = Run(uuid.uuid4().hex, f"run {pid}", pid=pid, started=identity(pid), place=Place.here())
    wish = Wish(Budget.parse(str(BUDGET)), why="reconcile", timeout_s=1.0)
    claim = Claim(cluster, run, wish, pause=lambda: chance.uniform(*WAITS_S))
    names = [name_of(number) for number in range(NODES)]
    chance.shuffle(names)
    while names:
        batch, names = (names[:2], names[2:]) if chance.random() < 0.3 else (names[:1], names[1:])
        try:
            claim.take(batch)
            for name in batch:
                bring_pods(cluster, name)
                NodeDrain(cluster, name, claim, Rules(timeout_s=30, grace_s=0)).cordon_and_drain()
            time.sleep(chance.uniform(0, 0.2))
            for name in batch:
                claim.uncordon(name)
            told["done"] += 1
        except (BudgetFullError, Refused) as refused:
            told[type(refused).__name__] += 1
        except ClusterError as error:
            told[f"error {error.status}"] += 1
            with suppress(ClusterError):
                claim.release(batch)
    return told


def fork(folder: Path, kubeconfig: Path, seed: int, at: int, how: int) -> int:
    """A run as a process of its own, without the start of a Python; its number."""
    child = os.fork()
    if child:
        return child
    try:
        told = work(kubeconfig, random.Random(seed), at, how)
        (folder / f"run-{os.getpid()}.json").write_text(json.dumps(told))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    os._exit(1)


def storm(folder: Path, real: Real, seed: int, kills: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Runs, AT_ONCE of them all the time, until so many are killed."""
    chance = random.Random(seed)
    alive: dict[int, int] = {}
    ended: Counter[str] = Counter()
    started = 0
    while ended["killed"] < kills or alive:
        while len(alive) < AT_ONCE and ended["killed"] + sum(how == signal.SIGKILL for how in alive.values()) < kills:
            started += 1
            how = signal.SIGSTOP if started % PAUSED == 0 else signal.SIGKILL
            child = fork(folder, real.kubeconfig, chance.randrange(2**32), chance.randrange(1, LAST_REQUEST), how)
            alive[child] = how
        child, status = os.waitpid(-1, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            ended["paused"] += 1
            threading.Timer(PAUSE_S, os.kill, (child, signal.SIGCONT)).start()
            continue
        alive.pop(child, None)
        ended["killed" if os.WIFSIGNALED(status) else "ended" if os.WEXITSTATUS(status) == 0 else "failed"] += 1
        if started % 20 == 0:
            log(f"{started} runs: {dict(ended)}")
    return {"runs": started, **ended}


def judge(events: list[dict[str, Any]]) -> dict[str, int]:
    """What the audit log says: evictions, and how many of them came while more Nodes than the budget were cordoned.

    A Node counts as cordoned from the answer that cordoned it to the answer that uncordoned it; an eviction counts when
    it was received.
    """
    at: list[tuple[str, str, dict[str, Any]]] = []
    for event in events:
        what = event["objectRef"]
        if what["resource"] == "nodes" and not what.get("subresource") and "responseObject" in event:
            at.append((event["stageTimestamp"], "node", event))
        elif what.get("subresource") == "eviction" and event["responseStatus"]["code"] < 300:
            at.append((event["requestReceivedTimestamp"], "eviction", event))
    cordoned: dict[str, int] = {}
    found = {"evictions": 0, "over_budget": 0, "most_away": 0}
    away: set[str] = set()
    for _time, kind, event in sorted(at, key=lambda each: each[0]):
        if kind == "eviction":
            found["evictions"] += 1
            found["over_budget"] += len(away) > BUDGET
            continue
        if event["responseStatus"]["code"] >= 300:
            continue
        node = event["responseObject"]
        name, version = node["metadata"]["name"], int(node["metadata"]["resourceVersion"])
        if version <= cordoned.get(name, 0):
            continue  # answered later than a newer write
        cordoned[name] = version
        (away.add if node.get("spec", {}).get("unschedulable") else away.discard)(name)
        found["most_away"] = max(found["most_away"], len(away))
    return found


def spend(folder: Path, seed: int, kills: int, log: Callable[[str], None]) -> dict[str, Any]:
    """Part one: the storm, one undisturbed run after it, and what the API server wrote down."""
    with running(folder / "real") as real:
        make(real)
        told = storm(folder, real, seed, kills, log)
        last: Counter[str] = Counter()
        for _time in range(2):  # the first takes the marks of the dead away, which keep the budget full for others
            last = work(real.kubeconfig, random.Random(seed))
        nodes = real.open().nodes()
        left = [node for node in nodes if ANNOTATION in (node["metadata"].get("annotations") or {})]
        cordoned = [node for node in nodes if node["spec"].get("unschedulable")]
        return {
            **told,
            **judge(real.events()),
            "marks_left": len(left),
            "cordoned_left": len(cordoned),
            "last": dict(last),
        }
