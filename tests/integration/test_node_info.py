"""win_k8s_node_info: what a user's own task can ask of a node."""

from __future__ import annotations

import json

import pytest

from tests.integration.lab import Bench
from tests.integration.site import BINARY, converge

PLAY = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.win_k8s_node_info:
      register: read
    - ansible.builtin.copy: {content: "{{ read | to_json }}", dest: "@/read.json"}
      delegate_to: localhost
      vars: {ansible_connection: local, ansible_shell_type: sh}
"""


@pytest.mark.row("SV-08")
def test_it_tells_the_state_of_services_and_files(bench: Bench) -> None:
    host = bench.node()
    converge(bench)
    run = bench.ansible_playbook(bench.play(PLAY.replace("@", str(bench.directory))))
    assert run.rc == 0, run
    read = json.loads((bench.directory / "read.json").read_text())
    services = {service["name"]: service for service in read["node"]["services"]}
    assert services["containerd"]["state"] == "running"
    assert services["containerd"]["pid"] == host.in_turn(lambda: host.node.services.runtime("containerd").pid)
    assert read["node"]["system"]["os"]["build"] == 20348
    assert read["node"]["files"][BINARY.lower()]["exists"] is True
    assert read["node"]["errors"] == {}
    host.in_turn(lambda: host.node.run(r"C:\Windows\System32\sc.exe", ["stop", "containerd"]))
    host.in_turn(lambda: host.node.clock.advance(60))
    bench.ansible_playbook(bench.play(PLAY.replace("@", str(bench.directory))))
    read = json.loads((bench.directory / "read.json").read_text())
    assert {service["name"]: service["state"] for service in read["node"]["services"]}["containerd"] == "stopped"
