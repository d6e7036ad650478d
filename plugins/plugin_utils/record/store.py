# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The records of a run while it lasts: what tasks add, in a file for each host, in a folder of the run.

Each host of a task is a process of its own, and Ansible keeps no fact of a task that failed. The folder is one that
ansible-core makes for a run on the controller: an earlier run's records, such as a fact cache may have, are never read.
"""

from __future__ import annotations

import errno
import fcntl
import functools
import hashlib
import itertools
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..engine.local_path import expand_home
from ..engine.run_end import at_end
from .node_record import Added, Failure, NodeRecord, Plan, Repair, Seen, Step, Versions, add

FILE = "winkube_record_file"
"""The variable that names the file."""
_ENDED: set[Path] = set()


@dataclass(frozen=True, slots=True)
class Store:
    """`folder` is one that all processes of the run share, and that is closed to other users."""

    folder: Path

    def add(self, added: Added) -> None:
        """Keep what a task adds; nothing is kept where the folder cannot be used."""
        line = json.dumps(asdict(added)).encode() + b"\n"
        with suppress(OSError):
            self._home.mkdir(mode=0o700, exist_ok=True)
            with self._file(added.host).open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(line)

    def additions(self, host: str, begin_at: int = 0) -> list[Added]:
        """What has been added for a host, from the entry with this number on."""
        return list(_read(self._file(host), begin_at))

    def record(self, host: str) -> NodeRecord:
        """The record of a host so far."""
        return functools.reduce(add, _read(self._file(host)), NodeRecord(host=host))

    def records(self) -> list[NodeRecord]:
        """Of all hosts, in the order of their names."""
        return [self.record(host) for host in self.hosts()]

    def send_to(self, host: str, name: str) -> None:
        """From here on the host's record goes to the file of this name at the end of the run. OSError if it cannot be
        written, or is something else than a file."""
        note = self._home / f"{_name(host)}.to"
        if note.exists():
            return
        path = expand_home(name).absolute().resolve()
        if path.exists() and not path.is_file():
            raise FileExistsError(errno.EEXIST, "it is there, and no file", str(path))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        with suppress(OSError):
            self._home.mkdir(mode=0o700, exist_ok=True)
            note.write_text(str(path), encoding="utf-8")

    def is_due(self) -> bool:
        """Whether a record is to be written."""
        return any(self._home.glob("*.to"))

    def write(self) -> None:
        """Write the files that hosts' records go to: a line for each host, in place of what was there."""
        lines: dict[Path, list[str]] = {}
        for record in self.records():
            note = self._home / f"{_name(record.host)}.to"
            if note.exists():
                line = json.dumps(record.to_data(), ensure_ascii=False)
                lines.setdefault(Path(note.read_text(encoding="utf-8")), []).append(line)
        for path, found in lines.items():
            _replace(path, "".join(f"{line}\n" for line in found))

    @property
    def _home(self) -> Path:
        return self.folder / "winkube-records"

    def hosts(self) -> list[str]:
        """Those to whose records something has been added."""
        firsts = (next(_read(path), None) for path in self._home.glob("*.jsonl"))
        return sorted(first.host for first in firsts if first is not None)

    def _file(self, host: str) -> Path:
        return self._home / f"{_name(host)}.jsonl"


def _name(host: str) -> str:
    return hashlib.sha256(host.encode()).hexdigest()[:16]


def _replace(path: Path, text: str) -> None:
    """A reader of the file finds the old text or the new one; only its owner may."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")  # made with mode 0600
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _read(path: Path, begin_at: int = 0) -> Iterator[Added]:
    try:
        with path.open(encoding="utf-8") as file:
            for line in itertools.islice(file, begin_at, None):
                yield _added(json.loads(line))
    except FileNotFoundError:
        return


def _added(data: Mapping[str, Any]) -> Added:
    """From what `add` has written."""
    plan, seen, failure, repair = data["plan"], data["seen"], data["failure"], data["repair"]
    return Added(
        **{
            **data,
            "plan": plan and Plan(**{**plan, "unpinned": tuple(plan["unpinned"])}),
            "planned": {about: tuple(Step(**each) for each in steps) for about, steps in data["planned"].items()},
            **{name: tuple(data[name]) for name in ("done", "found", "waits", "notes")},
            "seen": seen and Seen(**{**seen, "versions": Versions(**seen["versions"])}),
            "failure": failure and Failure(**failure),
            "repair": repair and Repair(**repair | {"left_to": tuple(repair["left_to"])}),
        }
    )


def write_at_end(folder: Path, warn: Callable[[str], None]) -> None:
    """From here on the run's own process writes the file of records before it ends. Does nothing in a worker."""
    store = Store(folder)

    def write() -> None:
        try:
            store.write()
        except OSError as error:
            warn(f"{FILE}: the records of this run could not be written: {error}")

    if folder not in _ENDED:
        _ENDED.add(folder)
        at_end(store.is_due, write)
