"""What comes first with a linter: a baseline, the configuration of the repository and its schema, the rules as data."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli, rulebook
from ansible_collections.winkube.node.plugins.plugin_utils.lint.config import ConfigError, read_config
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, SettingError, apply_settings

from .test_reports import TEXT, folder, run

__all__ = ["folder"]

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "workload-lint.schema.json").read_text(encoding="utf-8"))
WORSE = TEXT.replace("hostPID: true", "hostPID: true\n  hostIPC: true")


def test_a_baseline_accepts_what_was_there_wherever_it_moves(folder: Path) -> None:
    code, out, _ = run("web.yml", "--write-baseline", "b.json")
    assert code == cli.OK and "The findings are written to b.json; 1 error" in out
    (folder / "other.yml").write_text(f"# moved\n\n{TEXT}", encoding="utf-8")
    (folder / "web.yml").unlink()
    code, out, err = run("other.yml", "--baseline", "b.json")
    assert (code, err) == (cli.OK, "") and "Silenced with a reason: 3" in out
    (folder / "other.yml").write_text(WORSE, encoding="utf-8")
    code, out, _ = run("other.yml", "--baseline", "b.json")
    assert code == cli.FINDINGS and "[host-ipc]" in out and "[host-pid]" not in out
    (folder / ".workload-lint.yml").write_text("baseline: b.json\n", encoding="utf-8")
    assert "[host-pid]" not in run("other.yml")[1]
    silenced = json.loads(run("--format", "json", "other.yml")[1])["silenced"]
    assert "in the baseline b.json" in [each["silenced"] for each in silenced]
    (folder / "other.yml").write_text(TEXT.replace("  hostPID: true\n", ""), encoding="utf-8")
    assert run("other.yml")[2] == (
        "b.json: 1 of its findings are not in this run; --write-baseline, over all files, writes it again.\n"
    )


def test_a_baseline_accepts_no_more_than_there_were(folder: Path) -> None:
    run("web.yml", "--write-baseline", "b.json")
    (folder / "more").mkdir()
    (folder / "more" / "web.yml").write_text(TEXT, encoding="utf-8")
    code, out, err = run("web.yml", "more/web.yml", "--baseline", "b.json")
    assert (code, err) == (cli.FINDINGS, "") and out.count("[host-pid]") == 1
    run("web.yml", "more/web.yml", "--write-baseline", "b.json")
    assert run("web.yml", "more/web.yml", "--baseline", "b.json")[0] == cli.OK


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "the baseline cannot be read"),
        ("[", "this is not a baseline"),
        ("[]", "this is not a baseline"),
        ('{"schema": 2, "findings": []}', "its schema is 2, and this version reads 1."),
        ('{"schema": 1, "findings": [{"rule": "a"}]}', "this is not a baseline"),
    ],
)
def test_what_is_no_baseline_is_wrong_use(folder: Path, text: str | None, sentence: str) -> None:
    if text is not None:
        (folder / "b.json").write_text(text, encoding="utf-8")
    code, out, err = run("web.yml", "--baseline", "b.json")
    assert (code, out) == (cli.UNUSABLE, "") and err.startswith("workload-lint: b.json: ") and sentence in err


def test_what_is_no_baseline_is_refused_before_a_file_is_fixed(folder: Path) -> None:
    file, fixable = folder / "web.yml", f"{TEXT}      securityContext: {{allowPrivilegeEscalation: false}}\n"
    file.write_text(fixable, encoding="utf-8")
    (folder / "b.json").write_text("[", encoding="utf-8")
    assert run("--fix", "--write", "--baseline", "b.json", "web.yml")[0] == cli.UNUSABLE
    assert file.read_text(encoding="utf-8") == fixable
    run("--fix", "--write", "web.yml")
    assert file.read_text(encoding="utf-8") == TEXT


def test_the_configuration_is_searched_up_to_the_root_of_the_repository(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".workload-lint.yml").write_text("disable: [host-pid]\n", encoding="utf-8")
    inner = folder / "repo" / "apps" / "web"
    inner.mkdir(parents=True)
    (inner / "web.yml").write_text(TEXT, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(folder / "repo")], check=True)
    monkeypatch.chdir(inner)
    assert run("web.yml")[0] == cli.FINDINGS, "above the root it is another's"
    config = folder / "repo" / ".workload-lint.yml"
    config.write_text("ignore: [{rule: host-pid, reason: known, files: [apps/web/*]}]\n", encoding="utf-8")
    assert run("web.yml")[::2] == (cli.OK, "")
    config.write_text("exclude: [apps/web]\n", encoding="utf-8")
    assert run(".") == (cli.OK, *run(".")[1:]) and "0 objects checked" in run(".")[1]
    (inner / ".workload-lint.yml").write_text("profile: '1.30'\n", encoding="utf-8")
    assert run(".")[0] == cli.FINDINGS, "the nearest one counts alone"


def test_the_rules_as_data() -> None:
    code, out, _ = run("--list-rules", "--format", "json")
    rules = json.loads(out)["rules"]
    assert code == cli.OK and [each["id"] for each in rules] == [each.id for each in rulebook.RULES]
    first = rules[0]
    assert all(first[key] for key in ("title", "severity", "kinds", "fields", "message", "remedy", "source", "page"))
    assert {each["id"] for each in rules if each["hygiene"]} == rulebook.HYGIENE


def configuration_of_the_page() -> str:
    page = (ROOT / "docs" / "workload_lint.md").read_text(encoding="utf-8")
    (text,) = [each for each in page.split("```yaml\n")[1:] if each.startswith("# yaml-language-server")]
    return text.partition("```")[0]


def test_the_example_of_the_page_is_valid_and_names_the_schema_first() -> None:
    text = configuration_of_the_page()
    assert text.splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA['$id']}"
    jsonschema.Draft202012Validator(SCHEMA).validate(yaml.safe_load(text))


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("profile: '1.33'\nbuilds: [2022, ltsc2019]\ndsr: true\ntaint: none", True),
        ("charts: [{path: a, values: [b.yaml], set: [c=d]}]\nfail_on_unchecked: true\nbaseline: b.json", True),
        ("ignore: [{rule: [host-pid, host-ipc], reason: because}]\nseverity: {host-pid: info}", True),
        ("profil: '1.33'", False),
        ("charts: [{values: [a]}]", False),
        ("ignore: [{rule: no-such-rule, reason: because}]", False),
        ("ignore: [{rule: host-pid}]", False),
        ("severity: {host-pid: bad}", False),
        ("unknown_pods: maybe", False),
        ("paths: deploy", False),
        ("substitute: sometimes", False),
    ],
)
def test_schema_and_linter_take_the_same_configurations(tmp_path: Path, text: str, valid: bool) -> None:
    file = tmp_path / ".workload-lint.yml"
    file.write_text(text, encoding="utf-8")
    try:
        apply_settings(Profile(), read_config(file).settings)
        read = True
    except (ConfigError, SettingError):
        read = False
    assert (jsonschema.Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(text)), read) == (valid, valid)
