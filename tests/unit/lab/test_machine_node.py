"""The machine as a whole: its image, sessions, tasks, power, its dump."""

from __future__ import annotations

import json

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.clock import Clock
from tests.lab.machine.commandline import go_escape, join, split
from tests.lab.machine.errors import PowerLost, SessionKilled
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.processes import Body
from tests.lab.machine.release import RELEASES
from tests.lab.machine.tasks import Task
from tests.lab.twin.node import LabNode


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


def test_two_dumps_of_an_untouched_machine_are_equal(node: SimulatedNode) -> None:
    before = json.dumps(node.dump())
    session = node.open_session()
    node.clock.advance(600)
    assert json.dumps(node.dump()) == before
    node.drive.write("C:\\x", b"")
    assert json.dumps(node.dump()) != before
    node.close_session(session)


def test_a_machine_follows_from_name_and_seed() -> None:
    assert LabNode("a", seed=1).dump() == LabNode("a", seed=1).dump()
    assert LabNode("a", seed=1).dump() != LabNode("a", seed=2).dump()


@pytest.mark.parametrize(("name", "build_number"), [("2019", 17763), ("2022", 20348), ("2025", 26100)])
def test_releases(name: str, build_number: int) -> None:
    assert RELEASES[name].build == build_number


def test_without_the_containers_feature_its_services_are_absent_until_a_reboot() -> None:
    node = LabNode("bare", containers=False)
    assert not node.services.exists("hns") and not node.services.exists("vmcompute")
    dism = "C:\\Windows\\System32\\dism.exe"
    arguments = ["/online", "/enable-feature", "/featurename:Containers", "/all", "/norestart", "/English"]
    assert node.run(dism, arguments).exit_code == 3010
    assert not node.services.exists("hns")
    node.restart()
    assert node.services.exists("hns") and node.services.exists("vmcompute")
    assert node.run(dism, arguments).exit_code == 0


def test_a_session_takes_its_processes_with_it_but_not_services(node: SimulatedNode) -> None:
    node.drive.write("C:\\w.exe", build("worker", "1"))
    session = node.open_session()
    process, _ = node.start_program("C:\\w.exe", [], parent=session.pid)
    child, _ = node.start_program("C:\\w.exe", [], parent=process.pid)
    node.close_session(session)
    assert not process.alive and not child.alive
    assert node.services.state("EventLog") == "running"


def test_whoever_waits_hears_that_the_session_or_the_power_is_gone(node: SimulatedNode) -> None:
    node.drive.write("C:\\w.exe", build("worker", "1"))
    session = node.open_session()
    node.clock.call_later(1, lambda: node.close_session(session))
    with pytest.raises(SessionKilled):
        node.run("C:\\w.exe", [], session=session)
    other = node.open_session()
    node.clock.call_later(1, lambda: node.power_off(boot_after_s=5))
    with pytest.raises(PowerLost):
        node.run("C:\\w.exe", [], session=other)
    with pytest.raises(PowerLost):
        node.open_session()
    node.clock.advance(6)
    assert node.powered and node.open_session().pid


def test_a_boot_has_a_new_id_and_starts_the_services(node: SimulatedNode) -> None:
    before = node.boot_id
    node.power_off()
    assert node.processes.all() == [] and node.pipes.names() == []
    node.boot()
    assert node.boot_id != before
    node.clock.advance(10)
    assert node.services.state("sshd") == "running" and node.services.state("WinRM") == "stopped"
    node.clock.advance(120)
    assert node.services.state("WinRM") == "running"


def test_a_task_repeats_while_enabled_and_never_twice_at_a_time(node: SimulatedNode) -> None:
    node.drive.write("C:\\w.exe", build("worker", "1"))
    node.tasks.register(Task("\\t", "C:\\w.exe", ["--run", "90"], repeat_s=60))
    started: list[int] = []
    for _ in range(300):
        node.clock.advance(1)
        started += [p.pid for p in node.processes.named(["w.exe"]) if p.pid not in started]
        assert len(node.processes.named(["w.exe"])) <= 1
    assert len(started) == 3
    node.tasks.enable("\\t", False)
    node.clock.advance(300)
    assert node.processes.named(["w.exe"]) == []


def test_the_machine_environment_reaches_processes_after_a_boot_only(node: SimulatedNode) -> None:
    node.drive.write("C:\\w.exe", build("worker", "1"))
    key = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
    node.registry.set(key, "NEW", "string", "here")
    assert node.run("C:\\w.exe", ["--run", "0", "--env", "NEW"]).stdout == b""
    node.restart()
    assert node.run("C:\\w.exe", ["--run", "0", "--env", "NEW"]).stdout == b"here"


def test_a_killed_process_runs_no_finally(node: SimulatedNode) -> None:
    said: list[str] = []

    def body() -> Body:
        try:
            yield 100.0
        finally:
            said.append("finally")
        return 0

    process = node.processes.spawn("C:\\x.exe", body())
    node.clock.advance(1)
    node.processes.kill(process.pid)
    node.clock.advance(200)
    assert said == []


def test_the_clock_runs_events_in_order() -> None:
    clock = Clock()
    seen: list[tuple[str, float]] = []

    def later() -> None:
        clock.call_later(0.5, lambda: seen.append(("a", clock.now())))

    clock.call_later(2, lambda: seen.append(("b", clock.now())))
    clock.call_later(1, later)
    clock.call_later(3, lambda: seen.append(("c", clock.now()))).cancel()
    clock.advance(10)
    assert seen == [("a", 1.5), ("b", 2.0)] and clock.now() == 10


@pytest.mark.parametrize(
    "arguments",
    [["a b", "c"], ["", "x"], ['say "hi"', "C:\\dir\\"], ["C:\\a b\\", 'x\\\\"y'], ["--flag=", "tab\there"]],
)
def test_a_quoted_command_line_splits_into_the_same_arguments(arguments: list[str]) -> None:
    assert split(join(["C:\\p.exe", *arguments])) == ["C:\\p.exe", *arguments]
    assert split(" ".join(["C:\\p.exe", *map(go_escape, arguments)])) == ["C:\\p.exe", *arguments]
