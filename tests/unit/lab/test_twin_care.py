"""What node_apply refuses before anything is done, a task that was disabled, and what a probe may not believe."""

from __future__ import annotations

import json

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.twin.apply import limited
from tests.lab.twin.node import LabNode
from tests.lab.twin.submit import STATE_DIR, apply, envelope, op, probe, wait
from tests.lab.twin.task import PATH as TASK

WORKER = "C:\\w.exe"
DIR = op("mkdir", path="C:\\k", undo=[op("remove", path="C:\\k", only_if_empty=True)])


@pytest.fixture
def node() -> SimulatedNode:
    node = LabNode("win1")
    node.drive.write(WORKER, build("worker", "1"))
    return node


@pytest.fixture
def session(node: SimulatedNode) -> Session:
    return node.open_session()


@pytest.mark.parametrize(
    ("batch", "sentence"),
    [
        (envelope([DIR, op("format")]), "There is no op 'format'"),
        (envelope([op("mkdir", path="C:\\k", undo=[op("unmake")])]), "There is no op 'unmake'"),
        (envelope([DIR, wait("luck", 1)]), "nothing called 'luck' to wait for"),
        (envelope([DIR], gate=[wait("luck", 1)]), "nothing called 'luck' to wait for"),
    ],
)
def test_what_there_is_not_is_refused_before_anything_is_done(
    node: SimulatedNode, session: Session, batch: dict[str, object], sentence: str
) -> None:
    before = node.dump()
    result = apply(node, session, batch)
    assert result["answer"] == "refused" and sentence in result["reason"]
    assert node.dump() == before


def test_a_batch_that_does_not_fit_on_the_disk_with_its_journal_is_refused(
    node: SimulatedNode, session: Session
) -> None:
    batch = envelope([DIR])
    node.faults.disk_full_after = needed = len(json.dumps(batch["batch"])) + 1024 * 1024
    node.faults.disk_full_after = needed - 1
    before = node.dump()
    result = apply(node, session, batch)
    assert result["answer"] == "refused" and "outcome" not in result
    assert f"{needed - 1} bytes" in result["reason"] and STATE_DIR in result["reason"]
    assert node.dump() == before
    node.faults.disk_full_after = needed
    assert apply(node, session, batch)["outcome"] == "done"


def test_an_open_batch_whose_task_is_disabled_is_set_going(node: SimulatedNode, session: Session) -> None:
    slow = op("run", program=WORKER, args=["--run", "30"], timeout_s=60)
    first = apply(node, session, envelope([DIR, slow], follow_s=2))
    assert first["outcome"] == "running"
    task = node.tasks.get(TASK)
    assert task is not None and task.process is not None
    node.processes.kill(task.process.pid)
    node.tasks.enable(TASK, False)
    other = apply(node, session, envelope([DIR]))
    assert other["answer"] == "busy" and other["busy"]["id"] == first["batch"]
    node.clock.advance(5)
    end = apply(node, session, envelope(kind="follow", batch_id=first["batch"], runner_text=None))
    assert end["outcome"] == "undone" and not node.drive.exists("C:\\k")


def test_what_all_programs_print_stays_within_half_a_megabyte() -> None:
    items: list[dict[str, object]] = [{"n": n, "stdout": str(n) * 60_000, "stderr": ""} for n in range(10)]
    sizes = [len(str(item["stdout"])) for item in limited(items)]
    assert sizes[2:] == [60_000] * 8 and sizes[0] == sizes[1] == 1000 + len("... 59000 characters left out ...\n")
    assert str(items[0]["stdout"]).startswith("... 59000 characters left out ...\n0")
    assert limited([{"n": 0, "stdout": "x" * 1000}, {"n": 1, "stdout": "y" * 600_000}])[0]["stdout"] == "x" * 1000


def test_a_fresh_hash_does_not_come_from_the_cache(node: SimulatedNode, session: Session) -> None:
    apply(node, session, envelope([DIR]))
    query = {"op": "file", "path": WORKER, "sha256": True}
    true_hash = probe(node, session, query)["0"]["sha256"]
    path = f"{STATE_DIR}\\hashes.json"
    cache = json.loads(node.drive.read(path))
    cache[WORKER.lower()]["sha256"] = "0" * 64
    node.drive.write(path, json.dumps(cache).encode())
    assert probe(node, session, query)["0"]["sha256"] == "0" * 64
    assert probe(node, session, {**query, "fresh": True})["0"]["sha256"] == true_hash
    assert probe(node, session, query)["0"]["sha256"] == true_hash


def test_a_hash_of_what_has_just_been_written_is_not_noted(node: SimulatedNode, session: Session) -> None:
    written = op("write", path="C:\\f", content="eA==")
    query = {"op": "file", "key": "f", "path": "C:\\f", "sha256": True}
    result = apply(node, session, {**envelope([written]), "state": [query]})
    assert result["state"]["f"]["sha256"]
    path = f"{STATE_DIR}\\hashes.json"
    assert not node.drive.exists(path)
    node.clock.advance(2)
    probe(node, session, query)
    assert list(json.loads(node.drive.read(path))) == ["c:\\f"]


def test_a_process_whose_file_was_renamed_is_found_under_neither_name(node: SimulatedNode, session: Session) -> None:
    process, _ = node.start_program(WORKER, ["--run", "100"])
    query = {"op": "file", "path": WORKER, "holders": True}
    assert probe(node, session, query)["0"]["holders"] == [process.pid]
    node.drive.rename(WORKER, "C:\\w.old.exe")
    node.drive.write(WORKER, build("worker", "2"))
    parts = probe(node, session, query, {**query, "path": "C:\\w.old.exe"})
    assert parts["0"]["holders"] == parts["1"]["holders"] == []
