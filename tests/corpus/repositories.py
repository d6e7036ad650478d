"""Whole repositories of other people, as they are: manifests, charts, CI files, templates, and what is none of these.

Archives of Go modules and Python's source archives, by name and version from the registries. They are read where Go and
the cache of tests/cache.py keep them; repositories.yml has their names, their sums, and what was judged.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, add_unreadable, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rendering import CHART, is_library
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import UNCHECKED
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import list_folder, read_inputs

from tests.cache import locked, shared
from tests.corpus import rendered_by
from tests.go_modules import ModuleMissing, download

FILE = Path(__file__).with_name("repositories.yml")


def read_file() -> tuple[dict[str, str], dict[str, set[str]]]:
    """Name and version of each -> its sum; and the errors judged right: name -> `rule path`."""
    told = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    right: dict[str, set[str]] = {}
    for each in told["judged"]:
        if each["verdict"] == "right":
            right.setdefault(each["from"], set()).add(f"{each['rule']} {each['path']}")
    return {each["name"]: each["sum"] for each in told["repositories"]}, right


@dataclass(frozen=True, slots=True)
class Repository:
    """`wrong`: an error that nobody judged right, as `rule file: message`. `reason`: why it could not be read.

    `charts` counts them: seen, but for libraries; rendered; not checked; and those that are an error for it.
    """

    name: str
    files: int = 0
    wrong: tuple[str, ...] = ()
    reason: str = ""
    charts: tuple[int, int, int, int] = (0, 0, 0, 0)


def repositories() -> list[Repository]:
    """With helm and kubectl at hand, if they have been built."""
    sums, right = read_file()
    with rendered_by.at_hand():
        found = []
        for name, known in sums.items():
            folder, told = (_sdist if "==" in name else _go_module)(name)
            if folder is None or told != known:
                reason = told if folder is None else f"its sum is {told}, and repositories.yml has {known}"
                found.append(Repository(name, reason=reason))
            else:
                found.append(judged(name, folder, right.get(name, set())))
        return found


def _go_module(name: str) -> tuple[Path | None, str]:
    """Its folder and sum, or why there is none."""
    try:
        return download(name), download(name, "Zip").with_suffix(".ziphash").read_text(encoding="utf-8").strip()
    except ModuleMissing as error:
        return None, str(error)


def _sdist(name: str) -> tuple[Path | None, str]:
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
                return None, asked.stderr.strip()
            with tarfile.open(archives[0]) as archive:
                archive.extractall(folder, filter="data")
    archive_sum = hashlib.sha256(next(folder.glob("*.tar.gz")).read_bytes()).hexdigest()
    return next(each for each in folder.iterdir() if each.is_dir()), f"sha256:{archive_sum}"


def report_of(folder: Path) -> tuple[int, Report]:
    """How many files were read, and what the linter says of them, as its command does by default."""
    inputs = read_inputs([str(folder)])
    files = len({each.file for each in inputs.documents})
    return files, add_unreadable(lint(inputs.documents, Profile()), inputs.unreadable)


def judged(name: str, folder: Path, right: Collection[str]) -> Repository:
    files, report = report_of(folder)
    wrong = []
    for each in report.findings:
        key = f"{each.rule} {Path(each.file).relative_to(folder)}"
        if each.severity is Severity.ERROR and key not in right:
            wrong.append(f"{key}: {each.message}")
    return Repository(name, files, tuple(wrong), charts=_charts(folder, report))


def _charts(folder: Path, report: Report) -> tuple[int, int, int, int]:
    seen = {str(each / CHART) for each in list_folder(folder).charts if not is_library(each)}
    unchecked = {each.file for each in report.unreadable if each.rule == UNCHECKED} & seen
    errors = {each.file for each in report.unreadable if each.severity is Severity.ERROR} & seen
    return len(seen), len(seen - unchecked), len(unchecked), len(errors)
