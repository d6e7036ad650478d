"""A machine that loses its network, or restarts, as the real OpenSSH client and ansible-core see it."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from tests.integration.lab import Bench, says_that_it_is_off
from tests.lab.server.host import NodeHost
from tests.lab.twin.submit import envelope, with_hns

NETWORK = {
    "Name": "External",
    "Type": "L2Bridge",
    "NetworkAdapterName": "Ethernet",
    "Subnets": [{"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}],
}
PATIENCE = 12
"""Attempts to connect: each lets 10 s of the node's clock pass."""


def attempts(bench: Bench) -> int:
    """Asks for the host's name until it is answered; how often in vain."""
    for number in range(PATIENCE):
        run = bench.ansible("win1", "-m", "ansible.builtin.raw", "-a", "hostname")
        if run.rc == 0:
            return number
        assert run.rc == 4, run
        assert says_that_it_is_off("win1", run)
    raise AssertionError(f"win1 did not come back within {PATIENCE} attempts")


def apply(bench: Bench, host: NodeHost, ops: list[dict[str, object]]) -> int:
    """Sends ops by Ansible as node_apply; its exit status."""
    packed = base64.b64encode(gzip.compress(json.dumps(with_hns(envelope(ops, batch_id="d" * 32))).encode())).decode()
    play = bench.play(
        f"- hosts: all\n  gather_facts: false\n  tasks:\n    - winkube.node.node_apply:\n        batch: {packed}\n"
    )
    return bench.ansible_playbook(play).rc


@pytest.mark.exhaustive
@pytest.mark.parametrize("dhcp", [True, False], ids=["dhcp", "static"])
def test_the_blip_of_the_first_switch(bench: Bench, dhcp: bool) -> None:
    host = bench.node("win1", dhcp=dhcp)
    host.node.faults.blip_s = 35.0
    request = {"name": "External", "request": json.dumps(NETWORK)}
    assert apply(bench, host, [{"op": "hns_network", "args": request}]) == 4, "the session dies of it"
    assert bench.account("win1").aborted == 1
    started = host.node.clock.now()
    assert attempts(bench) == 3
    assert host.node.clock.now() - started >= 35
    adapter = host.node.adapters.holder("192.168.122.220")
    assert adapter is not None and adapter.name == "vEthernet (Ethernet)"
    # The runner is no child of the session: it went on.
    assert '"outcome":"done"' in host.node.drive.read(_journal()).decode().replace(" ", "")


def _journal() -> str:
    return f"C:\\ProgramData\\winkube\\batches\\{'d' * 32}\\journal.jsonl"


@pytest.mark.exhaustive
def test_a_lost_static_address_leaves_the_node_unreachable(bench: Bench) -> None:
    host = bench.node("win1", lost_static_address=True)
    host.in_turn(lambda: host.node.hns.create_network(NETWORK))
    for _ in range(5):
        assert bench.ansible("win1", "-m", "ansible.builtin.raw", "-a", "hostname").rc == 4
    arguments = ["interface", "ipv4", "set", "address", "name=vEthernet (Ethernet)", "source=static"]
    arguments += ["address=192.168.122.220", "mask=255.255.255.0", "gateway=192.168.122.1"]
    host.node.run("C:\\Windows\\System32\\netsh.exe", arguments)
    assert attempts(bench) == 0


def test_a_restart_is_seen_and_waited_for(bench: Bench) -> None:
    host = bench.node("win1")
    boot = host.node.boot_id
    shutdown = {"program": "C:\\Windows\\System32\\shutdown.exe", "args": ["/r", "/t", "2", "/d", "p:2:4"]}
    assert apply(bench, host, [{"op": "run", "args": shutdown}]) == 0, "it returns before the machine goes down"
    assert host.node.boot_id == boot
    host.in_turn(lambda: host.node.clock.advance(5))
    assert attempts(bench) >= 2
    assert host.node.boot_id != boot and host.node.services.state("EventLog") == "running"
