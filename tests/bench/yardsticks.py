"""What other programs make of the same two builds: the yardsticks of our own difference."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

RDIFF = "rdiff signature old signature && rdiff delta signature new difference && gzip -9 difference && "
YARDSTICKS: Mapping[str, tuple[str, str]] = {
    "zstd --patch-from": ("zstd", "zstd -q -19 --long=31 --patch-from old new -o travels"),
    "rdiff, gzip": ("rdiff", RDIFF + "cat signature difference.gz > travels"),
    "bsdiff": ("bsdiff", "bsdiff old new travels"),
}
"""Name -> (the program, which Debian has under its own name; a command that turns `old` and `new` into `travels`).
rdiff's signature travels, too: the side that has the old build sends it."""


def yardsticks(old: Path, new: Path, folder: Path) -> list[dict[str, Any]]:
    """`[{how, bytes, seconds}, ...]`; bytes and seconds are null where the program is not there."""
    return [_one(how, *named, old, new, folder) for how, named in YARDSTICKS.items()]


def _one(how: str, program: str, command: str, old: Path, new: Path, folder: Path) -> dict[str, Any]:
    if shutil.which(program) is None:
        return {"how": how, "bytes": None, "seconds": None}
    place = folder / program
    place.mkdir()
    for name, build in {"old": old, "new": new}.items():
        shutil.copyfile(build, place / name)  # zstd passes symbolic links over
    started = time.monotonic()
    subprocess.run(["sh", "-c", command], cwd=place, check=True, stderr=subprocess.DEVNULL)
    seconds = round(time.monotonic() - started, 2)
    size = (place / "travels").stat().st_size
    shutil.rmtree(place)
    return {"how": how, "bytes": size, "seconds": seconds}
