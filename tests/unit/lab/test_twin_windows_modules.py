"""The modules of other collections that a simulated node answers: registry, service, firewall, files, Chocolatey."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.machine.errors import NotSimulated
from tests.lab.machine.firewall import RULES as FIREWALL_RULES
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.release import RELEASES
from tests.lab.machine.remote_desktop import GROUP, RULES, TERMINAL_SERVER
from tests.lab.server import modules
from tests.lab.server.source import SourceServer
from tests.lab.twin import choco
from tests.lab.twin.node import LabNode

REGEDIT = "ansible.windows.win_regedit"
FIREWALL = "community.windows.win_firewall_rule"
CHOCO = "chocolatey.chocolatey.win_chocolatey"
FEED = "http://xyz/chocolatey"
DENY = {"path": "HKLM:\\SYSTEM\\CurrentControlSet\\Control\\Terminal Server", "name": "fDenyTSConnections"}


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


@pytest.fixture
def fed() -> Any:
    """A node with a feed."""
    source = SourceServer()
    source.start()
    yield LabNode("win1", hosts=source.hosts)
    source.stop()


def ask(node: SimulatedNode, module: str, /, *, elevated: bool = True, **arguments: Any) -> dict[str, Any]:
    check = {"_ansible_check_mode": arguments.pop("check")} if "check" in arguments else {}
    return modules.answer(node, node.open_session(elevated=elevated), module, {**arguments, **check})


def test_a_value_is_written_once_and_not_without_rights_or_in_check_mode(node: SimulatedNode) -> None:
    wanted: dict[str, Any] = {**DENY, "data": 0, "type": "dword"}
    assert ask(node, REGEDIT, **wanted, check=True)["changed"]
    assert ask(node, REGEDIT, **wanted, elevated=False)["failed"]
    assert node.registry.get(TERMINAL_SERVER, "fDenyTSConnections") == 1
    done = ask(node, REGEDIT, **wanted)
    assert (done["changed"], done["data_changed"], done["data_type_changed"]) == (True, True, False)
    assert node.registry.get(TERMINAL_SERVER, "fDenyTSConnections") == 0
    assert not ask(node, REGEDIT, **wanted)["changed"]
    with pytest.raises(NotSimulated, match="does not simulate delete_key"):
        ask(node, REGEDIT, **wanted, delete_key=True)


def test_a_disabled_service_is_not_started_and_one_that_may_start_is(node: SimulatedNode) -> None:
    node.services.change("TermService", "Start", "dword", 4)
    refused = ask(node, "ansible.windows.win_service", name="TermService", state="started")
    assert "cannot be started due to the following error" in refused["msg"]
    done = ask(node, "ansible.windows.win_service", name="TermService", state="started", start_mode="auto")
    assert (done["changed"], done["state"], done["start_mode"]) == (True, "running", "auto")
    assert node.services.state("TermService") == "running"
    again = ask(node, "ansible.windows.win_service", name="TermService", state="started", start_mode="auto")
    assert not again["changed"]


def test_the_group_is_what_stands_in_the_rule_not_what_people_see(node: SimulatedNode) -> None:
    assert ask(node, FIREWALL, group="Remote Desktop", enabled=True) == {
        "changed": False,
        "invocation": {"module_args": {"group": "Remote Desktop", "enabled": True}},
    }
    done = ask(node, FIREWALL, group=GROUP, enabled=True, remoteip="10.0.0.0/8,10.1.1.1-10.1.1.9,fd00::1,LocalSubnet")
    assert done["changed"]
    (text, *_) = (str(node.registry.get(FIREWALL_RULES, name)) for name, _ in RULES)
    assert "|Active=TRUE|" in text
    remote = "RA4=10.0.0.0/255.0.0.0|RA4=10.1.1.1-10.1.1.9|RA4=LocalSubnet|RA6=LocalSubnet|RA6=fd00::1|"
    assert f"|LPort=3389|{remote}App=" in text
    other_order = "LocalSubnet,10.1.1.1-10.1.1.9,10.0.0.0/255.0.0.0,fd00::1"
    assert not ask(node, FIREWALL, group=GROUP, enabled=True, remoteip=other_order)["changed"]
    assert not ask(node, FIREWALL, group=GROUP, enabled=True)["changed"]
    assert "Value does not fall" in ask(node, FIREWALL, group=GROUP, remoteip="10.0.0.300")["msg"]
    assert ask(node, FIREWALL, group=GROUP, remoteip="any")["changed"]
    assert "RA4=" not in str(node.registry.get(FIREWALL_RULES, RULES[0][0]))


def test_chocolatey_comes_with_the_first_package_and_a_package_stays_as_it_is(fed: SimulatedNode) -> None:
    given: dict[str, Any] = {"source": FEED, "bootstrap_script": f"{FEED}/install.ps1"}
    looked = ask(fed, CHOCO, name="vim", **given, check=True)
    assert looked["skipped"]
    assert not fed.drive.exists(choco.ROOT)
    first = ask(fed, CHOCO, name="vim", version="9.0.1677", **given)
    assert first["changed"]
    assert "Chocolatey was missing" in first["warnings"][0]
    assert not ask(fed, CHOCO, name="vim", **given)["changed"], "without a version any will do"
    other = ask(fed, CHOCO, name="vim", version="9.1.1591", **given)
    assert "already installed with version(s) '9.0.1677' but was expecting '9.1.1591'" in other["msg"]
    for version in ("9.1.1591", "9.0.1677"):
        assert ask(fed, CHOCO, name="vim", version=version, state="downgrade", **given)["changed"]
        assert choco.installed(fed)["vim"] == version
        assert not ask(fed, CHOCO, name="vim", version=version, state="downgrade", **given)["changed"]


def test_a_package_that_is_not_there_and_one_that_fails(fed: SimulatedNode) -> None:
    given: dict[str, Any] = {"source": FEED, "bootstrap_script": f"{FEED}/install.ps1"}
    missing = ask(fed, CHOCO, name="vimm", **given)
    assert missing["msg"] == "Error installing package(s) 'vimm'"
    assert "The package was not found with the source(s) listed" in missing["stdout"]
    broken = ask(fed, CHOCO, name="broken", **given, proxy_password="hunter2")
    assert "exit code 1603" in broken["stdout"]
    assert "hunter2" not in str(broken)
    assert "hunter2" not in fed.drive.read(choco.LOG).decode()
    assert choco.installed(fed) == {"chocolatey": "2.5.0"}


def test_windows_server_2019_takes_chocolatey_1_only() -> None:
    node = LabNode("win1", release=RELEASES["2019"])
    assert "requires .NET Framework 4.8" in ask(node, CHOCO, name="chocolatey")["msg"]
    older = ask(node, CHOCO, name="chocolatey", version="1.4.0")
    assert "Failed to download Chocolatey script from 'https://community.chocolatey.org/install.ps1'" in older["msg"]
