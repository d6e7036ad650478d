"""A Wine prefix of its own in the chroot of tests/wine/chroot.py: the real nssm.exe, sc.exe and reg.exe make services
in there, and Windows programs run, to their end or in the background.

Between two programs Wine's services.exe goes down and then does not find what it made, so one program is kept running
for as long as the prefix is used.

The network is this machine's: what listens in there is reached on 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.wine import chroot

RUN_S = 60
PROBE_S = 20
STARTS = 3
SC = r"C:\windows\system32\sc.exe"
REG = r"C:\windows\system32\reg.exe"
LINKED = {".dll", ".drv", ".exe", ".ocx", ".sys", ".cpl", ".acm", ".ax", ".msstyles", ".nls", ".tlb", ".ttf"}
_VALUE = re.compile(r"^    (?P<name>.+?)    (?P<type>REG_[A-Z_]+)(?:    (?P<data>.*))?$")

Registry = dict[str, dict[str, tuple[str, str]]]
"""Key below the one asked for (lower case, "" for itself) -> value name -> (type, data as reg.exe shows it)."""


class Running:
    """A Windows program in the background; its output, both streams, is in `log` on this machine."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, line: Sequence[str]) -> None:
        self._process = process
        self._line = line
        self.log = log

    def said(self) -> str:
        """Its output so far."""
        return self.log.read_text(encoding="utf-8", errors="replace").replace("\r", "")

    def exit_code(self) -> int | None:
        """None while it runs. Of a Windows exit code only the last byte arrives."""
        return self._process.poll()

    def wait(self, timeout: float) -> int:
        """Until it ends by itself; subprocess.TimeoutExpired if it does not."""
        return self._process.wait(timeout=timeout)

    def wait_for(self, texts: str | Sequence[str], timeout: float = RUN_S) -> None:
        """Until its output has that text, or one of them. AssertionError with what it said when it ends or the time is
        up before."""
        wanted = (texts,) if isinstance(texts, str) else tuple(texts)
        self._until(lambda: any(text in self.said() for text in wanted), " or ".join(map(repr, wanted)), timeout)

    def wait_for_port(self, port: int, timeout: float = RUN_S) -> None:
        """Until something listens on that port of 127.0.0.1."""

        def answers() -> bool:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return True
            return False

        self._until(answers, f"port {port}", timeout)

    def _until(self, there: Callable[[], bool], what: str, timeout: float) -> None:
        end = time.monotonic() + timeout
        while not there():
            code = self.exit_code()
            if code is not None and not there():
                raise AssertionError(f"{self._line}: ended with {code} before {what}\n{self.said()}")
            if time.monotonic() > end:
                raise AssertionError(f"{self._line}: no {what} within {timeout} s\n{self.said()}")
            time.sleep(0.1)

    def stop(self) -> int:
        """Ends it, as TerminateProcess does."""
        if self._process.poll() is None:
            for end in (signal.SIGTERM, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, end)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=PROBE_S)
                    break
        return self._process.wait()


class Prefix:
    """Use as a context manager. `folder` becomes the prefix and is bound into the chroot: drive C: is its drive_c."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ["PATH"],
            **chroot.ENVIRONMENT,
            "WINEPREFIX": str(chroot.WORK),
            **(environment or {}),
        }
        self._running: list[Running] = []

    def __enter__(self) -> Prefix:
        if not (self.folder / "system.reg").exists():
            shutil.copytree(chroot.template(), self.folder, symlinks=True, copy_function=_copy, dirs_exist_ok=True)
        self._chroot = chroot.Chroot(self.folder)
        self._chroot.__enter__()
        try:
            self._start()
        except BaseException:
            self._chroot.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        for program in self._running:
            program.stop()
        self._end()
        self._chroot.__exit__()

    def _start(self) -> None:
        for _ in range(STARTS):
            self._keep()
            if self._answers():
                return
            self._end()
        raise TimeoutError(f"Wine's service manager did not answer, {STARTS} times started")

    def _keep(self) -> None:
        """Starts the process that keeps services.exe up: it reads its standard input for ever."""
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self._keeper = self.popen(["cmd.exe"], stdin=pipe, stdout=pipe, stderr=nowhere)
        # Its first words: it is there, and the next program does not start the same things at the same time.
        if self._keeper.stdout:
            select.select([self._keeper.stdout], [], [], RUN_S)

    def _answers(self) -> bool:
        """Whether the service manager is there, within a minute."""
        end = time.monotonic() + RUN_S
        while time.monotonic() < end:
            try:
                if self._wine([SC, "query", "RpcSs"], PROBE_S).returncode == 0:
                    return True
            except subprocess.TimeoutExpired:
                return False
            time.sleep(0.5)
        return False

    def _end(self) -> None:
        """Ends every process of the prefix."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            command = self._chroot.command([chroot.WINESERVER, "-k"])
            subprocess.run(command, env=self.environment, capture_output=True, timeout=RUN_S, check=False)
        for stream in (self._keeper.stdin, self._keeper.stdout):
            if stream:
                stream.close()
        try:
            self._keeper.wait(timeout=PROBE_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    @property
    def holder(self) -> int:
        """The process that holds the chroot open."""
        return self._chroot.holder

    def path(self, path: str) -> Path:
        """Where a Windows path on C: is on this machine. The letters' case counts."""
        return self.folder / "drive_c" / path[len("C:\\") :].replace("\\", "/")

    def place(self, source: Path, path: str) -> None:
        """Copies a file to a Windows path on C:."""
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copyfile(source, target)

    def run(
        self,
        program: str,
        arguments: Sequence[str],
        timeout: float = RUN_S,
        *,
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        """One program, by its Windows path, to its end. subprocess.TimeoutExpired ends it."""
        return self._wine([program, *arguments], timeout, environment, stdin)

    def start(self, program: str, arguments: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Running:
        """One program, by its Windows path, in the background; it is ended with the prefix at the latest."""
        line = [program, *arguments]
        handle, name = tempfile.mkstemp(prefix="winkube-wine-", suffix=".log", dir=self.folder)
        with os.fdopen(handle, "wb") as log:
            process = self.popen(line, environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        running = Running(process, Path(name), line)
        self._running.append(running)
        return running

    def popen(
        self, line: Sequence[str], environment: Mapping[str, str] | None = None, **streams: Any
    ) -> subprocess.Popen[bytes]:
        """One program, by its Windows path; streams as for subprocess.Popen. Whoever starts it ends it."""
        return subprocess.Popen(
            self.command(line),
            env={**self.environment, **(environment or {})},
            start_new_session=True,
            **streams,
        )

    def command(self, line: Sequence[str]) -> list[str]:
        """The command line of this machine that runs a program of the prefix, by its Windows path."""
        return self._chroot.command([chroot.WINE, *line])

    def version(self) -> str:
        """Wine's own, as in `10.0`."""
        return self._wine(["--version"], PROBE_S).stdout.decode().split()[0].removeprefix("wine-")

    def registry(self, key: str) -> Registry:
        """A key with all below it."""
        done = self.run(REG, ["query", key, "/s"])
        assert done.returncode == 0, done.stdout + done.stderr
        found: Registry = {}
        below = ""
        for line in done.stdout.decode().splitlines():
            if line.startswith("HKEY_"):
                _, _, below = line.lower().partition(key.lower().removeprefix("hklm"))
                found[below.strip("\\")] = {}
            elif match := _VALUE.match(line.rstrip("\r")):
                name = "" if match["name"] == "(Default)" else match["name"]
                found[below.strip("\\")][name] = (match["type"], match["data"] or "")
        return found

    def _wine(
        self, line: Sequence[str], timeout: float, environment: Mapping[str, str] | None = None, stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        """By files, not pipes: the first program to need a desktop starts Wine's explorer.exe, which inherits its
        output and stays."""
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            given.write(stdin)
            given.seek(0)
            process = self.popen(line, environment, stdin=given, stdout=out, stderr=error)
            try:
                code = process.wait(timeout=timeout)
            except BaseException:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                raise
            out.seek(0)
            error.seek(0)
            return subprocess.CompletedProcess(list(line), code, out.read(), error.read())


def _copy(source: str, target: str) -> None:
    """Wine's own programs are linked where they can be: they are most of a prefix, and nothing writes into them."""
    if Path(source).suffix in LINKED:
        with contextlib.suppress(OSError):
            os.link(source, target)
            return
    shutil.copy2(source, target)
