"""Gets the containerd programs of lane `real` into .cache/real.

    python tests/real/build.py                 Debian's 1.6, and every version of VERSIONS that is not there yet
    python tests/real/build.py 1.7.35 2.3.7    these only
    python tests/real/build.py grpcurl         the client of the documentation's commands

Debian's is its package, unpacked and not installed. The others are built from their module sources: each takes some
minutes of one core and about 1 GB of Go's caches, so no test and no CI starts that. Not by `go install module@version`:
containerd 1.x has `exclude` lines in its go.mod and is refused. A small module of our own that requires the release
builds both lines.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "real"

DEBIAN = "1.6"
"""Debian 12's package, whatever its patch number is today."""

GRPCURL = "1.9.3"

VERSIONS = ("1.7.35", "2.0.14", "2.1.9", "2.2.9", "2.3.7", "2.4.2")
"""One for each release line whose configuration we render."""


def module_of(version: str) -> str:
    """The Go module of a containerd release. Source: go.mod of containerd v1.7.35 and v2.3.7."""
    return "github.com/containerd/containerd" + ("/v2" if int(version.split(".")[0]) >= 2 else "")


def program(version: str) -> Path:
    """Where the containerd of `version` lies, or will."""
    return CACHE / f"containerd-{version}" / "containerd"


def unpack_debian() -> Path:
    """Debian's containerd, without installing it. OSError or CalledProcessError where there is no apt or no network."""
    target = program(DEBIAN)
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        quiet = {"cwd": folder, "check": True, "capture_output": True, "timeout": 120}
        subprocess.run(["apt-get", "download", "containerd"], **quiet)  # type: ignore[call-overload]
        package = next(Path(folder).glob("containerd_*.deb"))
        subprocess.run(["dpkg", "-x", str(package), "unpacked"], **quiet)  # type: ignore[call-overload]
        target.parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / "unpacked" / "usr" / "bin" / "containerd").rename(target)
    return target


def go(*arguments: str, cwd: Path) -> None:
    """Runs go at low priority; CalledProcessError if it fails."""
    nice = ["nice", "-n", "15"] if shutil.which("nice") else []
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "CGO_ENABLED": "0"}
    subprocess.run([*nice, "go", *arguments], cwd=cwd, env=environment, check=True)


def build(version: str) -> Path:
    """Builds containerd of `version` unless it is there; returns its path."""
    target = program(version)
    if target.exists():
        return target
    module = module_of(version)
    source = CACHE / "src" / f"containerd-{version}"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    (source / "build.go").write_text(f'package build\n\nimport _ "{module}/version"\n')
    go("mod", "init", "winkube.invalid/build", cwd=source)
    go("get", f"{module}/cmd/containerd@v{version}", cwd=source)
    stamp = f"-s -w -X {module}/version.Version=v{version}"
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    go("build", "-p", "1", "-ldflags", stamp, "-o", str(unfinished), f"{module}/cmd/containerd", cwd=source)
    unfinished.rename(target)
    return target


def grpcurl() -> Path:
    """Where grpcurl lies, or will."""
    return CACHE / f"grpcurl-{GRPCURL}" / "grpcurl"


def build_grpcurl() -> Path:
    """Builds it unless it is there; its module has no `exclude` lines, so `go install` takes it."""
    target = grpcurl()
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0", "GOBIN": str(target.parent)}
        module = f"github.com/fullstorydev/grpcurl/cmd/grpcurl@v{GRPCURL}"
        subprocess.run(["go", "install", module], env=environment, check=True)
    return target


def get(version: str) -> Path:
    """Debian's or a built one; or grpcurl."""
    if version == "grpcurl":
        return build_grpcurl()
    return unpack_debian() if version == DEBIAN else build(version)


def label(version: str) -> str:
    """For people."""
    return version if version == "grpcurl" else f"containerd {version}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=[DEBIAN, *VERSIONS])
    failed = 0
    for version in parser.parse_args(arguments).versions:
        try:
            print(f"{label(version)}: {get(version)}", flush=True)
        except (OSError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"{label(version)}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
