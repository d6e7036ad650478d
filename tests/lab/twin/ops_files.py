"""The ops that make, move and remove files and folders."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Generator

from tests.lab.machine.drive import Drive
from tests.lab.machine.errors import WinError
from tests.lab.twin.work import Args, OpError, OpRun, Work, retried

NEW = ".winkube-new"
OLD = ".winkube-old"
INVALID_OWNER = 1307


def refuse_odd_parents(work: Work, path: str) -> None:
    """A file or a reparse point among the folders above `path` is an error."""
    pieces = Drive.parts(path)
    for count in range(2, len(pieces)):
        part = "\\".join(pieces[:count])
        kind = work.node.drive.kind(part)
        if kind in {"file", "link"}:
            raise OpError(f"{part} is a {'file' if kind == 'file' else 'reparse point'}, not a folder.", path=part)


def set_sddl(work: Work, path: str, sddl: str) -> bool:
    """Sets owner and access list if they differ; whether they did."""
    drive = work.node.drive
    before = drive.sddl(path)
    try:
        try:
            drive.set_sddl(path, sddl)
        except WinError as error:
            if error.code != INVALID_OWNER:
                raise
            # As icacls.exe /setowner does it.
            drive.set_sddl(path, sddl, restore_privilege=True)
    except ValueError as error:
        raise OpError(f"{path}: {error}") from error
    return drive.sddl(path) != before


def clear_replaced(work: Work, path: str) -> None:
    """The old content that a cut replacement has left gets its name back if nothing has it, else it goes."""
    drive, old = work.node.drive, path + OLD
    if drive.kind(old) != "file":
        return
    if drive.kind(path) is None:
        drive.rename(old, path)
    else:
        drive.delete(old)


def mkdir(work: Work, args: Args) -> OpRun:
    yield 0.01
    path = str(args["path"])
    drive = work.node.drive
    refuse_odd_parents(work, path)
    kind = drive.kind(path)
    if kind in {"file", "link"}:
        raise OpError(f"{path} is a {'file' if kind == 'file' else 'reparse point'}, not a folder.", path=path)
    changed = kind is None
    if changed:
        drive.mkdir(path)
    work.seam("made")
    if args.get("sddl"):
        changed = set_sddl(work, path, str(args["sddl"])) or changed
    return {"changed": changed}


def replace_file(work: Work, path: str, data: bytes, sddl: str | None) -> Generator[float | None, None, None]:
    """`data` under `path`: written beside it, flushed, renamed in. An existing file's access list is kept."""
    drive, new = work.node.drive, path + NEW
    clear_replaced(work, path)
    keep = drive.sddl(path) if drive.kind(path) == "file" else None
    if data:
        yield from retried(work, lambda: drive.write(new, data[: max(1, len(data) // 2)], flush=False))
        work.seam("half")
    try:
        yield from retried(work, lambda: drive.write(new, data))
        if sddl or keep:
            set_sddl(work, new, sddl or keep or "")
        work.seam("renaming")
        yield from retried(work, lambda: drive.rename(new, path, replace=True))
    except (WinError, OpError):
        drop_new(work, path)
        raise


def drop_new(work: Work, path: str) -> None:
    for leftover in (path + NEW,):
        if work.node.drive.kind(leftover) == "file":
            work.node.drive.delete(leftover)


def write(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, drive = str(args["path"]), work.node.drive
    data = base64.b64decode(args["content"])
    sddl = str(args["sddl"]) if args.get("sddl") else None
    kind = drive.kind(path)
    if kind in {"directory", "link"}:
        raise OpError(f"{path} is a {'folder' if kind == 'directory' else 'reparse point'}, not a file.", path=path)
    if kind == "file" and (yield from retried(work, lambda: drive.read(path))) == data:
        return {"changed": set_sddl(work, path, sddl) if sddl else False}
    backup = str(args["backup"]) if args.get("backup") else None
    if backup and kind == "file" and drive.kind(backup) is None:
        yield from keep_copy(work, path, backup)
        work.seam("copied")
    yield from replace_file(work, path, data, sddl)
    return {"changed": True}


def keep_copy(work: Work, path: str, backup: str) -> Generator[float | None, None, None]:
    """The file with its access list under another name, which appears only when it is whole."""
    drive = work.node.drive
    drive.mkdir(drive.parent(backup))
    old = yield from retried(work, lambda: drive.read(path))
    drive.write(backup + NEW, old)
    set_sddl(work, backup + NEW, drive.sddl(path))
    drive.rename(backup + NEW, backup, replace=True)


def restore(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, backup, drive = str(args["path"]), str(args["backup"]), work.node.drive
    if drive.kind(backup) is None:
        return {"changed": False}
    if drive.kind(path) in {"directory", "link"}:
        raise OpError(f"{path} is no file any more; {backup} is not put over it.", path=path)
    data = yield from retried(work, lambda: drive.read(backup))
    # Copied beside its place rather than moved: a moved file would keep what it inherited from the backup's folder.
    yield from replace_file(work, path, data, drive.sddl(backup))
    work.seam("restored")
    yield from retried(work, lambda: drive.delete(backup))
    return {"changed": True}


def move(work: Work, args: Args) -> OpRun:
    yield 0.01
    source, target, drive = str(args["from"]), str(args["to"]), work.node.drive
    there, taken = drive.kind(source) is not None, drive.kind(target) is not None
    if not there and taken:
        return {"changed": False}
    if not there:
        raise OpError(f"{source} does not exist, and neither does {target}.", path=source)
    same = source.lower() == target.lower()
    if taken and not same:
        raise OpError(f"{target} exists already; {source} is not moved over it.", path=target)
    refuse_odd_parents(work, target)
    drive.mkdir(drive.parent(target))
    work.seam("renaming")
    yield from retried(work, lambda: drive.rename(source, target))
    return {"changed": True}


def remove(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, drive = str(args["path"]), work.node.drive
    kind = drive.kind(path)
    if kind is None:
        return {"changed": False}
    filled = kind == "directory" and bool(drive.listdir(path))
    if filled and args.get("only_if_empty"):
        return {"changed": False, "left": True}
    if filled and not args.get("recurse"):
        raise OpError(f"{path} is a folder that is not empty, and recurse is not set.", path=path)
    work.seam("removing")
    left = False
    if filled:
        left = yield from _remove_below(work, path, bool(args.get("in_use_ok")))
        work.seam("half")
    if not left:
        left = yield from _remove_one(work, path, bool(args.get("in_use_ok")))
    return {"changed": True, "left": True} if left else {"changed": True}


def _remove_below(work: Work, path: str, in_use_ok: bool) -> Generator[float | None, None, bool]:
    drive, left = work.node.drive, False
    for name in drive.listdir(path):
        child = f"{path}\\{name}"
        kept = drive.kind(child) == "directory" and (yield from _remove_below(work, child, in_use_ok))
        if not kept:
            kept = yield from _remove_one(work, child, in_use_ok)
        left = left or kept
    return left


def _remove_one(work: Work, path: str, in_use_ok: bool) -> Generator[float | None, None, bool]:
    """Whether it is still there, which only `in_use_ok` allows."""
    try:
        yield from retried(work, lambda: work.node.drive.delete(path))
    except WinError as error:
        if in_use_ok and error.code in {5, 32}:
            return True
        raise
    return False


def record(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, drive = str(args["path"]), work.node.drive
    files = [{"path": str(name), "sha256": hashlib.sha256(drive.read(str(name))).hexdigest()} for name in args["files"]]
    text = json.dumps({"schema": 1, "source": args["source"], "files": files}).encode()
    if drive.kind(path) == "file" and drive.read(path) == text:
        return {"changed": False}
    drive.mkdir(drive.parent(path))
    yield from replace_file(work, path, text, None)
    return {"changed": True}
