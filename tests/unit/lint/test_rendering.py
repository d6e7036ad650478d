"""Charts and kustomizations: which are rendered, with what, and what a run says of those that cannot be."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.action import workload_lint as action
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli, rendering
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import add_unreadable, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import read_inputs

from .test_real_repositories import POD, reported
from .test_reports import run

# Says what it was asked, as a Pod; fails for what a chart needs.
_HELM = """\
#!/bin/sh
echo "$@" >> "{log}"
if [ -f "$2/needs" ] && ! echo "$@" | grep -q -- "$(cat "$2/needs")"; then
  echo "Error: first" >&2
  echo "Error: values don't meet the specifications of the schema(s):" >&2
  echo "- (root): name is required" >&2
  exit 1
fi
echo '{pod}'
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs / "helm", _HELM.format(log=tmp_path / "log", pod=json.dumps(POD)))
    program(
        programs / "kustomize",
        f'#!/bin/sh\n[ -f "$2/broken" ] && echo "Error: no base" >&2 && exit 1\necho \'{json.dumps(POD)}\'\n',
    )
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    return tmp_path


def program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def chart(folder: Path, head: str = "name: web\n", needs: str = "") -> None:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text(head, encoding="utf-8")
    (folder / "templates" / "pod.yaml").write_text("{{ .Values.pod }}", encoding="utf-8")
    if needs:
        (folder / "needs").write_text(needs, encoding="utf-8")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def asked(folder: Path) -> list[str]:
    """The options that helm was given, for each time."""
    lines = (folder / "log").read_text(encoding="utf-8").splitlines()
    return [" ".join(each.split()[2:]) for each in lines]


def test_a_chart_that_its_defaults_cannot_render_was_not_checked(folder: Path) -> None:
    chart(folder / "charts" / "web", needs="name=")
    write(folder / "ok.yml", yaml.safe_dump({**POD, "spec": {**POD["spec"], "hostPID": None}}))
    code, out, err = run(".")
    assert (code, err) == (cli.OK, "")
    sentence = "values don't meet the specifications of the schema(s): - (root): name is required."
    assert f"charts/web/Chart.yaml: info: this chart was not checked: {sentence} [not-checked]" in out
    assert "0 errors, 0 warnings, 1 info; 1 object checked, 1 chart not checked; pods: 1 for Windows" in out
    assert run("--fail-on-unchecked", ".")[0] == cli.FINDINGS
    write(folder / ".workload-lint.yml", "fail_on_unchecked: true\n")
    assert run(".")[0] == cli.FINDINGS
    assert run(".", "--no-fail-on-unchecked")[0] == cli.OK
    summary = json.loads(run("--format", "json", ".")[1])["summary"]
    assert summary["not_checked"] == {"charts": 1, "kustomizations": 0, "templates": 0, "files": 0}


def test_what_nobody_asked_for_is_silent(folder: Path) -> None:
    chart(folder / "charts" / "common", "name: common\ntype: library\n", needs="x")
    write(folder / "values.yml", "a: [\n")
    code, out, err = run("charts", "--fail-on-unchecked")
    assert (code, err) == (cli.OK, "") and "not-checked" not in out
    assert not (folder / "log").exists(), "a library chart is not rendered"
    assert "values.yml" not in run(".")[1]


def test_values_of_tests_then_those_of_the_configuration_then_those_of_the_command(folder: Path) -> None:
    chart(folder / "charts" / "web")
    chart(folder / "charts" / "api")
    write(folder / "charts" / "web" / "ci" / "a-values.yaml", "a: 1")
    write(folder / "charts" / "web" / "ci" / "b-values.yaml", "a: 2")
    said = reported("charts", "--profile", "1.33")
    web = Path("charts/web/ci")
    assert asked(folder) == [
        "--kube-version=1.33.0",
        f"--kube-version=1.33.0 --values={web}/a-values.yaml",
        f"--kube-version=1.33.0 --values={web}/b-values.yaml",
    ]
    assert len(said["findings"]) == 2, "what two files of values say alike is said once"
    (folder / "log").unlink()
    write(folder / "sub" / "prod.yaml", "")
    write(folder / "x.yaml", "")
    text = "charts:\n- {path: ../charts/w*, values: [prod.yaml], set: [a=1, b=2]}\n- {path: ../charts/web}\n"
    write(folder / "sub" / "lint.yml", text)
    run("charts", "--config", "sub/lint.yml")
    assert asked(folder)[1:] == [
        "--kube-version=1.37.0 --values=sub/prod.yaml --set a=1 --set b=2",
        "--kube-version=1.37.0",
    ]
    (folder / "log").unlink()
    run("charts/web", "--config", "sub/lint.yml", "--values", "x.yaml", "--set", "c=3")
    assert asked(folder) == ["--kube-version=1.37.0 --values=x.yaml --set c=3"]


def test_a_set_that_sets_nothing_is_wrong_use(folder: Path) -> None:
    chart(folder / "web")
    assert run("web", "--set", "image") == (
        cli.UNUSABLE,
        "",
        "workload-lint: web: set is 'image'; it has to be KEY=VALUE.\n",
    )


def test_a_file_of_values_that_is_not_there_is_wrong_use(folder: Path) -> None:
    chart(folder / "web")
    assert run("web", "--values", "prd.yaml") == (
        cli.UNUSABLE,
        "",
        "workload-lint: prd.yaml: there is no such file of values.\n",
    )
    write(folder / "lint.yml", "charts: [{path: web, values: [prd.yaml]}]\n")
    assert run("web", "--config", "lint.yml")[0] == cli.UNUSABLE
    assert run("web", "--values", "https://example.com/a.yaml")[0] == cli.FINDINGS


def test_an_entry_of_charts_without_a_chart_is_told(folder: Path) -> None:
    """Failed before: the chart beside the mistyped one was rendered with its defaults, without a word."""
    chart(folder / "charts" / "web")
    write(folder / "lint.yml", "charts:\n- {path: charts/w*, set: [a=1]}\n- {path: charts/wbe, set: [b=2]}\n")
    code, _, err = run("charts", "--config", "lint.yml")
    assert (code, err) == (cli.FINDINGS, "lint.yml:3:3: no chart is at charts/wbe.\n")
    assert asked(folder) == ["--kube-version=1.37.0 --set a=1"]


def test_a_program_that_does_not_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "_LONGEST_S", 0.2)
    chart(folder / "web", "name: web\ndependencies: [{name: a, repository: 'https://charts.example.com'}]\n")
    write(folder / "web" / "Chart.lock", "")
    program(folder / "bin" / "helm", "#!/bin/sh\nexec sleep 10\n")
    for arguments in (["--set", "pin=1234"], ["--build-dependencies"]):
        code, out, err = run("web", *arguments)
        assert (code, err) == (cli.OK, "")
        assert "this chart was not checked: helm did not end within 0.2 seconds. [not-checked]" in out
        assert "1234" not in out


def test_a_template_that_is_excluded(folder: Path) -> None:
    chart(folder / "web")
    program(folder / "bin" / "helm", f"#!/bin/sh\necho '# Source: web/templates/pod.yaml'\necho '{json.dumps(POD)}'\n")
    assert [each["file"] for each in reported("web")["findings"]] == ["web/templates/pod.yaml"]
    assert reported("web", "--exclude", "web/templates/pod.yaml")["findings"] == []


def test_a_pattern_of_folders_alone_is_wrong_use(folder: Path) -> None:
    chart(folder / "charts" / "web")
    code, out, err = run("charts/*")
    assert (code, out) == (cli.UNUSABLE, "")
    assert err.startswith("workload-lint: charts/*: no file matches this pattern")


def test_the_values_that_fail_are_named(folder: Path) -> None:
    chart(folder / "web", needs="b-values")
    write(folder / "web" / "ci" / "a-values.yaml", "a: 1")
    write(folder / "web" / "ci" / "b-values.yaml", "a: 2")
    found = reported("web")["findings"]
    assert [each["id"] for each in found] == ["not-checked", "host-pid"]
    assert "not checked with web/ci/a-values.yaml: " in found[0]["message"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("charts: {path: a}", "lint.yml:1:1: charts has to be a list of entries with path, values and set."),
        ("charts: [{values: [a]}]", "lint.yml:1:10: an entry of charts is a mapping with path"),
        ("charts: [{path: a, valeus: [b]}]", "lint.yml:1:20: unknown key 'valeus'; known keys are path, values, set."),
        ("charts: [{path: a, set: {b: 1}}]", "lint.yml:1:20: set has to be a list of texts key=value."),
        ("paths: deploy", "lint.yml:1:1: paths has to be a list of files, folders and patterns."),
        ("fail_on_unchecked: sometimes", "lint.yml:1:1: fail_on_unchecked is 'sometimes'; it has to be true or false."),
    ],
)
def test_a_mistake_in_the_configuration_is_wrong_use(folder: Path, text: str, sentence: str) -> None:
    write(folder / "lint.yml", text)
    code, out, err = run("--config", "lint.yml", ".")
    assert (code, out) == (cli.UNUSABLE, "") and sentence in err


def test_dependencies_are_not_fetched_unasked_nor_without_a_lock(folder: Path) -> None:
    chart(folder / "web", "name: web\ndependencies: [{name: a, repository: 'https://charts.example.com'}]\n")
    assert "there is no Chart.lock" in run("web", "--build-dependencies")[1]
    (folder / "log").unlink()
    run("web")
    lines = (folder / "log").read_text(encoding="utf-8").splitlines()
    assert [each.split()[0] for each in lines] == ["template"]


PATCH = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"hostIPC": True, "containers": [{"name": "c"}], "os": {"name": "windows"}},
}


def overlay(folder: Path) -> None:
    write(folder / "base" / "pod.yml", yaml.safe_dump(POD))
    write(folder / "base" / "kustomization.yaml", "resources: [pod.yml]\n")
    write(
        folder / "prod" / "kustomization.yaml",
        "resources: [../base]\npatches:\n- path: pod.yml\n- patch: |-\n    a: b\n",
    )
    write(folder / "prod" / "pod.yml", yaml.safe_dump(PATCH))


def test_a_patch_is_no_manifest_and_a_base_is_told_once(folder: Path) -> None:
    overlay(folder / "apps")
    found = reported("apps")["findings"]
    assert [(each["id"], each["file"]) for each in found] == [("host-pid", "apps/base/pod.yml")]
    assert reported("apps/prod/pod.yml")["findings"] == [], "named, it is one, too"
    write(folder / "apps" / "prod" / "broken", "")
    found = reported("apps")["findings"]
    assert [(each["id"], each["file"]) for each in found] == [
        ("not-checked", "apps/prod/kustomization.yaml"),
        ("host-pid", "apps/base/pod.yml"),
    ], "what cannot be rendered is linted file by file"
    assert "this kustomization was not checked: no base." in found[0]["message"]


def test_files_that_are_named_say_what_was_not_rendered(folder: Path) -> None:
    overlay(folder / "apps")
    chart(folder / "web")
    names = ("web/templates/pod.yaml", "web/values.yaml", "web/Chart.yaml", "apps/prod/kustomization.yaml")
    write(folder / "web" / "values.yaml", "a: b")
    found = reported(*names, "apps/base/pod.yml")["findings"]
    assert [(each["id"], each["file"]) for each in found] == [
        ("not-checked", "web/Chart.yaml"),
        ("not-checked", "apps/prod/kustomization.yaml"),
        ("host-pid", "apps/base/pod.yml"),
    ]
    assert [each["remedy"] for each in found[:2]] == [
        "Name its folder, web: only whole charts are rendered.",
        "Name its folder, apps/prod: only whole kustomizations are rendered.",
    ]
    assert run(*names)[0] == cli.OK and run(*names, "--fail-on-unchecked")[0] == cli.FINDINGS
    chart(folder / "templates" / "web")
    told = reported("templates/web/templates/pod.yaml")["findings"]
    assert [each["file"] for each in told] == ["templates/web/Chart.yaml"]


def test_without_a_name_the_repository_less_what_git_ignores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder / "repo" / "deploy" / "pod.yml", yaml.safe_dump(POD))
    write(folder / "repo" / "made" / "pod.yml", yaml.safe_dump(POD))
    write(folder / "repo" / ".gitignore", "made/\n")
    subprocess.run(["git", "init", "--quiet", "repo"], check=True)
    monkeypatch.chdir(folder / "repo" / "deploy")

    def files(*arguments: str) -> list[str]:
        return [each["file"] for each in reported(*arguments)["findings"]]

    assert files() == files("..") == ["../deploy/pod.yml"]
    assert files("../made") == ["../made/pod.yml"], "it was asked for by its name"
    write(folder / "repo" / "deploy" / ".workload-lint.yml", "paths: [../made]\n")
    assert files() == ["../made/pod.yml"]


def test_a_folder_without_a_manifest_is_wrong_use_unless_all_is_excluded(folder: Path) -> None:
    write(folder / "a" / "values.yml", "a: b\n")
    code, out, err = run("a")
    assert (code, out, err) == (
        2,
        "",
        "workload-lint: a: there is no manifest, chart or kustomization in this folder.\n",
    )
    assert run("a", "--exclude", "values.yml")[0] == cli.OK
    write(folder / "a" / ".workload-lint.yml", "paths: [.]\n")
    assert run("--config", "a/.workload-lint.yml")[0] == cli.UNUSABLE
    assert run("absent")[0] == cli.UNUSABLE


def test_the_hooks_are_what_they_say() -> None:
    whole, files = yaml.safe_load((Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    kept: dict[str, Any] = {key: whole[key] for key in ("id", "entry", "pass_filenames")}
    assert kept == {"id": "workload-lint", "entry": "workload-lint", "pass_filenames": False}
    assert files["id"] == "workload-lint-files" and "pass_filenames" not in files


@pytest.mark.parametrize(("strict", "failed"), [(False, False), (True, True)])
def test_the_module_fails_on_what_was_not_checked_if_it_is_told_to(folder: Path, strict: bool, failed: bool) -> None:
    chart(folder / "web", needs="name=")
    inputs = read_inputs(["web"])
    report = add_unreadable(lint(inputs.documents, Profile()), inputs.unreadable)
    verdict = action._verdict(report, "error", False, strict)
    assert verdict["failed"] is failed and "1 chart not checked" in verdict["msg"]
    assert ("name is required" in verdict["msg"]) is failed, "the reason stands in the message of a failed task"
