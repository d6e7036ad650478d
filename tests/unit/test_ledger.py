"""`make ledger`: what is read out of Kubernetes' notes, and what the table of its fixes has to have of it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes_fixes import FIXES
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from tests.ledger import __main__ as ledger

NOTES = """\
# v1.34.8

## Changes by Kind

### Feature

- Promoted Windows something. ([#1](https://github.com/kubernetes/kubernetes/pull/1), [@a](https://github.com/a))

### Bug or Regression

- Fixed stale remote HNS endpoint cleanup. ([#138601](https://github.com/kubernetes/kubernetes/pull/138601), [@a](b))
- Fixed something of Linux. ([#2](https://github.com/kubernetes/kubernetes/pull/2), [@a](b)) [SIG Node]
- Fixed what a line
  break hides from winkernel. ([#3](https://github.com/kubernetes/kubernetes/pull/3), [@a](b)) [SIG Network]

## Dependencies

- github.com/Microsoft/hnslib: [v0.1.1](https://github.com/kubernetes/kubernetes/pull/4)

# v1.34.0-rc.1

### Bug or Regression

- Fixed Windows in a candidate. ([#5](https://github.com/kubernetes/kubernetes/pull/5), [@a](b))
"""
LAST = Version.parse("1.34.8")


def test_candidates_are_bugs_of_final_releases_that_speak_of_windows() -> None:
    assert [(str(each.release), each.pull) for each in ledger.candidates(NOTES)] == [("1.34.8", 138601), ("1.34.8", 3)]
    assert str(next(ledger.candidates(NOTES))) == "1.34.8 #138601: Fixed stale remote HNS endpoint cleanup."
    assert ledger.final_releases(NOTES) == (LAST,)


def test_what_was_not_reviewed_and_what_no_note_says_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    (fix,) = (each for each in FIXES if each.id == "winkernel-address-of-both")
    monkeypatch.setattr(ledger, "FIXES", (fix,))
    monkeypatch.setattr(ledger, "READ", {Line(1, 34): 9})
    notes = list(ledger.candidates(NOTES))
    said = list(ledger.faults({Line(1, 34): NOTES}, notes))
    assert said[0] == "READ has 1.34.9; the notes end with 1.34.8."
    assert "The table has #138602 in 1.35.5; the notes of 1.35.5 do not." in said
    assert said[-1].startswith("not reviewed: 1.34.8 #3: Fixed what a line break hides")
    assert not any("138601" in each for each in said)


def test_a_release_whose_own_archive_ends_before_it_is_not_known_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "v1.34.9.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("k8s.io/kubernetes@v1.34.9/CHANGELOG/CHANGELOG-1.34.md", NOTES)
    monkeypatch.setattr(ledger, "download", lambda _module, _what: archive)
    monkeypatch.setattr(ledger, "listed", lambda: (LAST, Version.parse("1.34.9")))
    monkeypatch.setattr(ledger, "OTHERS", ())
    assert ledger.main(["1.34.9"]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith('{"releases": 1, "lines": 2') and last.endswith('"not_known_yet": ["1.34.9"]}')


def test_notes_of_another_module_are_counted_and_those_of_windows_named(tmp_path: Path) -> None:
    """containerd's old releases lie beside those of the module's own major version."""
    files = {
        "releases/v1.6.0.toml": "Windows",
        "releases/v2.4.0.toml": "Linux",
        "releases/v2.4.1.toml": "a fix of HNS",
        "releases/README.md": "Windows",
        "pkg/CHANGELOG.md": "Windows",
    }
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made:
        for name, text in files.items():
            made.writestr(f"github.com/containerd/containerd/v2@v2.4.1/{name}", text)
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        assert ledger.describe_notes(archive) == "2 files of notes in the module, of Windows speak releases/v2.4.1.toml"
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as made:
        made.writestr("github.com/Microsoft/hcsshim@v0.15.0/README.md", "Windows")
    with zipfile.ZipFile(tmp_path / "y.zip") as archive:
        assert ledger.describe_notes(archive) == "0 files of notes in the module, none speaks of Windows"
