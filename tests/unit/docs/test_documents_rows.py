"""What the documents' rows want said is said where people look for it, and is true of the code where one can tell."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.programs.csi_proxy import GROUPS
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import IMAGE_NAMES, class_name, find_release
from ansible_collections.winkube.node.plugins.plugin_utils.lint import engine, manifest, rulebook
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings
from ansible_collections.winkube.node.plugins.plugin_utils.workloads.log_monitor import KINDS, LEVELS

from tests.conftest import ROOT

PAGES = ROOT / "docs"
ISSUES = "https://github.com/kubernetes/kubernetes/issues/"


def page(name: str) -> str:
    """The page with single blanks, as sentences wrap."""
    return " ".join((PAGES / name).read_text(encoding="utf-8").split())


def section(name: str, heading: str) -> str:
    """One section of a page, as written."""
    text = (PAGES / name).read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return str(found)


def rows_of(name: str, heading: str) -> dict[str, str]:
    """The first two cells of a table's rows."""
    cells = [line.strip("| ").split(" | ") for line in section(name, heading).splitlines() if line.startswith("| ")]
    return {row[0]: row[1] for row in cells if len(row) > 1}


# -- scheduling --------------------------------------------------------------------------------------------------------


@pytest.mark.row("SC-19")
def test_the_burden_of_taints_and_selectors_is_said() -> None:
    text = page("scheduling.md")
    assert "Users have to combine taints and node selectors." in text
    assert "lists this as a risk" in text


@pytest.mark.row("SC-13")
def test_the_table_of_builds_is_the_codes() -> None:
    lines = section("scheduling.md", "The builds")
    for names in IMAGE_NAMES:
        release = find_release(names.build)
        assert release is not None
        image = f"`mcr.microsoft.com/windows/servercore:{names.servercore}`"
        assert f"| {release.name} | `10.0.{names.build}` | `{class_name(names.build)}` | {image} |" in lines
    assert "| `winkube_runtime_handler` | `runhcs-wcow-process` |" in page("scheduling.md")


@pytest.mark.row("SC-15")
def test_the_playbook_applies_and_says_whose_rights_it_needs() -> None:
    assert "examples/rbac/scheduling.yml" in page("scheduling.md")
    plays = yaml.safe_load((ROOT / "playbooks" / "scheduling.yml").read_text(encoding="utf-8"))
    assert any("winkube.node.k8s_windows_scheduling" in task for task in plays[1]["tasks"])


def found_by_linter(text: str) -> dict[str, list[str]]:
    report = engine.lint(manifest.read_documents("sample.yml", text), apply_settings(Profile(), {}))
    return {each.rule: [f.severity.name[0] for f in report.findings if f.rule == each.rule] for each in report.findings}


@pytest.mark.row("SC-16")
def test_the_linter_finds_an_unknown_and_a_contradicting_runtime_class() -> None:
    classes = (ROOT / "examples" / "workloads" / "runtimeClasses.yml").read_text(encoding="utf-8")
    iis = (ROOT / "examples" / "workloads" / "iis-2019.yml").read_text(encoding="utf-8")
    assert "runtime-class" not in found_by_linter(classes + iis)
    assert found_by_linter(classes + iis.replace("windows-2019", "windows-2099"))["runtime-class"] == ["W"]
    other = iis.replace(
        "      containers:", "      nodeSelector: {node.kubernetes.io/windows-build: '10.0.20348'}\n      containers:"
    )
    assert found_by_linter(classes + other)["runtime-class"] == ["E"]


@pytest.mark.row("SM-16")
def test_the_iis_sample_keeps_the_documents_figures_and_the_linter_and_the_page_say_so() -> None:
    classes = (ROOT / "examples" / "workloads" / "runtimeClasses.yml").read_text(encoding="utf-8")
    iis = (ROOT / "examples" / "workloads" / "iis-2019.yml").read_text(encoding="utf-8")
    assert found_by_linter(classes + iis)["unequal-memory-request"] == ["I"]
    assert "request for memory (300Mi) below the limit (800Mi), which the linter reports" in page("scheduling.md")


# -- storage -----------------------------------------------------------------------------------------------------------


@pytest.mark.row("ST-09", "ST-12", "ST-11")
def test_what_old_documents_say_of_volumes_is_set_right() -> None:
    text = page("storage.md")
    assert 'counts it among "what will never work" on Windows' in text
    assert "it works, since Kubernetes 1.19 by csi-proxy" in text
    assert '"isn\'t hooked up in the kubelet yet" (2018) | a `hostPath` volume takes a named pipe' in text
    assert "broken on Windows Server 2016 and 1709 | these are refused as nodes" in text


@pytest.mark.row("ST-13")
@pytest.mark.parametrize("number", [56875, 56005, 56188])
def test_the_references_of_the_proposal_are_linked(number: int) -> None:
    assert f"[#{number}]({ISSUES}{number})" in page("storage.md")


@pytest.mark.row("HP-09", "ST-08")
def test_csi_proxy_is_optional_and_the_alternative_is_said_first() -> None:
    text = page("storage.md")
    assert text.index("**A HostProcess container** has the rights itself") < text.index("**csi-proxy** on the node")
    readme = " ".join((ROOT / "roles" / "csi_proxy" / "README.md").read_text(encoding="utf-8").split())
    assert "**Most clusters do not need it.**" in readme
    for group in GROUPS:
        assert (f"-{group.name}-{group.version}`" in readme) is group.default
    defaults = yaml.safe_load((ROOT / "roles" / "csi_proxy" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert defaults["winkube_csi_proxy_url"] == "", "the user says which build he trusts"
    tasks = yaml.safe_load((ROOT / "playbooks" / "tasks" / "node.yml").read_text(encoding="utf-8"))
    (task,) = (each for each in tasks if "csi_proxy" in str(each.get("tags")))
    assert task["when"] == "'csi_proxy' in winkube_optional_components"
    shared = yaml.safe_load((ROOT / "roles" / "winkube" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert shared["winkube_optional_components"] == []


@pytest.mark.row("ST-08")
def test_the_linter_wants_hostprocess_or_csi_proxy_of_a_node_plugin() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  os: {name: windows}\n  containers:\n"
        "  - name: registrar\n    image: registry.k8s.io/sig-storage/csi-node-driver-registrar:v2.12.0\n"
        "    args: ['--kubelet-registration-path=C:\\var\\lib\\kubelet\\plugins\\x\\csi.sock']\n"
    )
    assert found_by_linter(pod)["csi-without-proxy"] == ["W"]
    pipe = "  volumes: [{name: p, hostPath: {path: '\\\\.\\pipe\\csi-proxy-volume-v1'}}]\n"
    assert "csi-without-proxy" not in found_by_linter(pod + pipe)


# -- logs and health ---------------------------------------------------------------------------------------------------


@pytest.mark.row("OB-02")
def test_why_kubectl_logs_is_empty() -> None:
    text = section("observability.md", "Why kubectl logs is empty")
    assert "ETW (Event Tracing for Windows), to the application event log, or to files" in text
    assert "`kubectl logs` shows standard output, so it misses all of that" in text
    assert "logs-not-on-stdout" in {rule.id for rule in rulebook.RULES}


@pytest.mark.row("OB-03", "OB-04")
def test_the_recipe_for_log_monitor() -> None:
    text = section("observability.md", "LogMonitor in an image")
    (dockerfile,) = re.findall(r"```dockerfile\n(.*?)```", text, re.DOTALL)
    assert "COPY LogMonitor.exe LogMonitorConfig.json ./" in dockerfile
    assert 'ENTRYPOINT ["C:\\\\LogMonitor\\\\LogMonitor.exe", "C:\\\\ServiceMonitor.exe", "w3svc"]' in dockerfile
    assert "Copy its program and a configuration file into the image" in text
    assert all(f"| `{kind}` |" in text for kind in KINDS)
    assert ", ".join(f"`{level}`" for level in LEVELS) in text
    assert "is the recommended way" in page("observability.md")


@pytest.mark.row("OB-06")
def test_the_node_problem_detector_by_version_as_the_linter_has_it() -> None:
    said = rows_of("observability.md", "Node problem detector")
    assert said["1.22, 1.23"] == "not compatible"
    assert said["1.24 and newer"].startswith("preliminary")
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  os: {name: windows}\n  containers:\n"
        "  - {name: a, image: 'registry.k8s.io/node-problem-detector/node-problem-detector:v0.8.20'}\n"
    )
    for version, letter in (("1.23", "W"), ("1.24", "I")):
        documents = manifest.read_documents("pod.yml", pod)
        report = engine.lint(documents, apply_settings(Profile(), {"profile": version}))
        assert [each.severity.name[0] for each in report.findings if each.rule == "node-problem-detector"] == [letter]


# -- goals -------------------------------------------------------------------------------------------------------------


@pytest.mark.row("KE-01", "KE-02")
def test_goals_and_what_is_none() -> None:
    goals = page("goals.md")
    for goal in (
        "nodes run on Windows servers",
        "the differences and limits are documented",
        "test results keep what works from breaking",
        "https://testgrid.k8s.io/sig-windows",
    ):
        assert goal in goals
    assert "Non-goals, there and here: Windows support in every project around Kubernetes" in goals
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert "**Non-goals**: Windows support in every project around Kubernetes" in readme


@pytest.mark.row("KE-03", "KE-04")
def test_what_worked_and_what_would_work_eventually() -> None:
    said = rows_of("goals.md", "What the proposal said, and what holds")
    assert {key.partition(":")[0] for key in said} - {"the proposal", "---"} == {"works", "eventually"} | {
        key.partition(":")[0] for key in said if key.startswith("never")
    }
    assert len([key for key in said if key.startswith("works:")]) == 5
    networks = said["works: networks by Azure CNI, OVN-Kubernetes, two CNI meta-plugins, flannel and Calico"]
    assert networks.startswith("the collection sets up flannel")
    assert said["eventually: `kubectl port-forward`"] == "works since Kubernetes 1.15"
    assert said["eventually: other runtimes than dockershim"].startswith("containerd, stable since Kubernetes 1.20")


NEVER = {
    "never: privileged containers": ("privileged", "securityContext: {privileged: true}"),
    "never: mounts of single files and by subPath": (
        "sub-path",
        "volumeMounts: [{name: v, mountPath: /a, subPath: b}]",
    ),
    "never: mount propagation from the host": (
        "mount-propagation",
        "volumeMounts: [{name: v, mountPath: /a, mountPropagation: HostToContainer}]",
    ),
    "never: `defaultMode`": ("file-mode", ""),
    "never: a root file system that is read only": (
        "read-only-root-fs",
        "securityContext: {readOnlyRootFilesystem: true}",
    ),
    "never: the termination message, a single file": ("termination-message-path", "terminationMessagePath: /dev/other"),
    "never: reservations are not enforced": (
        "unequal-memory-request",
        "resources: {requests: {memory: 300Mi}, limits: {memory: 800Mi, cpu: 1}}",
    ),
}


@pytest.mark.row("KE-05")
@pytest.mark.parametrize("said", list(NEVER))
def test_what_will_never_work_is_a_rule_of_the_linter_and_the_page_says_so(said: str) -> None:
    rule, field = NEVER[said]
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  os: {name: windows}\n"
        "  volumes: [{name: v, configMap: {name: c, defaultMode: 256}}]\n  containers:\n"
        f"  - {{name: a, image: 'mcr.microsoft.com/windows/nanoserver:ltsc2022'{', ' + field if field else ''}}}\n"
    )
    assert rule in found_by_linter(pod), found_by_linter(pod)
    assert "the linter" in rows_of("goals.md", "What the proposal said, and what holds")[said]
    without = (
        "resources: {requests: {memory: 800Mi}, limits: {memory: 800Mi, cpu: 1}}"
        if rule == "unequal-memory-request"
        else ""
    )
    twin = pod.replace(field, without) if without else pod.replace(f", {field}" if field else ", defaultMode: 256", "")
    assert rule not in found_by_linter(twin)


@pytest.mark.row("KE-06", "KE-18")
def test_where_upstream_tests_and_what_is_skipped() -> None:
    text = section("goals.md", "Tests upstream and here")
    assert "kubernetes/test/e2e, scheduled through prow, published daily" in text
    assert "`[sig-windows]`" in text
    assert f"[#69871]({ISSUES}69871)" in text and "https://github.com/kubernetes/kubernetes/pull/69872" in text
    skipped = rows_of("goals.md", "Tests upstream and here")
    assert skipped["by the linter: pods that are not for Windows"].startswith(
        f"`unknown_pods: {Profile().unknown_pods}`"
    )


@pytest.mark.row("KE-17")
def test_the_risk_is_said() -> None:
    text = section("goals.md", "The risk")
    assert "Windows is second-class in Kubernetes" in text
    assert 'marked "not yet" or `unverified`' in text


def test_the_pages_named_here_are_there() -> None:
    assert all(Path(PAGES / name).is_file() for name in ("scheduling.md", "storage.md", "observability.md", "goals.md"))
