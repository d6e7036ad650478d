"""What sysprep makes new on a simulated machine, and what it leaves as it was."""

from __future__ import annotations

import pytest

from tests.lab.machine import image, sysprep
from tests.lab.machine.image import CRYPTOGRAPHY, HOST_KEYS, Nic
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.tasks import Task
from tests.lab.twin.node import LabNode

PROGRAM = "C:\\k\\kubelet.exe"


def made() -> tuple[SimulatedNode, SimulatedNode]:
    """A machine that was generalised, and one that is made of its image."""
    first = LabNode("build")
    first.drive.mkdir("C:\\k")
    first.drive.write(PROGRAM, b"MZ")
    first.services.create("kubelet", PROGRAM, start=2)
    first.tasks.register(Task("\\winkube\\runner", PROGRAM, [], at_boot=True, enabled=False))
    second = LabNode("win7", nic=Nic(address="10.7.0.77"), containers=False)
    sysprep.deploy(sysprep.generalise(first), second)
    return first, second


def test_name_id_and_address_are_new() -> None:
    first, second = made()
    assert not first.powered and second.powered
    assert image.computer_name(second.registry) == "WIN7"
    assert second.registry.text(CRYPTOGRAPHY, "MachineGuid") not in {
        "",
        first.registry.text(CRYPTOGRAPHY, "MachineGuid"),
    }
    assert second.adapters.holder("10.7.0.77") is not None and second.adapters.holder(first.nic.address) is None
    assert image.user_sid(first, "Administrator") != image.user_sid(second, "Administrator")


def test_programs_services_tasks_and_features_stay() -> None:
    _first, second = made()
    assert second.drive.read(PROGRAM) == b"MZ"
    assert second.services.exists("kubelet") and second.services.exists("hns")
    assert second.tasks.get("\\winkube\\runner") is not None
    second.drive.write(PROGRAM, b"other")
    _again, third = made()
    assert third.drive.read(PROGRAM) == b"MZ"


def test_all_nodes_have_the_host_keys_unless_somebody_deletes_them() -> None:
    """Unkind, and so it is: sysprep leaves ProgramData alone; sshd makes keys only where there are none."""
    first, second = made()
    assert [second.drive.read(path) for path in HOST_KEYS] == [first.drive.read(path) for path in HOST_KEYS]
    build = LabNode("build")
    for path in HOST_KEYS:
        build.drive.delete(path)
    own = LabNode("win8")
    sysprep.deploy(sysprep.generalise(build), own)
    assert own.drive.read(HOST_KEYS[0]) != first.drive.read(HOST_KEYS[0])


@pytest.mark.parametrize("case", ["restart", "BitLocker"])
def test_sysprep_refuses_what_would_break_the_image(case: str) -> None:
    node = LabNode("build", containers=False, encryption={"C:": "on"} if case == "BitLocker" else {})
    if case == "restart":
        image.enable_containers(node)
    with pytest.raises(sysprep.Refused):
        sysprep.generalise(node)
    assert node.powered
