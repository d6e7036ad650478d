"""A maintenance window ends at a time of day, or a while after the run has begun."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.until import find_end

BEGAN = datetime(2026, 11, 29, 23, 10, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("23:30", "2026-11-29T23:30:00+00:00"),
        ("5:00", "2026-11-30T05:00:00+00:00"),
        ("23:10", "2026-11-30T23:10:00+00:00"),
        ("4h", "2026-11-30T03:10:30+00:00"),
        ("90m", "2026-11-30T00:40:30+00:00"),
        ("1h30m", "2026-11-30T00:40:30+00:00"),
        ("0m", "2026-11-29T23:10:30+00:00"),
    ],
)
def test_the_first_such_time_after_the_start(text: str, end: str) -> None:
    assert find_end(text, BEGAN).isoformat() == end


@pytest.mark.parametrize("text", ["", "25:00", "5", "h", "5:0", "later", "05:00:00"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="neither a time of day"):
        find_end(text, BEGAN)
