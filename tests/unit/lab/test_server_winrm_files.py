"""Ansible's own winrm connection plugin, in this process, against the lab: files both ways, stdin in pieces."""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spnego
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.play_context import PlayContext
from ansible.plugins.loader import connection_loader
from spnego.exceptions import NegotiateOptions

from tests.lab.server.lab import Lab
from tests.lab.server.nodes import NodeSpec
from tests.lab.server.winrm.login import Login

ADDRESS = "192.168.122.220"
WAYS = [(5985, "ntlm"), (5986, "basic")]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "lab") as made:
        made.add_node(NodeSpec("win1", ADDRESS))
        yield made


def plugin(lab: Lab, port: int, transport: str, password: str = "simulated") -> Any:
    """The connection of one task, with the variables of the lab's own inventory."""
    connection = connection_loader.get("ansible.builtin.winrm", PlayContext(), "/dev/null")
    variables = lab.winrm_variables(port, transport)
    extras = {key: value for key, value in variables.items() if key.startswith("ansible_winrm_")}
    connection.set_options(
        task_keys={},
        var_options={
            **variables,
            "ansible_host": ADDRESS,
            "ansible_user": "Administrator",
            "ansible_password": password,
            "_extras": extras,
        },
    )
    return connection


@pytest.mark.parametrize(("port", "transport"), WAYS)
def test_a_megabyte_goes_there_and_back(lab: Lab, tmp_path: Path, port: int, transport: str) -> None:
    content = random.Random(7).randbytes(1024 * 1024 + 1)
    there, back = tmp_path / "there.bin", tmp_path / "back.bin"
    there.write_bytes(content)
    node = lab.host("win1").node
    connection = plugin(lab, port, transport)
    connection.put_file(str(there), "C:\\Users\\Public\\it's there.bin")
    assert node.drive.read("C:\\Users\\Public\\it's there.bin") == content
    put = lab.ledger.node("win1")
    assert put.remote_calls == 1
    assert put.bytes_in > len(content) * 4 / 3, "base64 on stdin"
    connection.fetch_file("C:\\Users\\Public\\it's there.bin", str(back))
    connection.close()
    assert hashlib.sha256(back.read_bytes()).digest() == hashlib.sha256(content).digest()
    assert lab.ledger.node("win1").remote_calls == 1 + 3, "half a megabyte in each call"
    assert node.sessions == []


def test_files_that_cannot_be_sent_or_fetched(lab: Lab, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    connection = plugin(lab, 5985, "ntlm")
    connection.put_file(str(empty), "C:\\empty")
    assert lab.host("win1").node.drive.read("C:\\empty") == b""
    with pytest.raises(AnsibleError, match="The system cannot find the path specified"):
        connection.put_file(str(empty), "C:\\no such folder\\empty")
    with pytest.raises(AnsibleError, match="failed to transfer"):
        connection.fetch_file("C:\\nothing", str(tmp_path / "nothing"))
    connection.close()


@pytest.mark.parametrize(("port", "transport"), WAYS)
def test_a_wrong_password_is_a_connection_failure(lab: Lab, port: int, transport: str) -> None:
    with pytest.raises(AnsibleConnectionFailure, match="credentials were rejected by the server"):
        plugin(lab, port, transport, password="wrong").exec_command("hostname")


def test_the_labs_inventory_keeps_passwords_as_they_are_and_has_the_playbooks_group(tmp_path: Path) -> None:
    passwords = {"win1": "0123", "win2": 'it\'s "quoted" #no comment', "win3": "{'a': 1}"}
    with Lab(tmp_path / "lab") as lab:
        lab.add_nodes({NodeSpec(name, f"10.0.0.{name[-1]}", password=text): None for name, text in passwords.items()})
        inventory = InventoryManager(DataLoader(), sources=[str(lab.winrm_inventory)])
        hosts = {host.name: host.get_vars() for host in inventory.get_hosts("windows_nodes")}
        assert {name: found["ansible_password"] for name, found in hosts.items()} == passwords
        assert hosts["win2"]["ansible_host"] == "10.0.0.2"
        groups = inventory.groups["windows_nodes"].get_vars()
        assert groups["ansible_winrm_proxy"] == lab.door.url
        assert (groups["ansible_connection"], groups["ansible_winrm_transport"]) == ("winrm", "ntlm")
        assert lab.winrm_inventory.stat().st_mode & 0o077 == 0


def test_ntlm_in_the_envelope_of_spnego() -> None:
    """What clients other than pywinrm send."""
    login = Login(NodeSpec("win1", ADDRESS), encrypted=False)
    client = spnego.client(
        "Administrator", "simulated", protocol="negotiate", options=NegotiateOptions.use_negotiate, service="http"
    )
    token = client.step()
    for _ in range(4):
        challenges = login.check("Negotiate " + base64.b64encode(token or b"").decode())
        if challenges is None:
            break
        token = client.step(base64.b64decode(challenges[0].partition(" ")[2]))
    assert login.user == "Administrator"
    assert login.open(sealed_by(client, b"<s:Envelope/>")) == b"<s:Envelope/>"


def sealed_by(client: spnego.ContextProxy, message: bytes) -> bytes:
    made = client.wrap_winrm(message)
    payload = len(made.header).to_bytes(4, "little") + made.header + made.data
    return (
        b"--Encrypted Boundary\r\n\tContent-Type: application/octet-stream\r\n"
        + payload
        + b"--Encrypted Boundary--\r\n"
    )
