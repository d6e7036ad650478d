"""The ops that make, move and remove files and folders."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Generator

from tests.lab.machine.drive import Drive
from tests.lab.machine.errors import WinError
from tests.lab.twin import dotnet
from tests.lab.twin.work import Args, OpError, OpRun, Work, retried

REMOVE_S = 30.0
NEW = ".winkube-new"
OLD = ".winkube-old"
INVALID_OWNER = 1307
WHOLE = re.compile(r"^([A-Za-z]:[\\/]|[\\/][\\/][^\\/])")


def refuse_odd_parents(work: Work, path: str) -> None:
    """A file or a reparse point among the folders above `path` is an error."""
    pieces = Drive.parts(path)
    for count in range(2, len(pieces)):  # From 2: the root of a drive is never a link, whatever its attributes.
        part = dotnet.long_path("\\".join(pieces[:count]))
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


def clear_replaced(drive: Drive, path: str) -> None:
    """The old content that a cut replacement has left gets its name back if nothing has it, else it goes."""
    old = path + OLD
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
    clear_replaced(drive, path)
    keep = drive.sddl(path) if drive.kind(path) == "file" else None
    if data:
        yield from retried(work, lambda: drive.write(new, data[: max(1, len(data) // 2)], flush=False))
        work.seam("half")
    try:
        yield from retried(work, lambda: drive.write(new, data))
        if sddl or keep:
            set_sddl(work, new, sddl or keep or "")
        work.seam("renaming")
        yield from rename_in(work, new, path)
    except (WinError, OpError):
        drop_new(work, path)
        raise


def rename_in(work: Work, new: str, path: str) -> Generator[float | None, None, None]:
    """A finished file to its real name, over what is there, read-only or not."""
    drive = work.node.drive

    def replace() -> None:
        if drive.kind(path) == "file" and drive.is_read_only(path):
            drive.set_read_only(path, False)
        drive.rename(new, path, replace=True)

    yield from retried(work, replace)


def drop_new(work: Work, path: str) -> None:
    if work.node.drive.kind(path + NEW) == "file":
        work.node.drive.delete(path + NEW)


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


def whole(path: str) -> str:
    """The path as Windows writes it. OpError for one that is relative: `C:` alone is the drive's current folder."""
    if not WHOLE.match(path):
        raise OpError(f"{path!r} is no absolute path; write it with its drive, as C:\\k\\kubelet.exe.", path=path)
    return Drive.normal(path)


def move(work: Work, args: Args) -> OpRun:
    yield 0.01
    source, target, drive = whole(str(args["from"])), whole(str(args["to"])), work.node.drive
    if source.lower() == target.lower():
        return {"changed": (yield from _rename_case(work, target))}
    stays = drive.parent(source).lower() == drive.parent(target).lower()
    across = source[:2].lower() != target[:2].lower()
    length = max(len(source), len(target))
    source, target = dotnet.long_path(source, length), dotnet.long_path(target, length)
    there, taken = drive.kind(source) is not None, drive.kind(target) is not None
    if not there and taken:
        if not stays:
            inherit(work, target)
        return {"changed": False}
    if not there:
        raise OpError(f"{source} does not exist, and neither does {target}.", path=source)
    files = drive.kind(source) == drive.kind(target) == "file"
    if across and files and drive.read(source) == drive.read(target):
        # It was cut when it had been copied, and not yet deleted.
        yield from retried(work, lambda: drive.delete(source))
        return {"changed": True}
    if taken:
        raise OpError(f"{target} exists already; {source} is not moved over it.", path=target)
    refuse_odd_parents(work, target)
    drive.mkdir(drive.parent(target))
    if across:
        yield from _move_across(work, source, target)
        return {"changed": True}
    work.seam("renaming")
    if drive.kind(source) == "directory":
        yield from retried(work, lambda: dotnet.move_folder(work.node, source, target))
    else:
        yield from retried(work, lambda: dotnet.move_file(drive, source, target))
    work.seam("renamed")
    if not stays:
        inherit(work, target)
    return {"changed": True}


def inherit(work: Work, path: str) -> None:
    """What the folder hands on now, in place of what the file has inherited where it lay: a rename keeps that."""
    work.node.drive.set_security(path, lambda security: security)


def _rename_case(work: Work, target: str) -> Generator[float | None, None, bool]:
    """Whether it had other letters. A folder goes by way of a third name."""
    drive, length = work.node.drive, len(target + NEW)
    target, between = dotnet.long_path(target, length), dotnet.long_path(target + NEW)
    name = Drive.name(target)
    there = drive.kind(target) is not None
    if there and drive.name_of(target) == name:
        return False
    if not there and drive.kind(between) != "directory":
        raise OpError(f"{target} does not exist.", path=target)
    if there and drive.kind(target) != "directory":
        work.seam("renaming")
        yield from retried(work, lambda: dotnet.move_file(drive, target, target))
        return True
    if there:
        yield from retried(work, lambda: dotnet.move_folder(work.node, target, between))
    work.seam("renaming")
    yield from retried(work, lambda: dotnet.move_folder(work.node, between, target))
    return True


def _move_across(work: Work, source: str, target: str) -> Generator[float | None, None, None]:
    """To another drive: copied beside its place, renamed in, then deleted where it was."""
    drive, new = work.node.drive, target + NEW
    if drive.kind(source) != "file":
        raise OpError(f"{source} is no plain file, and {target} is on another drive; only files are moved there.")
    data = yield from retried(work, lambda: drive.read(source))
    try:
        yield from retried(work, lambda: drive.write(new, data[: len(data) // 2], flush=False))
        work.seam("half")
        yield from retried(work, lambda: drive.write(new, data))
        # Its own entries go with it; what it has inherited is the new folder's to give.
        set_sddl(work, new, drive.sddl(source))
        yield from retried(work, lambda: drive.rename(new, target))
    except WinError:
        drop_new(work, target)
        raise
    work.seam("copied")
    yield from retried(work, lambda: drive.delete(source))


def remove(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, drive = whole(str(args["path"])), work.node.drive
    if len(Drive.parts(path)) == 1:
        raise OpError(f"{path} is the root of a drive; it is not removed.", path=path)
    path = dotnet.long_path(path)
    kind = drive.kind(path)
    if kind is None:
        return {"changed": False}
    filled = kind == "directory" and bool(drive.listdir(path))
    if filled and args.get("only_if_empty"):
        return {"changed": False, "left": True}
    if filled and not args.get("recurse"):
        raise OpError(f"{path} is a folder that is not empty, and recurse is not set.", path=path)
    work.seam("removing")
    left, budget = False, [REMOVE_S]
    if filled:
        left = yield from _remove_below(work, path, bool(args.get("in_use_ok")), budget)
        work.seam("half")
    if not left:
        left = yield from _remove_one(work, path, bool(args.get("in_use_ok")), budget)
    return {"changed": True, "left": True} if left else {"changed": True}


def _remove_below(work: Work, path: str, in_use_ok: bool, budget: list[float]) -> Generator[float | None, None, bool]:
    drive, left = work.node.drive, False
    for name in drive.listdir(path):
        child = dotnet.long_path(f"{path}\\{name}")
        kept = drive.kind(child) == "directory" and (yield from _remove_below(work, child, in_use_ok, budget))
        if not kept:
            kept = yield from _remove_one(work, child, in_use_ok, budget)
        left = left or kept
    return left


def _remove_one(work: Work, path: str, in_use_ok: bool, budget: list[float]) -> Generator[float | None, None, bool]:
    """Whether it is still there, which only `in_use_ok` allows. budget: seconds left for all entries together."""
    work.time_left(1.0)
    begun = work.node.clock.now()
    try:
        yield from retried(work, lambda: _delete(work, path), budget[0])
    except WinError as error:
        if in_use_ok and error.code in {5, 32, 145}:
            return True
        raise
    finally:
        budget[0] -= work.node.clock.now() - begun
    return False


def _delete(work: Work, path: str) -> None:
    drive = work.node.drive
    if drive.is_read_only(path):
        drive.set_read_only(path, False)
    if drive.kind(path) != "directory":
        drive.delete(path)
        return
    try:
        dotnet.delete_folder(drive, path)
    except dotnet.BareIOError as error:
        raise WinError(5, path) from error


def record(work: Work, args: Args) -> OpRun:
    yield 0.01
    path, drive = str(args["path"]), work.node.drive
    files = [
        {"path": str(name), "sha256": hashlib.sha256(drive.read(dotnet.long_path(str(name)))).hexdigest()}
        for name in args["files"]
    ]
    text = json.dumps({"schema": 1, "source": args["source"], "files": files}).encode()
    if drive.kind(path) == "file" and drive.read(path) == text:
        return {"changed": False}
    drive.mkdir(drive.parent(path))
    yield from replace_file(work, path, text, None)
    return {"changed": True}
