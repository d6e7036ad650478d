"""playbooks/test.yml over the lab: a cluster with two Windows Nodes, a Linux node and a machine outside, over SSH."""

from __future__ import annotations

import json
import signal
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.jobs import Ran
from tests.lab.cluster.readiness_log import PASSING, Spec, log
from tests.unit.workload_tests.smoke.objects import windows_node

SMOKE = ROOT / "playbooks" / "test.yml"


class Stage:
    """The cluster and the two hosts from which it is asked."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.cluster: Cluster = bench.cluster()
        self.rights: tuple[str, ...] = ("test",)
        for index, name in enumerate(("win1", "win2"), 1):
            self.cluster.request("POST", "/api/v1/nodes", windows_node(name, index))
        self.cluster.advance(10)
        self.linux = bench.lab.add_linux(self.cluster)
        self.outside = bench.lab.add_linux(self.cluster, "workstation", "192.168.122.1")

    @property
    def arguments(self) -> list[str]:
        hosts = [self.linux.spec, self.outside.spec]
        lines = [f"{spec.name} ansible_host={spec.address} ansible_user=root ansible_connection=ssh" for spec in hosts]
        inventory = self.bench.file("linux.ini", "[linux]\n" + "\n".join(lines) + "\n")
        wanted = {
            "winkube_cluster": {"kubeconfig": str(self.cluster.shipped(*self.rights))},
            "winkube_smoke_linux_host": "control-plane",
            "winkube_smoke_outside_host": "workstation",
            "winkube_smoke_report": str(self.report),
            "winkube_smoke_timeout": 60,
        }
        return ["-i", str(inventory), "-e", f"@{self.bench.file('smoke-vars.json', json.dumps(wanted))}"]

    @property
    def report(self) -> Path:
        return self.bench.directory / "smoke"

    def run(self) -> Run:
        return self.bench.ansible_playbook(*self.arguments, SMOKE)

    def namespaces(self) -> list[str]:
        self.cluster.advance(10)
        names = [item["metadata"]["name"] for item in self.cluster.request("GET", "/api/v1/namespaces")["items"]]
        return [name for name in names if name.startswith("winkube-smoke")]


@pytest.mark.row("SM-07", "SM-18")
def test_the_smoke_test_names_what_is_broken_reports_the_rest_and_leaves_nothing(bench: Bench) -> None:
    stage = Stage(bench)
    stage.cluster.flows.broken.add("outbound")
    run = stage.run()
    assert run.rc != 0, run
    assert "Broken: outbound connectivity." in run.output
    assert "a the pods run ok" in run.output
    assert (run.recap["localhost"].failed, stage.namespaces()) == (1, []), run

    document = json.loads((stage.report / "smoke.json").read_text())
    others = {name: verdict for name, verdict in document["checks"].items() if name != "outbound"}
    assert (document["checks"]["outbound"], set(others.values()), len(others)) == ("broken", {"ok"}, 6), run
    assert any("curl" in line for line in stage.linux.lines)
    assert any("curl" in line for line in stage.outside.lines)
    suite = ET.parse(stage.report / "smoke.xml").getroot()
    broken = [found for found in document["findings"] if found["verdict"] == "broken"]
    assert (int(suite.attrib["failures"]), int(suite.attrib["tests"])) == (len(broken), len(document["findings"]))
    assert "kubectl exec" in (stage.report / "smoke.txt").read_text()


@pytest.mark.row("SM-18")
def test_ctrl_c_deletes_the_namespace(bench: Bench) -> None:
    stage = Stage(bench)
    for node in ("win1", "win2"):
        stage.cluster.controllers.workloads.unpullable[node] = {"mcr.microsoft.com"}  # so that it waits
    with bench.start(*stage.arguments, SMOKE, own_group=True) as process:
        try:
            end = time.monotonic() + 240
            while not stage.namespaces() and time.monotonic() < end and process.poll() is None:
                time.sleep(0.2)
            assert stage.namespaces()
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate(timeout=300)
        finally:
            if process.poll() is None:
                process.kill()
    assert "is being deleted" in output, output
    assert stage.namespaces() == []


def test_the_list_of_sig_windows_runs_in_the_cluster_and_is_reported(bench: Bench) -> None:
    """One task makes the Job, waits, and reads its results; a broken test fails the playbook."""
    stage = Stage(bench)
    stage.rights = ("operational_readiness",)
    failing = Spec("Core.Network", "Ability to expose windows pods", (("[It] services go up and down", "failed"),))
    text = log((*PASSING, failing), "-----BEGIN WINKUBE RESULTS-----", "-----END WINKUBE RESULTS-----")
    stage.cluster.controllers.workloads.jobs.program = lambda pod: Ran(text, 2.0)
    extra = ["-e", "winkube_tests=operational_readiness", "-e", f"winkube_readiness_report={bench.directory}/readiness"]
    run = bench.ansible_playbook(*stage.arguments, SMOKE, *extra)
    assert run.rc != 0, run
    assert "Operational readiness, 3 tests: 2 ok, 1 BROKEN. Broken: Ability to expose windows pods." in run.output
    assert (bench.directory / "readiness" / "operational_readiness.xml").is_file()
    stage.cluster.advance(10)
    names = [item["metadata"]["name"] for item in stage.cluster.request("GET", "/api/v1/namespaces")["items"]]
    assert [name for name in names if name.startswith("winkube")] == []
    bindings = stage.cluster.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings")["items"]
    assert [item for item in bindings if item["metadata"]["name"].startswith("winkube-readiness")] == []
