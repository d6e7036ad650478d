"""Whole repositories of other people, as they are: manifests, charts, CI files, templates, and what is none of these.

Archives of Go modules and Python's source archives, by name and version from the registries. They are read where Go and
the cache of tests/cache.py keep them; repositories.yml has their names, their sums, and what was judged.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint.engine import Report, add_unreadable, lint
from ansible_collections.winkube.node.plugins.plugin_utils.lint.model import Finding, Severity
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rendering import CHART, is_library
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import UNCHECKED
from ansible_collections.winkube.node.plugins.plugin_utils.lint.sources import list_folder, list_outermost, read_inputs

from tests.cache import locked, shared
from tests.corpus import rendered_by
from tests.go_modules import ModuleMissing, download

FILE = Path(__file__).with_name("repositories.yml")


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a person said of the findings of one rule, for one reason. `places`: `path:line`, or the path alone of what
    has no line."""

    rule: str
    places: tuple[str, ...]
    right: bool
    why: str


@cache
def read_file() -> tuple[dict[str, str], dict[str, list[Judgement]]]:
    """Name and version of each -> its sum; and name -> what was judged of its findings."""
    told = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    judged: dict[str, list[Judgement]] = {each["name"]: [] for each in told["repositories"]}
    for each in told["judged"]:
        right = {"right": True, "wrong": False}[each["verdict"]]
        judged[each["from"]].append(Judgement(each["rule"], tuple(each["at"]), right, each["why"]))
    return {each["name"]: each["sum"] for each in told["repositories"]}, judged


@dataclass(frozen=True, slots=True)
class Repository:
    """`reason`: why it could not be read. `found`, `judged` and `right` count findings, but for what was not checked.

    `false_errors` are errors that nobody judged right, `open` other findings that nobody judged, `gone` those that were
    judged right and are not told any more, each as `rule path:line: message`. `charts` counts them: seen, but for
    libraries; rendered; not checked; and those that are an error for it. `overlays`: seen, but for those in others;
    rendered; not checked.
    """

    name: str
    files: int = 0
    reason: str = ""
    found: int = 0
    judged: int = 0
    right: int = 0
    false_errors: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    charts: tuple[int, int, int, int] = (0, 0, 0, 0)
    overlays: tuple[int, int, int] = (0, 0, 0)


def repositories() -> list[Repository]:
    """With helm and kubectl at hand, if they have been built."""
    sums, judged = read_file()
    folders = {name: folder_of(name) for name in sums}
    found = []
    with rendered_by.at_hand() as rendered:
        for name, (folder, told) in folders.items():
            if folder is None or told != sums[name]:
                reason = told if folder is None else f"its sum is {told}, and repositories.yml has {sums[name]}"
                found.append(Repository(name, reason=reason))
            else:
                found.append(judge(name, folder, judged[name], rendered))
    return found


def folder_of(name: str) -> tuple[Path | None, str]:
    """The folder and the sum of a repository, or why it is not at hand."""
    return (_sdist if "==" in name else _go_module)(name)


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


def place_of(finding: Finding, folder: Path) -> str:
    """`path:line` in the folder; the path alone of what has no line."""
    path = str(Path(finding.file).relative_to(folder))
    return f"{path}:{finding.line}" if finding.line else path


def judge(name: str, folder: Path, judgements: Iterable[Judgement], rendered: bool) -> Repository:
    """What the linter says of a repository, against what people said of it. `rendered`: charts and overlays were, too,
    so that whatever was judged has to be there."""
    files, report = report_of(folder)
    known = {(each.rule, place): each.right for each in judgements for place in each.places}
    told = [(each, place_of(each, folder)) for each in report.findings if each.rule != UNCHECKED]
    false_errors, open_ = [], []
    for each, place in told:
        sentence = f"{each.rule} {place}: {each.message}"
        if each.severity is Severity.ERROR and not known.get((each.rule, place), False):
            false_errors.append(sentence)
        elif (each.rule, place) not in known:
            open_.append(sentence)
    verdicts = [known[each.rule, place] for each, place in told if (each.rule, place) in known]
    gone = {key for key, right in known.items() if right} - {(each.rule, place) for each, place in told}
    return Repository(
        name,
        files,
        found=len(told),
        judged=len(verdicts),
        right=sum(verdicts),
        false_errors=tuple(false_errors),
        open=tuple(open_),
        gone=tuple(f"{rule} {place}" for rule, place in sorted(gone)) if rendered else (),
        charts=_charts(folder, report),
        overlays=_overlays(folder, report),
    )


def _charts(folder: Path, report: Report) -> tuple[int, int, int, int]:
    seen = {str(each / CHART) for each in list_folder(folder).charts if not is_library(each)}
    unchecked = {each.file for each in report.unreadable if each.rule == UNCHECKED} & seen
    errors = {each.file for each in report.unreadable if each.severity is Severity.ERROR} & seen
    return len(seen), len(seen - unchecked), len(unchecked), len(errors)


def _overlays(folder: Path, report: Report) -> tuple[int, int, int]:
    seen = set(map(str, list_outermost(list_folder(folder).kustomizations)))
    unchecked = {each.file for each in report.unreadable if each.rule == UNCHECKED} & seen
    return len(seen), len(seen - unchecked), len(unchecked)


if __name__ == "__main__":
    for each in repositories():
        print(f"{each.name}: {each.files} files, charts {each.charts}, overlays {each.overlays}{each.reason}")
        print("".join(f"  {sentence}\n" for sentence in (*each.false_errors, *each.open)), end="")
