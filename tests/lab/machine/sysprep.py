"""Sysprep: what it does to a machine, and a new machine that is made of the image.

    image = sysprep.generalise(node)        # node is off afterwards
    sysprep.deploy(image, other)            # other boots with this disk, under its own name and at its own address

What becomes new: the computer name, the machine's SID, MachineGuid, the adapters' settings. Sources:
learn.microsoft.com, "Sysprep (Generalize) a Windows installation" (the SID and the name go; devices are found again, so
a static address is gone with the adapter that had it), "The Microsoft policy for disk duplication of Windows
installations"; MachineGuid: capisp.dll, CryptoSysPrep_Specialize, which Specialize.xml calls (unverified).

What stays, and is the same on all: everything in ProgramData with sshd's host keys (oven-sh/bun#43608, review of
2026-09-20), registry keys of programs, services, scheduled tasks, firewall rules, the machine's variables, HNS's own
database (field knowledge, unverified).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.lab.machine import image
from tests.lab.machine.drive import Volume
from tests.lab.machine.registry import Key
from tests.lab.machine.tasks import Task

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode


@dataclass(frozen=True)
class Image:
    """The disk of a generalised machine, with what Windows keeps on it."""

    volumes: dict[str, Volume]
    hives: dict[str, Key]
    tasks: tuple[Task, ...]
    networks: dict[str, dict[str, Any]]


class Refused(Exception):  # noqa: N818 - as sysprep's log has it
    """Sysprep did not run; the machine is as it was."""


def generalise(node: SimulatedNode) -> Image:
    """`sysprep.exe /generalize /oobe /shutdown`: the machine is off, and its disk is what is returned. Refused while a
    restart is pending or BitLocker protects the disk, as sysprep's checks have it."""
    if image.reboot_pending(node.registry):
        raise Refused("There are one or more Windows updates that require a reboot.")
    if "on" in node.encryption.values():
        raise Refused("BitLocker is on for the OS volume. Turn BitLocker off to run Sysprep. (0x80310039)")
    node.shut_down(None)
    node.clock.advance(60.0)
    node.registry.delete_value(image.CRYPTOGRAPHY, "MachineGuid")
    image.rename_computer(node.registry, "")
    return Image(
        copy.deepcopy(node.drive.volumes),
        copy.deepcopy(node.registry.hives),
        tuple(replace(task, process=None, timer=None) for task in node.tasks.all()),
        copy.deepcopy(node.hns.saved()),
    )


def deploy(made: Image, node: SimulatedNode) -> None:
    """First boot of a new machine with this disk; an answer file gives it its own name. Its NIC is new: Windows knows
    nothing of the network that it is on."""
    node.power_off()
    node.drive.volumes = copy.deepcopy(made.volumes)
    node.registry.hives = copy.deepcopy(made.hives)
    for task in node.tasks.all():
        node.tasks.delete(task.path)
    for task in made.tasks:
        node.tasks.register(copy.copy(task))
    node.hns.restore(copy.deepcopy(made.networks))
    image.new_machine_id(node)
    image.rename_computer(node.registry, node.name)
    node.registry.set(image.GUEST_KEY, "VirtualMachineName", "string", node.name)
    node.boot()
    node.clock.advance(150)
