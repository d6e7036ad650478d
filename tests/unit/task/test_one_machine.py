"""Two names of one machine, and clones: what the hosts of a run see of each other."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.task.one_machine import (
    Machines,
    Others,
    describe_clones,
    describe_same,
)


def test_the_same_guid_and_start_is_one_machine_whoever_comes_first(tmp_path: Path) -> None:
    first, second = (Machines(tmp_path, name) for name in ("win1", "win2"))
    assert first.meet("guid", "boot") == Others(), "nobody else yet"
    assert second.meet("guid", "boot") == Others(same=("win1",))
    assert first.meet("guid", "boot") == Others(same=("win2",)), "before its first change"
    sentence = describe_same("win1", first.meet("guid", "boot"))
    assert sentence.startswith("win1, win2 are one machine")


def test_the_same_guid_alone_is_a_clone(tmp_path: Path) -> None:
    Machines(tmp_path, "win1").meet("guid", "boot 1")
    others = Machines(tmp_path, "win2").meet("guid", "boot 2")
    assert others == Others(clones=("win1",))
    assert describe_same("win2", others) == ""
    assert "sysprep /generalize" in describe_clones("win2", others)


def test_a_machine_that_was_restarted_is_still_itself(tmp_path: Path) -> None:
    alone = Machines(tmp_path, "win1")
    alone.meet("guid", "boot 1")
    assert alone.meet("guid", "boot 2") == Others()


def test_different_machines_have_nothing_to_do_with_each_other(tmp_path: Path) -> None:
    Machines(tmp_path, "win1").meet("guid 1", "boot")
    assert Machines(tmp_path, "win2").meet("guid 2", "boot") == Others()


def test_what_is_not_known_is_not_judged(tmp_path: Path) -> None:
    Machines(tmp_path, "win1").meet("", "")
    assert Machines(tmp_path, "win2").meet("", "") == Others()
    assert Machines(tmp_path / "none", "win2").meet("guid", "boot") == Others()
