"""Commands of HostProcess containers, which cmd.exe starts."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.commands import host_process_line
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Finding
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile, apply_settings

from tests.lab.machine.commandline import go_escape
from tests.unit.lint.host_process_lines import MEANT, RIGHT, SHOW, WRONG

ABOUT_COMMANDS = ("foreign-shell-syntax", "missing-powershell", "missing-program", "not-a-program", "script-as-program")
MEANT_LINES = tuple(words for words, _said in MEANT)


def findings(container: dict[str, Any], **settings: Any) -> list[Finding]:
    """What is said of the commands of a HostProcess container."""
    options = {"hostProcess": True, "runAsUserName": r"NT AUTHORITY\SYSTEM"}
    image = "mcr.microsoft.com/powershell:lts-nanoserver-ltsc2022"
    spec = {
        "os": {"name": "windows"},
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "hostNetwork": True,
        "securityContext": {"windowsOptions": options},
        "containers": [{"name": "agent", "image": image, **container}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "agent"}, "spec": spec}
    report = lint(live_documents([pod]), apply_settings(Profile(), settings))
    return [each for each in report.findings if each.rule in ABOUT_COMMANDS]


@pytest.mark.parametrize("words", (*RIGHT, *MEANT_LINES))
def test_what_cmd_exe_starts_as_it_is_meant_has_no_finding(words: tuple[str, ...]) -> None:
    assert [each.message for each in findings({"command": list(words)})] == []


@pytest.mark.parametrize("words", WRONG, ids=[" ".join(words)[:40] for words in WRONG])
def test_what_cmd_exe_reads_otherwise_is_found(words: tuple[str, ...]) -> None:
    assert findings({"command": list(words)})


@pytest.mark.parametrize("words", (*RIGHT, *WRONG))
def test_the_line_is_hcsshims(words: tuple[str, ...]) -> None:
    """escapeArgs escapes as Go does, and CreateProcess puts `cmd /c` before it."""
    assert host_process_line(words) == " ".join(["cmd", "/c", *map(go_escape, words)])


@pytest.mark.parametrize("place", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_probes_and_hooks_are_started_by_it_too(place: str) -> None:
    wrong = {"exec": {"command": ["curl.exe", "http://localhost/?a=1&b=2"]}, "timeoutSeconds": 5}
    right = {"exec": {"command": ["curl.exe http://localhost/ > NUL"]}, "timeoutSeconds": 5}
    assert [each.path for each in findings({place: wrong})] == [f"spec.containers[0].{place}.exec.command"]
    assert findings({place: right}) == []
    assert findings({"lifecycle": {"preStop": {"exec": {"command": ["agent.exe", "a&b"]}}}})
    assert not findings({"lifecycle": {"preStop": {"exec": {"command": ["echo %TIME% > C:\\stopped"]}}}})


def test_the_sentence_says_that_the_container_starts() -> None:
    (found,) = findings({"command": [r"C:\Program Files\agent.exe", "a b"]})
    assert "starts, and ends with the exit code of cmd.exe" in found.message


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["pwsh", "-Command", "Get-Date"], True),
        (["powershell", "-Command", "Get-Date"], False),
        ([r"C:\hpc\Program Files\PowerShell\pwsh.exe", "-Command", "Get-Date"], False),
        (["git", "pull"], False),
    ],
)
def test_a_program_that_only_the_images_path_knows(words: list[str], found: bool) -> None:
    assert any("image's Path" in each.message for each in findings({"command": words})) is found


def test_where_no_cmd_exe_stands_before_it_words_are_words() -> None:
    """Of Windows Server 2019 it is not known whether bindfltapi.dll is there."""
    container = {"command": [SHOW, "a&b"]}
    assert findings(container)
    assert not findings(container, builds=[17763])
    assert findings({"command": ["ver"]}, builds=[17763])
