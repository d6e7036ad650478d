"""icacls, netsh, dism, taskkill, and programs that are not there or not known."""

from __future__ import annotations

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.errors import WinError
from tests.lab.machine.firewall import RULES
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.program import Completed
from tests.lab.twin.node import LabNode


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


def run(node: SimulatedNode, name: str, *arguments: str) -> Completed:
    return node.run(f"C:\\Windows\\System32\\{name}.exe", list(arguments))


def test_icacls_by_sid(node: SimulatedNode) -> None:
    node.drive.mkdir("C:\\k\\sub")
    grants = ("/inheritance:r", "/grant:r", "*S-1-5-18:(OI)(CI)F", "*S-1-5-32-544:(OI)(CI)F")
    completed = run(node, "icacls", "C:\\k", *grants, "/setowner", "*S-1-5-18")
    assert completed.exit_code == 0 and b"Successfully processed 1 files" in completed.stdout
    assert node.drive.sddl("C:\\k") == "O:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    assert node.drive.sddl("C:\\k\\sub") == "O:BAD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)"
    before = node.drive.sddl("C:\\k")
    run(node, "icacls", "C:\\k", *grants)
    assert node.drive.sddl("C:\\k") == before
    run(node, "icacls", "C:\\k", "/grant", "*S-1-5-32-545:(RX)", "/T")
    assert "(A;;0x1200a9;;;BU)" in node.drive.sddl("C:\\k\\sub")
    run(node, "icacls", "C:\\k", "/remove", "*S-1-5-32-545", "/T")
    assert "BU" not in node.drive.sddl("C:\\k\\sub")
    assert run(node, "icacls", "C:\\none", "/grant", "*S-1-5-18:F").exit_code == 2
    assert run(node, "icacls", "C:\\k", "/grant", "Nobody:F").exit_code == 87


def test_netsh_adds_a_second_rule_of_the_same_name(node: SimulatedNode) -> None:
    rule = (
        "advfirewall",
        "firewall",
        "add",
        "rule",
        "name=kubelet",
        "dir=in",
        "action=allow",
        "protocol=TCP",
        "localport=10250",
    )
    before = len(node.registry.values(RULES))
    for _ in range(2):
        assert run(node, "netsh", *rule).stdout == b"Ok.\r\n\r\n"
    assert len(node.registry.values(RULES)) == before + 2
    found = [value.data for value in node.registry.values(RULES) if "Name=kubelet|" in str(value.data)]
    assert found == ["v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=10250|Name=kubelet|"] * 2
    gone = run(node, "netsh", "advfirewall", "firewall", "delete", "rule", "name=kubelet")
    assert gone.exit_code == 0 and b"Deleted 2 rule(s)." in gone.stdout
    assert len(node.registry.values(RULES)) == before
    assert run(node, "netsh", "advfirewall", "firewall", "delete", "rule", "name=kubelet").exit_code == 1
    assert run(node, "netsh", "advfirewall", "firewall", "add", "rule", "name=x", "dirr=in").exit_code == 1


def test_taskkill_with_and_without_the_tree(node: SimulatedNode) -> None:
    node.drive.write("C:\\w.exe", build("worker", "1"))
    parent, _ = node.start_program("C:\\w.exe", [])
    child, _ = node.start_program("C:\\w.exe", [], parent=parent.pid)
    assert run(node, "taskkill", "/F", "/PID", str(parent.pid)).exit_code == 0
    assert not parent.alive and child.alive
    other, _ = node.start_program("C:\\w.exe", [], parent=child.pid)
    assert run(node, "taskkill", "/T", "/F", "/PID", str(child.pid)).exit_code == 0
    assert not child.alive and not other.alive
    assert run(node, "taskkill", "/F", "/PID", str(child.pid)).exit_code == 128


def test_a_feature_that_dism_does_not_know(node: SimulatedNode) -> None:
    assert run(node, "dism", "/online", "/enable-feature", "/featurename:Moon").exit_code == 0x800F080C


def test_what_the_lab_does_not_simulate_says_so(node: SimulatedNode) -> None:
    completed = run(node, "reg", "query", "HKLM")
    assert completed.exit_code == 1 and b"The lab does not simulate C:\\Windows\\System32\\reg.exe" in completed.stderr


@pytest.mark.parametrize(
    ("data", "code"),
    [(None, 2), (b"<html>", 193), (build("worker", "1", arch="arm64"), 216), (build("worker", "1")[:-5], 193)],
)
def test_what_is_no_program_cannot_be_started(node: SimulatedNode, data: bytes | None, code: int) -> None:
    if data is not None:
        node.drive.write("C:\\x.exe", data)
    with pytest.raises(WinError) as caught:
        node.start_program("C:\\x.exe", [])
    assert caught.value.code == code
