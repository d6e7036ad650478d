"""The role setup against simulated machines: Remote Desktop, Chocolatey, packages, the proxy before all of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.lab.machine.firewall import RULES as FIREWALL_RULES
from tests.lab.machine.image import ENVIRONMENT
from tests.lab.machine.remote_desktop import RDP_TCP, RULES, TERMINAL_SERVER
from tests.lab.server.host import NodeHost
from tests.lab.twin import choco

PLAYBOOK = ROOT / "playbooks" / "setup.yml"
FEED = "http://xyz/chocolatey"
PACKAGES = {"winkube_setup_choco_source": FEED, "winkube_setup_choco_bootstrap": f"{FEED}/install.ps1"}
# The documents' own keys.
NODE = """
apiVersion: windows.k8s.io/v1alpha1
kind: Node
metadata:
  name: win1
spec:
  credentials:
    username: Administrator
    hostname: 192.168.122.220:22
    privateKey:
  setup:
    enableRDP: true
    chocoPackages:
      - vim
      - {name: grep, version: "3.7"}
"""


def registry(host: NodeHost, path: str, name: str) -> Any:
    return host.in_turn(lambda: host.node.registry.get(path, name))


def rules(host: NodeHost) -> list[str]:
    """The firewall's rules for Remote Desktop."""
    return [str(registry(host, FIREWALL_RULES, name)) for name, _ in RULES]


def calls(host: NodeHost) -> list[list[str]]:
    """What choco.exe was called with, less its lists."""
    return [words for words in host.in_turn(lambda: choco.commands(host.node)) if words[0] != "list"]


def converge(bench: Bench, *arguments: object, **variables: Any) -> Run:
    extra = bench.file("extra.json", json.dumps(variables))
    found = bench.ansible_playbook(PLAYBOOK, "-e", f"@{extra}", *arguments)
    assert found.rc == 0, found
    return found


@pytest.mark.row("IS-01", "IS-03", "IS-04", "SE-16")
def test_remote_desktop_and_packages_and_again(bench: Bench) -> None:
    host = bench.node()
    host.in_turn(lambda: host.node.registry.set(RDP_TCP, "UserAuthentication", "dword", 0))
    host.in_turn(lambda: host.node.services.change("TermService", "Start", "dword", 4))
    bench.file("nodes/win1.yml", NODE)
    source = bench.file("nodes.yml", "plugin: winkube.node.node_yaml\npaths: [nodes]\n")
    wanted = {"winkube_setup_rdp_sources": ["10.1.0.0/16", "LocalSubnet"], **PACKAGES}
    before = bench.dump()
    checked = converge(bench, "-i", source, "--check", **wanted)
    assert "it would install vim, grep" in checked.output
    assert checked.recap["win1"].changed >= 4
    assert bench.dump() == before

    converge(bench, "-i", source, **wanted)
    assert registry(host, TERMINAL_SERVER, "fDenyTSConnections") == 0
    assert registry(host, RDP_TCP, "UserAuthentication") == 1
    assert host.in_turn(lambda: host.node.services.state("TermService")) == "running"
    for rule in rules(host):
        assert "|Active=TRUE|" in rule
        assert "|RA4=10.1.0.0/255.255.0.0|RA4=LocalSubnet|RA6=LocalSubnet|" in rule
    assert host.in_turn(lambda: host.node.drive.is_file(choco.EXE))
    versions = {"chocolatey": "2.5.0", "vim": "9.1.1591", "grep": "3.7"}
    assert host.in_turn(lambda: choco.installed(host.node)) == versions
    vim, grep = calls(host)
    assert vim[:2] == ["install", "vim"]
    assert grep[:2] == ["install", "grep"]
    assert grep[grep.index("--version") + 1] == "3.7"
    for words in (vim, grep):
        assert {"--yes", "--accept-license"} <= set(words)
        assert words[words.index("--source") + 1] == FEED

    second = converge(bench, "-i", source, **wanted)
    assert second.recap["win1"].changed == 0, second
    assert [words[0] for words in calls(host)[2:]] == ["upgrade"], "a version is asked for, nothing is installed"


@pytest.mark.row("IS-07")
def test_the_proxy_is_known_before_anything_is_downloaded_and_its_password_is_not_shown(bench: Bench) -> None:
    host = bench.node()
    for written in ("hunter2", "hunt%65r2"):
        bench.plant(written, "the proxy's password", ": the registry")
    host.in_turn(lambda: host.node.network.hosts.update({"proxy.example.com:3128": bench.lab.sources.address}))
    run = converge(
        bench,
        "-vvv",
        winkube_hosts="windows",
        winkube_node_http_proxy="http://deploy:hunt%65r2@proxy.example.com:3128",
        winkube_setup_choco_packages=["vim"],
        winkube_setup_choco_download=f"{FEED}/package/chocolatey/1.4.0",
        **PACKAGES,
    )
    tasks = re.findall(r"^TASK \[(?:.*: )?(.+)\]", run.stdout, re.MULTILINE)
    wanted = ["Set the machine's proxy", "Install Chocolatey", "Install the packages"]
    assert [name for name in tasks if name in wanted] == wanted
    assert registry(host, ENVIRONMENT, "HTTP_PROXY") == "http://deploy:hunt%65r2@proxy.example.com:3128"
    visits = [visit.path for visit in bench.lab.sources.visits]
    assert visits == [f"{FEED}/{path}" for path in ("install.ps1", "package/chocolatey/1.4.0", "package/vim")]
    assert host.in_turn(lambda: choco.installed(host.node))["chocolatey"] == "1.4.0"
    log = host.in_turn(lambda: host.node.drive.read(choco.LOG).decode())
    for text in (run.stdout, run.stderr, log):
        assert "hunter2" not in text
        assert "hunt%65r2" not in text


@pytest.mark.row("IS-02", "IS-04", "IS-05")
def test_nine_machines_and_what_each_is_told(bench: Bench) -> None:
    """One run, one machine for each case."""
    names = ("plain", "false", "off", "both", "sources", "group", "old", "broken", "offline")
    hosts = {name: bench.node(name, f"10.7.1.{number}", release="2019" if name == "old" else None)
             for number, name in enumerate(names, 1)}  # fmt: skip
    variables: dict[str, dict[str, Any]] = {
        "false": {"winkube_setup_enable_rdp": False},
        "off": {"winkube_setup_disable_rdp": True},
        "both": {"winkube_setup_disable_rdp": True, "winkube_setup_enable_rdp": True},
        "sources": {"winkube_setup_enable_rdp": True, "winkube_setup_rdp_sources": ["10.0.0.1,10.0.0.2"]},
        "group": {"winkube_setup_enable_rdp": True, "winkube_setup_rdp_firewall_group": "Remote Desktop"},
        "old": {"winkube_setup_choco_packages": ["vim"], **PACKAGES},
        "broken": {"winkube_setup_choco_packages": ["broken", "vim"], **PACKAGES},
        "offline": {"winkube_setup_choco_packages": ["vim"]},
    }
    for name, given in variables.items():
        bench.file(f"host_vars/{name}.json", json.dumps(given))
    off = hosts["off"]
    off.in_turn(lambda: off.node.registry.set(TERMINAL_SERVER, "fDenyTSConnections", "dword", 0))
    for name, _ in RULES:
        text = registry(off, FIREWALL_RULES, name).replace("Active=FALSE", "Active=TRUE")
        off.in_turn(lambda name=name, text=text: off.node.registry.set(FIREWALL_RULES, name, "string", text))  # type: ignore[misc]
    before = {name: bench.dump(name) for name in names}
    run = bench.ansible_playbook(PLAYBOOK, "-e", "winkube_hosts=windows", env={"ANSIBLE_FORKS": "9"})
    failed = {name for name, recap in run.recap.items() if recap.failed}
    assert failed == {"both", "sources", "group", "old", "broken", "offline"}, run
    assert run.recap["off"].changed == 2

    # Absent is left alone without a remote call, false is said, disable is its own wish.
    for name in ("plain", "false", "both", "sources"):
        assert bench.calls(name) == 0
        assert bench.dump(name) == before[name]
    assert (
        "Remote Desktop of false is left as it is. To turn it off, set winkube_setup_disable_rdp: true." in run.output
    )
    assert registry(off, TERMINAL_SERVER, "fDenyTSConnections") == 1
    assert all("|Active=FALSE|" in rule for rule in rules(off))
    assert "(spec.setup.enableRDP) and winkube_setup_disable_rdp are both true for both: set one of them." in run.output
    assert 'winkube_setup_rdp_sources has "10.0.0.1,10.0.0.2", which is not an address, network or range' in run.output
    # A closed firewall is found before the door behind it is opened.
    assert (
        "The firewall of group has no rule of the group Remote Desktop, so Remote Desktop was not turned on"
        in run.output
    )
    assert registry(hosts["group"], TERMINAL_SERVER, "fDenyTSConnections") == 1
    # The package that fails is named, and the others are installed.
    assert re.search(r"failed: \[broken\] \(item=broken\).*Error installing package\(s\) 'broken'", run.output), run
    assert "vim" in hosts["broken"].in_turn(lambda: choco.installed(hosts["broken"].node))
    assert "or specify a 1.x version of Chocolatey to install" in run.output
    assert "Failed to download Chocolatey script from 'https://community.chocolatey.org/install.ps1'" in run.output
