"""The lab's Linux hosts over real SSH, and the flows that its control socket takes away."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.lab.server.control import Control
from tests.lab.server.lab import Lab
from tests.lab.server.whole import add_linux_hosts


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path) as made:
        made.start_cluster(Settings(), "win1")
        add_linux_hosts(made)
        yield made


def asked(control: Control, **request: Any) -> dict[str, Any]:
    return control.answer(json.dumps(request).encode())


def test_flows_are_taken_away_and_given_back(lab: Lab) -> None:
    control, cluster = Control(lab), lab.clusters["win1"]
    assert asked(control, op="flow", cluster="win1", broken=["dns"]) == {"ok": True, "result": "broken: dns"}
    assert cluster.flows.broken == {"dns"}
    wrong = asked(control, op="flow", cluster="win1", broken=["dns", "mail"])
    assert "there is no flow mail; there are node-to-pod" in wrong["error"]
    assert "the lab has the clusters win1" in asked(control, op="flow", cluster="other")["error"]
    asked(control, op="flow", cluster="win1", broken=[])
    assert isinstance(cluster, Cluster)
    assert cluster.flows.broken == set()


@pytest.mark.lane("lab")
def test_each_host_answers_from_where_it_stands(lab: Lab) -> None:
    def run(host: str, line: str) -> subprocess.CompletedProcess[str]:
        command = ["ssh", "-F", str(lab.ssh_config), f"root@{host}", line]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    # The control plane's kubelet answers everybody; a Service's address only those inside.
    for host in ("192.168.122.10", "192.168.122.1"):
        found = run(host, "curl -sS -k -o /dev/null -w '%{http_code}' https://192.168.122.10:10250/healthz")
        assert (found.returncode, found.stdout) == (0, "401")
    outside = run("workstation", "curl -sS --max-time 5 http://10.96.0.1:443/")
    assert (outside.returncode, "timed out" in outside.stderr) == (28, True)
    assert run("control-plane", "rm -rf /").returncode == 127
