"""The lab's WinRM as pywinrm meets it: logins, shells, commands, what Windows answers when something is wrong."""

from __future__ import annotations

import base64
import socket
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import xmltodict  # type: ignore[import-untyped]
from winrm.exceptions import InvalidCredentialsError, WinRMOperationTimeoutError, WinRMTransportError, WSManFaultError
from winrm.protocol import Protocol

from tests.lab.machine.errors import SessionKilled
from tests.lab.server import shell
from tests.lab.server.host import NodeHost
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodeSpec
from tests.lab.server.shell import Request
from tests.lab.server.winrm import shells, soap

pytestmark = pytest.mark.slow

ADDRESS = "192.168.122.220"
SHELL_NOT_FOUND = 2150858843
WAYS = [("http", 5985, "basic"), ("https", 5986, "basic"), ("http", 5985, "ntlm"), ("https", 5986, "ntlm")]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "lab") as made:
        yield made


@pytest.fixture
def host(lab: Lab) -> NodeHost:
    return lab.add_node(NodeSpec("win1", ADDRESS))


def client(
    lab: Lab, scheme: str = "http", port: int = 5985, transport: Any = "basic", address: str = ADDRESS, **more: Any
) -> Protocol:
    options = {"username": "Administrator", "password": "simulated", "ca_trust_path": str(lab.door.ca), **more}
    return Protocol(f"{scheme}://{address}:{port}/wsman", transport=transport, proxy=lab.door.url, **options)


def said(protocol: Protocol, command: str, shell_id: str | None = None) -> tuple[bytes, bytes, int]:
    """Run a command in a new shell, or in this one, to its end."""
    opened = shell_id or protocol.open_shell(codepage=65001)
    command_id = protocol.run_command(opened, command)
    output: tuple[bytes, bytes, int] = protocol.get_command_output(opened, command_id)
    protocol.cleanup_command(opened, command_id)
    if shell_id is None:
        protocol.close_shell(opened)
    return output


def answer_with(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    """Let the command `hostname` do something else."""
    monkeypatch.setitem(shell.PLAIN, "hostname", answer)


# -- logins ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "port", "transport"), WAYS)
def test_every_way_in_runs_a_command(lab: Lab, host: NodeHost, scheme: str, port: int, transport: str) -> None:
    assert said(client(lab, scheme, port, transport), "hostname") == (b"WIN1\r\n", b"", 0)
    account = lab.ledger.node("win1")
    assert (account.remote_calls, account.winrm_commands, account.execs) == (1, 1, 0)
    assert account.winrm_messages == 5, "create, command, receive, signal, delete"
    assert account.failed_logins == 0
    assert host.node.sessions == []


@pytest.mark.parametrize("name", ["administrator", ".\\Administrator", "WIN1\\Administrator"])
@pytest.mark.parametrize("transport", ["basic", "ntlm"])
def test_a_local_user_with_and_without_its_machine(lab: Lab, host: NodeHost, name: str, transport: str) -> None:
    assert said(client(lab, transport=transport, username=name), "hostname")[2] == 0


@pytest.mark.parametrize(("scheme", "port", "transport"), WAYS)
@pytest.mark.parametrize(
    "wrong", [{"password": "geheim"}, {"username": "somebody"}, {"username": "CORP\\Administrator"}]
)
def test_who_is_not_known_gets_401(
    lab: Lab, host: NodeHost, scheme: str, port: int, transport: str, wrong: dict[str, str]
) -> None:
    with pytest.raises(InvalidCredentialsError, match="rejected by the server"):
        client(lab, scheme, port, transport, **wrong).open_shell()
    assert lab.ledger.node("win1").failed_logins == 1
    assert host.node.sessions == []


def test_a_node_with_its_own_password(lab: Lab) -> None:
    lab.add_node(NodeSpec("win1", ADDRESS, password="pass wört"))
    lab.add_node(NodeSpec("win2", "192.168.122.221", password="with:colon"))
    for transport in ("basic", "ntlm"):
        assert said(client(lab, transport=transport, password="pass wört"), "hostname")[0] == b"WIN1\r\n"
        with pytest.raises(InvalidCredentialsError):
            client(lab, transport=transport, password="with:colon").open_shell()
    other: dict[str, Any] = {"address": "192.168.122.221", "password": "with:colon"}
    assert said(client(lab, **other), "hostname")[0] == b"WIN2\r\n"
    with pytest.raises(InvalidCredentialsError):
        client(lab, transport="ntlm", **other).open_shell()


def test_untouched_windows_takes_sealed_messages_only(lab: Lab) -> None:
    lab.add_node(NodeSpec("win1", ADDRESS, winrm_unencrypted=False))
    assert said(client(lab, transport="ntlm"), "hostname")[2] == 0, "pywinrm seals by itself"
    assert said(client(lab, "https", 5986, "basic"), "hostname")[2] == 0
    with pytest.raises(InvalidCredentialsError):
        client(lab, transport="basic").open_shell()
    with pytest.raises(WinRMTransportError, match="500"):
        client(lab, transport="ntlm", message_encryption="never").open_shell()
    offered = requests.post(f"http://{ADDRESS}:5985/wsman", proxies={"http": lab.door.url}, timeout=10)
    assert (offered.status_code, offered.headers["WWW-Authenticate"]) == (401, "Negotiate")


def test_a_message_sealed_for_another_connection_is_400(lab: Lab, host: NodeHost) -> None:
    protocol = client(lab, transport="ntlm")
    protocol.open_shell()
    host.drop()
    with pytest.raises((WinRMTransportError, requests.ConnectionError), match=r"400|onnection"):
        protocol.open_shell()


def test_the_certificate_is_the_labs(lab: Lab, host: NodeHost) -> None:
    with pytest.raises(requests.exceptions.SSLError, match="certificate"):
        client(lab, "https", 5986, ca_trust_path=None).open_shell()
    lab.add_node(NodeSpec("win2", "win2.example.org"))
    assert said(client(lab, "https", 5986, address="win2.example.org"), "hostname")[2] == 0


# -- commands ----------------------------------------------------------------------------------------------------


def test_a_command_that_is_not_simulated_says_so(lab: Lab, host: NodeHost) -> None:
    stdout, stderr, code = said(client(lab), "format c:")
    assert (stdout, code) == (b"", 1)
    assert stderr.startswith(b"The simulated node win1 has no shell")


def test_raw_commands_come_as_a_script(lab: Lab, host: NodeHost) -> None:
    script = base64.b64encode("whoami".encode("utf-16-le")).decode()
    assert said(client(lab), f"powershell -NoProfile -EncodedCommand {script}")[0] == b"win1\\administrator\r\n"
    assert lab.ledger.node("win1").commands == ["whoami"]


def test_long_output_comes_in_pieces(lab: Lab, host: NodeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(chr(33 + n % 90) for n in range(3 * shells.PIECE))
    answer_with(monkeypatch, lambda _: text)
    assert said(client(lab), "hostname")[0] == text.encode() + b"\r\n"
    account = lab.ledger.node("win1")
    assert account.winrm_messages == 4 + 4
    assert account.bytes_out == len(text) + 2


def test_a_command_line_longer_than_cmd_takes(lab: Lab, host: NodeHost) -> None:
    assert said(client(lab), "x" * 8192) == (b"", b"The command line is too long.\r\n", 1)


def test_an_operation_timeout_is_a_fault_that_is_asked_again(lab: Lab) -> None:
    lab.add_node(NodeSpec("win1", ADDRESS, latency_s=1.3))
    protocol = client(lab, operation_timeout_sec=1, read_timeout_sec=5)
    opened = protocol.open_shell()
    command = protocol.run_command(opened, "hostname")
    with pytest.raises(WinRMOperationTimeoutError):
        protocol.get_command_output_raw(opened, command)
    assert protocol.get_command_output(opened, command) == (b"WIN1\r\n", b"", 0)
    assert lab.ledger.node("win1").remote_calls == 1


def test_ctrl_c_ends_a_command_and_terminate_forgets_it(
    lab: Lab, host: NodeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, over = threading.Event(), threading.Event()

    def wait(_: Request) -> str:
        running.set()
        over.wait(10)
        return "too late"

    answer_with(monkeypatch, wait)
    protocol = client(lab)
    opened = protocol.open_shell()
    command = protocol.run_command(opened, "hostname")
    assert running.wait(10)
    signal(protocol, opened, command, "ctrl_c")
    assert protocol.get_command_output(opened, command) == (b"", b"", 0xC000013A)
    over.set()
    protocol.cleanup_command(opened, command)
    with pytest.raises(WSManFaultError, match="command identifier that does not exist") as error:
        protocol.get_command_output(opened, command)
    assert error.value.wsman_fault_code == SHELL_NOT_FOUND


def signal(protocol: Protocol, shell_id: str, command_id: str, code: str) -> None:
    header = protocol.build_wsman_header(f"{soap.SHELL}/Signal", soap.CMD_SHELL, shell_id)
    body = {"rsp:Signal": {"@CommandId": command_id, "rsp:Code": f"{soap.SHELL}/signal/{code}"}}
    protocol.send_message(xmltodict.unparse({"env:Envelope": {**header, "env:Body": body}}))


# -- shells ------------------------------------------------------------------------------------------------------


def test_a_shells_processes_die_with_it_and_not_before(lab: Lab, host: NodeHost) -> None:
    protocol = client(lab)
    opened = protocol.open_shell()
    (session,) = host.node.sessions
    child = host.in_turn(lambda: host.node.processes.spawn("C:\\k\\left-behind.exe", None, parent=session.pid))
    said(protocol, "hostname", opened)
    assert child.alive
    protocol.close_shell(opened)
    assert not child.alive


def test_a_shell_outlives_its_connection(lab: Lab, host: NodeHost, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when the external vSwitch is made: over SSH this is the end of the session, over WinRM it is not."""

    sent = threading.Event()

    def blip(request: Request) -> str:
        sent.wait(10)
        with request.node.lock:
            request.node.cut_connections(told=True)
        return "still here"

    answer_with(monkeypatch, blip)
    protocol = client(lab)
    opened = protocol.open_shell()
    command = protocol.run_command(opened, "hostname")
    sent.set()
    for _ in range(3):
        try:
            output = protocol.get_command_output(opened, command)
            break
        except requests.ConnectionError:
            continue
    assert output == (b"still here\r\n", b"", 0)
    assert lab.ledger.node("win1").aborted == 1


def test_a_killed_session_cuts_the_connection_and_the_shell_is_gone(
    lab: Lab, host: NodeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(request: Request) -> str:
        with request.node.lock:
            for session in list(request.node.sessions):
                request.node.close_session(session)
        raise SessionKilled("cut by a test")

    answer_with(monkeypatch, die)
    protocol = client(lab)
    opened = protocol.open_shell()
    command = protocol.run_command(opened, "hostname")
    with pytest.raises((requests.ConnectionError, WSManFaultError)):
        protocol.get_command_output(opened, command)
    with pytest.raises(WSManFaultError, match=f"ShellId {opened} failed because the shell was not found") as error:
        protocol.run_command(opened, "hostname")
    assert error.value.wsman_fault_code == SHELL_NOT_FOUND


def test_an_idle_shell_ends_after_two_hours_of_the_nodes_clock(lab: Lab, host: NodeHost) -> None:
    protocol = client(lab)
    opened = protocol.open_shell()
    host.in_turn(lambda: host.node.clock.advance(7190))
    assert said(protocol, "hostname", opened)[2] == 0
    host.in_turn(lambda: host.node.clock.advance(7201))
    with pytest.raises(WSManFaultError, match="was not found"):
        said(protocol, "hostname", opened)
    assert host.node.sessions == []


def test_what_is_no_shell_action_is_named(lab: Lab, host: NodeHost) -> None:
    protocol = client(lab)
    header = protocol.build_wsman_header(
        "http://schemas.xmlsoap.org/ws/2004/09/enumeration/Enumerate",
        "http://schemas.microsoft.com/wbem/wsman/1/wmi/root/cimv2/Win32_Service",
    )
    with pytest.raises(WSManFaultError, match=r"does not know the action .*Enumerate of .*Win32_Service") as error:
        protocol.send_message(xmltodict.unparse({"env:Envelope": {**header, "env:Body": {}}}))
    assert error.value.wsman_fault_code == 2150858753
    assert error.value.fault_subcode == "a:ActionNotSupported"


def test_an_unknown_shell_is_named(lab: Lab, host: NodeHost) -> None:
    unknown = str(uuid.uuid4()).upper()
    with pytest.raises(WSManFaultError, match=unknown):
        client(lab).run_command(unknown, "hostname")


# -- the machine -------------------------------------------------------------------------------------------------


def test_a_machine_that_is_off_takes_no_connection(lab: Lab, host: NodeHost) -> None:
    protocol = client(lab, operation_timeout_sec=1, read_timeout_sec=2)
    opened = protocol.open_shell()
    host.in_turn(lambda: host.node.power_off())
    before = host.node.clock.now()
    with pytest.raises(requests.Timeout):  # nobody has told it that the connection is no more
        protocol.run_command(opened, "hostname")
    with pytest.raises(requests.ConnectionError):
        client(lab, "https", 5986).open_shell()
    assert lab.ledger.node("win1").refused_connections >= 1
    assert host.node.clock.now() >= before + 30, "who waits for the node lets its time pass"


def test_after_a_restart_winrm_comes_late_and_not_at_once(lab: Lab, host: NodeHost) -> None:
    """Two minutes after the machine, and its first answers are 503 and 401."""
    host.in_turn(host.node.restart)
    started, seen = host.node.clock.now(), []
    for _ in range(40):
        try:
            assert said(client(lab, transport="ntlm"), "hostname")[2] == 0
            break
        except InvalidCredentialsError:
            seen.append("401")
        except WinRMTransportError as error:
            seen.append(str(error.code))
        except requests.ConnectionError:
            seen.append("refused")
    assert list(dict.fromkeys(seen)) == ["refused", "503", "401"]
    assert 100 < host.node.clock.now() - started < 240


@pytest.mark.parametrize(("access", "error"), [("refused", requests.ConnectionError), ("silent", requests.Timeout)])
def test_access(lab: Lab, host: NodeHost, access: str, error: type[Exception]) -> None:
    host.set(access=access)
    with pytest.raises(error):
        client(lab, operation_timeout_sec=1, read_timeout_sec=2).open_shell()
    host.set(access="open")
    assert said(client(lab), "hostname")[2] == 0


# -- the door ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://10.0.0.9:5985/wsman", "no simulated node takes HTTP at 10.0.0.9:5985"),
        ("http://192.168.122.220:5986/wsman", "no simulated node takes HTTP at 192.168.122.220:5986"),
        ("http://192.168.122.220/wsman", "the lab has win1 192.168.122.220"),
        ("http://192.168.122.220:0/wsman", "is no address:port"),
    ],
)
def test_an_address_that_no_node_claims(lab: Lab, host: NodeHost, url: str, sentence: str) -> None:
    answer = requests.Request("POST", "http://nobody/").prepare()
    answer.url = url
    with requests.Session() as session:
        got = session.send(answer, proxies={"http": lab.door.url}, timeout=10)
    assert got.status_code == 502
    assert sentence in got.text


def test_a_port_of_the_nodes_own(lab: Lab) -> None:
    lab.add_node(NodeSpec("win1", ADDRESS, port=15985))
    assert said(client(lab, port=15985), "hostname")[2] == 0
    assert said(client(lab, "https", 15985), "hostname")[2] == 0


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST http://192.168.122.220:5985/wsman HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
        (b"POST http://192.168.122.220:5985/wsman HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", b"413"),
        (b"POST http://192.168.122.220:5985/other HTTP/1.1\r\nContent-Length: 0\r\n\r\n", b"404"),
        (b"GET http://192.168.122.220:5985/wsman HTTP/1.1\r\n\r\n", b"405"),
        (b"POST /wsman HTTP/1.1\r\nHost: 192.168.122.220:5985\r\nContent-Length: 0\r\n\r\n", b"401"),
    ],
)
def test_requests_that_are_not_ws_management(lab: Lab, host: NodeHost, sent: bytes, status: bytes) -> None:
    address, _, port = lab.door.url.rpartition("/")[2].partition(":")
    with socket.create_connection((address, int(port)), timeout=10) as connection:
        connection.sendall(sent)
        assert connection.recv(65536).startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    "body", [b"<no xml", b"<a/>", b'<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope"/>']
)
def test_a_body_that_is_no_envelope(lab: Lab, host: NodeHost, body: bytes) -> None:
    got = requests.post(
        f"http://{ADDRESS}:5985/wsman",
        data=body,
        auth=("Administrator", "simulated"),
        proxies={"http": lab.door.url},
        timeout=10,
    )
    assert got.status_code == 400
    assert got.text.startswith("the body of the request is no ")


@pytest.mark.parametrize(("text", "seconds"), [("PT20S", 20.0), ("PT1M2.5S", 62.5), ("PT2H", 7200.0), (None, 60.0)])
def test_durations(text: str | None, seconds: float) -> None:
    assert soap.seconds(text, 60.0) == seconds


def test_a_duration_that_is_none() -> None:
    with pytest.raises(ValueError, match="no duration"):
        soap.seconds("20", 60.0)
