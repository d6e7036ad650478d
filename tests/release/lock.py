"""`make lock`: requirements-lock.txt, the versions and hashes of everything that CI and a release install.

One file for both environments: below Python 3.12 it has the ansible bundle with ansible-core 2.19. `stale` says what
the requirements name and the file has not, or has in a version that does not fit.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FILE = "requirements-lock.txt"
WISHES = ("requirements.txt", "requirements-test.txt", "requirements-dev.txt")
BUNDLE = "ansible>=12"
OLDEST = "3.11"
_LOCKED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def write(tree: Path = ROOT) -> None:
    """Ask the index for the newest versions that fit; subprocess.CalledProcessError with uv's own words on stderr."""
    target = tree / FILE
    head = "".join(f"{line}\n" for line in target.read_text(encoding="utf-8").splitlines() if line.startswith("# "))
    words = [
        str(Path(sys.prefix) / "bin" / "uv"),
        "pip",
        "compile",
        "--quiet",
        "--upgrade",
        "--universal",
        "--generate-hashes",
    ]
    words += ["--no-annotate", "--no-header", "--no-emit-index-url", "--python-version", OLDEST]
    wanted = f"{BUNDLE}\n" + "".join(f"-r {tree / name}\n" for name in WISHES)
    done = subprocess.run([*words, "-"], input=wanted, stdout=subprocess.PIPE, text=True, check=True)
    target.write_text(head + done.stdout, encoding="utf-8")


def requirements(tree: Path = ROOT) -> Iterator[Requirement]:
    """What the files of WISHES name."""
    for name in WISHES:
        for line in (tree / name).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith(("#", "-r ")):
                yield Requirement(line)


def stale(tree: Path = ROOT) -> list[str]:
    """A sentence for each requirement that the lock does not meet."""
    locked: dict[str, list[str]] = {}
    for name, version in _LOCKED.findall((tree / FILE).read_text(encoding="utf-8")):
        locked.setdefault(canonicalize_name(name), []).append(version)
    return [
        f"{FILE} has no {one}: run `make lock`."
        for one in (Requirement(BUNDLE), *requirements(tree))
        if not any(one.specifier.contains(version) for version in locked.get(canonicalize_name(one.name), ()))
    ]


if __name__ == "__main__":
    write()
