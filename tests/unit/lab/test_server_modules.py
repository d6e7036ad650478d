"""What of Ansible.Basic a controller can see, and commands that are no Ansible payload."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.session import Reply
from tests.lab.server import modules, shell
from tests.lab.server.ledger import Ledger
from tests.lab.server.recordings import known
from tests.lab.twin.node import LabNode


@pytest.fixture
def node() -> SimulatedNode:
    return LabNode("win1")


def answer(node: SimulatedNode, name: str, **arguments: Any) -> dict[str, Any]:
    return modules.answer(node, node.open_session(), name, arguments)


def run(node: SimulatedNode, command: str, stdin: bytes = b"") -> Reply:
    return shell.respond(shell.Request(node, node.open_session(), command, stdin), Ledger(), known())


def powershell(script: str) -> str:
    return f"powershell -EncodedCommand {base64.b64encode(script.encode('utf-16-le')).decode()}"


def test_the_batch_is_never_in_the_invocation(node: SimulatedNode) -> None:
    result = answer(node, "winkube.node.node_apply", batch="c2VjcmV0", _ansible_verbosity=3)
    assert result["failed"]
    assert "invocation" not in answer(node, "winkube.node.node_apply", batch="c2VjcmV0")
    assert result["invocation"] == {"module_args": {"batch": "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"}}


@pytest.mark.parametrize(("flag", "there"), [({}, True), ({"_ansible_inject_invocation": False}, False)])
def test_invocation_as_the_ansible_core_wants_it(node: SimulatedNode, flag: dict[str, bool], there: bool) -> None:
    assert ("invocation" in answer(node, "ansible.windows.win_ping", data="x", **flag)) is there


def test_options_are_checked(node: SimulatedNode) -> None:
    unknown = answer(node, "ansible.windows.win_ping", data="x", colour="red")
    assert unknown["msg"] == (
        "Unsupported parameters for (ansible.windows.win_ping) module: colour. Supported parameters include: data"
    )
    assert answer(node, "ansible.windows.win_copy")["msg"] == "missing required arguments: dest"
    ours = answer(node, "winkube.node.node_probe", request="{}", colour="red")
    assert ours["msg"] == "Unsupported parameter colour: the module has the option request alone."
    missing = answer(node, "winkube.node.node_apply")
    assert missing["msg"] == "The batch could not be handled: The option batch is missing."
    assert "failed" not in answer(node, "ansible.windows.win_ping", x=1, _ansible_ignore_unknown_opts=True)


def test_check_mode_reaches_the_module_or_skips_it(node: SimulatedNode, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    def note(call: modules.Call) -> dict[str, Any]:
        seen.append(call.check_mode)
        return {"changed": False}

    monkeypatch.setitem(modules.TABLE, "a.b.c", modules.Module(note))
    monkeypatch.setitem(modules.TABLE, "a.b.d", modules.Module(note, check_mode=False))
    answer(node, "a.b.c", _ansible_check_mode=True)
    answer(node, "a.b.c", _ansible_check_mode=False)
    skipped = answer(node, "a.b.d", _ansible_check_mode=True)
    assert seen == [True, False]
    assert skipped["skipped"] is True


def test_a_failed_module_exits_with_1(node: SimulatedNode) -> None:
    assert "boom" in answer(node, "ansible.windows.win_ping", data="crash")["msg"]


@pytest.mark.parametrize(
    ("command", "reads"),
    [
        ("hostname", False),
        (powershell("$inputData = $input"), True),
        (powershell("Remove-Item x"), False),
        (powershell("$input") + " -EncodedArguments AAAA", False),
    ],
)
def test_stdin_is_awaited_only_by_what_reads_it(command: str, reads: bool) -> None:
    """Ansible leaves stdin open where it sends nothing: waiting for its end would last for ever."""
    assert shell.reads_stdin(command) is reads


def test_other_powershell_is_refused_by_its_first_line(node: SimulatedNode) -> None:
    reply = run(node, powershell("\n\nClear-Item 'C:\\x' -Force"))
    assert reply.exit_status == 1
    assert b"does not run PowerShell scripts; it begins: Clear-Item 'C:\\x' -Force" in reply.stderr


def test_windows_limit_of_a_command_line(node: SimulatedNode) -> None:
    assert b"Windows takes 32767" in run(node, "x" * 32768).stderr
    assert run(node, "hostname").stdout == b"WIN1\r\n"


def test_an_unknown_core_with_another_form_is_told_to_be_recorded(node: SimulatedNode) -> None:
    reply = run(node, powershell("$input | Invoke-NewThing"), b"{}\n\0\0\0\0\nnew form")
    assert reply.exit_status == 1
    assert b"bootstrap_wrapper.ps1 differ from every recording" in reply.stdout
    assert b"python -m tests.lab record-payload" in reply.stdout
