"""A PowerShell on this machine that logs all it can: every script block, every command of every module, a transcript of
every session. What it wrote and where, to be searched for secrets (docs/endpoint-protection.md).

PowerShell reads its policies from a file beside itself, and on Linux logs to /dev/log, where we listen: so this takes a
machine where nothing else does, and a user who may make that socket. The one for Windows, on Wine, writes transcripts:
Wine keeps no events.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.cache import locked
from tests.contract.powershell import TIMEOUT_S, Local, command_line
from tests.contract.resident import PowerShellError, Resident
from tests.wine import pwsh

LOG = Path("/dev/log")
TAG = re.compile(rb"powershell\[(\d+)\]")
OURS = "winkube-log"
"""The name of our socket, to which LOG is a link while we listen."""
WINE_HOME = "C:\\logged"
WINE_TRANSCRIPTS = "C:\\transcripts"
LEAST = 6
"""Letters of a text that is searched for: a shorter one is anywhere in base64."""


def policies(transcripts: str) -> str:
    """`transcripts`: a folder as that PowerShell names it. Source: learn.microsoft.com, about_PowerShell_Config,
    about_Logging_Non-Windows of 7.6."""
    everything = {
        "ScriptBlockLogging": {"EnableScriptBlockLogging": True, "EnableScriptBlockInvocationLogging": True},
        "ModuleLogging": {"EnableModuleLogging": True, "ModuleNames": ["*"]},
        "Transcription": {
            "EnableTranscripting": True,
            "EnableInvocationHeader": True,
            "OutputDirectory": transcripts,
        },
    }
    return json.dumps({"LogLevel": "Verbose", "LogChannels": "Operational,Analytic", "PowerShellPolicies": everything})


def missing() -> str | None:
    """What this machine lacks, as a phrase."""
    ours = LOG.is_symlink() and LOG.readlink().stem == OURS
    if LOG.exists() and not ours:
        return f"something else listens at {LOG}"
    return None if os.access(LOG.parent, os.W_OK) else f"this user may not make {LOG}"


@dataclass
class Written:
    """What one or more starts of PowerShell wrote: place (`script blocks`, `modules`, `other events`, `transcript`,
    `command line`, `environment`) -> bytes."""

    places: dict[str, bytes] = field(default_factory=dict)

    def add(self, place: str, data: bytes) -> None:
        self.places[place] = self.places.get(place, b"") + data + b"\n"

    def holding(self, secret: str) -> list[str]:
        """The places that hold a text: plain, in UTF-16, or in base64 of either, wherever in it the text begins."""
        wanted = forms(secret)
        return sorted(place for place, data in self.places.items() if any(form in data for form in wanted))


def forms(secret: str) -> set[bytes]:
    """How a text may stand somewhere. base64 takes three bytes at once: what is the same whatever stands around it."""
    found: set[bytes] = set()
    for data in (secret.encode(), secret.encode("utf-16-le")):
        found.add(data)
        for before in range(3):
            whole = base64.b64encode(b"\0" * before + data)
            # The letters that the bytes before and after have a part in are left out.
            begin, end = (before * 8 + 5) // 6, (before + len(data)) * 8 // 6
            found.add(whole[begin:end])
    return found


def _of_process(pid: int, name: str) -> bytes:
    """A file of /proc, which is empty for the moment in which a program takes its process over."""
    for _ in range(100):
        if len(data := Path(f"/proc/{pid}/{name}").read_bytes()) > 1:
            return data
        time.sleep(0.01)
    raise PowerShellError(f"/proc/{pid}/{name} stays empty")


TRANSCRIPT = "transcript"
EVENTS = frozenset({"modules", "script blocks"})
CONFIG = "powershell.config.json"


class Logged(Local):
    """`written` is what was logged since it was last emptied, but by the process that makes and looks at trees.
    `channels`: the places that this PowerShell writes to at each start. `transcripts`: their folder on this machine."""

    def __init__(self, program: Path, folder: Path, web: str, resident: Resident, transcripts: Path) -> None:
        super().__init__(str(program), str(folder), web, None, resident)
        self.written = Written()
        self.channels = frozenset({TRANSCRIPT})
        self._events: list[bytes] = []
        self._transcripts = transcripts

    @classmethod
    @contextmanager
    def beside(cls, program: str, web: str, folder: Path) -> Iterator[Self]:
        """A copy of the program's folder, of links where that can be, with the policies beside it. One at a time."""
        home = Path(shutil.which(program) or program).resolve().parent
        copy, transcripts = folder / "powershell", folder / "transcripts"
        try:
            shutil.copytree(home, copy, copy_function=os.link)
        except OSError:
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(home, copy)
        # A link to the file of the original would be written through.
        (copy / CONFIG).unlink(missing_ok=True)
        (copy / CONFIG).write_text(policies(str(transcripts)), encoding="utf-8")
        with locked(OURS), Resident(lambda text: command_line(program, text), TIMEOUT_S) as resident:
            LOG.unlink(missing_ok=True)  # Of a run that was ended.
            try:
                logged = cls(copy / "pwsh", folder, web, resident, transcripts)
                logged._open(folder / f"{OURS}.sock")
                yield logged
            finally:
                LOG.unlink(missing_ok=True)

    @classmethod
    @contextmanager
    def on_wine(cls, windows: Path, web: str, folder: Path) -> Iterator[Self]:
        """The PowerShell for Windows in that folder, copied into a prefix twice: one of them with the policies."""
        with pwsh.placed(windows, folder) as prefix:
            (pwsh.copied(prefix, WINE_HOME) / CONFIG).unlink(missing_ok=True)
            prefix.path(f"{WINE_HOME}\\{CONFIG}").write_text(policies(WINE_TRANSCRIPTS), encoding="utf-8")
            quiet = pwsh.written(prefix, folder / "quiet", pwsh.HOME)
            program = pwsh.written(prefix, folder / "pwsh", WINE_HOME)
            with Resident(lambda text: command_line(str(quiet), text), TIMEOUT_S) as resident:
                yield cls(program, folder, web, resident, prefix.path(WINE_TRANSCRIPTS))

    def _open(self, path: Path) -> None:
        self.channels |= EVENTS
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        LOG.symlink_to(path)
        threading.Thread(target=self._listen, daemon=True).start()

    def logged(self, text: str, stdin: bytes) -> str:
        """What a script prints; `written` gets what its start has logged."""
        return self._start(text, stdin)

    def _start(self, text: str, stdin: bytes) -> str:
        pipe = subprocess.PIPE
        began = subprocess.Popen(command_line(self._program, text), stdin=pipe, stdout=pipe, stderr=pipe)
        kept = {name: _of_process(began.pid, name) for name in ("cmdline", "environ")}
        out, said = began.communicate(stdin, timeout=TIMEOUT_S)
        self.written.add("command line", kept["cmdline"])
        self.written.add("environment", kept["environ"])
        self._collect(began.pid)
        if not out.strip():
            raise PowerShellError(f"{self._program} said nothing (exit code {began.returncode}): {said[-2000:]!r}")
        return out.decode("utf-8", "replace")

    def _listen(self) -> None:
        while True:
            try:
                self._events.append(self._socket.recv(1 << 20))
            except OSError:
                return

    def _collect(self, pid: int) -> None:
        """Only what this process logged: another PowerShell of the machine may have found the socket, too."""
        for event in list(self._events):
            tag = TAG.search(event[:200])
            if tag is None or int(tag[1]) != pid:
                continue
            head = event[:400]
            place = "script blocks" if b"[ScriptBlock_" in head else "other events"
            self.written.add("modules" if b"ParameterBinding" in event or b"CommandStart" in head else place, event)
        self._events.clear()
        for path in sorted(self._transcripts.rglob("*.txt")):
            self.written.add(TRANSCRIPT, path.read_bytes())
            path.unlink()
