# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts and kustomizations: which folders are some, and what helm, kustomize or kubectl make of them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from .manifest import Document, UnreadableError, read_documents
from .model import as_list, as_map

_CHART = "Chart.yaml"
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LONGEST_S = 120
# What helm writes above each document. Source: helm.sh/helm pkg/action, renderResources.
_SOURCE = re.compile(r"^# Source: [^/\n]+/(\S+)$", re.MULTILINE)


def to_render(folder: Path) -> list[Path]:
    """Folders of charts, the outermost ones, and of kustomizations that no other one takes in.

    Kustomizations only where something at hand can render them: else their files are manifests for themselves.
    """
    charts = [each.parent for each in sorted(folder.rglob(_CHART))]
    charts = [each for each in charts if not any(other in each.parents for other in charts)]
    named = [each for name in _KUSTOMIZATIONS for each in sorted(folder.rglob(name))] if _kustomize() else []
    taken = {part for each in named for part in _taken_in(each)}
    return charts + [
        each.parent
        for each in dict.fromkeys(named)
        if each.parent.resolve() not in taken and not any(chart in each.parents for chart in charts)
    ]


def _taken_in(kustomization: Path) -> Iterator[Path]:
    """What a kustomization is made of, and itself where it is a Component, which is rendered by others alone."""
    try:
        values = [document.value for document in read_documents(str(kustomization), kustomization.read_text("utf-8"))]
    except (OSError, ValueError, UnreadableError):
        return
    for value in map(as_map, values):
        if value.get("kind") == "Component":
            yield kustomization.parent.resolve()
        for key in ("resources", "bases", "components"):
            yield from ((kustomization.parent / str(each)).resolve() for each in as_list(value.get(key)))


def _kustomize() -> list[str]:
    """The command that renders kustomizations; empty if there is none at hand."""
    if program := shutil.which("kustomize"):
        return [program, "build"]
    return [program, "kustomize"] if (program := shutil.which("kubectl")) else []


def documents_of(folder: Path) -> list[Document]:
    """Documents of a chart or kustomization, each under the name of the template that it is made of.

    Raises UnreadableError where it cannot be rendered.
    """
    chart = folder / _CHART
    if not chart.is_file():
        file = next(folder / name for name in _KUSTOMIZATIONS if (folder / name).is_file())
        text = _output(file, [*_kustomize(), str(folder)])
        return [replace(each, file=str(file), rendered=True) for each in read_documents(f"{file}", text)]
    helm = shutil.which("helm")
    if helm is None:
        raise UnreadableError(
            f"{chart}: this is a Helm chart, and there is no helm on the path: nothing of it was looked into.",
            str(chart),
            template=True,
        )
    text = _output(chart, [helm, "template", str(folder)])
    return list(_by_template(chart, read_documents(str(chart), text), text))


def _by_template(chart: Path, documents: list[Document], text: str) -> Iterator[Document]:
    end = 0
    for document in documents:
        sources = _SOURCE.findall(text, end, document.start)
        template = chart.parent / sources[-1] if sources else chart
        yield replace(document, file=str(template if template.is_file() else chart), rendered=True)
        end = document.start


def _output(file: Path, command: list[str]) -> str:
    shown = f"{Path(command[0]).name} {' '.join(command[1:])}"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnreadableError(f"{file}: it cannot be rendered by {shown}: {error}.", str(file)) from error
    if done.returncode:
        said = " ".join(done.stderr.split())[:300]
        raise UnreadableError(f"{file}: it cannot be rendered: {shown} said: {said}", str(file))
    return done.stdout
