"""A case as the diagnosis sees it."""

from __future__ import annotations

import base64
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import view_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene, reads, scene_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.messages import about
from ansible_collections.winkube.node.plugins.plugin_utils.words.places import NO_CAUSE

from tests import yaml_text
from tests.unit.components.nodes import LAYOUT, wanted_node

HERE = Path(__file__).parent
KINDS = ("networks", "endpoints", "namespaces", "policylists")
KEYS = {"source", "title", "form", "unverified", "expect", "message", "files", "programs", "services", "adapters",
        "logs", "node", "cluster", "first", "place", "not", *KINDS}  # fmt: skip
PATHS = {"net-conf.json": r"C:\etc\kube-flannel\net-conf.json", "subnet.env": r"C:\run\flannel\subnet.env"}
RUNNING = {"state": "running"}
OTHERS = dict.fromkeys(("hns", "vmcompute", "containerd", "kubelet", "kube-proxy", "flanneld"), RUNNING)
"""Services that a case does not speak of."""
BINARIES = {
    "kube-proxy": LAYOUT.kube_proxy_binary,
    "flanneld": LAYOUT.flanneld_binary,
    "kubelet": LAYOUT.kubelet_binary,
}


@dataclass(frozen=True)
class Case:
    name: str
    data: Mapping[str, Any]

    @property
    def first(self) -> str:
        return str(self.data.get("first") or "")

    @property
    def place(self) -> tuple[str, ...]:
        """Where no cause is known: words of the place or the code, of which one has to be said."""
        return tuple(str(each) for each in self.data.get("place") or ())

    @property
    def never(self) -> frozenset[str]:
        """Findings that must not come."""
        return frozenset(self.data.get("not") or ())


@dataclass(frozen=True)
class Answer:
    """What the diagnosis says: the ids of causes in their order, of all findings, and the findings themselves. `place`:
    the first one says where something failed, and not why. `several`: the first one is a list."""

    causes: tuple[str, ...]
    named: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    place: bool = False
    several: bool = False


@functools.cache
def load(folder: str) -> tuple[Case, ...]:
    """The cases of a folder by name, read once in a process; a file may have a list of them. A key that nobody reads is
    a mistake."""
    found = []
    for path in sorted((HERE / folder).glob("*.yml")):
        data = yaml_text.load_file(path)
        for each in data if isinstance(data, list) else [data]:
            assert not set(each) - KEYS, f"{path.name}: {sorted(set(each) - KEYS)}"
            name = path.stem if each is data else re.sub(r"\W+", "-", str(each["source"]).partition("/")[2]).strip("-")
            found.append(Case(name, each))
    return tuple(found)


def judge(case: Case) -> Answer:
    """By the whole table, and a message by the table of messages."""
    report = diagnose(scene(case))
    message = str(case.data.get("message") or "")
    said = about(message)
    causes = tuple(each.finding.id for each in report.causes)
    named = tuple(each.id for each in report.findings)
    meant = meanings(message, "win1")
    why = [*(each["cause"] for each in meant), *(each.finding.why for each in report.causes)]
    place = bool(why) and why[0].startswith(NO_CAUSE)
    return Answer(
        (*said, *causes), (*said, *named), report.findings, place, any("causes" in each for each in meant[:1])
    )


def scene(case: Case) -> Scene:
    data = case.data
    whole = "kubelet" in (data.get("services") or {})
    wanted = _expected(data.get("expect") or {}, whole=whole)
    cluster = data.get("cluster")
    view = (
        None
        if cluster is None
        else view_of(
            services=cluster.get("services") or (),
            slices=cluster.get("slices") or (),
            pods=cluster.get("pods") or (),
            node=data.get("node") or {"metadata": {"name": wanted.node_name}},
            node_name=wanted.node_name,
        )
    )
    reading = Reading().merge(dict(_parts(data)), reads(LAYOUT))
    return scene_of(
        reading,
        wanted,
        view,
        whole=whole,
        logs=data.get("logs") or {},
        node=data.get("node"),
        asked="node" in data,
    )


def _parts(data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    seen = [kind for kind in KINDS if kind in data]
    if seen:
        yield "hns", {"available": True, **{kind: data[kind] for kind in seen}}
    if "adapters" in data:
        yield "adapters", [_adapter(each, number) for number, each in enumerate(data["adapters"])]
    if "services" in data:
        yield (
            "services",
            [_service(name, each) for name, each in (OTHERS | data["services"]).items()],
        )
    if "files" in data:
        own = {name: text for name, text in data["files"].items() if name not in PATHS}
        for name, text in data["files"].items():
            path = PATHS.get(name, f"{LAYOUT.cni_conf_dir}\\{name}")
            content = text if isinstance(text, bytes) else str(text).encode()
            yield file_key(path), {"exists": True, "content": base64.b64encode(content).decode()}
        if own:
            yield file_key(LAYOUT.cni_conf_dir), {"exists": True, "kind": "directory", "entries": list(own)}
    if "programs" in data:
        yield file_key(LAYOUT.cni_bin_dir), {"exists": True, "kind": "directory", "entries": data["programs"]}


def _adapter(each: Mapping[str, Any], number: int) -> dict[str, Any]:
    addresses = [text.partition("/") for text in each.get("addresses") or ()]
    return {
        "name": each["name"],
        "index": number + 2,
        "up": True,
        "mac": each.get("mac", f"00-15-5D-00-00-{number:02X}"),
        "mtu": each.get("mtu", 1500),
        "ipv4": [{"address": address, "prefix": int(length)} for address, _slash, length in addresses],
        "gateways": [],
    }


def _service(name: str, each: Mapping[str, Any]) -> dict[str, Any]:
    binary = BINARIES.get(name, f"C:\\Windows\\System32\\{name}.exe")
    return {
        "name": name,
        "state": each["state"],
        "start": 2,
        "exit_code": each.get("exit_code", 0),
        "image_path": LAYOUT.nssm,
        "nssm": {"Application": binary, "AppParameters": each.get("arguments", "")},
    }


def _expected(told: Mapping[str, Any], *, whole: bool) -> Node:
    """By what a case expects of the network; a whole node where it tells of its kubelet's service."""
    options = {name: value for name, value in told.items() if name not in {"flannel", "kube_proxy"}}
    by = {"cni_managed_by": told.get("flannel", True), "kube_proxy_managed_by": told.get("kube_proxy", True)}
    network = Node.unknown(LAYOUT, **options, **{name: "service" if ours else "cluster" for name, ours in by.items()})
    return replace(wanted_node(), flannel=network.flannel, kube_proxy=network.kube_proxy) if whole else network
