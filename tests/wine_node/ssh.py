"""The node's sshd: exec runs Ansible's own command line with PowerShell on Wine, SFTP is the prefix's drive C:."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh

from tests.lab.machine import commandline
from tests.lab.machine.errors import WinError
from tests.lab.server.payload import parse_command
from tests.wine.prefix import Prefix
from tests.wine_node.calls import Call, described
from tests.wine_node.machine import POWERSHELL, Machine

CMD = r"C:\windows\system32\cmd.exe"
LIMIT_S = 900
SEEN_S = 0.3
_DRIVE = re.compile(rb"^/?([Cc]):(?:[/\\](.*))?$", re.DOTALL)


class Sshd:
    """One listener on 127.0.0.1. `calls` grows with each exec; `cut` ends every session as a lost power line does."""

    def __init__(self, node: Machine, prefix: Prefix, client: asyncssh.SSHKey, host: asyncssh.SSHKey) -> None:
        self.node, self.prefix = node, prefix
        self.calls: list[Call] = []
        self.chapter = ""
        self.sftp = 0
        self.connections: set[asyncssh.SSHServerConnection] = set()
        self.running: dict[int, tuple[subprocess.Popen[bytes], Call]] = {}
        self._client, self._host = client, host
        self.noted: Callable[[Call], None] = lambda call: None

    async def start(self) -> int:
        """The port."""
        listener = await asyncssh.create_server(
            lambda: _Login(self, self._client),
            "127.0.0.1",
            0,
            server_host_keys=[self._host],
            process_factory=self._exec,
            sftp_factory=self._drive,
            encoding=None,
            line_editor=False,
        )
        return int(listener.get_port())

    def cut(self) -> None:
        """Every session ends with all its processes; what the scheduler or the service manager runs goes on."""
        for process, call in list(self.running.values()):
            end(self.node, process, call)
        for connection in list(self.connections):
            connection.abort()

    def _drive(self, channel: Any) -> DriveC:
        self.sftp += 1
        return DriveC(channel, self.prefix.folder / "drive_c")

    async def _exec(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = process.command or ""
        encoded = parse_command(command)
        reads = encoded is not None and "$input" in encoded.script.lower()
        stdin = await process.stdin.read() if reads else b""
        call = described(encoded, stdin)
        call.chapter = self.chapter
        if encoded is not None:
            # sshd's DefaultShell, a PowerShell, reads the quotes and starts another: that one alone is started here.
            line = [POWERSHELL, *(word.strip("'") for word in commandline.split(command)[1:])]
        else:
            line = [CMD, "/c", command]
        out, error, code = await asyncio.get_running_loop().run_in_executor(None, self._run, line, stdin, call)
        with contextlib.suppress(OSError, asyncssh.Error):
            process.stdout.write(out)
            process.stderr.write(error)
            process.exit(code)

    def _run(self, line: list[str], stdin: bytes, call: Call) -> tuple[bytes, bytes, int]:
        """By files: what a program leaves running inherits its output."""
        began = time.monotonic()
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            given.write(stdin)
            given.seek(0)
            before = {one["pid"] for one in self.node.witness.ask("processes")}
            process = self.prefix.popen(line, stdin=given, stdout=out, stderr=error)
            self.running[process.pid] = process, call
            self.calls.append(call)
            try:
                while process.poll() is None and time.monotonic() - began < LIMIT_S:
                    if not call.pid:
                        self._who(before, call)
                    time.sleep(SEEN_S if not call.pid else 0.02)
                if process.poll() is None:
                    end(self.node, process, call)
            finally:
                self.running.pop(process.pid, None)
            out.seek(0)
            error.seek(0)
            said, complained = out.read(), error.read()
        call.exit = process.returncode
        call.seconds = round(time.monotonic() - began, 2)
        call.answer = said.decode("utf-8", "replace")
        call.error = complained.decode("utf-8", "replace")
        self.noted(call)
        return said, complained, process.returncode & 0xFF

    def _who(self, before: set[int], call: Call) -> None:
        """The PowerShell that has come since."""
        for one in self.node.witness.ask("processes"):
            if one["pid"] not in before and (one["path"] or one["name"]).lower().endswith("pwsh.exe"):
                call.program, call.pid = one["path"] or one["name"], one["pid"]


def end(node: Machine, process: subprocess.Popen[bytes], call: Call) -> None:
    """Ends all processes of a session, as sshd does with its job: the PowerShell and what it has started are no
    children of this side's."""
    running = node.witness.ask("processes") if call.pid else []
    pids = [call.pid] if call.pid else []
    for pid in pids:
        pids += [one["pid"] for one in running if one["parent"] == pid and one["pid"] not in pids]
    for pid in pids:
        with contextlib.suppress(WinError):  # it has ended
            node.witness.ask("kill", pid=pid, code=1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class DriveC(asyncssh.SFTPServer):
    """`/C:/folder/file` and `C:\\folder\\file`; names without regard to case."""

    def __init__(self, channel: Any, drive_c: Path) -> None:
        super().__init__(channel)
        self._root = drive_c

    def map_path(self, path: bytes) -> bytes:
        match = _DRIVE.match(path)
        rest = (match[2] or b"") if match else b"users/wine/" + path.lstrip(b"/")
        found = self._root
        for piece in re.split(r"[/\\]+", rest.decode("utf-8", "surrogateescape")):
            if piece in ("", "."):
                continue
            if piece == "..":
                raise asyncssh.SFTPPermissionDenied(f"{path!r} leaves the drive")
            found = _in(found, piece)
        return os.fsencode(found)

    def realpath(self, path: bytes) -> bytes:
        text = os.path.relpath(os.fsdecode(self.map_path(path)), self._root)
        return b"/C:/" + os.fsencode("" if text == "." else text)

    def setstat(self, path: bytes, attrs: asyncssh.SFTPAttrs) -> None:
        """Mode bits mean nothing on Windows."""

    def fsetstat(self, file_obj: object, attrs: asyncssh.SFTPAttrs) -> None:
        """As setstat."""


def _in(folder: Path, name: str) -> Path:
    if (folder / name).exists() or not folder.is_dir():
        return folder / name
    return next((each for each in folder.iterdir() if each.name.lower() == name.lower()), folder / name)


class _Login(asyncssh.SSHServer):
    """Whoever has the client's key."""

    def __init__(self, sshd: Sshd, client: asyncssh.SSHKey) -> None:
        self._sshd, self._data = sshd, client.public_data

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn
        self._sshd.connections.add(conn)

    def connection_lost(self, exc: Exception | None) -> None:
        self._sshd.connections.discard(self._connection)

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        return bool(key.public_data == self._data)
