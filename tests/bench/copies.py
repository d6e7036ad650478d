"""Converged machines by the hundred: copies of one that site.yml has made, each with its own name, address, certificate
and range of pods, booted as a machine with that disk is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.pki import Identity
from tests.lab.machine import sysprep
from tests.lab.machine.drive import Entry
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.registry import Data, Key
from tests.lab.server.host import NodeHost

_KEY = b"PRIVATE KEY-----"


def make_nodes(
    made: str, names: Sequence[str], cluster: Cluster, notes: Callable[[str], dict[str, str]], there: int = 0
) -> None:
    """Nodes as that of the machine `made`, each with a range of its own, with or without machines. `notes`: the
    annotations of one besides; `there`: how many have been made so."""
    pattern = cluster.nodes[made]
    for number, name in enumerate(names, 256 + there):
        cidr = f"10.{128 + number // 256}.{number % 256}.0/24"
        node = _renamed(pattern, {made: name, pattern["spec"]["podCIDR"]: cidr})
        node["metadata"]["annotations"] |= notes(name)
        with cluster.api.lock:
            cluster.store.create(BY_NAME["Node"], "", node)


def make_machines(made: NodeHost, copies: Sequence[NodeHost], cluster: Cluster) -> None:
    """Bare machines become such ones as `made`; their Nodes are in the cluster already."""
    disk, wires = made.in_turn(lambda: (_take(made.node), _take_adapters(made.node)))
    nodes = cluster.nodes
    for host in copies:
        name = host.spec.name
        words = {made.spec.name: name, made.spec.address: host.spec.address}
        for old, new in zip(_ranges(nodes[made.spec.name]), _ranges(nodes[name]), strict=True):
            words[old] = new
        pair = cluster.ca.issue(Identity(f"system:node:{name}", ("system:nodes",)))
        mine = _Copy(words, pair.certificate + pair.key).image(disk)
        host.in_turn(partial(_boot, host.node, mine, _renamed(copy.deepcopy(wires), words)))


def _ranges(node: dict[str, Any]) -> tuple[str, str]:
    """The range of its pods, and how their addresses begin."""
    cidr = node["spec"]["podCIDR"]
    return cidr, cidr.rpartition(".")[0] + "."


def _take(node: SimulatedNode) -> sysprep.Image:
    tasks = tuple(replace(task, process=None, timer=None) for task in node.tasks.all())
    return sysprep.Image(node.drive.volumes, node.registry.hives, tasks, node.hns.saved())


def _take_adapters(node: SimulatedNode) -> list[list[Any]]:
    """Its adapters, and the switches on them."""
    return [node.adapters.all(), node.hns.switches.all()]


def _boot(node: SimulatedNode, disk: sysprep.Image, wires: list[list[Any]]) -> None:
    node.power_off()
    node.adapters._adapters, node.hns.switches._switches = wires
    sysprep.deploy(disk, node)


class _Copy:
    """The same disk under other words."""

    def __init__(self, words: dict[str, str], certificate: bytes) -> None:
        self._words, self._certificate = words, certificate

    def image(self, disk: sysprep.Image) -> sysprep.Image:
        made = copy.deepcopy(disk)
        for volume in made.volumes.values():
            self._entry(volume.root)
        for key in made.hives.values():
            self._key(key)
        return replace(made, networks=_renamed(made.networks, self._words))

    def _entry(self, entry: Entry) -> None:
        if _KEY in entry.data and entry.name.startswith("kubelet-client"):
            entry.data = entry.durable = self._certificate
        elif entry.kind == "file" and b"\0" not in entry.data[:1024]:
            entry.data = entry.durable = self._bytes(entry.data)
        entry.name = _renamed(entry.name, self._words)
        entry.children = {_renamed(name, self._words): child for name, child in entry.children.items()}
        for child in entry.children.values():
            self._entry(child)

    def _bytes(self, data: bytes) -> bytes:
        for old, new in self._words.items():
            data = data.replace(old.encode(), new.encode())
        return data

    def _key(self, key: Key) -> None:
        key.values = {name: replace(each, data=self._data(each.data)) for name, each in key.values.items()}
        for child in key.keys.values():
            self._key(child)

    def _data(self, data: Data) -> Data:
        if isinstance(data, str):
            return str(_renamed(data, self._words))
        return [str(_renamed(each, self._words)) for each in data] if isinstance(data, list) else data


def _renamed(value: Any, words: dict[str, str]) -> Any:
    """The same with other words in its texts; what is not frozen is changed in its place."""
    if isinstance(value, dict):
        return {key: _renamed(each, words) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_renamed(each, words) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        told = {each.name: _renamed(getattr(value, each.name), words) for each in fields(value)}
        if value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            return replace(value, **told)
        vars(value).update(told)
        return value
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
    return value
