# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's answers, shared by all nodes of a task: most of a plan's questions are the same for each.

Ansible's workers are separate processes. They share a folder of the run, in which each answer is a file. Some answers
contain a service account's token, so the files are encrypted with a key that only the run's processes have.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

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
_BULKY = {"metadata": ("managedFields",), "status": ("images", "volumesInUse", "volumesAttached")}
"""The bulk of a Node's text, which no plan reads."""


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
            self._own[path] = self._share(path, lambda: _slim(ask()))
        return self._own[path]

    def _share(self, path: str, ask: Callable[[], Object | None]) -> Object | None:
        name = hashlib.sha256(json.dumps([self.scope, path], sort_keys=True).encode()).hexdigest()
        try:
            file = (self.folder / f"asked-{name}").open("a+b")
        except OSError:
            return ask()
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX)  # a worker that comes while the question is asked waits for its answer
            except OSError:  # network file systems may have no locks
                return ask()
            file.seek(0)
            kept = file.read()
            with suppress(InvalidToken):
                known: Object | None = json.loads(_CIPHER.decrypt(kept, ttl=self.fresh_s))
                return known
            if kept == _FAILED:
                fcntl.flock(file, fcntl.LOCK_UN)  # else all would wait in turn for a server that is down
            return _ask_and_keep(file, ask)


def _ask_and_keep(file: BinaryIO, ask: Callable[[], Object | None]) -> Object | None:
    kept = _FAILED
    try:
        answer = ask()
        kept = _CIPHER.encrypt(json.dumps(answer).encode())
    finally:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        with suppress(OSError):
            file.write(kept)
            file.flush()
    return answer


def _slim(answer: Object | None) -> Object | None:
    for each in (answer or {}).get("items") or (answer or {},):
        for block, names in _BULKY.items():
            for name in names:
                (each.get(block) or {}).pop(name, None)
    return answer
