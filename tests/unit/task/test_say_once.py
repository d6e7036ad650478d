"""Equal sentences and diffs of several hosts are said by the first."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.task.say_once import find_first_speaker


def test_the_first_says_it_the_others_are_told_who_did(tmp_path: Path) -> None:
    said = [find_first_speaker(tmp_path, "t", f"wrote C:\\k on {host}", host) for host in ("win1", "win2", "win10")]
    assert said == ["win1", "win1", "win1"]
    assert find_first_speaker(tmp_path, "t", "wrote C:\\k on win1", "win1") == "win1", "again: it is still its own"


def test_another_text_or_task_is_said_by_its_own_host(tmp_path: Path) -> None:
    assert find_first_speaker(tmp_path, "t", "one", "win1") == "win1"
    assert find_first_speaker(tmp_path, "t", "two", "win2") == "win2"
    assert find_first_speaker(tmp_path, "u", "one", "win2") == "win2"


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("--node-ip=10.0.0.1 --hostname-override=node-1", "--node-ip=10.0.0.2 --hostname-override=node-2", True),
        ("10.0.0.1", "10.0.0.22", False),
        ("see win1.example.com", "see win2.example.com", True),
        ("see mywin1", "see mywin2", False),
        ("10.0.0.1 and win1", "10.0.0.2 and win1", False),
    ],
)
def test_a_host_is_known_by_all_its_names(first: str, second: str, same: bool, tmp_path: Path) -> None:
    assert find_first_speaker(tmp_path, "t", first, "win1", ["10.0.0.1", "node-1"]) == "win1"
    other = find_first_speaker(tmp_path, "t", second, "win2", ["10.0.0.2", "node-2", ""])
    assert (other == "win1") is same


def test_without_the_folder_each_says_its_own(tmp_path: Path) -> None:
    assert find_first_speaker(tmp_path / "none", "t", "one", "win1") == "win1"
    assert find_first_speaker(tmp_path / "none", "t", "one", "win2") == "win2"
