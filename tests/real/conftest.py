"""Lane `real`: upstream's own programs. What is not in the shared cache is skipped, naming the command that gets it."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real import build


@dataclass(frozen=True)
class RealContainerd:
    """One containerd for Linux: Windows paths are just texts to its configuration."""

    version: str
    program: Path

    def path(self, path: Path) -> str:
        """How this containerd names a file of this machine."""
        return str(path)

    def dump(self, config: Path, command: str = "dump") -> dict[str, Any]:
        """What containerd makes of a file, with its defaults, migrated. AssertionError with its words if it refuses."""
        done = self.run(config, command)
        assert done.returncode == 0, done.stderr
        return tomllib.loads(done.stdout)

    def run(self, config: Path, command: str = "dump") -> subprocess.CompletedProcess[str]:
        """`containerd config dump` or `migrate`. The file must be there: 2.x dumps its defaults for a missing one."""
        assert config.is_file()
        arguments = [str(self.program), "--config", str(config), "config", command]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=60, check=False)


def _find(version: str) -> RealContainerd:
    program = build.program("containerd", version)
    if not program.exists() and version in build.SUITES and shutil.which("apt-get") and shutil.which("dpkg"):
        try:
            program = build.unpack_debian(version)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"lane real: Debian's containerd could not be fetched: {error}")
    if not program.exists():
        pytest.skip(
            f"lane real: containerd {version} is not there; `python -m tests.real.build containerd@{version}` gets it"
        )
    shown = subprocess.run([str(program), "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    return RealContainerd(shown.split()[2], program)


@pytest.fixture(scope="session", params=[build.DEBIAN, *build.CONTAINERD_VERSIONS])
def containerd(request: pytest.FixtureRequest) -> RealContainerd:
    """Each containerd of the lane in turn, or those that a test names (`indirect`)."""
    return _find(request.param)
