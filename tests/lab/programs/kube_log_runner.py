"""kube-log-runner.exe, judged by Wine.

Starts a program and keeps what it prints in a file, as a service of Windows too.

Under the service control manager the program that it starts, not it itself, answers: the SCM takes the process that
connects for the service's (event 7039 in System). kubernetes-sigs/image-builder v0.1.55 runs the kubelet so
(images/capi/ansible/windows/roles/kubernetes/tasks/sc.yml). Sources: k8s.io/component-base v0.23.17, v0.33.0 (no
rotation), v0.34.0, v0.37.1 logs/kube-log-runner/kube-log-runner.go, internal/logrotation/logrotation.go.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.lab.machine.errors import WinError
from tests.lab.machine.program import Caller, Completed, Run, text
from tests.lab.programs.daemon import version_of

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.services import ServiceHost

_SINCE_34 = {"flush-interval", "log-file-size", "log-file-age"}
_VALUES = {"log-file", *_SINCE_34}
_BOOLEANS = {"also-stdout", "redirect-stderr"}
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}


class _RefusedError(Exception):
    """What it says before it ends: exit code and line."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code


def _parse(minor: int, words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Its own flags, as Go's package flag takes them, and the command that follows."""
    flags: dict[str, str] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.lstrip("-").partition("=")
        if name not in _VALUES | _BOOLEANS or (name in _SINCE_34 and minor < 34):
            raise _RefusedError(2, f"flag provided but not defined: -{name}")
        if name in _VALUES and not equals:
            if not rest:
                raise _RefusedError(2, f"flag needs an argument: -{name}")
            value = rest.pop(0)
        flags[name] = value or "true"
    if not rest:
        raise _RefusedError(1, "not enough arguments to run")
    return flags, rest


def _bytes(given: str) -> int:
    match = re.fullmatch(r"(\d+)(|k|M|G|Ki|Mi|Gi)", given)
    if match is None:
        raise _RefusedError(2, f'invalid value "{given}" for flag -log-file-size: quantities must match the expression')
    return int(match[1]) * _UNITS[match[2]]


def _duration(given: str) -> float:
    parts = re.findall(r"(\d+(?:\.\d+)?)(h|m|s)", given)
    if not parts or "".join(number + unit for number, unit in parts) != given:
        raise _RefusedError(2, f'invalid value "{given}" for flag -log-file-age: parse error')
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


class _File:
    """The log: rotated at a size to <name>-<time><ext>, and those of them that are too old taken away then."""

    def __init__(self, node: SimulatedNode, flags: dict[str, str]) -> None:
        self._node = node
        self.path = flags.get("log-file", "").replace("/", "\\")
        self._size = _bytes(flags.get("log-file-size", "0"))
        self._age = _duration(flags["log-file-age"]) if "log-file-age" in flags else 0.0
        if self.path:
            self._append(b"")

    def _append(self, data: bytes) -> None:
        try:
            self._node.drive.write(self.path, data, append=True, owner="S-1-5-18")
        except WinError as error:
            raise _RefusedError(1, f"failed to create log file {self.path}: open {self.path}: {error.text}") from error

    def line(self, said: str) -> None:
        if not self.path:
            return
        try:
            self._append(f"{said}\n".encode())
            if self._size and len(self._node.drive.read(self.path)) >= self._size:
                self._rotate()
        except (_RefusedError, WinError):
            return

    def _rotate(self) -> None:
        drive, now = self._node.drive, self._node.clock.utc()
        stem, dot, ending = self.path.rpartition(".")
        # A second one in the same second takes the first one's place: os.Rename replaces on Windows.
        drive.rename(self.path, f"{stem}-{now:%Y%m%d-%H%M%S}{dot}{ending}", replace=True)
        self._append(b"")
        folder, name = drive.parent(self.path), stem.rpartition("\\")[2]
        for each in drive.listdir(folder):
            stamp = re.fullmatch(rf"{re.escape(name)}-(\d{{8}}-\d{{6}})\.{re.escape(ending)}", each)
            if stamp and self._age and stamp[1] < f"{now - timedelta(seconds=self._age):%Y%m%d-%H%M%S}":
                drive.delete(f"{folder}\\{each}")


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    try:
        flags, command = _parse(_minor(node, argv[0]), argv[1:])
        file = _File(node, flags)
    except _RefusedError as error:
        return text(error.code, "", f"{error}\n")
    try:
        process, result = node.start_program(command[0], command[1:], parent=caller.process.pid, log=file.line)
    except WinError as error:
        return text(1, "", f"starting command: fork/exec {command[0]}: {error.text}\n")
    yield from node.processes.wait(process)
    both = flags.get("redirect-stderr", "true") != "false"
    printed = b"".join(part.stdout + (part.stderr if both else b"") for part in result)
    for line in printed.decode(errors="replace").splitlines():
        file.line(line)
    # Seen with kube-log-runner.exe 1.37.1 on Wine 10: without a log file, or with -also-stdout, it prints the output.
    shown = printed if not file.path or flags.get("also-stdout", "false") != "false" else b""
    return Completed(1 if process.exit_code else 0, shown)


def serve(
    node: SimulatedNode, argv: list[str], host: ServiceHost, caller: Caller
) -> Generator[float | None, None, int]:
    yield 0.1
    try:
        flags, command = _parse(_minor(node, argv[0]), argv[1:])
        file = _File(node, flags)
        process, _ = node.start_program(
            command[0],
            command[1:],
            parent=caller.process.pid,
            environment=caller.environment,
            log=file.line,
            host=host,
        )
    except (_RefusedError, WinError) as error:
        return getattr(error, "code", 1)
    node.services.connected_by(host, process)
    yield from node.processes.wait(process)
    return 1 if process.exit_code else 0


def _minor(node: SimulatedNode, path: str) -> int:
    return int(version_of(node, path).split(".")[1])
