"""Paths of OpenSSH for Windows and of the simulated drive, and the ledger's arithmetic."""

from __future__ import annotations

import pytest

from tests.lab.server.ledger import Ledger
from tests.lab.server.sftp import sftp_path, windows_path

HOME = "C:\\Users\\Administrator"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/C:/k/kubelet.exe", "C:\\k\\kubelet.exe"),
        ("/c:/k", "C:\\k"),
        ("C:\\k\\kubelet.exe", "C:\\k\\kubelet.exe"),
        ("C:/k//a/../b", "C:\\k\\b"),
        ("/C:/", "C:\\"),
        ("/C:", "C:\\"),
        ("C:\\..\\..\\x", "C:\\x"),
        (".", HOME),
        ("", HOME),
        ("a/b", HOME + "\\a\\b"),
        ("/D:/Program Files/x", "D:\\Program Files\\x"),
    ],
)
def test_windows_path(path: str, expected: str) -> None:
    assert windows_path(path, HOME) == expected


def test_back_to_sftp() -> None:
    assert sftp_path("C:\\Users\\Administrator") == "/C:/Users/Administrator"
    assert windows_path(sftp_path("C:\\a b\\c"), HOME) == "C:\\a b\\c"


def test_ledger_counts_and_forgets() -> None:
    ledger = Ledger()
    ledger.add("win1", execs=1, bytes_in=10)
    ledger.add("win1", execs=1, subsystems=1, bytes_in=5)
    ledger.module("win1", "a.b.c")
    assert ledger.node("win1").remote_calls == 3
    read = ledger.read(["win2"])
    assert (read["win1"]["remote_calls"], read["win1"]["bytes_in"], read["win1"]["modules"]) == (3, 15, ["a.b.c"])
    assert read["win2"]["remote_calls"] == 0
    copy = ledger.node("win1")
    ledger.reset()
    assert ledger.node("win1").remote_calls == 0
    assert copy.remote_calls == 3
