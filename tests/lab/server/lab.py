"""A lab: simulated nodes behind SSH ports and a door for WinRM, the source server, the ledger; in a thread of its own.

with Lab(directory) as lab:
    host = lab.add_node(NodeSpec("win1", "192.168.122.220"))
    ...  ssh -F <directory>/ssh_config Administrator@192.168.122.220 hostname
    lab.ledger.node("win1").remote_calls
"""

from __future__ import annotations

import asyncio
import os
import random
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.flows import Place
from tests.lab.cluster.seed import Settings
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.release import RELEASES, WINDOWS_SERVER_2022
from tests.lab.server.files import (
    make_keys,
    winrm_variables,
    write_lab_json,
    write_ssh_config,
    write_winrm_inventory,
)
from tests.lab.server.host import NodeHost
from tests.lab.server.ledger import Ledger
from tests.lab.server.linux import LinuxHost
from tests.lab.server.nodes import WINRM_HTTP, NodesError, NodeSpec
from tests.lab.server.source import SourceServer
from tests.lab.server.winrm.door import Door
from tests.lab.twin.node import LabNode

T = TypeVar("T")
# Sessions that work or wait for their node's turn at the same time.
WORKERS = 64


class Lab:
    """See the module. `directory` is made if missing; its keys are used again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        self.ledger = Ledger()
        self.sources = SourceServer()
        self.hosts: dict[str, NodeHost] = {}
        self.linux: dict[str, LinuxHost] = {}
        self.door = Door(self.directory / "winrm", lambda: list(self.hosts.values()))
        self.clusters: dict[str, Cluster] = {}
        self.control: str | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="winkube-lab", daemon=True)
        self._executor = ThreadPoolExecutor(WORKERS, thread_name_prefix="winkube-node")

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> Lab:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._keys = make_keys(self.directory)
        self.sources.start()
        self._thread.start()
        self._call(self.door.start())
        self.write_files()
        return self

    def stop(self) -> None:
        for cluster in self.clusters.values():
            cluster.stop()
        for name in list(self.hosts):
            self._call(self.hosts.pop(name).stop())
        for name in list(self.linux):
            self._call(self.linux.pop(name).stop())
        self._call(self.door.stop())
        self._call(_cancel_all())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=60)
        self._loop.close()
        self._executor.shutdown(wait=False, cancel_futures=True)
        self.sources.stop()

    def __enter__(self) -> Lab:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the lab's loop and wait for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=120)

    # -- the cluster ---------------------------------------------------------------------------------------------

    def start_cluster(self, settings: Settings, name: str = "cluster", only: str = "") -> Cluster:
        """A cluster; every node finds its API server, those that come later too. only: the node whose time goes on with
        its own, where the others have clusters of theirs."""
        if name in self.clusters:
            raise NodesError(f"the lab has a cluster {name} already")
        hosts = self.hosts
        cluster = Cluster(
            self.directory / name, settings, lambda: [host for host in hosts.values() if only in {"", host.spec.name}]
        )
        self.clusters[name] = cluster
        return cluster

    def add_linux(self, cluster: Cluster, name: str = "control-plane", address: str = "") -> LinuxHost:
        """A Linux host over SSH, user root: the cluster's Node of that name, or, if it has none, one outside of it."""
        inside = name in cluster.nodes
        place = Place("linux" if inside else "outside", name, address or cluster.settings.address)
        spec = NodeSpec(name, place.address, username="root")
        host = LinuxHost(spec, place, cluster, self._keys, self._executor)
        self._call(host.start())
        self.linux[name] = host
        self.write_files()
        return host

    # -- nodes ---------------------------------------------------------------------------------------------------

    def add_node(self, spec: NodeSpec, node: SimulatedNode | None = None) -> NodeHost:
        """Make a node reachable; a new one unless `node` is given."""
        return self.add_nodes({spec: node})[0]

    def add_nodes(self, wanted: Mapping[NodeSpec, SimulatedNode | None]) -> list[NodeHost]:
        """Several at once: the directory's files are written once."""
        added = []
        for spec, node in wanted.items():
            if spec.name in self.hosts:
                raise NodesError(f"the lab has a node {spec.name} already")
            host = NodeHost(spec, node or self._make_node(spec), self._keys, self.ledger, self._executor)
            self._call(host.start())
            for cluster in self.clusters.values():
                cluster.attach(host.node)
            self.hosts[spec.name] = host
            added.append(host)
        self.write_files()
        return added

    def _make_node(self, spec: NodeSpec) -> SimulatedNode:
        if spec.release is not None and spec.release not in RELEASES:
            raise NodesError(f"{spec.name}: release is one of {', '.join(RELEASES)}, not {spec.release!r}")
        release = RELEASES[spec.release] if spec.release else WINDOWS_SERVER_2022
        node = LabNode(
            spec.name,
            release=release,
            hosts=self.sources.hosts,
            seed=spec.seed,
            containers=spec.containers,
            nic=spec.nic,
            encryption={"C:": spec.encryption},
            clock_offset_s=_clock_offset(spec),
            language=spec.language,
        )
        node.faults.lost_static_address = spec.lost_static_address
        if spec.kind is None or not spec.kind.antivirus:
            node.faults.antivirus_s = _drawn(spec, "antivirus").uniform(0.5, 3.0)
        return node

    def host(self, name: str) -> NodeHost:
        try:
            return self.hosts[name]
        except KeyError:
            raise NodesError(f"the lab has no node {name}; it has {', '.join(sorted(self.hosts)) or 'none'}") from None

    # -- files ---------------------------------------------------------------------------------------------------

    @property
    def ssh_config(self) -> Path:
        return self.directory / "ssh_config"

    def describe(self) -> dict[str, Any]:
        """What lab.json says."""
        return {
            "simulated": True,
            "pid": os.getpid(),
            "control": self.control,
            "sources": self.sources.address,
            "clusters": {name: cluster.describe() for name, cluster in self.clusters.items()},
            "winrm": {"proxy": self.door.url, "ca": str(self.door.ca), "inventory": str(self.winrm_inventory)},
            "nodes": {
                name: {
                    "address": host.spec.address,
                    "port": host.spec.port,
                    "username": host.spec.username,
                    "listen": f"127.0.0.1:{host.port}",
                    "access": host.spec.access,
                    "latency_s": host.spec.latency_s,
                }
                for name, host in sorted((self.hosts | self.linux).items())
            },
        }

    @property
    def winrm_inventory(self) -> Path:
        return self.directory / "winrm.ini"

    def winrm_variables(self, port: int = WINRM_HTTP, transport: str = "ntlm") -> dict[str, str]:
        """What a host of an inventory needs to be reached over WinRM, beside its address, user and password."""
        return winrm_variables(self.door.url, self.door.ca, port, transport)

    def write_files(self) -> None:
        specs = [host.spec for host in self.hosts.values()]
        write_ssh_config(self.directory, [*specs, *(host.spec for host in self.linux.values())])
        write_winrm_inventory(self.winrm_inventory, specs, self.winrm_variables())
        write_lab_json(self.directory, self.describe())


async def _cancel_all() -> None:
    """End what is left in the loop: calls that still wait for their latency."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _drawn(spec: NodeSpec, what: str) -> random.Random:
    return random.Random(f"{what} of {spec.name} {spec.seed}")


def _clock_offset(spec: NodeSpec) -> float:
    """No two clocks agree: some seconds, the same for each run of a test."""
    if spec.clock_offset_s is not None:
        return spec.clock_offset_s
    if spec.kind is not None and spec.kind.clock:
        return 0.0
    return round(_drawn(spec, "clock").uniform(-5.0, 5.0), 1)
