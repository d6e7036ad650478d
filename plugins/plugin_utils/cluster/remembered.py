# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's answers, shared by all nodes of a task: most of a plan's questions are the same for each.

Ansible's workers are separate processes. They share a folder of the run, in which each answer is a file. Some answers
contain a service account's token, so the files are encrypted with a key that only the run's processes have.

A file has a line for the answer and, if that is a collection, one for each item, which begins with the hash of its
name: a worker that needs one Node of thousands decodes that line alone. The end is marked: what a full disk has cut
off is no answer.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any

try:
    from cryptography.fernet import Fernet, InvalidToken
except ImportError:  # ansible-core depends on it, but importing this file must not need it
    Fernet = None  # type: ignore[assignment,misc]

from .answer import Object

FRESH_S = 30
"""Seconds for which other nodes of the task may use an answer; a play may take hours, batch by batch."""
FOR_THE_RUN = None
"""For what does not change while a run lasts."""
_CIPHER: Any = None if Fernet is None else Fernet(Fernet.generate_key())
"""Made when Ansible loads the action, before it forks its workers."""
_FAILED = b"failed"
_END = b"\n."
_Decode = Callable[[bytes, "int | None"], "Object | None"]
"""Of a file's bytes; the number of seconds for which they count. InvalidToken if they are older, or of another run."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """One worker's view of the answers. `folder`: the run's, closed to other users; `scope`, plain data, separates
    tasks and kubeconfigs; `fresh_s`: the number of seconds for which an answer counts, None for the whole run."""

    folder: Path
    scope: object
    fresh_s: int | None = FRESH_S
    _own: dict[str, Object | None] = field(default_factory=dict)

    def __call__(self, path: str, ask: Callable[[], Object | None]) -> Object | None:
        """The object at `path`: as this or another worker of the task knows it, else the result of `ask`."""
        if path not in self._own:
            self._own[path] = self._share(path, ask, _decode)
        return self._own[path]

    def find_item(self, path: str, name: str, ask: Callable[[], Object | None]) -> Object | None:
        """The item of this name of the collection at `path`, which `ask` asks for; None if it has none."""
        own = f"{path} {name}"
        if own not in self._own:
            self._own[own] = self._share(path, ask, partial(_decode_item, _hash(name)))
        return self._own[own]

    def _share(self, path: str, ask: Callable[[], Object | None], decode: _Decode) -> Object | None:
        name = _hash(json.dumps([self.scope, path], sort_keys=True)).decode()

        def ask_alone() -> Object | None:
            return decode(_encode(ask()), None)

        try:
            file = (self.folder / f"asked-{name}").open("a+b", buffering=0)  # else closing it may fail as well
        except OSError:
            return ask_alone()
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)  # a worker that comes while the question is asked waits for its answer
            except OSError:  # network file systems may have no locks
                return ask_alone()
            file.seek(0)
            kept = file.read()
            if kept.endswith(_END):
                with suppress(InvalidToken):
                    return decode(kept.removesuffix(_END), self.fresh_s)
            if kept == _FAILED:
                fcntl.flock(file, fcntl.LOCK_UN)  # else all would wait in turn for a server that is down
            return decode(_ask_and_keep(file, ask), None)


def _ask_and_keep(file: FileIO, ask: Callable[[], Object | None]) -> bytes:
    written = _FAILED
    try:
        kept = _encode(ask())
        written = kept + _END
    finally:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        with suppress(OSError):
            file.write(written)
    return kept


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).hexdigest().encode()


def _encode(answer: Object | None) -> bytes:
    items = (answer or {}).get("items") or ()
    head = {**answer, "items": []} if answer and items else answer
    lines = [_CIPHER.encrypt(json.dumps(head).encode())]
    lines += [b"%s %s" % (_hash(_name(each)), _CIPHER.encrypt(json.dumps(each).encode())) for each in items]
    return b"\n".join(lines)


def _decode(kept: bytes, ttl: int | None) -> Object | None:
    head, *items = kept.split(b"\n")
    answer: Object | None = _decrypt(head, ttl)
    if answer and items:
        answer["items"] = [_decrypt(each.partition(b" ")[2], None) for each in items]
    return answer


def _decode_item(name: bytes, kept: bytes, ttl: int | None) -> Object | None:
    _decrypt(_line(kept, 0), ttl)
    found = kept.find(b"\n%s " % name)
    return None if found < 0 else _decrypt(_line(kept, found + 1).partition(b" ")[2], None)


def _line(kept: bytes, start: int) -> bytes:
    end = kept.find(b"\n", start)
    return kept[start:] if end < 0 else kept[start:end]


def _decrypt(token: bytes, ttl: int | None) -> Any:
    return json.loads(_CIPHER.decrypt(token, ttl=ttl))


def _name(item: Object) -> str:
    return str((item.get("metadata") or {}).get("name"))
