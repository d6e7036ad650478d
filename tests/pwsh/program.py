"""Which PowerShell the lane runs: one that somebody names, this machine's, or that of an archive beside the clone.

For Linux: `WINKUBE_LAB_PWSH=<program>`, else `pwsh` on PATH, else the archive. For Windows, on Wine:
`WINKUBE_LAB_PWSH_WINDOWS=<folder>`, else the archive. An archive is unpacked once, into the folder that all clones of
a machine share (tests/cache.py). One that is there and cannot be used is an error, never a reason to go on without.
"""

from __future__ import annotations

import lzma
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.cache import locked, shared

ROOT = Path(__file__).resolve().parents[2]
ARCHIVES = "WINKUBE_PWSH_ARCHIVES"
"""Names the folder of archives `powershell-VERSION-linux-x64.tar.xz` and `-windows-x64.tar.xz`."""
BESIDE = ROOT.parent / "shared" / "powershell"
Platform = Literal["linux", "windows"]
VARIABLES: Mapping[Platform, str] = {"linux": "WINKUBE_LAB_PWSH", "windows": "WINKUBE_LAB_PWSH_WINDOWS"}
HOST = "WINKUBE_TEST_HOST"
"""Names a Windows machine of an inventory (tests/contract/README.md)."""
INVARIANT = "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT"
START_S = 60


class LaneError(RuntimeError):
    """A sentence: why a PowerShell that is there cannot be used."""


@dataclass(frozen=True)
class PowerShell:
    """`path`: for Linux the program, for Windows the folder that pwsh.exe lies in. `environment`: what it needs
    besides this process's own."""

    platform: Platform
    path: Path
    version: str
    taken_from: str
    environment: Mapping[str, str] = field(default_factory=dict)


def find(platform: Platform, environ: Mapping[str, str] = os.environ) -> PowerShell | None:
    """The one to take; None where there is none. LaneError for one that cannot be used."""
    variable = VARIABLES[platform]
    if named := environ.get(variable):
        return _checked(platform, Path(named), variable)
    if platform == "linux" and (program := shutil.which("pwsh", path=environ.get("PATH"))):
        return _checked(platform, Path(program), "PATH")
    if archive := _newest(Path(environ.get(ARCHIVES) or BESIDE), platform):
        return _checked(platform, unpacked(archive, platform), str(archive))
    return None


def missing() -> str | None:
    """Why no test of the lane is in this run of pytest, as a phrase (tests/lanes.yml); None if there are some."""
    if any(os.environ.get(name) for name in (*VARIABLES.values(), HOST)):
        return None
    return "a run of its own: make pwsh"


def lacking(platform: Platform) -> str:
    """Why there is none, as a phrase."""
    also = ", no pwsh is on PATH" if platform == "linux" else ""
    return f"no PowerShell for {platform.capitalize()}: {VARIABLES[platform]} is not set{also}, no archive in {BESIDE}"


def unpacked(archive: Path, platform: Platform) -> Path:
    """The program, or the folder for Windows, of an archive; unpacked where it is not yet."""
    name = archive.name.removesuffix(".tar.xz")
    with locked(name):
        target = shared(name)
        if not target.is_dir():
            _unpack(archive, target)
    return target / "linux" / "pwsh" if platform == "linux" else target / "windows"


def _unpack(archive: Path, target: Path) -> None:
    """Under another name first: a folder of the right name is whole."""
    new = target.with_name(f"{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    try:
        with tarfile.open(archive) as opened:
            opened.extractall(new, filter="data")
        new.rename(target)
    except (OSError, tarfile.TarError, lzma.LZMAError, EOFError) as error:
        raise LaneError(f"{archive} cannot be unpacked: {error}") from error


def _newest(folder: Path, platform: Platform) -> Path | None:
    found = {
        tuple(map(int, match[1].split("."))): path
        for path in folder.glob(f"powershell-*-{platform}-x64.tar.xz")
        if (match := re.fullmatch(rf"powershell-(\d+\.\d+\.\d+)-{platform}-x64\.tar\.xz", path.name))
    }
    return found[max(found)] if found else None


def _checked(platform: Platform, path: Path, taken_from: str) -> PowerShell:
    """Started once, without the rules of languages where the machine has no libicu. One for Windows has to be there:
    Wine starts it later."""
    if platform == "windows":
        if not (path / "pwsh.exe").is_file():
            raise LaneError(f"{path} ({taken_from}) has no pwsh.exe")
        return PowerShell(platform, path, _version_beside(path), taken_from)
    said = ""
    for more in ({}, {INVARIANT: "1"}):
        done = _version(path, taken_from, more)
        said = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode == 0 and re.fullmatch(r"\d+\.\d+\.\d+\S*", said):
            return PowerShell(platform, path, said, taken_from, more)
    said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
    raise LaneError(f"{path} ({taken_from}) cannot be started (exit code {done.returncode}): {said[-500:]}")


def _version(path: Path, taken_from: str, more: Mapping[str, str]) -> subprocess.CompletedProcess[bytes]:
    line = [str(path), "-NoProfile", "-NonInteractive", "-Command", "$PSVersionTable.PSVersion.ToString()"]
    environment = {**os.environ, "POWERSHELL_TELEMETRY_OPTOUT": "1", **more}
    try:
        return subprocess.run(line, env=environment, capture_output=True, timeout=START_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LaneError(f"{path} ({taken_from}) cannot be started: {error}") from error


def _version_beside(folder: Path) -> str:
    """Of a PowerShell for Windows that is not started, from the name that it was unpacked to."""
    match = re.search(r"powershell-(\d+\.\d+\.\d+)", str(folder))
    return match[1] if match else "?"
