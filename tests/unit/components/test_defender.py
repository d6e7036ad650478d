"""Exclusions of Microsoft Defender: what is written, what of it stays, and what a reset removes."""

from __future__ import annotations

from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import containerd, defender
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading

from tests.unit.components.nodes import LAYOUT, bare

KEY = r"HKLM\SOFTWARE\Policies\Microsoft\Windows Defender\Exclusions"
OTHER = r"D:\data"


def node(**parts: Any) -> Reading:
    return bare(containerd.reads(LAYOUT)).merge({f"registry:defender:{name}": value for name, value in parts.items()})


def ops(reading: Reading, *, wanted: bool = True) -> list[tuple[str, str, str]]:
    made = make_plan("containerd", (defender.Exclusions(LAYOUT, wanted),), reading)
    return [(op.op, op.args["path"], op.args.get("name", "")) for op in made.batch.ops] if made.batch else []


def test_programs_and_folders_are_written_with_their_switches_and_then_nothing() -> None:
    found = ops(node())
    assert ("registry_set", KEY, "Exclusions_Paths") in found
    assert ("registry_set", KEY, "Exclusions_Processes") in found
    assert {name for _op, key, name in found if key == rf"{KEY}\Paths"} == {
        r"C:\ProgramData\containerd\root",
        r"C:\ProgramData\containerd\state",
    }
    assert LAYOUT.containerd_binary in {name for _op, key, name in found if key == rf"{KEY}\Processes"}
    after = make_plan("containerd", (defender.Exclusions(LAYOUT),), node()).predicted
    assert ops(after) == []
    assert defender.find_missing(LAYOUT, after) == ()
    assert len(defender.find_missing(LAYOUT, node())) == 5


def test_what_others_have_excluded_stays() -> None:
    theirs = {"exists": True, "values": {OTHER: {"type": "string", "value": "0"}}, "keys": []}
    after = make_plan("containerd", (defender.Exclusions(LAYOUT),), node(paths=theirs)).predicted
    gone = ops(after, wanted=False)
    ours = {path for each in defender.list_exclusions(LAYOUT).values() for path in each}
    # A list that becomes empty is removed with its switch; before, both stayed.
    whole = [(KEY, "Exclusions_Processes"), (rf"{KEY}\Processes", "")]
    assert {name for _op, key, name in gone if (key, name) not in whole} == ours
    assert [(key, name) for _op, key, name in gone if (key, name) in whole] == whole
    assert all(op == "registry_remove" for op, _key, _name in gone)
    assert ops(node(paths=theirs), wanted=False) == []


def test_nothing_is_left_of_lists_that_were_ours_alone() -> None:
    """Before, the switches and the empty keys stayed."""
    after = make_plan("containerd", (defender.Exclusions(LAYOUT),), node()).predicted
    made = make_plan("reset", (defender.Exclusions(LAYOUT, wanted=False),), after)
    assert made.batch is not None
    assert (made.batch.ops[-1].op, dict(made.batch.ops[-1].args)) == ("registry_remove", {"path": KEY})
    switches = [op for op in made.batch.ops if str(op.args.get("name", "")).startswith("Exclusions_")]
    assert [dict(op.undo[0].args) for op in switches] == [
        {"path": KEY, "name": f"Exclusions_{name}", "type": "dword", "value": 1} for name in ("Paths", "Processes")
    ]
    assert ops(made.predicted, wanted=False) == []
