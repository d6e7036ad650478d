"""win_k8s_node_info: what a user's own task can ask of a node."""

from __future__ import annotations

import pytest

from tests.integration.lab import Bench
from tests.integration.site import BINARY, converge

PLAY = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.win_k8s_node_info:
      register: read
    - ansible.builtin.debug: {msg: "told={{ read | to_json | b64encode }}"}
"""


@pytest.mark.exhaustive
@pytest.mark.row("SV-08")
def test_it_tells_the_state_of_services_and_files(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    run = bench.ansible_playbook(bench.play(PLAY))
    assert run.rc == 0, run
    read = run.told
    services = {service["name"]: service for service in read["node"]["services"]}
    assert services["containerd"]["state"] == "running"
    assert services["containerd"]["pid"] == host.in_turn(lambda: host.node.services.runtime("containerd").pid)
    assert read["node"]["system"]["os"]["build"] == 20348
    assert read["node"]["files"][BINARY.lower()]["exists"] is True
    assert read["node"]["errors"] == {}
    host.in_turn(lambda: host.node.run(r"C:\Windows\System32\sc.exe", ["stop", "containerd"]))
    host.in_turn(lambda: host.node.clock.advance(60))
    read = bench.ansible_playbook(bench.play(PLAY)).told
    assert {service["name"]: service["state"] for service in read["node"]["services"]}["containerd"] == "stopped"
