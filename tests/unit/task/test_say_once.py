"""Equal sentences of several hosts and tasks are said by the first."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.task.say_once import is_first_to_say


def test_the_first_says_it_and_nobody_again(tmp_path: Path) -> None:
    said = [is_first_to_say(tmp_path, f"wrote C:\\k on {host}", host) for host in ("win1", "win2", "win10", "win1")]
    assert said == [True, False, False, False]


def test_another_text_is_said_by_its_own_host(tmp_path: Path) -> None:
    assert is_first_to_say(tmp_path, "one", "win1")
    assert is_first_to_say(tmp_path, "two", "win2")


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
    assert is_first_to_say(tmp_path, first, "win1", ["10.0.0.1", "node-1"])
    assert is_first_to_say(tmp_path, second, "win2", ["10.0.0.2", "node-2", ""]) is not same


def test_without_the_folder_each_says_its_own(tmp_path: Path) -> None:
    assert is_first_to_say(tmp_path / "none", "one", "win1")
    assert is_first_to_say(tmp_path / "none", "one", "win2")
