"""A service goes from one manager to the other and back; a power loss at any op leaves it whole, old or new."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.cutting import Cutter
from tests.integration.lab import Bench, Run
from tests.integration.site import site
from tests.integration.test_fault_injection import SEED, ops_of_last_batch
from tests.integration.test_nssm import URL, sha256
from tests.lab.machine.builds import nssm_archive
from tests.lab.machine.faults import Fault
from tests.lab.machine.node import SimulatedNode
from tests.lab.server.host import NodeHost

KEY = r"HKLM\SYSTEM\CurrentControlSet\Services\containerd"
BINARY = r"C:\Program Files\containerd\bin\containerd.exe"
VARIABLES = {"HTTPS_PROXY": "http://user:pass@proxy:3128"}


def run_as(bench: Bench, manager: str, *args: object, environment: dict[str, str] = VARIABLES) -> Run:
    service = {"manager": manager, "environment": environment, "start_timeout": 120, "stop_timeout": 120}
    nssm: dict[str, Any] = {"winkube_nssm_url": URL, "winkube_nssm_checksum": sha256(nssm_archive())}
    return site(bench, *args, winkube_containerd_service=service, **nssm)


def converge_as(bench: Bench, manager: str, *args: object, **more: Any) -> Run:
    run = run_as(bench, manager, *args, **more)
    assert run.rc == 0, run
    return run


def service(node: SimulatedNode) -> dict[str, Any]:
    """All that the registry says of the service, the values under Parameters and its subkeys too, and its state. That
    it is not delayed is said by a 0, which nssm writes, or by nothing."""
    registry = node.registry
    keys = [KEY, rf"{KEY}\Parameters", rf"{KEY}\Parameters\AppExit"]
    found: dict[str, Any] = {
        key: {
            value.name.lower(): (value.type, value.data)
            for value in registry.values(key)
            if (value.name.lower(), value.data) != ("delayedautostart", 0)
        }
        for key in keys
        if registry.exists(key)
    }
    found["state"] = node.services.state("containerd") if node.services.exists("containerd") else None
    return found


def look(host: NodeHost, seconds: float = 0.0) -> dict[str, Any]:
    def work() -> dict[str, Any]:
        host.node.clock.advance(seconds)
        return service(host.node)

    return host.in_turn(work)


@pytest.mark.exhaustive
@pytest.mark.row("SV-17")
def test_there_and_back(bench: Bench) -> None:
    host = bench.node()
    converge_as(bench, "registered")
    before = look(host)
    assert before["state"] == "running"

    bench.reset_ledger()
    there = converge_as(bench, "nssm")
    assert "converted the service containerd from a service of its own to nssm" in there.output
    assert "user:pass" not in there.output
    found = look(host)
    assert found["state"] == "running"
    assert found[KEY]["imagepath"][1] == r"C:\k\nssm.exe"
    parameters = found[rf"{KEY}\Parameters"]
    assert parameters["application"][1] == BINARY
    assert parameters["appenvironmentextra"] == ("multi_string", ["HTTPS_PROXY=http://user:pass@proxy:3128"])
    assert "environment" not in found[KEY], "the old service is gone whole, not changed in place"
    assert converge_as(bench, "nssm").recap["win1"].changed == 0

    back = converge_as(bench, "registered")
    assert "converted the service containerd from nssm to a service of its own" in back.output
    assert look(host) == before
    assert converge_as(bench, "registered").recap["win1"].changed == 0


@pytest.mark.exhaustive
@pytest.mark.row("SV-17")
def test_check_mode_says_it_and_does_nothing(bench: Bench) -> None:
    host = bench.node()
    converge_as(bench, "registered")
    before = look(host)
    run = converge_as(bench, "nssm", "--check")
    assert "would convert the service containerd from a service of its own to nssm" in run.output
    assert look(host) == before


@pytest.mark.exhaustive
@pytest.mark.row("SV-17")
@pytest.mark.parametrize(("old", "new"), [("registered", "nssm"), ("nssm", "registered")])
def test_a_cut_at_any_op_leaves_the_old_service_or_the_new_one_whole(bench: Bench, old: str, new: str) -> None:
    """Whoever works on the batch is killed, or the power goes; each in a copy of the node (cutting.py), which is looked
    at as a whole, and takes the same batch once more."""
    host = bench.node()
    converge_as(bench, old)
    host.node.faults.clear()
    cutter = Cutter(host, None, SEED, kinds=("runner", "power"), in_trouble=False)
    bench.patience_s = 600.0  # the batch waits for its cuts
    converge_as(bench, new)
    cutter.stop()
    print(f"{cutter.cuts} cuts, {cutter.seconds:.0f} s, {cutter.old} old, {cutter.new} new")
    assert cutter.wrong == [], "\n".join(["", *cutter.wrong])
    assert cutter.components == ["containerd"]
    assert cutter.cuts >= 2 * ops_of_last_batch(host.node)
    assert cutter.old and cutter.new


@pytest.mark.exhaustive
@pytest.mark.row("SV-17")
def test_a_service_that_somebody_holds_open_is_made_again_when_it_is_let_go(bench: Bench) -> None:
    """services.msc is open on the node: the deletion waits for that (1072), and so does making the service again."""
    host = bench.node()
    converge_as(bench, "registered")
    before = look(host)

    def hold() -> None:
        host.node.services.open_handle("containerd")
        host.node.clock.call_later(150, lambda: host.node.services.close_handle("containerd"))

    host.in_turn(hold)
    run = run_as(bench, "nssm")
    assert run.rc != 0, run
    assert "Rolled back." in run.output, run
    assert look(host) == before
    converge_as(bench, "nssm")


@pytest.mark.exhaustive
@pytest.mark.row("SV-17")
def test_the_power_goes_between_the_old_service_and_the_new_one(bench: Bench) -> None:
    host = bench.node()
    converge_as(bench, "registered")
    before = look(host)
    host.node.faults.clear()
    host.node.faults.arm(Fault("power", removal(bench), "after", boot_after_s=5))
    run_as(bench, "nssm")
    assert all(fault.fired for fault in host.node.faults.armed)
    found = look(host, 200)
    assert found == before, found


def removal(bench: Bench) -> int:
    """Which op of the conversion takes the old service away: that of a conversion on another node."""
    other = bench.node("other", "10.99.0.2")
    converge_as(bench, "registered", "--limit", "other")
    converge_as(bench, "nssm", "--limit", "other")
    state = r"C:\ProgramData\winkube\batches"
    drive = other.node.drive
    journals = [path for path, _ in drive.walk() if path.lower().startswith(state.lower()) and "journal" in path]
    texts = other.in_turn(lambda: [drive.read(path).decode() for path in journals])
    deletions = [
        entry["n"]
        for text in texts
        for line in text.splitlines()
        if (entry := json.loads(line))["e"] == "done" and "DeleteService SUCCESS" in str(entry.get("result"))
    ]
    assert len(deletions) == 1, deletions
    return int(deletions[0])
