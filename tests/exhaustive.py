"""The one marker that decides what runs at night alone: `exhaustive`, of a test or of some of its cases.

`@pytest.mark.exhaustive`: all cases. `("a", "b")`: the cases of these ids. `(keep=("c",))`: all but these.
`(but_one_in=4)`: all but one of four, by their names, so that each run has a sample. Lane wine is exhaustive, too.
"""

from __future__ import annotations

from zlib import crc32

import pytest

MARKER = "exhaustive"
HELP = f"{MARKER}(*cases, keep, but_one_in): part of `make check-whole` only: more of what `make test` shows already"


def is_exhaustive(item: pytest.Item) -> bool:
    """Whether a test is left to the night."""
    lane = item.get_closest_marker("lane")
    return (lane is not None and "wine" in lane.args) or any(_means(mark, item) for mark in item.iter_markers(MARKER))


def _means(mark: pytest.Mark, item: pytest.Item) -> bool:
    case = getattr(getattr(item, "callspec", None), "id", "")
    if "keep" in mark.kwargs:
        return case not in mark.kwargs["keep"]
    if "but_one_in" in mark.kwargs:
        return crc32(item.nodeid.encode()) % int(mark.kwargs["but_one_in"]) != 0
    return not mark.args or case in mark.args


def settle(item: pytest.Item) -> None:
    """Leave the marker at the test if it is exhaustive, and at no other: `-m` looks at the name alone."""
    found = is_exhaustive(item)
    item.own_markers[:] = [mark for mark in item.own_markers if mark.name != MARKER]
    if found:
        item.add_marker(MARKER)
