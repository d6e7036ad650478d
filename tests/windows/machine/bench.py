"""A bench with one machine made of Wine, and archives of real programs, packed as their publishers pack them."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.integration.lab import Bench, Run
from tests.integration.site import SITE
from tests.lab.machine.builds import tar_gz, zip_of
from tests.lab.server.host import NodeHost
from tests.lab.server.nodes import NodeSpec
from tests.real import build
from tests.windows.machine import witness
from tests.windows.machine.node import WineNode
from tests.wine import nssm
from tests.wine.prefix import Prefix

PATIENCE_S = 10.0
ADDRESS = "192.168.122.220"


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@dataclass(frozen=True)
class Archive:
    """What a run is told of it."""

    url: str
    checksum: str


@dataclass
class WineBench:
    """The bench, the machine, and what its runs have in common."""

    bench: Bench
    host: NodeHost
    node: WineNode
    version: str

    def publish(self, name: str, data: bytes) -> Archive:
        self.bench.lab.sources.publish(f"/real/{name}", data)
        return Archive(f"http://xyz/real/{name}", digest(data))

    def containerd(self, version: str, **instead: bytes) -> Archive:
        """A release archive of the real programs; `instead` has other bytes for one of them.

        No container is started on Wine: what lies there as the shim is never run.
        """
        members = {f"bin/{name}.exe": build.program(name, version, "windows").read_bytes() for name in PROGRAMS}
        members["bin/containerd-shim-runhcs-v1.exe"] = ends_at_once()
        members |= {f"bin/{name}.exe": data for name, data in instead.items()}
        return self.publish(f"containerd-{version}-windows-amd64.tar.gz", tar_gz(members))

    def nssm(self) -> dict[str, str]:
        """The roles' variables for its archive."""
        tool = self.publish("nssm-2.24.zip", zip_of({"nssm-2.24/win64/nssm.exe": nssm.fetch(NSSM).read_bytes()}))
        return {"winkube_nssm_url": tool.url, "winkube_nssm_checksum": tool.checksum}

    def role(self, name: str, program: str, version: str, **more: Any) -> Run:
        """One role of Kubernetes' with a real program, by nssm; the program may be another's (`instead`)."""
        data = more.pop("instead", None) or build.program(program, version, "windows").read_bytes()
        source = self.publish(f"{program}.exe", data)
        extra = {
            "winkube_kubernetes_version": version,
            f"winkube_{name}_url": source.url,
            f"winkube_{name}_checksum": source.checksum,
            f"winkube_{name}_start_timeout": 40,
            f"winkube_{name}_stop_timeout": 30,
            "winkube_service_manager": "nssm",
            **self.nssm(),
            **more,
        }
        return self.play(self.bench.play(ROLE.format(name)), **extra)

    def site(self, *arguments: object, version: str = "", archive: Archive | None = None, **more: Any) -> Run:
        """`site.yml --tags containerd`, with nssm: a Go service that Wine's own service manager starts ends at once."""
        wanted = version or self.version
        source = archive or self.containerd(wanted)
        extra = {
            "winkube_hosts": "windows",
            "winkube_containerd_version": wanted,
            "winkube_containerd_url": source.url,
            "winkube_containerd_checksum": source.checksum,
            **self.nssm(),
            "winkube_containerd_service": {
                "manager": "nssm",
                "environment": {},
                "start_timeout": 30,
                "stop_timeout": 30,
            },
        }
        return self.play(SITE, "--tags", "containerd", *arguments, **(extra | more))

    def play(self, playbook: Path, *arguments: object, **extra: Any) -> Run:
        variables = self.bench.file("extra.json", json.dumps(extra))
        return self.bench.ansible_playbook(playbook, "-e", f"@{variables}", *arguments)

    def converge(self, *arguments: object, **more: Any) -> Run:
        """A run that has to succeed."""
        run = self.site(*arguments, **more)
        assert run.rc == 0, run
        return run

    def text(self, path: str) -> str:
        return self.host.in_turn(lambda: self.node.drive.read(path)).decode("utf-8", "replace")

    def pid(self, program: str) -> int:
        """The one process of Wine that runs this program, within some seconds."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = self.host.in_turn(lambda: self.node.processes.named([program]))
            if len(found) == 1:
                return found[0].pid
            assert time.monotonic() < end, f"{len(found)} processes run {program}"
            time.sleep(0.3)


PROGRAMS = ("containerd", "ctr")
ROLE = """
- hosts: windows
  gather_facts: false
  roles:
    - winkube.node.{}
"""
NSSM = nssm.BUILDS["2.24-101-g897c7ad"]


def ends_at_once() -> bytes:
    """A program that ends with 0 as soon as nobody writes to it any more: witness.exe."""
    return witness.build().read_bytes()


@contextmanager
def made_of_wine(folder: Path, version: str, **settings: Any) -> Iterator[WineBench]:
    """A new prefix, a machine on it, a bench that reaches it."""
    (folder / "bench").mkdir()
    bench = Bench(folder / "bench")
    try:
        with Prefix(folder / "prefix") as prefix:
            node = WineNode("win1", prefix, witness.build(), hosts=bench.lab.sources.hosts, **settings)
            try:
                yield WineBench(bench, bench.lab.add_node(NodeSpec("win1", ADDRESS), node), node, version)
            finally:
                bench.lab.hosts["win1"].in_turn(node.close)
    finally:
        bench.close()
