"""`make newest`: what is found of the project's own releases, and what is held against which newest."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from tests.newest import __main__ as newest
from tests.newest.__main__ import Named
from tests.real.build import KUBERNETES

LISTED = {
    "github.com/containerd/containerd/v2": ["2.3.7", "2.3.8", "2.4.3", "2.5.0-beta.0"],
    "github.com/flannel-io/flannel": ["0.28.10"],
    "k8s.io/kubernetes": ["1.36.1", "1.37.2", "1.38.0-beta.0"],
}


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest, "list_versions", lambda module: tuple(map(Version.parse, LISTED.get(module, ()))))
    monkeypatch.setattr(newest, "noted", lambda: (Version.parse("1.36.6"),))
    monkeypatch.setattr(newest, "is_given_out", lambda _module, release: release.patch < 6)
    monkeypatch.setattr(newest, "of_manifest", lambda: (Version.parse("1.9.1-flannel3"),))


@pytest.mark.parametrize(
    ("project", "release", "last"),
    [
        ("containerd", "2.3.7", "2.3.8"),
        ("containerd", "2.4.2", "2.4.3"),
        ("containerd", "2.2.9", None),
        ("kubernetes", "1.36.3", "1.36.6"),
        ("kubernetes", "1.37.1", "1.37.2"),
        ("flannel", "0.28.0", "0.28.10"),
        ("flannel-cni", "1.2.0-flannel1", "1.9.1-flannel3"),
        ("fluent_bit", "5.1.1", None),
    ],
)
def test_a_release_is_held_against_its_line_or_the_newest_of_all(project: str, release: str, last: str | None) -> None:
    found = newest.find_newest(newest._named("here", project, release))
    assert found == (Version.parse(last) if last else None)


def test_of_what_comes_through_the_proxy_the_newest_is_what_it_gives_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The notes name 1.36.6, which the proxy refuses; of flannel's plugin it has nothing."""
    monkeypatch.setattr(newest, "noted", lambda: tuple(map(Version.parse, ("1.36.5", "1.36.6"))))
    read = Named("feature_gates.txt", "kubernetes", Version.parse("1.36.3"), KUBERNETES, fetched=True)
    assert newest.find_newest(read) == Version.parse("1.36.5")
    assert newest.find_newest(replace(read, release=Version.parse("1.36.6"))) == Version.parse("1.36.6")
    plugin = newest._named("tests/real/build.py", "flannel-cni", "1.2.0-flannel1")
    assert newest.find_newest(replace(plugin, fetched=True)) is None


def test_what_stays_behind_for_a_reason_says_it_and_is_not_counted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = Named("here", "containerd", Version.parse("2.3.7"), "github.com/containerd/containerd/v2")
    monkeypatch.setattr(newest, "by_default", lambda: iter([named, replace(named, held="recorded at this one")]))
    monkeypatch.setattr(newest, "built", lambda: iter(()))
    monkeypatch.setattr(newest, "read_at", lambda: iter(()))
    newest.main()
    *lines, last = capsys.readouterr().out.splitlines()
    assert "here: containerd 2.3.7, newest 2.3.8 (recorded at this one)" in lines
    assert json.loads(last) == {"checked": 2, "behind": ["here: containerd 2.3.7 < 2.3.8"]}


def test_each_default_each_build_and_each_table_is_looked_at() -> None:
    assert {"winkube_flannel_version", "winkube_containerd_version"} <= {each.where for each in newest.by_default()}
    assert {"hcsshim", "flannel", "kubernetes"} <= {each.project for each in newest.built()}
    lines = {str(each.release.line) for each in newest.read_at()}
    assert lines == {"1.35", "1.36", "1.37"}
    assert all(not each.release.pre for each in newest.read_at()), "a table was read at a release of each line"


def test_a_table_that_was_read_at_no_release_of_a_line_is_behind(tmp_path: Path) -> None:
    for name in newest.TABLES:
        (tmp_path / name).write_text("# Source: kubernetes, at\n#   v1.36.6 v1.37.2\nA 1.22:ga+\n")
    behind = [each for each in newest.read_at(tmp_path) if each.release < Version.parse("1.36.0")]
    assert {str(each.release) for each in behind} == {"1.35.0-0"}


def test_the_last_line_is_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert newest.main() == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(told) == {"checked", "behind"} and told["checked"] >= len(told["behind"])
