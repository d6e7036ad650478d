"""The node on Wine, from outside: its process (process.py), and Ansible against it over SSH."""

from __future__ import annotations

import http.server
import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.integration.lab import Run, parse_recap
from tests.lab.machine.builds import zip_of
from tests.real import build
from tests.windows.machine import witness
from tests.windows.machine.bench import Archive, digest
from tests.wine import nssm
from tests.wine_node import adapter
from tests.wine_node.side import Side

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
RUN_S = 1500
NSSM = nssm.BUILDS["2.24-101-g897c7ad"]


class NodeError(RuntimeError):
    """What the process of the node could not do."""


class WineSide(Side):
    """sources: the port of a web server of the folder `sources` of `work`."""

    name = "wine"

    def __init__(self, work: Path, process: subprocess.Popen[str], port: int, sources: int) -> None:
        self.work, self._process, self.port, self.sources = work, process, port, sources
        self.adapter = adapter.name()

    def ask(self, do: str, **more: Any) -> Any:
        """A question to the process of the node."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise NodeError(f"the node's process has ended with {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise NodeError(answer["error"])
        return answer["ok"]

    def ansible(self, command: str, *arguments: object) -> Run:
        words = ["-i", str(self._inventory()), *(str(argument) for argument in arguments)]
        began = time.monotonic()
        done = subprocess.run(
            [str(SCRIPTS / command), *words],
            cwd=self.work,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=RUN_S,
            check=False,
        )
        seconds = time.monotonic() - began
        return Run((command, *words), done.returncode, done.stdout, done.stderr, seconds, parse_recap(done.stdout))

    def file(self, name: str, text: str) -> Path:
        path = self.work / name
        path.write_text(text, encoding="utf-8")
        return path

    def publish(self, name: str, make: Callable[[], bytes]) -> Archive:
        path = self.work / "sources" / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(make())
        return Archive(f"http://127.0.0.1:{self.sources}/{name}", digest(path.read_bytes()))

    def program(self, name: str, version: str) -> bytes:
        """Upstream's. What runs containers and what flannel's plugin does nobody asks of it on Wine: ours."""
        if name in {"containerd-shim-runhcs-v1", "flannel"}:
            return self.ends_at_once()
        return build.program(name, version, "windows").read_bytes()

    def other_build(self, name: str, version: str, text: bytes) -> bytes:
        return self.program(name, version) + text

    def ends_at_once(self) -> bytes:
        return witness.build().read_bytes()

    def nssm(self) -> bytes:
        return zip_of({"nssm-2.24/win64/nssm.exe": nssm.fetch(NSSM).read_bytes()})

    def calls(self) -> int:
        return int(self.ask("count"))

    def state(self, service: str) -> str:
        return str(self.ask("state", service=service))

    def values(self, path: str) -> dict[str, Any]:
        return dict(self.ask("values", path=path))

    def write(self, path: str, text: str) -> None:
        self.ask("write", path=path, text=text)

    def has(self, path: str) -> bool:
        return bool(self.ask("has", path=path))

    def networks(self) -> list[str]:
        return list(self.ask("networks"))

    def occupy(self) -> None:
        self.ask("occupy")

    def adapters(self) -> list[dict[str, Any]]:
        return list(self.ask("adapters"))

    def lose_address(self) -> None:
        """Nothing has to be done for it."""

    def cut_in_batch(self, run: Callable[[], Run]) -> tuple[Run, bool]:
        done: list[Run] = []
        thread = threading.Thread(target=lambda: done.append(run()))
        thread.start()
        begun = False
        while thread.is_alive() and not begun:
            begun = self.ask("is_begun")
            if begun:
                self.ask("cut")
            thread.join(0.02)
        thread.join()
        return done[0], begun

    def begin(self, chapter: str) -> None:
        self.ask("begin", chapter=chapter)

    def _inventory(self) -> Path:
        return self.file(
            "inventory.ini",
            f"[windows]\nwin1 ansible_host=127.0.0.1 ansible_port={self.port} ansible_user=Administrator\n"
            "[windows:vars]\nansible_connection=ssh\nansible_shell_type=powershell\n",
        )

    def _environment(self) -> dict[str, str]:
        names = ("PATH", "TMPDIR", "VIRTUAL_ENV", "SSL_CERT_FILE")
        host = (self.work / "known_hosts").read_text(encoding="ascii").partition(" ")[0]
        options = {
            "HostKeyAlias": host,
            "UserKnownHostsFile": str(self.work / "known_hosts"),
            "GlobalKnownHostsFile": "none",
            "IdentityAgent": "none",
        }
        line = ["-F", "none", "-i", str(self.work / "client_key")]
        for name, value in options.items():
            line += ["-o", f"{name}={value}"]
        home = self.work / "home"
        home.mkdir(exist_ok=True)
        return {
            **{name: os.environ[name] for name in names if name in os.environ},
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "ANSIBLE_HOME": str(home / ".ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".venv" / "collections"),
            "ANSIBLE_SSH_COMMON_ARGS": shlex.join(line),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_CALLBACKS_ENABLED": "winkube.node.steps",
        }


@contextmanager
def _served(folder: Path) -> Iterator[int]:
    """A web server of a folder on 127.0.0.1: its port."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


@contextmanager
def on_wine(work: Path, powershell: Path) -> Iterator[WineSide]:
    """The process, ready; it ends with the context."""
    line = [sys.executable, "-m", "tests.wine_node.process", str(work), str(powershell)]
    log = work / "node.log"
    with (
        log.open("w", encoding="utf-8") as said,
        subprocess.Popen(
            line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True
        ) as process,
    ):
        assert process.stdin is not None and process.stdout is not None
        first = process.stdout.readline()
        if not first:
            raise NodeError(f"the node could not be made:\n{log.read_text(encoding='utf-8')[-3000:]}")
        try:
            with _served(work / "sources") as sources:
                yield WineSide(work, process, json.loads(first)["port"], sources)
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=90)
            except subprocess.TimeoutExpired:
                process.kill()
