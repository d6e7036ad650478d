# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What charts and kustomizations are rendered to, by helm, kustomize or kubectl."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..foreign.encoding import decode
from ..foreign.files import ForeignError, read_file
from .manifest import Document, UnreadableError, read_documents
from .model import as_list, as_map, as_text
from .profile import NEWEST_MINOR

CHART = "Chart.yaml"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
SUFFIXES = (".yaml", ".yml", ".json")
MOST_BYTES = 64 << 20
"""Of a file. Its values take some thirty times as much."""
_LONGEST_S = 120
# helm's comment above each document. Source: helm.sh/helm pkg/action, renderResources.
_SOURCE = re.compile(r"^# Source: [^/\n]+/(\S+)$", re.MULTILINE)
# Where charts have values to be tested with. Source: helm/chart-testing, `ct lint`.
_VALUES_OF_TESTS = "ci/*-values.yaml"


@dataclass(frozen=True, slots=True)
class ChartValues:
    """One way to render the charts that `path`, a folder or a pattern, matches: files of values, and `key=value`.

    `where`: the place that says so.
    """

    path: str
    values: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    where: str = ""

    def covers(self, chart: Path) -> bool:
        return chart.resolve().match(str(Path(self.path).resolve()))

    @property
    def covers_none(self) -> bool:
        """Whether there is no such chart, in this run or out of it."""
        return not any((Path(each) / CHART).is_file() for each in glob.glob(self.path))  # noqa: PTH207


@dataclass(frozen=True, slots=True)
class Rendering:
    """How to render. `values` and `sets`, of the command line, stand before `charts`, those of the configuration.

    `minor`: the Kubernetes that charts are rendered for. `build_dependencies`: fetch what a chart depends on.
    """

    minor: int = NEWEST_MINOR
    values: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    charts: tuple[ChartValues, ...] = ()
    build_dependencies: bool = False

    def ways(self, chart: Path) -> list[ChartValues]:
        """How one chart is rendered: as it was told, else with each file of values that it has for tests, else with
        its defaults."""
        if self.values or self.sets:
            return [ChartValues(str(chart), self.values, self.sets)]
        if told := [each for each in self.charts if each.covers(chart)]:
            return told
        tests = sorted(chart.glob(_VALUES_OF_TESTS))
        return [ChartValues(str(chart), (str(each),)) for each in tests] or [ChartValues(str(chart))]

    def list_mistakes(self) -> list[str]:
        """A sentence for each entry of `charts` without a chart, whose values nothing would be rendered with."""
        return [f"{each.where}: no chart is at {each.path}." for each in self.charts if each.covers_none]


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, or UTF-16, which PowerShell's > writes. Line ends are kept."""
    try:
        return decode(read_file(path, MOST_BYTES))
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"{path}: this is not text: byte {error.start} is not {error.encoding}. Save it as UTF-8, or leave it out.",
            str(path),
        ) from error
    except ForeignError as error:
        raise UnreadableError(f"{path}: {error}", str(path)) from error


def values_of(file: Path) -> list[dict[str, Any]]:
    """The mappings of a file; none if it cannot be read."""
    try:
        return [as_map(document.value) for document in read_documents(str(file), read_text(file))]
    except UnreadableError:
        return []


def is_library(chart: Path) -> bool:
    """Whether it is a chart of functions, which renders to nothing."""
    return any(value.get("type") == "library" for value in values_of(chart / CHART))


def render_chart(chart: Path, rendering: Rendering) -> tuple[list[Document], list[UnreadableError]]:
    """What is in a chart under the names of their templates, equal ones once, and the reasons why it was not
    rendered in each of its ways. Raises UnreadableError for a file of values that does not exist, and for a set that
    sets nothing."""
    file = chart / CHART
    if is_library(chart):
        return [], []
    ways = rendering.ways(chart)
    for name in (name for way in ways for name in way.values):
        if "://" not in name and not Path(name).is_file():
            raise UnreadableError(f"{name}: there is no such file of values.", name)
    for text in (text for way in ways for text in way.sets):
        if "=" not in text:
            raise UnreadableError(f"{chart}: set is {text!r}; it has to be KEY=VALUE.", str(file))
    helm = shutil.which("helm")
    if helm is None:
        return [], [_unchecked(file, "chart", "helm is not on the path")]
    made: list[Document] = []
    reasons: list[UnreadableError] = []
    with tempfile.TemporaryDirectory(prefix="workload-lint-") as copies:
        source = chart
        if rendering.build_dependencies:
            try:
                source = _with_dependencies(helm, chart, Path(copies))
            except UnreadableError as error:
                return [], [error]
            except OSError as error:
                return [], [_unchecked(file, "chart", str(error))]
        for way in ways:
            options = [f"--kube-version=1.{rendering.minor}.0", *(f"--values={each}" for each in way.values)]
            options += [part for each in way.sets for part in ("--set", each)]
            try:
                text = _output(file, "chart", [helm, "template", str(source), *options], way.values)
                found = _split_by_template(chart, read_documents(str(file), text), text)
                made += [each for each in found if not any(_is_equal(each, other) for other in made)]
            except UnreadableError as error:
                error.unchecked, error.file = "chart", str(file)
                reasons.append(error)
    return made, reasons


def _is_equal(one: Document, other: Document) -> bool:
    return one.file == other.file and bool(one.value == other.value)


def _split_by_template(chart: Path, documents: list[Document], text: str) -> Iterator[Document]:
    end = 0
    for document in documents:
        sources = _SOURCE.findall(text, end, document.start)
        template = chart / sources[-1] if sources else chart / CHART
        yield replace(document, file=str(template if template.is_file() else chart / CHART), rendered=True)
        end = document.start


def _with_dependencies(helm: str, chart: Path, copies: Path) -> Path:
    """A copy of the chart, and of the charts beside it that it depends on, with all dependencies as Chart.lock has
    them."""
    charts = list(dict.fromkeys(_local_dependencies(chart.resolve())))
    root = Path(os.path.commonpath(charts))
    environment = _repositories(helm, charts, copies)
    for each in charts:
        copy = copies / "charts" / each.relative_to(root)
        shutil.copytree(each, copy, symlinks=True, dirs_exist_ok=True)
        if not _dependencies(each):
            continue
        if not (each / "Chart.lock").is_file():
            raise _unchecked(chart / CHART, "chart", f"{each / CHART} has dependencies, and there is no Chart.lock")
        _output(chart / CHART, "chart", [helm, "dependency", "build", str(copy)], env=environment)
    return copies / "charts" / chart.resolve().relative_to(root)


def _dependencies(chart: Path) -> list[dict[str, Any]]:
    return [as_map(each) for value in values_of(chart / CHART) for each in as_list(value.get("dependencies"))]


def _local_dependencies(chart: Path, above: tuple[Path, ...] = ()) -> Iterator[Path]:
    """A chart behind those that it names by `file://`, which have to be built before it."""
    for each in _dependencies(chart):
        repository = as_text(each.get("repository"))
        beside = (chart / repository.removeprefix("file://")).resolve()
        if repository.startswith("file://") and (beside / CHART).is_file() and beside not in (*above, chart):
            yield from _local_dependencies(beside, (*above, chart))
    yield chart


def _repositories(helm: str, charts: Iterable[Path], copies: Path) -> Mapping[str, str]:
    """helm's environment with a list of repositories of its own: the user's, and those that the charts name."""
    environment = {**os.environ, "HELM_REPOSITORY_CONFIG": str(copies / "repositories.yaml")}
    environment["HELM_REPOSITORY_CACHE"] = str(copies / "cache")
    own = Path(_run([helm, "env", "HELM_REPOSITORY_CONFIG"]).stdout.strip() or "/nonexistent")
    if own.is_file():
        shutil.copy(own, environment["HELM_REPOSITORY_CONFIG"])
    named = {as_text(each.get("repository")) for chart in charts for each in _dependencies(chart)}
    for number, url in enumerate(sorted(each for each in named if each.startswith(("http://", "https://")))):
        # One that cannot be added is named by `dependency build`.
        _run([helm, "repo", "add", f"workload-lint-{number}", url], environment)
    return environment


def kustomize() -> list[str]:
    """The command that renders kustomizations; empty if none is available."""
    if program := shutil.which("kustomize"):
        return [program, "build"]
    return [program, "kustomize"] if (program := shutil.which("kubectl")) else []


def render_kustomization(file: Path) -> list[Document]:
    """Its documents, each under the name of its base where only one base can be meant. Raises UnreadableError."""
    command = kustomize()
    if not command:
        raise _unchecked(file, "kustomization", "neither kustomize nor kubectl is on the path")
    try:
        made = read_documents(str(file), _output(file, "kustomization", [*command, str(file.parent)]))
    except UnreadableError as error:
        error.unchecked, error.file = "kustomization", str(file)
        raise
    bases = [document for part in list_resources(file) for document in _documents(part)]
    return [replace(each, file=str(file), rendered=True, origin=_origin(each, bases)) for each in made]


def _documents(file: Path) -> list[Document]:
    try:
        return read_documents(str(file), read_text(file)) if file.suffix in SUFFIXES else []
    except UnreadableError:
        return []


def kustomization_in(folder: Path) -> Path | None:
    """The file that makes a folder a kustomization."""
    return next((folder / name for name in KUSTOMIZATIONS if (folder / name).is_file()), None)


def list_named(kustomization: Path) -> Iterator[Path]:
    """The files and folders that a kustomization includes."""
    for value in values_of(kustomization):
        for key in ("resources", "bases", "components"):
            yield from (Path(os.path.normpath(kustomization.parent / str(each))) for each in as_list(value.get(key)))


# What changes others: lists of files, or of mappings with the file in `path`. Source: sigs.k8s.io/kustomize
# api/types kustomization.go.
_CHANGES = (
    *("patches", "patchesStrategicMerge", "patchesJson6902", "replacements", "transformers", "generators"),
    *("validators", "configurations"),
)


def list_changes(kustomization: Path) -> Iterator[Path]:
    """The files by which a kustomization changes what it includes, which are not manifests themselves."""
    for value in values_of(kustomization):
        for key in _CHANGES:
            for each in as_list(value.get(key)):
                name = as_text(each.get("path") if isinstance(each, dict) else each)
                # A patch may stand in the kustomization itself.
                if name and "\n" not in name and (file := kustomization.parent / name).is_file():
                    yield file


def list_resources(kustomization: Path, seen: set[Path] | None = None) -> Iterator[Path]:
    """The files of resources that a kustomization includes, and those of the folders that it includes."""
    seen = seen if seen is not None else set()
    seen.add(kustomization.resolve())
    for part in list_named(kustomization):
        if part.is_file():
            yield part
        elif (inner := kustomization_in(part)) is not None and inner.resolve() not in seen:
            yield from list_resources(inner, seen)


def _origin(made: Document, bases: list[Document]) -> Document | None:
    """The only base of this kind whose name is in the rendered name, which may have a prefix and a suffix."""

    def identity(document: Document) -> tuple[object, str]:
        value = as_map(document.value)
        return value.get("kind"), str(as_map(value.get("metadata")).get("name"))

    kind, name = identity(made)
    alike = [each for each in bases if identity(each)[0] == kind and identity(each)[1] in name]
    exact = [each for each in alike if identity(each)[1] == name]
    return (exact or alike)[0] if len(exact or alike) == 1 else None


def _unchecked(file: Path, what: str, reason: str, values: Sequence[str] = ()) -> UnreadableError:
    told = f" with {', '.join(values)}" if values else ""
    return UnreadableError(f"{file}: this {what} was not checked{told}: {reason}.", str(file), unchecked=what)


def _output(
    file: Path, what: str, command: list[str], values: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> str:
    """What a program that renders writes. Raises UnreadableError with its last error."""
    try:
        done = _run(command, env)
    except OSError as error:
        raise _unchecked(file, what, str(error), values) from error
    if done.returncode:
        raise _unchecked(file, what, _last_error(done.stderr) or f"exit status {done.returncode}", values)
    return done.stdout


def _run(command: list[str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """What a program says that gets no input. Raises OSError, also after too long a time."""
    try:
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LONGEST_S,
            check=False,
            env=env,
        )
    except subprocess.TimeoutExpired:
        # Its own text has all arguments, and --set may have passwords.
        raise TimeoutError(f"{Path(command[0]).name} did not end within {_LONGEST_S} seconds") from None


_ERROR = re.compile(r"^error:\s*", re.MULTILINE | re.IGNORECASE)


def _last_error(said: str) -> str:
    """The text behind the last `Error:` of helm or kubectl, in one line; else all of it."""
    text = " ".join(_ERROR.split(said)[-1].split())
    return text.removesuffix("Use --debug flag to render out invalid YAML")[:300].rstrip(". ")
