"""Command lines of kube-log-runner.exe whose exit code, output and log the lab has to have as the real one does."""

from __future__ import annotations

from dataclasses import dataclass

VERSION = "1.37.1"
FOLDER, LOG = r"C:\k\logs", r"C:\k\logs\kubelet.log"
RUNNER, PROGRAM = rf"C:\programs\{VERSION}\kube-log-runner.exe", rf"C:\programs\{VERSION}\kubeadm.exe"
WORDS = b"unknown flag: --nonsense"


@dataclass(frozen=True)
class Case:
    """exit; in_log, in_output: how often the program's words are added to the log, and are printed; said: what stands
    in its own words. Recorded with kube-log-runner.exe and kubeadm.exe 1.37.1 on Wine 10.0."""

    line: tuple[str, ...]
    exit: int
    in_log: int
    in_output: int = 0
    said: str = ""


TO_LOG = f"-log-file={LOG}"
BROKEN = (PROGRAM, "--nonsense")
CASES = (
    Case((TO_LOG, *BROKEN), 1, 1),
    Case((TO_LOG, "-also-stdout", *BROKEN), 1, 1, 1),
    Case((TO_LOG, "-redirect-stderr=false", *BROKEN), 1, 0),
    Case((TO_LOG, "-log-file-size=1Mi", *BROKEN), 1, 1),
    Case((), 1, 0, said="not enough arguments to run"),
    Case(("-nonsense",), 2, 0, said="flag provided but not defined: -nonsense"),
    Case((TO_LOG, r"C:\k\gone.exe"), 1, 0, said=r"starting command: fork/exec C:\k\gone.exe: "),
    Case(
        (r"-log-file=C:\gone\x.log", *BROKEN),
        1,
        0,
        said=r"failed to create log file C:\gone\x.log: open C:\gone\x.log: ",
    ),
)
