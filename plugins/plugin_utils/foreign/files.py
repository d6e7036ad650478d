# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that somebody names, read with limits of size and time: files, FIFOs, devices, standard input, zip archives.

Nothing here waits for ever or reads more than it was told to.
"""

from __future__ import annotations

import os
import select
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .encoding import decode, decode_anyhow, encoding_of

MOST_BYTES = 256 << 20
"""Of a file."""
MOST_MEMBERS = 20_000
"""Of an archive."""
LONGEST_S = 60.0
"""So long nothing may come out of a FIFO or device that a name leads to; helm, behind a pipe, may take its time."""
_PIECE = 1 << 20


class ForeignError(ValueError):
    """What somebody gave cannot be read: a sentence, without the file's name. `line` and `column` count from 1, and are
    0 where there is no place."""

    def __init__(self, sentence: str, line: int = 0, column: int = 0) -> None:
        super().__init__(sentence)
        self.line, self.column = line, column


def read_file(path: Path, most: int = MOST_BYTES, wait_s: float = LONGEST_S) -> bytes:
    """All of a file. ForeignError if it has more than `most` bytes, or cannot be read."""
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise ForeignError(_too_large(most, size))
        data = read_stream(file, most + 1, wait_s)
    if len(data) > most:
        raise ForeignError(_too_large(most))
    return data


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The text of a file. FileNotFoundError, else ForeignError."""
    try:
        return decode(read_file(path, most))
    except UnicodeDecodeError as error:
        raise ForeignError(f"it is not text: byte {error.start} is not {error.encoding.upper()}.") from error
    except ForeignError as error:
        missing = error.__cause__
        if isinstance(missing, FileNotFoundError):
            raise FileNotFoundError(*missing.args) from None
        raise


@dataclass(frozen=True, slots=True)
class End:
    """The last bytes of a file as text; `cut`: the file has more."""

    text: str
    cut: bool = False


def read_end(path: Path, most: int, wait_s: float = LONGEST_S) -> End:
    """The last `most` bytes of a file, which may be much longer; all of what is not a regular file. ForeignError."""
    with _open(path) as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode) and status.st_size > most:
            encoding = encoding_of(file.read(4096))
            # A character has 1, 2 or 4 bytes, or begins again soon.
            file.seek((status.st_size - most) // 4 * 4)
            return End(decode_anyhow(read_stream(file, most + 4, wait_s), encoding), cut=True)
        data = read_stream(file, most + 1, wait_s)
    if len(data) > most:
        raise ForeignError(_too_large(most))
    return End(decode_anyhow(data))


def read_input(stream: BinaryIO, most: int = MOST_BYTES) -> bytes:
    """All of standard input, however long somebody types or a program before the pipe works. ForeignError."""
    data = read_stream(stream, most + 1)
    if len(data) > most:
        raise ForeignError(_too_large(most))
    return data


def read_stream(stream: BinaryIO, most: int, wait_s: float | None = None) -> bytes:
    """At most `most` bytes of an open file. ForeignError if nothing comes for `wait_s` seconds."""
    pieces: list[bytes] = []
    left = most
    number = _number_of(stream)
    while left > 0:
        if number is None:
            piece = stream.read(min(left, _PIECE))
        else:
            if wait_s is not None:
                _wait(number, wait_s)
            try:
                piece = os.read(number, min(left, _PIECE))
            except BlockingIOError:
                continue
            except OSError as error:
                raise ForeignError(f"it cannot be read: {error.strerror or error}.") from error
        if not piece:
            break
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _open(path: Path) -> BinaryIO:
    """Without waiting for somebody who writes into a FIFO."""
    try:
        return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb", buffering=0)
    except OSError as error:
        raise ForeignError(f"it cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # a NUL in the name
        raise ForeignError(f"it cannot be read: {error}.") from error


def _number_of(stream: BinaryIO) -> int | None:
    """The descriptor, for the system's own reads; None for a file that a test has made."""
    try:
        return stream.fileno()
    except OSError:
        return None


def _wait(number: int, wait_s: float) -> None:
    if stat.S_ISREG(os.fstat(number).st_mode):
        return
    waiting = select.poll()
    waiting.register(number, select.POLLIN | select.POLLHUP)
    until = time.monotonic() + wait_s
    while not waiting.poll(max(0.0, until - time.monotonic()) * 1000):
        if time.monotonic() >= until:
            raise ForeignError(f"nothing came out of it for {wait_s:.0f} seconds: name a file, or write to it.")


def _too_large(most: int, size: int = 0) -> str:
    return f"it has {f'{size} bytes, ' if size else ''}more than the {most >> 20} MB that are read: give a part of it."


@dataclass(frozen=True, slots=True)
class Member:
    """A file of an archive: its text's bytes, or the sentence that says why it was not read."""

    name: str
    data: bytes = b""
    refused: str = ""


_BAD_MEMBER = (OSError, ValueError, LookupError, RuntimeError, EOFError, zlib.error, zipfile.BadZipFile)
"""What zipfile raises for a broken, an encrypted and an unknown member: RuntimeError is also NotImplementedError. lzma
and bz2 raise OSError and ValueError, and EOFError."""


def is_zip(path: Path) -> bool:
    """Whether a regular file is an archive."""
    try:
        return stat.S_ISREG(path.stat().st_mode) and zipfile.is_zipfile(path)
    except (OSError, ValueError):
        return False


def read_members(path: Path, wanted: Callable[[str], bool], most: int = MOST_BYTES) -> Iterator[Member]:
    """The members whose names are `wanted`, until they have `most` bytes together. ForeignError for a file that is no
    archive."""
    try:
        archive = zipfile.ZipFile(path)
    except _BAD_MEMBER as error:
        raise ForeignError(f"it is not a zip archive that can be read: {_said(error)}.") from error
    left = most
    with archive:
        names = archive.infolist()
        if len(names) > MOST_MEMBERS:
            raise ForeignError(f"it has {len(names)} members, more than the {MOST_MEMBERS} that are read.")
        for each in names:
            if each.is_dir() or not wanted(each.filename):
                continue
            try:
                with archive.open(each) as file:
                    data = _read_member(file, left)
            except _BAD_MEMBER as error:
                yield Member(each.filename, refused=f"it cannot be read: {_said(error)}.")
                continue
            if data is None:
                sentence = f"the members of this archive have more than the {most >> 20} MB that are read."
                yield Member(each.filename, refused=sentence)
                continue
            left -= len(data)
            yield Member(each.filename, data)


def _read_member(file: object, most: int) -> bytes | None:
    """None for more than `most` bytes: what an archive says of a member's size need not be true."""
    read = getattr(file, "read")  # noqa: B009 - zipfile's type is IO[bytes]
    pieces, left = [], most
    while piece := read(min(left + 1, _PIECE)):
        left -= len(piece)
        if left < 0:
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _said(error: BaseException) -> str:
    said = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return "it is encrypted" if "password required" in said else said
