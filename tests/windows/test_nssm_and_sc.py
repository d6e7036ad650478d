"""kubelet.exe as a service by itself, and what nssm.exe makes of a log with AppRotateFiles: names, when.

The lab's nssm rotates as 2.24-101."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.windows import crash_loop
from tests.windows.conftest import require
from tests.windows.crash_loop import LOG, LOGS, NSSM, PROGRAM, SC, SETTINGS
from tests.windows.machine import witness
from tests.windows.programs import cannot_build
from tests.wine import nssm

BYTES = 2000
BOOTSTRAP = r"C:\k\bootstrap-kubelet.conf"
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: kubelet, user: {token: abcdef.0123456789abcdef}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: kubelet}}]
current-context: nowhere
"""
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
    simulated = LabNode("win1")
    simulated.drive.mkdir(r"C:\k")
    simulated.drive.write(NSSM, build("nssm", "2.24"))
    simulated.drive.write(PROGRAM, build("kubelet", crash_loop.KUBERNETES))
    of_the_lab, *more = rotated(simulated)
    assert (of_the_lab, bool(more)) == (3000, True)
    differs = "" if later else "the lab's rotates at each start, as 2.24-101"
    judged("nssm", version, "rotates", "names and moments of rotated files", differs)


ARGUMENTS = ("--windows-service", "--v=2", rf"--bootstrap-kubeconfig={BOOTSTRAP}", r"--kubeconfig=C:\k\kubelet.conf")
ENDS_S = 20.0


def by_itself(node: SimulatedNode) -> tuple[bool, int, bool, int]:
    """A service made of kubelet.exe, as sc.exe makes it: whether it runs, what `sc stop` ends with, whether its process
    ends then; and how --windows-service ends at a console, where no service manager asks.

    For a minute it waits for an API server that is not there: without one it ends within milliseconds of its RUNNING,
    and whether Wine's services.exe then says RUNNING, START_PENDING for ever, STOPPED or error 1053 is chance.
    """
    node.drive.write(BOOTSTRAP, KUBECONFIG.encode())
    assert node.run(SC, ["create", "native", "binPath=", " ".join((PROGRAM, *ARGUMENTS))]).exit_code == 0
    assert node.run(SC, ["start", "native"]).exit_code == 0
    runs = within(node, lambda: node.services.state("native") == "running")
    stop = node.run(SC, ["stop", "native"]).exit_code
    gone = within(node, lambda: not node.processes.named([PROGRAM.rpartition("\\")[2]]))
    return runs, stop, gone, node.run(PROGRAM, ["--windows-service", "--v=2"]).exit_code


def within(node: SimulatedNode, there: Callable[[], bool]) -> bool:
    """Whether it is so within some seconds."""
    until = node.clock.now() + ENDS_S
    while not there() and node.clock.now() < until:
        node.clock.advance(0.5)
    return there()


def test_the_kubelet_as_a_service_by_itself(tmp_path: Path, judged: Callable[..., None]) -> None:
    """Of a service that has ended Wine's manager goes on to say STOP_PENDING: its process is the witness."""
    version = next(iter(nssm.BUILDS))
    require("kubelet", crash_loop.KUBERNETES)
    if not nssm.BUILDS[version].at_hand() or (not witness.program().exists() and cannot_build() is not None):
        pytest.skip("lane windows: nssm.exe and witness.exe are needed")
    with crash_loop.on_wine(tmp_path / "prefix", version) as node:
        on_wine = by_itself(node)
    simulated = LabNode("win1")
    simulated.drive.mkdir(r"C:\k")
    simulated.drive.write(PROGRAM, build("kubelet", crash_loop.KUBERNETES))
    assert on_wine == by_itself(simulated) == (True, 0, True, 1)
    judged("kubelet", crash_loop.KUBERNETES, "--windows-service", "RUNNING, ends after a stop; exit code at a console")
