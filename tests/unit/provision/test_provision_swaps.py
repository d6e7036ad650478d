"""A provisioner's batches on a simulated node, without Ansible: back and forth, cut at every moment, rolled back."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, merge_queries, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link
from ansible_collections.winkube.node.plugins.plugin_utils.provision import provision, provision_report
from ansible_collections.winkube.node.plugins.plugin_utils.provision.options import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_items import parse_items
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_service import reads
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_source import Origin

from tests.lab.machine.builds import build
from tests.lab.machine.errors import PowerLost, SessionKilled
from tests.lab.machine.faults import CutKind, Fault, Moment, ServiceFault
from tests.lab.twin.modules import run_module
from tests.lab.twin.node import LabNode
from tests.unit.components.nodes import LAYOUT

pytestmark = pytest.mark.slow

EXE = r"C:\app\w.exe"
PREVIOUS = f"{EXE}.winkube-previous"
SC = r"C:\Windows\System32\sc.exe"
BUILDS = {version: build("worker", version) for version in ("1.0.0", "1.0.1", "1.0.2")}
SEED = int(os.environ.get("WINKUBE_SEED", "1"))
"""Moves which kind of cut is made at which moment; each moment has one."""
KINDS: tuple[CutKind, ...] = ("session", "runner", "power")
DELAYED_SERVICES_S = 130


class Bench:
    """A node with a service `w`, one `d` that depends on it, perhaps an `e` that depends on that, and builds on its own
    disk."""

    def __init__(self, chain: bool = False) -> None:
        node = LabNode("win1")
        self.node = node
        for folder in (r"C:\app", r"C:\builds"):
            node.drive.mkdir(folder)
        node.drive.write(EXE, BUILDS["1.0.0"])
        node.drive.write(r"C:\app\d.exe", build("worker", "9"))
        for version, data in BUILDS.items():
            node.drive.write(rf"C:\builds\{version}.exe", data)
        node.services.create("w", f"{EXE} --run 10000000", start=2)
        node.services.create("d", r"C:\app\d.exe --run 10000000", start=2, depends_on=["w"])
        self.names = ("w", "d", "e") if chain else ("w", "d")
        if chain:
            node.services.create("e", r"C:\app\d.exe --run 10000000", start=2, depends_on=["d"])
        assert node.run(SC, ["start", self.names[-1]]).exit_code == 0
        self.link = Link(
            execute=lambda module, args: run_module(node, node.open_session(), module, args),
            reset=lambda: None,
            state_dir=LAYOUT.state_dir,
            clock=Clock(node.clock.now, lambda seconds: node.clock.advance(seconds)),
        )
        self.task: tuple[provision.Task, ...] = ()
        self.answer = Answer("refused")

    def put(self, version: str = "", *, deliver: bool = True, **more: Any) -> dict[str, Any]:
        """What an action does, for one item: build `version`, or the previous one; `answer` has the node's last."""
        options = {"name": "w", "destination": EXE, "overwrite": True, "state": None if version else "previous", **more}
        url = f"file:///C:/builds/{version}.exe"
        items = parse_items({"provisioners": [{**options, "sourceURL": url}]}, LAYOUT)
        origins = {"w": Origin(url, hashlib.sha256(BUILDS[version]).hexdigest())} if version else {}
        queries = merge_queries((*provision.reads(items, LAYOUT), *reads(LAYOUT), system_query()))
        reading = Reading().merge(self.link.probe(queries), queries)
        tasks = provision.make_tasks(items, origins, LAYOUT, reading)
        if any(task.is_staged for task in tasks):
            stage = provision.stage(tasks, {}, LAYOUT, reading, proxy="", timeout_s=60)
            answer = self.send(stage)
            assert answer.is_done, answer
            reading = reading.merge(answer.state, stage.state)
            tasks = provision.judge(tasks, stage, answer, reading)
        plan = make_plan(
            "provisioner",
            provision.build_resources(
                tasks, LAYOUT, reading, Timeouts(start_timeout=60, stop_timeout=60), uuid.uuid4().hex
            ),
            reading,
        )
        self.task = tasks
        if plan.batch is not None:
            self.node.faults.trace.clear()
            self.answer = self.send(plan.batch) if deliver else Answer("refused")
            reading = reading.merge(self.answer.state, plan.batch.state)
        (entry,) = provision_report.build_entries(
            tasks, check=False, times=provision_report.Times(), transfers={}, reading=reading
        )
        return entry

    def send(self, batch: Batch) -> Answer:
        return self.link.apply(batch, uuid.uuid4().hex)

    def states(self) -> set[str]:
        return {self.node.services.state(name) for name in self.names}

    def beside(self) -> list[str]:
        return sorted(name for name in self.node.drive.listdir(r"C:\app") if name.startswith("w.exe"))

    def picture(self) -> dict[str, Any]:
        """What has to be old or new as a whole."""
        drive = self.node.drive
        paths: Sequence[str] = (EXE, PREVIOUS, r"C:\ProgramData\winkube\receipts\provision-w.json")
        return {"files": [drive.read(path) if drive.is_file(path) else None for path in paths], "rest": self.beside()}


@pytest.mark.row("PV-15", "PV-14")
def test_twenty_swaps_leave_one_program_before_and_every_service_running() -> None:
    bench = Bench()
    for n in range(20):
        wanted = ("1.0.1", "1.0.0")[n % 2]
        entry = bench.put(wanted)
        assert entry["result"] == "replaced"
        assert bench.answer.outcome == "done", bench.answer
        assert bench.node.drive.read(EXE) == BUILDS[wanted]
        assert bench.states() == {"running"}
        assert bench.beside() == ["w.exe", "w.exe.winkube-previous"]
    assert bench.node.drive.listdir(r"C:\ProgramData\winkube\staging") == []
    before = bench.node.services.runtime("w").pid
    assert bench.put("1.0.0")["result"] == "unchanged"
    assert bench.node.services.runtime("w").pid == before
    assert bench.put()["result"] == "went_back"
    assert bench.node.drive.read(EXE) == BUILDS["1.0.1"]


def test_what_a_process_holds_stays_is_told_and_goes_later() -> None:
    bench = Bench()
    process, _result = bench.node.start_program(EXE, ["--run", "100000"], user="SYSTEM", elevated=True)
    bench.node.services.create("other", r"C:\app\d.exe --run 1", start=3)
    for version in ("1.0.1", "1.0.2"):  # a shim goes on from the renamed file
        bench.put(version, service_name="other")
    entry = bench.put("1.0.0", service_name="other")
    assert bench.answer.outcome == "done", bench.answer
    (left,) = entry["left_behind"]
    assert left.startswith(f"{EXE}.") and left.endswith(".winkube-old")
    assert "hold" in provision_report.describe_held(entry)
    bench.node.processes.kill_tree(process.pid)
    for name in ("d", "w"):
        assert bench.node.run(SC, ["stop", name]).exit_code == 0
        bench.node.clock.advance(5)
    assert bench.put("1.0.1", service_name="other")["left_behind"] == []
    assert bench.beside() == ["w.exe", "w.exe.winkube-previous"]


def test_a_container_lives_through_the_swap_and_the_one_after() -> None:
    bench = Bench()
    node = bench.node
    node.drive.write(r"C:\app\containerd-shim-runhcs-v1.exe", build("worker", "9"))
    parent = node.services.runtime("w").pid
    shim, _result = node.start_program(
        r"C:\app\containerd-shim-runhcs-v1.exe", ["--run", "100000"], parent=parent, user="SYSTEM", elevated=True
    )
    for version in ("1.0.1", "1.0.2"):
        entry = bench.put(version)
        assert (bench.answer.outcome, entry["left_behind"]) == ("done", []), bench.answer
        assert node.services.runtime("w").pid != parent
        assert shim.alive


@pytest.mark.row("PV-16", "PV-17")
@pytest.mark.parametrize("fault", ["crash_at_start", "crash_loop", "never_answers"])
def test_a_program_that_does_not_stay_up_is_taken_back_with_what_depends_on_it(fault: Any) -> None:
    bench = Bench()
    before = bench.picture()
    bench.node.faults.service("w", ServiceFault(fault, seconds=4.0, times=1))
    began = bench.node.clock.now()
    bench.put("1.0.1")
    assert bench.answer.outcome == "undone", bench.answer
    assert bench.node.clock.now() - began < 60 + 60 + 30, "the gate's time, and that of the way back"
    assert bench.picture() == before
    assert bench.states() == {"running"}


def moments() -> tuple[dict[str, Any], dict[str, Any], list[Moment]]:
    """The node before and after, and every moment of the swap's batch."""
    bench = Bench()
    bench.put("1.0.1")
    before = bench.picture()
    bench.put("1.0.2")
    assert bench.answer.outcome == "done", bench.answer
    found = [moment for moment in bench.node.faults.trace if moment.phase in {"ops", "gate"}]
    return before, bench.picture(), found


BEFORE, AFTER, MOMENTS = moments()


def op_of(moment: Moment) -> str:
    return "remove" if moment.phase == "ops" and moment.op == max(m.op for m in MOMENTS if m.phase == "ops") else ""


def label(moment: Moment) -> str:
    return f"{moment.phase}{moment.op}-{moment.when}" + (f"-{moment.label}" if moment.label else "")


def test_there_are_enough_moments_to_cut() -> None:
    assert len(MOMENTS) >= 30
    assert BEFORE != AFTER


def cut(bench: Bench, moment: Moment, kind: CutKind) -> Callable[[Batch], Answer]:
    """Put 1.0.2 in and cut that at this moment; what the bench sent with before."""
    original = bench.send

    def send(batch: Batch) -> Answer:
        if any(op.op == "move" for op in batch.ops):
            fault = Fault(kind, moment.op, moment.when, moment.phase, moment.label, boot_after_s=20.0)
            bench.node.faults.arm(fault)
        return original(batch)

    bench.send = send  # type: ignore[method-assign]
    with suppress(PowerLost, SessionKilled):
        bench.put("1.0.2")
    return original


@pytest.mark.exhaustive(but_one_in=3)
@pytest.mark.row("PV-16")
@pytest.mark.parametrize(
    ("moment", "kind"),
    [pytest.param(one, KINDS[(n + SEED) % 3], id=f"{label(one)}-{n}") for n, one in enumerate(MOMENTS)],
)
def test_a_cut_leaves_the_old_program_or_the_new_one_running(moment: Moment, kind: CutKind) -> None:
    bench = Bench()
    bench.put("1.0.1")
    node = bench.node
    original = cut(bench, moment, kind)
    assert all(fault.fired for fault in node.faults.armed)
    node.clock.advance(60 + DELAYED_SERVICES_S)
    found = bench.picture()
    known = [{**state, "rest": bench.beside()} for state in (BEFORE, AFTER)]
    if op_of(moment) == "remove":  # the last op; what it removed is gone, and the old program has none before it
        known.append({**known[0], "files": [known[0]["files"][0], None, *known[0]["files"][2:]]})
    assert found in known, label(moment)
    assert bench.states() == {"running"}
    bench.send = original  # type: ignore[assignment, method-assign]
    node.faults.clear()
    bench.put("1.0.2")
    assert node.drive.read(EXE) == BUILDS["1.0.2"]
    assert bench.states() == {"running"}


@pytest.mark.exhaustive(but_one_in=3)
@pytest.mark.row("PV-16", "PV-17")
@pytest.mark.parametrize("op", range(1, 19, 3))
@pytest.mark.parametrize("slow", ["w", "d", "wde"])
def test_a_chain_of_three_that_windows_starts_while_it_is_taken_back_is_whole_again(slow: str, op: int) -> None:
    bench = Bench(chain=True)
    bench.put("1.0.1")
    before = bench.picture()
    for name in slow:  # stopped, then on its way up: a service takes no order then, and others wait for it
        bench.node.faults.service(name, ServiceFault("slow_start", seconds=10.0 / len(slow)))
    cut(bench, Moment("ops", op, "after", None), "power")
    assert all(fault.fired for fault in bench.node.faults.armed)
    bench.node.clock.advance(60 + 3 * DELAYED_SERVICES_S)
    assert not bench.node.drive.is_file(r"C:\ProgramData\winkube\blocked.json"), bench.answer
    assert bench.picture() == before
    assert bench.states() == {"running"}
