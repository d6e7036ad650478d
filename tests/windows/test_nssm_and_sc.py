"""kubelet.exe as a service by itself, and what nssm.exe makes of a log with AppRotateFiles: names, when.

The lab's nssm rotates as 2.24-101."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.machine.node import SimulatedNode
from tests.lab.programs.builds import build
from tests.windows import crash_loop
from tests.windows.conftest import require
from tests.windows.crash_loop import LOG, LOGS, NSSM, PROGRAM, SC, SETTINGS
from tests.windows.machine import witness
from tests.windows.programs import cannot_build
from tests.wine import nssm

BYTES = 2000
ROTATES_AT_EACH_START = {"2.24-101-g897c7ad": True, "2.23": False}
NAME = re.compile(r"kubelet-\d{8}T\d{6}\.\d{3}\.log")


def rotated(node: SimulatedNode) -> list[int]:
    """Sizes of what a log of 3000 bytes and some starts of a program that ends leave under other names."""
    node.drive.mkdir(LOGS)
    node.drive.write(LOG, b"x" * 3000)
    node.run(NSSM, ["install", "kubelet", PROGRAM])
    rotation = (("AppRotateFiles", "1"), ("AppRotateOnline", "1"), ("AppRotateBytes", str(BYTES)))
    for setting in (*SETTINGS, *rotation):
        node.run(NSSM, ["set", "kubelet", *setting])
    node.run(NSSM, ["start", "kubelet"])
    node.clock.advance(12)
    node.run(NSSM, ["stop", "kubelet"])
    names = sorted(name for name in node.drive.listdir(LOGS) if name != "kubelet.log")
    assert all(NAME.fullmatch(name) for name in names), names
    node.run(NSSM, ["remove", "kubelet", "confirm"])
    return [len(node.drive.read(rf"{LOGS}\{name}")) for name in names]


@pytest.mark.parametrize("version", nssm.BUILDS)
def test_what_nssm_rotates(version: str, tmp_path: Path, judged: Callable[..., None]) -> None:
    require("kubeadm", crash_loop.KUBERNETES)
    if not nssm.BUILDS[version].at_hand():
        pytest.skip(f"lane windows: nssm {version} needs {nssm.BUILDS[version].client}")
    if not witness.program().exists() and (why := cannot_build()) is not None:
        pytest.skip(f"lane windows: {why}")
    with crash_loop.on_wine(tmp_path / "prefix", version) as node:
        first, *later = rotated(node)
    assert first == 3000
    assert bool(later) == ROTATES_AT_EACH_START[version]
    assert all(size < BYTES for size in later)
    simulated = SimulatedNode("win1")
    simulated.drive.mkdir(r"C:\k")
    simulated.drive.write(NSSM, build("nssm", "2.24"))
    simulated.drive.write(PROGRAM, build("kubelet", crash_loop.KUBERNETES))
    of_the_lab, *more = rotated(simulated)
    assert (of_the_lab, bool(more)) == (3000, True)
    differs = "" if later else "the lab's rotates at each start, as 2.24-101"
    judged("nssm", version, "rotates", "names and moments of rotated files", differs)


def by_itself(node: SimulatedNode) -> tuple[set[str], int]:
    """The states of a service made of kubelet.exe, as sc.exe makes it, for some seconds; and how --windows-service
    ends at a console, where no service manager asks."""
    line = f"{PROGRAM} --windows-service --v=2"
    assert node.run(SC, ["create", "native", "binPath=", line]).exit_code == 0
    assert node.run(SC, ["start", "native"]).exit_code == 0
    states = set()
    until = node.clock.now() + 10
    while "running" not in states and node.clock.now() < until:
        states.add(node.services.state("native"))
        node.clock.advance(0.5)
    if node.services.state("native") == "running":
        node.run(SC, ["stop", "native"])
    return states, node.run(PROGRAM, ["--windows-service", "--v=2"]).exit_code


def test_the_kubelet_as_a_service_by_itself(tmp_path: Path, judged: Callable[..., None]) -> None:
    """Wine's service manager mostly does not hear a Go program answer: it stays START_PENDING. Once it was RUNNING."""
    version = next(iter(nssm.BUILDS))
    require("kubelet", crash_loop.KUBERNETES)
    if not nssm.BUILDS[version].at_hand() or (not witness.program().exists() and cannot_build() is not None):
        pytest.skip("lane windows: nssm.exe and witness.exe are needed")
    with crash_loop.on_wine(tmp_path / "prefix", version) as node:
        states, code = by_itself(node)
    simulated = SimulatedNode("win1")
    simulated.drive.mkdir(r"C:\k")
    simulated.drive.write(PROGRAM, build("kubelet", crash_loop.KUBERNETES))
    of_the_lab, ends = by_itself(simulated)
    assert states and states <= {"start_pending", "running"}
    assert "running" in of_the_lab
    assert (code, ends) == (1, 1)
    differs = "" if "running" in states else "START_PENDING on Wine, RUNNING in the lab"
    judged("kubelet", crash_loop.KUBERNETES, "--windows-service", "exit code at a console", differs)
