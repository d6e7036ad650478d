# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From the names that a user gives to documents: files, folders, patterns, standard input."""

from __future__ import annotations

import codecs
import glob
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from .manifest import Document, UnreadableError, read_documents

SUFFIXES = (".yaml", ".yml", ".json")


def read_paths(names: Sequence[str]) -> list[Document]:
    """The documents of all files, each file once. Raises UnreadableError for what is not there or cannot be read."""
    documents: list[Document] = []
    seen: set[str] = set()
    for name in names:
        for file in _files(name):
            if file not in seen:
                seen.add(file)
                documents += read_documents(file, sys.stdin.read() if file == "-" else read_text(Path(file)))
    return documents


def _files(name: str) -> Iterator[str]:
    path = Path(name)
    if name == "-" or path.is_file():
        yield name
    elif path.is_dir():
        # A hidden folder (.git, .venv) holds nothing that is deployed.
        found = [each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file()]
        shown = [each for each in found if not any(p.startswith(".") for p in each.relative_to(path).parts)]
        if not shown:
            raise UnreadableError(f"{name}: there is no file in this folder that ends in {', '.join(SUFFIXES)}.")
        yield from sorted(map(str, shown))
    else:
        # A pattern may be absolute, which Path.glob refuses.
        matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207
        if not matches:
            raise UnreadableError(f"{name}: there is no such file, folder or pattern.")
        for each in matches:
            if Path(each).is_file():
                yield each


def read_text(path: Path) -> str:
    """The text of a file; UTF-8, or UTF-16 with its mark, which PowerShell's > writes. Line ends stay as they are."""
    try:
        data = path.read_bytes()
        return data.decode(_encoding(data))
    except UnicodeDecodeError as error:
        raise UnreadableError(
            f"{path}: this is no text: byte {error.start} is no {error.encoding}. Save it as UTF-8, or leave it out."
        ) from error
    except OSError as error:
        raise UnreadableError(f"{path}: it cannot be read: {error.strerror}.") from error


def write_text(path: Path, text: str) -> None:
    """Writes the text in the encoding that the file has."""
    path.write_bytes(text.encode(_encoding(path.read_bytes())))


def _encoding(data: bytes) -> str:
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "utf-16"
    return "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
