"""Each field of each document of the state folder, one after the other with a value of another type: the next batch
runs, or the node blocks and names the batch that one command acknowledges; and nothing is left open."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.lab.twin.submit import STATE_DIR, apply, envelope, op

ID = "a" * 32
FOLDER = rf"{STATE_DIR}\batches\{ID}"
STRANGE: tuple[Any, ...] = ("x", "", 7, -1, 1.5, 1e300, True, None, [], ["x"], [[1]], {}, {"x": [1]})
UNDO = [{"op": "remove", "args": {"path": r"C:\d"}}]
OPENED = {"controller": "a", "since": "2999-01-01T00:00:00Z", "boot_id": "b", "uptime_s": 1.0, "mode": "inline"}
DOCUMENTS: dict[str, Any] = {
    "open": {**OPENED, "id": ID, "pid": 999, "started": "2026-11-21T09:00:00Z"},
    "batch": {
        "schema": 1,
        "component": "test",
        "was": "",
        "deadline_s": 60,
        "opened": OPENED,
        "ops": [{"n": 0, "op": "mkdir", "args": {"path": r"C:\d"}, "undo": UNDO, "secrets": ["content"]}],
        "gate": [{"op": "wait", "args": {"for": "file", "path": r"C:\d", "timeout_s": 1}}],
    },
    "journal": [
        {"at": "2026-11-21T09:00:00Z", "n": 0, "e": "intent", "op": "mkdir"},
        {
            "at": "2026-11-21T09:00:00Z",
            "n": 0,
            "e": "failed",
            "op": "mkdir",
            "message": "full",
            "data": {"exit_code": 1},
        },
        {"at": "2026-11-21T09:00:00Z", "n": 0, "e": "undo_intent"},
    ],
    "changes": {"schema": 1, "components": {"kubelet": {"at": "2026-11-21T09:00:00Z", "by": "a", "id": ID, "was": ""}}},
}


def places(found: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    for key, value in found.items() if isinstance(found, dict) else enumerate(found if isinstance(found, list) else ()):
        yield from places(value, (*at, key))


def changed(found: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    made = copy.copy(found)
    made[at[0]] = changed(found[at[0]], at[1:], value)
    return made


PLACES = [(name, at) for name, document in DOCUMENTS.items() for at in places(document)]
CASES = [
    (name, at, STRANGE[(number + more) % len(STRANGE)]) for number, (name, at) in enumerate(PLACES) for more in (0, 5)
]
"""Two values each: all of them at all places take a minute."""


def spoiled(name: str, at: tuple[Any, ...], value: Any) -> SimulatedNode:
    documents = {**DOCUMENTS, name: changed(DOCUMENTS[name], at, value)}
    node = LabNode("win1")
    assert apply(node, node.open_session(), envelope([]))["outcome"] == "done"
    node.drive.mkdir(FOLDER)
    node.drive.mkdir(r"C:\d")
    journal = documents["journal"]
    lines = journal if isinstance(journal, list) else [journal]
    node.drive.write(rf"{FOLDER}\journal.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines).encode())
    node.drive.write(rf"{FOLDER}\batch.json", json.dumps(documents["batch"]).encode())
    node.drive.write(rf"{STATE_DIR}\open.json", json.dumps(documents["open"]).encode())
    node.drive.write(rf"{STATE_DIR}\changes.json", json.dumps(documents["changes"]).encode())
    return node


@pytest.mark.parametrize(("name", "at", "value"), CASES, ids=str)
def test_the_next_batch_runs_or_one_command_heals(name: str, at: tuple[Any, ...], value: Any) -> None:
    node = spoiled(name, at, value)
    session = node.open_session()
    followed = apply(node, session, envelope(kind="follow", batch_id=ID, follow_s=1))
    assert followed["answer"] == "accepted"
    answer = apply(node, session, envelope([op("mkdir", path=r"C:\e")]))
    if answer["answer"] == "blocked":
        assert answer["blocked"]["error"]["message"]
        again = envelope(kind="acknowledge", batch_id=answer["blocked"]["id"])
        assert apply(node, session, again)["outcome"] == "done"
        answer = apply(node, session, envelope([op("mkdir", path=r"C:\e")]))
    assert (answer["answer"], answer.get("outcome")) == ("accepted", "done")
    assert not {"open.json", "blocked.json"} & set(node.drive.listdir(STATE_DIR))


@pytest.mark.parametrize("value", ["x", None, [0]], ids=str)
def test_what_may_have_begun_is_undone(value: Any) -> None:
    """An intent whose number cannot be read is one of every op."""
    node = spoiled("journal", (0, "n"), value)
    answer = apply(node, node.open_session(), envelope([]))
    assert (answer["outcome"], answer["recovered"]["outcome"]) == ("done", "undone")
    assert node.drive.kind(r"C:\d") is None
