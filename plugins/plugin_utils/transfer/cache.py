# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The builds pushed from this controller, by sha256, and the deltas between two of them.

A delta requires the node's present build in this cache. The folder may be deleted at any time: the next push of each
build is then a whole one.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

MAX_BUILDS = 5
MAX_BYTES = 1000 * 1000 * 1000
MAX_DELTAS = 4
_SHA256 = re.compile(r"[0-9a-f]{64}")


def default_folder(environment: Mapping[str, str] | None = None) -> Path:
    """`winkube/builds` in XDG_CACHE_HOME or ~/.cache, by this process' environment or the given one. A user without a
    home, as in some containers, gets a folder that cannot be made."""
    named = (os.environ if environment is None else environment).get("XDG_CACHE_HOME", "")
    try:
        start = Path(named) if named.startswith("/") else Path.home() / ".cache"
    except RuntimeError:
        start = Path(os.devnull)
    return start / "winkube" / "builds"


@dataclass(frozen=True, slots=True)
class PushCache:
    """`folder` is made when needed, accessible only to its owner. If that fails, nothing is kept and nothing is
    found."""

    folder: Path
    max_builds: int = MAX_BUILDS
    max_bytes: int = MAX_BYTES

    @classmethod
    def default(cls) -> PushCache:
        """In the user's cache folder."""
        return cls(default_folder())

    def has(self, sha256: str) -> bool:
        """Whether a build of this sha256 is in the cache; quick, since only `find` verifies the content."""
        try:
            return bool(_SHA256.fullmatch(sha256)) and self._build(sha256).is_file()
        except OSError:  # the folder is another user's, as after sudo
            return False

    def find(self, sha256: str) -> bytes | None:
        """The build of this sha256, if it is in the cache and intact."""
        if not _SHA256.fullmatch(sha256):
            return None
        try:
            data = self._build(sha256).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data).hexdigest() != sha256:
            self._build(sha256).unlink(missing_ok=True)
            return None
        with suppress(OSError):
            os.utime(self._build(sha256))
        return data

    def keep(self, data: bytes, sha256: str) -> bool:
        """Keep a build and drop the least recently used ones; whether it is in the cache now."""
        if len(data) > self.max_bytes:
            return False
        try:
            self._make(self.folder)
            if self._build(sha256).exists():
                os.utime(self._build(sha256))
                return True
            descriptor, name = tempfile.mkstemp(prefix=".new-", dir=self.folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                Path(name).replace(self._build(sha256))
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise
            self._drop_old()
        except OSError:
            return False
        return True

    @contextmanager
    def parts(self, key: str, make: Callable[[], Iterator[bytes]]) -> Iterator[list[Path]]:
        """The parts called `key` as files, in order: made by `make` unless another task has made them; they stay
        while the context is open. Nodes that get one build at the same time wait for the one that makes them."""
        # contextlib throws into a generator what ends its context: the inner one is left too.
        with self._workshop(key) as (folder, lock):  # pylint: disable=contextmanager-generator-missing-cleanup
            complete = folder / "complete"
            if not complete.exists():
                for leftover in folder.glob("*.part"):
                    leftover.unlink()
                for number, data in enumerate(make()):
                    (folder / f"{number:03d}.part").write_bytes(data)
                complete.touch()
            if lock is not None:
                os.utime(folder)
                fcntl.flock(lock, fcntl.LOCK_SH)
            yield sorted(folder.glob("*.part"))

    @contextmanager
    def _workshop(self, key: str) -> Iterator[tuple[Path, int | None]]:
        """A folder that nobody else uses, and its lock: in the cache, else a temporary one without a lock."""
        folder = self.folder / "deltas" / key
        try:
            self._make(folder.parent)
            lock = _lock(folder)
            self._make(folder)
            self._drop_old_deltas(folder)
        except OSError:
            with tempfile.TemporaryDirectory(prefix="winkube-") as name:
                yield Path(name), None
            return
        try:
            yield folder, lock
        finally:
            os.close(lock)

    def _build(self, sha256: str) -> Path:
        return self.folder / sha256

    @staticmethod
    def _make(folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _drop_old(self) -> None:
        builds = [path for path in self.folder.iterdir() if _SHA256.fullmatch(path.name)]
        builds.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        kept = 0
        for number, path in enumerate(builds):
            kept += path.stat().st_size
            if number >= self.max_builds or kept > self.max_bytes:
                path.unlink(missing_ok=True)

    def _drop_old_deltas(self, mine: Path) -> None:
        others = [path for path in mine.parent.iterdir() if path.is_dir() and path != mine]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[MAX_DELTAS - 1 :]:
            with suppress(OSError):
                lock = _lock(path, fcntl.LOCK_NB)
                try:
                    shutil.rmtree(path, ignore_errors=True)
                    _lock_of(path).unlink()
                finally:
                    os.close(lock)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _lock(folder: Path, how: int = 0) -> int:
    """The lock of a folder, held only by this process. Its file may be deleted during the wait."""
    path = _lock_of(folder)
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | how)
            if path.exists() and path.stat().st_ino == os.fstat(lock).st_ino:
                return lock
        except OSError:
            os.close(lock)
            raise
        os.close(lock)
