"""node_apply's protocol: its answers, outcomes, locks, secrets, deadline; node_probe's answers."""

from __future__ import annotations

import base64
import json

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.errors import SessionKilled
from tests.lab.machine.faults import Fault
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Session
from tests.lab.twin.modules import run_module
from tests.lab.twin.node import LabNode
from tests.lab.twin.submit import RUNNER, STATE_DIR, apply, content, envelope, op, probe, wait

WORKER = "C:\\w.exe"
DIR = op("mkdir", path="C:\\k", undo=[op("remove", path="C:\\k", only_if_empty=True)])
FAILS = op("run", program="C:\\Windows\\System32\\sc.exe", args=["start", "nobody"])
FAILING_UNDO = op("run", program="C:\\Windows\\System32\\sc.exe", args=["stop", "nobody"])


@pytest.fixture
def node() -> SimulatedNode:
    node = LabNode("win1")
    node.drive.write(WORKER, build("worker", "1"))
    return node


@pytest.fixture
def session(node: SimulatedNode) -> Session:
    return node.open_session()


def slow(seconds: int) -> dict[str, object]:
    return op("run", program=WORKER, args=["--run", str(seconds)], timeout_s=seconds + 5)


@pytest.mark.parametrize("mode", ["task", "inline"])
def test_a_batch_is_done(node: SimulatedNode, session: Session, mode: str) -> None:
    state = [{"key": "k", "op": "file", "path": "C:\\k"}]
    result = apply(node, session, envelope([DIR], mode=mode, state=state))
    assert (result["answer"], result["outcome"], result["changed"]) == ("accepted", "done", True)
    assert result["state"]["k"]["kind"] == "directory"
    assert [(item["n"], item["op"], item["ok"]) for item in result["results"]] == [(0, "mkdir", True)]
    assert node.drive.listdir(STATE_DIR) == [
        "batches",
        "changes.json",
        "receipts",
        "runner.lock",
        "runner.ps1",
        "staging",
    ]
    assert node.drive.sddl(STATE_DIR) == "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    assert node.drive.listdir(f"{STATE_DIR}\\batches\\{result['batch']}") == ["journal.jsonl"]
    task = node.tasks.get("\\winkube\\runner")
    assert (task is None) if mode == "inline" else (task is not None and not task.enabled)
    assert node.counters.batches == 1 and node.counters.write_ops == 1


@pytest.mark.parametrize("locked", ["changes.json", "changes.json.winkube-old"])
def test_what_cannot_be_noted_of_a_change_spoils_no_batch(node: SimulatedNode, session: Session, locked: str) -> None:
    """Someone holds the note, or what a loss of power has left of it."""
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"
    held = f"{STATE_DIR}\\{locked}"
    if not held.endswith("json"):
        node.drive.rename(f"{STATE_DIR}\\changes.json", held)
    node.faults.lock(held, node.clock.now() + 3600)
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"


def test_the_journal_has_a_line_per_step(node: SimulatedNode, session: Session) -> None:
    gate = [wait("service", 5, name="EventLog", state="running")]
    result = apply(node, session, envelope([DIR, slow(1)], gate=gate))
    path = f"{STATE_DIR}\\batches\\{result['batch']}\\journal.jsonl"
    lines = [json.loads(line) for line in node.drive.read(path).splitlines()]
    assert [(line["e"], line.get("n")) for line in lines] == [
        ("intent", 0),
        ("done", 0),
        ("intent", 1),
        ("done", 1),
        ("gate", 0),
        ("outcome", None),
    ]
    assert all(line["at"].endswith("Z") for line in lines)


@pytest.mark.parametrize("mode", ["task", "inline"])
def test_a_failing_op_undoes_what_was_done(node: SimulatedNode, session: Session, mode: str) -> None:
    result = apply(node, session, envelope([DIR, FAILS], mode=mode))
    assert (result["outcome"], result["changed"]) == ("undone", False)
    assert result["error"]["n"] == 1 and result["error"]["op"] == "run"
    assert "ended with exit code 1060" in result["error"]["message"]
    assert [item["ok"] for item in result["results"]] == [True, False]
    assert result["results"][1]["exit_code"] == 1060
    assert not node.drive.exists("C:\\k")


def test_a_failing_gate_undoes_everything(node: SimulatedNode, session: Session) -> None:
    gate = [wait("pipe", 5, name="never")]
    result = apply(node, session, envelope([DIR], gate=gate))
    assert result["outcome"] == "undone" and result["error"]["data"]["phase"] == "gate"
    assert not node.drive.exists("C:\\k")


def test_a_failed_undo_blocks_until_it_is_acknowledged(node: SimulatedNode, session: Session) -> None:
    bad = op("mkdir", path="C:\\k2", undo=[FAILING_UNDO])
    result = apply(node, session, envelope([DIR, bad, FAILS]))
    assert result["outcome"] == "undo_failed"
    assert [item["n"] for item in result["error"]["undo"]] == [1]
    assert not node.drive.exists("C:\\k")
    blocked = apply(node, session, envelope([DIR]))
    assert blocked["answer"] == "blocked" and blocked["blocked"]["id"] == result["batch"]
    assert "1060" in blocked["blocked"]["error"]["message"]
    other = apply(node, session, envelope(kind="acknowledge", batch_id="0" * 32))
    assert other["outcome"] == "unknown"
    known = apply(node, session, envelope(kind="acknowledge", batch_id=result["batch"]))
    assert known["outcome"] == "done"
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"


def test_preconditions_that_differ_are_stale_and_nothing_is_done(node: SimulatedNode, session: Session) -> None:
    node.drive.write("C:\\c", b"x")
    query = {"op": "file", "path": "C:\\c", "sha256": True}
    fits = probe(node, session, query)["0"]["sha256"]
    pre = [{"key": "c", "query": query, "expect": {"exists": True, "sha256": fits}}]
    assert apply(node, session, envelope([DIR], pre=pre))["outcome"] == "done"
    node.drive.write("C:\\c", b"y")
    result = apply(node, session, envelope([op("mkdir", path="C:\\other")], pre=pre))
    assert result["answer"] == "stale" and "outcome" not in result
    assert result["stale"][0]["key"] == "c" and result["stale"][0]["expect"]["sha256"] == fits
    assert result["stale"][0]["found"]["sha256"] != fits
    assert not node.drive.exists("C:\\other") and node.counters.batches == 1


def test_preconditions_compare_strings_without_case(node: SimulatedNode, session: Session) -> None:
    expect = {"state": "RUNNING", "display_name": "windows event log", "depends_on": []}
    pre = [{"key": "s", "query": {"op": "service", "name": "eventlog"}, "expect": expect}]
    assert apply(node, session, envelope([DIR], pre=pre))["outcome"] == "done"


def test_a_second_controller_is_told_who_works(node: SimulatedNode, session: Session) -> None:
    first = envelope([slow(30)], follow_s=1, controller="deploy@ci-7 (pid 4711)")
    assert apply(node, session, first)["outcome"] == "running"
    busy = apply(node, node.open_session(), envelope([DIR]))
    assert busy["answer"] == "busy"
    assert busy["busy"]["id"] == first["id"] and busy["busy"]["controller"] == "deploy@ci-7 (pid 4711)"
    assert busy["busy"]["since"].startswith("2026-")
    followed = apply(node, session, envelope(kind="follow", batch_id=first["id"]))
    assert followed["outcome"] == "done"
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"


def test_an_id_is_done_once_however_often_it_is_sent(node: SimulatedNode, session: Session) -> None:
    document = envelope([DIR])
    assert apply(node, session, document)["outcome"] == "done"
    node.drive.delete("C:\\k")
    again = apply(node, session, document)
    assert again["outcome"] == "done" and not node.drive.exists("C:\\k")


def test_a_batch_that_arrives_twice_at_once_is_done_once(
    node: SimulatedNode, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that was taken for lost is made again, and overtakes the first one before that has the lock."""
    document = envelope(
        [DIR], pre=[{"key": "k", "query": {"op": "file", "path": "C:\\k"}, "expect": {"exists": False}}]
    )
    passed = node.moment
    overtaking: list[object] = []

    def moment(phase: str, step: int, *rest: str) -> None:
        if (phase, step) == ("submit", 0) and not overtaking:
            overtaking.append(True)
            overtaking.append(apply(node, node.open_session(), document)["outcome"])
        passed(phase, step, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(node, "moment", moment)
    assert apply(node, session, document)["outcome"] == "done"
    assert overtaking == [True, "done"] and node.counters.batches == 1
    assert apply(node, session, envelope(kind="follow", batch_id="f" * 32))["outcome"] == "unknown"


def test_a_lost_session_is_followed_from_another(node: SimulatedNode, session: Session) -> None:
    document = envelope([DIR, slow(10)])
    node.faults.arm(Fault("session", 1, "in"))
    with pytest.raises(SessionKilled):
        apply(node, session, document)
    assert session.killed
    assert apply(node, node.open_session(), {**document, "kind": "follow"})["outcome"] == "done"


def test_the_deadline_undoes_a_batch_that_still_works(node: SimulatedNode, session: Session) -> None:
    result = apply(node, session, envelope([DIR, slow(500)], deadline_s=60))
    assert result["outcome"] == "undone" and not node.drive.exists("C:\\k")
    assert node.processes.named(["w.exe"]) == []


def test_a_hung_second_instance_is_never_started(node: SimulatedNode, session: Session) -> None:
    document = envelope([slow(200)], follow_s=1)
    apply(node, session, document)
    runners = [p.pid for p in node.processes.named(["powershell.exe"])]
    node.clock.advance(150)
    assert [p.pid for p in node.processes.named(["powershell.exe"])] == runners


def test_secrets_appear_nowhere(node: SimulatedNode, session: Session) -> None:
    ops = [
        op("write", path="C:\\secret", content=content("hunter2"), secrets=["content"]),
        op(
            "run",
            program=WORKER,
            args=["--run", "0", "--print", "it is hunter3", "--stderr", "hunter3", "--env", "T"],
            env={"T": "hunter3"},
            secrets=["env"],
        ),
        op(
            "run",
            program=WORKER,
            args=["--run", "0", "--exit", "1", "--stderr", "no hunter4"],
            stdin="hunter4",
            secrets=["stdin"],
        ),
    ]
    result = apply(node, session, envelope(ops))
    assert result["outcome"] == "undone"
    assert result["results"][1]["stdout"] == "it is " + 2 * "********"
    assert "no ********" in result["error"]["message"]
    folder = f"{STATE_DIR}\\batches\\{result['batch']}"
    kept = json.dumps(result).encode() + node.drive.read(f"{folder}\\journal.jsonl")
    for secret in (b"hunter2", b"hunter3", b"hunter4", base64.b64encode(b"hunter2")):
        assert secret not in kept
    assert node.drive.listdir(folder) == ["journal.jsonl"]


def test_refusals(node: SimulatedNode) -> None:
    plain = node.open_session("bob", elevated=False)
    assert "not elevated" in apply(node, plain, envelope([DIR]))["reason"]
    session = node.open_session()
    assert "check mode" in apply(node, session, envelope([DIR]), check_mode=True)["reason"]
    assert "neither sent nor in" in apply(node, session, envelope([DIR], runner_text=None))["reason"]
    assert "There is no op 'format'" in apply(node, session, envelope([op("format")]))["reason"]
    assert not node.drive.exists(STATE_DIR) and node.counters.write_ops == 0
    node.drive.mkdir(STATE_DIR, "S-1-5-21-1-2-3-1001")
    assert "owned by S-1-5-21-1-2-3-1001" in apply(node, session, envelope([DIR]))["reason"]
    node.drive.delete(STATE_DIR)
    node.drive.link(STATE_DIR, "C:\\Windows")
    assert "a reparse point" in apply(node, session, envelope([DIR]))["reason"]


def test_a_runner_that_is_there_need_not_be_sent(node: SimulatedNode, session: Session) -> None:
    assert apply(node, session, envelope([DIR]))["outcome"] == "done"
    assert apply(node, session, envelope([DIR], runner_text=None))["outcome"] == "done"
    assert node.drive.read(f"{STATE_DIR}\\runner.ps1") == RUNNER.encode()


def test_what_is_no_envelope_fails_with_a_sentence(node: SimulatedNode, session: Session) -> None:
    result = run_module(node, session, "node_apply", {"batch": "%%%"})
    assert result["failed"] and "no base64 of gzip of JSON" in result["msg"]


def test_twenty_batches_are_kept(node: SimulatedNode, session: Session) -> None:
    ids = [apply(node, session, envelope([DIR], mode="inline"))["batch"] for _ in range(23)]
    assert set(node.drive.listdir(f"{STATE_DIR}\\batches")) == set(ids[-20:])


def test_a_probe_changes_nothing(node: SimulatedNode, session: Session) -> None:
    before = node.dump()
    queries: list[dict[str, object]] = [
        {"op": "system"},
        {"op": "services", "names": []},
        {"op": "service", "name": "none"},
        {"op": "volumes"},
        {"op": "file", "path": "C:\\w.exe", "sha256": True, "holders": True},
        {"op": "pipe", "name": "x"},
        {"op": "registry", "path": "HKLM\\SOFTWARE\\Microsoft"},
        {"op": "task", "path": "\\none"},
        {"op": "processes", "names": ["SERVICES.EXE"]},
        {"op": "http", "url": "http://127.0.0.1:1/"},
        {"op": "moon"},
        {"op": "file"},
    ]
    parts = probe(node, session, *queries)
    assert node.dump() == before
    assert parts["2"] == parts["7"] == parts["5"] == {"exists": False}
    assert parts["8"][0]["path"] == "C:\\Windows\\System32\\services.exe"
    assert parts["9"]["status"] == 0 and "refused" in parts["9"]["error"]
    assert "no query 'moon'" in parts["10"]["error"] and "needs 'path'" in parts["11"]["error"]
    assert node.counters.write_ops == 0 and node.counters.probes["file"] == 2


def test_hashes_are_cached_by_size_time_and_file(node: SimulatedNode, session: Session) -> None:
    apply(node, session, envelope([DIR]))
    query = {"op": "file", "path": "C:\\w.exe", "sha256": True}
    first = probe(node, session, query)["0"]["sha256"]
    cache = json.loads(node.drive.read(f"{STATE_DIR}\\hashes.json"))
    assert cache["c:\\w.exe"]["sha256"] == first
    node.clock.advance(1)
    node.drive.write("C:\\w.exe", build("worker", "2"))
    assert probe(node, session, query)["0"]["sha256"] != first


def test_services_lists_foreign_ones_asked_ones_and_their_dependants(node: SimulatedNode, session: Session) -> None:
    node.services.create("ours", WORKER)
    node.services.create("theirs", "%SystemRoot%\\System32\\svchost.exe", depends_on=["ours"])
    names = [item["name"] for item in probe(node, session, {"op": "services", "names": ["bfe"]})["0"]]
    assert names == ["BFE", "mpssvc", "ours", "theirs"]
