"""What .NET does for a script where that is less than one would think: on .NET Framework (Windows PowerShell 5.1), and
on .NET (PowerShell 7) where that differs. Source: microsoft/referencesource and dotnet/runtime, at the files named."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tests.lab.machine.drive import LONG, Drive
from tests.lab.machine.errors import WinError
from tests.lab.machine.network import NetworkError
from tests.lab.machine.processes import overlaid

if TYPE_CHECKING:
    from tests.lab.machine.adapters import Adapter
    from tests.lab.machine.node import SimulatedNode

BUFFER = 8192
_PLAIN = re.compile(r"[A-Za-z]:\\")
_TURNS = re.compile(r"/|\\\.{1,2}(\\|$)")
"""What is taken as it is behind the mark."""


class InvalidDataError(Exception):
    """System.IO.InvalidDataException."""


class BareIOError(Exception):
    """An IOException whose HResult (0x80131620) names no Win32 error."""


class InvalidOperationError(Exception):
    """System.InvalidOperationException."""


def deflate(data: bytes, start: int) -> tuple[bytes, int]:
    """DeflateStream from `start` on: what it gives until it ends, and where the stream under it stands then.

    It reads in pieces of 8 KB, past its own end; data that is cut short just ends. Source: System/sys/system/IO/
    compression/DeflateStream.cs, Read; dotnet/runtime DeflateStream.cs without its strict validation.
    """
    made, at = bytearray(), start
    inflater = zlib.decompressobj(-15)
    while not inflater.eof and at < len(data):
        piece = data[at : at + BUFFER]
        at += len(piece)
        try:
            made += inflater.decompress(piece)
        except zlib.error as error:
            raise InvalidDataError(str(error)) from error
    return bytes(made), at


def delete_folder(drive: Drive, path: str) -> None:
    """Directory.Delete: access denied comes without its number. Source: mscorlib/system/io/directory.cs, DeleteHelper;
    FileSystem.Windows.cs, RemoveDirectoryInternal."""
    try:
        drive.delete(path)
    except WinError as error:
        if error.code == 5:
            raise BareIOError(f"Access to the path '{path}' is denied.") from error
        raise


def move_folder(node: SimulatedNode, source: str, destination: str) -> None:
    """Directory.Move: on one drive only; on .NET Framework not to the same name in other letters. Source:
    mscorlib/system/io/directory.cs, InternalMove."""
    if _root(source) != _root(destination):
        raise BareIOError("Source and destination path must have identical roots.")
    if node.framework and source.lower() == destination.lower():
        raise BareIOError("Source and destination path must be different.")
    node.drive.rename(source, destination)


def _root(path: str) -> str:
    """Path.GetPathRoot, by which the mark of a long path is a part of it."""
    return path[: len(LONG) * path.startswith(LONG) + 2].lower()


def move_file(drive: Drive, source: str, destination: str) -> None:
    """File.Move: on another drive it copies under the real name, then deletes. Source: Microsoft, MoveFile."""
    if source.removeprefix(LONG)[:2].lower() == destination.removeprefix(LONG)[:2].lower():
        drive.rename(source, destination)
        return
    drive.write(destination, drive.read(source), flush=False)
    drive.delete(source)


def long_path(path: str, length: int = 0) -> str:
    """The mark that lifts Windows' limit, which .NET puts before a path by itself, and .NET Framework does not.

    length: that of the longer one, where two paths have to be written alike.
    """
    long = max(len(path), length) >= 240
    return LONG + path if long and _PLAIN.match(path) and not _TURNS.search(path) else path


def process_environment(node: SimulatedNode, given: Mapping[str, str]) -> dict[str, str]:
    """ProcessStartInfo.EnvironmentVariables of this process, with what is given: .NET Framework throws for names that
    differ in case alone. Source: System/services/monitoring/system/diagnosticts/ProcessStartInfo.cs."""
    folded = {name.lower() for name in node.environment}
    if node.framework and len(folded) < len(node.environment):
        raise InvalidOperationError("Item has already been added.")
    return overlaid(node.environment, given)


class HttpClientHandler:
    """Source: System/net/System/Net/Http/HttpClientHandler.cs, Proxy: it throws while UseProxy is false."""

    def __init__(self, framework: bool) -> None:
        self._framework = framework
        self.use_proxy = True
        self._proxy: str | None = None

    @property
    def proxy(self) -> str | None:
        return self._proxy if self.use_proxy else None

    @proxy.setter
    def proxy(self, value: str | None) -> None:
        if self._framework and value is not None and not self.use_proxy:
            raise InvalidOperationError("Property 'UseProxy' must be set to 'true' in order to use this property.")
        self._proxy = value


def connect(node: SimulatedNode, host: str, port: int, timeout: float, family: str | None = None) -> None:
    """TcpClient(family).Connect: without a family IPv4 alone on .NET Framework. `family`: `4` or `6`.

    Source: System/net/System/Net/Sockets/TCPClient.cs, TcpClient(). NetworkError when nobody takes it.
    """
    only = family or ("4" if node.framework else None)
    if only is not None and node.network.family(host, port) != only:
        raise NetworkError("The address is incompatible with the requested protocol")
    node.network.connect(host, port, timeout)


def interfaces(node: SimulatedNode, patience_s: float = 0.0) -> list[Adapter]:
    """NetworkInterface.GetAllNetworkInterfaces, asked again for so long: one adapter that is half made spoils the list.
    One that is disabled, or has no IP (a NIC under a virtual switch), is not in it.

    NetworkError for it. Source: System/net/System/Net/NetworkInformation/SystemNetworkInterface.cs;
    SystemIPv4InterfaceProperties.cs, GetPerAdapterInfo.
    """
    if any(adapter.half_until > node.clock.now() + patience_s for adapter in node.adapters.all()):
        raise NetworkError("The system cannot find the file specified")
    return [adapter for adapter in node.adapters.all() if adapter.enabled and adapter.settings is not None]


def first_interface(node: SimulatedNode, names: Iterable[str]) -> Adapter | None:
    """The first of these that is listed; None also where they cannot be listed: who waits for one asks again."""
    try:
        listed = interfaces(node)
    except NetworkError:
        return None
    return next((one for name in names for one in listed if one.name.lower() == name.lower()), None)
