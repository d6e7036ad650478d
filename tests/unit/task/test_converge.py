"""One component, stage by stage: in which order the node is asked, emptied, changed and restarted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.components.asks import Asks
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import component as flannel
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import flannel as flanneld
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel import virtual_switch
from ansible_collections.winkube.node.plugins.plugin_utils.components.flannel.options import FlannelOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.networks import management
from ansible_collections.winkube.node.plugins.plugin_utils.components.stage import (
    After,
    First,
    Given,
    Key,
    Resources,
    Stage,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Step
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.directory import Directory
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NodeError
from ansible_collections.winkube.node.plugins.plugin_utils.task import drain
from ansible_collections.winkube.node.plugins.plugin_utils.task.converge import Converge
from ansible_collections.winkube.node.plugins.plugin_utils.task.task_node import NotAsReadError

from tests.unit.components.nodes import LAYOUT, Controller, bare
from tests.unit.components.windows_network import reading as network

FOLDER = Directory(r"C:\made")
SYSTEM = {"system": {"machine": "m-1", "boot_id": "b-1", "elevated": True}}
STALE = NotAsReadError("the node has changed since it was read: it was restarted")
DONE = Answer("accepted", "1", "done")


class Node:
    """Does no batch as long as it has an error left to raise."""

    layout = LAYOUT
    calls = 0

    def __init__(self, *answers: Exception) -> None:
        self.answers = list(answers)
        self.told: list[str] = []

    def refuse_restart(self, reading: Reading) -> None:
        """sshd is as it should be."""

    def complete(self, reading: Reading, _queries: Sequence[Query]) -> Reading:
        return reading

    def read(self, _needed: Sequence[Query]) -> Reading:
        self.told.append("read")
        return machine()

    def apply(self, batch: Batch, _batch_id: str, _reading: Reading) -> Answer:
        self.told.append(f"send {batch.component} {batch.ops[0].op}")
        if self.answers:
            raise self.answers.pop(0)
        return DONE

    def probe(self, _queries: Sequence[Query]) -> dict[str, Any]:
        return {}

    def after(self, reading: Reading, batch: Batch, _answer: Answer) -> Reading:
        return reading.merge({FOLDER.reads()[0].key: {"exists": True, "kind": "directory"}} if batch.ops else {})


def machine() -> Reading:
    return bare(FOLDER.reads()).merge(SYSTEM)


def run(
    node: Node, *stages: Stage, check: bool = False, found: Reading | None = None, own: object = None, **more: Any
) -> Converge:
    made = Converge("part", node, {}, Asks(Controller(), "win1"), check=check, own=own)  # type: ignore[arg-type]
    made.run_stages(stages, found or machine(), **more)
    return made


def folder(_given: Given[Any]) -> Resources:
    return (FOLDER,)


def test_a_stage_is_one_batch_and_none_where_nothing_differs() -> None:
    node = Node()
    made = run(node, Stage("a", folder), Stage("b", folder))
    assert (made.acted, len(node.told)) == (["a"], 1)
    result = made.result(diff=False)
    assert result["changed"] and [step["state"] for step in result["steps"]] == ["done"]


def test_check_mode_sends_nothing_and_says_the_same() -> None:
    asked = First(lambda given, resources: Batch("part", (Op("run", {}),)))
    node = Node()
    made = run(node, Stage("a", folder, first=(asked,)), Stage("b", folder), check=True)
    assert node.told == [] and made.acted == []
    result = made.result(diff=False)
    assert result["changed"] and [step["state"] for step in result["steps"]] == ["planned"]


def test_a_node_that_has_changed_is_read_again_three_times_at_most() -> None:
    node = Node(STALE, STALE)
    assert run(node, Stage("a", folder)).acted == ["a"]
    assert [line.split()[0] for line in node.told] == ["send", "read", "send", "read", "send"]
    with pytest.raises(NodeError, match=r"part: the node has changed since it was read: .* It was planned 3 times"):
        run(Node(STALE, STALE, STALE), Stage("a", folder))


def test_a_first_batch_is_sent_before_and_its_answer_is_planned_with() -> None:
    seen: list[Any] = []

    def build_resources(given: Given[Any]) -> Resources:
        seen.append(given.reading.parts.get("answer"))
        return folder(given)

    first = First(
        lambda given, _resources: None if "answer" in given.reading.parts else Batch("part", (Op("run", {}),)),
        steps=lambda *_given: (Step("x", "ask"),),
        learned=lambda *_given: {"answer": 7},
        unsettled="it is never enough",
    )
    node = Node()
    made = run(node, Stage("a", build_resources, first=(first,)))
    assert seen == [None, 7] and node.told[0] == "send part run"
    assert made.steps[0] == Step("x", "ask")


def test_what_never_settles_is_an_error() -> None:
    again = First(lambda *_given: Batch("part", (Op("run", {}),)), unsettled="it is never enough")
    with pytest.raises(NodeError, match=r"part: it is never enough\. It was planned 3 times"):
        run(Node(), Stage("a", folder, first=(again,)))


def test_what_is_held_ends_with_its_stage_also_if_that_fails() -> None:
    told: list[str] = []

    @contextmanager
    def token() -> Iterator[str]:
        told.append("made")
        yield "t"
        told.append("gone")

    def build_resources(given: Given[Any]) -> Resources:
        assert given.asks.hold("token", token) == "t"
        return folder(given)

    def other(_given: Given[Any]) -> Resources:
        assert told == ["made", "gone"]
        return ()

    run(Node(STALE), Stage("a", build_resources), Stage("b", other))
    told.clear()
    with pytest.raises(NodeError, match=r"no disk\. The rest stays\."):
        run(Node(NodeError("no disk.")), Stage("a", build_resources, failed=lambda *_given: "The rest stays."))
    assert told == ["made", "gone"]


def test_what_the_cluster_does_not_say_and_what_is_wrong_afterwards_fail_the_component() -> None:
    def silent(_given: Given[Any]) -> Resources:
        raise ClusterError("it does not answer")

    with pytest.raises(NodeError, match="part: it does not answer"):
        run(Node(), Stage("a", silent))
    with pytest.raises(NodeError, match="part: no lease"):
        run(Node(), Stage("a", folder), after=lambda *_given: After(problem="no lease"))


def test_the_node_is_emptied_before_its_first_virtual_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch breaks pods' connections as well as ours."""
    found = network()
    address = management(found, interface_name="Ethernet", address="")
    switch = virtual_switch.network("l2bridge", address, found)
    node = Node()

    def emptied(batch: Batch, *_given: object) -> tuple[str, ...]:
        node.told.append(f"drain before {batch.ops[0].op}")
        return ("drain win1 (2 pods)",)

    monkeypatch.setattr(drain, "empty_before", emptied)
    monkeypatch.setattr(flannel, "answers_of", lambda _given: None)
    monkeypatch.setattr(flanneld, "runs_here", lambda _options, *, golden_image: True)
    monkeypatch.setattr(flanneld, "api_server_of", lambda *_given: None)
    first = First(flannel.switch, steps=flannel.switch_steps)
    wanted = iter([(switch,)])
    made = run(
        node,
        Stage("flannel", lambda _given: next(wanted, ()), first=(first,)),
        found=found,
        own=FlannelOptions(node_name="win1"),
    )
    assert node.told == ["drain before category_note", "send part category_note"]
    assert made.steps[0].text == "drain win1 (2 pods)"
    assert made.steps[1].label == switch.label


def test_what_stages_learn_is_given_back_by_its_key_and_known_to_the_next() -> None:
    number: Key[int] = Key("a number")
    text: Key[str] = Key("a text")

    def learn(given: Given[Any]) -> Resources:
        given.learned.note(number, (given.learned.get(number) or 0) + 1)
        return ()

    converge = Converge("part", Node(), {}, Asks(Controller(), "win1"), check=False)  # type: ignore[arg-type]
    ran = converge.run_stages((Stage("a", learn), Stage("b", learn)), machine())
    assert (ran.learned.get(number), ran.learned.get(text)) == (2, None)


def test_what_is_asked_beside_a_batch_gets_into_the_answer_and_not_into_the_reading() -> None:
    beside = Query("journal", "file", (("path", "C:\\j"),))
    sent: list[Batch] = []

    class Answers(Node):
        def apply(self, batch: Batch, batch_id: str, reading: Reading) -> Answer:
            sent.append(batch)
            return replace(DONE, state={"journal": 1, "other": 2})

        def after(self, reading: Reading, batch: Batch, answer: Answer) -> Reading:
            return reading.merge(answer.state)

    converge = Converge("part", Answers(), {}, Asks(Controller(), "win1"), check=False)  # type: ignore[arg-type]
    reading, answer = converge.send(Batch("part", (Op("mkdir", {}),)), "1", machine(), beside=(beside,))
    assert beside in sent[0].state
    assert answer.state["journal"] == 1
    assert "journal" not in reading.parts and reading.parts["other"] == 2
