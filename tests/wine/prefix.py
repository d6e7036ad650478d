"""A Wine prefix of its own, in which the real nssm.exe, sc.exe and reg.exe make services.

Between two programs Wine's services.exe goes down and then does not find what it made, so one program is kept running
for as long as the prefix is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

BOOT_S = 240
RUN_S = 60
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
        # Reads its standard input for ever: the process that keeps services.exe up.
        self._keeper = subprocess.Popen(
            [self.loader, "cmd.exe"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.environment,
        )
        end = time.monotonic() + RUN_S
        while self.run(SC, ["query", "RpcSs"]).returncode != 0:
            if time.monotonic() > end:
                raise TimeoutError("Wine's service manager does not answer")
            time.sleep(0.5)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._keeper.stdin:
            self._keeper.stdin.close()
        self._keeper.wait(timeout=RUN_S)
        server = shutil.which("wineserver") or "/usr/lib/wine/wineserver"
        if Path(server).exists():
            subprocess.run([server, "-k"], env=self.environment, capture_output=True, timeout=RUN_S, check=False)

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
        return subprocess.run(
            [self.loader, *line],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=self.environment,
            timeout=timeout,
            check=False,
        )
