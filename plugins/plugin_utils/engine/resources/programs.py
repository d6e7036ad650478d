# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs from a source: one file by its URL, or several from a release archive.

A receipt on the node says where its files came from, because the unpacked files show neither the archive's sha256 nor
its URL: `{schema, source: {url, sha256, version}, files: [{path, sha256}]}`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import windows_path
from ..address import mask
from ..batch import Op, as_base64
from ..reading import Query, Reading, file_key, file_query
from ..resource import Change, Refused
from ..security import ADMINS_ONLY

# Where new files wait for their rename: always on the drive that they are for. A rename cannot cross drives; Windows
# then copies under the real name, which leaves half a file if it is interrupted. Source: Microsoft, MoveFileEx,
# MOVEFILE_COPY_ALLOWED. In its new folder a file inherits that folder's access (op `move`).

FOLDER = ".winkube-staging"


def staging(state_dir: str, destination: str, name: str) -> str:
    """The folder `name` for files on their way to `destination`: in the state folder, or beside the destination on
    another drive."""
    if destination[:2].casefold() == state_dir[:2].casefold():
        return windows_path.join(state_dir, "staging", name)
    return windows_path.join(windows_path.parent(destination), FOLDER, name)


def make_staging(folder: str) -> tuple[Op, ...]:
    """Make the folder of `staging`; outside of the state folder only administrators can write to it."""
    ops = [Op("mkdir", {"path": folder}).with_undo(Op("remove", {"path": folder, "recurse": True}))]
    if above := _find_parent(folder):
        closed = Op("mkdir", {"path": above, "sddl": ADMINS_ONLY})
        ops.insert(0, closed.with_undo(Op("remove", {"path": above, "only_if_empty": True})))
    return tuple(ops)


def drop_staging(folder: str) -> tuple[Op, ...]:
    """Delete it with its contents."""
    ops = [Op("remove", {"path": folder, "recurse": True, "in_use_ok": True})]
    if above := _find_parent(folder):
        ops.append(Op("remove", {"path": above, "only_if_empty": True}))
    return tuple(ops)


def _find_parent(folder: str) -> str:
    """The parent folder that `make_staging` restricts; empty inside the state folder."""
    above = windows_path.parent(folder)
    return above if windows_path.name(above) == FOLDER else ""


PE = "4d5a"
GZIP = "1f8b"
ZIP = "504b0304"
PROGRAM_BYTES = 2 * 1024**3
"""The most that is fetched of a program or archive, and taken out of one: none of a node's has a tenth of it."""
RECEIPT_LIMIT = 16 * 1024
_LATER = "(known after download)"
PREVIOUS = ".winkube-previous"
"""The suffix of the replaced program that win_k8s_provisioner keeps for a rollback."""
LEFT_BEHIND = ".winkube-old"
"""The suffix of a replaced program that a running process may still use; a later batch deletes it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where programs come from: `url`, its `sha256` (None: unverified, as the user allowed), and the `version` that it
    is said to be.

    `proxy` is the address of a web proxy for the node, or None.
    """

    url: str
    sha256: str | None
    version: str
    proxy: str | None = None
    keep_pushed: bool = False
    """Whether a pushed build may stay in place of these programs."""

    def identity(self) -> dict[str, Any]:
        """The source as the receipt has it, without the proxy and without secrets in the address."""
        return {"url": mask(self.url), "sha256": self.sha256, "version": self.version}

    def matches(self, recorded: Mapping[str, Any]) -> bool:
        """Whether a receipt's source is this one: by sha256 if it has one (a mirror's URL differs), else by URL and
        version."""
        if self.sha256 is not None:
            return recorded.get("sha256") == self.sha256
        return recorded.get("url") == mask(self.url) and recorded.get("version") == self.version


def receipt_of(state_dir: str, owner: str) -> str:
    """The path of a component's receipt."""
    return windows_path.join(state_dir, "receipts", f"{owner}.json")


def find_push_receipt(state_dir: str, program: str) -> str:
    """The path of the note about a pushed program."""
    return windows_path.join(state_dir, "receipts", f"provision-{program.casefold()}.json")


def read_pushed_build(reading: Reading, receipt: str) -> Mapping[str, Any] | None:
    """The source of a pushed build that is still in place, {url, by, at, .., paths}; None if there is none."""
    recorded = (_receipt(reading, receipt) if file_key(receipt) in reading.parts else None) or {}
    if not _are_there(recorded, reading):
        return None
    return {**recorded["source"], "paths": [str(file["path"]) for file in recorded["files"]]}


def pusher(source: Mapping[str, Any]) -> str:
    """`ann@laptop pushed on 2026-11-23 14:03 UTC from ~/k/kubelet.exe`: who, when and from where, as far as
    recorded."""
    by, at, url = (str(source.get(name) or "") for name in ("by", "at", "url"))
    when = f" on {at[:16].replace('T', ' ')} UTC" if at else ""
    return f"{by or 'somebody'} pushed{when}{f' from {url}' if url else ''}"


def read_version(reading: Reading, receipt: str) -> str:
    """The version in a receipt for the files that are there; empty if they differ or are unknown."""
    recorded = (_receipt(reading, receipt) if file_key(receipt) in reading.parts else None) or {}
    return str(recorded["source"].get("version") or "") if _are_there(recorded, reading) else ""


def _are_there(recorded: Mapping[str, Any], reading: Reading) -> bool:
    """Whether the receipt has files and all are unchanged; it may name other files than were read."""
    files = recorded.get("files") or ()
    there = all(reading.parts.get(file_key(file["path"]), {}).get("sha256") == file["sha256"] for file in files)
    return bool(files) and there


def _receipt(reading: Reading, path: str) -> dict[str, Any] | None:
    """The receipt; None if it does not have the shape that `record` writes: the next run writes it again."""
    text = reading.text(path)
    if text is None:
        return None
    try:
        recorded = json.loads(text)
        files, source = recorded["files"], recorded["source"]
        shaped = isinstance(source, dict) and all(
            isinstance(file["path"], str) and isinstance(file["sha256"], str) for file in files
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return recorded if shaped and isinstance(files, list) else None


@dataclass(frozen=True, slots=True)
class Programs:
    """`files` from `source` (member of the archive -> path on the node; the member is empty if the source is the
    program itself).

    `owner` is the component's name, `state_dir` the collection's folder on the node; `mark` makes this batch's names
    unique. `resource_version` is the required version resource of each program that has one: an archive's name proves
    nothing.
    """

    owner: str
    source: Source
    files: tuple[tuple[str, str], ...]
    state_dir: str
    mark: str
    resource_version: str = ""

    @property
    def label(self) -> str:
        """The first program's path."""
        return self.paths[0]

    @property
    def paths(self) -> tuple[str, ...]:
        """The programs' paths on the node."""
        return tuple(path for member, path in self.files)

    @property
    def receipt(self) -> str:
        """The receipt's path."""
        return receipt_of(self.state_dir, self.owner)

    @property
    def push_receipt(self) -> str:
        """The path of the record of a pushed build in the program's place."""
        return find_push_receipt(self.state_dir, self.owner)

    @property
    def staging(self) -> str:
        """The folder for this batch's downloads."""
        return staging(self.state_dir, self.label, f"{self.owner}-{self.mark}")

    @property
    def is_archive(self) -> bool:
        """Whether the source is an archive to unpack."""
        return bool(self.files[0][0])

    def reads(self) -> tuple[Query, ...]:
        """Each program with its hash, their folders, the receipt."""
        folders = {windows_path.key(windows_path.parent(path)): windows_path.parent(path) for path in self.paths}
        return (
            *(file_query(path, sha256=True) for path in self.paths),
            *(file_query(folder, entries=True) for folder in folders.values()),
            file_query(self.receipt, content_limit=RECEIPT_LIMIT, sha256=True),
            file_query(self.push_receipt, content_limit=RECEIPT_LIMIT, sha256=True),
        )

    def is_installed(self, reading: Reading) -> bool:
        """Whether the files on the node are provably this source's."""
        hashes = {path: reading.file(path).get("sha256") for path in self.paths}
        if not all(hashes.values()):
            return False
        if not self.is_archive and self.source.sha256 is not None:
            return hashes[self.label] == self.source.sha256
        recorded = self._read_receipt(reading)
        if recorded is None or not self.source.matches(recorded.get("source", {})):
            return False
        known = {windows_path.key(file["path"]): file["sha256"] for file in recorded.get("files", ())}
        return all(known.get(windows_path.key(path)) == sha256 for path, sha256 in hashes.items())

    def is_unproven(self, reading: Reading) -> bool:
        """Whether all files exist without a receipt: a node made by hand, which may have the same bytes."""
        return (
            self.is_archive
            and self._read_receipt(reading) is None
            and all(reading.file(path).get("exists") for path in self.paths)
        )

    def _read_receipt(self, reading: Reading) -> dict[str, Any] | None:
        return _receipt(reading, self.receipt)

    def stage(self) -> tuple[Op, ...]:
        """Download, verify and unpack in a folder of their own; files in use are not touched."""
        ops = list(make_staging(self.staging))
        target = windows_path.join(self.staging, "archive" if self.is_archive else windows_path.name(self.label))
        fetch: dict[str, Any] = {"url": self.source.url, "path": target, "sha256": self.source.sha256}
        fetch["max_bytes"] = PROGRAM_BYTES
        fetch["magic"] = [GZIP, ZIP] if self.is_archive else [PE]
        if self.source.proxy:
            fetch["proxy"] = self.source.proxy
        ops.append(Op("fetch", fetch))
        if self.is_archive:
            members = [{"from": member, "to": windows_path.name(path)} for member, path in self.files]
            unpack = {"archive": target, "destination": self.staging, "members": members, "max_bytes": PROGRAM_BYTES}
            ops.append(Op("unpack", unpack))
        if self.resource_version:
            wanted = {"for": "file", "version": self.resource_version, "timeout_s": 0}
            ops += [Op("wait", {**wanted, "path": self.locate_staged(path)}) for path in self.paths]
        return tuple(ops)

    def locate_staged(self, path: str) -> str:
        """The path where `stage` leaves the file that will become `path`."""
        return windows_path.join(self.staging, windows_path.name(path))

    def list_staged_queries(self) -> tuple[Query, ...]:
        """What to read after `stage` to find the files that differ."""
        return tuple(file_query(self.locate_staged(path), sha256=True) for path in self.paths)

    def change(self, reading: Reading) -> Change | None:
        """Bring in the programs: download first, then rename each old file aside and the new one into place.

        If the hashes of the staged files are in the reading (`list_staged_queries`), only files that differ are
        touched.
        """
        pushed = read_pushed_build(reading, self.push_receipt)
        if self.is_installed(reading) or (pushed is not None and self.source.keep_pushed):
            return None
        for path in self.paths:
            if reading.file(path).get("exists") and reading.file(path).get("kind") != "file":
                raise Refused(
                    f"{path} should be a program, but is a {reading.file(path).get('kind')}: move it away or choose "
                    "another path."
                )
        swaps = tuple(path for path in self.paths if not self._already(path, reading))
        aside = [(path, f"{path}.{self.mark}{LEFT_BEHIND}") for path in swaps if reading.file(path).get("exists")]
        commit: list[Op] = []
        if pushed is not None:
            # The person who pushed it may want it back.
            mine = {windows_path.key(path) for path in pushed.get("paths") or ()}
            kept = [(path, old) for path, old in aside if windows_path.key(path) in mine]
            commit += [rename_op(previous_path(path), old) for path, old in kept if _has_previous(path, reading)]
            aside = [(path, previous_path(path) if (path, old) in kept else old) for path, old in aside]
        for path, old in aside:
            commit.append(Op("move", {"from": path, "to": old}).with_undo(Op("move", {"from": old, "to": path})))
        for path in swaps:
            there_and_back = Op("move", {"from": path, "to": self.locate_staged(path)})
            commit.append(Op("move", {"from": self.locate_staged(path), "to": path}).with_undo(there_and_back))
        return Change(
            text=self._text(swaps) + (f", in place of the build that {pusher(pushed)}" if pushed else ""),
            before="".join(f"{path} {_short(reading.file(path).get('sha256'))}\n" for path in swaps),
            after=f"{self.owner} {self.source.version} from {mask(self.source.url)}"
            f" ({'sha256 ' + self.source.sha256 if self.source.sha256 else 'not verified'})\n"
            + "".join(f"{path} {self._after(path, reading)}\n" for path in swaps),
            prepare=(*self._sweep(reading), *(self.stage() if not self.is_staged(reading) else ())),
            commit=tuple(commit),
            finish=(self._record(reading), *drop_staging(self.staging)),
            touches=frozenset(file_key(path) for path in swaps),
            predicted=self._predict(),
            state=self.reads(),
        )

    def _text(self, swaps: tuple[str, ...]) -> str:
        if not swaps:
            return f"record where {self.owner} {self.source.version} came from (the files on the node are the same)"
        word = "" if self.source.sha256 else ", not verified"
        return f"install {self.owner} {self.source.version} from {mask(self.source.url)}{word}"

    def is_staged(self, reading: Reading) -> bool:
        """Whether the new files are on the node, ready for their rename."""
        return all(reading.parts.get(file_key(self.locate_staged(path)), {}).get("exists") for path in self.paths)

    def _already(self, path: str, reading: Reading) -> bool:
        staged = reading.parts.get(file_key(self.locate_staged(path)), {}).get("sha256")
        return staged is not None and staged == reading.file(path).get("sha256")

    def _after(self, path: str, reading: Reading) -> str:
        known = reading.parts.get(file_key(self.locate_staged(path)), {}).get("sha256")
        return _short(known) if known else f"of {self.owner} {self.source.version}"

    def _sweep(self, reading: Reading) -> tuple[Op, ...]:
        """Delete programs that earlier batches renamed aside; those still in use stay for a later batch."""
        found: dict[str, Op] = {}
        for path in self.paths:
            folder = windows_path.parent(path)
            for entry in reading.file(folder).get("entries") or ():
                if entry.startswith(windows_path.name(path) + ".") and entry.endswith(LEFT_BEHIND):
                    old = windows_path.join(folder, entry)
                    found[windows_path.key(old)] = Op("remove", {"path": old, "in_use_ok": True})
        return tuple(found.values())

    def _record(self, reading: Reading) -> Op:
        args: dict[str, Any] = {
            "path": self.receipt,
            "source": self.source.identity(),
            "files": list(self.paths),
        }
        content = reading.file(self.receipt).get("content")
        back = (
            Op("write", {"path": self.receipt, "content": content}) if content else Op("remove", {"path": self.receipt})
        )
        return Op("record", args).with_undo(back)

    def _predict(self) -> dict[str, Any]:
        known = self.source.sha256 if self.source.sha256 and not self.is_archive else _LATER
        after = {"exists": True, "kind": "file", "sha256": known}
        files = [{"path": path, "sha256": known} for path in self.paths]
        receipt = {"schema": 1, "source": self.source.identity(), "files": files}
        content = as_base64(json.dumps(receipt).encode())
        return {
            **{file_key(path): after for path in self.paths},
            file_key(self.receipt): {"exists": True, "kind": "file", "sha256": _LATER, "content": content},
        }


def _has_previous(path: str, reading: Reading) -> bool:
    entries = reading.file(windows_path.parent(path)).get("entries") or ()
    return previous_path(windows_path.name(path)).casefold() in {str(entry).casefold() for entry in entries}


def previous_path(destination: str) -> str:
    """Where the program before is kept."""
    return f"{destination}{PREVIOUS}"


def rename_op(source: str, target: str) -> Op:
    """A rename. A later batch deletes `target`, and an undo after that has nothing to restore."""
    return Op("move", {"from": source, "to": target}).with_undo(Op("restore", {"path": source, "backup": target}))


def _short(sha256: object) -> str:
    return f"sha256 {str(sha256)[:12]}" if sha256 else "absent"
