"""The controller's side: the process of the node, and Ansible against it over SSH."""

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
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.integration.lab import Run, parse_recap
from tests.lab.machine.builds import tar_gz, zip_of
from tests.real import build
from tests.windows.machine import witness
from tests.windows.machine.bench import Archive, digest
from tests.wine import nssm

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
RUN_S = 1500


class NodeError(RuntimeError):
    """What the process of the node could not do."""


class Node:
    """The node, from outside."""

    def __init__(self, work: Path, process: subprocess.Popen[str], port: int, sources: int) -> None:
        self.work, self._process, self.port, self.sources = work, process, port, sources

    def ask(self, do: str, **more: Any) -> Any:
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

    def play(self, text: str, *arguments: object, **extra: Any) -> Run:
        book = self.work / "play.yml"
        book.write_text(text, encoding="utf-8")
        return self.playbook(book, *arguments, **extra)

    def playbook(self, book: Path, *arguments: object, **extra: Any) -> Run:
        variables = self.work / "extra.json"
        variables.write_text(json.dumps(extra), encoding="utf-8")
        return self.ansible("ansible-playbook", book, "-e", f"@{variables}", *arguments)

    def publish(self, name: str, make: Callable[[], bytes]) -> Archive:
        """A file that the node can fetch, made the first time that it is asked for."""
        path = self.work / "sources" / name
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(make())
        return Archive(f"http://127.0.0.1:{self.sources}/{name}", digest(path.read_bytes()))

    def _inventory(self) -> Path:
        path = self.work / "inventory.ini"
        path.write_text(
            f"[windows]\nwin1 ansible_host=127.0.0.1 ansible_port={self.port} ansible_user=Administrator\n"
            "[windows:vars]\nansible_connection=ssh\nansible_shell_type=powershell\n",
            encoding="utf-8",
        )
        return path

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
def served(folder: Path) -> Iterator[int]:
    """A web server of a folder on 127.0.0.1: its port."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
        yield int(server.server_address[1])
        server.shutdown()


@contextmanager
def node(work: Path, powershell: Path) -> Iterator[Node]:
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
            with served(work / "sources") as sources:
                yield Node(work, process, json.loads(first)["port"], sources)
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=90)
            except subprocess.TimeoutExpired:
                process.kill()


@dataclass
class Told:
    """What has happened so far."""

    node: Node
    failed: list[str] = field(default_factory=list)
    second: tuple[int, int] = (-1, -1)
    """Tasks that the second run changed, and its calls."""

    def expect(self, what: str, is_so: bool, run: Run | None = None) -> None:
        """One thing that has to hold; what does not is printed with the run that it came of."""
        print(f"  {'ok' if is_so else 'NOT'}: {what}", flush=True)
        if not is_so:
            self.failed.append(what)
            print(run or "", flush=True)

    def summary(self) -> dict[str, Any]:
        calls = self.node.ask("calls")
        ours = [call for call in calls if call["is_ours"]]
        return {
            "payloads": len(ours),
            "processes": len({call["pid"] for call in ours if call["pid"]}),
            "twin_importable": self.node.ask("hello")["twin_importable"],
            "stand_in_calls": self.node.ask("stand_ins"),
            "changed_second_run": self.second[0],
            "calls_second_run": self.second[1],
        }


def tell(told: Told, *, whole: bool = True) -> None:
    """From the bare node on."""
    node = told.node
    ping = node.ansible("ansible", "win1", "-m", "ansible.windows.win_ping")
    told.expect("win_ping answers", ping.rc == 0 and '"ping": "pong"' in ping.stdout, ping)
    reading = node.play(READING)
    told.expect("the node is read by one call", reading.rc == 0 and '"calls": 1' in reading.stdout, reading)
    first = converge(node)
    told.expect("containerd is installed and runs", first.rc == 0 and first.recap["win1"].changed == 1, first)
    if first.rc:
        return
    before = len(node.ask("calls"))
    second = converge(node)
    told.second = (second.recap["win1"].changed, len(node.ask("calls")) - before)
    told.expect("the second run changes nothing, in one call", told.second == (0, 1), second)


READING = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.win_k8s_node_info:
      register: found
    - ansible.builtin.debug: {var: found.winkube}
"""
SITE = ROOT / "playbooks" / "site.yml"
CONTAINERD = "2.3.7"


def converge(node: Node, *arguments: object, **more: Any) -> Run:
    """site.yml's containerd, by nssm."""
    members = {
        f"bin/{name}.exe": build.program(name, CONTAINERD, "windows").read_bytes() for name in ("containerd", "ctr")
    }
    members["bin/containerd-shim-runhcs-v1.exe"] = witness.build().read_bytes()
    source = node.publish(f"containerd-{CONTAINERD}-windows-amd64.tar.gz", lambda: tar_gz(members))
    extra = {
        "winkube_hosts": "windows",
        "winkube_containerd_version": CONTAINERD,
        "winkube_containerd_url": source.url,
        "winkube_containerd_checksum": source.checksum,
        **of_nssm(node),
        "winkube_containerd_service": {"manager": "nssm", "environment": {}, "start_timeout": 60, "stop_timeout": 60},
    }
    return node.playbook(SITE, "--tags", "containerd", *arguments, **(extra | more))


def of_nssm(node: Node) -> dict[str, str]:
    tool = node.publish("nssm-2.24.zip", lambda: zip_of({"nssm-2.24/win64/nssm.exe": nssm.fetch(NSSM).read_bytes()}))
    return {"winkube_nssm_url": tool.url, "winkube_nssm_checksum": tool.checksum}


NSSM = nssm.BUILDS["2.24-101-g897c7ad"]
