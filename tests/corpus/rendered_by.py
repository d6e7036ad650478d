"""helm and kubectl, built from Go's module proxy into the shared cache: what charts and overlays are rendered by.

`make corpus ARGS=--build` builds them (minutes, needs Go); one of the machine's own may be another version.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cache import shared
from tests.real import build

PROGRAMS = (("helm", build.HELM), ("kubectl", build.SERVER_VERSIONS[-1]))


def missing() -> list[str]:
    """What is not there, as `program@version`."""
    return [f"{name}@{version}" for name, version in PROGRAMS if not build.program(name, version).exists()]


def build_missing() -> int:
    """Exit status of the build."""
    return build.main(absent) if (absent := missing()) else 0


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
    """Both are first on PATH, if they are there; without the network, so that the day does not change what is found."""
    there = not missing()
    before = dict(os.environ)
    if there:
        os.environ["PATH"] = f"{folder()}{os.pathsep}{before['PATH']}"
    os.environ |= _OFFLINE
    try:
        yield there
    finally:
        os.environ.clear()
        os.environ.update(before)


# Nobody listens there.
_PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_OFFLINE = {**dict.fromkeys(_PROXIES, "http://127.0.0.1:9"), "GIT_ALLOW_PROTOCOL": "file"}
