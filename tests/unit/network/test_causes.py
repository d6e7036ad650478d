"""Causes before consequences: no finding is lost, whatever explains it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from itertools import combinations, pairwise

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN, report_of
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import ERROR, Cause
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding, Seen
from ansible_collections.winkube.node.plugins.plugin_utils.words.remedy import Remedy


def finding(identity: str, *explains: str) -> Finding:
    return Finding(Cause(identity, ERROR, identity, "", Remedy("Mend it."), explains=explains), Seen("it", "is so"))


def names(one: Finding, other: Finding) -> bool:
    return any(fnmatchcase(other.id, pattern) for pattern in one.explains)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_of_two_findings_one_is_a_cause(every: bool) -> None:
    """Failed before: cni.network-name and flannel.net-conf-name explained each other, and neither was reported."""
    found = [finding(cause.id, *cause.explains) for cause in KNOWN.values()]
    related = [pair for pair in combinations(found, 2) if names(*pair) or names(*reversed(pair))]
    assert len(related) > len(found)
    for one, other in combinations(found, 2) if every else (*related, *pairwise(found)):
        report = report_of((one, other))
        assert len(report.findings) == 2
        assert sum(1 + len(cause.consequences) for cause in report.causes) == 2


def test_what_follows_stands_beneath_its_root() -> None:
    found = (finding("a.one", "b.*"), finding("b.two", "c.*"), finding("c.three"), finding("d.four"))
    report = report_of(found)
    assert [cause.finding.id for cause in report.causes] == ["a.one", "d.four"]
    assert [each.id for each in report.causes[0].consequences] == ["b.two", "c.three"]
    assert len(report.findings) == len(found)


def test_nothing_is_lost_where_findings_explain_each_other() -> None:
    found = (finding("a.one", "b.two"), finding("b.two", "a.one"))
    assert len(report_of(found).findings) == len(found)
