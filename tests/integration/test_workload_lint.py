"""workload_lint in a real ansible-playbook on the controller: module, playbook, fix, and what it says of bad input."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, told
from tests.integration.warm import COLLECTIONS, warm
from tests.lab.cluster.kinds import BY_NAME

BAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      os: {name: windows}   # said so
      nodeSelector: {kubernetes.io/os: windows}
      tolerations: [{key: os, operator: Equal, value: windows, effect: NoSchedule}]
      containers:
        - name: web
          image: registry.example.com/web:1
          resources: {limits: {cpu: "1", memory: 1Gi}}
          securityContext:
            allowPrivilegeEscalation: false   # copied from Linux
"""
FIXED = BAD.replace(
    "          securityContext:\n            allowPrivilegeEscalation: false   # copied from Linux\n", ""
)


def run(folder: Path, playbook: str, *arguments: str, collections: str = str(COLLECTIONS)) -> tuple[int, str, str]:
    """Exit code, standard output, and everything that was printed."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        "ANSIBLE_COLLECTIONS_PATH": collections,
        "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
    }
    environment.pop("ANSIBLE_CONFIG", None)
    done = warm().run("ansible-playbook", [playbook, *arguments], environment, folder, 300)
    return done.rc, done.stdout, done.stdout + done.stderr


def play(folder: Path, arguments: dict[str, Any], *options: str) -> tuple[int, dict[str, Any], str]:
    """`run` with one task; its result instead of standard output."""
    tasks = [
        {"winkube.node.workload_lint": arguments, "register": "linted", "ignore_errors": True},
        {"ansible.builtin.debug": {"msg": "told={{ linted | to_json | b64encode }}"}},
        {"ansible.builtin.assert": {"that": ["linted is not failed"]}},
    ]
    playbook = [{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]
    (folder / "play.yml").write_text(json.dumps(playbook), encoding="utf-8")
    code, stdout, output = run(folder, "play.yml", *options)
    return code, told(stdout), output


@pytest.mark.exhaustive
@pytest.mark.row("LM-17", "LM-74")
def test_it_fails_with_file_line_reason_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text(BAD, encoding="utf-8")
    code, result, output = play(tmp_path, {"paths": ["web.yml"]})
    assert code != 0
    (finding,) = result["findings"]
    assert (finding["id"], finding["severity"], finding["line"], finding["column"]) == (
        "privilege-escalation",
        "error",
        18,
        13,
    )
    assert finding["path"] == "spec.template.spec.containers[0].securityContext.allowPrivilegeEscalation"
    assert f"{tmp_path / 'web.yml'}:18:13: error: allowPrivilegeEscalation is set to false" in output
    assert result["summary"]["errors"] == 1


def test_fix_shows_first_changes_then_and_finds_nothing_after(tmp_path: Path) -> None:
    file = tmp_path / "web.yml"
    file.write_text(BAD, encoding="utf-8")
    _, shown, output = play(tmp_path, {"paths": ["web.yml"], "fix": True}, "--check", "--diff")
    assert shown["changed"] and file.read_text(encoding="utf-8") == BAD
    assert "-            allowPrivilegeEscalation: false   # copied from Linux" in output
    code, _, output = play(tmp_path, {"paths": ["web.yml"], "fix": True, "baseline": "none.json"})
    assert code != 0 and "the baseline cannot be read" in output and file.read_text(encoding="utf-8") == BAD
    code, fixed, _ = play(tmp_path, {"paths": ["web.yml"], "fix": True})
    assert code == 0 and fixed["changed"] and fixed["findings"] == []
    assert file.read_text(encoding="utf-8") == FIXED
    code, again, _ = play(tmp_path, {"paths": ["web.yml"], "fix": True})
    assert code == 0 and not again["changed"]


def test_content_and_objects_instead_of_files(tmp_path: Path) -> None:
    code, result, _ = play(tmp_path, {"content": BAD, "level": "never"})
    assert code == 0 and [each["file"] for each in result["findings"]] == ["content"]
    labels = {"kubernetes.io/os": "windows"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "win1", "uid": "1", "labels": labels}}
    code, result, _ = play(tmp_path, {"objects": [node]})
    assert code == 0 and [(each["id"], each["line"]) for each in result["findings"]] == [("missing-node-label", 0)]
    assert result["findings"][0]["severity"] == "info"


def test_an_accepted_finding_is_reported_as_such(tmp_path: Path) -> None:
    accepted = [
        {
            "rule": ["privilege-escalation"],
            "reason": "the admission webhook takes it out",
            "objects": ["Deployment default/*"],
        }
    ]
    code, result, _ = play(tmp_path, {"content": BAD, "ignore": accepted})
    assert code == 0 and result["findings"] == []
    assert [each["silenced"] for each in result["silenced"]] == ["the admission webhook takes it out"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"content": "a: [", "level": "never"}, "content:2:1: this is not valid YAML"),
        ({"paths": ["absent.yml"]}, "absent.yml: there is no such file, folder or pattern."),
        ({"content": BAD, "profile": "1.9"}, "profile is '1.9'"),
        ({"content": BAD, "ignore": [{"rule": ["no-such-rule"], "reason": "x"}]}, "there is no rule 'no-such-rule'"),
        ({}, "one of the following is required: paths, content, objects"),
    ],
)
def test_bad_input_is_a_sentence_and_no_traceback(tmp_path: Path, arguments: dict[str, Any], sentence: str) -> None:
    code, result, output = play(tmp_path, arguments)
    assert code != 0 and sentence in result["msg"]
    assert "Traceback" not in output


@pytest.mark.parametrize("paths", ["deploy/", '["deploy/web.yml", "{here}/deploy/web.yml"]'])
def test_the_playbook(tmp_path: Path, paths: str) -> None:
    """A name is relative to where the command is given, as on every command line; .workload-lint.yml is of there."""
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy" / "web.yml").write_text(BAD, encoding="utf-8")
    (tmp_path / ".workload-lint.yml").write_text('profile: "1.33"\n', encoding="utf-8")
    report = tmp_path / "report.sarif"
    named = paths.replace("{here}", str(tmp_path))
    given = f'{{"winkube_lint_paths": {named}}}' if named.startswith("[") else f"winkube_lint_paths={named}"
    extra = ["-e", given, "-e", f"winkube_lint_report={report}"]
    code, _, output = run(tmp_path, "winkube.node.lint", *extra, "-e", "winkube_lint_report_format=sarif")
    assert code != 0 and "[privilege-escalation]" in output and f"{tmp_path}/deploy/web.yml:18:13" in output
    assert json.loads(report.read_text())["runs"][0]["results"][0]["ruleId"] == "privilege-escalation"


def test_the_playbook_asks_what_to_lint(tmp_path: Path) -> None:
    code, _, output = run(tmp_path, "winkube.node.lint")
    assert code != 0 and "Say what to lint, with -e winkube_lint_paths=" in output


@pytest.mark.row("LM-50")
def test_the_playbook_reads_the_cluster_with_the_rights_of_the_example(bench: Bench) -> None:
    """By the collection's own client: kubernetes.core is on nobody's list of what to install."""
    cluster = bench.cluster()
    labels = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
    cluster.store.create(BY_NAME["Node"], "", {"metadata": {"name": "win1", "labels": labels}})
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"os": {"name": "windows"}, "containers": [{"name": "c"}]}}
    for namespace, replicas in (("shop", 65), ("other", 1)):
        cluster.store.create(BY_NAME["Namespace"], "", {"metadata": {"name": namespace}})
        metadata = {"name": "web", "namespace": namespace}
        service = {"metadata": metadata, "spec": {"selector": {"app": "web"}}}
        cluster.store.create(BY_NAME["Service"], namespace, service)
        deployment = {"metadata": metadata, "spec": {"replicas": replicas, "template": pod}}
        cluster.store.create(BY_NAME["Deployment"], namespace, deployment)
    written = bench.directory / "result.json"
    given = {
        "winkube_lint_cluster": True,
        "winkube_lint_namespace": "shop",
        "winkube_lint_report": str(written),
        "winkube_cluster": {"kubeconfig": str(cluster.shipped("lint")), "context": ""},
    }
    linted = bench.ansible_playbook(ROOT / "playbooks" / "lint.yml", "-e", json.dumps(given))
    assert linted.rc == 0, linted
    report = json.loads(written.read_text(encoding="utf-8"))
    found = {each["id"]: each["object"] for each in report["findings"]}
    assert found["too-many-backends"] == "Service shop/web"
    assert "other/web" not in str(report), "the namespace that was asked for"
    assert "taint-not-tolerated" not in found, "the Node carries no taint, so none has to be tolerated"


def test_reading_a_cluster_wants_a_kubeconfig(tmp_path: Path) -> None:
    code, _, output = run(tmp_path, "winkube.node.lint", "-e", "winkube_lint_cluster=true")
    assert code != 0 and "cluster.kubeconfig is empty" in output, output
