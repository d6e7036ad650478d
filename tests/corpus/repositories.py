"""Whole repositories of other people, as they are: manifests, charts, CI files, templates, and what is none of these.

Archives of Go modules and Python's source archives, by name and version from the registries. They are read where Go and
the cache of tests/cache.py keep them; nothing of them stands here but their names and what was judged.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, add_unreadable, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import read_inputs

from tests.cache import locked, shared
from tests.go_modules import ModuleMissing, download

GO_MODULES = (
    "github.com/argoproj/argo-workflows/v4@v4.0.5",
    "github.com/cloudnativelabs/kube-router/v2@v2.1.0",
    "github.com/kubeflow/katib@v0.19.0",
    "github.com/ray-project/kuberay/ray-operator@v1.5.0",
    "github.com/virtual-kubelet/virtual-kubelet@v1.14.1",
    "sigs.k8s.io/kube-network-policies@v0.8.0",
    "sigs.k8s.io/kubebuilder/v4@v4.16.0",
    "sigs.k8s.io/kueue@v0.17.0",
)
SDISTS = ("cfn-lint==1.58.0", "kuryr-kubernetes==10.0.0", "magnum==23.0.0", "tacker==16.0.0")

# Errors that a person found right, by repository: `rule path-of-the-file`.
RIGHT: dict[str, tuple[str, ...]] = {
    "github.com/argoproj/argo-workflows/v4@v4.0.5": ("unreadable-file test/e2e/smoke/basic-invalid.yaml",),
    "github.com/virtual-kubelet/virtual-kubelet@v1.14.1": (
        "absent-image examples/iis-pod.yaml",
        "absent-image examples/nanoserver.yaml",
    ),
}


@dataclass(frozen=True, slots=True)
class Repository:
    """`wrong`: an error that nobody judged right, as `rule file: message`. `reason`: why it could not be read."""

    name: str
    files: int = 0
    wrong: tuple[str, ...] = ()
    reason: str = ""


def repositories() -> list[Repository]:
    return [*map(_go_module, GO_MODULES), *map(_sdist, SDISTS)]


def _go_module(name: str) -> Repository:
    try:
        return judged(name, download(name))
    except ModuleMissing as missing:
        return Repository(name, reason=str(missing))


def _sdist(name: str) -> Repository:
    with locked("sdists"):
        folder = shared("sdists") / name
        if not folder.exists():
            folder.mkdir(parents=True)
            options = ("--quiet", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(folder))
            command = [sys.executable, "-m", "pip", "download", *options, name]
            asked = subprocess.run(command, capture_output=True, text=True, check=False)
            archives = list(folder.glob("*.tar.gz"))
            if not archives:
                folder.rmdir()
                return Repository(name, reason=asked.stderr.strip())
            with tarfile.open(archives[0]) as archive:
                archive.extractall(folder, filter="data")
    return judged(name, next(each for each in folder.iterdir() if each.is_dir()))


def report_of(folder: Path) -> tuple[int, Report]:
    """How many files were read, and what the linter says of them, as its command does by default."""
    inputs = read_inputs([str(folder)])
    files = len({each.file for each in inputs.documents})
    return files, add_unreadable(lint(inputs.documents, Profile()), inputs.unreadable)


def judged(name: str, folder: Path) -> Repository:
    files, report = report_of(folder)
    wrong = []
    for each in report.findings:
        key = f"{each.rule} {Path(each.file).relative_to(folder)}"
        if each.severity is Severity.ERROR and key not in RIGHT.get(name, ()):
            wrong.append(f"{key}: {each.message}")
    return Repository(name, files, tuple(wrong))
