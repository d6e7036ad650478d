"""helm and kubectl, built from Go's module proxy into the shared cache: what charts and overlays are rendered by.

`python -m tests.real.build helm@3.22.0 kubectl@1.37.1` builds them; one of the machine's own may be another version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cache import shared
from tests.real import build

PROGRAMS = (("helm", build.HELM), ("kubectl", build.SERVER_VERSIONS[-1]))


def missing() -> str:
    """The command that builds what is not there; empty if all is."""
    absent = [f"{name}@{version}" for name, version in PROGRAMS if not build.program(name, version).exists()]
    return f"python -m tests.real.build {' '.join(absent)}" if absent else ""


def folder() -> Path:
    """A folder with both, for PATH."""
    made = shared("programs") / "rendering"
    made.mkdir(parents=True, exist_ok=True)
    for name, version in PROGRAMS:
        link, program = made / name, build.program(name, version)
        if not link.is_symlink() or link.readlink() != program:
            link.unlink(missing_ok=True)
            link.symlink_to(program)
    return made


@contextmanager
def at_hand() -> Iterator[bool]:
    """Both are first on PATH, if they are there."""
    there = not missing()
    before = os.environ["PATH"]
    if there:
        os.environ["PATH"] = f"{folder()}{os.pathsep}{before}"
    try:
        yield there
    finally:
        os.environ["PATH"] = before
