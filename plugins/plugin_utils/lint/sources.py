# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the user's names to documents: files, folders, patterns, standard input, charts, kustomizations."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..foreign.encoding import decode, decode_anyhow, encode
from ..foreign.files import ForeignError, read_file, read_input
from .manifest import Document, UnreadableError, may_hold_objects, read_documents, says_that_it_is_a_manifest
from .rendering import (
    CHART,
    KUSTOMIZATIONS,
    MOST_BYTES,
    SUFFIXES,
    Rendering,
    is_library,
    kustomization_in,
    list_changes,
    list_named,
    list_resources,
    read_text,
    render_chart,
    render_kustomization,
    values_of,
)
from .silence import matches

_LONGEST_S = 60


@dataclass(slots=True)
class Inputs:
    """Readable documents, and the faults of the rest: one bad file does not hide the others.

    `empty`: the named folders in which nothing is a manifest, a chart or a kustomization.
    """

    documents: list[Document] = field(default_factory=list)
    unreadable: list[UnreadableError] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def refuse_empty(self) -> None:
        """UnreadableError for a named folder without anything."""
        for name in self.empty:
            raise UnreadableError(f"{name}: there is no manifest, chart or kustomization in this folder.")


@dataclass(slots=True)
class Folder:
    """What lies in a folder: plain files, charts (the outermost ones) and files of kustomizations."""

    files: list[Path] = field(default_factory=list)
    charts: list[Path] = field(default_factory=list)
    kustomizations: list[Path] = field(default_factory=list)


def read_inputs(names: Sequence[str], exclude: Excluded | None = None, rendering: Rendering | None = None) -> Inputs:
    """Documents of all files except the excluded ones, each file once.

    In folders charts and kustomizations are rendered; what git ignores is left out, as are patches and hidden folders.
    Of files that are named the charts and kustomizations that they belong to are told as not checked. Raises
    UnreadableError for a name that does not exist.
    """
    inputs = Inputs()
    exclude = exclude or Excluded()
    seen: set[str] = set()
    files: list[str] = []
    for name in names:
        if name != "-" and Path(name).is_dir():
            _read_files(files, inputs, seen)
            files = []
            _read_folder(name, exclude, rendering or Rendering(), inputs, seen)
        else:
            files += _files(name, exclude)
    _read_files(files, inputs, seen)
    return inputs


def read_paths(names: Sequence[str]) -> list[Document]:
    """Documents of all files. Raises UnreadableError for the first one that cannot be read."""
    inputs = read_inputs(names)
    for each in inputs.unreadable:
        raise each
    return inputs.documents


def _files(name: str, exclude: Excluded) -> Iterator[str]:
    if name == "-" or Path(name).exists():
        yield name
        return
    # A pattern may be absolute, which Path.glob refuses.
    matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
    if not matches:
        raise UnreadableError(f"{name}: there is no such file, folder or pattern.")
    files = [each for each in matches if Path(each).is_file()]
    if not files:
        raise UnreadableError(f"{name}: no file matches this pattern; name folders themselves, or **/*.yaml in them.")
    yield from (each for each in files if not exclude.covers(each))


def _read_files(names: Iterable[str], inputs: Inputs, seen: set[str]) -> None:
    """Files that were named: what only a whole chart or kustomization tells is not looked for in them."""
    patches = _Patches()
    for name in names:
        path = Path(name)
        if name in seen:
            continue
        seen.add(name)
        if name == "-":
            _read(name, inputs, named=True)
        elif (chart := _chart_of(path)) is not None:
            _tell_once(inputs, chart / CHART, "chart", "files of it were named")
        elif path.name in KUSTOMIZATIONS:
            _tell_once(inputs, path, "kustomization", "it was named as a file")
        elif path.resolve() not in patches.beside(path):
            _read(name, inputs, named=True)


def _tell_once(inputs: Inputs, file: Path, what: str, reason: str) -> None:
    if all(each.file != str(file) for each in inputs.unreadable) and not (what == "chart" and is_library(file.parent)):
        sentence = f"{file}: this {what} was not checked: {reason}."
        remedy = f"Name its folder, {file.parent}: only whole {what}s are rendered."
        inputs.unreadable.append(UnreadableError(sentence, str(file), unchecked=what, remedy=remedy))


def _chart_of(file: Path) -> Path | None:
    """The chart that a file is a template of, or the values, or the head."""
    folder = file.parent
    if (file.name == CHART or file.name.startswith("values")) and (folder / CHART).is_file():
        return folder
    charts = [each.parent for each in file.parents if each.name == "templates" and (each.parent / CHART).is_file()]
    return charts[-1] if charts else None


class _Patches:
    """Which files the kustomizations in the folders above a file take for patches."""

    def __init__(self) -> None:
        self._known: dict[Path, set[Path]] = {}

    def beside(self, file: Path) -> set[Path]:
        found: set[Path] = set()
        for folder in file.resolve().parents:
            if folder not in self._known:
                kustomization = kustomization_in(folder)
                changes = list_changes(kustomization) if kustomization is not None else ()
                self._known[folder] = {each.resolve() for each in changes}
            found |= self._known[folder]
            if (folder / ".git").exists():
                break
        return found


def _read_folder(name: str, exclude: Excluded, rendering: Rendering, inputs: Inputs, seen: set[str]) -> None:
    found = list_folder(Path(name))
    number = len(inputs.documents), len(inputs.unreadable)
    skipped = {each for each in (*found.files, *found.charts, *found.kustomizations) if exclude.covers(str(each))}
    for chart in found.charts:
        if chart not in skipped and str(chart) not in seen:
            seen.add(str(chart))
            documents, reasons = render_chart(chart, rendering)
            inputs.documents += [each for each in documents if not exclude.covers(each.file)]
            inputs.unreadable += reasons
    parts = _render_kustomizations([each for each in found.kustomizations if each not in skipped], inputs, seen)
    parts |= {each.resolve() for file in found.kustomizations for each in list_changes(file)}
    for file in sorted(map(str, found.files)):
        if Path(file) not in skipped and file not in seen and Path(file).resolve() not in parts:
            seen.add(file)
            _read(file, inputs)
    mine = inputs.documents[number[0] :]
    if not (
        found.charts
        or found.kustomizations
        or skipped
        or inputs.unreadable[number[1] :]
        or any(map(_is_manifest, mine))
    ):
        inputs.empty.append(name)


def _is_manifest(document: Document) -> bool:
    value = document.value if isinstance(document.value, dict) else {}
    return isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str)


def _render_kustomizations(files: Sequence[Path], inputs: Inputs, seen: set[str]) -> set[Path]:
    """Render those that no other one includes. The files that are in what came out: nobody applies them as they are."""
    within: set[Path] = set()
    for file in list_outermost(files):
        if str(file) in seen:
            continue
        seen.add(str(file))
        try:
            inputs.documents += render_kustomization(file)
            within |= {each.resolve() for each in list_resources(file)}
        except UnreadableError as error:
            inputs.unreadable.append(error)
    return within


def list_outermost(kustomizations: Sequence[Path]) -> list[Path]:
    """Those that no other one includes."""
    taken = {part for each in kustomizations for part in _list_parts(each)}
    return [each for each in kustomizations if each.parent.resolve() not in taken]


def _list_parts(kustomization: Path) -> Iterator[Path]:
    """What a kustomization consists of, and itself if it is a Component, which only others render."""
    if any(value.get("kind") == "Component" for value in values_of(kustomization)):
        yield kustomization.parent.resolve()
    yield from (each.resolve() for each in list_named(kustomization))


def list_folder(folder: Path) -> Folder:
    """Hidden folders (.git, .venv) contain nothing that is deployed."""
    found = Folder()
    ignored = _list_ignored(folder)
    for root, folders, files in os.walk(folder):
        here = Path(root)
        shown = {each for each in (*folders, *files) if not each.startswith(".")}
        if ignored:
            shown = {each for each in shown if str((here / each).resolve()) not in ignored}
        folders[:] = sorted(each for each in folders if each in shown)
        if CHART in files and CHART in shown:
            found.charts.append(here)
            folders.clear()
            continue
        found.kustomizations += [here / each for each in KUSTOMIZATIONS if each in shown and each in files][:1]
        named = [each for each in sorted(files) if each in shown and each not in KUSTOMIZATIONS]
        found.files += [here / each for each in named if Path(each).suffix in SUFFIXES]
    return found


def _list_ignored(folder: Path) -> frozenset[str]:
    """The files and folders below one that git ignores; none where there is no git, and none if it ignores this one,
    since that was asked for by its name."""
    command = ["git", "-C", str(folder), "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"]
    try:
        asked = subprocess.run(command, capture_output=True, timeout=_LONGEST_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    names = [os.fsdecode(each) for each in asked.stdout.split(b"\0") if each] if asked.returncode == 0 else []
    root = folder.resolve()
    return frozenset() if "./" in names else frozenset(str(root / each.rstrip("/")) for each in names)


def _read(file: str, inputs: Inputs, named: bool = False) -> None:
    """A broken file is an error if it claims to be a manifest; else it is left alone, or told if it was named."""
    text = ""
    try:
        text = _standard_input() if file == "-" else read_text(Path(file))
        # Of a file that was named it is told if it is broken, whatever it is.
        if named or may_hold_objects(text):
            inputs.documents += read_documents(file, text)
    except UnreadableError as error:
        error.file = error.file or file
        claims = file == "-" or says_that_it_is_a_manifest(text or _read_anyhow(Path(file)), in_part=named)
        if not claims:
            error.unchecked = error.unchecked or "file"
        if claims or named:
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


@dataclass(frozen=True, slots=True)
class Excluded:
    """Patterns of files that are left out, and the folder that they count from, beside the working folder."""

    patterns: tuple[str, ...] = ()
    base: str = "."

    def covers(self, file: str) -> bool:
        """Whether a pattern matches the whole name, the end of it from some folder on, or a folder above."""
        return any(
            matches(file, each, self.base) or matches(file, f"{each.rstrip('/')}/*", self.base)
            for each in self.patterns
        )


def write_text(path: Path, text: str) -> None:
    """Write the text in the file's present encoding."""
    path.write_bytes(encode(text, path.read_bytes()))
