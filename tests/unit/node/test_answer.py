"""A node's answers at the gate."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.gate import Unexpected
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import (
    Query,
    file_query,
    services_query,
    system_query,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node import verdict
from ansible_collections.winkube.node.plugins.plugin_utils.node.answer import PARTS, check_answer, check_parts
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NodeError

from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.modules import run_module
from tests.lab.twin.probe import ANSWERS
from tests.unit.node.test_link import BATCH, DONE, ID, SYSTEM, Node

OS: Any = SYSTEM["os"]
FILE: dict[str, Any] = {"exists": True, "kind": "file", "size": 1, "written": "2026-11-29T12:00:00Z"}
SERVICE: dict[str, Any] = {
    "name": "x",
    "display_name": "x",
    "image_path": "x.exe",
    "start": 2,
    "delayed": False,
    "type": 16,
    "account": "LocalSystem",
    "depends_on": [],
    "environment": [],
    "state": "running",
    "pid": 1,
    "exit_code": 0,
    "service_exit_code": 0,
    "deleting": False,
    "failure": None,
    "nssm": None,
}
RUNNING = {**DONE, "outcome": "running"}


def test_each_op_of_the_probe_has_a_shape() -> None:
    assert sorted(PARTS) == sorted(ANSWERS)


@pytest.mark.parametrize(
    ("query", "value", "said"),
    [
        (system_query(), "x", "parts.system is 'x', expected an object"),
        (
            system_query(),
            {**SYSTEM, "os": {**OS, "build": "20348"}},
            "parts.system.os.build is '20348', expected a whole",
        ),
        (system_query(), {**SYSTEM, "clock": 5}, "parts.system.clock is 5, expected a UTC time"),
        (system_query(), {**SYSTEM, "machine": "a\nb"}, r"parts.system.machine is 'a\nb', expected a text of one line"),
        (services_query(()), {}, "parts.services is an empty object, expected a list"),
        (services_query(()), [{"name": "x"}], "parts.services[0].display_name is missing"),
        (services_query(()), [{**SERVICE, "depends_on": "y"}], "[0].depends_on is 'y', expected a list"),
        (file_query("C:\\a"), {"exists": "yes"}, "parts.file:c:\\a.exists is 'yes', expected true or false"),
        (file_query("C:\\a"), {"exists": True, "kind": "pipe"}, ".kind is 'pipe', expected one of file, directory, l"),
        (file_query("C:\\a"), {**FILE, "sha256": "0"}, ".sha256 is '0', expected a sha256"),
        (file_query("C:\\a"), {**FILE, "content": "!"}, ".content is '!', expected bytes as"),
        (file_query("C:\\a"), {**FILE, "size": -1}, ".size is -1, expected a number of bytes"),
        (file_query("C:\\a", sddl=True), FILE, ".sddl is missing, expected what was asked for"),
        (system_query(), None, "parts.system is null, expected an object"),
    ],
)
def test_a_part_that_is_not_of_its_form_is_told_by_its_field(query: Query, value: Any, said: str) -> None:
    with pytest.raises(Unexpected) as raised:
        check_parts({query.key: value}, [query])
    assert said in str(raised.value)
    link = Node({"parts": {query.key: value}}).link()
    with pytest.raises(NodeError, match=f"^What win1 answered cannot be used: .*{re.escape(said)}"):
        link.probe([query])


def test_what_was_not_asked_for_is_left_out_and_what_is_missing_is_told() -> None:
    other = {"system": SYSTEM, "services": [], "file:c:\\k": {"exists": False}}
    assert check_parts(other, [system_query()]) == {"system": SYSTEM}
    with pytest.raises(Unexpected, match=r"parts\.services is missing, expected an answer"):
        check_parts({"system": SYSTEM}, [system_query(), services_query(())])
    assert check_parts({"system": {"error": "x" * 9999}}, [system_query()]) == {"system": {"error": "x" * 4096}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"answer": "yes"}, "answer is 'yes', expected one of accepted, stale, busy, blocked, refused"),
        ({"outcome": "finished"}, "outcome is 'finished', expected one of done, undone"),
        ({"outcome": None}, "outcome is missing"),
        ({"batch": "x; rm -rf ~ #"}, "batch is 'x; rm -rf ~ #', expected the id of a batch"),
        ({"batch": "0" * 32}, f"batch is '{'0' * 32}', expected the id that was sent, {ID}"),
        ({"results": [{"n": 0, "op": "mkdir", "ok": "yes"}]}, "results[0].ok is 'yes', expected true or false"),
        ({"results": {}}, "results is an empty object, expected a list"),
        ({"error": "no"}, "error is 'no', expected an object"),
        ({"answer": "blocked", "blocked": {"id": "x; rm -rf ~ #"}}, "blocked.id is 'x; rm -rf ~ #'"),
        (
            {"answer": "busy", "busy": {"id": "x", "controller": "y", "since": 5}},
            "busy.since is 5, expected a text of one line",
        ),
        ({"answer": "stale", "stale": [{}]}, "stale[0].key is missing"),
    ],
)
def test_an_answer_that_is_not_of_its_form_is_told_by_its_field(more: dict[str, Any], said: str) -> None:
    for answers in ([{**DONE, **more}], [ConnectionResetError("gone"), {**DONE, **more}], [RUNNING, {**DONE, **more}]):
        node = Node(*answers)
        with pytest.raises(NodeError, match=f"^What win1 answered about batch {ID} cannot be used: {re.escape(said)}"):
            node.link().apply(BATCH, ID)


def test_messages_and_output_are_never_refused_and_have_an_end() -> None:
    long = "x" * 5_000_000
    results = [{"n": 0, "op": "run", "ok": True, "stdout": long, "stderr": {"a": 1}}]
    error = {"n": 0, "op": "run", "message": ["a", long], "undo": [{"message": long}, long]}
    found = check_answer({**DONE, "outcome": "undo_failed", "results": results, "error": error}, ID)
    assert len(str(found)) < 3_000_000
    assert found.results[0].stderr == '{"a": 1}'
    assert verdict.sentence(found).endswith(f"winkube_batch={ID}.")


def test_an_answer_names_the_batch_that_was_sent() -> None:
    assert check_answer({"answer": "refused", "reason": None}, ID) == Answer("refused", ID)


def test_a_batch_that_runs_for_ever_is_asked_for_with_pauses_and_it_is_told_that_it_does_not_move() -> None:
    node = Node(RUNNING)
    told: list[str] = []
    batch = Batch("host", (Op("mkdir", {"path": "C:\\k"}), Op("mkdir", {"path": "C:\\l"})), deadline_s=415)
    answer = node.link(notice=told.append).apply(batch, ID)
    assert verdict.sentence(answer).startswith(f"batch {ID} is still running after its deadline")
    assert len(node.sent) < 50, "about one call each twelve seconds"
    assert told == [
        f"win1 has not moved: 3 times it said that batch {ID} (host) is running, each time with 0 of 2 steps done. It "
        "is asked for 415 s altogether."
    ]


def test_a_batch_that_moves_is_not_said_to_stand() -> None:
    moving = [{**RUNNING, "results": [{"n": n, "op": "mkdir", "ok": True} for n in range(count)]} for count in range(9)]
    told: list[str] = []
    assert Node(*moving, DONE).link(notice=told.append).apply(BATCH, ID).outcome == "done"
    assert told == []


@pytest.mark.parametrize("recovered", ["yes", 5, {"id": ID}, {"id": "; rm", "outcome": "done"}, {"outcome": "x"}, [1]])
def test_a_wrong_word_of_an_earlier_batch_is_told_and_costs_no_more(recovered: Any) -> None:
    told: list[str] = []
    link = Node({**DONE, "recovered": recovered}).link(notice=told.append)
    assert link.apply(BATCH, ID).outcome == "done"
    (said,) = told
    assert said.startswith("what win1 says of an earlier batch, which it ended by itself, is wrong: recovered")
    assert link.recovered == []


def test_a_real_reading_passes_as_it_is() -> None:
    node = SimulatedNode("win1")
    queries = (system_query(), services_query(("hns",)), Query("adapters", "adapters"), Query("volumes", "volumes"))
    session = node.open_session()
    found: dict[str, Any] = {}

    def execute(module: str, args: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = run_module(node, session, module, args, False)
        found.update(copy.deepcopy(answer))
        return answer

    link = Node().link()
    link.execute = execute
    assert link.probe(queries) == found["parts"]
