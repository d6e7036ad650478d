"""Small archives for the cases, made from their description so that nobody has to trust a binary in the repository."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from typing import Any


def archive(description: Mapping[str, Any]) -> bytes:
    """A description (README.md) -> bytes.

    `{archive: zip|tar.gz, members: {name: text}, links: {name: target}, folders: [name], format: ustar|gnu|pax}`;
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
    formats = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=formats[description.get("format") or "ustar"]) as made:
        for name in description.get("folders") or []:
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE
            made.addfile(info)
        for name, content in (description.get("members") or {}).items():
            info = tarfile.TarInfo(name)
            info.size = len(str(content).encode())
            made.addfile(info, io.BytesIO(str(content).encode()))
        for name, target in (description.get("links") or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, str(target)
            made.addfile(info)
    data = out.getvalue()[: len(out.getvalue()) - int(description.get("short") or 0)]
    step = int(description.get("members_of") or len(data))
    return b"".join(gzip.compress(data[at : at + step], mtime=0) for at in range(0, len(data), step))
