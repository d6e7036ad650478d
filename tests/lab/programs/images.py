"""containerd.exe's images, judged by memory.

The images of a containerd: which it has, and what a pull costs. They lie on the disk, so they outlive the machine's
name and are cloned with it.

That containerd keeps them in `meta.db` below its root is upstream's (core/metadata); what is in the file is the lab's.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

STORE = "C:\\ProgramData\\containerd\\root\\io.containerd.metadata.v1.bolt\\meta.db"
BYTES = 120_000_000
"""What the layers of one image come to, a number of the lab's own: nanoserver's are about so much."""
SYSTEM = "S-1-5-18"
DENIED = "pull access denied, repository does not exist or may require authorization"
"""ctr v1.7.35 and v2.3.7, of a registry that wants a user and a password (tests/real/test_registries.py)."""


def names(node: SimulatedNode) -> list[str]:
    """All images, sorted."""
    return sorted(node.drive.read(STORE).decode().splitlines()) if node.drive.is_file(STORE) else []


def pull(node: SimulatedNode, image: str, hosts_dir: str) -> str:
    """Fetches what is not there; why it could not, empty if it could."""
    registry = image.partition("/")[0]
    if node.pods.closed.get(registry, "") != _authorization(node, hosts_dir, registry) and registry in node.pods.closed:
        return f'failed to resolve reference "{image}": {DENIED}: authorization failed: no basic auth credentials'
    if registry in node.pods.unpullable:
        return f'failed to resolve reference "{image}": failed to do request: dial tcp: i/o timeout'
    if image not in names(node):
        node.counters.add(node.counters.downloads, image, BYTES)
        _keep(node, [*names(node), image])
    return ""


def clear(node: SimulatedNode) -> None:
    """All of them are removed."""
    if node.drive.is_file(STORE):
        _keep(node, [])


def _keep(node: SimulatedNode, found: list[str]) -> None:
    node.drive.mkdir(STORE.rpartition("\\")[0], SYSTEM)
    node.drive.write(STORE, "".join(f"{name}\n" for name in sorted(found)).encode(), owner=SYSTEM)


def _authorization(node: SimulatedNode, hosts_dir: str, registry: str) -> str:
    """What the registry itself is sent, by the hosts.toml of its folder; on Windows that has no colon."""
    path = f"{hosts_dir}\\{registry.replace(':', '')}\\hosts.toml"
    if not node.drive.is_file(path):
        return ""
    header = tomllib.loads(node.drive.read(path).decode()).get("header", {})
    return str({name.lower(): value for name, value in header.items()}.get("authorization", ""))
