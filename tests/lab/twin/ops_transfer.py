"""fetch and unpack."""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urljoin

from tests.lab.machine.errors import WinError
from tests.lab.machine.network import Answer, NetworkError
from tests.lab.twin import dotnet
from tests.lab.twin.ops_files import NEW, refuse_odd_parents, rename_in
from tests.lab.twin.work import Args, OpError, OpRun, Work, retried

USER_AGENT = "winkube.node"
REDIRECTS = frozenset({301, 302, 303, 307, 308})


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def fetch(work: Work, args: Args) -> OpRun:
    yield 0.01
    url, path, drive = str(args["url"]), str(args["path"]), work.node.drive
    wanted = str(args["sha256"]).lower() if args.get("sha256") else None
    if wanted and drive.kind(path) == "file" and sha256(drive.read(path)) == wanted:
        return {"changed": False, "sha256": wanted}
    refuse_odd_parents(work, path)
    part = f"{path}.part"
    try:
        data = _local(work, url, args) if url.lower().startswith("file:") else _download(work, url, args)
        yield min(2.0, 0.2 + len(data) / 50e6)
        yield from retried(work, lambda: drive.write(part, data[: len(data) // 2], flush=False))
        work.seam("half")
        yield from retried(work, lambda: drive.write(part, data))
        _check(url, data, wanted, [str(item).lower() for item in args.get("magic") or []])
        work.seam("renaming")
        yield from rename_in(work, part, path)
    except (WinError, OpError) as error:
        if drive.kind(part) == "file":
            yield from retried(work, lambda: drive.delete(part))
        if isinstance(error, OpError):
            raise OpError(_without_secrets(str(error), url, str(args.get("proxy") or ""))) from error
        raise
    return {"changed": True, "sha256": sha256(data)}


def _without_secrets(text: str, *addresses: str) -> str:
    """What goes into the journal: no user, no query, of the addresses that were asked for."""
    for address in addresses:
        if address:
            told = re.sub(r"^([^:/]+://)?.*[^/]@", r"\1***@", address)
            text = text.replace(address, re.sub(r"[?;#].*$", "?***", told))
    return text


def _local(work: Work, url: str, args: Args) -> bytes:
    path = unquote(url.split(":", 1)[1].lstrip("/")).replace("/", "\\")
    source = dotnet.long_path(path)
    if not work.node.drive.is_file(source):
        raise OpError(f"{url}: there is no file {path} on the node.", url=url)
    data = work.node.drive.read(source)
    if args.get("max_bytes") and len(data) > int(args["max_bytes"]):
        raise OpError(f"{url}: wanted at most {args['max_bytes']} bytes, the file has {len(data)}.", url=url)
    return data


def _download(work: Work, url: str, args: Args) -> bytes:
    limit = int(args["max_bytes"]) if args.get("max_bytes") else None
    timeout = work.time_left(float(args.get("timeout_s") or 600))
    answer = _ask(work, url, min(timeout, 30.0), args.get("headers") or {}, args.get("proxy"), limit)
    announced = answer.headers.get("content-length")
    length = int(announced) if announced and announced.isdigit() else None
    if answer.status != 200:
        raise OpError(f"{url}: wanted status 200, found {answer.status}.", url=url, status=answer.status)
    if limit is not None and max(len(answer.body), length or 0) > limit:
        found = length if length is not None else f"more than {limit}"
        raise OpError(f"{url}: wanted at most {limit} bytes, found {found}.", url=url)
    if not answer.complete or (length is not None and len(answer.body) != length):
        raise OpError(f"{url}: wanted {length} bytes, found {len(answer.body)}: the download was cut short.", url=url)
    work.node.counters.add(work.node.counters.downloads, url, len(answer.body))
    return answer.body


def _ask(
    work: Work, url: str, timeout: float, headers: Mapping[str, str], proxy: str | None, limit: int | None
) -> Answer:
    address = url
    handler = dotnet.HttpClientHandler(work.node.framework)
    handler.use_proxy = bool(proxy)
    if proxy:
        handler.proxy = proxy
    sent = {"User-Agent": USER_AGENT, **headers}
    for _ in range(6):
        try:
            answer = work.node.network.get(
                address, timeout, sent, None if limit is None else limit + 1, proxy=handler.proxy
            )
        except NetworkError as error:
            raise OpError(f"{url}: {error}", url=url) from error
        location = answer.headers.get("location")
        if answer.status not in REDIRECTS or not location:
            return answer
        address = urljoin(address, location)
    raise OpError(f"{url}: more than 5 redirects.", url=url)


def _check(url: str, data: bytes, wanted: str | None, magic: list[str]) -> None:
    start = data[:8].hex()
    if magic and not any(data[: len(item) // 2].hex() == item for item in magic):
        shown = " (an HTML page)" if re.match(rb"\s*(<!doctype|<html)", data[:64], re.IGNORECASE) else ""
        raise OpError(f"{url}: wanted a file that begins with {' or '.join(magic)}, found {start}{shown}.", url=url)
    found = sha256(data)
    if wanted and found != wanted:
        raise OpError(f"{url}: wanted sha256 {wanted}, found {found} ({len(data)} bytes).", url=url, sha256=found)


@dataclass(frozen=True)
class Member:
    """An entry of an archive: data is None for what is no plain file."""

    name: str
    kind: str
    data: bytes | None


def _too_much(archive: str, most: int) -> str:
    return f"{archive} could not be unpacked: it holds more than {most} bytes"


def read_archive(archive: str, data: bytes, most: int = 0) -> list[Member]:
    """All entries of a zip or tar.gz, told by the first bytes. OpError when it is neither, or damaged, or if a tar has
    more than `most` bytes."""
    try:
        if data[:4] == b"PK\x03\x04":
            return _zip(data)
        if data[:2] == b"\x1f\x8b":
            unpacked = gunzip(data)
            if most and len(unpacked) > most:
                raise OpError(_too_much(archive, most), path=archive)
            return _tar(unpacked)
    except (EOFError, dotnet.InvalidDataError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise OpError(f"{archive} is damaged: {error}.", path=archive) from error
    raise OpError(f"{archive} is neither a zip nor a tar.gz: it begins with {data[:4].hex()}.", path=archive)


def _zip(data: bytes) -> list[Member]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        result = []
        for info in opened.infolist():
            link = (info.external_attr >> 16) & 0o170000 == 0o120000
            kind = "directory" if info.is_dir() else "link" if link else "file"
            result.append(Member(info.filename, kind, opened.read(info) if kind == "file" else None))
        return result


def gunzip(data: bytes) -> bytes:
    """All members of a gzip file. EOFError where one has no end."""
    made, at = bytearray(), 0
    while at < len(data):
        at = _behind_header(data, at)
        piece, stands = dotnet.deflate(data, at)
        made += piece
        at = _member_end(data, at, stands, len(piece))
    return bytes(made)


def _behind_header(data: bytes, at: int) -> int:
    """Source: RFC 1952."""
    head = data[at : at + 10]
    if len(head) < 10 or head[:3] != b"\x1f\x8b\x08" or head[3] > 31:
        raise EOFError("a gzip header of it is damaged")
    flags, at = head[3], at + 10
    if flags & 4:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
    for bit in (8, 16):
        if flags & bit:
            at = data.find(b"\0", at) + 1
            if at == 0:
                raise EOFError("it ends in the middle of a gzip header")
    return at + 2 if flags & 2 else at


def _member_end(data: bytes, start: int, stands: int, made: int) -> int:
    """Where the member ends: its last four bytes are the length of what it held, and a member or nothing follows."""
    size = (made % (1 << 32)).to_bytes(4, "little")
    window = max(start, stands - 65536)
    end = min(len(data), stands + 11)
    place = data.find(b"\x1f\x8b\x08", window + 8, end)
    while place >= 0:
        if data[place - 4 : place] == size:
            return place
        place = data.find(b"\x1f\x8b\x08", place + 1, end)
    # Only then: the member at the end may be another one, of the same length.
    if end == len(data) and end - window >= 8 and data[-4:] == size:
        return end
    raise EOFError("it is cut short, or something that is no gzip stands behind its data")


_KINDS: tuple[tuple[Callable[[tarfile.TarInfo], bool], str], ...] = (
    (tarfile.TarInfo.isdir, "directory"),
    (tarfile.TarInfo.isreg, "file"),
    (tarfile.TarInfo.issym, "link"),
    (tarfile.TarInfo.islnk, "link"),
)


def _tar(data: bytes) -> list[Member]:
    if not _has_end(data):
        raise EOFError("it has no end: it is cut short")
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        result = []
        for info in opened.getmembers():
            kind = next((kind for is_one, kind in _KINDS if is_one(info)), "special file")
            stream = opened.extractfile(info) if kind == "file" else None
            result.append(Member(info.name, kind, stream.read() if stream else None))
        return result


def _has_end(data: bytes) -> bool:
    """Whether a block of zeros ends the entries: what is cut at the border of two has none."""
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        opened.getmembers()
        return data[opened.offset : opened.offset + 512] == bytes(512)


def escapes(name: str) -> bool:
    """Whether a name leads out of the folder it is unpacked into."""
    text = name.replace("\\", "/")
    return text.startswith("/") or ".." in text.split("/") or bool(re.match(r"^[A-Za-z]:", text))


def unpack(work: Work, args: Args) -> OpRun:
    yield 0.1
    archive, destination, drive = str(args["archive"]), str(args["destination"]), work.node.drive
    most = int(args.get("max_bytes") or 0)
    entries = read_archive(archive, drive.read(archive), most)
    bad = next((entry.name for entry in entries if escapes(entry.name)), None)
    if bad is not None:
        raise OpError(
            f"{archive} is refused: its entry {bad!r} leads out of the folder it is unpacked into.", path=archive
        )
    chosen = [_choose(archive, entries, dict(member), destination) for member in args["members"]]
    refuse_odd_parents(work, f"{destination}\\x")
    if most and sum(len(data) for _path, data in chosen) > most:
        raise OpError(_too_much(archive, most), path=archive)
    waiting = [(path, data) for path, data in chosen if not (drive.kind(path) == "file" and drive.read(path) == data)]
    try:
        yield from _place(work, waiting)
    except (WinError, OpError):
        for path, _ in waiting:
            if drive.kind(path + NEW) == "file":
                drive.delete(path + NEW)
        raise
    return {"changed": bool(waiting)}


def _place(work: Work, waiting: list[tuple[str, bytes]]) -> Generator[float | None, None, None]:
    """All files beside their places first, then each renamed in."""
    for number, (path, data) in enumerate(waiting):
        work.node.drive.mkdir(work.node.drive.parent(path))
        if number == len(waiting) - 1:
            yield from _put(work, path, data[: len(data) // 2], flush=False)
            work.seam("half")
        yield from _put(work, path, data, flush=True)
        yield 0.05
    for number, (path, _) in enumerate(waiting):
        yield from _rename_in(work, path)
        if number == 0 and len(waiting) > 1:
            work.seam("renaming")


def _put(work: Work, path: str, data: bytes, flush: bool) -> Generator[float | None, None, None]:
    yield from retried(work, lambda: work.node.drive.write(path + NEW, data, flush=flush))


def _rename_in(work: Work, path: str) -> Generator[float | None, None, None]:
    yield from rename_in(work, path + NEW, path)


def _choose(archive: str, entries: list[Member], member: dict[str, str], destination: str) -> tuple[str, bytes]:
    wanted, target = str(member["from"]), str(member["to"])
    if escapes(target) or ":" in target or re.search(r"^$|[/\\ .]([/\\]|$)", target):
        raise OpError(
            f"{archive}: the member {wanted} is to go to {target!r}, which leads out of {destination}.", path=archive
        )
    found = next((entry for entry in entries if entry.name.removeprefix("./") == wanted.removeprefix("./")), None)
    if found is None:
        names = ", ".join(sorted(entry.name for entry in entries if entry.kind == "file")[:20])
        raise OpError(f"{archive} has no member {wanted}; it has {names}.", path=archive)
    if found.data is None:
        raise OpError(f"{archive}: the member {wanted} is a {found.kind}, not a file.", path=archive)
    return dotnet.long_path(f"{destination}\\{target.replace('/', chr(92))}"), found.data
