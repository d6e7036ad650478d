"""SFTP onto the simulated drive, with the path forms of OpenSSH for Windows: `/C:/folder/file`, and `C:\\folder\\file`.

Every method of asyncssh's SFTPServer that touches files is replaced: by default they work on the lab's own machine.
"""

from __future__ import annotations

import re
import stat as modes
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import asyncssh
from asyncssh.constants import (
    FILEXFER_TYPE_DIRECTORY,
    FILEXFER_TYPE_REGULAR,
    FILEXFER_TYPE_SYMLINK,
    FXF_APPEND,
    FXF_CREAT,
    FXF_EXCL,
    FXF_TRUNC,
    FXF_WRITE,
)
from asyncssh.sftp import SFTPAttrs, SFTPName

from tests.lab.machine.errors import WinError

if TYPE_CHECKING:
    from tests.lab.server.host import NodeHost

T = TypeVar("T")
_DRIVE = re.compile(r"^/?([A-Za-z]):(?:[/\\](.*))?$", re.DOTALL)
_KINDS = {
    "file": (FILEXFER_TYPE_REGULAR, modes.S_IFREG | 0o666),
    "directory": (FILEXFER_TYPE_DIRECTORY, modes.S_IFDIR | 0o777),
    "link": (FILEXFER_TYPE_SYMLINK, modes.S_IFLNK | 0o777),
}
_MISSING, _DENIED = (2, 3), (5, 32)


@dataclass
class OpenFile:
    """A file that a client has open; what it writes reaches the drive when it is closed."""

    path: str
    content: bytearray
    writable: bool
    append: bool = False
    changed: bool = False


def windows_path(path: str, home: str) -> str:
    """`/C:/a/b`, `C:\\a\\b`, `a/b` (below the home folder) -> `C:\\a\\b`."""
    match = _DRIVE.match(path)
    text = f"{match[1].upper()}:\\{match[2] or ''}" if match else f"{home}\\{path.lstrip('/')}"
    parts: list[str] = []
    for part in re.split(r"[/\\]+", text):
        if part == "..":
            parts = parts[:1] + parts[1:-1]
        elif part not in ("", "."):
            parts.append(part)
    return parts[0] + "\\" + "\\".join(parts[1:])


def sftp_path(path: str) -> str:
    """`C:\\a\\b` -> `/C:/a/b`."""
    return "/" + path.replace("\\", "/")


class DriveServer(asyncssh.SFTPServer):
    """One SFTP session of a node."""

    def __init__(self, channel: Any, host: NodeHost) -> None:
        super().__init__(channel)
        self._host = host
        self._drive = host.node.drive
        self._home = f"C:\\Users\\{channel.get_connection().get_extra_info('username')}"

    async def _do(self, work: Callable[[], T]) -> T:
        """Run work on the drive in the node's turn; Windows' errors become those of SFTP."""
        try:
            return await self._host.run(work)
        except WinError as error:
            if error.code in _MISSING:
                raise asyncssh.SFTPNoSuchFile(str(error)) from error
            if error.code in _DENIED:
                raise asyncssh.SFTPPermissionDenied(str(error)) from error
            raise asyncssh.SFTPFailure(str(error)) from error

    def _path(self, path: bytes) -> str:
        return windows_path(path.decode("utf-8", "surrogateescape"), self._home)

    # -- files ---------------------------------------------------------------------------------------------------

    async def open(self, path: bytes, pflags: int, attrs: SFTPAttrs) -> OpenFile:
        name = self._path(path)

        def work() -> OpenFile:
            kind, writable = self._drive.kind(name), bool(pflags & FXF_WRITE)
            if kind is None and not pflags & FXF_CREAT:
                raise WinError(2, name)
            if kind == "directory":
                raise WinError(5, name)
            if kind is not None and pflags & FXF_EXCL:
                raise WinError(183, name)
            empty = kind is None or bool(pflags & FXF_TRUNC)
            if writable and empty:
                self._drive.write(name, b"", closed=False)
            content = bytearray() if empty else bytearray(self._drive.read(name))
            return OpenFile(name, content, writable, append=bool(pflags & FXF_APPEND), changed=writable and empty)

        return await self._do(work)

    async def read(self, file_obj: OpenFile, offset: int, size: int) -> bytes:
        data = bytes(file_obj.content[offset : offset + size])
        self._host.count(bytes_out=len(data))
        return data

    async def write(self, file_obj: OpenFile, offset: int, data: bytes) -> int:
        if not file_obj.writable:
            raise asyncssh.SFTPPermissionDenied(f"{file_obj.path} is open for reading")
        start = len(file_obj.content) if file_obj.append else offset
        file_obj.content.extend(bytes(max(0, start - len(file_obj.content))))
        file_obj.content[start : start + len(data)] = data
        file_obj.changed = True
        self._host.count(bytes_in=len(data))
        return len(data)

    async def close(self, file_obj: OpenFile) -> None:
        await self._put(file_obj, closed=True)

    async def _put(self, file_obj: OpenFile, *, closed: bool) -> None:
        if file_obj.changed:
            content = bytes(file_obj.content)
            await self._do(lambda: self._drive.write(file_obj.path, content, opened=True, closed=closed))

    async def remove(self, path: bytes) -> None:
        name = self._path(path)
        await self._do(lambda: self._drive.delete(name))

    async def rename(self, oldpath: bytes, newpath: bytes) -> None:
        old, new = self._path(oldpath), self._path(newpath)
        await self._do(lambda: self._drive.rename(old, new))

    async def posix_rename(self, oldpath: bytes, newpath: bytes) -> None:
        old, new = self._path(oldpath), self._path(newpath)
        await self._do(lambda: self._drive.rename(old, new, replace=True))

    # -- attributes ----------------------------------------------------------------------------------------------

    def _attributes(self, name: str, follow: bool) -> SFTPAttrs:
        if self._drive.parts(name)[1:] == ():
            kind, size, written = "directory", 0, 0.0
            if name[:2] not in self._drive.volumes:
                raise WinError(3, name)
        else:
            found = self._drive.stat(name)
            if follow and found.kind == "link":
                found = self._drive.stat(self._drive.target(name))
            kind, size, written = found.kind, found.size, found.written
        code, permissions = _KINDS[kind]
        time = int(self._host.node.clock.utc(written).timestamp())
        return SFTPAttrs(type=code, permissions=permissions, size=size, uid=0, gid=0, atime=time, mtime=time, nlink=1)

    async def stat(self, path: bytes) -> SFTPAttrs:
        name = self._path(path)
        return await self._do(lambda: self._attributes(name, follow=True))

    async def lstat(self, path: bytes) -> SFTPAttrs:
        name = self._path(path)
        return await self._do(lambda: self._attributes(name, follow=False))

    async def fstat(self, file_obj: OpenFile) -> SFTPAttrs:
        attributes = await self._do(lambda: self._attributes(file_obj.path, follow=True))
        attributes.size = len(file_obj.content)
        return attributes

    async def setstat(self, path: bytes, attrs: SFTPAttrs) -> None:
        """Mode bits mean nothing on Windows; sshd there takes them and does nothing."""

    async def lsetstat(self, path: bytes, attrs: SFTPAttrs) -> None:
        """As setstat."""

    async def fsetstat(self, file_obj: OpenFile, attrs: SFTPAttrs) -> None:
        if attrs.size is not None:
            del file_obj.content[attrs.size :]
            file_obj.changed = True

    # -- folders -------------------------------------------------------------------------------------------------

    async def realpath(self, path: bytes) -> bytes:
        return sftp_path(self._path(path)).encode("utf-8", "surrogateescape")

    async def mkdir(self, path: bytes, attrs: SFTPAttrs) -> None:
        name = self._path(path)

        def work() -> None:
            if self._drive.exists(name):
                raise WinError(183, name)
            if not self._drive.is_dir(self._drive.parent(name)):
                raise WinError(3, name)
            self._drive.mkdir(name)

        await self._do(work)

    async def rmdir(self, path: bytes) -> None:
        await self.remove(path)

    async def scandir(self, path: bytes) -> AsyncIterator[SFTPName]:
        folder = self._path(path)
        separator = "" if folder.endswith("\\") else "\\"

        def work() -> list[tuple[str, SFTPAttrs]]:
            return [
                (name, self._attributes(f"{folder}{separator}{name}", False)) for name in self._drive.listdir(folder)
            ]

        for name, attributes in await self._do(work):
            # "-rw-rw-rw-    1 0        0               5 Nov 21 08:00 name", the form that clients expect.
            when = datetime.fromtimestamp(attributes.mtime or 0, UTC).strftime("%b %d %H:%M")
            mode = modes.filemode(attributes.permissions or 0)
            long = f"{mode}    1 0        0        {attributes.size or 0:8d} {when} {name}"
            yield SFTPName(name.encode(), long.encode(), attributes)

    # -- what Windows' sshd does not have, or nobody needs here ----------------------------------------------------

    def open56(self, path: bytes, desired_access: int, flags: int, attrs: SFTPAttrs) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("SFTP versions above 3 are not simulated")

    def readlink(self, path: bytes) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("links are not simulated over SFTP")

    def symlink(self, oldpath: bytes, newpath: bytes) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("links are not simulated over SFTP")

    def link(self, oldpath: bytes, newpath: bytes) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("links are not simulated over SFTP")

    def lock(self, file_obj: object, offset: int, length: int, flags: int) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("locks are not simulated over SFTP")

    def unlock(self, file_obj: object, offset: int, length: int) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("locks are not simulated over SFTP")

    def statvfs(self, path: bytes) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("file system figures are not simulated over SFTP")

    def fstatvfs(self, file_obj: object) -> NoReturn:
        raise asyncssh.SFTPOpUnsupported("file system figures are not simulated over SFTP")

    async def fsync(self, file_obj: OpenFile) -> None:
        await self._put(file_obj, closed=False)

    def exit(self) -> None:
        """Nothing is open on the drive itself."""
