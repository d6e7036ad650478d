"""The public cases and the healthy nodes of tests/judge.

With separate tables of checks and questions 7 of 78 cases had their cause named first, 70 had it named nowhere, and 16
of 30 healthy nodes had a finding.
"""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import NOT_KNOWN, meanings

from tests.judge.__main__ import SETS, kind_of, texts
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


def test_an_answer_counts_once_by_what_it_is_worth() -> None:
    definite, place = (
        {"id": "a.b", "cause": "Because."},
        {"id": NOT_KNOWN, "cause": "Not known: HNS, making a network."},
    )
    several = {"id": "a.b", "cause": "Several.", "causes": ["a.b", "a.c"]}
    assert kind_of({"first": "a.b"}, [definite]) == "first"
    assert kind_of({"first": ["a.c", "a.b"]}, [definite]) == "first"
    assert (kind_of({"first": "a.c"}, [several]), kind_of({"first": "a.d"}, [several])) == ("list", "wrong")
    assert (kind_of({"first": "a.c"}, [definite]), kind_of({"place": ["HNS"]}, [definite])) == ("wrong", "wrong")
    assert (kind_of({"place": ["HNS"]}, [place]), kind_of({"place": ["pod"]}, [place])) == ("place", "unknown")
    assert (kind_of({"place": []}, []), kind_of({"place": []}, [definite])) == ("place", "wrong")
    assert kind_of({"first": "a.b"}, []) == "unknown"


def test_the_sets_that_nobody_mended_on_say_where_each_text_is_from_and_what_is_right() -> None:
    for name in SETS:
        for case in texts(name):
            wanted = case.get("first") or []
            assert case["source"] and case["title"] and case["message"] and ("first" in case or "place" in case)
            assert {wanted} <= KNOWN.keys() if isinstance(wanted, str) else set(wanted) <= KNOWN.keys()
