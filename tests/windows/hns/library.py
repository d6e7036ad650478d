"""Builds C for Windows by zig's compiler, which is a package of PyPI; it is not kept (380 MB). hns.c is HNS's DLL."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.cache import locked, shared
from tests.wine.prefix import Prefix

SOURCE = Path(__file__).with_name("hns.c")
COMPILER = "ziglang==0.15.2"
NAMES = ("computenetwork.dll", "vmcompute.dll")
"""hcsshim calls HCN in the one and HNSCall in the other; each holds both here."""
LIBRARIES = ("ws2_32", "ole32")
_LINE = ("cc", "-target", "x86_64-windows-gnu", "-shared", "-O2", "-s", "-Wall", "-Werror")


def library(source: Path = SOURCE, libraries: Sequence[str] = LIBRARIES) -> Path:
    """The DLL, where it lies or will: by what it is built from and with."""
    more = f"{libraries}" if tuple(libraries) != LIBRARIES else ""
    digest = hashlib.sha256(source.read_bytes() + f"{COMPILER} {_LINE}{more}".encode()).hexdigest()[:12]
    return shared("programs") / "windows" / f"{source.stem}-{digest}" / f"{source.stem}.dll"


def build(source: Path = SOURCE, libraries: Sequence[str] = LIBRARIES) -> Path:
    """Builds it unless it is there. OSError or CalledProcessError if that fails."""
    target = library(source, libraries)
    with locked(source.stem):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as folder:
                pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, COMPILER)
                subprocess.run(pip, check=True, timeout=300)
                made = Path(folder) / target.name
                linked = [f"-l{name}" for name in libraries]
                line = (sys.executable, "-m", "ziglang", *_LINE, "-o", str(made), str(source), *linked)
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
