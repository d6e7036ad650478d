"""Places of the tree that say the same thing twice: `make pairs` prints the pairs that share six lines or more.

The looking is pylint's (symilar): without comments, docstrings, imports and signatures. A pair is a place to look at,
no verdict.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEAST = 6
LEFT_OUT = ("comments", "docstrings", "imports", "signatures")

_COUNT = re.compile(r"(\d+) similar lines in \d+ files")
_PLACE = re.compile(r"==(.+):\[(\d+):(\d+)\]")


@dataclass(frozen=True)
class Pair:
    """Two places, `file:from-to`, with the same `lines` lines that say something."""

    lines: int
    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.lines:4}  {self.left} ~ {self.right}"


def read(said: str) -> list[Pair]:
    """The pairs in what symilar printed, most lines first."""
    return sorted(_pairs(said), key=lambda each: (-each.lines, each.left, each.right))


def _pairs(said: str) -> Iterator[Pair]:
    for part in re.split(r"^(?=\d+ similar lines)", said, flags=re.MULTILINE):
        count = _COUNT.match(part)
        if count:
            places = [f"{name}:{int(start) + 1}-{end}" for name, start, end in _PLACE.findall(part)]
            yield from (Pair(int(count[1]), left, right) for left, right in combinations(places, 2))


def main(given: Sequence[str] | None = None) -> int:
    """Prints them."""
    parser = argparse.ArgumentParser(prog="make pairs", description=__doc__)
    parser.add_argument("folders", nargs="*", default=["plugins"], help="plugins unless given")
    parser.add_argument("--least", type=int, default=LEAST, help="lines that have to be the same")
    asked = parser.parse_args(given)
    listed = subprocess.run(
        ["git", "ls-files", "--", *asked.folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [name for name in listed.stdout.splitlines() if name.endswith(".py") and (ROOT / name).is_file()]
    command = [str(Path(sys.executable).with_name("symilar")), "-d", str(asked.least)]
    command += [f"--ignore-{each}" for each in LEFT_OUT]
    said = subprocess.run([*command, *names], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = read(said)
    print(*found, sep="\n")
    print(f"{len(found)} pairs of places that share {asked.least} lines or more, in {len(names)} files")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
