"""The picture of the rooms says what the imports say; test_generated.py compares the file with it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.quality import picture


def test_every_import_is_a_way_along_the_arrows_that_are_drawn() -> None:
    rooms = picture.arrows()
    drawn: dict[str, set[str]] = {name: set() for name in rooms}
    for name, other in re.findall(r"<title>(\w+) imports (\w+)</title>", picture.svg()):
        drawn[name].add(other)

    def below(name: str) -> set[str]:
        return drawn[name].union(*(below(each) for each in drawn[name]))

    assert all(drawn[name] <= rooms[name] for name in rooms)
    assert {name: below(name) >= others for name, others in rooms.items()} == dict.fromkeys(rooms, True)


def test_a_way_that_a_longer_one_says_is_not_drawn_and_nothing_leads_upwards() -> None:
    house = {"action": {"task", "engine"}, "task": {"engine"}, "engine": set()}
    rooms = {name: frozenset(others) for name, others in house.items()}
    assert picture.without_short_cuts(rooms) == {"action": ["task"], "task": ["engine"], "engine": []}
    assert picture.floors(rooms) == {"action": 2, "task": 1, "engine": 0}


def test_no_two_rooms_touch() -> None:
    made = picture.plan(picture.arrows())
    for row in made.rows:
        places = [made.x[name] for name in row if ">" not in name]
        assert all(right - left >= picture.WIDE for left, right in pairwise(places)), row


def test_an_import_that_crosses_a_wall_is_not_drawn(tmp_path: Path) -> None:
    for name, text in (("engine", ""), ("node", "from ..lint import x"), ("lint", "")):
        file = tmp_path / "plugins" / "plugin_utils" / name / "a.py"
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"node/a.py:1: imports plugins.plugin_utils.lint.x; .* may import"):
        picture.svg(tmp_path)
