"""The same work over SSH, WinRM and PSRP: Ansible's own plugins with pywinrm and pypsrp against the lab."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.integration.lab import Bench, Run
from tests.integration.site import converge, site
from tests.integration.warm import COLLECTIONS
from tests.integration.whole import BRIDGE, OVERLAY, Whole
from tests.lab.machine.faults import CutKind, Fault
from tests.lab.server.files import psrp_variables, winrm_variables
from tests.lab.server.host import NodeHost
from tests.lab.server.nodes import WINRM_PASSWORD


class Way(NamedTuple):
    """How nodes are reached over WS-Management."""

    connection: str
    port: int
    login: str


SHELL = Way("winrm", 5985, "ntlm")
SHELL_TLS = Way("winrm", 5986, "basic")
RUNSPACES = Way("psrp", 5985, "ntlm")
RUNSPACES_TLS = Way("psrp", 5986, "basic")
MANAGED = (SHELL, SHELL_TLS, RUNSPACES, RUNSPACES_TLS)


def name(way: Way | None) -> str:
    return "ssh" if way is None else ", ".join(map(str, way))


def inventory(bench: Bench, way: Way | None, **variables: str) -> Path:
    """An inventory of the bench's nodes that are reached this way; by SSH without one."""
    if way is None:
        return bench.inventory(**variables)
    reach = winrm_variables if way.connection == "winrm" else psrp_variables
    lines = ["[windows]"]
    lines += [f"{name} ansible_host={host.spec.address}" for name, host in bench.lab.hosts.items()]
    wanted = {
        "ansible_user": "Administrator",
        "ansible_password": WINRM_PASSWORD,
        **reach(bench.lab.door.url, bench.lab.door.ca, way.port, way.login),
        **variables,
    }
    lines += ["[windows:vars]", *(f"{key}={value}" for key, value in wanted.items())]
    return bench.file(f"{way.connection}.ini", "\n".join(lines) + "\n")


@pytest.fixture(params=(None, *MANAGED), ids=name)
def way(request: pytest.FixtureRequest) -> Way | None:
    found: Way | None = request.param
    return found


@pytest.mark.exhaustive
@pytest.mark.row("NY-09")
def test_containerd_from_bare_and_again(bench: Bench, way: Way | None) -> None:
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
    calls = {"winrm": account.winrm_commands, "psrp": account.pipelines}
    assert calls.get(way.connection if way else "", account.execs) == account.remote_calls == 1
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


@pytest.mark.exhaustive(keep=("winrm, 5986, basic",))
def test_the_usual_modules_and_a_file_of_300_kb(bench: Bench, way: Way | None) -> None:
    host = bench.node()
    usual_modules(bench, host, lambda play: bench.ansible_playbook("-i", inventory(bench, way), play))


NODE = """\
apiVersion: windows.k8s.io/v1alpha1
kind: Node
metadata: {{name: win1}}
spec:
  credentials: {{username: Administrator, password: {password}, hostname: "192.168.122.220:{port}"}}
"""


@pytest.mark.exhaustive
def test_what_is_set_up_for_the_calls(bench: Bench, way: Way | None) -> None:
    """ControlPersist keeps ssh's connection for the next tasks and runs; what Ansible's plugins for WS-Management open
    ends with each task's process."""
    bench.node()
    book = bench.play("- hosts: all\n  gather_facts: false\n  tasks:\n" + "    - ansible.windows.win_ping:\n" * 4)
    set_up = []
    for _ in range(2):
        bench.reset_ledger()
        assert bench.ansible_playbook("-i", inventory(bench, way), book).rc == 0
        account = bench.account()
        assert account.remote_calls == 4
        set_up.append((account.connections, account.shells))
    assert set_up == ([(1, 0), (0, 0)] if way is None else [(4, 4), (4, 4)])


def of_node_yaml(bench: Bench, port: int, **variables: str) -> Run:
    """win_ping of the node that a Node YAML describes, reached through the lab's door."""
    file = bench.file("node.yml", NODE.format(password=WINRM_PASSWORD, port=port))
    proxies = dict.fromkeys(("ansible_winrm_proxy", "ansible_psrp_proxy"), bench.lab.door.url)
    extra = json.dumps({**proxies, **variables})
    return bench.ansible(
        "-i", file, "win1", "-m", "ansible.windows.win_ping", "-e", extra,
        env={"ANSIBLE_INVENTORY_ENABLED": "winkube.node.node_yaml", "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS)},
    )  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.row("NY-09")
@pytest.mark.parametrize("port", [5985, 5986])
def test_a_node_yaml_with_a_port_of_winrm_needs_no_more(bench: Bench, port: int) -> None:
    bench.node()
    run = of_node_yaml(bench, port, ansible_winrm_ca_trust_path=str(bench.lab.door.ca))
    assert run.rc == 0, run
    assert bench.account().winrm_commands == 1
    run = of_node_yaml(bench, port, ansible_connection="psrp", ansible_psrp_ca_cert=str(bench.lab.door.ca))
    assert run.rc == 0, run
    assert bench.account().pipelines == 1


def test_the_nodes_certificate_is_checked_unless_it_is_told_otherwise(bench: Bench) -> None:
    bench.node()
    run = of_node_yaml(bench, 5986)
    assert run.rc == 4, run
    assert "certificate verify failed" in run.output
    assert bench.calls() == 0
    assert of_node_yaml(bench, 5986, ansible_winrm_server_cert_validation="ignore").rc == 0


@pytest.mark.exhaustive("psrp, 5986, basic", "winrm, 5985, ntlm")
@pytest.mark.parametrize("by", MANAGED, ids=name)
def test_a_wrong_password_is_unreachable_and_touches_nothing(bench: Bench, by: Way) -> None:
    bench.node()
    before = bench.dump()
    run = bench.ansible("-i", inventory(bench, by, ansible_password="wrong"), "win1", "-m", "ansible.windows.win_ping")
    assert run.rc == 4, run
    said = {"winrm": "the specified credentials were rejected by the server", "psrp": "failed to authenticate"}
    assert said[by.connection] in run.output
    assert bench.account().failed_logins == 1
    assert bench.dump() == before


@pytest.mark.exhaustive(keep=("power-winrm, 5985, ntlm",))
@pytest.mark.parametrize("by", [SHELL, RUNSPACES], ids=name)
@pytest.mark.parametrize("kind", ["session", "power"])
def test_a_cut_in_a_batch_is_asked_about_and_finished(bench: Bench, kind: CutKind, by: Way) -> None:
    """The batch is sent once; after the cut the node is asked what became of it, over a new connection."""
    host = bench.node()
    host.node.faults.arm(Fault(kind, 3, "in", boot_after_s=30))
    run = site(bench, "-i", inventory(bench, by))
    assert all(fault.fired for fault in host.node.faults.armed), run
    assert bench.account().modules.count("winkube.node.node_apply") >= 2, "a batch, and the question"
    assert "asking the node what became of it" in run.output, run
    assert converge(bench, "-i", inventory(bench, by)).rc == 0
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running", run


@pytest.mark.exhaustive
@pytest.mark.parametrize("by", [SHELL, SHELL_TLS, RUNSPACES], ids=name)
def test_a_demo_node_from_bare_to_ready(bench: Bench, by: Way) -> None:
    """With the external vSwitch, which cuts every connection; over HTTP a restart before that."""
    restarted = by.port == SHELL.port
    whole = Whole(bench, BRIDGE if restarted else OVERLAY, containers=not restarted)
    reach = ("-i", inventory(bench, by))
    run = whole.converge(*reach)
    assert ("restarted the machine" in run.output) is restarted
    whole.cluster.advance(30)
    assert whole.cluster.is_ready("win1"), whole.cluster.nodes["win1"]["status"]["conditions"]
    assert bench.account().aborted >= 1
    bench.reset_ledger()
    assert whole.converge(*reach).recap["win1"].changed == 0
    account = bench.account()
    assert (account.remote_calls, account.execs) == (1, 0)
