"""The linter on what other people wrote, and on planted mistakes (`make corpus` prints the same as figures)."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from tests.corpus import __main__ as corpus
from tests.corpus import rendered_by
from tests.corpus.facts import flat, object_of
from tests.corpus.planted import Planted, mistakes
from tests.corpus.repositories import Judgement, judge
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
    monkeypatch.setattr(rendered_by, "missing", lambda: ["helm@1"])
    figures = corpus.line(totals, nothing)
    assert (figures["repository_false_errors"], figures["charts"]) == (None, None)
    monkeypatch.setattr(rendered_by, "missing", list)
    figures = corpus.line(totals, nothing, {"a chart": True, "an overlay": False})
    assert (figures["repository_false_errors"], figures["charts"]["seen"]) == (0, 3)
    assert figures["hook_equals_folder"] is False


def test_what_is_said_of_a_repository_stands_against_what_people_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed before: warnings were not judged, and a right finding that was gone was not missed."""
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {**SPEC, "os": {"name": "windows"}}}
    (tmp_path / "pod.yaml").write_text(json.dumps(pod), encoding="utf-8")
    (tmp_path / "chart").mkdir()
    (tmp_path / "chart" / "Chart.yaml").write_text("name: web\n", encoding="utf-8")
    monkeypatch.setenv("PATH", "/nonexistent")
    right = Judgement("missing-memory-limit", ("pod.yaml:1", "gone.yaml"), True, "so it is")
    judged = judge("here", tmp_path, [right, Judgement("missing-cpu-request", ("pod.yaml:1",), False, "")], True)
    assert (judged.found, judged.judged, judged.right) == (3, 2, 1)
    assert [each.partition(": ")[0] for each in judged.false_errors] == ["host-pid pod.yaml:1"]
    assert judged.gone == ("missing-memory-limit gone.yaml",) and judged.open == ()
    assert judged.charts == (1, 0, 1, 0) and judged.overlays == (0, 0, 0)
    monkeypatch.setattr(corpus, "hook_equals_folder", dict)
    monkeypatch.setattr(rendered_by, "missing", list)
    for name in ("manifests", "mistakes"):
        monkeypatch.setattr(corpus, name, lambda: iter([]))
    monkeypatch.setattr(corpus, "compare", lambda: Comparison(0, 0, 0, []))
    monkeypatch.setattr(corpus, "frozen_figures", dict)
    assert corpus.main([judged]) == 1
    said = capsys.readouterr().out
    assert "here: false: host-pid pod.yaml:1: " in said and "gone, and it was right: missing-memory-limit" in said
    figures = json.loads(said.splitlines()[-1])
    assert figures["repository_false_errors"] == 1 and figures["with_charts_or_overlays"] == 1
    assert figures["repository_findings"] == {"found": 3, "judged": 2, "right": 1}


def test_repositories_are_read_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed before: an overlay whose base is a URL was rendered on one day, and not on another."""
    monkeypatch.setenv("https_proxy", "http://proxy.example.com")
    with rendered_by.at_hand():
        assert os.environ["GIT_ALLOW_PROTOCOL"] == "file" and "127.0.0.1" in os.environ["https_proxy"]
    assert "GIT_ALLOW_PROTOCOL" not in os.environ and os.environ["https_proxy"] == "http://proxy.example.com"
