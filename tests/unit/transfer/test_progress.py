"""A line per part: what it says, and when nothing is said."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.transfer.progress import Progress, line, show

SECOND = Progress(part=2, parts=5, sent=16_000_000, total=37_200_000, seconds=8.0)


def test_the_line() -> None:
    assert line("[win1] kubelet.exe", SECOND) == "[win1] kubelet.exe: part 2 of 5, 16.0 of 37.2 MB, 11 s left"
    assert line("x", Progress(5, 5, 37_200_000, 37_200_000, 20.0)) == "x: part 5 of 5, 37.2 of 37.2 MB, done"


@pytest.mark.parametrize(
    ("environment", "watched", "parts", "said"),
    [
        ({}, True, 5, 1),
        ({}, False, 5, 0),
        ({"CI": "true"}, True, 5, 0),
        ({"CI": "false"}, True, 5, 1),
        ({"CI": ""}, True, 5, 1),
        ({}, True, 1, 0),
    ],
)
def test_only_for_somebody_who_watches(environment: dict[str, str], watched: bool, parts: int, said: int) -> None:
    lines: list[str] = []
    show("x", lines.append, environment, watched)(Progress(1, parts, 1, 2, 1.0))
    assert len(lines) == said
