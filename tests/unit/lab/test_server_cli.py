"""`python -m tests.lab`: a lab as a process of its own, and the commands that talk to it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from tests.lab.server.client import ControlError, ask
from tests.lab.server.control import SOCKET_PATH_LIMIT, socket_path

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
# Imports that `connect` must not make: each costs more than the connection.
HEAVY = ("asyncssh", "asyncio", "cryptography", "yaml", "argparse", "typing", "pathlib", "tests.lab.machine")


def lab(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.lab", *(str(argument) for argument in arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=60, check=False)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A detached lab in a directory whose path is too long for a unix socket."""
    path = tmp_path_factory.mktemp("lab") / ("a long name with blanks " * 5).strip()
    started = time.monotonic()
    result = lab("start", "--detach", "--dir", path, "--nodes", "win1=192.168.122.220:22", "win2=10.0.0.2")
    seconds = time.monotonic() - started
    try:
        assert result.returncode == 0, result.stderr
        assert "win1: Administrator@192.168.122.220:22 (simulated" in result.stdout
        assert seconds < 10, "starting takes about a second; more than ten means that something waits"
        yield path
    finally:
        stopped = lab("stop", "--dir", path)
    assert stopped.returncode == 0, stopped.stderr
    assert not (path / "lab.json").exists()


def ssh(directory: Path, command: str, host: str = "192.168.122.220") -> subprocess.CompletedProcess[str]:
    line = ["ssh", "-F", str(directory / "ssh_config"), "-o", "BatchMode=yes", "-l", "Administrator", host, command]
    return subprocess.run(line, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)


def test_a_long_directory_has_its_socket_elsewhere(directory: Path) -> None:
    control = json.loads((directory / "lab.json").read_text())["control"]
    assert len(str(directory / "control.sock")) > SOCKET_PATH_LIMIT
    assert len(control) <= SOCKET_PATH_LIMIT
    assert Path(control).parent.stat().st_mode & 0o077 == 0


def test_a_short_directory_has_its_socket_inside() -> None:
    assert socket_path(Path("/x/.lab")) == Path("/x/.lab/control.sock")


def test_ssh_reaches_the_documents_address_and_is_counted(directory: Path) -> None:
    lab("ledger", "--dir", directory, "--reset")
    result = ssh(directory, "hostname")
    assert (result.returncode, result.stdout.strip()) == (0, "WIN1"), result.stderr
    text = lab("ledger", "--dir", directory).stdout
    assert "win1 (simulated): 1 remote call (1 exec, 0 subsystem), 1 connections" in text
    figures = json.loads(lab("ledger", "--dir", directory, "--json", "--reset").stdout)
    assert figures["win1"]["remote_calls"] == 1
    assert figures["win2"]["remote_calls"] == 0
    assert json.loads(lab("ledger", "--dir", directory, "--json").stdout)["win1"]["remote_calls"] == 0


def test_ssh_without_a_command_is_told_what_this_is(directory: Path) -> None:
    line = ["ssh", "-F", str(directory / "ssh_config"), "-l", "Administrator", "win1"]
    result = subprocess.run(line, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
    assert result.returncode == 1
    assert "simulated Windows node; it has no interactive shell" in result.stderr


def test_another_user_may_not_log_in(directory: Path) -> None:
    line = ["ssh", "-F", str(directory / "ssh_config"), "-o", "BatchMode=yes", "-l", "guest", "win1", "hostname"]
    result = subprocess.run(line, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL, check=False)
    assert result.returncode == 255
    assert "Permission denied" in result.stderr


def test_a_second_start_is_refused(directory: Path) -> None:
    result = lab("start", "--dir", directory)
    assert result.returncode == 1
    assert "runs in" in result.stderr
    assert "already" in result.stderr


def test_dump_show_advance(directory: Path) -> None:
    before = json.loads(lab("dump", "--dir", directory, "win1").stdout)
    assert "C:\\Windows" in before["drive"]
    shown = lab("show", "--dir", directory, "win1").stdout
    assert "simulated Windows Server 2022" in shown.splitlines()[0]
    # The clock is some seconds off, by the seed; it moves as it is told.
    clock = datetime.fromisoformat(re.findall(r"clock (\S+?Z)", shown)[0])
    assert abs((clock - datetime(2026, 11, 21, 8, 3, tzinfo=UTC)).total_seconds()) <= 5
    assert f"{clock + timedelta(seconds=90):%H:%M:%S}" in lab("advance", "--dir", directory, "win1", "90").stdout
    assert json.loads(lab("dump", "--dir", directory, "win1").stdout) == before


def test_faults(directory: Path) -> None:
    assert lab("fault", "--dir", directory, "win2", "access", "refused").returncode == 0
    refused = ssh(directory, "hostname", "10.0.0.2")
    assert refused.returncode == 255
    assert "unreachable by order" in refused.stderr
    assert "refused" in lab("status", "--dir", directory).stdout
    assert lab("fault", "--dir", directory, "win2", "access", "open").returncode == 0
    assert ssh(directory, "hostname", "10.0.0.2").returncode == 0
    armed = lab("fault", "--dir", directory, "win2", "cut", "power", "--op", 3, "--when", "before", "--boot-after", 20)
    assert "armed: power before ops 3" in armed.stdout
    for fault in (["service", "containerd", "crash_loop"], ["disk-full", 1000], ["latency", 0], ["clear"]):
        assert lab("fault", "--dir", directory, "win2", *fault).returncode == 0
    wrong = lab("fault", "--dir", directory, "win2", "service", "containerd", "sulks")
    assert wrong.returncode == 1
    assert "service_fault is one of crash_at_start" in wrong.stderr


def test_hns_is_called_as_a_program_calls_it(directory: Path) -> None:
    subnet = {"AddressPrefix": "172.20.0.0/24", "GatewayAddress": "172.20.0.1"}
    wanted = json.dumps({"Name": "left", "Type": "nat", "Subnets": [subnet]})
    made = json.loads(lab("hns", "--dir", directory, "win1", "POST", "/networks/", wanted).stdout)["Output"]
    listed = json.loads(lab("hns", "--dir", directory, "win1", "GET", "/networks/").stdout)["Output"]
    assert made["ID"] in {each["ID"] for each in listed}
    assert lab("hns", "--dir", directory, "win1", "DELETE", f"/networks/{made['ID']}").returncode == 0
    gone = lab("hns", "--dir", directory, "win1", "DELETE", f"/networks/{made['ID']}")
    assert gone.returncode == 1
    assert f"HNS answers DELETE /networks/{made['ID']} with" in gone.stderr


def test_power(directory: Path) -> None:
    assert "off" in lab("power", "--dir", directory, "win2", "off").stdout
    assert ssh(directory, "hostname", "10.0.0.2").returncode == 255
    assert "on" in lab("power", "--dir", directory, "win2", "on").stdout
    assert ssh(directory, "hostname", "10.0.0.2").returncode == 0


def test_mistakes_are_sentences(directory: Path, tmp_path: Path) -> None:
    unknown = lab("dump", "--dir", directory, "win9")
    assert (unknown.returncode, unknown.stderr.strip()) == (
        1,
        "winkube lab (simulated): the lab has no node win9; it has win1, win2",
    )
    nothing = lab("status", "--dir", tmp_path)
    assert nothing.returncode == 1
    assert "start one with: python -m tests.lab start" in nothing.stderr
    assert "neither a file nor name=address:port" in lab("start", "--dir", tmp_path, "--nodes", "what").stderr
    with pytest.raises(ControlError, match="a clock goes forward only"):
        ask(directory, {"op": "advance", "node": "win1", "seconds": -1})
    with pytest.raises(ControlError, match="not a request with an op of"):
        ask(directory, {"op": "format c:"})


def test_a_lab_that_died_is_said_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "lab.json").write_text(json.dumps({"control": str(tmp_path / "control.sock"), "nodes": {}, "pid": 1}))
    assert "does not run any more" in lab("status", "--dir", tmp_path).stderr
    try:
        assert lab("start", "--detach", "--dir", tmp_path).returncode == 0
    finally:
        assert lab("stop", "--dir", tmp_path).returncode == 0


def test_connect_imports_nothing_heavy() -> None:
    code = "import sys, tests.lab.__main__, tests.lab.server.connect; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "tests.lab.server.connect" in result.stdout.split()
    assert not set(HEAVY) & set(result.stdout.split())


def test_connect_says_who_claims_what(directory: Path) -> None:
    result = lab("connect", "--dir", directory, "192.168.1.1", "22")
    assert result.returncode == 1
    assert (
        "no simulated node claims 192.168.1.1:22; the lab has win1 192.168.122.220:22, win2 10.0.0.2:22"
        in result.stderr
    )


def test_a_fleet_is_nodes_of_one_cluster_and_an_inventory(tmp_path: Path) -> None:
    started = lab("start", "--detach", "--dir", tmp_path, "--fleet", 3)
    try:
        assert started.returncode == 0, started.stderr
        status = ask(tmp_path, {"op": "status"})
        assert sorted(status["nodes"]) == ["win1", "win2", "win3"]
        assert list(status["clusters"]) == ["mycluster"]
        inventory = (tmp_path / "fleet.ini").read_text(encoding="utf-8")
        assert "win3 ansible_host=192.168.10.23\n" in inventory
        assert f"winkube_cluster={{'kubeconfig': '{tmp_path / 'fleet.conf'}'}}\n" in inventory
    finally:
        lab("stop", "--dir", tmp_path)


def test_a_fleet_beside_clusters_leaves_them_their_sums(tmp_path: Path) -> None:
    node = ROOT / "examples/nodes/win-bridge.yml"
    started = lab("start", "--detach", "--dir", tmp_path, "--cluster", "--nodes", node, "--fleet", 1)
    try:
        assert started.returncode == 0, started.stderr
        variables = yaml.safe_load((tmp_path / "whole.yml").read_text(encoding="utf-8"))
        sums = Path(variables["winkube_download_sums"]).read_text(encoding="utf-8")
        assert "/v1.27.4/bin/windows/amd64/kubelet.exe\n" in sums
        assert f"winkube_download_sums={tmp_path / 'fleet/SHA256SUMS'}\n" in (tmp_path / "fleet.ini").read_text("utf-8")
    finally:
        lab("stop", "--dir", tmp_path)
