"""The chroot leaves nothing behind, however the process that entered it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.wine import chroot
from tests.wine.prefix import Prefix

ROOT = Path(__file__).resolve().parents[2]
_ENTERED = """
import sys
from pathlib import Path
from tests.wine.prefix import Prefix
with Prefix(Path(sys.argv[1])) as prefix:
    prefix.start("cmd.exe", ["/c", "ping -n 600 127.0.0.1"])
    print("in", flush=True)
    sys.stdin.read()
"""


def _inside(folder: Path) -> list[str]:
    """The command lines of all processes that have something bound from that folder in their mounts."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            mounts = (process / "mountinfo").read_text()
            line = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if any(str(folder) in each.split()[3] for each in mounts.splitlines()):
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.lane("wine")
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_mounts_and_programs_are_gone_with_the_process(end: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "prefix"
    with subprocess.Popen(
        [sys.executable, "-c", _ENTERED, str(folder)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in\n"
        assert any("ping" in line for line in _inside(folder))
        process.send_signal(end)
        process.wait(timeout=60)
    deadline = time.monotonic() + 20
    while _inside(folder) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _inside(folder)
    assert str(chroot.root()) not in Path("/proc/self/mountinfo").read_text()


def _ended(holder: int) -> list[str]:
    """Processes below this one that have ended and that nobody has waited for."""
    found, below = [], [holder]
    for pid in below:
        below.extend(int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    for pid in below:
        name, _, state = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        if state.split()[0] == "Z":
            found.append(name)
    return found


@pytest.mark.lane("wine")
def test_programs_that_have_ended_are_gone(tmp_path: Path) -> None:
    """A shell's `trap '' CHLD` did not last: a run of nssm.exe, conhost.exe and their programs left hundreds behind."""
    with Prefix(tmp_path / "prefix") as prefix:
        deadline = time.monotonic() + 20
        while (ended := _ended(prefix.holder)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not ended


def test_what_a_machine_lacks_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert "only root" in (chroot.missing() or "")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get" in (chroot.missing() or "")
