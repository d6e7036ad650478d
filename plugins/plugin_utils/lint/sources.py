# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the user's names to documents: files, folders, patterns, standard input, charts, kustomizations."""

from __future__ import annotations

import glob
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ..foreign.encoding import decode, decode_anyhow, encode
from ..foreign.files import ForeignError, read_file, read_input
from .manifest import Document, UnreadableError, read_documents, says_that_it_is_a_manifest
from .model import as_list, as_map

_CHART = "Chart.yaml"
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LONGEST_S = 120
MOST_BYTES = 64 << 20
"""Of a file. Its values take some thirty times as much."""
# helm's comment above each document. Source: helm.sh/helm pkg/action, renderResources.
_SOURCE = re.compile(r"^# Source: [^/\n]+/(\S+)$", re.MULTILINE)


def list_rendered(folder: Path) -> list[Path]:
    """Folders of charts, the outermost ones, and of kustomizations that no other one includes.

    Kustomizations only if a program to render them is available; otherwise their files are separate manifests.
    """
    charts = [each.parent for each in sorted(folder.rglob(_CHART))]
    charts = [each for each in charts if not any(other in each.parents for other in charts)]
    named = [each for name in _KUSTOMIZATIONS for each in sorted(folder.rglob(name))] if _kustomize() else []
    taken = {part for each in named for part in _list_parts(each)}
    return charts + [
        each.parent
        for each in dict.fromkeys(named)
        if each.parent.resolve() not in taken and not any(chart in each.parents for chart in charts)
    ]


def _list_parts(kustomization: Path) -> Iterator[Path]:
    """What a kustomization consists of, and itself if it is a Component, which only others render."""
    if any(value.get("kind") == "Component" for value in _values(kustomization)):
        yield kustomization.parent.resolve()
    yield from (each.resolve() for each in _list_named(kustomization))


def _list_named(kustomization: Path) -> Iterator[Path]:
    """The files and folders that a kustomization names."""
    for value in _values(kustomization):
        for key in ("resources", "bases", "components"):
            yield from (kustomization.parent / str(each) for each in as_list(value.get(key)))


def _values(kustomization: Path) -> list[dict[str, Any]]:
    try:
        documents = read_documents(str(kustomization), read_text(kustomization))
    except UnreadableError:
        return []
    return [as_map(document.value) for document in documents]


def _kustomize() -> list[str]:
    """The command that renders kustomizations; empty if none is available."""
    if program := shutil.which("kustomize"):
        return [program, "build"]
    return [program, "kustomize"] if (program := shutil.which("kubectl")) else []


def documents_of(folder: Path) -> list[Document]:
    """Documents of a chart or kustomization, each under the name of its template.

    Raises UnreadableError if it cannot be rendered.
    """
    chart = folder / _CHART
    if not chart.is_file():
        file = next(folder / name for name in _KUSTOMIZATIONS if (folder / name).is_file())
        made = read_documents(f"{file}", _output(file, [*_kustomize(), str(folder)], template=True))
        bases = list(_bases(file, set()))
        return [replace(each, file=str(file), rendered=True, origin=_origin(each, bases)) for each in made]
    helm = shutil.which("helm")
    if helm is None:
        raise UnreadableError(
            f"{chart}: this is a Helm chart, and helm is not on the path: it was not checked.",
            str(chart),
            template=True,
        )
    text = _output(chart, [helm, "template", str(folder)])
    return list(_split_by_template(chart, read_documents(str(chart), text), text))


def _split_by_template(chart: Path, documents: list[Document], text: str) -> Iterator[Document]:
    end = 0
    for document in documents:
        sources = _SOURCE.findall(text, end, document.start)
        template = chart.parent / sources[-1] if sources else chart
        yield replace(document, file=str(template if template.is_file() else chart), rendered=True)
        end = document.start


def _bases(kustomization: Path, seen: set[Path]) -> Iterator[Document]:
    """Documents of the files that a kustomization names, and of the folders that it includes."""
    seen.add(kustomization.resolve())
    for part in _list_named(kustomization):
        if part.is_file() and part.suffix in SUFFIXES:
            try:
                yield from read_documents(str(part), read_text(part))
            except UnreadableError:
                continue
        for name in _KUSTOMIZATIONS if part.is_dir() else ():
            if (part / name).is_file() and (part / name).resolve() not in seen:
                yield from _bases(part / name, seen)


def _origin(made: Document, bases: list[Document]) -> Document | None:
    """The only base of this kind whose name is in the rendered name, which may have a prefix and a suffix."""

    def identity(document: Document) -> tuple[object, str]:
        value = as_map(document.value)
        return value.get("kind"), str(as_map(value.get("metadata")).get("name"))

    kind, name = identity(made)
    alike = [each for each in bases if identity(each)[0] == kind and identity(each)[1] in name]
    exact = [each for each in alike if identity(each)[1] == name]
    return (exact or alike)[0] if len(exact or alike) == 1 else None


def _output(file: Path, command: list[str], template: bool = False) -> str:
    """The output. `template`: a failure may be due to parts that are fetched or generated later, so it is not a
    manifest yet."""
    shown = f"{Path(command[0]).name} {' '.join(command[1:])}"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        sentence = f"{file}: it cannot be rendered by {shown}: {error}."
        raise UnreadableError(sentence, str(file), template=template) from error
    if done.returncode:
        said = " ".join(done.stderr.split())[:300]
        raise UnreadableError(f"{file}: it cannot be rendered: {shown} said: {said}", str(file), template=template)
    return done.stdout


SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(slots=True)
class Inputs:
    """Readable documents, and the unreadable files: one bad file does not hide the others."""

    documents: list[Document] = field(default_factory=list)
    unreadable: list[UnreadableError] = field(default_factory=list)


def read_inputs(names: Sequence[str], exclude: Sequence[str] = ()) -> Inputs:
    """Documents of all files except the excluded ones, each file once.

    Folders with a Chart.yaml or a kustomization are rendered if `helm`, `kustomize` or `kubectl` is available. An
    unreadable file of a folder is ignored if it does not claim to be a manifest. Raises UnreadableError for a name that
    does not exist, and if no file could be read and not all are templates.
    """
    inputs = Inputs()
    seen: set[str] = set()
    for name in names:
        for file in _files(name, exclude):
            if file not in seen:
                seen.add(file)
                _read(file, inputs, named=file == name)
    faults = [each for each in inputs.unreadable if not each.template]
    if faults and len(seen) == len(inputs.unreadable):
        raise faults[0]
    return inputs


def read_paths(names: Sequence[str]) -> list[Document]:
    """Documents of all files. Raises UnreadableError for the first one that cannot be read."""
    inputs = read_inputs(names)
    for each in inputs.unreadable:
        raise each
    return inputs.documents


def _read(file: str, inputs: Inputs, named: bool) -> None:
    try:
        if Path(file).is_dir():
            inputs.documents += documents_of(Path(file))
        else:
            text = _standard_input() if file == "-" else read_text(Path(file))
            inputs.documents += read_documents(file, text)
    except UnreadableError as error:
        error.file = error.file or file
        if named or Path(file).is_dir() or says_that_it_is_a_manifest(_read_anyhow(Path(file))):
            inputs.unreadable.append(error)


def _read_anyhow(path: Path) -> str:
    """The text of a file in any encoding."""
    try:
        return decode_anyhow(read_file(path, MOST_BYTES)).replace("\0", "")
    except ForeignError:
        return ""


def _standard_input() -> str:
    """Standard input in its own encoding: PowerShell's pipes may be UTF-16."""
    raw = getattr(sys.stdin, "buffer", None)
    if raw is None:
        return sys.stdin.read()
    try:
        return decode(read_input(raw, MOST_BYTES))
    except UnicodeDecodeError as error:
        raise UnreadableError(f"-: this is not text: byte {error.start} is not {error.encoding}.", "-") from error
    except ForeignError as error:
        raise UnreadableError(f"-: {error}", "-") from error


def _files(name: str, exclude: Sequence[str]) -> Iterator[str]:
    path = Path(name)
    if name == "-" or (path.exists() and not path.is_dir()):
        yield name
    elif path.is_dir():
        # Hidden folders (.git, .venv) contain nothing that is deployed.
        rendered = list_rendered(path)
        found = [each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file()]
        shown = [each for each in found if not any(p.startswith(".") for p in each.relative_to(path).parts)]
        if not shown:
            raise UnreadableError(f"{name}: there is no file in this folder that ends in {', '.join(SUFFIXES)}.")
        plain = [each for each in shown if not any(folder in each.parents for folder in rendered)]
        yield from (each for each in sorted(map(str, (*plain, *rendered))) if not _is_excluded(each, exclude))
    else:
        # A pattern may be absolute, which Path.glob refuses.
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
        if not matches:
            raise UnreadableError(f"{name}: there is no such file, folder or pattern.")
        for each in matches:
            if Path(each).is_file() and not _is_excluded(each, exclude):
                yield each


def _is_excluded(file: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches the whole name, the end of it from some folder on, or a folder above."""
    return any(
        fnmatch(file, each)
        or fnmatch(file, f"*/{each}")
        or fnmatch(file, f"{each.rstrip('/')}/*")
        or fnmatch(file, f"*/{each.rstrip('/')}/*")
        for each in patterns
    )


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


def write_text(path: Path, text: str) -> None:
    """Write the text in the file's present encoding."""
    path.write_bytes(encode(text, path.read_bytes()))
