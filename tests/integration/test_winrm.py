"""The same work over SSH and over WinRM: Ansible's own winrm plugin with pywinrm against the lab."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.lab import COLLECTIONS, Bench, Run
from tests.integration.site import converge, site
from tests.integration.whole import BRIDGE, KINDS, Whole
from tests.lab.machine.faults import CutKind, Fault
from tests.lab.server.host import NodeHost
from tests.lab.server.nodes import WINRM_PASSWORD

WAYS = {"ssh": None, "winrm, ntlm, http": (5985, "ntlm"), "winrm, basic, https": (5986, "basic")}
NTLM = WAYS["winrm, ntlm, http"]


def inventory(bench: Bench, way: tuple[int, str] | None, **variables: str) -> Path:
    """An inventory of the bench's nodes that are reached this way."""
    if way is None:
        return bench.inventory(**variables)
    port, transport = way
    lines = ["[windows]"]
    lines += [f"{name} ansible_host={host.spec.address}" for name, host in bench.lab.hosts.items()]
    wanted = {
        "ansible_user": "Administrator",
        "ansible_password": WINRM_PASSWORD,
        **bench.lab.winrm_variables(port, transport),
        **variables,
    }
    lines += ["[windows:vars]", *(f"{key}={value}" for key, value in wanted.items())]
    return bench.file("winrm.ini", "\n".join(lines) + "\n")


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[int, str] | None:
    return WAYS[request.param]


@pytest.mark.row("NY-09")
def test_containerd_from_bare_and_again(bench: Bench, way: tuple[int, str] | None) -> None:
    host = bench.node()
    reach = inventory(bench, way)
    first = converge(bench, "-i", reach)
    assert first.recap["win1"].changed == 2, first
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"
    assert bench.calls() == 3, "one to read, one for each component that changed"
    bench.reset_ledger()
    second = converge(bench, "-i", reach)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    account = bench.account()
    assert (account.winrm_commands, account.execs) == ((0, 1) if way is None else (1, 0))
    assert host.node.sessions == [], "no shell is left behind"


MODULES = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.windows.win_ping:
    - ansible.windows.setup:
    - ansible.builtin.assert:
        that: ansible_facts.os_family == "Windows" and ansible_facts.user_id in ["Administrator", "SYSTEM"]
    - ansible.windows.win_copy:
        src: {source}
        dest: C:\\Users\\Public\\copied.bin
    - ansible.builtin.raw: hostname
      register: said
    - ansible.builtin.assert:
        that: said.stdout | trim == "WIN1"
"""


def usual_modules(bench: Bench, host: NodeHost, play: Callable[[Path], Run]) -> None:
    """Modules of others, a command and a file, twice; nothing is left behind. `play` runs a playbook over the
    connection."""
    content = bytes(range(256)) * 1200
    source = bench.directory / "source.bin"
    source.write_bytes(content)
    book = bench.play(MODULES.format(source=source))
    run = play(book)
    assert run.rc == 0, run
    assert run.recap["win1"].changed == 2, "the copy, and raw, which always says so"
    assert host.in_turn(lambda: host.node.drive.read("C:\\Users\\Public\\copied.bin")) == content
    temporary = "C:\\Users\\Administrator\\AppData\\Local\\Temp"
    if host.in_turn(lambda: host.node.drive.exists(temporary)):
        assert host.in_turn(lambda: host.node.drive.listdir(temporary)) == []
    again = play(book)
    assert again.recap["win1"].changed == 1, again


def test_the_usual_modules_and_a_file_of_300_kb(bench: Bench, way: tuple[int, str] | None) -> None:
    host = bench.node()
    usual_modules(bench, host, lambda play: bench.ansible_playbook("-i", inventory(bench, way), play))


NODE = """\
apiVersion: windows.k8s.io/v1alpha1
kind: Node
metadata: {{name: win1}}
spec:
  credentials: {{username: Administrator, password: {password}, hostname: "192.168.122.220:{port}"}}
"""


def of_node_yaml(bench: Bench, port: int, **variables: str) -> Run:
    """win_ping of the node that a Node YAML describes, reached through the lab's door."""
    file = bench.file("node.yml", NODE.format(password=WINRM_PASSWORD, port=port))
    extra = json.dumps({"ansible_winrm_proxy": bench.lab.door.url, **variables})
    return bench.ansible(
        "-i", file, "win1", "-m", "ansible.windows.win_ping", "-e", extra,
        env={"ANSIBLE_INVENTORY_ENABLED": "winkube.node.node_yaml", "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)},
    )  # fmt: skip


@pytest.mark.row("NY-09")
@pytest.mark.parametrize("port", [5985, 5986])
def test_a_node_yaml_with_a_port_of_winrm_needs_no_more(bench: Bench, port: int) -> None:
    bench.node()
    run = of_node_yaml(bench, port, ansible_winrm_ca_trust_path=str(bench.lab.door.ca))
    assert run.rc == 0, run
    assert bench.account().winrm_commands == 1


def test_the_nodes_certificate_is_checked_unless_it_is_told_otherwise(bench: Bench) -> None:
    bench.node()
    run = of_node_yaml(bench, 5986)
    assert run.rc == 4, run
    assert "certificate verify failed" in run.output
    assert bench.calls() == 0
    assert of_node_yaml(bench, 5986, ansible_winrm_server_cert_validation="ignore").rc == 0


@pytest.mark.parametrize("by", [NTLM, (5986, "basic")])
def test_a_wrong_password_is_unreachable_and_touches_nothing(bench: Bench, by: tuple[int, str]) -> None:
    bench.node()
    before = bench.dump()
    run = bench.ansible("-i", inventory(bench, by, ansible_password="wrong"), "win1", "-m", "ansible.windows.win_ping")
    assert run.rc == 4, run
    assert "the specified credentials were rejected by the server" in run.output
    assert bench.account().failed_logins == 1
    assert bench.dump() == before


@pytest.mark.parametrize("kind", ["session", "power"])
def test_a_cut_in_a_batch_is_asked_about_and_finished(bench: Bench, kind: CutKind) -> None:
    """The batch is sent once; after the cut the node is asked what became of it, over a new connection."""
    host = bench.node()
    host.node.faults.arm(Fault(kind, 3, "in", boot_after_s=30))
    run = site(bench, "-i", inventory(bench, NTLM))
    assert all(fault.fired for fault in host.node.faults.armed), run
    assert bench.account().modules.count("winkube.node.node_apply") >= 2, "a batch, and the question"
    assert "asking the node what became of it" in run.output, run
    assert converge(bench, "-i", inventory(bench, NTLM)).rc == 0
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running", run


@pytest.mark.parametrize("kind", KINDS)
def test_both_demo_nodes_from_bare_to_ready_over_winrm(bench: Bench, kind: str) -> None:
    """With the external vSwitch, which cuts every connection; on one of them a restart before that."""
    restarted = KINDS[kind] is BRIDGE
    whole = Whole(bench, KINDS[kind], containers=not restarted)
    reach = ("-i", inventory(bench, NTLM if restarted else WAYS["winrm, basic, https"]))
    run = whole.converge(*reach)
    assert ("restarted the machine" in run.output) is restarted
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win1"), whole.cluster.nodes["win1"]["status"]["conditions"]
    assert bench.account().aborted >= 1
    bench.reset_ledger()
    assert whole.converge(*reach).recap["win1"].changed == 0
    account = bench.account()
    assert (account.remote_calls, account.execs) == (1, 0)
