"""A PowerShell that stays for as long as the lane runs, and makes and looks at trees for it.

It runs small scripts of the tests' own, one after the other in one process. Modules and runners never run in it: each
gets a process of its own, as on a node.
"""

from __future__ import annotations

import base64
import contextlib
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import Self

LOOP = r"""
[Console]::Out.WriteLine('ready')
while ($null -ne ($line = [Console]::In.ReadLine())) {
    $text = [Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($line))
    try { $mark = '+'; $said = @(& ([ScriptBlock]::Create($text))) -join "`n" }
    catch { $mark = '-'; $said = [string]$_ + "`n" + $_.ScriptStackTrace }
    [Console]::Out.WriteLine($mark + [Convert]::ToBase64String([Text.Encoding]::UTF8.GetBytes($said)))
}
"""


class PowerShellError(RuntimeError):
    """What was run did not answer as it should; the text shows what it said."""


class Resident:
    """Use as a context manager. `command` makes a command line of a script for -EncodedCommand."""

    def __init__(self, command: Callable[[str], Sequence[str]], timeout_s: float) -> None:
        self._command = command(LOOP)
        self._timeout_s = timeout_s

    def __enter__(self) -> Self:
        pipe = subprocess.PIPE
        self._complaint = tempfile.TemporaryFile()
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=self._complaint)
        try:
            self._line()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self._end()

    def execute(self, text: str) -> str:
        """Runs a script; what it wrote to its output, by lines."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(base64.b64encode(text.encode()) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise PowerShellError(self._gone()) from error
        said = self._line()
        out = base64.b64decode(said[1:]).decode()
        if said[:1] != b"+":
            raise PowerShellError(f"a script of the tests' own failed: {out[-2000:]}")
        return out

    def _line(self) -> bytes:
        """The next line; the process is ended where none comes in time."""
        assert self._process.stdout is not None
        late = threading.Timer(self._timeout_s, self._process.kill)
        late.start()
        try:
            line = self._process.stdout.readline().strip()
        finally:
            late.cancel()
        if not line:
            raise PowerShellError(self._gone())
        return line

    def _gone(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._complaint.seek(0)
        said = self._complaint.read().decode("utf-8", "replace")
        return f"{self._command[0]} said nothing (exit code {self._process.poll()}): {said[-2000:]}"

    def _end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._complaint.close()
