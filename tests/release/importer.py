"""What Galaxy and Automation Hub say of an archive when it is imported: galaxy-importer, in an environment of its own.

It wants versions of ansible-core and ansible-lint that are not the clone's, so .cache/galaxy-importer has it. Its
`ansible-test` needs a container engine and is off, as it is by default: `make sanity` runs that. Its ansible-lint warns
of modules of ansible.windows and kubernetes.core where these are not installed, so the bundle is beside it. It gives
ansible-lint 180 s (galaxy_importer/loaders/collection.py, 0.4.44) and reports "Timeout on call to ansible-lint" as an
error after that: on a machine that is busy with something else a release is refused without a mistake.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSION = "0.4.44"
PLACE = ROOT / ".cache" / "galaxy-importer"
_PROBLEM = re.compile(r"^(?:ERROR|WARNING|CRITICAL): .*", re.MULTILINE)


def judge(archive: Path) -> list[str]:
    """What it objects to, a line each. CalledProcessError where it cannot be installed."""
    python = PLACE / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PLACE)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, f"galaxy-importer=={VERSION}"], check=True)
    subprocess.run([*install, "--no-deps", "ansible"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{PLACE / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "HOME": folder}
        done = subprocess.run(
            [str(python), "-m", "galaxy_importer.main", str(archive.resolve())],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    return objections(done.stdout + done.stderr, done.returncode)


def objections(said: str, status: int) -> list[str]:
    """The errors and warnings among what the importer prints."""
    found = _PROBLEM.findall(said)
    return found or ([said.strip()] if status else [])
