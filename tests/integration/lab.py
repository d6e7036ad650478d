"""A lab of simulated nodes for one test, and the real Ansible against it.

    def test_something(bench: Bench) -> None:
        bench.node("win1")
        run = bench.ansible_playbook(bench.play("- hosts: all ..."))
        assert run.recap["win1"].changed == 1
        assert bench.calls("win1") == 1

Ansible is that of the Python that runs pytest; it is a process of its own (warm.py says which), the nodes live in
pytest's process.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.integration.warm import COLLECTIONS, warm
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.seed import Settings
from tests.lab.server.host import NodeHost
from tests.lab.server.lab import Lab
from tests.lab.server.ledger import Account
from tests.lab.server.nodes import NodeSpec

ROOT = Path(__file__).resolve().parents[2]
# The scripts of the environment that pytest runs in; not resolved, since its python is a link.
SCRIPTS = Path(sys.executable).parent
TIMEOUT_S = 600.0
IMPATIENT = ("-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=2")
"""A user's own arguments: a node that goes silent is noticed after three seconds, not after a minute; they are real."""
_RECAP = re.compile(r"^(?P<host>\S+)\s+: (?P<counts>ok=\d+\s.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Recap:
    """One line of PLAY RECAP."""

    ok: int = 0
    changed: int = 0
    unreachable: int = 0
    failed: int = 0
    skipped: int = 0
    rescued: int = 0
    ignored: int = 0


@dataclass(frozen=True)
class Run:
    """One run of Ansible: exit status, output, the recap by host (empty for `ansible`)."""

    arguments: tuple[str, ...]
    rc: int
    stdout: str
    stderr: str
    seconds: float
    recap: dict[str, Recap] = field(default_factory=dict)

    @property
    def output(self) -> str:
        """Both streams with all white space as single blanks: for looking for a sentence however it was wrapped."""
        return " ".join(f"{self.stdout}\n{self.stderr}".split())

    @property
    def steps(self) -> list[str]:
        """What the printed steps are about: each without its component, host, "would" and the verb."""
        return re.findall(r"^  \S+: \S+: (?:would )?\w+ (.+)$", self.stdout, re.MULTILINE)

    @property
    def told(self) -> Any:
        return told(self.stdout)

    def __str__(self) -> str:
        return f"{' '.join(self.arguments)}\nexit status {self.rc}\n{self.stdout}\n{self.stderr}"


def told(stdout: str) -> Any:
    """What a task of a test's own play has printed: `debug: {msg: "told={{ VALUE | to_json | b64encode }}"}`. A module
    that writes a file would start a Python for it, and tests that look for a sentence do not find it in here."""
    return json.loads(base64.b64decode(stdout.rpartition("told=")[2].partition('"')[0]))


class _Places:
    """Folders with links into the benches that are open. There are few names, so that Ansible's runs have few
    environments (warm.py): a name is free again when the SSH master connections of its bench have ended and taken their
    sockets away. A socket's path has to be short, unlike those of pytest's folders.
    """

    PATIENCE_S = 2.0

    def __init__(self) -> None:
        self._root: Path | None = None
        self._free: list[Path] = []

    def take(self) -> Path:
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="wk"))
            atexit.register(shutil.rmtree, self._root, ignore_errors=True)
        place = self._free.pop() if self._free else Path(tempfile.mkdtemp(dir=self._root))
        place.mkdir(mode=0o700, exist_ok=True)
        return place

    def give_back(self, place: Path) -> None:
        end = time.monotonic() + self.PATIENCE_S
        while (held := any(path.is_socket() for path in place.iterdir())) and time.monotonic() < end:
            time.sleep(0.005)
        shutil.rmtree(place, ignore_errors=True)
        if not held:
            self._free.append(place)


_PLACES = _Places()


def overstepped(bench: Bench) -> list[str]:
    """Requests to the lab's clusters that had other rights than those of examples/rbac."""
    calls = [call for cluster in bench.lab.clusters.values() for call in cluster.overstepped]
    return sorted({f"{call.user}: {call.method} {call.path}: {call.status}" for call in calls})


class Bench:
    """A lab, a folder for playbooks and inventories, and what one needs to look at both."""

    def __init__(self, directory: Path, *, warm: bool = True) -> None:
        self.directory = directory
        self.warm = warm
        """Whether Ansible is a copy of a process that has imported it already, with a clock of its own."""
        self.patience_s = TIMEOUT_S
        """Seconds that one run of Ansible may take."""
        self.runs: list[Run] = []
        self.files: set[Path] = set()
        """What the test itself has written: Ansible's input, which may hold secrets."""
        self.planted: dict[str, str] = {}
        self.lawful: dict[str, tuple[str, ...]] = {}
        self.lab = Lab(directory / "lab").start()
        directory.joinpath("home").mkdir()
        self._place = _PLACES.take()
        (self._place / "home").symlink_to(directory.absolute() / "home")
        (self._place / "ssh_config").symlink_to(self.lab.ssh_config)

    def close(self) -> None:
        self.lab.stop()
        _PLACES.give_back(self._place)

    # -- nodes ---------------------------------------------------------------------------------------------------

    def node(self, name: str = "win1", address: str = "192.168.122.220", **spec: Any) -> NodeHost:
        """A new node at this address, port 22 (`NodeSpec` has the other settings)."""
        return self.lab.add_node(NodeSpec(name, address, **spec))

    def nodes(self, count: int, **spec: Any) -> list[NodeHost]:
        """`win1` to `win<count>` at 10.77.0.1 and so on."""
        return self.lab.add_nodes(
            {NodeSpec(f"win{n}", f"10.77.{n // 250}.{n % 250}", **spec): None for n in range(1, count + 1)}
        )

    def cluster(self, **settings: Any) -> Cluster:
        """The lab's cluster: `version="1.37.1"`, `backend="host-gw"` or `"vxlan"`; `Settings` has the others."""
        return self.lab.start_cluster(Settings(**settings))

    def cluster_of(self, name: str, **settings: Any) -> Cluster:
        """One of this node, beside those of others."""
        return self.lab.start_cluster(Settings(**settings), name, name)

    def calls(self, name: str = "win1") -> int:
        """Remote calls since the last reset."""
        return self.account(name).remote_calls

    def account(self, name: str = "win1") -> Account:
        return self.lab.ledger.node(name)

    def reset_ledger(self) -> None:
        self.lab.ledger.reset()

    def dump(self, name: str = "win1") -> dict[str, Any]:
        host = self.lab.host(name)
        return host.in_turn(host.node.dump)

    def plant(self, secret: str, what: str, *lawful: str) -> str:
        """A secret that the test is going to use: it may turn up nowhere (tests/integration/records.py) but at the
        places whose names end with one of `lawful`."""
        self.planted[secret] = what
        self.lawful[what] = lawful
        return secret

    # -- Ansible's input -----------------------------------------------------------------------------------------

    def inventory(self, **variables: str) -> Path:
        """An inventory of all nodes, in the group `windows`; more variables for all of them as arguments."""
        lines = ["[windows]"]
        for name, host in self.lab.hosts.items():
            spec = host.spec
            lines.append(f"{name} ansible_host={spec.address} ansible_port={spec.port} ansible_user={spec.username}")
        lines += ["[windows:vars]", "ansible_connection=ssh", "ansible_shell_type=powershell"]
        lines += [f"{key}={value}" for key, value in variables.items()]
        return self.file("inventory.ini", "\n".join(lines) + "\n")

    def play(self, text: str, name: str = "play.yml") -> Path:
        return self.file(name, text)

    def file(self, name: str, text: str) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.files.add(path)
        return path

    # -- Ansible -------------------------------------------------------------------------------------------------

    def ansible(self, *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Run:
        """`ansible -i <inventory of all nodes> ARGUMENTS`, or with your own `-i`."""
        return self._run("ansible", arguments, env, cwd)

    def ansible_playbook(
        self, *arguments: object, env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> Run:
        """`ansible-playbook -i <inventory of all nodes> ARGUMENTS`, or with your own `-i`."""
        return self._run("ansible-playbook", arguments, env, cwd)

    def environment(self) -> dict[str, str]:
        """The whole environment of Ansible: nothing of the user's own configuration is in it."""
        names = ("PATH", "LANG", "LC_ALL", "TMPDIR", "VIRTUAL_ENV", "SSL_CERT_FILE")
        environment = {name: os.environ[name] for name in names if name in os.environ}
        environment.setdefault("LANG", "C.UTF-8")
        environment |= {
            # Ansible's password prompt helper is looked for on PATH.
            "PATH": f"{SCRIPTS}{os.pathsep}{environment.get('PATH', os.defpath)}",
            "HOME": str(self._place / "home"),
            "ANSIBLE_HOME": str(self._place / "home" / ".ansible"),
            "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
            "ANSIBLE_SSH_COMMON_ARGS": shlex.join(["-F", str(self._place / "ssh_config"), *IMPATIENT]),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self._place),
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCALHOST_WARNING": "0",
            "PYTHONWARNINGS": "ignore",
        }
        if (ROOT / "plugins" / "callback" / "steps.py").exists():
            environment["ANSIBLE_CALLBACKS_ENABLED"] = "winkube.node.steps"
        return environment

    def start(self, *arguments: object, under: Sequence[str] = (), own_group: bool = False) -> subprocess.Popen[str]:
        """`ansible-playbook ARGUMENTS` as a process that the caller ends; errors are in its output, too.

        Args:
            arguments: As of `ansible_playbook`.
            under: A command that runs it.
            own_group: As a terminal starts it: the leader of a process group of its own.
        """
        return subprocess.Popen(
            [*under, str(SCRIPTS / "ansible-playbook"), *self._words(arguments)],
            cwd=self.directory,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=own_group,
        )

    def _words(self, arguments: Sequence[object]) -> list[str]:
        words = [str(argument) for argument in arguments]
        return words if {"-i", "--inventory"} & set(words) else ["-i", str(self.inventory()), *words]

    def _run(self, command: str, arguments: tuple[object, ...], env: Mapping[str, str] | None, cwd: Path | None) -> Run:
        words = self._words(arguments)
        line = [str(SCRIPTS / command), *words]
        environment = {**self.environment(), **(env or {})}
        started = time.monotonic()
        if self.warm:
            ended = warm().run(command, words, environment, cwd or self.directory, self.patience_s, own=bool(env))
            stdout, stderr, rc = ended.stdout, ended.stderr, ended.rc
        else:
            stdout, stderr, rc = self._start(line, environment, cwd or self.directory)
        seconds = time.monotonic() - started
        run = Run((command, *words), rc, stdout, stderr, seconds, parse_recap(stdout))
        self.runs.append(run)
        return run

    def _start(self, line: list[str], environment: Mapping[str, str], cwd: Path) -> tuple[str, str, int]:
        """A new process, as a user starts it."""
        with subprocess.Popen(
            line,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=self.patience_s)
            except BaseException:
                _end(process)
                raise
        return stdout, stderr, process.returncode


def _end(process: subprocess.Popen[str]) -> None:
    """Ask Ansible to end: its workers are in sessions of their own, so that only Ansible itself can end them."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()


def parse_recap(stdout: str) -> dict[str, Recap]:
    """The lines below PLAY RECAP by host."""
    _, found, tail = stdout.rpartition("PLAY RECAP")
    if not found:
        return {}
    recaps = {}
    for match in _RECAP.finditer(tail):
        counts = dict(item.split("=") for item in match["counts"].split())
        recaps[match["host"]] = Recap(**{name: int(count) for name, count in counts.items()})
    return recaps


def until(so: Callable[[], bool], patience_s: float = 240.0) -> None:
    """Waits for what a process of its own brings about."""
    end = time.monotonic() + patience_s
    while not so():
        assert time.monotonic() < end, "nobody got there"
        time.sleep(0.05)


def says_that_it_is_off(node: str, run: Run) -> bool:
    """Whether the output has the lab's sentence for a node that is off, or Ansible's own where ssh ended first."""
    return (
        f"the simulated node {node} closed the connection" in run.output
        or "Data could not be sent to remote host" in run.output
    )
