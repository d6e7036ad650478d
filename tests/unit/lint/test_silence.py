"""Findings that somebody accepts, and the traps of doing so."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.config import ConfigError, read_config
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings
from ansible_collections.winkube.node.plugins.plugin_utils.lint.silence import Ignore, SilenceError


def report(annotation: str, ignore: tuple[Ignore, ...] = (), template: str = "") -> Report:
    text = (
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  annotations: {{{annotation}}}\n"
        f"spec:\n  template:\n    metadata: {{annotations: {{{template}}}}}\n    spec:\n      os: {{name: windows}}\n"
        "      nodeSelector: {kubernetes.io/os: windows}\n      tolerations: [{operator: Exists}]\n"
        "      containers:\n      - {name: c, image: r.example.com/c:1}\n"
    )
    return lint(read_documents("deploy/web.yml", text), Profile(), ignore)


def names(found: Report) -> list[str]:
    return [each.rule for each in found.findings]


def test_by_annotation_at_the_object_or_its_template() -> None:
    assert names(report("")) == ["missing-memory-limit", "missing-cpu-request"]
    silenced = report('lint.winkube.node/missing-memory-limit: "a batch job, ends by itself"')
    assert names(silenced) == ["missing-cpu-request"]
    assert [each.silenced for each in silenced.silenced_findings] == ["a batch job, ends by itself"]
    assert names(report("", template="lint.winkube.node/missing-cpu-request: why")) == ["missing-memory-limit"]


@pytest.mark.parametrize(
    ("annotation", "sentence"),
    [
        (
            "lint.winkube.node/no-memory-limit: why",
            r"web.yml:5:17: annotation .* no rule 'no-memory-limit'; did you mean missing-memory-limit",
        ),
        ("lint.winkube.node/xyz: why", r"there is no rule 'xyz'; --list-rules lists them\.$"),
        ('lint.winkube.node/missing-memory-limit: ""', r"its value has to be the reason"),
        ("lint.winkube.node/missing-memory-limit: true", r"its value has to be the reason"),
    ],
)
def test_an_annotation_that_silences_nothing_is_an_error(annotation: str, sentence: str) -> None:
    with pytest.raises(SilenceError, match=sentence):
        report(annotation)


def test_by_configuration_file(tmp_path: Path) -> None:
    file = tmp_path / "lint.yml"
    file.write_text(
        "profile: '1.33'\nignore:\n- {rule: missing-memory-limit, reason: x, files: ['deploy/*'], objects: ['*/w*']}\n"
        "- {rule: [termination-grace-period, missing-cpu-request], reason: y, objects: ['Pod *']}\n",
        encoding="utf-8",
    )
    config = read_config(file)
    assert config.settings == {"profile": "1.33"}
    found = report("", config.ignore)
    assert names(found) == ["missing-cpu-request"]
    assert [each.where for each in found.unused] == [f"{file}:4:3"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "ignore:\n- {rule: run-as, reason: x}\n",
            "lint.yml:2:4: there is no rule 'run-as'; did you mean run-as-user, ",
        ),
        ("ignore:\n- {rule: run-as-user}\n", "lint.yml:2:3: reason is missing"),
        ("ignore:\n- {reason: x}\n", "lint.yml:2:3: rule is missing"),
        ("ignore:\n- {rule: run-as-user, reason: x, file: a}\n", "lint.yml:2:34: unknown key 'file'"),
        ("ignore:\n- run-as-user\n", "an entry of ignore is a mapping"),
        ("ignore: run-as-user\n", "ignore has to be a list"),
        ("ignore:\n- {rule: run-as-user, reason: x, files: a}\n", "files has to be a list of patterns"),
        ("dsr: true\nprofil: '1.33'\n", "lint.yml:2:1: unknown key 'profil'; known keys are profile, runtime"),
        ("- a\n", "the configuration has to be one mapping"),
        ("a: [\n", "this is not valid YAML"),
    ],
)
def test_a_configuration_with_a_fault_is_refused_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "lint.yml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_config(file)
    assert sentence in str(caught.value)


def test_a_configuration_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_config(tmp_path / "absent.yml")


PLACEHOLDER = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeSelector: {kubernetes.io/os: windows}
  hostNetwork: ${HOST}
  containers: [{name: c, image: a.example.com/c:1, env: [{name: A, value: <your value>}, {name: a, value: "{{ b }}"}]}]
"""
FLUX = """\
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps}
spec: {postBuild: {substitute: {HOST: "true"}}}
"""


def test_of_a_placeholder_the_weakest_is_said_unless_it_is_filled_in() -> None:
    """Failed before: a mistake beside `${NAME}` or `<name>` was silent."""

    def told(text: str, **settings: object) -> list[tuple[str, str]]:
        report = lint(read_documents("a.yml", text), apply_settings(Profile(), settings))
        return [(each.rule, each.severity.name) for each in report.findings if each.path == "spec.hostNetwork"]

    assert told(PLACEHOLDER) == [("undecodable-value", "INFO")]
    assert told(PLACEHOLDER, substitute=True) == told(PLACEHOLDER + FLUX) == []
    assert told(PLACEHOLDER.replace("${HOST}", '"{{ host }}"')) == [], "a template is rendered first"
    assert told(PLACEHOLDER + FLUX.replace("postBuild", "prune"))[0][1] == "INFO"
