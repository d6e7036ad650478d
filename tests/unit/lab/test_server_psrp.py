"""The lab's runspace pools as pypsrp meets them, and message by message as Windows was recorded."""

from __future__ import annotations

import base64
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pypsrp.exceptions import AuthenticationError, WinRMTransportError, WSManFaultError
from pypsrp.powershell import PowerShell, RunspacePool
from pypsrp.wsman import WSMan

from tests.lab.machine.session import Reply
from tests.lab.server import shell
from tests.lab.server.host import NodeHost
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodeSpec
from tests.lab.server.shell import Request
from tests.lab.server.winrm import pools

pytestmark = pytest.mark.slow

ADDRESS = "192.168.122.220"
SHELL_NOT_FOUND = 2150858843
CAPABILITY, PRIVATE_DATA, POOL_STATE = 0x00010002, 0x00021009, 0x00021005
OUTPUT, PIPELINE_STATE, HOST_CALL = 0x00041004, 0x00041006, 0x00041100


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "lab") as made:
        yield made


@pytest.fixture
def host(lab: Lab) -> NodeHost:
    return lab.add_node(NodeSpec("win1", ADDRESS))


class Client(WSMan):
    """pypsrp's, which notes each message: the action, the types of PSRP that came back, the state."""

    seen: list[tuple[str, list[int], str]]

    def invoke(self, action: str, *arguments: Any, **more: Any) -> Any:
        name, body = action.rpartition("/")[2], super().invoke(action, *arguments, **more)
        streams = [base64.b64decode(one.text or "") for one in body.iter() if one.tag.endswith("}Stream")]
        states = [one.get("State", "").rpartition("/")[2] for one in body.iter() if one.tag.endswith("}CommandState")]
        self.seen.append((name, [int.from_bytes(one[25:29], "little") for one in streams], "".join(states)))
        return body


def client(lab: Lab, *, tls: bool = False, auth: str = "ntlm", password: str = "simulated") -> Client:
    made = Client(
        ADDRESS, port=5986 if tls else 5985, ssl=tls, username="Administrator", password=password, auth=auth,
        proxy=lab.door.url, cert_validation=str(lab.door.ca),  # type: ignore[arg-type]
        operation_timeout=1, read_timeout=30,
        reconnection_retries=0,
    )  # fmt: skip
    made.seen = []
    return made


def script(pool: RunspacePool, text: str, *lines: str) -> PowerShell:
    """Run a script to its end; the pipeline."""
    pipeline = PowerShell(pool)
    pipeline.add_script(text)
    pipeline.invoke(input=iter_of(lines) if lines else None)
    return pipeline


def iter_of(lines: tuple[str, ...]) -> Iterator[list[str]]:
    yield list(lines)


@pytest.mark.parametrize(("tls", "auth"), [(False, "ntlm"), (False, "negotiate"), (True, "ntlm"), (True, "basic")])
def test_a_script_is_a_command_line_and_a_pipeline_one_call(lab: Lab, host: NodeHost, tls: bool, auth: str) -> None:
    with RunspacePool(client(lab, tls=tls, auth=auth)) as pool:
        assert [script(pool, "hostname\nexit $LASTEXITCODE").output for _ in range(2)] == [["WIN1"], ["WIN1"]]
        (session,) = host.node.sessions
        process = host.node.processes.get(session.pid)
        assert process is not None and process.path == pools.HOST
    account = lab.ledger.node("win1")
    assert (account.remote_calls, account.pipelines, account.shells, account.winrm_commands) == (2, 2, 1, 0)
    assert host.node.sessions == []


def test_the_messages_are_those_of_the_recording(lab: Lab, host: NodeHost) -> None:
    """Source: jborean93/pypsrp 42a34ed tests/tests_pypsrp/responses/test_psrp_with_input.yml."""
    made = client(lab)
    with RunspacePool(made) as pool:
        script(pool, "hostname\nexit $LASTEXITCODE", "1", "2")
    assert made.seen == [
        ("Create", [], ""),
        ("Receive", [CAPABILITY, PRIVATE_DATA], ""),
        ("Receive", [POOL_STATE], ""),
        ("Command", [], ""),
        ("Send", [], ""),
        ("Receive", [OUTPUT, PIPELINE_STATE], "Done"),
        ("Delete", [], ""),
    ]


def test_what_is_printed_is_objects_error_lines_and_an_exit_code(
    lab: Lab, host: NodeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []

    def respond(request: Request, *_: object) -> Reply:
        asked.append(request)
        return Reply("a\r\n\r\nä\r\n".encode(), b"bad\r\nworse\r\n", 3)

    monkeypatch.setattr(shell, "respond", respond)
    made = client(lab)
    with RunspacePool(made) as pool:
        done = script(pool, "Get-It", "one", "\0\0\0\0", "drei ä")
    assert done.output == ["a", "", "ä"]
    assert (pool.host, done.had_errors) == (None, False)
    assert made.seen[-2][1] == [OUTPUT, OUTPUT, OUTPUT, HOST_CALL, HOST_CALL, HOST_CALL, PIPELINE_STATE]
    encoded = base64.b64encode("Get-It".encode("utf-16-le")).decode()
    assert asked[0].command == f"powershell.exe -EncodedCommand {encoded}"
    assert asked[0].stdin.decode() == "one\n\0\0\0\0\ndrei ä"


def test_what_is_long_goes_and_comes_in_fragments(lab: Lab, host: NodeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(chr(33 + n % 90) for n in range(20 * pools.FRAGMENT))
    monkeypatch.setattr(shell, "respond", lambda request, *_: Reply(request.stdin[::-1] + b"\r\n"))
    made = client(lab)
    with RunspacePool(made) as pool:
        assert script(pool, "Turn-It", text).output == [text[::-1]]
    actions = [action for action, _, _ in made.seen]
    assert actions.count("Send") > 1 and actions.count("Receive") > 3


def test_a_pipeline_that_is_not_done_is_waited_for(lab: Lab, host: NodeHost) -> None:
    host.set(latency_s=2.5)
    with RunspacePool(made := client(lab)) as pool:
        assert script(pool, "hostname\nexit $LASTEXITCODE").output == ["WIN1"]
    assert len(made.seen) == 7 - 1, "the answers that came too late are faults, and no messages"


def test_a_pool_ends_with_its_process(lab: Lab, host: NodeHost) -> None:
    pool = RunspacePool(client(lab))
    pool.open()
    host.in_turn(lambda: host.node.close_session(host.node.sessions[0]))
    with pytest.raises(WSManFaultError) as raised:
        script(pool, "hostname\nexit $LASTEXITCODE")
    assert raised.value.code == SHELL_NOT_FOUND


def test_a_pipeline_can_be_stopped(lab: Lab, host: NodeHost) -> None:
    with RunspacePool(client(lab)) as pool:
        waiting = PowerShell(pool)
        waiting.add_script("$input")
        waiting.begin_invoke(input=None)
        waiting.stop()
        assert len(host.node.sessions) == 1, "the pool alone"
        assert script(pool, "hostname\nexit $LASTEXITCODE").output == ["WIN1"]


@pytest.mark.parametrize("auth", ["ntlm", "basic"])
def test_a_wrong_password_opens_no_pool(lab: Lab, host: NodeHost, auth: str) -> None:
    with pytest.raises(AuthenticationError):
        RunspacePool(client(lab, tls=True, auth=auth, password="wrong")).open()
    assert lab.ledger.node("win1").shells == 0 and host.node.sessions == []


def test_another_configuration_and_what_is_no_script_are_refused_by_name(lab: Lab, host: NodeHost) -> None:
    with pytest.raises(WSManFaultError, match=r"powershell/JEA.*Microsoft\.PowerShell"):
        RunspacePool(client(lab), configuration_name="JEA").open()
    with RunspacePool(client(lab)) as pool:
        command = PowerShell(pool)
        command.add_cmdlet("Get-Process")
        with pytest.raises(WinRMTransportError, match="pipelines of one script"):
            command.invoke()


def test_the_client_names_its_pool(lab: Lab, host: NodeHost) -> None:
    pool = RunspacePool(client(lab))
    pool.open()
    assert re.fullmatch(r"[0-9A-F-]{36}", str(pool.id)) and uuid.UUID(str(pool.id))
    assert pool.shell.id == pool.id
    pool.close()
