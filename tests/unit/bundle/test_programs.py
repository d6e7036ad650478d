"""A program that cannot run, or a node that refuses, costs the bundle only that part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import collect
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.collect import AT_ONCE, Command, commands
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.store import Store
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.node import verdict

from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.lab.twin.ops_system import accepts
from tests.unit.answers import answered
from tests.unit.components.nodes import LAYOUT, wanted_node

COMMANDS = [Command(f"x/{n}.txt", rf"C:\Windows\System32\p{n}.exe", (str(n),)) for n in range(10)]


class Node:
    """A node that answers as it is told to: `fails` are arguments on which a program ends the batch."""

    def __init__(self, fails: Sequence[str] = (), refuses: bool = False) -> None:
        self.fails, self.refuses, self.batches = fails, refuses, list[list[str]]()

    def apply(self, ops: Sequence[Op]) -> Answer:
        words = [str(op.args["args"][0]) for op in ops]
        self.batches.append(words)
        if self.refuses:
            return Answer("refused", reason="not elevated")
        results: list[dict[str, Any]] = []
        for n, word in enumerate(words):
            if word in self.fails:
                error = {"n": n, "op": "run", "message": "it did not end within 60 s"}
                return answered({"outcome": "undone", "results": results, "error": error})
            results.append(
                {"n": n, "op": "run", "ok": True, "exit_code": 0, "stdout": f"said {word}\r\n", "stderr": ""}
            )
        return answered({"outcome": "done", "results": results})

    def collect(self, store: Store, there: Reading) -> dict[str, str]:
        node = collect.Machine(lambda _queries: {}, self.apply, verdict.sentence)
        outputs, _why = collect.put_outputs(node, store, COMMANDS, there)
        return outputs


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "win1", 10**6)


def there(*without: int) -> Reading:
    files = {file_key(c.program): {"exists": n not in without} for n, c in enumerate(COMMANDS)}
    return Reading().merge(files)


@pytest.mark.row("LG-07")
def test_a_few_at_once_and_what_each_said(store: Store) -> None:
    node = Node()
    outputs = node.collect(store, there(9))
    assert [len(batch) for batch in node.batches] == [AT_ONCE, 1]
    assert outputs["x/3.txt"] == "> p3.exe 3\nexit code 0\n\nsaid 3\n"
    assert (store.folder / "x" / "3.txt").read_text() == outputs["x/3.txt"]
    assert store.left_out == {"x/9.txt": "p9.exe is not on the node"}


@pytest.mark.row("LG-07")
def test_what_hns_and_the_adapters_are_is_kept_as_it_was_read(store: Store) -> None:
    objects = {name: f'{{"Success":true,"Output":["{name}"]}}' for name in ("networks", "endpoints", "policylists")}
    parts = {"hns": {"available": True, **objects}, "adapters": [{"name": "Ethernet"}], "services": []}
    collect.put_state(store, Reading().merge(parts))
    for name, text in objects.items():
        assert (store.folder / "network" / f"hns-{name}.json").read_text() == f"{text}\n"
    assert '"name": "Ethernet"' in (store.folder / "network" / "adapters.json").read_text()
    assert {"network/hns-namespaces.json", "services/all.json", "system/machine.json"} <= set(store.files)


def test_one_that_cannot_be_run_does_not_hold_up_the_others(store: Store) -> None:
    outputs = Node(fails=["2", "5"]).collect(store, there())
    assert sorted(outputs) == [f"x/{n}.txt" for n in (0, 1, 3, 4, 6, 7, 8, 9)]
    assert store.left_out == dict.fromkeys(("x/2.txt", "x/5.txt"), "it did not end within 60 s")


def test_a_node_that_will_not_work_gives_a_bundle_all_the_same(store: Store) -> None:
    node = Node(refuses=True)
    assert node.collect(store, there()) == {}
    assert len(node.batches) == 1, "it is not asked again"
    assert store.left_out["x/0.txt"] == store.left_out["x/9.txt"] == "the node refused to work: not elevated"


@pytest.mark.parametrize("words", [("bogus",), ("qc", "nobody"), ()])
def test_a_command_that_is_refused_is_what_it_says_and_fails_nothing(words: tuple[str, ...]) -> None:
    """Failed before: sc.exe's 1639 was in no list of exit codes, so the whole batch of eight failed."""
    op = Command("services/x.txt", r"C:\Windows\System32\sc.exe", words).op
    result = execute_op(LabNode("win1"), op.op, dict(op.wire()["args"]))
    assert "failed" not in result and result["exit_code"] != 0, result


@pytest.mark.parametrize("code", [1639, 2**32 - 1, -1, -1073741515])
def test_whatever_a_program_ends_with_is_no_failure(code: int) -> None:
    """Windows' exit codes have 32 bits, and .NET writes those above 2^31 below zero."""
    for command in commands(LAYOUT, wanted_node(), events=10):
        assert accepts(dict(command.op.args), code), command.line
