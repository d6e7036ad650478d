# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nodes download, in a folder of the controller that is laid out as its publishers, with its sha256.

A digest counts as it does for a node (components/source.py), and nothing is fetched before all of them are known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from ..components.source import SUMS, source, text_of
from ..engine.address import mask
from ..engine.local_path import needing_room
from ..engine.resource import Refused
from ..transfer import download


@dataclass(frozen=True, slots=True)
class File:
    """A file of the mirror: its path there, whose it is, where it comes from. `sha256`: None where no one said it."""

    path: str
    component: str
    url: str
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """One of the option `files`, which k8s_windows_bundle documents."""

    path: str
    component: str
    url: str
    checksum: str


def list_files(wanted: Iterable[FileOptions], unverified: Collection[str]) -> list[File]:
    """The files of the module's option `files`, by path. Refused with the sentences of all that are not right."""
    read = cache(lambda address: text_of(download.read(address)))
    problems: list[str] = []
    found: dict[str, File] = {}
    for each in wanted:
        component, url, path = each.component, each.url, each.path
        try:
            if not _stays_inside(path):
                raise Refused(f"{component}: the path '{path}' leads out of the folder.")
            origin = source(
                component=component,
                version="",
                url=url,
                checksum=each.checksum,
                unverified=unverified,
                read_url=read,
            )
            file = File(path, component, url, origin.sha256)
            if (other := found.setdefault(path, file)) != file:
                raise Refused(f"{component}: {path} is wanted twice, {_whence(file)} and {_whence(other)}.")
        except Refused as refused:
            problems += refused.sentences
    if problems:
        raise Refused(*dict.fromkeys(problems))
    return [found[path] for path in sorted(found)]


def _whence(file: File) -> str:
    return f"from {mask(file.url)} with {f'the sha256 {file.sha256}' if file.sha256 else 'any content'}"


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path)
    return bool(parts.parts) and not parts.is_absolute() and ".." not in parts.parts


def list_missing(folder: Path, files: Iterable[File]) -> list[File]:
    """Those of which the folder has no file, or one with another digest."""
    return [file for file in files if not _is_there(folder / file.path, file.sha256)]


def _is_there(path: Path, sha256: str | None) -> bool:
    return path.is_file() and (sha256 is None or _digest(path) == sha256)


def fetch(folder: Path, file: File, timeout_s: float) -> None:
    """Download a file. Refused, and nothing is left, if it cannot be had or has another digest."""
    path = folder / file.path
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        download.fetch(file.component, file.url, part, timeout_s)
        if file.sha256 is not None and (digest := _digest(part)) != file.sha256:
            raise Refused(
                f"{file.component}: what {mask(file.url)} sent has the sha256 {digest}, and its checksum says "
                f"{file.sha256}: it is another file, or it was damaged."
            )
        part.chmod(0o644)
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def sum_up(folder: Path, files: Iterable[File]) -> str:
    """The text of SHA256SUMS, of the files as they are."""
    return "".join(f"{_digest(folder / file.path)}  {file.path}\n" for file in files)


def write_sums(folder: Path, text: str) -> bool:
    """Write SHA256SUMS; whether it was another."""
    path = folder / SUMS
    data = text.encode()
    if path.is_file() and path.read_bytes() == data:
        return False
    part = path.with_name(f".{path.name}.part")
    with needing_room(path, len(data)):
        part.write_bytes(data)
    part.chmod(0o644)
    part.replace(path)
    return True


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
