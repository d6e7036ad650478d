# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to the collection on a node: files by the layout and by the receipts, folders that its programs fill.

A file is ours if a role puts it at this place or a receipt lists it; a folder only if nothing but our services writes
into it. Every other folder is removed if it is empty; otherwise its content is reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..components import registry
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.reading import Query, Reading, file_key, file_query, merge_queries
from ..engine.resource import Refused
from ..engine.resources.programs import LEFT_BEHIND, PREVIOUS, RECEIPT_LIMIT, previous_path
from . import hns
from .options import ResetOptions

KEEP = ("images", "logs", "programs", "networks")
ASIDE = ".winkube-reset"
"""The suffix of renamed files: until they are deleted they can be restored."""
SNAPSHOTS = r"io.containerd.snapshotter.v1.windows\snapshots"
"""One folder for each layer, below containerd's root. Source: containerd plugins/snapshots/windows/windows.go."""

_LOG = re.compile(rf"({'|'.join(map(re.escape, registry.DAEMONS))})([-.].*)?\.log(\..*)?", re.IGNORECASE)
_COMMON = frozenset({"c:", r"c:\program files", r"c:\programdata", r"c:\windows", r"c:\users"})
"""Windows' own folders that may be parents of ours."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The subject of a reset. `known` are files recognised as ours before, whose receipts may be gone; `more` are other
    files and folders that are entirely ours."""

    layout: Layout
    how: ResetOptions
    ours: hns.Ours
    known: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    @property
    def snapshots(self) -> str:
        """The folder of containerd's layers."""
        return windows_path.join(self.how.containerd_root, SNAPSHOTS)

    @property
    def receipts(self) -> str:
        """The folder of the programs' receipts."""
        return windows_path.join(self.layout.state_dir, "receipts")


def check(how: ResetOptions) -> None:
    """Refused for an unknown word of `keep`."""
    if wrong := sorted(set(how.keep) - set(KEEP)):
        raise Refused(f"keep: {', '.join(wrong)}: there are only {', '.join(KEEP)}.")


def list_first_reads(scope: Scope) -> tuple[Query, ...]:
    """What decides what else to read."""
    return tuple(file_query(folder, entries=True) for folder in (scope.receipts, *_places(scope)))


def list_second_reads(scope: Scope, reading: Reading) -> tuple[Query, ...]:
    """The receipts themselves."""
    return tuple(file_query(path, content_limit=RECEIPT_LIMIT) for path in _receipts(scope, reading))


def list_third_reads(scope: Scope, reading: Reading) -> tuple[Query, ...]:
    """Everything that may be ours, set aside or not, and the content of its folders."""
    things = (*candidates(scope, reading), *data(scope))
    return merge_queries(
        (
            *list_second_reads(scope, reading),
            *(file_query(path) for path in things),
            *(file_query(path + ASIDE) for path in candidates(scope, reading)),
            *(file_query(folder, entries=True) for folder in (*_folders(scope, reading), scope.snapshots)),
        )
    )


def files(scope: Scope, reading: Reading) -> tuple[str, ...]:
    """Existing files that are ours, except those to keep."""
    return tuple(path for path in candidates(scope, reading) if is_there(path, reading))


def list_put_aside(scope: Scope, reading: Reading) -> tuple[str, ...]:
    """Files that a reset has set aside and not deleted yet."""
    found = [path + ASIDE for path in candidates(scope, reading) if is_there(path + ASIDE, reading)]
    for folder in (scope.receipts, *_folders(scope, reading)):
        entries = reading.parts.get(file_key(folder), {}).get("entries") or ()
        found += [windows_path.join(folder, each) for each in entries if each.endswith(ASIDE)]
    return tuple({windows_path.key(path): path for path in found}.values())


def data(scope: Scope) -> tuple[str, ...]:
    """Folders that only our services write to, and `more`: deleted entirely."""
    layout = scope.layout
    found = [
        layout.kubelet_dir,
        *(windows_path.join(scope.how.cni_data_dir, name) for name in scope.ours.names),
        *scope.more,
    ]
    if "images" not in scope.how.keep:
        found += [scope.how.containerd_state, scope.how.containerd_root]
    return tuple(found)


def everything(scope: Scope, reading: Reading) -> tuple[str, ...]:
    """Everything that goes, present or not: files, also set aside, and the folders that are deleted entirely."""
    found = candidates(scope, reading)
    root = {scope.how.containerd_root} if layers(scope, reading) else set()
    aside = (*list_put_aside(scope, reading), *(path + ASIDE for path in found))
    return (*found, *aside, *(path for path in data(scope) if path not in root))


def layers(scope: Scope, reading: Reading) -> tuple[str, ...]:
    """The layers that containerd still has. A folder with layers is not deleted: one may be mounted, and a recursive
    delete has gone through such a mount to the machine's own files. Source: moby/moby#26873."""
    found = reading.parts.get(file_key(scope.snapshots), {}).get("entries") or ()
    return tuple(each for each in found if each.isdigit())


def folders(scope: Scope, reading: Reading) -> tuple[str, ...]:
    """Folders that go if they are empty, deepest first."""
    return tuple(path for path in _folders(scope, reading) if is_there(path, reading))


def strangers(scope: Scope, reading: Reading, going: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """Our folders that will not be empty, each with its foreign content; an outer folder is left out if only an
    inner one stays."""
    gone = {windows_path.key(path) for path in going}
    found: dict[str, tuple[str, ...]] = {}
    for folder in _folders(scope, reading):
        if not is_there(folder, reading):
            gone.add(windows_path.key(folder))
            continue
        entries = reading.parts.get(file_key(folder), {}).get("entries") or ()
        names = [each for each in entries if windows_path.key(windows_path.join(folder, each)) not in gone]
        inner = {windows_path.key(each) for each in found}
        own = tuple(each for each in names if windows_path.key(windows_path.join(folder, each)) not in inner)
        if own:
            found[folder] = own
        elif not names:
            gone.add(windows_path.key(folder))
    return found


def is_there(path: str, reading: Reading) -> bool:
    """Whether it exists in the reading."""
    return bool(reading.parts.get(file_key(path), {}).get("exists"))


def candidates(scope: Scope, reading: Reading) -> tuple[str, ...]:
    """Paths of files that are ours if they exist, except those to keep."""
    layout = scope.layout
    found = [
        *(path for each in registry.COMPONENTS for path in (*each.settings(layout), *each.files(layout))),
        scope.how.net_conf,
    ]
    if "programs" not in scope.how.keep:
        found += [
            *(daemon.program(layout) for daemon in registry.DAEMONS.values()),
            *(path for each in registry.COMPONENTS for path in each.tools(layout)),
            *_list_received(scope, reading),
            *_list_beside(scope, reading, PREVIOUS),
        ]
    if "logs" not in scope.how.keep:
        found += [layout.containerd_log, *logs(layout, reading)]
    inside = windows_path.key(layout.kubelet_dir) + "\\"
    found += [*_list_beside(scope, reading, LEFT_BEHIND), *scope.known]
    if "programs" not in scope.how.keep:  # last, since they say what else is ours
        found += [path.removesuffix(ASIDE) for path in _receipts(scope, reading)]
    return tuple(
        {windows_path.key(path): path for path in found if not windows_path.key(path).startswith(inside)}.values()
    )


def _receipts(scope: Scope, reading: Reading) -> tuple[str, ...]:
    entries = reading.parts.get(file_key(scope.receipts), {}).get("entries") or ()
    return tuple(
        windows_path.join(scope.receipts, each) for each in entries if each.endswith((".json", f".json{ASIDE}"))
    )


def _list_received(scope: Scope, reading: Reading) -> list[str]:
    """The files that receipts list; an unreadable receipt lists none."""
    found: list[str] = []
    for path in _receipts(scope, reading):
        text = reading.text(path) if file_key(path) in reading.parts else None
        try:
            listed = json.loads(text or "{}").get("files") or ()
            paths = [str(each["path"]) for each in listed if not windows_path.problem(str(each["path"]))]
            found += [name for path in paths for name in (path, previous_path(path))]
        except (ValueError, AttributeError, TypeError, KeyError, RecursionError):
            continue
    return found


def logs(layout: Layout, reading: Reading) -> list[str]:
    """Logs of our services, including rotated files."""
    folder = layout.log_dir
    entries = reading.parts.get(file_key(folder), {}).get("entries") or ()
    return [windows_path.join(folder, each) for each in entries if _LOG.fullmatch(each)]


def _list_beside(scope: Scope, reading: Reading, suffix: str) -> list[str]:
    """Programs left under another name by a replacement: still in use, or kept for a rollback."""
    return [
        windows_path.join(folder, each)
        for folder in _places(scope)
        for each in reading.parts.get(file_key(folder), {}).get("entries") or ()
        if each.casefold().endswith(suffix)
    ]


def _places(scope: Scope) -> tuple[str, ...]:
    return tuple(dict.fromkeys(folder for each in registry.COMPONENTS for folder in each.folders(scope.layout)))


def _folders(scope: Scope, reading: Reading) -> tuple[str, ...]:
    """Every folder that contains something of ours, and its parents that are not Windows' own."""
    things = (*candidates(scope, reading), *data(scope), *(windows_path.join(each, "x") for each in _places(scope)))
    state = windows_path.key(scope.layout.state_dir)
    found: dict[str, str] = {}
    for path in things:
        folder = windows_path.parent(path)
        while windows_path.key(folder) not in _COMMON and len(folder) > len("C:\\"):
            key = windows_path.key(folder)
            if key != state and not key.startswith(state + "\\"):
                found.setdefault(key, folder)
            folder = windows_path.parent(folder)
    return tuple(sorted(found.values(), key=lambda each: (-each.count("\\"), each.casefold())))
