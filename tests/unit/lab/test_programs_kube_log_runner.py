"""kube-log-runner.exe: its flags by release, its file, and a kubelet that is a service behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab.machine.builds import build
from tests.lab.programs import kube_log_runner
from tests.lab.twin.node import LabNode
from tests.unit.lab import kube_machine
from tests.unit.lab.kube_machine import CONFIG, KUBECONFIG, SC, K, Kube
from tests.windows import log_runner

pytestmark = pytest.mark.slow

LOG = "C:\\k\\kubelet.log"
RUNNER = f"{K}\\kube-log-runner.exe"
KUBELET = f"{K}\\kubelet.exe --windows-service --config={CONFIG} --kubeconfig={KUBECONFIG} --hostname-override=win1"
ROTATING = "-log-file-size=1Ki -log-file-age=168h"
Make = Callable[..., Kube]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Kube] = []

    def one(runner: str = "1.37.1", version: str = "1.30.4") -> Kube:
        kube = kube_machine.make(tmp_path / str(len(made)), version)
        made.append(kube)
        kube.write(RUNNER, build("kube-log-runner", runner))
        kube.write(KUBECONFIG, kube.cluster.kubeconfig_for("system:node:win1", "system:nodes"))
        return kube

    yield one
    for kube in made:
        kube.cluster.stop()


def service(kube: Kube, line: str) -> None:
    kube.node.run(SC, ["create", "kubelet", "binPath=", line])
    kube.node.run(SC, ["start", "kubelet"])


def text(kube: Kube, path: str) -> str:
    return kube.node.drive.read(path).decode()


def test_a_kubelet_under_sc_leaves_no_word_without_it(make: Make) -> None:
    kube = make()
    service(kube, KUBELET)
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    assert [name for name in kube.node.drive.listdir(K) if "log" in name and not name.endswith(".exe")] == []


def test_it_keeps_what_a_service_prints_and_the_program_answers_for_the_service(make: Make) -> None:
    kube = make()
    service(kube, f"{RUNNER} -log-file={LOG} {KUBELET}")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    assert "Started kubelet" in text(kube, LOG)
    runtime = kube.node.services.runtime("kubelet")
    assert runtime.process is not None
    assert runtime.process.name == "kubelet.exe", "the SCM takes the process that connects"
    kube.node.run(SC, ["stop", "kubelet"])
    kube.wait(5)
    assert kube.node.services.state("kubelet") == "stopped"
    names = {process.name for process in kube.node.processes.all()}
    assert not names & {"kubelet.exe", "kube-log-runner.exe"}


def test_a_kubelet_that_fails_ends_both_and_says_why(make: Make) -> None:
    kube = make()
    service(kube, f"{RUNNER} -log-file={LOG} {KUBELET} --cgroups-per-qos=true")
    kube.wait(20)
    assert kube.node.services.state("kubelet") == "stopped"
    assert "CgroupsPerQOS (--cgroups-per-qos) true is not supported" in text(kube, LOG)


def test_from_1_34_on_it_rotates_and_takes_away_what_is_too_old(make: Make) -> None:
    kube = make()
    old = f"{K}\\kubelet-20200101-000000.log"
    kube.write(old, b"old")
    kube.write(f"{K}\\kubelet-notes.log", b"mine")
    kube.write(LOG, b"x" * 1000)
    service(kube, f"{RUNNER} -log-file={LOG} {ROTATING} {KUBELET}")
    kube.wait_for(lambda: "win1" in kube.cluster.nodes)
    kept = sorted(name for name in kube.node.drive.listdir(K) if name.startswith("kubelet") and name.endswith(".log"))
    assert len(kept) >= 3, kept
    assert "kubelet-notes.log" in kept
    assert "kubelet-20200101-000000.log" not in kept


def test_two_rotations_in_a_second_leave_the_later_one(make: Make) -> None:
    """The lab went on in the full file. Of kube-log-runner.exe: tests/windows/test_log_runner.py."""
    kube = make()
    file = kube_log_runner._File(kube.node, {"log-file": LOG, "log-file-size": "10"})
    before = {name for name in kube.node.drive.listdir(K) if name.startswith("kubelet-")}
    for letter in "ab":
        file.line(letter * 20)
    (name,) = {name for name in kube.node.drive.listdir(K) if name.startswith("kubelet-")} - before
    assert kube.node.drive.read(f"{K}\\{name}") == b"b" * 20 + b"\n"
    assert kube.node.drive.read(LOG) == b""


def test_before_1_34_it_knows_no_rotation(make: Make) -> None:
    kube = make("1.33.0")
    found = kube.run("kube-log-runner", "-log-file-size=1Ki", "x")
    assert (found.exit_code, found.stderr) == (2, b"flag provided but not defined: -log-file-size\n")
    service(kube, f"{RUNNER} -log-file={LOG} {ROTATING} {KUBELET}")
    assert kube.node.services.state("kubelet") == "stopped"


@pytest.mark.parametrize("case", log_runner.CASES, ids=lambda case: " ".join(case.line) or "nothing")
def test_it_does_what_kube_log_runner_exe_did_on_wine(case: log_runner.Case) -> None:
    """It raised for a program that is not there, kept stderr with -redirect-stderr=false, and printed nothing."""
    node = LabNode("win1")
    for folder in (log_runner.FOLDER, node.drive.parent(log_runner.RUNNER)):
        node.drive.mkdir(folder)
    node.drive.write(log_runner.RUNNER, build("kube-log-runner", log_runner.VERSION))
    # The lab's kubeadm has other words for a flag that it does not know.
    node.drive.write(log_runner.PROGRAM, build("kubelet", log_runner.VERSION))
    done = node.run(log_runner.RUNNER, list(case.line))
    kept = node.drive.read(log_runner.LOG) if node.drive.is_file(log_runner.LOG) else b""
    assert (done.exit_code, kept.count(log_runner.WORDS)) == (case.exit, case.in_log)
    assert done.stdout.count(log_runner.WORDS) == case.in_output
    assert case.said in done.stderr.decode()
