"""Folders as they are: broken files, templates, charts, streams of JSON, encodings, credentials; rules of one's own."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import mask
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from .test_reports import run

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "os": {"name": "windows"},
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "hostPID": True,
        "containers": [
            {"name": "c", "image": "registry.example.com/c:1", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}
        ],
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "pod.yml").write_text(yaml.safe_dump(POD), encoding="utf-8")
    return tmp_path


def reported(*options: str) -> dict[str, Any]:
    return dict(json.loads(run("--format", "json", *options)[1]))


def test_one_unreadable_file_does_not_hide_the_others(folder: Path) -> None:
    """Failed before: the run ended with status 2, without a word about the other files."""
    (folder / "deploy" / "broken.yml").write_text("apiVersion: v1\nkind: Pod\na: [", encoding="utf-8")
    (folder / "deploy" / "none.yml").write_text("a: [", encoding="utf-8")
    code, out, _ = run("deploy")
    assert code == cli.FINDINGS
    assert (
        "deploy/broken.yml:4:1: error: this is not valid YAML" in out and "deploy/pod.yml" in out and "host-pid" in out
    )
    found = reported("deploy")["findings"]
    assert found[0]["id"] == "unreadable-file"
    assert "none.yml" not in out, "it does not say that it is a manifest"
    sarif = json.loads(run("--format", "sarif", "deploy")[1])["runs"][0]
    ids = [each["id"] for each in sarif["tool"]["driver"]["rules"]]
    assert all(ids[each["ruleIndex"]] == each["ruleId"] for each in sarif["results"])


def test_a_template_is_said_to_be_one_and_is_no_error(folder: Path) -> None:
    (folder / "deploy" / "web.yaml").write_text(
        "{{- if .Values.web }}\napiVersion: v1\nkind: Pod\n{{- end }}\n", encoding="utf-8"
    )
    (first,) = [each for each in reported("deploy")["findings"] if each["id"] == "not-checked"]
    assert first["severity"] == "info" and "render it first" in first["message"]


def test_a_template_in_quotes_is_no_value(folder: Path) -> None:
    pod = json.loads(json.dumps(POD))
    pod["spec"] |= {"os": {"name": "{{ .Values.os }}"}, "hostPID": False}
    (folder / "deploy" / "pod.yml").write_text(yaml.safe_dump(pod), encoding="utf-8")
    assert [each for each in reported("deploy")["findings"] if "{{" in each["message"]] == []


@pytest.mark.parametrize("pattern", ["deploy/old", "old/", "*/old/*", "deploy/old/*.yml"])
def test_excluded_files(folder: Path, pattern: str) -> None:
    (folder / "deploy" / "old").mkdir()
    (folder / "deploy" / "old" / "bad.yml").write_text("a: [", encoding="utf-8")
    assert {each["file"] for each in reported("--exclude", pattern, "deploy")["findings"]} == {"deploy/pod.yml"}
    (folder / ".workload-lint.yml").write_text(f'exclude: ["{pattern}"]\n', encoding="utf-8")
    assert {each["file"] for each in reported("deploy")["findings"]} == {"deploy/pod.yml"}


def test_severity_and_switching_off(folder: Path) -> None:
    def said(*options: str) -> dict[str, str]:
        return {each["id"]: each["severity"] for each in reported(*options, "deploy")["findings"]}

    assert said() == {"host-pid": "error"}
    assert said("--disable", "host-pid") == {}
    assert said("--severity", "host-pid=info") == {"host-pid": "info"}
    (folder / ".workload-lint.yml").write_text("severity: {host-pid: warning}\n", encoding="utf-8")
    assert said() == {"host-pid": "warning"}
    assert said("--disable", "host-pid") == {}
    (folder / ".workload-lint.yml").write_text("disable: [host-pid]\n", encoding="utf-8")
    assert said() == {}
    assert run("--disable", "no-such-rule", "deploy")[0] == cli.UNUSABLE
    assert "a severity is error, warning or info" in run("--severity", "host-pid=bad", "deploy")[2]


def test_utf_16_on_standard_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(yaml.safe_dump(POD).encode("utf-16"))))
    assert [each["id"] for each in reported("-")["findings"]] == ["host-pid"]


@pytest.mark.parametrize("between", ["", "\n", "\n\n  "])
def test_json_values_one_after_the_other(between: str) -> None:
    """`kubectl get -o json` of several, `jq` without -s: places are those of the whole text."""
    text = between.join([json.dumps(POD, indent=1), json.dumps({**POD, "metadata": {"name": "q"}}, indent=1)])
    first, second = read_documents("f.json", text)
    assert (first.value["metadata"], second.value["metadata"]) == ({"name": "p"}, {"name": "q"})
    line, _ = second.position(("spec", "hostPID"))
    assert "hostPID" in second.line(line) and line > first.position(("spec", "hostPID"))[0]


def test_charts_and_kustomizations_are_rendered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, program in (("Chart.yaml", "helm"), ("kustomization.yaml", "kustomize")):
        (folder / "deploy" / program).mkdir()
        (folder / "deploy" / program / name).write_text("a: {{ nothing that could be read }}: [", encoding="utf-8")
        script = folder / "bin" / program
        script.parent.mkdir(exist_ok=True)
        pod = json.dumps({**POD, "metadata": {"name": program}})
        script.write_text(f"#!/bin/sh\necho '{pod}'\n", encoding="utf-8")
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
    found = reported("deploy")["findings"]
    assert {each["object"] for each in found} == {"Pod default/helm", "Pod default/kustomize", "Pod default/p"}
    assert all(each["line"] == 0 for each in found if each["object"] != "Pod default/p"), "lines of no file"
    (folder / "bin" / "helm").write_text("#!/bin/sh\necho no values >&2\nexit 1\n", encoding="utf-8")
    assert "this chart was not checked: no values." in run("deploy")[1]


def program(path: Path, says: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n", encoding="utf-8")
    path.chmod(0o755)


def test_what_a_chart_is_rendered_to_has_the_names_of_its_templates(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    templates = folder / "chart" / "templates"
    templates.mkdir(parents=True)
    (folder / "chart" / "Chart.yaml").write_text("name: shop\n", encoding="utf-8")
    (templates / "pod.yaml").write_text("{{ .Values.pod }}", encoding="utf-8")
    monkeypatch.setenv("PATH", str(folder / "bin"))
    code, out, err = run("chart")
    assert code == cli.OK and "this chart was not checked: helm is not on the path." in out and not err
    code, out, _ = run("chart", "deploy", "--level", "never")
    assert out.count("[not-checked]") == 1 and "chart/Chart.yaml: info: " in out, "not one for each template"
    program(folder / "bin" / "helm", f"---\n# Source: shop/templates/pod.yaml\n{json.dumps(POD)}")
    assert {each["file"] for each in reported("chart")["findings"]} == {"chart/templates/pod.yaml"}
    run("chart", "--fix", "--write")
    assert (templates / "pod.yaml").read_text(encoding="utf-8") == "{{ .Values.pod }}", "a template is not a manifest"


def test_a_finding_of_a_kustomization_names_the_base(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "deploy" / "kustomization.yaml").write_text("namePrefix: a-\nresources: [pod.yml]\n", encoding="utf-8")
    rendered = json.loads(json.dumps(POD)) | {"metadata": {"name": "a-p"}}
    program(folder / "bin" / "kustomize", yaml.safe_dump(rendered))
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    (found,) = reported("deploy")["findings"]
    text = (folder / "deploy" / "pod.yml").read_text(encoding="utf-8").splitlines()
    assert found["file"] == "deploy/pod.yml" and "hostPID" in text[found["line"] - 1]


def test_a_patched_container_comes_first_and_is_found_in_its_base(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed before: the place of a finding of one container was that of another, once for each overlay."""
    containers = [{"name": name, "image": f"registry.example.com/{name}:1"} for name in ("first", "second")]
    pod = {**POD, "spec": {**POD["spec"], "hostPID": False, "containers": containers}}
    (folder / "deploy" / "pod.yml").write_text(yaml.safe_dump(pod), encoding="utf-8")
    (folder / "deploy" / "kustomization.yaml").write_text("resources: [pod.yml]\n", encoding="utf-8")
    program(
        folder / "bin" / "kustomize", yaml.safe_dump({**pod, "spec": {**pod["spec"], "containers": containers[::-1]}})
    )
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")
    lines = (folder / "deploy" / "pod.yml").read_text(encoding="utf-8").splitlines()
    found = [each for each in reported("deploy")["findings"] if each["id"] == "missing-memory-limit"]
    assert [(each["container"], each["path"][:18]) for each in found] == [
        ("first", "spec.containers[0]"),
        ("second", "spec.containers[1]"),
    ]
    assert all(f"/{each['container']}:1" in lines[each["line"] - 1] for each in found)


def test_a_folder_that_is_called_kustomization_is_none(folder: Path) -> None:
    (folder / "deploy" / "pod.yml").rename(folder / "pod.yml")
    (folder / "deploy" / "Kustomization").mkdir()
    (folder / "pod.yml").rename(folder / "deploy" / "Kustomization" / "pod.yml")
    said = reported("deploy")
    assert [each["id"] for each in said["findings"]] == ["host-pid"] and not any(
        said["summary"]["not_checked"].values()
    )


def test_a_template_with_a_flat_container_is_a_pod() -> None:
    runner = {
        "apiVersion": "actions.summerwind.dev/v1alpha1",
        "kind": "RunnerDeployment",
        "metadata": {"name": "r"},
        "spec": {"template": {"spec": {"image": "nginx", "nodeSelector": {"kubernetes.io/os": "windows"}}}},
    }
    found = lint(read_documents("r.yml", yaml.safe_dump(runner)), Profile()).findings
    assert [each.path for each in found if each.rule == "linux-image"] == ["spec.template.spec.image"]


def test_a_base_is_rendered_by_those_that_take_it_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, says in (
        ("base", "resources: [pod.yml]"),
        ("part", "kind: Component"),
        ("prod", "resources: [../base]\ncomponents: [../part]"),
        ("prod/eu", "bases: [../]"),
        ("test", "resources: [../base]"),
    ):
        (folder / "apps" / name).mkdir(parents=True, exist_ok=True)
        (folder / "apps" / name / "kustomization.yaml").write_text(f"{says}\n", encoding="utf-8")
    program(folder / "bin" / "kustomize", json.dumps(POD))
    monkeypatch.setenv("PATH", str(folder / "bin"))
    assert [each["file"] for each in reported("apps")["findings"] if each["id"] == "host-pid"] == [
        "apps/prod/eu/kustomization.yaml",
        "apps/test/kustomization.yaml",
    ]


def test_utf_16_without_its_mark(folder: Path) -> None:
    text = (folder / "deploy" / "pod.yml").read_text(encoding="utf-8")
    (folder / "deploy" / "pod.yml").write_bytes(text.encode("utf-16-le"))
    assert "host-pid" in run("deploy")[1]


def test_no_credentials_in_any_report(folder: Path) -> None:
    pod = json.loads(json.dumps(POD))
    pod["spec"]["containers"][0]["env"] = [
        {"name": "BROKER_URL", "value": "amqp://shop:hunter2@rabbit.shop:5672/"},
        {"name": "DB", "value": "Server=db.shop;User Id=sa;Password=hunter2;"},
        {"name": "DB_PASSWORD", "value": "http://hunter2.shop.svc"},
    ]
    pod["spec"]["containers"][0]["args"] = ["--url=http://api.shop", "--token=hunter2"]
    (folder / "deploy" / "pod.yml").write_text(yaml.safe_dump(pod), encoding="utf-8")
    for form in ("text", "json", "sarif", "github"):
        out = run("--format", form, "deploy")[1]
        assert "half-qualified-name" in out
        assert "hunter2" not in out.replace("hunter2.shop.svc", ""), form


def test_what_is_masked() -> None:
    assert mask("amqp://u:secret@h") == "amqp://u:***@h"
    assert mask("Password=x;Server=y") == "Password=***;Server=y"
    assert mask("--api-key=abc --x=1") == "--api-key=*** --x=1"
    assert mask("http://h/path") == "http://h/path"


def test_suppressions_by_their_kind(folder: Path) -> None:
    pod = json.loads(json.dumps(POD))
    pod["metadata"]["annotations"] = {"lint.winkube.node/host-pid": "known"}
    (folder / "deploy" / "pod.yml").write_text(yaml.safe_dump(pod), encoding="utf-8")
    (folder / "deploy" / "other.yml").write_text(yaml.safe_dump(POD), encoding="utf-8")
    (folder / ".workload-lint.yml").write_text(
        'ignore: [{rule: host-pid, reason: old, files: ["*other.yml"]}]\n', encoding="utf-8"
    )
    results = json.loads(run("--format", "sarif", "deploy")[1])["runs"][0]["results"]
    assert [each["suppressions"][0]["kind"] for each in results] == ["external", "inSource"]
    rules = json.loads(run("--format", "sarif", "deploy")[1])["runs"][0]["tool"]["driver"]["rules"]
    assert not any(
        "{" in each["fullDescription"]["text"] for each in rules if "{{" not in each["fullDescription"]["text"]
    )
    assert {each["defaultConfiguration"]["level"] for each in rules} == {"error", "warning", "note"}
