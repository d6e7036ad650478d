"""What other programs make of the same two builds: the yardsticks of our own difference."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.debian import FETCH_S, packages, quietly

RDIFF = "rdiff signature old signature && rdiff delta signature new difference && gzip -9 difference && "
YARDSTICKS: Mapping[str, tuple[str, str]] = {
    "zstd --patch-from": ("zstd", "zstd -q -19 --long=31 --patch-from old new -o travels"),
    "rdiff, gzip": ("rdiff", RDIFF + "cat signature difference.gz > travels"),
    "bsdiff": ("bsdiff", "bsdiff old new travels"),
}
"""Name -> (the program, which Debian has under its own name; a command that turns `old` and `new` into `travels`).
rdiff's signature travels, too: the side that has the old build sends it."""


SYSTEMS_OWN = ("libc6_", "libgcc-s1_", "libstdc++6_")
"""Packages that are there already, and must not be there twice in one process."""


def with_debians(cache: Path) -> dict[str, str]:
    """The environment in which the programs are found: those that this machine lacks are fetched as packages of its own
    suite and unpacked in `cache`, without installing them. Where that fails, they stay away."""
    for program, _command in YARDSTICKS.values():
        place = cache / program
        if shutil.which(program) or place.exists():
            continue
        try:
            suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
            with tempfile.TemporaryDirectory(dir=cache, prefix="apt") as folder:
                whole = Path(folder) / "unpacked"
                for package in packages(suite, program, Path(folder) / "state"):
                    if not package.name.startswith(SYSTEMS_OWN):
                        quietly(["dpkg-deb", "-x", package, whole], FETCH_S)
                whole.rename(place)
        except (OSError, KeyError, subprocess.SubprocessError) as error:
            print(f"bench: without {program}: {error}", file=sys.stderr)
    places = [cache / program for program, _command in YARDSTICKS.values()]
    libraries = [str(each) for place in places for each in place.glob("usr/lib/*-linux-gnu")]
    return {
        "PATH": ":".join([os.environ["PATH"], *(str(place / "usr" / "bin") for place in places)]),
        "LD_LIBRARY_PATH": ":".join(libraries),
    }


def yardsticks(old: Path, new: Path, folder: Path, environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """`[{how, bytes, seconds}, ...]`; bytes and seconds are null where the program is not there."""
    return [_one(how, *named, old, new, folder, environment) for how, named in YARDSTICKS.items()]


def _one(
    how: str, program: str, command: str, old: Path, new: Path, folder: Path, environment: Mapping[str, str]
) -> dict[str, Any]:
    if shutil.which(program, path=environment["PATH"]) is None:
        return {"how": how, "bytes": None, "seconds": None}
    place = folder / program
    place.mkdir()
    for name, build in {"old": old, "new": new}.items():
        shutil.copyfile(build, place / name)  # zstd passes symbolic links over
    started = time.monotonic()
    subprocess.run(["sh", "-c", command], cwd=place, env=environment, check=True, stderr=subprocess.DEVNULL)
    seconds = round(time.monotonic() - started, 2)
    size = (place / "travels").stat().st_size
    shutil.rmtree(place)
    return {"how": how, "bytes": size, "seconds": seconds}
