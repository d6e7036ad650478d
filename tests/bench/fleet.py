"""Simulated nodes that grow in number, and ansible-playbook over them, measured."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tests.integration.lab import SCRIPTS, Bench
from tests.integration.whole import BASE, SITE, Kind, write_sums
from tests.lab.server.nodes import NodeSpec

T = TypeVar("T")
FORKS = "10"
SAMPLE_S = 0.05
PING = "- hosts: windows\n  gather_facts: false\n  tasks:\n    - ansible.windows.win_ping:\n"
PEER_CALLS = 61
"""Remote executions of image-builder's roles on a Windows Server 2022 on which nothing differs, with its defaults.

Source: kubernetes-sigs/image-builder ae63061 images/capi/ansible/windows, its tasks counted.
"""


class BenchFailed(Exception):  # noqa: N818 - reads as a sentence
    """A run that has to succeed did not."""


@dataclass(frozen=True)
class Measured:
    """One run: how long, the peak memory of ansible-playbook's own process (KiB), calls and bytes by node, of these
    the bytes that were sent to it, the processor time of all its processes but those of SSH that stay behind, the
    requests to the clusters' API servers that came from the controller, and the processor time of its own process."""

    seconds: float
    peak_rss: int | None
    calls: dict[str, int]
    bytes: dict[str, int]
    sent: dict[str, int] = field(default_factory=dict)
    cpu_s: float = 0.0
    api_requests: int = 0
    parent_s: float | None = None


class Fleet:
    """Nodes `win0001`, `win0002`, ... and one cluster. Their names and addresses are equally long: so is what is
    sent."""

    def __init__(self, directory: Path, kind: Kind, *, whole: bool = True) -> None:
        self.bench = Bench(directory, warm=False)
        self._sums = write_sums(self.bench.lab.sources, directory, kind)
        self.variables: dict[str, Any] = {
            "winkube_hosts": "windows",
            "winkube_download_base": BASE,
            "winkube_download_sums": str(self._sums),
            "winkube_nssm_checksum": str(self._sums),
        }
        if whole:
            cluster = self.bench.cluster(version=kind.kubernetes, backend=kind.backend)
            self.variables |= {"winkube_cluster": {"kubeconfig": str(cluster.kubeconfig)}, **kind.variables()}
        else:
            self.variables["winkube_containerd_version"] = kind.containerd

    def close(self) -> None:
        self.bench.close()

    @property
    def names(self) -> list[str]:
        """The nodes there are."""
        return sorted(self.bench.lab.hosts)

    def grow_to(self, count: int) -> list[str]:
        """Add bare nodes until there are `count`; the names of the new ones."""
        numbers = range(len(self.names) + 1, count + 1)
        specs = [NodeSpec(f"win{number:04}", f"10.77.{100 + number // 150}.{100 + number % 150}") for number in numbers]
        self.bench.lab.add_nodes(dict.fromkeys(specs))
        return [spec.name for spec in specs]

    def latency(self, seconds: float) -> None:
        """How much longer each remote call takes."""
        for host in self.bench.lab.hosts.values():
            host.set(latency_s=seconds)

    def site(self, *arguments: str) -> Measured:
        """site.yml over all nodes."""
        extra = self.bench.file("extra.json", json.dumps(self.variables))
        return self._run(str(SITE), "-e", f"@{extra}", *arguments)

    def ping(self) -> Measured:
        """A play with the one task win_ping."""
        return self._run(str(self.bench.play(PING, "ping.yml")))

    def peer(self) -> Measured:
        """As many remote calls as the peer's roles take, each a win_ping: the least that they can cost."""
        head, task = PING.split("    - ")
        return self._run(str(self.bench.play(head + f"    - {task}" * PEER_CALLS, "peer.yml")))

    def _run(self, *arguments: str) -> Measured:
        self.bench.reset_ledger()
        asked = self._api_requests()
        seconds, cpu_s, (peak, parent_s) = run_playbook(
            self.bench, ["-i", str(self.bench.inventory()), *arguments], {"ANSIBLE_FORKS": FORKS}, _wait
        )
        accounts = {name: self.bench.account(name) for name in self.names}
        return Measured(
            seconds,
            peak,
            {name: account.remote_calls for name, account in accounts.items()},
            {name: account.bytes_in + account.bytes_out for name, account in accounts.items()},
            {name: account.bytes_in for name, account in accounts.items()},
            cpu_s,
            self._api_requests() - asked,
            parent_s,
        )

    def _api_requests(self) -> int:
        """So far, those of the controller."""
        return sum(call.outside for cluster in self.bench.lab.clusters.values() for call in cluster.api.calls)


def run_playbook(
    bench: Bench, arguments: Sequence[str], more: Mapping[str, str], watch: Callable[[subprocess.Popen[bytes]], T]
) -> tuple[float, float, T]:
    """Run ansible-playbook in the bench's environment and `more`; BenchFailed if it does not succeed.

    Returns:
        Seconds by the clock, processor seconds of all its processes, and what `watch` saw, which waits for its end.
    """
    output = bench.directory / "output.txt"
    started, worked = time.monotonic(), _children_s()
    with output.open("w", encoding="utf-8") as sink:
        process = subprocess.Popen(
            [str(SCRIPTS / "ansible-playbook"), *arguments],
            cwd=bench.directory,
            env={**bench.environment(), **more},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
        )
        try:
            seen = watch(process)
        except BaseException:
            process.terminate()
            process.wait(timeout=60)
            raise
    seconds, cpu_s = time.monotonic() - started, _children_s() - worked
    if process.returncode != 0:
        raise BenchFailed(_why(process.returncode, output))
    return seconds, cpu_s, seen


def _why(status: int, output: Path) -> str:
    """Of what a run has printed the lines that say why it failed."""
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    wrong = [one for one in lines if re.search(r"\[ERROR\]|fatal:|(?:unreachable|failed)=[1-9]", one)]
    return "\n".join([f"ansible-playbook ended with {status}:", *wrong[:40], *lines[-5:]])


def _children_s() -> float:
    """Processor seconds of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait(process: subprocess.Popen[bytes]) -> tuple[int | None, float | None]:
    """Wait for the process to end; the most memory (KiB) that it itself had, and its processor seconds without those
    of its children. None where /proc does not tell.

    Not getrusage: on Linux a child's ru_maxrss begins with what its parent had when it was forked.
    """
    peak, used = None, None
    while process.poll() is None:
        peak, used = resident_peak(process.pid) or peak, processor_s(process.pid) or used
        time.sleep(SAMPLE_S)
    return peak, used


def processor_s(pid: int) -> float | None:
    """Processor seconds of a process so far, without those of its children. Source: Linux, proc_pid_stat(5)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return None


def resident_peak(pid: int) -> int | None:
    """VmHWM of a process in KiB."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return None
