"""`make doors` on a sample, and that it finds a door that stands open."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.gate import Fields
from ansible_collections.winkube.node.plugins.plugin_utils.node import answer

from tests import doors


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
    assert count.answers == len(doors.OF_READING) + len(doors.DOCUMENTS) and count.lies > 300


def test_a_door_that_stands_open_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    open_door: Mapping[str, Fields] = {name: Fields() for name in answer.PARTS}
    monkeypatch.setattr(answer, "PARTS", {**answer.PARTS, "system": open_door["system"]})
    monkeypatch.setattr(answer, "ANSWER", Fields(answer=answer.ANSWER.shapes["answer"]))
    count = doors.Count()
    doors.attack_answers(count)
    assert not count.clean
