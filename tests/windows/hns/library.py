"""Builds hns.c by zig's C compiler, which is a package of PyPI; it is not kept (380 MB)."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.cache import locked, shared
from tests.wine.prefix import Prefix

SOURCE = Path(__file__).with_name("hns.c")
COMPILER = "ziglang==0.15.2"
NAMES = ("computenetwork.dll", "vmcompute.dll")
"""hcsshim calls HCN in the one and HNSCall in the other; each holds both here."""
_LINE = ("cc", "-target", "x86_64-windows-gnu", "-shared", "-O2", "-s", "-Wall", "-Werror")


def library() -> Path:
    """The DLL, where it lies or will: by what it is built from and with."""
    digest = hashlib.sha256(SOURCE.read_bytes() + f"{COMPILER} {_LINE}".encode()).hexdigest()[:12]
    return shared("programs") / "windows" / f"hns-{digest}" / "hns.dll"


def build() -> Path:
    """Builds it unless it is there. OSError or CalledProcessError if that fails."""
    target = library()
    with locked("hns"):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as folder:
                pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, COMPILER)
                subprocess.run(pip, check=True, timeout=300)
                made = Path(folder) / "hns.dll"
                line = (sys.executable, "-m", "ziglang", *_LINE, "-o", str(made), str(SOURCE), "-lws2_32", "-lole32")
                places = {"ZIG_GLOBAL_CACHE_DIR": f"{folder}/cache", "ZIG_LOCAL_CACHE_DIR": f"{folder}/cache"}
                environment = {**os.environ, **places, "PYTHONPATH": folder}
                subprocess.run(line, check=True, timeout=900, env=environment)
                shutil.copyfile(made, target.with_suffix(".part"))
            target.with_suffix(".part").rename(target)
    return target


def place(prefix: Prefix) -> None:
    """Every program of the prefix finds HNS from now on."""
    for name in NAMES:
        prefix.place(build(), rf"C:\windows\system32\{name}")
