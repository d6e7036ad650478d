"""Logs of services over weeks: what nssm rotates and what containerd holds open, within limits."""

from __future__ import annotations

import pytest

from tests.integration.lab import Bench
from tests.integration.site import converge
from tests.lab.server.host import NodeHost

MB = 1024 * 1024
CONTAINERD = r"C:\ProgramData\containerd\log"
KEEPS = r"logs of services to 1 MB each, 3 older files and 14 days, by the task \winkube\logs"
LIMITS = {"winkube_log_max_mb": 1, "winkube_log_keep_files": 3}


def sizes(host: NodeHost, folder: str, stem: str) -> dict[str, int]:
    drive = host.node.drive
    return {name: drive.stat(rf"{folder}\{name}").size for name in drive.listdir(folder) if name.startswith(stem)}


def chatter(host: NodeHost, hours: int, size: int = MB // 2) -> None:
    """containerd says so much each hour; a program under nssm has its log rotated each hour, as nssm calls it."""

    def talk() -> None:
        drive, clock = host.node.drive, host.node.clock
        for _ in range(hours):
            drive.write(rf"{CONTAINERD}\containerd.log", b"x" * size, append=True, owner="S-1-5-18")
            drive.write(rf"C:\k\kubelet-{clock.utc():%Y%m%dT%H%M%S}.123.log", b"y" * 1000, owner="S-1-5-18")
            clock.advance(3600)

    host.in_turn(talk)


def test_logs_stay_within_limits_and_without_the_task_they_do_not(bench: Bench) -> None:
    """Nothing removed what nssm rotates, and containerd's own log had no limit at all."""
    host = bench.node()
    converge(bench, winkube_log_keep_files=0)
    chatter(host, 48)
    assert sizes(host, CONTAINERD, "containerd")["containerd.log"] > 24 * MB - 1
    assert len(sizes(host, r"C:\k", "kubelet-")) == 48, "nobody takes them away"

    planned = converge(bench, "--check", "--diff", **LIMITS)
    assert f"would limit {KEEPS}" in planned.output and "max_bytes" in planned.stdout, planned
    assert f"limited {KEEPS}" in converge(bench, **LIMITS).output
    second = converge(bench, **LIMITS)
    assert second.recap["win1"].changed == 0, second
    host.in_turn(lambda: host.node.clock.advance(3700))
    found = sizes(host, CONTAINERD, "containerd")
    assert found.pop("containerd.log") == 0
    assert len(found) == 1 and max(found.values()) <= MB + 65536, "its end was put aside, not all of it"

    chatter(host, 24 * 5)
    found = sizes(host, CONTAINERD, "containerd")
    assert len(found) == 4 and sum(found.values()) < 6 * MB, found
    assert len(sizes(host, r"C:\k", "kubelet-")) <= 4
    pid = host.in_turn(lambda: host.node.services.runtime("containerd").pid)
    assert pid, "it went on"

    host.in_turn(lambda: host.node.clock.advance(15 * 86400))
    assert list(sizes(host, CONTAINERD, "containerd")) == ["containerd.log"], "older than 14 days"
    assert sizes(host, r"C:\k", "kubelet-") == {}
    assert r"removed the task \winkube\logs" in converge(bench, winkube_log_keep_files=0).output
    assert host.in_turn(lambda: host.node.tasks.get(r"\winkube\logs")) is None


@pytest.mark.exhaustive
def test_on_a_full_disk_containerds_log_is_emptied_all_the_same(bench: Bench) -> None:
    host = bench.node()
    converge(bench, **LIMITS)

    def fill() -> None:
        drive = host.node.drive
        drive.write(rf"{CONTAINERD}\containerd.log", b"x" * 3 * MB, append=True, owner="S-1-5-18")
        drive.volumes["C:"].size -= drive.free("C:")

    host.in_turn(fill)
    host.in_turn(lambda: host.node.clock.advance(3700))
    assert sizes(host, CONTAINERD, "containerd") == {"containerd.log": 0}


@pytest.mark.exhaustive
def test_without_tasks_none_is_made(bench: Bench) -> None:
    host = bench.node()
    assert r"\winkube\logs" not in converge(bench, winkube_runner="inline").output
    assert host.in_turn(lambda: host.node.tasks.get(r"\winkube\logs")) is None
