"""kube-log-runner.exe does on Wine what tests/windows/log_runner.py says (for the lab: tests/unit/lab)."""

from __future__ import annotations

import re
from collections.abc import Callable

from tests.windows import log_runner
from tests.windows.conftest import require
from tests.windows.programs import Programs


def test_its_command_lines(windows: Programs, judged: Callable[..., None]) -> None:
    for name in ("kube-log-runner", "kubeadm"):
        require(name, log_runner.VERSION)
        windows.place(name, log_runner.VERSION)
    log = windows.prefix.path(log_runner.LOG)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    for case in log_runner.CASES:
        before = log.read_bytes().count(log_runner.WORDS)
        done = windows.prefix.run(log_runner.RUNNER, case.line)
        added = log.read_bytes().count(log_runner.WORDS) - before
        assert (done.returncode, added) == (case.exit, case.in_log), (case, done)
        assert done.stdout.count(log_runner.WORDS) == case.in_output, (case, done)
        assert case.said in done.stderr.decode(), (case, done)
    judged("kube-log-runner", log_runner.VERSION, "its flags", f"{len(log_runner.CASES)} command lines")


def test_what_it_rotates(windows: Programs, judged: Callable[..., None]) -> None:
    """At the size, after a write: a program that prints much at once rotates several times in a second, and of each
    second the last file is left."""
    for name in ("kube-log-runner", "kubelet"):
        require(name, log_runner.VERSION)
        windows.place(name, log_runner.VERSION)
    program = log_runner.PROGRAM.replace("kubeadm", "kubelet")
    whole = windows.prefix.run(program, ["--help"]).stdout
    folder = windows.prefix.path(r"C:\k\rotated")
    folder.mkdir(parents=True, exist_ok=True)
    done = windows.prefix.run(
        log_runner.RUNNER, [r"-log-file=C:\k\rotated\kubelet.log", "-log-file-size=1Ki", program, "--help"]
    )
    assert done.returncode == 0, done
    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
    log = kept.pop("kubelet.log")
    assert kept
    assert len(log) < 1024
    assert all(re.fullmatch(r"kubelet-\d{8}-\d{6}\.log", name) for name in kept), sorted(kept)
    last = kept[max(kept)]
    assert len(last) >= 1024
    assert whole.endswith(last + log)
    judged("kube-log-runner", log_runner.VERSION, "", "rotated files: names, what is lost")
