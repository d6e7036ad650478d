"""Records transcripts of the real programs that can be had here.

    python -m tests.wine.record               nssm.exe and sc.exe on Wine, containerd of `make real`, Debian's ctr
    python -m tests.wine.record containerd    this only

nssm.exe is fetched (tests/wine/nssm.py), Wine has to be there; containerd is recorded for what `make real` has made.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path

from tests.real import build as real
from tests.wine import nssm
from tests.wine.prefix import SC, Prefix, Registry
from tests.wine.transcripts import (
    CONTAINERD_LINES,
    CTR_LINES,
    NSSM_LINES,
    SC_LINES,
    SERVICE,
    Line,
    Transcript,
    changes,
    printed,
    write,
)

NSSM = r"C:\k\nssm.exe"
KEY = rf"HKLM\SYSTEM\CurrentControlSet\Services\{SERVICE}"
READING = {"get", "status", "query", "qc"}


def flat(registry: Registry) -> dict[str, tuple[str, str]]:
    """`subkey\\name`, lower case, to type and data."""
    return {
        f"{key}\\{name}".strip("\\").lower() if key else name.lower(): value
        for key, values in registry.items()
        for name, value in values.items()
    }


def _lines(prefix: Prefix, program: str, lines: tuple[tuple[str, ...], ...]) -> tuple[Line, ...]:
    found: list[Line] = []
    before: dict[str, tuple[str, str]] = {}
    for argv in lines:
        done = prefix.run(program, argv)
        after = before if argv[0] in READING else flat(_key(prefix))
        found.append(Line(argv, done.returncode, printed(done.stdout, done.stderr), changes(before, after)))
        before = after
    return tuple(found)


def _key(prefix: Prefix) -> Registry:
    try:
        return prefix.registry(KEY)
    except AssertionError:
        return {}


def record_wine() -> None:
    """nssm.exe, each build at hand, and sc.exe."""
    today = datetime.date.today().isoformat()
    with tempfile.TemporaryDirectory() as folder, Prefix(Path(folder) / "prefix") as prefix:
        wine = prefix.version()
        on = f"Wine {wine}, {platform.machine()}"
        by = "python -m tests.wine.record wine"
        for build in nssm.BUILDS.values():
            if not build.at_hand():
                print(f"nssm {build.version}: not recorded, needs {build.client}")
                continue
            prefix.place(nssm.fetch(build), NSSM)
            write(Transcript("nssm", build.version, on, today, by, _lines(prefix, NSSM, NSSM_LINES)))
        write(Transcript("sc", f"wine-{wine}", on, today, by, _lines(prefix, SC, SC_LINES)))


def record_containerd() -> None:
    """Of each containerd of `make real` what the lab's one answers too."""
    today = datetime.date.today().isoformat()
    for version in (real.DEBIAN, *real.CONTAINERD_VERSIONS):
        program = real.program("containerd", version)
        if not program.exists():
            print(f"containerd {version}: not recorded, `python -m tests.real.build containerd@{version}` gets it")
            continue
        lines = [_containerd_line(program, argv) for argv in CONTAINERD_LINES]
        shown = lines[0].out.split()[2].removeprefix("v")
        by = "python -m tests.wine.record containerd"
        write(Transcript("containerd", shown, f"{platform.system()}, {platform.machine()}", today, by, tuple(lines)))


def record_ctr() -> None:
    """Debian's ctr, out of its package. CalledProcessError or OSError where there is no apt."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["apt-get", "download", "-qq", "containerd"], cwd=folder, check=True, capture_output=True)
        package = next(Path(folder).glob("containerd_*.deb"))
        subprocess.run(["dpkg", "-x", package, "unpacked"], cwd=folder, check=True, capture_output=True)
        program = Path(folder) / "unpacked" / "usr" / "bin" / "ctr"
        lines = tuple(_containerd_line(program, argv) for argv in CTR_LINES)
    version = lines[0].out.split()[2].removeprefix("v")
    on = f"{platform.system()}, {platform.machine()}"
    write(Transcript("ctr", version, on, datetime.date.today().isoformat(), "python -m tests.wine.record ctr", lines))


def _containerd_line(program: Path, argv: tuple[str, ...]) -> Line:
    """A configuration is recorded by its keys, a refused flag by the sentence about it without the help around it."""
    done = subprocess.run([program, *argv], capture_output=True, timeout=60, check=False)
    out = printed(done.stdout, done.stderr)
    if "config" in argv and done.returncode == 0:
        out = "\n".join(sorted(keys(tomllib.loads(done.stdout.decode()))))
    if argv == ("--nonsense",):
        out = "\n".join(line for line in out.splitlines() if "nonsense" in line)
    return Line(argv, done.returncode, out)


def keys(document: Mapping[str, object], prefix: str = "") -> list[str]:
    """Every key of a TOML document, dotted."""
    found = []
    for name, value in document.items():
        found.append(f"{prefix}{name}")
        if isinstance(value, dict):
            found += keys(value, f"{prefix}{name}.")
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.wine.record", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="*", default=["wine", "containerd", "ctr"], metavar="wine|containerd|ctr")
    for what in parser.parse_args(arguments).what:
        {"wine": record_wine, "containerd": record_containerd, "ctr": record_ctr}[what]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
