"""A connection of the lab that goes silent: no byte, no FIN, no RST; tests/lab/README.md, "connections that die"."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.machine.faults import Fault
from tests.lab.server.control import Control
from tests.lab.server.host import NodeHost
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import Kind, NodeSpec
from tests.lab.twin import submit

NETWORK = {
    "Name": "External",
    "Type": "L2Bridge",
    "Subnets": [{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}],
}
NOTHING_S = 0.3
"""So long nothing comes from what is silent."""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(tmp_path / "lab") as started:
        yield started


def opened(host: NodeHost) -> socket.socket:
    """A connection that has had sshd's first line."""
    client = socket.create_connection(("127.0.0.1", host.port), timeout=10)
    assert client.recv(100).startswith(b"SSH-2.0-")
    return client


def is_silent(client: socket.socket) -> bool:
    """Whether it stays open without a byte, also after the other side was sent something."""
    client.settimeout(NOTHING_S)
    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    try:
        return client.recv(100) == b"never"  # bytes, or the end
    except TimeoutError:
        return True
    except ConnectionError:
        return False


def ends(client: socket.socket) -> bool:
    """Whether the other side says that the connection is over."""
    client.settimeout(10)
    try:
        while client.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def test_the_first_virtual_switch_tells_nobody(lab: Lab) -> None:
    """Failed while the lab closed the connections: OpenSSH noticed at once."""
    host = lab.add_node(NodeSpec("win1", "10.7.0.25"))
    client = opened(host)
    host.in_turn(lambda: host.node.hns.create_network(NETWORK))
    assert is_silent(client)
    host.in_turn(lambda: host.node.clock.advance(60))
    opened(host)
    client.sendall(b"x")
    with pytest.raises(ConnectionError):
        client.recv(100)  # the machine is back and knows of no such connection


def test_neither_does_a_machine_without_power(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win1", "10.7.0.25"))
    client = opened(host)
    host.in_turn(host.node.power_off)
    assert is_silent(client)


def test_a_machine_that_shuts_down_does(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win1", "10.7.0.25"))
    client = opened(host)
    host.in_turn(lambda: host.node.shut_down(None))
    assert ends(client)


def test_a_kind_machine_closes_its_connections(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win1", "10.7.0.25", kind=Kind("the clean end is tried", connections=True)))
    client = opened(host)
    host.in_turn(lambda: host.node.cut_connections(told=False))
    assert ends(client)


@pytest.mark.parametrize("heal", ["access open", "clear", "boot"])
def test_a_silent_cut_of_a_batch_lasts_until_it_is_healed(lab: Lab, heal: str) -> None:
    """New connections are swallowed, too. `heal` as the command line says it."""
    host = lab.add_node(NodeSpec("win1", "10.7.0.25"))
    control = Control(lab)
    ask = {"op": "fault", "node": "win1", "kind": "cut", "cut": "session", "op_index": 0, "when": "in", "phase": "ops"}
    assert control._fault({**ask, "silent": True}) == "armed: session in ops 0 silently"
    client = opened(host)
    with pytest.raises(Exception, match="was killed"):
        submit.apply(
            host.node, host.node.open_session(), submit.envelope([submit.op("mkdir", path="C:\\k")], mode="inline")
        )
    assert is_silent(client)
    fresh = socket.create_connection(("127.0.0.1", host.port), timeout=10)
    assert is_silent(fresh)
    if heal == "access open":
        control._fault({"node": "win1", "kind": "access", "access": "open"})
    elif heal == "clear":
        control._fault({"node": "win1", "kind": "clear"})
    else:
        host.in_turn(host.node.restart)
    opened(host)


def test_a_way_that_is_made_silent_keeps_its_connections(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win1", "10.7.0.25"))
    client = opened(host)
    host.set(access="silent")
    assert is_silent(client)
    host.set(access="open")
    opened(host)


def test_a_loss_of_power_ends_the_silence(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win1", "10.7.0.25"))
    host.node.faults.arm(Fault("power", 0, "in", silent=True, boot_after_s=5))
    with pytest.raises(Exception, match=r"lost its power|switched off"):
        submit.apply(host.node, host.node.open_session(), submit.envelope([submit.op("mkdir", path="C:\\k")]))
    host.in_turn(lambda: host.node.clock.advance(60))
    assert not host.node.faults.silent
    opened(host)


def test_clearing_a_nodes_faults_opens_the_way_to_it_and_makes_it_quick(lab: Lab) -> None:
    host = lab.add_node(NodeSpec("win9", "10.7.0.29", latency_s=1.5, access="refused"))
    control = Control(lab)
    host.node.faults.disk_full_after = 1000
    assert control._fault({"node": "win9", "kind": "clear"}) == "no faults"
    assert (host.spec.latency_s, host.spec.access) == (0.0, "open")
    assert host.node.faults.disk_full_after is None
