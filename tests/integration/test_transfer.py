"""The lab's SFTP carries a build onto the simulated drive, whole, and counts its bytes."""

from __future__ import annotations

import random

import pytest

from tests.integration.lab import Bench
from tests.integration.test_lab_reaches_ansible import sftp
from tests.lab.machine.errors import WinError

SIZE = 20_000_000


@pytest.mark.exhaustive
def test_twenty_megabytes_arrive_whole(bench: Bench) -> None:
    host = bench.node("win1")
    data = random.Random(1).randbytes(SIZE)
    path = bench.directory / "build"
    path.write_bytes(data)
    run = sftp(bench, f"put {path} /C:/build.exe\n")
    assert run.returncode == 0, run.stderr
    with pytest.raises(WinError, match="32"):
        host.node.drive.read("C:\\build.exe")  # the virus scanner has it from when it was closed, and not before
    again = sftp(bench, f"put {path} /C:/build.exe\n")
    assert "ermission denied" in again.stderr, "nobody else opens it meanwhile"
    host.in_turn(lambda: host.node.clock.advance(host.node.faults.antivirus_s))
    assert host.node.drive.read("C:\\build.exe") == data
    assert SIZE <= bench.account("win1").bytes_in < SIZE * 1.01
