"""After a lost connection the batch's id is asked for; a batch that never arrived is sent again, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op, decode
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Expectation, Query, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import (
    Link,
    NoAnswerError,
    NodeError,
    OutcomeUnknown,
    Silence,
)

from tests.contract.app_control import NO_LIST_OF_ANSIBLE, NO_LIST_OF_OURS, NOTHING_SIGNED

BATCH = Batch("host", (Op("mkdir", {"path": r"C:\k"}),), deadline_s=60)
ID = "ab" * 16
INVASIVE = ("dllimport", "definepinvokemethod", "definedynamicassembly", "interopservices", "intptr")
"""Words from PowerShell's list of suspicious content that only calls into Windows contain."""
SYSTEM = {
    "machine": "m",
    "boot_id": "b",
    "computer_name": "WIN1",
    "os": {"product": "", "build": 20348, "revision": 1, "installation_type": "Server", "architecture": "amd64"},
    "elevated": True,
    "user_sid": "S-1-5-18",
    "clock": "2026-11-29T12:00:00Z",
    "powershell": "5.1",
    "reboot_pending": False,
    "free_bytes": {"C:": 1},
    "machine_path": [],
}
DONE = {"answer": "accepted", "outcome": "done", "batch": ID, "results": [], "state": {}}


class Never(Exception):  # noqa: N818 - no error
    """Stands for an answer that does not come."""


class Node:
    """A node that answers from a list: results are returned, exceptions raised; `sent` keeps the envelopes."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.sent: list[dict[str, Any]] = []
        self.resets = 0
        self.abandoned = 0
        self.limits: list[float] = []
        self.time = 0.0

    def execute(self, module: str, args: dict[str, Any]) -> dict[str, Any]:
        if module == "node_apply":
            self.sent.append(decode(args["batch"]))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        found: dict[str, Any] = answer() if isinstance(answer, Callable) else answer  # type: ignore[arg-type]
        return self.complete(found) if module == "node_apply" and found.get("answer") == "accepted" else found

    def complete(self, answer: dict[str, Any]) -> dict[str, Any]:
        """An accepted batch has results, and the state that was asked for."""
        values = {"system": SYSTEM, "hns": {"available": False}, "file": {"exists": False}, "pipe": {"exists": True}}
        state = {query["key"]: values[query["op"]] for query in self.sent[-1]["state"]}
        return {"results": [], **answer, "state": state | (answer.get("state") or {})}

    def reset(self) -> None:
        self.resets += 1

    def abandon(self) -> None:
        self.abandoned += 1

    def within(self, seconds: float, work: Callable[[], Any]) -> Any:
        """An answer that is SILENCE never comes; calls of the connection's own reset have no place in `limits`."""
        if work == self.reset:
            return work()
        self.limits.append(seconds)
        try:
            return work()
        except Never:
            raise NoAnswerError(seconds) from None

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def link(self, **kwargs: Any) -> Link:
        clock = Clock(lambda: self.time, self.sleep)
        return Link(
            self.execute,
            self.reset,
            r"C:\state",
            host="win1",
            abandon=self.abandon,
            clock=clock,
            within=self.within,
            **kwargs,
        )

    def kinds(self) -> list[str]:
        return [envelope["kind"] for envelope in self.sent]


def test_a_batch_is_sent_and_answered() -> None:
    node = Node(DONE)
    link = node.link()
    assert link.apply(BATCH, ID).outcome == "done"
    assert node.kinds() == ["submit"]
    assert node.sent[0]["batch"]["ops"][0] == {
        "n": 0,
        "op": "mkdir",
        "args": {"path": r"C:\k"},
        "undo": [],
        "secrets": [],
    }
    assert link.calls == 1


def test_the_runners_text_travels_only_if_the_node_has_another() -> None:
    node = Node(DONE)
    link = node.link()
    link.apply(BATCH, ID)
    known = node.sent[0]["runner"]["sha256"]
    link.apply(BATCH, ID, known)
    link.apply(BATCH, ID, "another")
    assert ["text" in envelope["runner"] for envelope in node.sent] == [True, False, True]


NETWORK = Op("hns_network", {"name": "cbr0"})
GO = Op("hns_network_remove", {"name": "cbr0"})
ASKED = Query("hns", "hns", (("objects", ("networks",)),))


@pytest.mark.parametrize(
    ("batch", "wanted"),
    [
        (BATCH, False),
        (replace(BATCH, state=(system_query(),)), False),
        (replace(BATCH, ops=(NETWORK,)), True),
        (replace(BATCH, ops=(Op("mkdir", {"path": "x"}).with_undo(GO),)), True),
        (replace(BATCH, gate=(Op("wait", {"for": "hns_network", "name": "cbr0"}),)), True),
        (replace(BATCH, pre=(Expectation(ASKED, (("available", True),)),)), True),
        (replace(BATCH, state=(ASKED,)), True),
    ],
)
def test_the_text_that_calls_hns_travels_only_with_what_needs_it(batch: Batch, wanted: bool) -> None:
    """Failed before: it was part of every batch, in the runner and in both modules."""
    node = Node(DONE)
    node.link().apply(batch, ID)
    assert ("hns" in node.sent[0]) is wanted
    assert not any(word in json.dumps({**node.sent[0], "hns": ""}).casefold() for word in INVASIVE)
    if wanted:
        text = node.sent[0]["hns"]
        assert "DefinePInvokeMethod" in text and text.startswith("# Copyright")


def test_after_a_lost_connection_only_questions_bring_it_again() -> None:
    for batch, wanted in ((replace(BATCH, ops=(NETWORK,)), False), (replace(BATCH, state=(ASKED,)), True)):
        node = Node(ConnectionResetError("gone"), DONE)
        node.link().apply(batch, ID)
        assert [("hns" in envelope) for envelope in node.sent] == [True, wanted]


def test_a_reading_brings_it_only_if_it_asks_hns() -> None:
    requests: list[dict[str, Any]] = []

    def execute(_module: str, args: dict[str, Any]) -> dict[str, Any]:
        requests.append(decode(args["request"]))
        return {"parts": {"system": SYSTEM, "hns": {"available": False}}}

    link = Link(execute, lambda: None, r"C:\state")
    for queries in ((system_query(),), (system_query(), ASKED)):
        link.probe(queries)
    assert [("hns" in request) for request in requests] == [False, True]
    # The event log has room for 31,839 characters, and Ansible writes the whole request into it.
    assert len(json.dumps(requests[1])) < 20_000


@pytest.mark.parametrize(
    "lost", [ConnectionResetError("gone"), RuntimeError("raw WSMan fault"), TimeoutError("read timed out")]
)
def test_after_any_exception_the_batch_is_asked_for_and_not_sent_again(lost: Exception) -> None:
    node = Node(lost, ConnectionRefusedError("not yet"), ConnectionRefusedError("not yet"), DONE)
    link = node.link()
    assert link.apply(BATCH, ID).outcome == "done"
    assert node.kinds() == ["submit", "follow", "follow", "follow"]
    assert node.resets == 3
    assert {envelope["id"] for envelope in node.sent} == {ID}


def test_a_module_result_that_cannot_be_read_also_means_unknown() -> None:
    node = Node({"failed": True, "msg": "Module result deserialization failed"}, DONE)
    assert node.link().apply(BATCH, ID).outcome == "done"
    assert node.kinds() == ["submit", "follow"]


UNKNOWN = {"answer": "accepted", "outcome": "unknown", "batch": ID}


def test_a_batch_that_never_arrived_is_sent_again() -> None:
    """Before, two of 990 first installations failed because one ssh was not let in within its ConnectTimeout."""
    node = Node(ConnectionResetError("gone"), UNKNOWN, DONE)
    said: list[str] = []
    assert node.link(notice=said.append).apply(BATCH, ID).outcome == "done"
    assert node.kinds() == ["submit", "follow", "submit"]
    assert node.sent[0] == node.sent[2], "the same id: a node takes it once"
    assert said[-1].endswith("The connection said: gone Sending it again.")


def test_a_batch_that_never_arrives_is_sent_twice_and_was_not_done() -> None:
    node = Node(ConnectionResetError("gone"), UNKNOWN, ConnectionResetError("gone again"), UNKNOWN)
    with pytest.raises(NodeError, match=r"nothing was done.* gone again"):
        node.link().apply(BATCH, ID)
    assert node.kinds() == ["submit", "follow", "submit", "follow"]


def test_a_batch_that_the_node_could_not_take_is_not_sent_again() -> None:
    node = Node({"failed": True, "msg": "Access is denied."}, UNKNOWN)
    with pytest.raises(NodeError, match=r"did not take batch \w+, nothing was done: Access is denied"):
        node.link().apply(BATCH, ID)
    assert node.kinds() == ["submit", "follow"]


def test_a_node_that_does_not_come_back_is_given_up_after_the_time_and_says_so() -> None:
    node = Node(ConnectionResetError("gone"))
    with pytest.raises(OutcomeUnknown, match="finishes or rolls back the batch by itself") as raised:
        node.link(reconnect_s=100).apply(BATCH, ID)
    assert isinstance(raised.value.cause, ConnectionResetError)
    assert 100 <= node.time < 120
    assert node.kinds().count("submit") == 1


@pytest.mark.parametrize("ask", ["batch", "reading"])
def test_who_waits_for_a_silent_node_is_told_so_again_and_again(ask: str) -> None:
    node = Node(ConnectionResetError("gone") if ask == "batch" else Never())
    said: list[str] = []
    moments = [0.0]

    def hear(sentence: str) -> None:
        said.append(sentence)
        moments.append(node.time)

    link = node.link(reconnect_s=100, progress_s=8.0, said=hear)
    with pytest.raises(OutcomeUnknown):
        link.apply(BATCH, ID) if ask == "batch" else link.probe([system_query()])
    assert all("waiting for the node to answer" in each for each in said), said
    assert max(later - one for one, later in pairwise(moments)) <= 15, moments


def test_a_batch_that_is_still_running_is_followed() -> None:
    node = Node({**DONE, "outcome": "running"}, {**DONE, "outcome": "running"}, DONE)
    assert node.link().apply(BATCH, ID).outcome == "done"
    assert node.kinds() == ["submit", "follow", "follow"]


def test_the_probe_is_one_call_and_its_failure_a_sentence() -> None:
    node = Node({"parts": {"system": SYSTEM}}, {"failed": True, "msg": "no access"})
    link = node.link()
    assert link.probe([system_query()]) == {"system": SYSTEM}
    with pytest.raises(NodeError, match="no access"):
        link.probe([system_query()])
    assert link.calls == 2


def test_a_connection_that_fails_while_reading_passes_through() -> None:
    with pytest.raises(ConnectionResetError):
        Node(ConnectionResetError("gone")).link().probe([system_query()])


# -- a change that cuts connections off --------------------------------------------------------------------------------


SWITCH = replace(BATCH, ops=(NETWORK,), state=(system_query(),))
TAKEN = {**DONE, "outcome": "interrupted"}
"""The runner has not started yet if nothing is waited for."""


def test_the_connection_is_closed_before_a_virtual_switch_kills_it() -> None:
    """SSH notices a dead connection only after a minute; the node's answer about the earlier batch is not an
    outcome."""
    node = Node(TAKEN, ConnectionRefusedError("not yet"), DONE)
    said: list[str] = []
    link = node.link(said=said.append, progress_s=60)
    assert link.apply(SWITCH, ID).outcome == "done"
    assert node.kinds() == ["submit", "follow", "follow"]
    assert [(sent["follow_s"], len(sent["state"])) for sent in node.sent] == [(0, 0), (8, 1), (8, 1)]
    assert node.resets == 3 and node.time >= 5, "it waits until the switch is made, not connected"
    assert said == ["host: no connection, as expected during this change; waiting for the node"]


def test_a_call_that_a_virtual_switch_cuts_off_is_soon_given_up_and_a_slow_node_gets_more_time() -> None:
    node = Node(TAKEN, Never(), Never(), {**DONE, "outcome": "running"}, Never(), DONE)
    assert node.link(progress_s=60).apply(SWITCH, ID).outcome == "done"
    assert node.limits == [308, 18, 36, 72, 18, 18]


def test_when_the_switch_is_made_a_batch_is_followed_as_any_other() -> None:
    made = {"n": 0, "op": "hns_network", "ok": True}
    node = Node(TAKEN, {**DONE, "outcome": "running", "results": [made]}, DONE)
    node.link(progress_s=60).apply(SWITCH, ID)
    assert [sent["follow_s"] for sent in node.sent] == [0, 8, 60]
    assert node.limits == [308, 18, 360]


@pytest.mark.parametrize(
    ("answer", "mode"), [({**DONE, "answer": "stale", "stale": []}, "task"), (DONE, "inline"), (None, "task")]
)
def test_who_did_not_take_it_or_works_on_it_himself_keeps_the_connection(
    answer: dict[str, Any] | None, mode: str
) -> None:
    node = Node(answer or DONE)
    node.link(runner_mode=mode).apply(SWITCH if answer else BATCH, ID)
    assert (node.kinds(), node.resets) == (["submit"], 0)


# -- silence -----------------------------------------------------------------------------------------------------------


def test_a_call_without_an_answer_is_a_lost_connection_and_what_is_left_of_it_ends_first() -> None:
    node = Node(Never(), Never(), DONE)
    said: list[str] = []
    assert node.link(answer_s=10, notice=said.append).apply(BATCH, ID).outcome == "done"
    assert node.kinds() == ["submit", "follow", "follow"], "sent once, then asked after"
    assert (node.abandoned, node.resets) == (2, 2)
    assert "win1 sent nothing for 20 s while it worked" in said[0]
    assert "raise answer_timeout (winkube_answer_timeout)" in said[0]


@pytest.mark.parametrize(
    ("answer_s", "mode", "follow_s", "limits"),
    [
        (10.0, "task", 10.0, [20.0, 20.0]),
        (300.0, "task", 60, [360.0, 360.0]),
        (10.0, "inline", 10.0, [130.0, 20.0]),  # the call itself executes it: 60 s, and as long again for a rollback
    ],
)
def test_a_limit_comes_from_what_is_asked(answer_s: float, mode: str, follow_s: float, limits: list[float]) -> None:
    node = Node({**DONE, "outcome": "running"}, DONE)
    node.link(answer_s=answer_s, runner_mode=mode).apply(BATCH, ID)
    assert node.limits == limits
    assert [envelope["follow_s"] for envelope in node.sent] == [follow_s, follow_s]


def test_a_connection_that_is_lost_while_a_long_batch_is_followed_is_asked_after() -> None:
    """Failed before: the run ended, since only the first answer was asked for again."""
    node = Node({**DONE, "outcome": "running"}, ConnectionResetError("gone"), Never(), DONE)
    assert node.link().apply(BATCH, ID).outcome == "done"
    assert node.kinds() == ["submit", "follow", "follow", "follow"]


def test_a_node_that_is_silent_while_it_is_read_is_read_again() -> None:
    node = Node(Never(), ConnectionResetError("not yet"), {"parts": {"system": SYSTEM}})
    said: list[str] = []
    assert node.link(answer_s=10, notice=said.append).probe([system_query()]) == {"system": SYSTEM}
    assert node.limits == [10, 10, 10] and node.resets == 2
    assert said == [said[0]] and said[0].startswith("win1 sent nothing for 10 s while it was read")


def test_a_node_that_stays_silent_is_given_up() -> None:
    node = Node(Never())
    with pytest.raises(OutcomeUnknown, match="win1 could not be read: it went silent, and did not answer for 100 s"):
        node.link(reconnect_s=100).probe([system_query()])
    assert 100 <= node.time < 120


def test_who_waits_for_a_restart_asks_again_himself() -> None:
    node = Node(Never())
    with pytest.raises(Silence):
        node.link().probe([system_query()], again=False)
    with pytest.raises(Silence):
        node.link().acknowledge(ID)
    assert node.time == 0


def test_a_file_that_does_not_arrive_in_time_is_a_lost_connection() -> None:
    def never() -> None:
        raise Never

    node = Node(DONE)
    link = node.link(answer_s=10)
    assert link.carry(lambda: 7) == 7
    with pytest.raises(Silence, match="win1 sent nothing for 10 s while it was sent a file"):
        link.carry(never)
    assert (node.limits, node.abandoned, link.calls) == ([10, 10], 1, 0)


HELD_BACK = [
    (NOTHING_SIGNED.answer(), "Constrained Language Mode on the node, as AppLocker and App Control"),
    (NO_LIST_OF_ANSIBLE.answer(), "asks for signed lists, and none has this script: docs/endpoint-protection.md"),
    (NO_LIST_OF_OURS.answer(), "or sign what it has to trust, see docs/endpoint-protection.md"),
    # Windows PowerShell breaks lines, also in the middle of a word, and speaks the machine's language.
    (
        {
            "msg": "",
            "module_stderr": "nur Kerntypen\r\n+ FullyQualifiedErrorId : MethodInvocationNotSupportedInConstra\r\n"
            "    inedLanguage",
        },
        "Constrained Language Mode",
    ),
    ({"msg": "", "module_stderr": "only on core\r\ntypes in this language mode."}, "Constrained Language Mode"),
    (
        {"msg": "Dieses Skript", "module_stdout": "", "exception": "ScriptContainedMaliciousContent"},
        "The node's antivirus blocked the script",
    ),
]


@pytest.mark.parametrize(("answer", "said"), HELD_BACK)
def test_a_policy_that_holds_scripts_back_is_told_by_the_first_call(answer: dict[str, Any], said: str) -> None:
    with pytest.raises(NodeError, match=said):
        Node({"failed": True, **answer}).link().probe([system_query()])
    with pytest.raises(NodeError, match=said):
        Node({"failed": True, **answer}).link().acknowledge(ID)
