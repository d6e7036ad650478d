"""A cluster of the lab for the smoke test: Nodes without machines, and what asks it as the action does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.cluster import client
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import workload
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.model import Answer, Check, Facts
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.plan import plan
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.report import Report, verdicts

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.flows import Place
from tests.lab.cluster.pod_programs import run_on_linux
from tests.lab.cluster.seed import Settings
from tests.unit.workload_tests import told
from tests.unit.workload_tests.smoke.objects import windows_node

NAMESPACE = "winkube-smoke-test"
LINUX = Place("linux", "control-plane", "192.168.122.10")
OUTSIDE = Place("outside", "workstation", "192.168.122.1")
HOW: dict[str, Any] = {
    "namespace": NAMESPACE,
    "timeout": 30,
    "network_mode": "l2bridge",
    "linux_host": "control-plane",
    "outside_host": "workstation",
}


@contextmanager
def cluster(folder: Path, builds: tuple[int, ...] = (20348, 20348), **settings: Any) -> Iterator[Cluster]:
    """A running cluster with a Windows Node for each build: win1, win2, ..."""
    made = Cluster(folder / "cluster", Settings(**settings))
    try:
        for index, build in enumerate(builds, 1):
            made.request("POST", "/api/v1/nodes", windows_node(f"win{index}", index, build))
        made.advance(10)
        yield made
    finally:
        made.stop()


class Smoke:
    """One run of the smoke test: the parts that the action plugs together."""

    def __init__(self, lab: Cluster, taints: tuple[str, ...] = told.TAINTS, **given: Any) -> None:
        self.lab = lab
        found = client.Cluster.open({"kubeconfig": str(lab.kubeconfig)})
        assert found is not None
        self.cluster = found
        self.how = told.smoke(**{**HOW, **given})
        found.clock = clock = self.clock()
        self.workload = workload.Workload(found, self.how, taints, clock, lambda: datetime.now(UTC))

    def clock(self) -> Clock:
        """Time is the lab's: each request moves it."""
        passed = [0.0]

        def sleep(seconds: float) -> None:
            passed[0] += seconds
            self.lab.advance(seconds)

        return Clock(lambda: passed[0], sleep)

    def facts(self) -> Facts:
        self.workload.deploy()
        self.workload.wait()
        return self.workload.facts()

    def answers(self, checks: tuple[Check, ...]) -> dict[str, Answer]:
        found = self.workload.run(checks)
        for check in checks:
            if check.where in {"linux", "outside"}:
                import shlex

                place = LINUX if check.where == "linux" else OUTSIDE
                code, stdout, stderr = run_on_linux(self.lab.flows, place, shlex.join(check.argv))
                found[check.id] = Answer(code or 0, stdout, stderr)
        return found

    def report(self) -> Report:
        checks = plan(self.facts())
        return Report(self.how.namespace, verdicts(checks, self.answers(checks)))
