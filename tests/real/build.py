"""Builds upstream's Go programs from their module sources, for Linux (lane `real`) and for Windows (lane `windows`).

    python -m tests.real.build                               what lane real uses and is not there yet
    python -m tests.real.build --windows                     what lane windows uses
    python -m tests.real.build --windows containerd@2.3.7    these only: programs or projects, each with a version
    python -m tests.real.build --record kubelet@1.37.1       writes tests/recorded/<program>-<version>.help.txt as well

They lie in the cache that clones share (tests/cache.py), by version. containerd 1.4 and 1.6 are Debian's packages,
unpacked and not installed. A release line of Kubernetes takes minutes of a core and some GB of Go's caches.

Not by `go install module@version`: what replaces or excludes modules in its go.mod is refused, and Kubernetes' own
libraries stand in there at v0.0.0, replaced by folders that a module's archive does not hold. A module of our own
requires the release and replaces what it replaces, those folders by their releases (k8s.io/api v0.29.3 for 1.29.3).
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
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cache import locked, shared
from tests.debian import FETCH_S, packages, quietly

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "recorded"
GO_CACHE = shared("go")

DEBIAN = "1.6"
OLDEST = "1.4"
SUITES = {OLDEST: "bullseye", DEBIAN: "bookworm"}
"""Debian's packages of containerd, whatever their patch numbers are. 1.4, as a module, does not say what it needs."""

CONTAINERD_VERSIONS = ("1.7.35", "2.0.14", "2.1.9", "2.2.9", "2.3.7", "2.4.2")
"""One for each release line whose configuration we render."""

KUBERNETES_VERSIONS = ("1.22.17", "1.24.17", "1.27.4", "1.30.4", "1.33.13", "1.35.4", "1.37.1")
"""The documents' two minors, those around each change of flags, and the newest."""

EVERY_KUBERNETES = (*KUBERNETES_VERSIONS[:4], "1.31.14", *KUBERNETES_VERSIONS[4:6], "1.36.3", *KUBERNETES_VERSIONS[6:])
"""With those that are built for Windows alone."""

SERVER_VERSIONS = ("1.33.13", "1.37.1")
"""The judge of the linter, of the minors of tests/fixtures/lint/apiserver; the last one is run as well."""

CONTROL_PLANE = ("kube-apiserver", "kube-controller-manager")

WITHOUT_V1 = "1.5.18"
"""The newest containerd that serves CRI v1alpha2 alone, as 1.4 does; neither is one whose configuration we render."""

CTR_VERSIONS = ("1.7.35", "2.3.7")
"""Before and after hosts.toml's headers go to a registry's token server as well."""

GRPCURL = "1.9.3"

CRICTL = "1.36.0"
NERDCTL = "1.7.7"

ETCD = "3.7.3"
"""Under kube-apiserver."""

PROMTOOL = "0.316.0"
"""Prometheus 3.16: its module's numbers stand at v0."""

KUBECONFORM = "0.8.0"
"""Another linter of manifests, whose time the linter's is measured beside."""

HELM = "3.22.0"
"""Beside kubectl it renders the charts and overlays of the corpus."""

HELP = {"kubelet": ("--help",), "kube-proxy": ("--help",), "kubeadm": ("join", "--help")}
"""What is recorded. A node runs kubeadm only to join."""

KUBERNETES = "k8s.io/kubernetes"


@dataclass(frozen=True)
class Project:
    """One source tree: its module, its programs as package paths (below the module, or whole), the variable that holds
    the version and how it is written there."""

    module: str
    programs: Mapping[str, str]
    stamp: str
    v: bool = True
    second: str = ""
    """The module's name from major version 2 on, where it is another."""
    tags: str = ""
    """Go's build tags."""

    def module_of(self, version: str) -> str:
        return self.second if self.second and int(version.split(".")[0]) >= 2 else self.module

    def package(self, name: str, version: str) -> str:
        below = self.programs[name]
        head = below.split("/")[0]
        return below if "." in head else "/".join(filter(None, (self.module_of(version), below)))


PROJECTS = {
    "containerd": Project(
        "github.com/containerd/containerd",
        {
            "containerd": "cmd/containerd",
            "ctr": "cmd/ctr",
        },
        "{module}/version.Version",
        second="github.com/containerd/containerd/v2",
    ),
    # Its shim is in containerd's own releases for Windows: the version that containerd's go.mod requires.
    "hcsshim": Project(
        "github.com/Microsoft/hcsshim", {"containerd-shim-runhcs-v1": "cmd/containerd-shim-runhcs-v1"}, "main.version"
    ),
    "kubernetes": Project(
        KUBERNETES,
        {
            **{name: f"cmd/{name}" for name in ("kubelet", "kube-proxy", "kubeadm", "kubectl", *CONTROL_PLANE)},
            "kube-log-runner": "k8s.io/component-base/logs/kube-log-runner",
        },
        "k8s.io/component-base/version.gitVersion",
    ),
    "cri-tools": Project("sigs.k8s.io/cri-tools", {"crictl": "cmd/crictl"}, "{module}/pkg/version.Version", v=False),
    "nerdctl": Project("github.com/containerd/nerdctl", {"nerdctl": "cmd/nerdctl"}, "{module}/pkg/version.Version"),
    "flannel": Project("github.com/flannel-io/flannel", {"flanneld": ""}, "{module}/pkg/version.Version"),
    "cni-plugins": Project(
        "github.com/containernetworking/plugins",
        {
            "win-bridge": "plugins/main/windows/win-bridge",
            "win-overlay": "plugins/main/windows/win-overlay",
            "host-local": "plugins/ipam/host-local",
        },
        "{module}/pkg/utils/buildversion.BuildVersion",
    ),
    "flannel-cni": Project("github.com/flannel-io/cni-plugin", {"flannel": ""}, "main.Version"),
    "csi-proxy": Project("github.com/kubernetes-csi/csi-proxy", {"csi-proxy": "cmd/csi-proxy"}, "main.version"),
    "kubeconform": Project("github.com/yannh/kubeconform", {"kubeconform": "cmd/kubeconform"}, "main.version"),
    "etcd": Project("go.etcd.io/etcd/server/v3", {"etcd": ""}, "go.etcd.io/etcd/api/v3/version.GitSHA", v=False),
    "prometheus": Project(
        "github.com/prometheus/prometheus",
        {"promtool": "cmd/promtool"},
        "github.com/prometheus/common/version.Version",
        v=False,
        tags="remove_all_sd",  # the clouds' libraries, which checks of rules do not need
    ),
    "grpcurl": Project("github.com/fullstorydev/grpcurl", {"grpcurl": "cmd/grpcurl"}, "main.version"),
    "helm": Project("helm.sh/helm/v3", {"helm": "cmd/helm"}, "{module}/internal/version.version"),
    "actionlint": Project("github.com/rhysd/actionlint", {"actionlint": "cmd/actionlint"}, "main.version"),
}

OF_NODES = ("kubelet", "kube-proxy", "kubeadm", "kubectl", "kube-log-runner")

LINUX: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    *(("containerd", version, ("containerd",)) for version in (*SUITES, WITHOUT_V1, *CONTAINERD_VERSIONS)),
    *(("containerd", version, ("ctr",)) for version in CTR_VERSIONS),
    ("cri-tools", CRICTL, ("crictl",)),
    ("nerdctl", NERDCTL, ("nerdctl",)),
    *(("kubernetes", version, ("kubelet", "kube-proxy", "kubeadm")) for version in KUBERNETES_VERSIONS),
    ("kubernetes", SERVER_VERSIONS[-1], (*CONTROL_PLANE, "kubectl")),
    ("etcd", ETCD, ("etcd",)),
    ("prometheus", PROMTOOL, ("promtool",)),
    ("kubeconform", KUBECONFORM, ("kubeconform",)),
    ("helm", HELM, ("helm",)),
)

WINDOWS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("containerd", "2.3.7", ("containerd", "ctr")),
    ("kubernetes", "1.37.1", OF_NODES),
    ("containerd", "2.2.9", ("containerd", "ctr")),
    ("cni-plugins", "1.9.0", ("win-bridge", "win-overlay", "host-local")),
    *(("cni-plugins", version, ("win-overlay",)) for version in ("0.8.6", "1.0.0", "1.0.1", "1.5.1", "1.6.0")),
    ("flannel-cni", "1.2.0-flannel1", ("flannel",)),
    ("flannel", "0.28.4", ("flanneld",)),
    ("csi-proxy", "1.2.1", ("csi-proxy",)),
    ("cri-tools", "1.37.0", ("crictl",)),
    ("hcsshim", "0.15.0-rc.1", ("containerd-shim-runhcs-v1",)),
    ("kubernetes", "1.36.3", OF_NODES),
    ("kubernetes", "1.35.4", OF_NODES),
    ("containerd", "1.7.35", ("containerd", "ctr")),
    ("containerd", "1.6.36", ("containerd",)),
    ("kubernetes", "1.33.13", OF_NODES),
    ("kubernetes", "1.30.4", OF_NODES),
    ("kubernetes", "1.31.14", OF_NODES),
    ("containerd", "2.4.2", ("containerd", "ctr")),
    ("containerd", "2.1.9", ("containerd", "ctr")),
    ("containerd", "2.0.14", ("containerd", "ctr")),
    ("kubernetes", "1.22.17", OF_NODES[:-1]),  # kube-log-runner came with 1.23
)
"""Project, version, programs; what is asked for first stands first."""

_RECORDED = "tests/recorded/windows and facts/looked_up.txt are of this release: make windows and make lookups record"
HELD: Mapping[str, str] = dict.fromkeys(("kubernetes", "cni-plugins", "flannel", "hcsshim"), f"{_RECORDED} a newer one")
"""Why a build for Windows is not of the newest release, by project."""


def project_of(name: str) -> str:
    """The project that a program belongs to. KeyError for a program that nothing builds."""
    return next(project for project, found in PROJECTS.items() if name in found.programs)


def program(name: str, version: str, system: str = "linux") -> Path:
    """Where a program of `version` lies, or will."""
    suffix = ".exe" if system == "windows" else ""
    return shared("programs") / system / f"{project_of(name)}-{version}" / f"{name}{suffix}"


def library_version(version: str) -> str:
    """The tag of k8s.io/api and its like that belongs to a release: v0.29.3 for 1.29.3."""
    major, rest = version.split(".", 1)
    if major != "1":
        raise ValueError(f"{version!r} is no version of Kubernetes 1.x")
    return f"v0.{rest}"


def go(*arguments: str, cwd: Path, capture: bool = False, system: str = "linux") -> str:
    """Runs go at low priority; CalledProcessError if it fails."""
    nice = ["nice", "-n", "15"] if shutil.which("nice") else []
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(
        [*nice, "go", *arguments],
        cwd=cwd,
        env={**environment, "GOOS": system, "GOARCH": "amd64"} if system != "linux" else environment,
        check=True,
        text=True,
        stdout=subprocess.PIPE if capture else None,
    )
    return done.stdout or ""


def go_mod(upstream: Mapping[str, Any], module: str, version: str) -> str:
    """Our go.mod: upstream's replacements, its local folders replaced by the released libraries.

    `upstream` is what `go mod edit -json` says of the project's own go.mod.
    """
    lines = ["module winkube.invalid/build", "", f"go {upstream.get('Go', '1.16')}", "", f"require {module} v{version}"]
    required = {item["Path"]: item["Version"] for item in upstream.get("Require") or []}
    local = {path for path, found in required.items() if found == "v0.0.0"}
    for item in upstream.get("Replace") or []:
        old, new = item["Old"]["Path"], item["New"]
        if new.get("Version"):
            lines.append(f"replace {old} => {new['Path']} {new['Version']}")
        elif module == KUBERNETES:
            local.add(old)
    if module == KUBERNETES:
        lines += [f"replace {path} => {path} {library_version(version)}" for path in sorted(local)]
    lines += [f"exclude {item['Path']} {item['Version']}" for item in upstream.get("Exclude") or []]
    return "\n".join(lines) + "\n"


def prepare(project: str, version: str, source: Path | None = None) -> Path:
    """A folder with our module for `version`: `source`, which is made anew, or the one that it is built in."""
    source = source or GO_CACHE / f"{project}-{version}"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    module = PROJECTS[project].module_of(version)
    (source / "go.mod").write_text("module winkube.invalid/build\n")
    try:
        found = json.loads(go("mod", "download", "-json", f"{module}@v{version}", cwd=source, capture=True))
    except subprocess.CalledProcessError as error:
        raise OSError(json.loads(error.stdout)["Error"] if error.stdout else str(error)) from error
    upstream = json.loads(go("mod", "edit", "-json", found["GoMod"], cwd=source, capture=True))
    (source / "go.mod").write_text(go_mod(upstream, module, version))
    return source


def build(project: str, version: str, names: Sequence[str], system: str = "linux") -> list[Path]:
    """Builds what is not there; returns the paths of all. OSError or CalledProcessError if that fails, for one program
    when the others have been built: each needs modules of its own, and a proxy may refuse some."""
    paths = [program(name, version, system) for name in names]
    if all(path.exists() for path in paths):
        return paths
    if project == "containerd" and version in SUITES:
        return [unpack_debian(version)]
    with locked(f"{project}-{version}"):
        missing = [(name, path) for name, path in zip(names, paths, strict=True) if not path.exists()]
        source = prepare(project, version) if missing else GO_CACHE
        known = PROJECTS[project]
        stamp = known.stamp.format(module=known.module_of(version))
        failed: list[str] = []
        for name, path in missing:
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            flags = f"-s -w -X {stamp}={'v' if known.v else ''}{version}"
            package = known.package(name, version)
            try:
                options = ["-ldflags", flags, "-tags", known.tags, "-o", str(unfinished)]
                go("build", *options, package, cwd=source, system=system)
            except subprocess.CalledProcessError:
                failed.append(name)
                continue
            unfinished.rename(path)
            print(f"{name} {version}: {path}", flush=True)
    if failed:
        raise OSError(f"go could not build {', '.join(failed)} (see above)")
    return paths


def unpack_debian(version: str) -> Path:
    """Debian's containerd, without installing it. OSError or CalledProcessError where there is no apt or no network."""
    target = program("containerd", version)
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        (package,) = packages(SUITES[version], "containerd", Path(folder) / "apt", alone=True)
        quietly(["dpkg", "-x", package, Path(folder) / "unpacked"], FETCH_S)
        (Path(folder) / "unpacked" / "usr" / "bin" / "containerd").rename(target)
    return target


def toolchain() -> str:
    """Go's version."""
    return subprocess.run(["go", "env", "GOVERSION"], check=True, capture_output=True, text=True).stdout.strip()


def record(name: str, version: str, today: datetime.date) -> None:
    """Writes what a program for Linux says to --help, under a header that says what it is."""
    command = (str(program(name, version)), *HELP[name])
    said = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60, env={"HOME": "/"})
    text = re.sub(r"[ \t]+$", "", said.stdout, flags=re.MULTILINE).strip("\n")
    header = (
        f"# {name} {version}, command: {name} {' '.join(HELP[name])}, recorded {today.isoformat()}, "
        f"Linux build (amd64, {toolchain()}, from {KUBERNETES}@v{version}); flags of Windows builds only are not in it"
    )
    RECORDED.mkdir(parents=True, exist_ok=True)
    (RECORDED / f"{name}-{version}.help.txt").write_text(f"{header}\n{text}\n", encoding="utf-8")


def chosen(words: Sequence[str], system: str) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """What `project@version` or `program@version` stand for; without words all that the lane of `system` uses.

    KeyError for a name that nothing builds, ValueError for a word without a version.
    """
    if not words:
        yield from WINDOWS if system == "windows" else LINUX
    for word in words:
        name, _, version = word.partition("@")
        if not version:
            raise ValueError(f"{word!r}: which version? Say {word}@1.2.3")
        table = WINDOWS if system == "windows" else LINUX
        listed = [names for project, _, names in table if project == name]
        if name in PROJECTS and name not in PROJECTS[name].programs:
            yield name, version, listed[0] if listed else tuple(PROJECTS[name].programs)
        else:
            yield project_of(name), version, (name,)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", metavar="PROGRAM@VERSION")
    parser.add_argument("--windows", action="store_true", help="builds for windows/amd64")
    parser.add_argument("--record", action="store_true", help="write tests/recorded/*.help.txt")
    options = parser.parse_args(arguments)
    system = "windows" if options.windows else "linux"
    failed = 0
    for project, version, names in chosen(options.what, system):
        try:
            build(project, version, names, system)
            for name in names if options.record and system == "linux" else ():
                if name in HELP:
                    record(name, version, datetime.datetime.now(tz=datetime.UTC).date())
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"{project} {version}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
