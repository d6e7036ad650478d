"""Small archives for the cases, made from their description so that nobody has to trust a binary in the repository."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any


def archive(description: Mapping[str, Any]) -> bytes:
    """A description (README.md) -> bytes.

    `{archive: zip|tar.gz, members: {name: text}, links: {name: target}, folders: [name], format: ustar|gnu|pax}`;
    of a tar.gz also `special: [name]` (FIFOs), `comment: text` (for all entries, pax), `sizes: binary|pax` (how the
    sizes of members are written; else octal), `damaged: n` (byte n of the tar is another), and
    `packed: {extra: text, name: text, comment: text, sum: true, text: true}` (what the header of gzip says);
    `cut: n` leaves out the last n bytes; `members_of: n` packs n bytes at a time, each a gzip member of its own;
    `behind: text` puts something behind it all; `torn: true` damages a zip's list of members;
    `short: n` leaves out the last n bytes of the tar before it is packed.
    """
    kind = description["archive"]
    data = _zip(description) if kind == "zip" else _tar(description)
    if description.get("torn"):
        data = data.replace(b"PK\x01\x02", b"PK\x01\xff")
    return data[: len(data) - int(description.get("cut") or 0)] + str(description.get("behind") or "").encode()


def _zip(description: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for name in description.get("folders") or []:
            made.writestr(zipfile.ZipInfo(f"{name}/"), b"")
        for name, content in (description.get("members") or {}).items():
            made.writestr(zipfile.ZipInfo(name), str(content))
        for name, target in (description.get("links") or {}).items():
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = 0o120777 << 16
            made.writestr(info, str(target))
    return out.getvalue()


def _tar(description: Mapping[str, Any]) -> bytes:
    records = {"comment": str(description["comment"])} if "comment" in description else None
    formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    out = io.BytesIO()
    with tarfile.open(
        fileobj=out, mode="w", format=formats[description.get("format") or "ustar"], pax_headers=records
    ) as made:
        for kind, entry_type in (("folders", tarfile.DIRTYPE), ("special", tarfile.FIFOTYPE)):
            for name in description.get(kind) or []:
                info = tarfile.TarInfo(name)
                info.type = entry_type
                made.addfile(info)
        for name, content in (description.get("members") or {}).items():
            info = tarfile.TarInfo(name)
            info.size = len(str(content).encode())
            if description.get("sizes") == "pax":
                info.pax_headers = {"size": str(info.size)}
            made.addfile(info, io.BytesIO(str(content).encode()))
        for name, target in (description.get("links") or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, str(target)
            made.addfile(info)
    data = _other_sizes(out.getvalue(), str(description.get("sizes") or ""))
    if (damaged := description.get("damaged")) is not None:
        data = data[:damaged] + b"\xff" + data[damaged + 1 :]
    data = data[: len(data) - int(description.get("short") or 0)]
    step = int(description.get("members_of") or len(data))
    pieces = (gzip.compress(data[at : at + step], mtime=0) for at in range(0, len(data), step))
    return b"".join(_headed(piece, description.get("packed") or {}) for piece in pieces)


def _other_sizes(data: bytes, form: str) -> bytes:
    """The headers of files with their sizes in binary, as GNU tar writes those from 8 GB on, or with none at all."""
    if not form:
        return data
    made = bytearray(data)
    with tarfile.open(fileobj=io.BytesIO(data)) as opened:
        entries = [(info.offset_data - 512, info.size) for info in opened.getmembers() if info.isreg()]
    for start, size in entries:
        field = b"\x80" + size.to_bytes(11, "big") if form == "binary" else b"00000000000\0"
        made[start + 124 : start + 136] = field
        made[start + 148 : start + 156] = b" " * 8
        made[start + 148 : start + 156] = b"%06o\0 " % sum(made[start : start + 512])
    return bytes(made)


def _headed(packed: bytes, said: Mapping[str, Any]) -> bytes:
    """A gzip member, with what its header says; by RFC 1952."""
    flags, more = 0, b""
    if "text" in said:
        flags |= 1
    if "extra" in said:
        flags |= 4
        more += len(str(said["extra"])).to_bytes(2, "little") + str(said["extra"]).encode()
    for bit, name in ((8, "name"), (16, "comment")):
        if name in said:
            flags |= bit
            more += str(said[name]).encode() + b"\0"
    head = packed[:3] + bytes([flags]) + packed[4:10] + more
    if "sum" in said:
        head = head[:3] + bytes([flags | 2]) + head[4:]
        head += (zlib.crc32(head) & 0xFFFF).to_bytes(2, "little")
    return head + packed[10:]
