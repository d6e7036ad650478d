"""CRI over TCP on a simulated node, opened and closed by `containerd_config_tcp`."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import CONFIG, converge
from tests.lab.machine.builds import build
from tests.lab.machine.firewall import RULES
from tests.lab.programs import containers
from tests.lab.server.host import NodeHost

CRI = "io.containerd.grpc.v1.cri"
CRICTL = r"C:\Program Files\containerd\bin\crictl.exe"
TCP = "io.containerd.server.v1.grpc-tcp"
ADDRESS = "192.168.122.220:8888"
LOG = r"C:\ProgramData\containerd\log\containerd.log"
PLAY = """
- hosts: windows
  gather_facts: false
  tasks:
"""
TASK = """
    - winkube.node.containerd_config_tcp:
        {}
"""


def config(host: NodeHost) -> str:
    return bytes(host.in_turn(lambda: host.node.drive.read(CONFIG))).decode()


def write(host: NodeHost, text: str) -> None:
    host.in_turn(lambda: host.node.drive.write(CONFIG, text.encode()))


def pid(host: NodeHost) -> int:
    return int(host.in_turn(lambda: host.node.services.runtime("containerd").pid))


def listens(host: NodeHost) -> bool:
    return bool(host.in_turn(lambda: 8888 in host.node.network.listeners))


def rules(host: NodeHost) -> list[str]:
    found: Any = host.in_turn(lambda: [str(value.data) for value in host.node.registry.values(RULES)])
    return [rule for rule in found if "winkube" in rule]


def tcp(bench: Bench, options: str, *more: object, tasks: int = 1) -> Run:
    return bench.ansible_playbook(bench.play(PLAY + TASK.format(options) * tasks), *more)


OPEN = f"tcp_address: '{ADDRESS}', allowed_sources: [192.168.122.1, 10.9.0.0/16], prove: never"
FOR_EVER = f"{OPEN}, expires_after: never"


def switches(host: NodeHost) -> tuple[object, object]:
    plugins = tomllib.loads(config(host))["plugins"]
    return plugins[TCP]["address"], plugins[CRI]["disable_tcp_service"]


@pytest.mark.row("CT-08")
@pytest.mark.row("CT-09")
@pytest.mark.row("CT-11")
@pytest.mark.row("CT-12")
def test_from_closed_to_open_and_back(bench: Bench) -> None:
    host = bench.node()
    converge(bench, version="2.3.7")
    before = config(host) + "# a comment of mine\n"
    write(host, before)
    first = pid(host)

    missing = tcp(bench, f"{{{OPEN}}}")
    assert missing.rc == 2 and "expires_after is missing: give the time after which" in missing.output, missing
    assert config(host) == before
    looked = tcp(bench, f"{{{FOR_EVER}}}", "--check", "--diff")
    assert looked.rc == 0 and looked.recap["win1"].changed == 1, looked
    assert f'+address = "{ADDRESS}"' in looked.output
    assert "asks for no client certificate, without encryption: everybody at 192.168.122.1, 10.9" in looked.output
    assert config(host) == before and rules(host) == [] and pid(host) == first

    # Another file takes the switch back: containerd itself says so, and nothing is stopped.
    secure = f"{{{FOR_EVER}, certificates: {{folder: '{bench.directory}/cri'}}}}"
    drop_in = r"C:\Program Files\containerd\conf.d\more.toml"
    table = f'version = 4\n[plugins."{CRI}"]\ndisable_tcp_service = true\n'
    host.in_turn(lambda: host.node.drive.mkdir(drop_in.rpartition("\\")[0]))
    host.in_turn(lambda: host.node.drive.write(drop_in, table.encode()))
    failed = tcp(bench, secure)
    assert failed.rc == 2 and "containerd would say that disable_tcp_service is true" in failed.output, failed
    assert "Look into what it imports" in failed.output
    assert config(host) == before and rules(host) == [] and pid(host) == first
    host.in_turn(lambda: host.node.drive.delete(drop_in))

    opened = tcp(bench, secure)
    assert opened.rc == 0 and opened.recap["win1"].changed == 1, opened
    assert "asks nobody" not in opened.output
    assert switches(host) == (ADDRESS, False)
    assert "\n# a comment of mine\n" in config(host)
    key = tomllib.loads(config(host))["plugins"][TCP]["tls_key"]
    assert host.in_turn(lambda: host.node.drive.read(key)) == (bench.directory / "cri" / "server.key").read_bytes()
    assert listens(host)
    # In containerd's own words (tests/windows/test_machine.py looks for the same).
    assert f'msg=serving... address="{ADDRESS}"' in host.in_turn(lambda: host.node.drive.read(LOG)).decode()
    (rule,) = rules(host)
    assert "|LPort=8888|RA4=192.168.122.1|RA4=10.9.0.0/255.255.0.0|" in rule
    second = pid(host)
    assert second != first

    bench.reset_ledger()
    again = tcp(bench, secure)
    assert again.recap["win1"].changed == 0, again
    assert bench.calls() == 1
    assert pid(host) == second

    closed = tcp(bench, "{state: absent}", tasks=2)
    # The second task changes nothing.
    assert closed.rc == 0 and closed.recap["win1"].changed == 1, closed
    assert config(host) == before, "as it was, byte for byte"
    assert not listens(host) and rules(host) == []

    _opened_by_another_file(bench, host, drop_in)
    _closes_by_itself(bench, host, before)
    _containers(bench, host)


def _opened_by_another_file(bench: Bench, host: NodeHost, drop_in: str) -> None:
    """It was said to be closed, since config.toml is."""
    text = f'version = 4\n[plugins."{TCP}"]\naddress = "127.0.0.1:9999"\n'
    host.in_turn(lambda: host.node.drive.write(drop_in, text.encode()))
    looked = tcp(bench, "{state: absent}", "--check")
    assert "more.toml, which config.toml imports, opens CRI over TCP as well" in " ".join(looked.output.split()), looked
    opens = tcp(bench, f"{{{OPEN}, expires_after: 1h}}", "--check")
    assert "closing config.toml leaves the port open" in " ".join(opens.output.split()), opens
    said = tcp(bench, "{state: absent}")
    assert said.rc == 2 and "it still listens" not in said.output, said
    assert f"still listens on 127.0.0.1:9999 all the same: {drop_in} says 127.0.0.1:9999" in said.output
    host.in_turn(lambda: host.node.drive.delete(drop_in))


def _closes_by_itself(bench: Bench, host: NodeHost, before: str) -> None:
    """Open for an hour; nobody comes back. (tests/unit/cri_tcp/test_expiry.py has the cases.)"""
    opened = tcp(bench, f"{{{OPEN}, expires_after: 1h, expires_restart: true}}", tasks=2)
    assert opened.rc == 0 and opened.recap["win1"].changed == 1, opened
    assert listens(host)
    host.in_turn(lambda: host.node.clock.advance(3900))
    assert config(host) == before and not listens(host)
    assert ["|Active=FALSE|" in rule for rule in rules(host)] == [True]
    assert host.in_turn(lambda: host.node.tasks.get("\\winkube\\expiry")) is None
    assert host.in_turn(lambda: host.node.services.state("containerd")) == "running"


POD_IP = "10.244.3.7"
IPCONFIG = """
Ethernet adapter vEthernet (%s_cbr0):

   Connection-specific DNS Suffix  . : web.svc.cluster.local
   IPv4 Address. . . . . . . . . . . : %s
"""


def _start(host: NodeHost, identity: str, hosts: str) -> int:
    """A container with a process and an HNS endpoint; its pid."""
    node = host.node
    if node.services.state("vmcompute") != "running":
        node.services.start_later("vmcompute")  # HCS comes with the first container
    process = node.processes.spawn(r"C:\inetpub\w3wp.exe", None)
    server = node.processes.get(node.services.runtime("containerd").pid)
    assert server is not None
    network = node.hns.network("cbr0") or node.hns.create_network(
        {
            "Name": "cbr0",
            "Type": "L2Bridge",
            "NetworkAdapterName": "Ethernet",
            "Subnets": [{"AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1"}],
        }
    )
    node.hns.create_endpoint(
        {"Name": f"{identity}_cbr0", "IPAddress": hosts.split()[-2], "VirtualNetwork": network["ID"]}
    )
    containers.add(
        server,
        containers.Container(
            identity, process.pid, "web", "iis-0", "iis", hosts=hosts, ipconfig=IPCONFIG % (identity, POD_IP)
        ),
    )
    return process.pid


def _containers(bench: Bench, host: NodeHost) -> None:
    """win_containers_info by cri_debug.yml: a container of which all layers say the same, one whose HNS endpoint is
    another's."""
    head = "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n"
    host.in_turn(lambda: host.node.drive.write(CRICTL, build("crictl", "1.31.1")))
    found = host.in_turn(lambda: _start(host, "a" * 64, f"{head}{POD_IP}\tiis-0\n"))
    host.in_turn(lambda: host.node.clock.advance(120))  # the first network breaks the connection
    looked = bench.ansible_playbook(ROOT / "playbooks" / "cri_debug.yml", "-e", "winkube_hosts=windows")
    assert looked.rc == 0 and looked.recap["win1"].changed == 0, str(looked)
    assert f"aaaaaaaaaaaaa pid {found} w3wp.exe" in looked.output
    assert f"RUNNING web/iis-0/iis {POD_IP} cbr0" in looked.output

    host.in_turn(lambda: _start(host, "b" * 64, f"{head}10.244.3.8\tiis-0\n"))
    wrong = bench.ansible_playbook(ROOT / "playbooks" / "cri_debug.yml", "-e", "winkube_hosts=windows")
    assert wrong.rc == 2, wrong
    assert f"has the address {POD_IP}, its HNS endpoint 10.244.3.8" in wrong.output
