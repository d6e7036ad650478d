"""The linter on what other people wrote, and on planted mistakes (`make corpus` prints the same as figures)."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.corpus import __main__ as corpus
from tests.corpus import rendered_by
from tests.corpus.facts import flat, object_of
from tests.corpus.planted import Planted, mistakes
from tests.corpus.upstream import Comparison


@pytest.mark.slow
@pytest.mark.row("LM-71")
def test_public_manifests_have_right_findings_and_no_false_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Before the rules distinguished unknown clusters, 68 errors were false, and 560 of 884 findings were right."""
    corpus.main()
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["manifests"] >= 440
    assert figures["false_errors"] == 0
    assert figures["right"] >= 0.95 * figures["findings"]
    assert figures["found"] >= 0.95 * figures["planted"]
    assert figures["agree"] == figures["upstream"] > 1300
    assert figures["unasked"] < 0.1 * figures["upstream"]
    frozen = figures["frozen"]
    assert frozen["manifests"] >= 60 and frozen["false_errors"] == 0
    assert frozen["found"] >= 0.8 * frozen["planted"] and frozen["planted"] >= 60
    assert figures["hygiene_share"] < 0.3
    assert figures["types"]["false"] == 0
    unknown = ("repository_false_errors", "charts", "hook_equals_folder")
    assert [figures[name] for name in unknown] == [None] * 3, "nothing was rendered, so nothing is known"
    assert figures["fields_without_verdict"] == 0


@pytest.mark.parametrize("planted", [pytest.param(each, id=each.mistake) for each in mistakes()])
def test_a_planted_mistake_is_found(planted: Planted) -> None:
    assert corpus.found(planted)


def test_facts_make_the_object_again() -> None:
    thing = {"spec": {"a.b/c": [{"x": 1}, "y", {}], "d": [], "e": {"f": False}}, "g": ""}
    assert object_of(dict(flat(thing))) == thing


def test_a_finding_that_nobody_judged_is_no_right_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": SPEC}
    manifest = corpus.Manifest("here", (pod,), {})
    monkeypatch.setattr(corpus, "manifests", lambda: iter([manifest]))
    monkeypatch.setattr(corpus, "mistakes", lambda: iter([]))
    monkeypatch.setattr(corpus, "compare", lambda: Comparison(0, 0, 0, []))
    monkeypatch.setattr(corpus, "frozen_figures", dict)
    assert corpus.main() == 1
    assert "not judged: here: " in capsys.readouterr().out


SPEC = {"hostPID": True, "nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "c"}]}


def test_without_helm_and_kubectl_nothing_is_known_of_repositories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed before: 0 false errors, of charts that nothing had rendered."""
    totals = Counter({"repositories": 12, "repository_false_errors": 0, "charts seen": 3})
    nothing = Comparison(0, 0, 0, [])
    monkeypatch.setattr(corpus, "frozen_figures", dict)
    monkeypatch.setattr(rendered_by, "missing", lambda: "python -m tests.real.build helm@1")
    figures = corpus.line(totals, nothing)
    assert (figures["repository_false_errors"], figures["charts"]) == (None, None)
    monkeypatch.setattr(rendered_by, "missing", lambda: "")
    figures = corpus.line(totals, nothing, {"a chart": True, "an overlay": False})
    assert (figures["repository_false_errors"], figures["charts"]["seen"]) == (0, 3)
    assert figures["hook_equals_folder"] is False
