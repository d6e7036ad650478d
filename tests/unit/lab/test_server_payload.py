"""Recognising what Ansible sends, and holding it to the recorded digests."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible.executor.powershell.module_manifest import _create_powershell_wrapper, _get_powershell_script
from ansible.release import __version__

from tests.lab.server import recordings
from tests.lab.server.payload import (
    BOOTSTRAP,
    EncodedCommand,
    PayloadError,
    bootstrap_digest,
    parse_command,
    parse_payload,
    script_digest,
)

MODULE = (
    b"#!powershell\n#AnsibleRequires -CSharpUtil Ansible.Basic\n[Ansible.Basic.AnsibleModule]::Create($args, @{})\n"
)
ARGUMENTS = {
    "request": "{}",
    "_ansible_check_mode": True,
    "_ansible_version": __version__,
    "_ansible_remote_tmp": "%TEMP%",
}


def encoded(script: str) -> str:
    return base64.b64encode(script.encode("utf-16-le")).decode()


def bootstrap() -> str:
    return str(_get_powershell_script(BOOTSTRAP).decode())


def stdin(name: str = "ansible_collections.winkube.node.plugins.modules.node_probe") -> bytes:
    """What the ansible-core of this Python sends for a module."""
    data: bytes = _create_powershell_wrapper(
        name=name,
        module_data=MODULE,
        module_path="/x/node_probe.ps1",
        module_args=dict(ARGUMENTS),
        environment={},
        async_timeout=0,
        become_plugin=None,
        substyle="powershell",
        task_vars={},
        profile="legacy",
    )
    return data


def framed(params: dict[str, Any], manifest: bytes) -> bytes:
    """Stdin as Ansible writes it."""
    head = {"name": "exec_wrapper", "script": "# exec wrapper", "params": params}
    return json.dumps(head).encode() + b"\n\0\0\0\0\n" + manifest


def manifest(module_params: dict[str, Any]) -> bytes:
    script = {"path": "", "script": base64.b64encode(b"# text").decode()}
    name = "ansible_collections.a.b.plugins.modules.c.ps1"
    action = {
        "name": "module_wrapper.ps1",
        "params": {"Script": name, "ForModule": True, **module_params},
        "secure_params": {},
    }
    return json.dumps({"scripts": {"module_wrapper.ps1": script, name: script}, "actions": [action]}).encode()


@pytest.mark.parametrize(
    "command",
    [
        "PowerShell -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand {}",
        "powershell -NoProfile -NonInteractive -ExecutionPolicy Unrestricted -EncodedCommand '{}'",
        "powershell.exe -encodedcommand {}",
        '& "C:\\Program Files\\PowerShell\\7\\pwsh.exe" -NoProfile -EncodedCommand {}',
    ],
)
def test_encoded_commands_are_decoded(command: str) -> None:
    found = parse_command(command.format(encoded("$x = 'ä'")))
    assert found is not None
    assert (found.script, found.rest) == ("$x = 'ä'", "")


def test_what_follows_the_script_is_kept() -> None:
    found = parse_command(f"powershell -EncodedCommand {encoded('1')} -EncodedArguments AAAA")
    assert found is not None
    assert found.rest == "-EncodedArguments AAAA"


@pytest.mark.parametrize(
    "command", ["hostname", "powershell -Command hostname", "powershell -EncodedCommand AAA", "x -EncodedCommand AAAA"]
)
def test_other_commands_are_none(command: str) -> None:
    assert parse_command(command) is None


def test_a_module_of_this_ansible_core_is_recognised() -> None:
    payload = parse_payload(EncodedCommand("powershell", bootstrap()), stdin())
    assert payload.module == "winkube.node.node_probe"
    assert payload.wrapper == "module_wrapper.ps1"
    assert payload.around == ()
    assert payload.arguments["_ansible_check_mode"] is True
    assert payload.arguments["request"] == "{}"
    assert payload.core_version == __version__
    assert {BOOTSTRAP, "exec_wrapper.ps1", "module_wrapper.ps1", "Ansible.Basic.cs"} <= set(payload.digests)
    assert not [name for name in payload.digests if name.startswith("ansible_collections.")]
    assert recordings.objection(payload.digests, payload.core_version, recordings.known()) is None


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "four NUL characters is missing in 0 bytes"),
        (b"{}\n\0\0\0\0\n{}", "no 'name'"),
        (b"[]\n\0\0\0\0\n{}", "the first document on stdin is no JSON object"),
        (b"{\n\0\0\0\0\n{}", "the first document on stdin is not JSON"),
    ],
)
def test_bad_stdin_is_refused(data: bytes, sentence: str) -> None:
    with pytest.raises(PayloadError, match=sentence):
        parse_payload(EncodedCommand("powershell", "x"), data)


@pytest.mark.parametrize(
    "changes", [{"actions": []}, {"actions": None}, {"scripts": []}, {"actions": [{"name": "gone.ps1", "params": {}}]}]
)
def test_bad_manifests_are_refused(changes: dict[str, Any]) -> None:
    data = json.dumps({**json.loads(manifest({})), **changes}).encode()
    with pytest.raises(PayloadError) as found:
        parse_payload(EncodedCommand("powershell", "x"), framed({}, data))
    # What could be read is known: an unknown ansible-core is told by it, even when its manifest has another form.
    assert set(found.value.digests) == {BOOTSTRAP, "exec_wrapper.ps1"}


def test_the_forms_of_the_manifest() -> None:
    """Plain with a variable (2.19 to 2.21), and compressed with the arguments as JSON text (from 2.22)."""
    plain = manifest({"Variables": [{"Name": "complex_args", "Value": {"x": 1}, "Scope": "Global"}]})
    packed = base64.b64encode(gzip.compress(manifest({"ArgumentJSON": '{"x": 1}'})))
    for data in (framed({"DecompressInput": False}, plain), framed({"DecompressInput": True}, packed)):
        payload = parse_payload(EncodedCommand("powershell", "x"), data)
        assert (payload.module, payload.arguments) == ("a.b.c", {"x": 1})
        assert set(payload.digests) == {BOOTSTRAP, "exec_wrapper.ps1", "module_wrapper.ps1"}
    with pytest.raises(PayloadError, match="no base64 of gzip"):
        parse_payload(EncodedCommand("powershell", "x"), framed({"DecompressInput": True}, plain))


def test_the_bootstrap_has_one_digest_in_all_the_ways_it_is_sent() -> None:
    script = bootstrap()
    stripped = "\n".join(line.strip() for line in script.splitlines() if line.strip())
    keep = "If (-not $?) { If (Get-Variable LASTEXITCODE -ErrorAction SilentlyContinue) { exit 5 } Else { exit 1 } }"
    strict = f"Set-StrictMode -Version Latest\n{stripped}\n{keep}"
    assert {bootstrap_digest(text) for text in (script, stripped, strict)} == {script_digest(script)}
    assert bootstrap_digest(script + "\n$evil") != script_digest(script)


# -- recordings --------------------------------------------------------------------------------------------------

OLD = recordings.Recording("2.19.1", {"a.ps1": "1", "b.ps1": "2"})
NEW = recordings.Recording("2.21.1", {"a.ps1": "3", "b.ps1": "4", "c.cs": "5"})


@pytest.mark.parametrize("digests", [{"a.ps1": "1"}, {"a.ps1": "1", "b.ps1": "2"}, {"a.ps1": "3", "c.cs": "5"}])
def test_a_version_nobody_recorded_works_when_its_scripts_are_recorded(digests: dict[str, str]) -> None:
    assert recordings.objection(digests, "2.21.9", (OLD, NEW)) is None


@pytest.mark.parametrize(
    ("digests", "named"),
    [
        ({"a.ps1": "9"}, "a.ps1 differ"),
        ({"a.ps1": "1", "b.ps1": "4"}, "differ"),  # a mixture of two releases
        ({"a.ps1": "3", "b.ps1": "4", "new.ps1": "7"}, "new.ps1 differ"),
    ],
)
def test_changed_scripts_are_refused_whatever_the_version(digests: dict[str, str], named: str) -> None:
    sentence = recordings.objection(digests, "2.21.1", (OLD, NEW))
    assert sentence is not None
    assert named in sentence
    assert "ansible-core 2.21.1" in sentence
    assert "python -m tests.lab record-payload" in sentence


def test_without_recordings_the_sentence_names_the_command() -> None:
    assert recordings.RECORD_COMMAND in (recordings.objection({"a.ps1": "1"}, "", ()) or "")


def test_recording_this_ansible_core_gives_what_it_sends(tmp_path: Path) -> None:
    path = recordings.record(tmp_path)
    assert path.name == f"{__version__}.json"
    (recording,) = recordings.load(tmp_path)
    payload = parse_payload(EncodedCommand("powershell", bootstrap()), stdin())
    assert recording.differing(payload.digests) == []
    tampered = replace(recording, scripts={**recording.scripts, BOOTSTRAP: "0"})
    assert tampered.differing(payload.digests) == [BOOTSTRAP]


def test_both_lanes_are_recorded() -> None:
    """The oldest and the newest supported ansible-core: Python 3.11 with 2.19, and 2.21."""
    assert {".".join(item.version.split(".")[:2]) for item in recordings.known()} >= {"2.19", "2.21"}
