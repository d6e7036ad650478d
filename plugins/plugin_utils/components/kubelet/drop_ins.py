# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a node that make up its kubelet's configuration: config.yaml, our drop-in and those of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...engine import windows_path
from ...engine.reading import Query, Reading, file_key, file_query
from ...engine.resource import ReliesOn, whole_file
from ...engine.resources.file import READ_LIMIT
from ...facts import kubelet_config
from ...facts.flags import KUBELET, line_for
from ...facts.version import Version
from ..flag_check import read
from .effective import Effective, Part, effective
from .kubelet_args import DROP_IN_NAME

_HEAD = f"kind: {kubelet_config.KIND}\napiVersion: {kubelet_config.API_VERSION}\n"
"""Stands for a config.yaml that the join has yet to write."""


def folder_query(folder: str) -> Query:
    """The names of the drop-ins."""
    return file_query(folder, entries=True)


def list_foreign(folder: str, reading: Reading) -> tuple[str, ...]:
    """Paths of the drop-ins of others, in this folder and in those below it, as far as these have been read."""
    found: list[str] = []
    for name in _entries(folder, reading):
        path = windows_path.join(folder, name)
        if _is_folder(path, reading):
            found += list_foreign(path, reading)
        elif name.endswith(".conf") and name.casefold() != DROP_IN_NAME.casefold():
            found.append(path)
    return tuple(found)


def _entries(folder: str, reading: Reading) -> tuple[str, ...]:
    return tuple(str(name) for name in (reading.parts.get(file_key(folder)) or {}).get("entries") or ())


def _is_folder(path: str, reading: Reading) -> bool:
    return (reading.parts.get(file_key(path)) or {}).get("kind") == "directory"


def _list_others(folder: str, reading: Reading) -> tuple[str, ...]:
    """Paths of other names, which may be folders with drop-ins."""
    found: list[str] = []
    for name in _entries(folder, reading):
        path = windows_path.join(folder, name)
        if not name.endswith(".conf"):
            found += [path, *(_list_others(path, reading) if _is_folder(path, reading) else ())]
    return tuple(found)


def rely_on_foreign(folder: str, reading: Reading) -> tuple[ReliesOn, ...]:
    """A plan is made from them too: they are read, and never changed."""
    files = tuple(whole_file(path, READ_LIMIT) for path in list_foreign(folder, reading))
    others = tuple(folder_query(path) for path in _list_others(folder, reading))
    return (ReliesOn(folder, (*files, *others)),) if files or others else ()


def compute(
    argv: Sequence[str],
    version: Version,
    reading: Reading,
    *,
    base: Part | None = None,
    folder: str = "",
    ours: str | None = None,
) -> Effective:
    """What the kubelet runs with after its next start. `base`: config.yaml (`config_part`); `ours`: the text of our
    drop-in, None for the one on the node; `base` and `folder` are empty where the kubelet is not told of them."""
    parts = None
    if folder:
        own = windows_path.join(folder, DROP_IN_NAME)
        text = ours if ours is not None else text_of(own, reading)
        parts = [*(() if text is None else (Part(own, text),)), *_list_parts(folder, reading)]
    line = read((("kubelet's arguments", argv),), KUBELET, line_for(version.line))
    return effective(base, parts, line, version)


def of_service(argv: Sequence[str], version: Version, reading: Reading) -> Effective | None:
    """What a kubelet with these arguments on the node runs with after its next start; None where its --config is a file
    that has not been asked for."""
    line = read((("kubelet's arguments", argv),), KUBELET, line_for(version.line))
    config, folder = line.find_last("config"), line.find_last("config-dir")
    if config is not None and file_key(config.value) not in reading.parts:
        return None
    base = config_part(config.value, reading) if config is not None else None
    return compute(argv, version, reading, base=base, folder=folder.value if folder is not None else "")


def config_part(path: str, reading: Reading, text: str | None = None) -> Part:
    """config.yaml with this text, else with the node's, else as the join has yet to write it."""
    found = text_of(path, reading) if text is None else text
    return Part(path, _HEAD if found is None else found)


def _list_parts(folder: str, reading: Reading) -> Iterator[Part]:
    for path in list_foreign(folder, reading):
        text = text_of(path, reading)
        if text is not None:
            yield Part(path, text)


def text_of(path: str, reading: Reading) -> str | None:
    """The text of a file; None for one that is not there, and for one that has not been asked for."""
    there = (reading.parts.get(file_key(path)) or {}).get("exists")
    return reading.text(path) if there else None
