"""`make mesh`: job slices by ansible-runner over a receptor mesh, which AWX runs on, over simulated nodes.

    python -m tests.mesh [--nodes 200] [--workers 3] [--no-kill]

A controller and workers of receptor on loopback; the inventory is split as AWX slices a job (host number n goes to
slice n modulo the number of slices), each slice is sent to a worker with what it needs (`ansible-runner transmit`),
runs there (`ansible-runner worker`), and comes back (`ansible-runner process`). In the middle of the first slice its
worker is killed; the slice is sent to another one. The last line is one JSON object.

receptor, ansible-runner and Ansible are real, each worker is a process of this machine, the nodes are the lab's.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bench.fleet import Fleet
from tests.cache import locked, shared
from tests.debian import FETCH_S, packages, quietly
from tests.integration.lab import SCRIPTS
from tests.integration.whole import OVERLAY, SITE

SUITE = "trixie"
PYTHON_PACKAGES = ("ansible-runner==2.4.3", "receptorctl==1.6.9")
WORK = "ansible-runner"
START_S, SLICE_S, LOST_S = 30, 1800, 60
TRIES = 3
"""How often a slice is sent. Where a killed worker's node is still at work, the next try finds it busy."""


def receptor() -> Path:
    """The program, or where it will lie."""
    return shared("programs") / "linux" / f"receptor-{SUITE}" / "receptor"


def tools() -> Path:
    """The folder of ansible-runner and receptorctl, or where it will be."""
    return shared("mesh-venv") / "bin"


def set_up() -> None:
    """Fetches receptor by Debian's package and the others from PyPI. OSError or CalledProcessError if that fails."""
    with locked("mesh"):
        if not receptor().exists():
            receptor().parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=receptor().parent) as folder:
                (package,) = packages(SUITE, "receptor", Path(folder) / "apt", alone=True)
                quietly(["dpkg", "-x", package, Path(folder) / "unpacked"], FETCH_S)
                (Path(folder) / "unpacked" / "usr" / "bin" / "receptor").rename(receptor())
        if not (tools() / "receptorctl").exists():
            venv.create(tools().parent, with_pip=True, clear=True)
            quietly([tools() / "pip", "install", "--quiet", *PYTHON_PACKAGES], FETCH_S)


def missing() -> str | None:
    """Why no mesh can be made now, as a phrase; None if it can."""
    absent = [path.name for path in (receptor(), tools() / "receptorctl") if not path.exists()]
    return f"{' and '.join(absent)} not there; `python -m tests.mesh --set-up` gets them" if absent else None


class MeshFailed(Exception):  # noqa: N818 - reads as a sentence
    """The mesh did not come up, or a slice came back from no worker."""


@dataclass
class Member:
    """One receptor of the mesh, and the folder with its socket and files."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.folder / "s"

    def start(self, config: Sequence[Mapping[str, Any]], environment: Mapping[str, str]) -> None:
        """In a session of its own, so that it is killed with the work that it has started."""
        self.folder.mkdir()
        file = self.folder / "receptor.json"  # YAML, as receptor wants it, contains JSON
        own: list[Mapping[str, Any]] = [
            {"node": {"id": self.name, "datadir": str(self.folder / "data")}},
            {"control-service": {"service": "control", "filename": str(self.socket)}},
        ]
        file.write_text(json.dumps([*own, *config]), encoding="utf-8")
        with (self.folder / "log").open("wb") as log:
            command = [str(receptor()), "--config", str(file)]
            self.process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def kill(self) -> None:
        """As when the machine is switched off."""
        if self.process is not None and self.process.poll() is None:
            for pid in [*_descendants(self.process.pid), self.process.pid]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait(timeout=30)


def _descendants(pid: int) -> list[int]:
    """The processes that a process has started, and theirs; work is started in sessions of its own."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            if int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
                found += [int(stat.parent.name), *_descendants(int(stat.parent.name))]
    return found


@dataclass
class Mesh:
    """A controller and its workers."""

    controller: Member
    workers: list[Member] = field(default_factory=list)

    def ctl(self, *words: str, stdin: bytes | None = None) -> bytes:
        """receptorctl at the controller; MeshFailed with what it said."""
        command = [str(tools() / "receptorctl"), "--socket", str(self.controller.socket), *words]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=SLICE_S, check=False)
        if done.returncode != 0:
            raise MeshFailed(f"receptorctl {' '.join(words)}: {(done.stderr or done.stdout).decode()[-800:]}")
        return done.stdout

    def known(self) -> set[str]:
        """The members that the controller has a way to."""
        return set(json.loads(self.ctl("status", "--json")).get("RoutingTable") or {})

    def state(self, unit: str) -> tuple[str, str]:
        """A unit's state (Pending, Running, Succeeded, Failed) and what is said of it."""
        found = json.loads(self.ctl("work", "list", "--unit_id", unit))[unit]
        return str(found["StateName"]), str(found["Detail"])


@contextmanager
def mesh(folder: Path, workers: int, environment: Mapping[str, str]) -> Iterator[Mesh]:
    """Started, and every worker known to the controller; ended afterwards with all that they run."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    folder.mkdir()
    made = Mesh(Member("controller", folder / "c"))
    try:
        made.controller.start([{"tcp-listener": {"bindaddr": "127.0.0.1", "port": port}}], environment)
        for number in range(1, workers + 1):
            worker = Member(f"worker{number}", folder / str(number))
            command = {"worktype": WORK, "command": str(tools() / "ansible-runner"), "params": "worker"}
            worker.start(
                [
                    {"tcp-peer": {"address": f"127.0.0.1:{port}"}},
                    {"work-command": {**command, "allowruntimeparams": True}},
                ],
                environment,
            )
            made.workers.append(worker)
        end = time.monotonic() + START_S
        while not _are_known(made):
            if time.monotonic() > end:
                raise MeshFailed(f"after {START_S} s the controller does not know all of {workers} workers")
            time.sleep(0.2)
        yield made
    finally:
        for member in (*made.workers, made.controller):
            member.kill()


def _are_known(made: Mesh) -> bool:
    if not made.controller.socket.exists():
        return False
    try:
        return made.known() >= {worker.name for worker in made.workers}
    except MeshFailed:
        return False


@dataclass
class Slice:
    """Some of the hosts, and what became of each try: the worker and ansible-runner's status."""

    number: int
    hosts: list[str]
    tries: list[tuple[str, str]] = field(default_factory=list)
    recap: dict[str, dict[str, int]] = field(default_factory=dict)


class Job:
    """One playbook over a mesh, in slices."""

    def __init__(self, mesh: Mesh, fleet: Fleet, folder: Path, slices: int) -> None:
        self.mesh, self.fleet, self.folder = mesh, fleet, folder
        names = fleet.names
        self.slices = [Slice(number, names[number::slices]) for number in range(slices)]

    def send(self, part: Slice, worker: Member) -> str:
        """Sends a slice to a worker; the unit of work."""
        data = self.folder / f"slice{part.number}-{len(part.tries)}"
        (data / "project").mkdir(parents=True)
        (data / "inventory").mkdir()
        shutil.copy(self.fleet.bench.inventory(), data / "inventory" / "hosts.ini")
        (data / "env").mkdir()
        (data / "env" / "extravars").write_text(json.dumps(self.fleet.variables))
        (data / "env" / "settings").write_text(json.dumps({"suppress_output_file": False}))
        (data / "project" / "site.yml").write_text(f"- import_playbook: {SITE}\n")
        words = ["transmit", str(data), "-p", "site.yml", "--limit", ",".join(part.hosts)]
        sent = subprocess.run([str(tools() / "ansible-runner"), *words], capture_output=True, check=True).stdout
        payload = data / "payload"
        payload.write_bytes(sent)
        said = self.mesh.ctl("work", "submit", WORK, "--node", worker.name, "--payload", str(payload)).decode()
        return said.split("Unit ID:")[-1].split()[0]

    def bring(self, part: Slice, worker: Member, doomed: Member | None) -> bool:
        """Sends a slice, waits for what comes back, and reads it. False where it has to be sent again."""
        unit = self.send(part, worker)
        results = self.folder / f"slice{part.number}-{len(part.tries)}" / "results"
        with results.open("wb") as sink:
            command = [str(tools() / "receptorctl"), "--socket", str(self.mesh.controller.socket)]
            reader = subprocess.Popen([*command, "work", "results", unit], stdout=sink, stderr=subprocess.DEVNULL)
            try:
                lost = self._wait(part, worker, unit, reader, doomed)
            finally:
                reader.kill()
                reader.wait()
        status = "lost" if lost else self._read(part, results)
        part.tries.append((worker.name, status))
        with suppress(MeshFailed):
            self.mesh.ctl("work", "force-release" if lost else "release", unit)
        return status == "successful"

    def _wait(
        self, part: Slice, worker: Member, unit: str, reader: subprocess.Popen[bytes], doomed: Member | None
    ) -> bool:
        """Whether the worker was lost on the way. `doomed` is killed as soon as one of the slice's nodes changes."""
        end = time.monotonic() + SLICE_S
        while time.monotonic() < end:
            if doomed is worker and any(self.fleet.bench.account(name).remote_calls > 1 for name in part.hosts):
                doomed.kill()
                doomed = None
            if reader.poll() is not None and self.mesh.state(unit)[0] in {"Succeeded", "Failed"}:
                return False
            if worker.name not in self.mesh.known():
                return True
            time.sleep(0.5)
        raise MeshFailed(f"slice {part.number} has not come back from {worker.name} within {SLICE_S} s")

    def _read(self, part: Slice, results: Path) -> str:
        """ansible-runner's status of a slice, and its recap."""
        data = results.parent / "back"
        data.mkdir()
        command = [str(tools() / "ansible-runner"), "process", str(data), "--ident", "job"]
        with results.open("rb") as source:
            subprocess.run(command, stdin=source, capture_output=True, check=False, timeout=SLICE_S)
        file = data / "artifacts" / "job" / "status"
        events = sorted((data / "artifacts" / "job" / "job_events").glob("*.json"))
        for event in events:
            found = json.loads(event.read_text(encoding="utf-8"))
            if found.get("event") == "playbook_on_stats":
                kinds = ("ok", "changed", "failures", "dark")
                stats = {kind: found["event_data"].get(kind) or {} for kind in kinds}
                part.recap = {name: {kind: int(stats[kind].get(name, 0)) for kind in kinds} for name in part.hosts}
        return file.read_text(encoding="utf-8").strip() if file.exists() else "nothing came back"

    def run(self, *, kill: bool) -> dict[str, Any]:
        """All slices, each by a worker of its own, the first one's killed on the way; the report."""
        started = time.monotonic()
        workers = list(self.mesh.workers)
        doomed = workers[0] if kill else None
        with ThreadPoolExecutor(len(self.slices)) as pool:
            firsts = [
                pool.submit(self.bring, part, worker, doomed) for part, worker in zip(self.slices, workers, strict=True)
            ]
            again = [part for part, done in zip(self.slices, firsts, strict=True) if not done.result()]
        for part in again:
            for attempt in range(TRIES - 1):
                worker = workers[1 + (part.number + attempt) % (len(workers) - 1)]
                if self.bring(part, worker, None):
                    break
        return self._report(time.monotonic() - started)

    def _report(self, seconds: float) -> dict[str, Any]:
        recaps = {name: recap for part in self.slices for name, recap in part.recap.items()}
        batches = {name: self.fleet.bench.lab.host(name).node.counters.batches for name in self.fleet.names}
        usual = Counter(batches.values()).most_common(1)[0][0]
        return {
            "nodes": len(batches),
            "slices": len(self.slices),
            "ok": sum(not recap["failures"] and not recap["dark"] and recap["ok"] > 0 for recap in recaps.values()),
            "failed": sorted(
                name for name in batches if name not in recaps or recaps[name]["failures"] or recaps[name]["dark"]
            ),
            "workers_killed": sum(status == "lost" for part in self.slices for _worker, status in part.tries),
            "tries": [[part.number, *map(list, part.tries)] for part in self.slices],
            "batches_of_a_node": usual,
            "more_batches": sorted(name for name, count in batches.items() if count > usual),
            "seconds": round(seconds, 1),
        }


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if every node is what is wanted, none was changed twice, and the killed worker's slice was done by another."""
    parser = argparse.ArgumentParser(
        prog="make mesh", description="job slices over a receptor mesh, on simulated nodes"
    )
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--no-kill", action="store_true", help="every worker lives")
    parser.add_argument("--set-up", action="store_true", help="fetch receptor and ansible-runner, and no more")
    options = parser.parse_args(arguments)
    set_up()
    if options.set_up:
        return 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wkm")))
        report = sliced(folder, options.nodes, options.workers, kill=not options.no_kill)
    print(json.dumps(report))
    well = report["ok"] == options.nodes and not report["failed"] and not report["more_batches"]
    return 0 if well and report["workers_killed"] == int(not options.no_kill) else 1


def sliced(folder: Path, nodes: int, workers: int, *, kill: bool) -> dict[str, Any]:
    """Bare machines get containerd by a mesh; the report."""
    (folder / "lab").mkdir()
    fleet = Fleet(folder / "lab", OVERLAY, whole=False)
    try:
        fleet.grow_to(nodes)
        environment = {**fleet.bench.environment(), "ANSIBLE_FORKS": "5"}
        environment["PATH"] = f"{SCRIPTS}:{os.environ['PATH']}"
        with mesh(folder / "mesh", workers, environment) as made:
            return Job(made, fleet, folder, workers).run(kill=kill)
    finally:
        fleet.close()
