"""`make doors` on a sample, and that it finds a door that stands open."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.answer import Answer, Result
from ansible_collections.winkube.node.plugins.plugin_utils.engine.gate import At, Fields, Listing, Record
from ansible_collections.winkube.node.plugins.plugin_utils.node import answer

from tests import doors
from tests.doors.arguments import DOCUMENTS, OF_READING


def test_no_lie_about_a_batch_is_accepted() -> None:
    count = doors.Count()
    doors.attack_answers(count)
    assert count.clean, count.told
    assert count.answers == len(doors.ANSWERS) and count.lies > 500


@pytest.mark.exhaustive
def test_no_lie_of_a_sample_of_a_reading_is_accepted() -> None:
    bench, count = doors.Bench(), doors.Count()
    doors.attack_readings(bench, count, 97)
    assert count.clean, count.told
    assert count.answers > 100 and count.named_host_and_field > 20


def test_no_lie_of_a_cluster_is_accepted() -> None:
    count = doors.Count()
    doors.attack_cluster_reading(count)
    assert count.clean, count.told
    assert count.answers == len(OF_READING) + len(DOCUMENTS) and count.lies > 300


def test_a_door_that_stands_open_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    open_door: Mapping[str, Fields] = {name: Fields() for name in answer.PARTS}
    monkeypatch.setattr(answer, "PARTS", {**answer.PARTS, "system": open_door["system"]})
    anything = {name: At(name, lambda value, path: value, "") for name in ("answer", "outcome", "batch", "n", "ok")}
    result = Record(Result, n=anything.pop("n"), ok=anything.pop("ok"), op=At("op", answer.WORD))
    held = {"results": At("results", Listing(result), ()), "state": At("state", Fields(), {})}
    monkeypatch.setattr(answer, "ANSWER", Record(Answer, **anything, **held))
    count = doors.Count()
    doors.attack_answers(count)
    assert not count.clean
