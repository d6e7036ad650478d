"""exec in a HostProcess pod: the program runs on the pod's machine, as SYSTEM, and the connection ends with what it
passes through: the machine's network, its kubelet, its containerd.

Which programs are found: the base image leaves PATH empty, so those with a full path, and others where the pod sets
PATH. Standard input is read as the program would: PowerShell itself reads all of it for `$input`, to its end, which
v4.channel.k8s.io never tells; with -InputFormat None it is left to the script.

Where Windows can bind folders (bindfltapi.dll: Windows Server 2022), the shim starts each program by `cmd /c`, and cmd
takes no longer line than its own limit. Source: hcsshim internal/jobcontainers/jobcontainer.go, CreateProcess.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from tests.lab.cluster.websocket import STDERR, STDOUT, Channels
from tests.lab.machine.errors import NotSimulated, PowerLost, SessionKilled, WinError

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode
    from tests.lab.machine.session import Reply

Object = dict[str, Any]
POWERSHELL = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
CMD_LIMIT = 8191
"""Characters of a line of cmd.exe. Source: learn.microsoft.com, Command prompt line string limitation."""
LINE_LIMIT = 32767
"""Of CreateProcess. Source: learn.microsoft.com, CreateProcessW, lpCommandLine."""
BINDS_FROM = 20348
"""The build of Windows from which folders can be bound; before, the image is mounted elsewhere on C: and a program is
started without cmd."""
_SERVICES = ("kubelet", "containerd")
_WRITES = re.compile(
    r"\[IO\.File\]::WriteAllText\(\[IO\.Path\]::Combine\(\[Environment\]::GetEnvironmentVariable\("
    r"'CONTAINER_SANDBOX_MOUNT_POINT'\), '[\w-]+'\), \[string\]\[DateTime\]::UtcNow\.Ticks\)"
)
_TAKES = re.compile(r"New-Object byte\[\] (?P<bytes>[0-9]+)")


@runtime_checkable
class Inside(Protocol):
    """A NodeHost: a machine on which programs run without a remote session."""

    @property
    def node(self) -> SimulatedNode: ...

    def inside(self, command: str, stdin: bytes) -> Reply:
        """Run a command line at the machine itself, as SYSTEM. PowerLost."""
        ...

    def reads_stdin(self, command: str) -> bool:
        """Whether the command reads its standard input to its end."""
        ...


def is_host_process(pod: Object) -> bool:
    spec = pod.get("spec") or {}
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    return bool(options.get("hostProcess") and spec.get("hostNetwork"))


@dataclass(frozen=True)
class Ended:
    """The answer, or none: the connection was cut on its way."""

    code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    why: str = ""
    """The program could not be started."""


def serve(host: Inside, pod: Object, argv: list[str], channels: Channels) -> bool:
    """Run the program and answer. False when nobody answers any more: the connection is to be dropped."""
    cuts: list[bool] = []
    node = host.node
    node.on_cut.append(cuts.append)
    before = _pids(node)
    try:
        ended = _run(host, pod, argv, channels)
    except (SessionKilled, PowerLost):
        return False
    finally:
        node.on_cut.remove(cuts.append)
    if ended is None or cuts or _pids(node) != before:
        return False
    for channel, data in ((STDOUT, ended.stdout), (STDERR, ended.stderr)):
        if data:
            channels.say(channel, data)
    channels.end(None if ended.why else ended.code, ended.why)
    return True


def _pids(node: SimulatedNode) -> list[int]:
    with node.lock:
        return [node.services.runtime(name).pid for name in _SERVICES if node.services.state(name) is not None]


def _run(host: Inside, pod: Object, argv: list[str], channels: Channels) -> Ended | None:
    container = pod["spec"]["containers"][0]
    if (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        return Ended(why=f"cannot exec in a stopped container of pod {pod['metadata']['name']}")
    path = next((item["value"] for item in container.get("env") or [] if item["name"].upper() == "PATH"), "")
    if "\\" not in argv[0] and not path:
        why = f'error executing command in container: "{argv[0]}": The system cannot find the file specified.'
        return Ended(why=why)
    if "\\" in argv[0] and argv[0][1:3] != ":\\":
        why = f'error executing command in container: "{argv[0]}" is not below the container\'s mount point.'
        return Ended(why=why)
    binds = host.node.release.build >= BINDS_FROM
    if len(" ".join(argv)) + len("cmd /c ") > (CMD_LIMIT if binds else LINE_LIMIT):
        return Ended(1, stderr=b"The command line is too long.\r\n")
    words = [word.lower() for word in argv]
    if "-inputformat" in words and words[words.index("-inputformat") + 1] == "none":
        return _order(host, argv, channels)
    if _is_written(argv):
        with host.node.lock:
            host.node.pods.alive[str(pod["metadata"]["uid"])] = host.node.clock.now()
        return Ended()
    stdin = b"".join(channels.stdin()) if host.reads_stdin(" ".join(argv)) else b""
    if channels.gone:
        return None
    reply = host.inside(" ".join(argv), stdin)
    return Ended(reply.exit_status, reply.stdout, reply.stderr)


def _is_written(argv: list[str]) -> bool:
    """Whether the program writes a file into the container's own volume, and does nothing else."""
    if "-EncodedCommand" not in argv:
        return False
    script = base64.b64decode(argv[argv.index("-EncodedCommand") + 1]).decode("utf-16-le")
    return _WRITES.fullmatch(script) is not None


class _Source:
    """Standard input, of which a program takes as much as it wants."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._held = pieces, bytearray()

    def line(self) -> bytes | None:
        while b"\n" not in self._held:
            piece = next(self._pieces, None)
            if piece is None:
                return None
            self._held += piece
        found, _, rest = bytes(self._held).partition(b"\n")
        self._held = bytearray(rest)
        return found

    def take(self, count: int) -> bytes | None:
        while len(self._held) < count:
            piece = next(self._pieces, None)
            if piece is None:
                return None
            self._held += piece
        found = bytes(self._held[:count])
        del self._held[:count]
        return found


def _order(host: Inside, argv: list[str], channels: Channels) -> Ended | None:
    """What the script of the connection plugin does, which comes before the order: docs/protocol.md, section 8."""
    source = _Source(channels.stdin())
    start = base64.b64decode(argv[-1]).decode("utf-16-le")
    takes = _TAKES.search(start)
    if takes is None:
        raise NotSimulated(f"This start of PowerShell takes no script from standard input: {start}")
    script = source.take(int(takes["bytes"]))
    if script is None:
        return None
    if not script.rstrip().endswith(b"::Exit($code)"):
        raise NotSimulated("What standard input begins with is not the whole script of the connection plugin.")
    line = source.line()
    if line is None:
        return None
    fields = line.decode().split("\t")
    if len(fields) != 4:
        return Ended(1, stderr=b"The line that says what to do has not four fields.\r\n")
    verb, count, path, arguments = fields
    data = source.take(int(count))
    if data is None:
        return None
    if verb == "run":
        reply = host.inside(f"{path} {arguments}", data)
        return Ended(reply.exit_status, reply.stdout, reply.stderr)
    node = host.node
    try:
        with node.lock:
            if verb == "put":
                node.drive.write(path, data)
                return Ended(stdout=hashlib.sha256(data).hexdigest().encode() + b"\r\n")
            if verb == "fetch":
                return Ended(stdout=node.drive.read(path))
    except WinError as error:
        return Ended(1, stderr=f"{error}\r\n".encode())
    raise NotSimulated(f"There is nothing called '{verb}'.")
