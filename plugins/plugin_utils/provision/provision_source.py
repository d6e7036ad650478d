# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a provisioner's program comes from: an address that the node fetches, or a file on the controller."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..components.source import ReadUrl, source
from ..engine.address import mask
from ..engine.clock import Clock
from ..engine.local_path import expand_home
from ..engine.resource import Refused
from . import pe_image
from .provision_items import Item

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Build:
    """A program on the controller: `size` in bytes, `head` its first bytes, `package` what Go built it from, empty if
    that is not known."""

    path: Path
    sha256: str
    size: int
    head: bytes
    package: str = ""


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of one item: `build` for a file on the controller, else the address `url`, whose `sha256` is None
    where no one said it."""

    url: str
    sha256: str | None
    build: Build | None = None


def find_origins(
    items: Iterable[Item],
    folders: Collection[Path],
    read_url: ReadUrl,
    download: Callable[[Item], Path] | None,
    warn: Callable[[list[str]], None],
) -> dict[str, Origin]:
    """The source of each item that has one, by its name. `download` fetches an address to a file of the controller;
    without it the node does. Refused with the sentences of all that are not right."""
    problems: list[str] = []
    found: dict[str, Origin] = {}
    for item in items:
        if item.previous:
            continue
        try:
            if not is_address(item.source):
                found[item.name] = from_controller(item, folders, read_url)
                continue
            found[item.name] = from_address(item, read_url)
            if found[item.name].sha256 is None and item.source.lower().startswith("http://"):
                warn([_plain_http(item)])
            if download is not None:
                found[item.name] = from_build(item, read(download(item)), read_url)
        except Refused as refused:
            problems += refused.sentences
    if problems:
        raise Refused(*problems)
    return found


def _plain_http(item: Item) -> str:
    return (
        f"{item.name}: {mask(item.source)} is fetched over plain http and without a checksum: anyone on the "
        "way can put any program on the node. Give checksum: sha256:<64 hex digits>."
    )


def is_address(text: str) -> bool:
    """Whether a sourceURL is fetched over the network."""
    return urlsplit(text).scheme.lower() in {"http", "https"}


def from_address(item: Item, read_url: ReadUrl) -> Origin:
    """The source of an item with an http or https address. Refused for a checksum that is none."""
    checked = source(
        component=item.name,
        version=item.version,
        url=item.source,
        checksum=item.checksum,
        unverified=(item.name,),
        read_url=read_url,
        over_http=True,
    )
    return Origin(item.source, checked.sha256)


def from_controller(item: Item, folders: Collection[Path], read_url: ReadUrl) -> Origin:
    """The source of an item with a path. Refused if there is no such file, it is not a program for Windows, or its
    checksum is another."""
    return from_build(item, read(_find_file(item, folders)), read_url)


def from_build(item: Item, build: Build, read_url: ReadUrl) -> Origin:
    """The source that is this file. Refused as `from_controller` says."""
    if problem := pe_image.problem(build.head, build.size):
        raise Refused(f"{item.name}: {build.path} {problem}")
    if other := pe_image.another_program(item.name, build.package):
        raise Refused(f"{item.name}: {build.path} is {other}: Go notes in it that it was built from {build.package}.")
    if item.checksum:
        url = item.source if is_address(item.source) else build.path.as_uri()
        wanted = source(
            component=item.name,
            version=item.version,
            url=url,
            checksum=item.checksum,
            unverified=(),
            read_url=read_url,
        ).sha256
        if wanted != build.sha256:
            raise Refused(
                f"{item.name}: {build.path} has the sha256 {build.sha256}, and the checksum says {wanted}: it is "
                "another build, or it was damaged."
            )
    return Origin(str(build.path), build.sha256, build)


def read(path: Path) -> Build:
    """Hash, size and beginning of a file. Refused if it cannot be read."""
    digest, head, size, package, last = hashlib.sha256(), b"", 0, "", b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                head = head or chunk[: pe_image.HEAD]
                digest.update(chunk)
                size += len(chunk)
                package = package or pe_image.package(last + chunk)
                last = chunk[-pe_image.PACKAGE_REACH :]
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error
    return Build(path, digest.hexdigest(), size, head, package)


def _find_file(item: Item, folders: Collection[Path]) -> Path:
    """The file that an item means: with or without .exe, or by its name in a folder of builds."""
    written = item.source
    if urlsplit(written).scheme.lower() == "file":
        written = unquote(urlsplit(written).path)
    path = expand_home(written)
    starts = [path] if path.is_absolute() else [folder / path for folder in folders]
    candidates = [candidate for start in starts for candidate in _list_candidates(start, item.name)]
    for start in starts:
        there = [path for path in _list_candidates(start, item.name) if path.is_file()]
        if there:
            return _choose_newest(item, there).resolve()
    places = ", ".join(dict.fromkeys(str(candidate) for candidate in candidates))
    raise Refused(f"{item.name}: there is no build on the controller; looked for {places}.")


def find_newest(name: str, start: Path) -> Path | None:
    """The build of `name` at a path, or in a folder of builds; None if there is none. Refused as `_choose_newest`
    says."""
    there = [path for path in _list_candidates(start, name) if path.is_file()]
    return _choose_newest(name, there) if there else None


def _choose_newest(item: Item | str, there: Sequence[Path]) -> Path:
    """The one written last. Refused if it is not a Windows program and an older one is: then the last build was for
    another system, and what would be sent is an old one."""
    name = item if isinstance(item, str) else item.name
    ordered = sorted(there, key=lambda path: path.stat().st_mtime_ns, reverse=True)
    last, others = ordered[0], ordered[1:]
    why = _explain_no_program(last)
    if others and why and (stale := next((path for path in others if not _explain_no_program(path)), None)):
        raise Refused(
            f"{name}: there are two builds: {last} ({_format_time(last)}) {why} {stale} ({_format_time(stale)}) is a "
            "program for Windows, but older. Build again for Windows, or name the one that is meant as sourceURL."
        )
    return last


def _explain_no_program(path: Path) -> str:
    """Why a file is not a program for Windows, empty if it is one."""
    with path.open("rb") as file:
        return pe_image.problem(file.read(pe_image.HEAD), path.stat().st_size) or ""


def _format_time(path: Path) -> str:
    return f"{datetime.fromtimestamp(path.stat().st_mtime).astimezone():%Y-%m-%d %H:%M:%S}"


def _list_candidates(start: Path, name: str) -> Sequence[Path]:
    if start.is_dir():  # a folder of builds may hold those for Linux beside them, without .exe
        return (start / f"{name}.exe", start / name)
    if start.suffix.lower() == ".exe":
        return (start, start.with_suffix(""))
    return (start, start.with_name(f"{start.name}.exe"))


SOURCES = (".go", ".mod", ".sum", ".s", ".c", ".h")
IGNORED = frozenset({".git", "_output", "bin", "node_modules"})
"""Folders in which no source lies; `bin` and `_output` get what is built."""
SHOWN_LINES = 40
_GIT_S = 20


@dataclass(frozen=True, slots=True)
class Made:
    """How a build ended: `output` are its last lines, `seconds` what it took."""

    code: int
    seconds: float
    output: str


def stamp(folder: Path, endings: Sequence[str] = SOURCES, ignored: Collection[str] = IGNORED) -> str:
    """A text that differs when a source below `folder` was added, removed or written."""
    digest = hashlib.sha256()
    for path in sorted(_list_sources(str(folder), tuple(endings), frozenset(ignored))):
        try:
            found = Path(path).stat()
        except OSError:  # an editor that writes a new file and renames it
            continue
        digest.update(f"{path}\0{found.st_mtime_ns}\0{found.st_size}\n".encode())
    return digest.hexdigest()


def _list_sources(folder: str, endings: tuple[str, ...], ignored: frozenset[str]) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ignored]
        yield from (f"{place}/{name}" for name in names if name.endswith(endings))


def wait_for_change(look: Callable[[], str], since: str, settle_s: float, clock: Clock | None = None) -> str:
    """Wait until `look` says something else than `since`, and then the same for `settle_s`: an editor writes several
    files, and `git checkout` many. What it says then."""
    clock = clock or Clock()
    pause = max(0.05, min(1.0, settle_s))
    seen = look()
    while seen == since:
        clock.sleep(pause)
        seen = look()
    still = clock.now()
    while clock.now() - still < settle_s:
        clock.sleep(pause)
        if (now := look()) != seen:
            seen, still = now, clock.now()
    return seen


def make(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Made:
    """Run the build. Refused if the program cannot be started."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            list(command),
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        raise Refused(f"{' '.join(command)}: it cannot be started in {folder}: {error.strerror}.") from error
    lines = done.stdout.decode(errors="replace").splitlines()
    return Made(done.returncode, round(time.monotonic() - began, 1), "\n".join(lines[-SHOWN_LINES:]))


def describe_build(path: Path, folder: Path) -> dict[str, Any]:
    """What tells a build from another: path, size in bytes, when it was written, and the revision of its sources (empty
    outside a git repository)."""
    found = path.stat()
    written = datetime.fromtimestamp(found.st_mtime).astimezone().isoformat(timespec="seconds")
    return {"path": str(path), "size": found.st_size, "written": written, "revision": _revision(folder)}


def _revision(folder: Path) -> str:
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_GIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def summarise_build(name: str, about: Mapping[str, Any], seconds: float) -> str:
    """One sentence: what was built, how long it took, how large it is."""
    revision = f", revision {about['revision']}" if about["revision"] else ""
    size = f"{about['size'] / 1e6:.1f} MB"
    return f"{name}: built {about['path']} in {seconds} s ({size}, written {about['written']}{revision})"


def list_folders(variables: Mapping[str, Any], basedir: str) -> tuple[Path, ...]:
    """Where a relative path may begin: beside the Node YAML, beside the playbook."""
    known = (variables.get(name) for name in ("winkube_node_dir", "inventory_dir"))
    places = [*(str(folder) for folder in known if folder), basedir]
    return tuple(dict.fromkeys(Path(place).resolve() for place in places))
