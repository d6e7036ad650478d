"""Commands that are right, and looked wrong to a reader of words alone; and the same with one thing wrong in it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2022"
MOUNT = {"volumeMounts": [{"name": "tools", "mountPath": r"C:\tools"}]}


def said(container: dict[str, Any], **spec: Any) -> list[str]:
    """Rules of errors and warnings about a container of a Windows pod."""
    whole = {
        "os": {"name": "windows"},
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "volumes": [{"name": "tools", "emptyDir": {}}],
        "containers": [{"name": "a", "image": SERVERCORE, **container}],
        **spec,
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": whole}
    return [each.rule for each in lint(live_documents([pod]), Profile()).findings if each.severity.name != "INFO"]


def powershell(text: str) -> dict[str, Any]:
    return {"command": ["powershell", "-Command", text]}


@pytest.mark.parametrize(
    "text",
    [
        "<# a && b || c #> Get-Date; Start-Sleep 5",
        "Get-Date <# first\n && second #>\nStart-Sleep 5",
        "while ($true) { Start-Sleep 30; Start-Service w3svc }",
        "while (1) {\n  if ((Get-Service w3svc).Status -ne 'Running') { Start-Service w3svc }\n}",
        "for (;;) { Start-Service w3svc }",
        "do { Start-Service w3svc } while ($true)",
        "do { Start-Service w3svc } until ($false)",
    ],
)
def test_scripts_that_are_right(text: str) -> None:
    assert said(powershell(text)) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("<# a #> Get-Date && Start-Sleep 5", "foreign-shell-syntax"),
        ("while ($true) { Start-Sleep 30; break }; Start-Service w3svc", "ends-at-once"),
        ("foreach ($s in 'a', 'b') { Start-Service $s }", "ends-at-once"),
    ],
)
def test_the_same_with_a_mistake(text: str, rule: str) -> None:
    assert said(powershell(text)) == [rule]


def test_loops_of_cmd_without_an_end() -> None:
    text = "for /l %i in (0,0,1) do (ping -n 30 127.0.0.1 > NUL & net start w3svc)"
    assert said({"command": ["cmd", "/c", text]}) == []


def test_what_ends_by_itself_may_end() -> None:
    """A Job, a CronJob, a pod of a workflow: its end is what they wait for."""
    command = powershell("Start-Service w3svc")
    assert said(command) == ["ends-at-once"]
    assert said(command, restartPolicy="Never") == []
    assert said(command, restartPolicy="OnFailure") == []


def test_a_program_that_a_volume_brings() -> None:
    for path in (r"C:\tools\git\bin\bash.exe", "C:/tools/git/bin/bash.exe", r"c:\Tools\bash.exe", "/tools/bash.exe"):
        words = {"command": [path, "-c", "true"]}
        assert said({**words, **MOUNT}) == [], path
        assert said({"command": ["cmd", "/c", f"{path} -c true"], **MOUNT}) == [], path
        assert said(words) == ["missing-program"], path
    assert said({"command": [r"C:\toolsbox\bash.exe"], **MOUNT}) == ["missing-program"]
    assert said({"command": ["bash"], **MOUNT}) == ["missing-program"]


@pytest.mark.parametrize(
    "env",
    [
        {"name": "PATH", "value": r"C:\app;C:\Windows\System32;C:\Windows"},
        {"name": "Path", "value": r"C:\app;C:/windows/system32"},
        {"name": "APP_PATH", "value": r"C:\app"},
        {"name": "PATHEXT", "value": ".EXE"},
        {"name": "TEXT", "value": "a\tb"},
    ],
)
def test_variables_that_are_right(env: dict[str, str]) -> None:
    assert said({"env": [env]}) == []


def test_waiting_that_is_right() -> None:
    assert said({"command": ["cmd", "/c", "timeout /t 5"], "stdin": True}) == []
    assert said({"command": ["app.exe", "--timeout", "90"]}) == []
    assert said({"command": ["cmd", "/c", "app.exe --timeout 90"]}) == []


def test_failures_that_the_line_goes_on_after() -> None:
    assert said({"command": ["cmd", "/c", r"type C:\a && C:\app\app.exe"]}) == []
    assert said({"command": ["cmd", "/c", r"touch C:\a || C:\app\app.exe"]}) == ["missing-program"]
