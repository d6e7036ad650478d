"""assemble: a file out of one that is there and a delta. Source: docs/protocol.md, sections 2 and 5."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator

from tests.lab.machine.errors import WinError
from tests.lab.twin.ops_files import refuse_odd_parents, rename_in
from tests.lab.twin.work import Args, OpError, OpRun, Work, retried

HEAD = 13
LITERAL, COPY, ADD = 1, 2, 3
LONGEST = 1 << 20


def assemble(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, wanted, size, drive = str(args["path"]), str(args["sha256"]).lower(), int(args["size"]), work.node.drive
    kind = drive.kind(path)
    if kind in {"directory", "link"}:
        raise OpError(f"{path} is a {'folder' if kind == 'directory' else 'reparse point'}, not a file.", path=path)
    if kind == "file" and hashlib.sha256(drive.read(path)).hexdigest() == wanted:
        return {"changed": False, "sha256": wanted}
    base_path = str(args["base"]) if args.get("base") else None
    base = _base(work, base_path, str(args.get("base_sha256") or "").lower()) if base_path else None
    refuse_odd_parents(work, path)
    made = bytearray()
    for part in args["delta"]:
        work.time_left(1)
        _play(_unpacked(work, str(part)), str(part), base_path, base, size, made)
        yield 0.05
    data, fresh = bytes(made), f"{path}.part"
    drive.mkdir(drive.parent(path))
    try:
        yield from retried(work, lambda: drive.write(fresh, data[: len(data) // 2], flush=False))
        work.seam("half")
        yield from retried(work, lambda: drive.write(fresh, data))
        if len(data) != size:
            raise OpError(f"{path}: wanted {size} bytes, the delta makes {len(data)}.", path=path)
        found = hashlib.sha256(data).hexdigest()
        if found != wanted:
            raise OpError(f"{path}: wanted sha256 {wanted}, found {found}.", path=path)
        yield 0.2 + len(data) / 100e6
        work.seam("renaming")
        yield from rename_in(work, fresh, path)
    except (WinError, OpError):
        if drive.kind(fresh) == "file":
            yield from retried(work, lambda: drive.delete(fresh))
        raise
    return {"changed": True, "sha256": wanted, "bytes": size}


def _base(work: Work, path: str, sha256: str) -> bytes:
    if work.node.drive.kind(path) != "file":
        raise OpError(f"The base {path} is not there.", path=path)
    data = work.node.drive.read(path)
    found = hashlib.sha256(data).hexdigest()
    if sha256 and found != sha256:
        raise OpError(
            f"The base {path} is not what the delta was made from: wanted sha256 {sha256}, found {found}.", path=path
        )
    return data


def _unpacked(work: Work, part: str) -> bytes:
    if work.node.drive.kind(part) != "file":
        raise OpError(f"The part of the delta {part} is not there.", path=part)
    try:
        return gzip.decompress(work.node.drive.read(part))
    except (OSError, EOFError, zlib.error) as error:
        raise OpError(f"{part}: {error}", path=part) from error


def _instructions(data: bytes, part: str) -> Iterator[tuple[int, int, int, bytes]]:
    """(kind, offset, length, the bytes behind the head)."""
    at = 0
    while at < len(data):
        if at + HEAD > len(data):
            raise OpError(f"{part} is cut short in the middle of an instruction.", path=part)
        kind = data[at]
        offset = int.from_bytes(data[at + 1 : at + 9], "little", signed=True)
        length = int.from_bytes(data[at + 9 : at + HEAD], "little", signed=True)
        at += HEAD
        if kind not in {LITERAL, COPY, ADD} or length < 0 or offset < 0 or (kind != COPY and length > LONGEST):
            raise OpError(f"{part} is no delta: kind {kind}, offset {offset}, length {length}.", path=part)
        carried = b"" if kind == COPY else data[at : at + length]
        if kind != COPY and len(carried) != length:
            raise OpError(f"{part} is cut short: wanted {length} bytes, found {len(carried)}.", path=part)
        at += len(carried)
        yield kind, offset, length, carried


def _play(data: bytes, part: str, base_path: str | None, base: bytes | None, size: int, made: bytearray) -> None:
    for kind, offset, length, carried in _instructions(data, part):
        if len(made) + length > size:
            raise OpError(f"{part} makes more than the {size} bytes that are wanted.", path=part)
        if kind == LITERAL:
            made += carried
            continue
        if base is None:
            raise OpError(f"{part} wants bytes of a base, and none is named.", path=part)
        if offset + length > len(base):
            raise OpError(f"{base_path} ends before byte {offset + length}, which the delta wants of it.", path=part)
        there = base[offset : offset + length]
        if kind == ADD:
            total = int.from_bytes(there, "little") + int.from_bytes(carried, "little")
            there = (total & ((1 << 8 * length) - 1)).to_bytes(length, "little")
        made += there
