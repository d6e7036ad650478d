"""Commands that are right, and looked wrong to a reader of words alone; and the same with one thing wrong in it."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Finding, Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile

SERVERCORE = "mcr.microsoft.com/windows/servercore:ltsc2022"
MOUNT = {"volumeMounts": [{"name": "tools", "mountPath": r"C:\tools"}]}


def said(container: dict[str, Any], **spec: Any) -> list[str]:
    """Rules of errors and warnings about a container of a Windows pod."""
    return [each.rule for each in found(container, **spec)]


def found(container: dict[str, Any], **spec: Any) -> list[Finding]:
    started = {} if {"command", "args", "image"} & container.keys() else {"command": ["a.exe"]}
    whole = {
        "os": {"name": "windows"},
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "volumes": [{"name": "tools", "emptyDir": {}}],
        "containers": [{"name": "a", "image": SERVERCORE, **started, **container}],
        **spec,
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": whole}
    return [each for each in lint(live_documents([pod]), Profile()).findings if each.severity is not Severity.INFO]


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
        "@'\nit's\nif there is a quote\n'@ | Out-File a; Start-Sleep 5",
        '@"\n5" of rain\nif there is a quote\n"@ | Out-File a; Start-Sleep 5',
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


def test_a_program_that_is_called_as_a_word_of_cmd() -> None:
    assert said({"command": ["cmd", "/c", r"C:\app\start.exe"]}) == []
    assert said({"command": ["cmd", "/c", r"start C:\app\app.exe"]}) == ["ends-at-once"]


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


def test_a_path_with_the_folder_of_the_program() -> None:
    env = [{"name": "PATH", "value": r"C:\Program Files\dotnet;C:\app"}]
    image = "mcr.microsoft.com/dotnet/aspnet:8.0-windowsservercore-ltsc2022"
    for command, severity in (("dotnet", Severity.WARNING), ("powershell", Severity.ERROR)):
        told = found({"env": env, "image": image, "command": [command, "-File", "a"]})
        assert [(each.rule, each.severity) for each in told] == [("replaced-path", severity)]


def test_waiting_that_is_right() -> None:
    assert said({"command": ["cmd", "/c", "timeout /t 5"], "stdin": True}) == []
    assert said({"command": ["app.exe", "--timeout", "90"]}) == []
    assert said({"command": ["cmd", "/c", "app.exe --timeout 90"]}) == []


def test_failures_that_the_line_goes_on_after() -> None:
    assert said({"command": ["cmd", "/c", r"type C:\a && C:\app\app.exe"]}) == []
    assert said({"command": ["cmd", "/c", r"touch C:\a || C:\app\app.exe"]}) == ["missing-program"]


def probe(*words: str) -> dict[str, Any]:
    return {"livenessProbe": {"timeoutSeconds": 5, "exec": {"command": list(words)}}}


@pytest.mark.parametrize(
    "text",
    [
        r"if (-not (Test-Path C:\ready)) { exit 1 }",
        r"Test-Path C:\ready -PathType Leaf; exit 3",
        "if ((Get-Service W3SVC).Status -ne 'Running') { exit 1 }",
        "exit [int]((Get-Service W3SVC).Status -ne 'Running')",
        "Get-Process app",
        r"Get-Content C:\ready",
        "Get-Process | Where-Object Name -eq app | ForEach-Object { exit 0 }; exit 1",
        "$s = Get-Service W3SVC; if ($s.Status -ne 'Running') { throw 'no' }",
        "Invoke-WebRequest -UseBasicParsing http://localhost/",
        "(Get-Service W3SVC).WaitForStatus('Running', '00:00:05')",
        "[Environment]::Exit([int]!(Test-Path C:\\ready))",
    ],
)
def test_probes_that_can_fail(text: str) -> None:
    assert said(probe("powershell", "-Command", text)) == []


def test_probes_of_cmd_that_can_fail() -> None:
    lines = (
        "tasklist | findstr app.exe",
        "sc query W3SVC | findstr RUNNING",
        r"type C:\ready",
        "if not exist x exit 1",
    )
    for line in lines:
        assert said(probe("cmd", "/c", line)) == [], line


@pytest.mark.parametrize(
    "text",
    [
        "while (Test-Path C:\\run) { Start-Sleep 5 }",
        "for ($i = 0; $i -lt 9; $i++) { Start-Sleep 5 }",
        "Get-ChildItem C:\\a | foreach Name; Start-Sleep 5",
        "do { Start-Sleep 5 } while ($true)",
        "if (Test-Path C:\\x) { Start-Sleep 5 } elseif ($true) { Start-Sleep 6 }",
        "foreach ($x in 1, 2) { Start-Sleep 5 }",
    ],
)
def test_loops_and_conditions_of_powershell(text: str) -> None:
    assert said(powershell(text)) == []


def test_loops_and_conditions_of_cmd() -> None:
    for line in (
        r"for %i in (a b) do C:\app\app.exe %i",
        r"if exist C:\x (C:\app\a.exe) else (C:\app\b.exe)",
        "for /f %a in ('hostname') do echo %a",
    ):
        assert said({"command": ["cmd", "/c", line]}) == [], line


@pytest.mark.parametrize(
    "image",
    [
        "mcr.microsoft.com/dotnet/framework/aspnet:4.8",
        "mcr.microsoft.com/dotnet/framework/aspnet:4.8.1-windowsservercore-ltsc2022",
        "mcr.microsoft.com/dotnet/framework/runtime:3.5-20240813-windowsservercore-ltsc2019",
        "mcr.microsoft.com/dotnet/framework/samples:aspnetapp",
        "mcr.microsoft.com/dotnet/aspnet:8.0",
        "mcr.microsoft.com/dotnet/aspnet:10.0-nanoserver-ltsc2025",
        "mcr.microsoft.com/dotnet/runtime:8.0-nanoserver-1809",
        "mcr.microsoft.com/windows/servercore/iis",
        "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022",
        "python:3.12-windowsservercore-ltsc2022",
        "registry.example.com/aspnet:4.8-ltsc2022",
    ],
)
def test_tags_that_there_may_be(image: str) -> None:
    assert "absent-image" not in said({"image": image, "command": ["a.exe"]})


def test_an_image_of_a_shell_with_something_to_do() -> None:
    assert said({"image": SERVERCORE}) == ["ends-at-once"]
    assert said({"image": SERVERCORE, "stdin": True, "tty": True}) == []
    assert said({"image": SERVERCORE}, restartPolicy="Never") == []
    assert said({"image": SERVERCORE, "command": ["ping", "-t", "127.0.0.1"]}) == []
    assert said({"image": SERVERCORE, "args": ["ping", "-t", "127.0.0.1"]}) == []
    assert said({"image": "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"}) == []
    assert said({"image": "mcr.microsoft.com/dotnet/framework/aspnet:4.8"}) == []


def test_mounts_that_are_meant() -> None:
    """The base image of IIS has an empty site, and folders below the site are for data."""
    site = {"volumeMounts": [{"name": "tools", "mountPath": r"C:\inetpub\wwwroot"}]}
    assert said({"image": "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022", **site}) == []
    below = {"volumeMounts": [{"name": "tools", "mountPath": r"C:\inetpub\wwwroot\uploads"}]}
    assert said({"image": "registry.example.com/shop:1-windows", **below}) == []


def test_labels_that_kubelets_set() -> None:
    labels = {
        "kubernetes.io/os": "windows",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "n1",
        "node.kubernetes.io/windows-build": "10.0.20348",
        "topology.kubernetes.io/zone": "a",
        "shop/pool": "x",
    }
    assert said({"command": ["a.exe"]}, nodeSelector=labels) == []
