"""A PowerShell for Windows on Wine: WINKUBE_LAB_PWSH_WINDOWS names the folder that pwsh.exe lies in.

`started` makes a prefix, copies the folder into it, builds the launcher that gives it a console, and yields a program
of this machine that stands for PowerShell, as WINKUBE_LAB_PWSH names one. Each process of pytest has a prefix of its
own: `pytest -n 2` runs the contract on two side by side.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.wine import chroot
from tests.wine.prefix import Prefix

SOURCE = Path(__file__).parent / "launcher"
HOME = "C:\\pwsh"
OVERRIDES = "winedbg.exe=d;mshtml="
"""mscoree stays: without it .NET cannot be loaded."""
LOCALE = Path("usr/lib/locale/C.utf8")
BUILD_S = 300


class LaneError(RuntimeError):
    """A sentence: what the lane lacks."""


def build(folder: Path, source: Path = SOURCE) -> Path:
    """launcher.exe, or another program, made of our source by Go."""
    if shutil.which("go") is None:
        raise LaneError(f"PowerShell on Wine needs a {source.name}, which Go builds: go is not on PATH")
    program = folder / f"{source.name}.exe"
    environment = {**os.environ, "GOOS": "windows", "GOARCH": "amd64", "CGO_ENABLED": "0", "GOWORK": "off"}
    command = ["go", "build", "-buildvcs=false", "-o", str(program), "."]
    done = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False
    )
    if done.returncode:
        raise LaneError(f"the {source.name} cannot be built: {done.stderr.strip()}")
    return program


def with_locale(root: Path, machine: Path = Path("/")) -> None:
    """The chroot gets this machine's locale C.utf8 if it has none: so LANG counts, and names may have umlauts."""
    there = root / LOCALE
    if there.is_dir():
        return
    if not (machine / LOCALE).is_dir():
        raise LaneError(f"neither the chroot nor this machine has the locale {LOCALE.name} ({machine / LOCALE})")
    shutil.copytree(machine / LOCALE, there)


@contextmanager
def started(folder: Path, work: Path) -> Iterator[Path]:
    """The program; `work` is a folder of the caller's own."""
    with placed(folder, work) as prefix:
        yield written(prefix, work / "pwsh", HOME)


@contextmanager
def placed(folder: Path, work: Path) -> Iterator[Prefix]:
    """A prefix with PowerShell and its launcher in HOME."""
    if not (folder / "pwsh.exe").is_file():
        raise LaneError(f"WINKUBE_LAB_PWSH_WINDOWS names {folder}, and there is no pwsh.exe in it")
    reason = chroot.missing()
    if reason:
        raise LaneError(f"PowerShell on Wine cannot be started: {reason}")
    launcher = build(work)
    with_locale(chroot.root())
    environment = {"WINEDLLOVERRIDES": OVERRIDES, "LANG": "C.utf8", "LC_ALL": "C.utf8"}
    with Prefix(work / "prefix", environment) as prefix:
        shutil.copytree(folder, prefix.path(HOME))
        prefix.place(launcher, f"{HOME}\\launcher.exe")
        yield prefix


def copied(prefix: Prefix, home: str) -> Path:
    """Another folder of the prefix with the files of HOME, for other policies; where it is on this machine."""
    copy = prefix.path(home)
    shutil.copytree(prefix.path(HOME), copy, copy_function=os.link)
    return copy


def written(prefix: Prefix, program: Path, home: str) -> Path:
    """A program of this machine that stands for the PowerShell in that folder of the prefix."""
    program.write_text(wrapper(prefix, f"{home}\\launcher.exe"), encoding="utf-8")
    program.chmod(0o755)
    return program


def wrapper(prefix: Prefix, program: str) -> str:
    """A shell script that runs a program of the prefix with the arguments it is given."""
    sets = " ".join(f"{name}={shlex.quote(value)}" for name, value in prefix.environment.items())
    # A file that traced scripts write to (tests/pwsh/trace.py), by its name on drive Z:.
    sets += ' ${WINKUBE_TRACE:+"WINKUBE_TRACE=Z:$WINKUBE_TRACE"}'
    line = shlex.join([*prefix.command([program])])
    return f'#!/bin/sh\nexec env -i {sets} {line} "$@"\n'
