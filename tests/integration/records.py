"""Everything that a run leaves behind where somebody may read it, searched for secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.integration.lab import Bench, Run
from tests.lab.cluster.access import plain
from tests.lab.cluster.cluster import Cluster
from tests.lab.machine.node import SimulatedNode

PRIVATE = {"S-1-5-18", "S-1-5-32-544"}
"""SYSTEM and Administrators: who may read a file with a secret in it."""
_ALLOWED = ("lab", "extra.json")
"""Of a bench's folder: the lab itself, with its cluster, and the variables that the test gave."""


def secrets_of(cluster: Cluster) -> dict[str, str]:
    """Secret -> what it is: every token in the cluster, and the administrator's key."""
    found: dict[str, str] = {}
    for secret in cluster.request("GET", "/api/v1/secrets")["items"]:
        for key in ("token-secret", "token"):
            if value := plain(secret, key):
                found[value] = f"{key} of the Secret {secret['metadata']['name']}"
    for line in cluster.kubeconfig.read_text(encoding="utf-8").splitlines():
        name, _, value = line.strip().partition(": ")
        if name == "client-key-data":
            found[value.strip("'\"")] = "the administrator's key"
    return found


def leaks(bench: Bench, runs: Iterable[Run], secrets: Mapping[str, str]) -> list[str]:
    """Where a secret turned up that it may not be: a run's output, a file of the controller's, a remote command; on
    a node a file that others may read, the registry, a task, a command line, a record of the collection's own."""
    found = []
    for where, text in _places(bench, runs):
        for secret, what in secrets.items():
            if any(form in text for form in _forms(secret)):
                found.append(f"{what} is in {where}")
    return found


def _forms(secret: str) -> Iterator[bytes]:
    yield secret.encode()
    yield base64.b64encode(secret.encode())
    yield secret.encode("utf-16-le")


def _places(bench: Bench, runs: Iterable[Run]) -> Iterator[tuple[str, bytes]]:
    for run in runs:
        shown = " ".join(Path(word).name for word in run.arguments[:4])
        yield f"stdout of {shown}", run.stdout.encode()
        yield f"stderr of {shown}", run.stderr.encode()
    for path in sorted(bench.directory.rglob("*")):
        if path.is_file() and path.relative_to(bench.directory).parts[0] not in _ALLOWED:
            yield str(path.relative_to(bench.directory)), path.read_bytes()
    for name, host in bench.lab.hosts.items():
        yield f"the commands sent to {name}", "\n".join(bench.lab.ledger.node(name).commands).encode()
        yield from host.in_turn(lambda node=host.node: list(_of_node(node)))  # type: ignore[misc]


def _of_node(node: SimulatedNode) -> Iterator[tuple[str, bytes]]:
    for path, entry in node.drive.walk():
        own = path.lower().startswith("c:\\programdata\\winkube\\")
        if entry.kind == "file" and (own or _others_read(node, path)):
            yield f"{node.name}: {path}", entry.data
    dump = node.dump()
    yield f"{node.name}: the scheduled tasks", json.dumps(dump["tasks"]).encode()
    yield f"{node.name}: the registry", json.dumps(dump["registry"]).encode()
    lines = "\n".join(process.command_line for process in node.processes.all())
    yield f"{node.name}: the command lines of processes", lines.encode()


def _others_read(node: SimulatedNode, path: str) -> bool:
    return any(ace.kind == "A" and ace.sid not in PRIVATE for ace in node.drive.security(path).aces)
