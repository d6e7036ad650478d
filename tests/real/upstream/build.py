"""Builds kubelet, kube-proxy and kubeadm of lane `real` into .cache/real, and records what they say to --help.

    python tests/real/upstream/build.py                     every version of VERSIONS that is not there yet
    python tests/real/upstream/build.py 1.27.16 1.37.1      these only
    python tests/real/upstream/build.py --record            writes tests/recorded/<program>-<version>.help.txt as well
    python tests/real/upstream/build.py --server            kube-apiserver of SERVER_VERSIONS instead

From the module sources: each version takes 10 minutes and more of one core and about 3 GB of Go's caches, so no test
and no CI starts that. `go install k8s.io/kubernetes/cmd/kubelet@v1.N.P` is refused: the project's own libraries stand
in its go.mod at v0.0.0, replaced by folders that a module's archive does not hold. A module of our own replaces them
with their releases, which are tagged v0.N.P.

They are Linux builds. Flags that only a Windows build has are not in their --help: tests/recorded/system-flags.txt.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
CACHE = ROOT / ".cache" / "real"
RECORDED = ROOT / "tests" / "recorded"

PROGRAMS = ("kubelet", "kube-proxy", "kubeadm")

VERSIONS = ("1.22.17", "1.24.17", "1.27.4", "1.30.4", "1.33.13", "1.35.4", "1.37.1")
"""The documents' two minors, those around each change of flags, and the newest."""

SERVER_VERSIONS = ("1.33.13", "1.37.1")
"""kube-apiserver, the judge of the linter: the minors of tests/fixtures/lint/apiserver."""

MODULE = "k8s.io/kubernetes"

HELP = {"kubelet": ("--help",), "kube-proxy": ("--help",), "kubeadm": ("join", "--help")}
"""What is recorded. A node runs kubeadm only to join."""


def program(name: str, version: str) -> Path:
    """Where a program of `version` lies, or will."""
    return CACHE / f"kubernetes-{version}" / name


def library_version(version: str) -> str:
    """The tag of k8s.io/api and its like that belongs to a release: v0.29.3 for 1.29.3."""
    major, rest = version.split(".", 1)
    if major != "1":
        raise ValueError(f"{version!r} is no version of Kubernetes 1.x")
    return f"v0.{rest}"


def go(*arguments: str, cwd: Path, capture: bool = False) -> str:
    """Runs go at the lowest priority, one package at a time; CalledProcessError if it fails."""
    nice = ["nice", "-n", "19"] if shutil.which("nice") else []
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false -p=1", "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(
        [*nice, "go", *arguments],
        cwd=cwd,
        env=environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE if capture else None,
    )
    return done.stdout or ""


def go_mod(upstream: dict[str, Any], version: str) -> str:
    """Our go.mod: upstream's replacements, its local folders replaced by the released libraries.

    `upstream` is what `go mod edit -json` says of Kubernetes' own go.mod.
    """
    lines = ["module winkube.invalid/build", "", f"go {upstream['Go']}", "", f"require {MODULE} v{version}", ""]
    local = {item["Path"] for item in upstream.get("Require") or [] if item["Version"] == "v0.0.0"}
    for item in upstream.get("Replace") or []:
        old, new = item["Old"]["Path"], item["New"]
        if new.get("Version"):
            lines.append(f"replace {old} => {new['Path']} {new['Version']}")
        else:
            local.add(old)
    lines += [f"replace {path} => {path} {library_version(version)}" for path in sorted(local)]
    return "\n".join(lines) + "\n"


def prepare(version: str) -> Path:
    """A folder with our module for `version`."""
    source = CACHE / "src" / f"kubernetes-{version}"
    source.mkdir(parents=True, exist_ok=True)
    (source / "go.mod").write_text("module winkube.invalid/build\n")
    found = json.loads(go("mod", "download", "-json", f"{MODULE}@v{version}", cwd=source, capture=True))
    upstream = json.loads(go("mod", "edit", "-json", found["GoMod"], cwd=source, capture=True))
    (source / "go.mod").write_text(go_mod(upstream, version))
    return source


def build(version: str, names: Sequence[str] = PROGRAMS) -> list[Path]:
    """Builds what is not there of `version`; returns the paths of all."""
    paths = [program(name, version) for name in names]
    missing = [path for path in paths if not path.exists()]
    if not missing:
        return paths
    source = prepare(version)
    stamp = f"-s -w -X k8s.io/component-base/version.gitVersion=v{version}"
    for path in missing:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        go("build", "-ldflags", stamp, "-o", str(unfinished), f"{MODULE}/cmd/{path.name}", cwd=source)
        unfinished.rename(path)
        print(f"{path.name} {version}: {path}", flush=True)
    return paths


def record(version: str, today: datetime.date) -> None:
    """Writes what each program of `version` says to --help, under a header that says what it is."""
    toolchain = subprocess.run(["go", "env", "GOVERSION"], check=True, capture_output=True, text=True).stdout.strip()
    for name in PROGRAMS:
        command = (str(program(name, version)), *HELP[name])
        said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env={"HOME": "/"})
        text = re.sub(r"[ \t]+$", "", said.stdout, flags=re.MULTILINE).strip("\n")
        header = (
            f"# {name} {version}, command: {name} {' '.join(HELP[name])}, recorded {today.isoformat()}, "
            f"Linux build (amd64, {toolchain}, from {MODULE}@v{version}); flags of Windows builds only are not in it"
        )
        RECORDED.mkdir(parents=True, exist_ok=True)
        (RECORDED / f"{name}-{version}.help.txt").write_text(f"{header}\n{text}\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*")
    parser.add_argument("--server", action="store_true", help="kube-apiserver alone")
    parser.add_argument("--record", action="store_true", help="write tests/recorded/*.help.txt")
    chosen = parser.parse_args(arguments)
    failed = 0
    for version in chosen.versions or (SERVER_VERSIONS if chosen.server else VERSIONS):
        try:
            build(version, ("kube-apiserver",) if chosen.server else PROGRAMS)
            if chosen.record and not chosen.server:
                record(version, datetime.datetime.now(tz=datetime.UTC).date())
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"kubernetes {version}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
