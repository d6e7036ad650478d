"""The Windows programs of the lane: which are built, and how one is run."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cache import shared
from tests.real import build
from tests.wine import chroot
from tests.wine.prefix import RUN_S, Prefix


def missing() -> str | None:
    """Why nothing of the lane can run, as a phrase; None if something can."""
    reason = chroot.missing()
    if reason is None and not any(built(name) for name in ("containerd", "kubelet")):
        return f"no Windows program in {shared('programs')}; `make windows` builds them"
    return reason


def cannot_build() -> str | None:
    """Why nothing can be built here, as a phrase; None if it can."""
    return None if shutil.which("go") else "Go is not on PATH"


CMD = r"C:\windows\system32\cmd.exe"
ONLY = "WINKUBE_WINDOWS_ONLY"
"""The variable with what a run is about, as project-version, in words; unset: everything that is built."""


def left_out(name: str, version: str) -> bool:
    """Whether this run is not about this program."""
    only = os.environ.get(ONLY)
    return only is not None and f"{build.project_of(name)}-{version}" not in only.split()


def newest() -> str:
    """The newest of each project, for ONLY: the first in the table of the builds."""
    first: dict[str, str] = {}
    for project, version, _ in build.WINDOWS:
        first.setdefault(project, version)
    return " ".join(f"{project}-{version}" for project, version in first.items())


def built(name: str) -> tuple[str, ...]:
    """The versions of a program that are there, oldest first as the table of the builds names them."""
    versions = {version for _, version, names in build.WINDOWS if name in names and not left_out(name, version)}
    return tuple(
        sorted(
            (version for version in versions if build.program(name, version, "windows").exists()),
            key=lambda version: [int(part) for part in version.split("-")[0].split(".")],
        )
    )


@dataclass(frozen=True)
class Answer:
    """What came of a command line. Of the exit code Linux sees the last byte."""

    exit: int
    out: str
    error: str

    @property
    def said(self) -> str:
        return f"{self.out}\n{self.error}"


class Programs:
    """Runs Windows programs in one prefix; each is placed once, under a name of its version."""

    def __init__(self, prefix: Prefix) -> None:
        self.prefix = prefix

    def place(self, name: str, version: str) -> str:
        """Its Windows path."""
        path = rf"C:\programs\{version}\{name}.exe"
        if not self.prefix.path(path).exists():
            self.prefix.place(build.program(name, version, "windows"), path)
        return path

    def run(
        self,
        name: str,
        version: str,
        arguments: Sequence[str],
        timeout: float = RUN_S,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> Answer:
        """To its end. subprocess.TimeoutExpired ends it."""
        done = self.prefix.run(self.place(name, version), arguments, timeout, environment=environment, stdin=stdin)
        return Answer(done.returncode, _text(done.stdout), _text(done.stderr))

    def until(
        self,
        name: str,
        version: str,
        arguments: Sequence[str],
        signs: Sequence[str],
        timeout: float = RUN_S,
        environment: Mapping[str, str] | None = None,
        path: str = "",
    ) -> tuple[str, str]:
        """Runs it until its output has one of `signs` or it ends: the sign ("" for none) and all that it said.

        `path`: its Path, in place of Wine's own, which is the machine's and what a service gets. Its folder is then the
        root of C:, as in the join.
        """
        program, line = self.place(name, version), list(arguments)
        if path:
            # Wine puts WINEPATH in front of its own Path, and takes no other from outside: a batch file sets it.
            batch = rf"C:\programs\{version}\{name}-under-our-path.bat"
            self.prefix.path(batch).write_bytes(f'@cd /d C:\\\r\n@set "PATH={path}"\r\n@"{program}" %*\r\n'.encode())
            program, line = CMD, ["/c", batch, *line]
        running = self.prefix.start(program, line, environment=environment)
        with contextlib.suppress(AssertionError):
            running.wait_for(signs, timeout)
        said = running.said()
        running.stop()
        return next((sign for sign in signs if sign in said), ""), said


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r", "")


def windows_path(path: Path | str) -> str:
    """How a program on Wine names a file of this machine below /tmp: drive Z: is the root folder."""
    return "Z:" + str(path).replace("/", "\\")


def as_completed(answer: Answer, line: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """For tests that are written for programs of this machine."""
    return subprocess.CompletedProcess(list(line), answer.exit, answer.out, answer.error)
