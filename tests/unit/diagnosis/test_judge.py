"""The public cases and the healthy nodes of tests/judge.

With separate tables of checks and questions 7 of 78 cases had their cause named first, 70 had it named nowhere, and 16
of 30 healthy nodes had a finding.
"""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings

from tests.judge.__main__ import kind_of
from tests.judge.case import Case, judge, load

CASES, HEALTHY = load("cases"), load("healthy")


def test_there_are_enough_of_them_and_each_says_where_it_is_from() -> None:
    assert len(CASES) >= 60
    assert len(HEALTHY) >= 25
    assert all(each.data.get("source") and each.data.get("title") for each in (*CASES, *HEALTHY))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cause_or_else_the_place_is_named_first(case: Case) -> None:
    if case.place:
        assert kind_of(case.data, meanings(str(case.data["message"]), "win1")) == "place"
        return
    answer = judge(case)
    assert case.first in KNOWN
    assert answer.causes[:1] == (case.first,)
    assert not case.never & set(answer.named)


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_a_healthy_node_has_no_finding(case: Case) -> None:
    assert [f"{each.id}: {each.text}" for each in judge(case).findings] == []
