# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfers a local build to a node in parts, sent there or fetched from there, and names the ops that assemble the
build from them (docs/protocol.md, section 5)."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from ..engine import windows_path
from .cache import PushCache
from .delta import WHOLE_LEVEL, delta, parts, whole
from .progress import Progress

How = Literal["unchanged", "delta", "whole"]
Mode = Literal["auto", "whole"]


class PushError(Exception):
    """The build could not be sent; the text is a sentence."""


class Connection(Protocol):
    """The used part of Ansible's connection plugins: SFTP over SSH, PowerShell and base64 over WinRM."""

    def put_file(self, in_path: str, out_path: str) -> object:
        """Copy a file of the controller to the node; the folder must be there."""


@dataclass(frozen=True, slots=True)
class Base:
    """A file on the node and its sha256: the build to be replaced."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """The transfer's result. `staged` is where the build is (`unchanged`), or will be once `op` has run: the op
    `assemble` as {op, args, undo}, None if unchanged. `bytes_sent` are those of the parts, `why` a phrase for the
    result."""

    how: How
    bytes_sent: int
    seconds: float
    staged: str
    op: dict[str, Any] | None = None
    why: str = ""
    parts: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Ready:
    """A build as parts on the controller: `files`, and `remote`, their paths on the node. `args` are those of the op
    `assemble`, which makes `staged` from them; all three are empty if the node has the build already."""

    how: How
    why: str
    staged: str
    files: tuple[Path, ...] = ()
    remote: tuple[str, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)

    def build_result(self, bytes_sent: int, seconds: float) -> Pushed:
        """The result after the parts were sent."""
        if not self.files:
            return Pushed(self.how, 0, seconds, self.staged, why=self.why)
        undo = [{"op": "remove", "args": {"path": path, "in_use_ok": True}} for path in (self.staged, *self.remote)]
        op = {"op": "assemble", "args": dict(self.args), "undo": undo}
        return Pushed(self.how, bytes_sent, seconds, self.staged, op, self.why, self.remote)


@contextmanager
def prepare(
    source: Path,
    sha256: str,
    size: int,
    base: Base | None,
    staging_dir: str,
    cache: PushCache,
    *,
    target: str | None = None,
    mode: Mode = "auto",
) -> Iterator[Ready]:
    r"""`source` (of `sha256` and `size`) as parts for `staging_dir`; the files exist while the context is open.

    `target` is the file that the op makes from them; by default `<staging_dir>\<sha256>.exe`. `mode` whole: not as a
    difference. PushError if the source is not as described, or cannot be read.
    """
    if base is not None and base.sha256 == sha256:
        yield Ready("unchanged", "the node has this build", base.path)
        return
    old, why = _find_old_build(base, cache, mode)
    place = target or windows_path.join(staging_dir, f"{sha256}.exe")
    with ExitStack() as open_files:
        files = _files(open_files, source, sha256, size, base if old is not None else None, old, cache)
        remote = tuple(windows_path.join(staging_dir, f"{sha256[:16]}.{n:03d}") for n in range(len(files)))
        args: dict[str, Any] = {"path": place, "sha256": sha256, "size": size, "delta": list(remote)}
        if old is not None and base is not None:
            args |= {"base": base.path, "base_sha256": base.sha256}
        yield Ready("whole" if old is None else "delta", why, place, tuple(files), remote, args)


def push(
    connection: Connection,
    ready: Ready,
    progress: Callable[[Progress], None],
    now: Callable[[], float] = time.monotonic,
) -> Pushed:
    """Send the parts through the connection; their folder must exist on the node.

    The connection's exceptions pass through; the next attempt overwrites parts that are there already.
    """
    started, sent = now(), 0
    total = sum(file.stat().st_size for file in ready.files)
    for number, (file, there) in enumerate(zip(ready.files, ready.remote, strict=True), 1):
        connection.put_file(str(file), there)
        sent += file.stat().st_size
        progress(Progress(number, len(ready.files), sent, total, now() - started))
    return ready.build_result(sent, now() - started)


def _find_old_build(base: Base | None, cache: PushCache, mode: Mode) -> tuple[bytes | None, str]:
    """The node's build, if a difference from it is possible; and why, or why not."""
    if mode == "whole":
        return None, "whole was asked for"
    if base is None:
        return None, "there is no build on the node"
    found = cache.find(base.sha256)
    if found is None:
        return (
            None,
            f"the build on the node (sha256 {base.sha256[:12]}) was not pushed from here, or too long ago",
        )
    return found, f"the difference from the build on the node (sha256 {base.sha256[:12]})"


def _files(
    open_files: ExitStack,
    source: Path,
    sha256: str,
    size: int,
    base: Base | None,
    old: bytes | None,
    cache: PushCache,
) -> list[Path]:
    """The parts as local files; the build is kept for the next time."""

    def make() -> Iterator[bytes]:
        new = _read(source, sha256, size)
        cache.keep(new, sha256)
        return parts(whole(new), level=WHOLE_LEVEL) if old is None else parts(delta(old, new))

    key = f"{base.sha256[:24] if base else 'whole'}-{sha256[:24]}"
    try:
        return open_files.enter_context(cache.parts(key, make))
    except OSError as error:
        raise PushError(f"{source} could not be prepared for the transfer: {error}.") from error


def _read(source: Path, sha256: str, size: int) -> bytes:
    data = source.read_bytes()
    if len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
        raise PushError(f"{source} changed while it was read: is a build still writing it? Run it again.")
    return data
