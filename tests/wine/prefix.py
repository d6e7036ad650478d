"""A Wine prefix of its own, in which the real nssm.exe, sc.exe and reg.exe make services.

Between two programs Wine's services.exe goes down and then does not find what it made, so one program is kept running
for as long as the prefix is used.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

BOOT_S = 240
RUN_S = 60
PROBE_S = 20
STARTS = 3
SC = r"C:\windows\system32\sc.exe"
REG = r"C:\windows\system32\reg.exe"
_VALUE = re.compile(r"^    (?P<name>.+?)    (?P<type>REG_[A-Z_]+)(?:    (?P<data>.*))?$")

Registry = dict[str, dict[str, tuple[str, str]]]
"""Key below the one asked for (lower case, "" for itself) -> value name -> (type, data as reg.exe shows it)."""


def loader() -> str | None:
    """Wine's 64-bit loader: Debian's wrapper asks for the 32-bit one first."""
    own = Path("/usr/lib/wine/wine64")
    return str(own) if own.exists() else shutil.which("wine64") or shutil.which("wine")


class Prefix:
    """Use as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            "WINEPREFIX": str(folder),
            "WINEDEBUG": "-all",
            # A crash must end the program, not start a debugger; nothing here needs .NET or a browser.
            "WINEDLLOVERRIDES": "winedbg.exe=d;mscoree=;mshtml=",
        }
        found = loader()
        if found is None:
            raise FileNotFoundError("Wine is not there (Debian: apt install wine64)")
        self.loader = found

    def __enter__(self) -> Prefix:
        self._wine(["wineboot", "-i"], BOOT_S)
        # What wineboot has started ends by itself; what is used comes up afresh.
        self._server("-w")
        for _ in range(STARTS):
            self._keep()
            if self._answers():
                return self
            self._end()
        raise TimeoutError(f"Wine's service manager did not answer, {STARTS} times started")

    def __exit__(self, *_error: object) -> None:
        self._end()

    def _keep(self) -> None:
        """Starts the process that keeps services.exe up: it reads its standard input for ever."""
        self._keeper = subprocess.Popen(
            [self.loader, "cmd.exe"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self.environment,
        )
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
        self._server("-k")
        for stream in (self._keeper.stdin, self._keeper.stdout):
            if stream:
                stream.close()
        try:
            self._keeper.wait(timeout=PROBE_S)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()

    def _server(self, option: str) -> None:
        """Asks this prefix's wineserver to end (-k), or waits until it has (-w)."""
        names = ("/usr/lib/wine/wineserver64", "/usr/lib/wine/wineserver", "wineserver", "wineserver-stable")
        found = next((path for name in names if (path := shutil.which(name))), None)
        if found is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([found, option], env=self.environment, capture_output=True, timeout=RUN_S, check=False)

    def place(self, source: Path, path: str) -> None:
        """Copies a file to a Windows path on C:."""
        target = self.folder / "drive_c" / path.removeprefix("C:\\").replace("\\", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)

    def run(self, program: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        """One program, by its Windows path."""
        return self._wine([program, *arguments], RUN_S)

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

    def _wine(self, line: Sequence[str], timeout: int) -> subprocess.CompletedProcess[bytes]:
        """Into files, not pipes: the first program to need a desktop starts Wine's explorer.exe, which inherits its
        output and stays."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            command = [self.loader, *line]
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=error,
                env=self.environment,
                timeout=timeout,
                check=False,
            )
            out.seek(0)
            error.seek(0)
            return subprocess.CompletedProcess(command, done.returncode, out.read(), error.read())
