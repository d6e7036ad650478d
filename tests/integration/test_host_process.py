"""Nodes that have neither SSH nor WinRM: the same playbooks through a HostProcess pod, with a kubeconfig alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.whole import BRIDGE, OVERLAY, Kind, Whole

NAMESPACE = "winkube-node"


class Managed(Whole):
    """A whole node whose doors are shut: what is left is its cluster's API."""

    def shut(self) -> None:
        """No SSH and no WinRM any more; its Network stays."""
        node = self.host.node
        self.host.in_turn(lambda: node.services.set_state("sshd", "stopped"))

    def play(self, playbook: Path | str, *arguments: object, **more: Any) -> Run:
        """A playbook with an inventory that has no address, over the cluster."""
        inventory = self.bench.file("cluster.ini", "win1\n[windows]\nwin1\n")
        wanted = {
            "ansible_connection": "winkube.node.host_process",
            "ansible_shell_type": "powershell",
            "winkube_hosts": "windows",
            "winkube_cluster": {"kubeconfig": str(self.cluster.kubeconfig)},
            **more,
        }
        extra = self.bench.file("host_process.json", json.dumps(wanted))
        return self.bench.ansible_playbook("-i", inventory, playbook, *arguments, "-e", f"@{extra}")

    def pods(self) -> list[str]:
        """The pods of ours that the cluster has, once the run's keeper has had the time."""
        end = time.monotonic() + 20
        while True:
            items = self.cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
            left = [item["metadata"]["name"] for item in items if not item["metadata"].get("deletionTimestamp")]
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.1)


@pytest.fixture(scope="module", params=[BRIDGE, OVERLAY], ids=["v4, 1.27", "v5, 1.37"])
def managed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Managed]:
    """Made once for each protocol of exec: tests leave it as it was."""
    kind: Kind = request.param
    bench = Bench(tmp_path_factory.mktemp("managed"))
    try:
        made = Managed(bench, kind)
        made.converge()
        yield made
    finally:
        bench.close()


PING = """
- hosts: windows
  gather_facts: false
  tasks:
    - ansible.windows.win_ping:
    - ansible.builtin.raw: hostname
      register: said
    - ansible.builtin.assert:
        that: said.stdout | trim == "WIN1"
"""


def test_modules_and_commands(managed: Managed) -> None:
    run = managed.play(managed.bench.play(PING))
    assert run.rc == 0, run
    assert managed.pods() == []
