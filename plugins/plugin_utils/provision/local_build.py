# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A build on the controller: made when its sources have changed, and named by what tells two builds apart."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from ..engine.resource import Refused

SOURCES = (".go", ".mod", ".sum", ".s", ".c", ".h")
IGNORED = frozenset({".git", "_output", "bin", "node_modules"})
"""Folders in which no source lies; `bin` and `_output` get what is built."""
SHOWN_LINES = 40
_GIT_S = 20


@dataclass(frozen=True, slots=True)
class Clock:
    """Time in seconds, so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class Made:
    """How a build ended: `output` are its last lines, `seconds` what it took."""

    code: int
    seconds: float
    output: str


def stamp(folder: Path, endings: Sequence[str] = SOURCES, ignored: Collection[str] = IGNORED) -> str:
    """A text that differs when a source below `folder` was added, removed or written."""
    digest = hashlib.sha256()
    for path in sorted(_sources(str(folder), tuple(endings), frozenset(ignored))):
        try:
            found = Path(path).stat()
        except OSError:  # an editor that writes a new file and renames it
            continue
        digest.update(f"{path}\0{found.st_mtime_ns}\0{found.st_size}\n".encode())
    return digest.hexdigest()


def _sources(folder: str, endings: tuple[str, ...], ignored: frozenset[str]) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ignored]
        yield from (f"{place}/{name}" for name in names if name.endswith(endings))


def changed(look: Callable[[], str], since: str, settle_s: float, clock: Clock | None = None) -> str:
    """Wait until `look` says something else than `since`, and then the same for `settle_s`: an editor writes several
    files, and `git checkout` many. What it says then."""
    clock = clock or Clock()
    pause = max(0.05, min(1.0, settle_s))
    seen = look()
    while seen == since:
        clock.sleep(pause)
        seen = look()
    still = clock.now()
    while clock.now() - still < settle_s:
        clock.sleep(pause)
        if (now := look()) != seen:
            seen, still = now, clock.now()
    return seen


def make(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Made:
    """Run the build. Refused if the program cannot be started."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            list(command),
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise Refused(f"{' '.join(command)}: it cannot be started in {folder}: {error.strerror}.") from error
    lines = done.stdout.decode(errors="replace").splitlines()
    return Made(done.returncode, round(time.monotonic() - began, 1), "\n".join(lines[-SHOWN_LINES:]))


def about(path: Path, folder: Path) -> dict[str, Any]:
    """What tells a build from another: path, size in bytes, when it was written, and the revision of its sources (empty
    outside a git repository)."""
    found = path.stat()
    written = datetime.fromtimestamp(found.st_mtime).astimezone().isoformat(timespec="seconds")
    return {"path": str(path), "size": found.st_size, "written": written, "revision": _revision(folder)}


def _revision(folder: Path) -> str:
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def sentence(name: str, about: Mapping[str, Any], seconds: float) -> str:
    """Of a build that was made."""
    revision = f", revision {about['revision']}" if about["revision"] else ""
    size = f"{about['size'] / 1e6:.1f} MB"
    return f"{name}: built {about['path']} in {seconds} s ({size}, written {about['written']}{revision})"
