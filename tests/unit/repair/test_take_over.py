"""Nodes made by scripts: their services are recognised, and programs outside a service are ended."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.repair import take_over

from tests.unit.components.nodes import LAYOUT, bare
from tests.unit.components.test_adopted import PLAIN, PREPARE_NODE, REGISTER_SVC, WITH_SC

from .repair_machine import PROGRAMS, Machine

KUBELET = LAYOUT.kubelet_binary


def process(pid: int, path: str = KUBELET, started: str = "2026-11-20T10:00:00Z") -> dict[str, Any]:
    return {"pid": pid, "name": path.rsplit("\\", 1)[-1], "path": path, "started": started}


def reading(*services: dict[str, Any], processes: tuple[dict[str, Any], ...] = ()) -> Reading:
    return bare(take_over.reads(LAYOUT), *services).merge({take_over.PROCESSES: list(processes)})


@pytest.mark.row("JR-09")
@pytest.mark.parametrize(
    ("service", "script"),
    [(REGISTER_SVC, "register-svc.ps1"), (PREPARE_NODE, "PrepareNode.ps1"), (WITH_SC, "image-builder")],
)
def test_whose_service_it_is(service: dict[str, Any], script: str) -> None:
    (found,) = take_over.services(LAYOUT, reading(service))
    assert (found.service, found.program, found.origin) == ("kubelet", "kubelet.exe", script)
    take_over.refuse_misnamed(LAYOUT, reading(service))


@pytest.mark.row("JR-09")
def test_a_service_as_the_roles_make_it_is_ours() -> None:
    ours = REGISTER_SVC | {"nssm": REGISTER_SVC["nssm"] | {"AppStderr": r"C:\k\kubelet.log"}}
    assert [each.origin for each in take_over.services(LAYOUT, reading(ours))] == ["ours"]


@pytest.mark.row("JR-09")
def test_a_service_of_another_name_that_runs_the_same_program_is_refused() -> None:
    other = PLAIN | {"name": "kube-node", "image_path": KUBELET, "nssm": None}
    with pytest.raises(Refused, match=r"kube-node runs kubelet\.exe, and winkube_node names kubelet for that"):
        take_over.refuse_misnamed(LAYOUT, reading(other))


@pytest.mark.row("JR-09")
def test_what_start_ps1_has_started_is_loose() -> None:
    started = (process(10), process(11, LAYOUT.kube_proxy_binary), process(12, r"C:\k\flanneld.exe"))
    assert [each.pid for each in take_over.find_loose(LAYOUT, reading(processes=started))] == [11, 10, 12]
    stopped = REGISTER_SVC | {"state": "stopped", "pid": 0}
    assert [each.pid for each in take_over.find_loose(LAYOUT, reading(stopped, processes=started[:1]))] == [10]


@pytest.mark.row("JR-09")
def test_what_a_service_has_started_is_not_loose() -> None:
    native = PLAIN | {"image_path": f"{KUBELET} --windows-service", "nssm": None, "pid": 10}
    assert take_over.find_loose(LAYOUT, reading(native, processes=(process(10),))) == ()
    assert [
        each.pid for each in take_over.find_loose(LAYOUT, reading(native, processes=(process(10), process(11))))
    ] == [11]
    nssm = REGISTER_SVC | {"pid": 5}
    runner = process(5, r"C:\k\nssm.exe", "2026-11-20T10:00:00Z")
    child, earlier = process(6, started="2026-11-20T10:00:01Z"), process(4, started="2026-11-20T09:00:00Z")
    assert take_over.find_loose(LAYOUT, reading(nssm, processes=(runner, child))) == ()
    assert [each.pid for each in take_over.find_loose(LAYOUT, reading(nssm, processes=(runner, child, earlier)))] == [4]


@pytest.mark.row("JR-09")
def test_two_of_which_one_is_a_wrappers_are_refused() -> None:
    nssm = REGISTER_SVC | {"pid": 5}
    runner = process(5, r"C:\k\nssm.exe", "2026-11-20T10:00:00Z")
    two = (process(6, started="2026-11-20T10:00:01Z"), process(7, started="2026-11-20T11:00:00Z"))
    with pytest.raises(Refused, match=r"kubelet\.exe runs 2 times \(pids 6, 7\), and kubelet has started one of them"):
        take_over.find_loose(LAYOUT, reading(nssm, processes=(runner, *two)))


@pytest.mark.row("JR-09")
def test_a_loose_program_ends_with_what_it_has_started_if_it_still_is_that_program() -> None:
    found = reading(processes=(process(10),))
    made = take_over.batch(LAYOUT, take_over.find_loose(LAYOUT, found), found)
    assert made is not None
    kill, wait = made.ops
    assert kill.args["program"] == r"C:\Windows\System32\taskkill.exe"
    assert kill.args["args"] == ["/T", "/F", "/PID", "10", "/FI", "IMAGENAME eq kubelet.exe"]
    assert kill.args["ok_exit"] == [0, 128], "128: it has ended by itself"
    assert (wait.args["for"], wait.args["path"]) == ("process_gone", KUBELET)


@pytest.mark.row("JR-09")
def test_on_a_node_the_loose_one_ends_and_the_services_own_stays() -> None:
    made = Machine(services=("containerd", "kubelet"))
    made.write(LAYOUT.flanneld_binary, made.node.drive.read(KUBELET))
    own = made.node.services.runtime("kubelet").pid
    # At the machine itself: what a session has started ends with the session.
    by_hand, _said = made.node.start_program(KUBELET, ["--run", "1000000"])
    other, _said = made.node.start_program(PROGRAMS["flanneld"], ["--run", "1000000"])
    made.node.clock.advance(5)

    found = made.read(take_over.reads(LAYOUT))
    going = take_over.find_loose(LAYOUT, found)
    assert {each.pid for each in going} == {by_hand.pid, other.pid}
    batch = take_over.batch(LAYOUT, going, found)
    assert batch is not None
    answer = made.send(batch)
    assert answer.outcome == "done", answer
    assert not by_hand.alive
    assert not other.alive
    assert made.node.services.runtime("kubelet").pid == own
    again = made.read(take_over.reads(LAYOUT))
    assert take_over.batch(LAYOUT, take_over.find_loose(LAYOUT, again), again) is None
