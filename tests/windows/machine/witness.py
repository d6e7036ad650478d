"""Asks a Wine prefix what Windows' own functions say: registry, services, processes, pipes (../witness/main.go)."""

from __future__ import annotations

import hashlib
import json
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tests.cache import locked, shared
from tests.lab.machine.errors import WinError
from tests.real.build import go

ANSWER_S = 60.0
SOURCE = Path(__file__).resolve().parents[1] / "witness"


def program() -> Path:
    """witness.exe, where it lies or will: by what it is built from."""
    sources = (SOURCE / name for name in ("main.go", "go.mod", "go.sum"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    return shared("programs") / "windows" / f"witness-{digest}" / "witness.exe"


def build() -> Path:
    """Builds it unless it is there. OSError or CalledProcessError if that fails."""
    target = program()
    with locked("witness"):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished = target.with_suffix(".part")
            go("build", "-trimpath", "-ldflags", "-s -w", "-o", str(unfinished), ".", cwd=SOURCE, system="windows")
            unfinished.rename(target)
    return target


class Witness:
    """One witness.exe that runs as long as the prefix is used. Its answers come in any order."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._waiting: dict[int, Future[Any]] = {}
        self._lock = threading.Lock()
        self._next = 0
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, op: str, **arguments: Any) -> Any:
        """The answer. WinError with what the Win32 function said."""
        return self.send(op, **arguments).result(ANSWER_S)

    def send(self, op: str, **arguments: Any) -> Future[Any]:
        """The answer to come: StartService may take half a minute."""
        answer: Future[Any] = Future()
        with self._lock:
            self._next += 1
            self._waiting[self._next] = answer
            line = json.dumps({"id": self._next, "op": op, **arguments})
            assert self._process.stdin is not None
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        return answer

    def end(self) -> None:
        """It ends when nobody asks any more."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                self._settle(json.loads(line))
        except ValueError:
            pass  # closed while it was read
        for answer in list(self._waiting.values()):
            answer.set_exception(RuntimeError("the witness has ended"))

    def _settle(self, document: dict[str, Any]) -> None:
        with self._lock:
            answer = self._waiting.pop(document["id"])
        if "ok" in document:
            answer.set_result(document["ok"])
        elif document["error"]:
            answer.set_exception(WinError(document["error"], document["call"]))
        else:
            answer.set_exception(RuntimeError(document["call"]))
