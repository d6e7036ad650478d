"""--fix: what it changes, what it leaves alone, and that it keeps every other character."""

from __future__ import annotations

import json
import textwrap

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.taint import Taint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.fix import FixedFile, fix
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import read_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

from .test_rules import CASES, text_of

PROFILE = Profile(taint=Taint("os", "windows", "NoSchedule"), taint_told=True)


def fixed(text: str, file: str = "f.yml") -> FixedFile:
    documents = read_documents(file, text)
    found = fix(documents, lint(documents, PROFILE), PROFILE, ())
    return found[0] if found else FixedFile(file, text, text)


def after(text: str, file: str = "f.yml") -> str:
    return fixed(text, file).after


def lines(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


BLOCK = lines("""
    # my app
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}   # a comment
    spec:
      template:
        spec:
          # who it runs as
          securityContext:
            runAsUser: 1000   # as on Linux
            windowsOptions:
              runAsUserName: 'ContainerUser'

          nodeSelector:
            kubernetes.io/os:   windows
          containers:
          - securityContext:
              capabilities:
                drop: [ALL]
              # not on Windows
              allowPrivilegeEscalation: false
            name:  web
            image: registry.example.com/web:1

    ---
    # another document
    kind: X
    """)


def test_fields_go_and_the_rest_stays_as_it_was() -> None:
    expected = BLOCK.replace("        runAsUser: 1000   # as on Linux\n", "").replace(
        "      - securityContext:\n          capabilities:\n            drop: [ALL]\n          # not on Windows\n"
        "          allowPrivilegeEscalation: false\n        name:  web\n",
        "      - name:  web\n",
    )
    expected = expected.replace(
        "      # who it runs as\n      securityContext:\n",
        "      # who it runs as\n      os:\n        name: windows\n      tolerations:\n      - key: os\n"
        "        operator: Equal\n        value: windows\n        effect: NoSchedule\n      securityContext:\n",
    )
    assert after(BLOCK) == expected


def test_windows_line_ends_stay() -> None:
    assert after(BLOCK.replace("\n", "\r\n")) == after(BLOCK).replace("\n", "\r\n")


def test_flow_style_and_json() -> None:
    text = (
        '{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "c", "securityContext": '
        '{"runAsUser": 1, "windowsOptions": {"runAsUserName": "x"}, "runAsGroup": 2, "procMount": "Default"}}]}}'
    )
    value = json.loads(after(text, "f.json"))
    assert value["spec"]["os"] == {"name": "windows"}
    assert value["spec"]["nodeSelector"] == {"kubernetes.io/os": "windows"}
    assert value["spec"]["containers"][0]["securityContext"] == {"windowsOptions": {"runAsUserName": "x"}}


@pytest.mark.row("SC-01", "SC-03", "SC-06", "SC-09", "LM-62")
@pytest.mark.parametrize(("already", "added"), [("os", "selector"), ("selector", "os"), ("", "both")])
def test_what_a_windows_pod_ought_to_say_is_added(already: str, added: str) -> None:
    """os.name and nodeSelector, and the toleration of the taint os=windows:NoSchedule."""
    said = {"os": {"os": {"name": "windows"}}, "selector": {"nodeSelector": {"kubernetes.io/os": "windows"}}}
    image = "mcr.microsoft.com/windows/nanoserver:ltsc2022"
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [{"name": "c", "image": image}], **said.get(already, {})},
    }
    spec = json.loads(after(json.dumps(pod), "f.json"))["spec"]
    assert (spec["os"], spec["nodeSelector"]) == ({"name": "windows"}, {"kubernetes.io/os": "windows"}), added
    assert spec["tolerations"] == [{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}]


def test_os_name_does_not_come_to_a_pod_that_would_then_be_rejected() -> None:
    text = lines("""
        apiVersion: v1
        kind: Pod
        metadata: {name: x}
        spec:
          nodeSelector: {kubernetes.io/os: windows}
          hostPID: true
          containers: []
        """)
    assert "os:\n" not in after(text)
    assert "tolerations:" in after(text)
    assert "  os:\n    name: windows\n" in after(text.replace("  hostPID: true\n", ""))


def test_what_may_be_meant_stays() -> None:
    """privileged: true may mean HostProcess, capabilities.add a right: a person must decide."""
    text = lines("""
        apiVersion: v1
        kind: Pod
        metadata: {name: x}
        spec:
          os: {name: windows}
          nodeSelector: {kubernetes.io/os: windows}
          tolerations: [{operator: Exists}]
          containers:
          - name: a
            securityContext: {privileged: true, capabilities: {add: [NET_ADMIN]}}
          - name: b
            securityContext: {privileged: false, capabilities: {drop: [ALL]}}
        """)
    assert after(text) == text.replace("    securityContext: {privileged: false, capabilities: {drop: [ALL]}}\n", "")


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\nx: &s {runAsUser: 1, runAsGroup: 1}\nspec:\n  os: {name: windows}\n"
        "  nodeSelector: {kubernetes.io/os: windows}\n  tolerations: [{operator: Exists}]\n  securityContext: *s\n"
        "  containers: []\n",
        "apiVersion: v1\nkind: Pod\nx: &s {runAsUser: 1}\nspec:\n  os: {name: windows}\n"
        "  nodeSelector: {kubernetes.io/os: windows}\n  tolerations: [{operator: Exists}]\n  securityContext:\n"
        "    <<: *s\n    windowsOptions: {runAsUserName: x}\n  containers: []\n",
    ],
    ids=["alias", "merge key"],
)
def test_what_stands_elsewhere_is_left_alone_with_a_sentence(text: str) -> None:
    found = fixed(text)
    assert found.after == text
    assert len(found.refused) == 1 and "was left as it is" in found.refused[0]


def test_silenced_findings_are_not_fixed() -> None:
    text = lines("""
        apiVersion: v1
        kind: Pod
        metadata:
          name: x
          annotations: {lint.winkube.node/run-as-user: one chart for both systems}
        spec:
          nodeSelector: {kubernetes.io/os: windows}
          tolerations: [{operator: Exists}]
          securityContext: {runAsUser: 1}
          containers: []
        """)
    assert after(text) == text, "runAsUser stays, so os.name would have the pod rejected"


@pytest.mark.parametrize(("rule", "fixture"), CASES, ids=[rule for rule, _ in CASES])
def test_fixing_a_fixture_twice_changes_nothing_more_and_adds_no_finding(rule: str, fixture: dict[str, object]) -> None:
    text = text_of(fixture["flagged"])
    once = after(text)
    assert after(once) == once

    def keys(manifests: str) -> set[tuple[str, str]]:
        return {(f.rule, f.path) for f in lint(read_documents("f.yml", manifests), PROFILE).findings}

    assert keys(once) <= keys(text)
