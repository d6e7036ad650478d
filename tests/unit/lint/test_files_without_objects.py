"""Files that can have no object are not parsed, and the findings are those of a run that parses everything."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import sources
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, add_unreadable, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from tests.conftest import ROOT
from tests.corpus.__main__ import manifests

POD = "{v}: v1\n{k}: Pod\nspec: {{os: {{name: windows}}, hostPID: true, containers: [{{name: c}}]}}\n"
SPELLED = {
    "plain": ("apiVersion", "kind"),
    "quoted": ('"apiVersion"', "'kind'"),
    "asked": ("? apiVersion\n", "? kind\n"),
    "tagged": ("!!str apiVersion", "&key kind"),
    "hexadecimal": ('"\\x61piVersion"', '"\\x6bind"'),
    "unicode": ('"api\\u0056ersion"', '"\\U0000006bind"'),
    "broken in two": ('? "api\\\n  Version"\n', '? "ki\\\n  nd"\n'),
}


def said(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """All that a run over a folder says, and the files of which it got documents."""
    inputs = sources.read_inputs([str(folder)])
    report = add_unreadable(lint(inputs.documents, Profile()), inputs.unreadable)
    whole = {name: value for name, value in _as_dict(report).items() if name != "found"}
    found = [asdict(each) for each in (*report.findings, *report.silenced_findings)]
    return {**whole, "findings": found, "empty": inputs.empty}, sorted({each.file for each in inputs.documents})


def _as_dict(report: Report) -> dict[str, Any]:
    return {name: getattr(report, name) for name in Report.__dataclass_fields__}


def both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str]]:
    """Of which files there are documents, and of which if all are parsed; both runs say the same."""
    ours, some = said(folder)
    monkeypatch.setattr(sources, "may_hold_objects", lambda text: True)
    theirs, every = said(folder)
    assert ours == theirs
    return some, every


def test_this_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles, workflows and tables beside manifests, all fixtures of the linter among them."""
    some, every = both(ROOT, monkeypatch)
    assert set(some) < set(every) and len(every) - len(some) > 100


def test_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, manifest in enumerate(manifests()):
        (tmp_path / f"{number}.yml").write_text(yaml.safe_dump_all(manifest.objects), encoding="utf-8")
    some, every = both(tmp_path, monkeypatch)
    assert some == every and len(every) > 400


@pytest.mark.parametrize(("version", "kind"), SPELLED.values(), ids=SPELLED)
def test_however_its_keys_are_written(tmp_path: Path, version: str, kind: str) -> None:
    text = POD.format(v=version, k=kind)
    (tmp_path / "pod.yml").write_text(text, encoding="utf-8")
    documents = read_documents("pod.yml", text)
    assert [each.value["kind"] for each in documents] == ["Pod"]
    found, files = said(tmp_path)
    assert len(files) == 1 and "host-pid" in {each["rule"] for each in found["findings"]}


def test_a_broken_file_that_is_named_is_told(tmp_path: Path) -> None:
    (tmp_path / "values.yml").write_text("a: [1, 2}\n", encoding="utf-8")
    assert sources.read_inputs([str(tmp_path)]).unreadable == []
    (fault,) = sources.read_inputs([str(tmp_path / "values.yml")]).unreadable
    assert fault.unchecked == "file"
