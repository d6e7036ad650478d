# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What texts about a node say without the node: each is recognised and given to the checker that there is for it.

    for line in explain({"stdin": text, "bundle.zip": ...}).lines: print(line)

HNS's listings, adapters and cni.conf of one call are one scene, so that each is compared with the others; what they
show stands before what logs say.

What looks at a node, or knows its components, is imported by the text that needs it: a log needs only words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from ipaddress import ip_network
from tomllib import TOMLDecodeError
from typing import Any

from ..facts.containerd import CRI, IMAGES, RUNTIME
from ..foreign.files import ForeignError
from ..foreign.values import check_toml, load_yaml, shorten
from ..foreign.windows import WINDOW
from ..network.parse import KINDS as HNS_KINDS
from ..network.pasted import PastedError, json_values
from ..network.pasted import read as read_pasted
from ..words.meanings import is_place, meanings, say
from ..words.scan import words_of

HNS, CNI, CONTAINERD, KUBELET, ADAPTERS, NODES, LOG = (
    *("listing of HNS", "cni.conf", "config.toml", "kubelet configuration", "adapters", "nodes", "messages"),
)

_HNS_LISTING = re.compile(
    r"^[ \t]*(?:Networks|Endpoints|Namespaces|LoadBalancers)\b|^(?:ActivityId|ManagementIP)\s*: |\"Output\":\s*\[\{",
    re.M,
)
_TOML = re.compile(r"^[ \t]*\[[ \t]*plugins\b|^[ \t]*version[ \t]*=[ \t]*\d\s*$", re.M)
_IPCONFIG = re.compile(r"^(?:Windows IP Configuration|\S.* adapter .+:\s*$)", re.M)
_NET_ADAPTER = re.compile(r"^Name\s+InterfaceDescription\b", re.M)
_NODES = re.compile(r"^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION\b", re.M)
_KUBELET = re.compile(r"^[ \t]*\"?kind\"?:[ \t]*\"?KubeletConfiguration\b", re.M)
_FORMS = (
    *((_KUBELET, KUBELET), (_NODES, NODES), (_HNS_LISTING, HNS)),
    *((_NET_ADAPTER, ADAPTERS), (_IPCONFIG, ADAPTERS), (_TOML, CONTAINERD)),
)
_ENDPOINT_KEYS = {"IPAddress", "VirtualNetwork", "VirtualNetworkName", "MacAddress", "HostComputeNetwork"}
_NETWORK_KEYS = {"Subnets", "ManagementIP", "NetworkAdapterName", "Ipams", "MacPools"}


_SHOWN = 200
"""Characters of a parser's sentence, which may quote the text."""

NOTHING = "Nothing is wrong, or known,"
"""So the answer begins where there is nothing to say."""


def kind_of(text: str) -> str:
    """What a text is, by its form; messages of programs if nothing else."""
    found: list[Any] | None = None
    if text.lstrip()[:1] in {"[", "{"}:
        found = _objects(text)
        keys = {key for each in found if isinstance(each, Mapping) for key in each}
        if "cniVersion" in keys or {"name", "plugins"} <= keys or {"type", "ipam"} <= keys:
            return CNI
        if keys & (_ENDPOINT_KEYS | _NETWORK_KEYS):
            return HNS
        if {"InterfaceDescription", "ifIndex"} & keys:
            return ADAPTERS
    low = text.lower()
    for pattern, kind in _FORMS:
        # A long log is searched only for what it may have.
        if any(word in low for word in words_of(pattern.pattern) or ()) and pattern.search(text):
            return LOG if kind == CONTAINERD and found else kind
    return LOG


def _objects(text: str) -> list[Any]:
    """Of one or several JSON values, those within a list too; none of other text."""
    return [each for value in json_values(text) or [] for each in (value if isinstance(value, list) else [value])]


class Worth(IntEnum):
    """What an answer is worth, as the exit status of the command."""

    CAUSE = 0
    """A cause, or a short list of causes."""
    NOTHING = 1
    PLACES = 3
    """Where something failed, or which code it has, and no cause."""


@dataclass(frozen=True, slots=True)
class Explained:
    """For a terminal; the last line says what was looked at."""

    lines: tuple[str, ...]
    worth: Worth


def explain(texts: Mapping[str, str]) -> Explained:
    """What each text was taken for, what it shows, and what mends it in any cluster."""
    kinds = {name: kind_of(text) for name, text in texts.items()}
    of_hns, of_adapters = (
        dict.fromkeys(text for name, text in texts.items() if kinds[name] == kind) for kind in (HNS, ADAPTERS)
    )
    causes = list(_of_scene(of_hns, of_adapters))
    checkers: Mapping[str, Callable[[str], Iterator[str]]] = {CONTAINERD: _of_containerd, KUBELET: _of_kubelet}
    for name, text in texts.items():
        if kinds[name] == CNI:
            causes += _of_cni(name, text)
        elif kinds[name] in checkers:
            causes += [f"{name}: {said}" for said in checkers[kinds[name]](text)]
    found = [(Worth.CAUSE, said) for said in causes]
    for name in (each for each in texts if kinds[each] == NODES):
        found += [(worth, f"{name}: {said}") for worth, said in _of_nodes(texts[name])]
    for name in (each for each in texts if kinds[each] == LOG):
        told = meanings(texts[name], "")
        found += [(Worth.PLACES if is_place(each) else Worth.CAUSE, f"{name}: {say(each)}") for each in told]
    taken = ", ".join(f"{name} ({kinds[name]})" for name in texts)
    if not found:
        return Explained((f"{NOTHING} in {taken}.",), Worth.NOTHING)
    return Explained((*(said for _worth, said in found), f"Looked at: {taken}."), min(worth for worth, _said in found))


def _of_scene(of_hns: Collection[str], of_adapters: Collection[str]) -> Iterator[str]:
    """Of HNS's listings and of adapters, each text once."""
    parts: dict[str, Any] = {}
    hns: dict[str, Any] = {}
    if of_adapters:
        parts["adapters"] = [each for text in of_adapters for each in adapters(text)]
    for text in of_hns:
        for kind in _hns_kinds(text):
            hns[kind] = f"{hns[kind]}\n{text}" if kind in hns else text
    if hns:
        parts["hns"] = {"available": True, **hns}
    if parts:
        from ..components.layout import Layout
        from ..components.node import Node
        from ..components.registry import PLACES
        from ..engine.reading import Reading
        from .scene import scene_of
        from .table import diagnose

        layout = Layout.of({each.name: each.default for each in PLACES})
        theirs = Node.unknown(layout, cni_managed_by="cluster", kube_proxy_managed_by="cluster")
        scene = scene_of(Reading(parts=parts), theirs)
        for cause in diagnose(scene).causes:
            yield f"{cause.finding.title} [{cause.finding.id}]. {cause.finding.sentence}"


def _hns_kinds(text: str) -> Iterator[str]:
    """Which of HNS's lists a text has."""
    sections = [kind for kind in HNS_KINDS if re.search(rf"^[ \t]*{kind}\b", text, re.I | re.M)]
    if sections:
        # An empty section of a pasted listing may have been cut: nothing is concluded from it.
        yield from (kind for kind in sections if read_pasted(text, kind).objects)
        return
    try:
        keys = {key for each in read_pasted(text).objects for key in each}
    except PastedError:
        return
    yield "endpoints" if keys & _ENDPOINT_KEYS and not keys & _NETWORK_KEYS else "networks"


def _of_cni(name: str, text: str) -> Iterator[str]:
    """Each sentence begins with the name."""
    from ..components.cni.judge import judge
    from ..components.cni.rules import Subject

    for each in judge(text, Subject(name)):
        yield each.sentence


def _of_containerd(text: str) -> Iterator[str]:
    """What holds for every node; what a node's settings want only a node can say."""
    from ..components.containerd.containerd_toml import Document

    try:
        check_toml(text)
        document = Document.parse(text)
    except ForeignError as error:
        yield f"config.toml is not looked at: {error}"
        return
    except (TOMLDecodeError, RecursionError) as error:
        yield f"config.toml is not TOML: {str(error)[:_SHOWN]}. containerd does not start."
        return
    version = document.get(("version",), 1)
    if version not in (2, 3, 4):
        yield f"{document.at(('version',))}version is {shorten(version)}: containerd 2 reads 2, 3 and 4, 1.x reads 2."
    for name in document.strings(("disabled_plugins",)):
        if name in {CRI, IMAGES, RUNTIME, "cri"}:
            yield f"{document.at(('disabled_plugins',))}disabled_plugins turns {name} off: kubelet finds no runtime."


_NO_CGROUPS = ("cgroupsPerQOS", "cgroupRoot", "systemReservedCgroup", "kubeReservedCgroup", "kubeletCgroups")
"""What a kubelet of Windows refuses or has no use for. Source: kubernetes pkg/kubelet/apis/config/validation
validation_windows.go."""


def _of_kubelet(text: str) -> Iterator[str]:
    try:
        config = load_yaml(text)
    except ForeignError as error:
        yield f"The kubelet's configuration cannot be read: {error}"
        return
    if not isinstance(config, Mapping):
        return
    for key in _NO_CGROUPS:
        if config.get(key):
            shown = shorten(config[key])
            yield f"{key}: {shown} is for Linux, and a kubelet of Windows does not start with it. Take it out."
    if enforced := config.get("enforceNodeAllocatable"):
        yield f"enforceNodeAllocatable: {shorten(enforced)} is for Linux: write [] for a node of Windows."
    if str(config.get("containerRuntimeEndpoint") or "npipe:").startswith("unix:"):
        yield (
            f"containerRuntimeEndpoint: {shorten(config['containerRuntimeEndpoint'])} is a socket of Linux: Windows "
            r"has npipe:////./pipe/containerd-containerd."
        )


def _of_nodes(text: str) -> Iterator[tuple[Worth, str]]:
    """Of `kubectl get nodes`: those that are not as they should be. Why one is not Ready stands elsewhere."""
    rows = [line for line in text.splitlines() if line.strip() and not line[:1].isspace() and not _NODES.match(line)]
    for row in rows:
        name, status, *_rest = [*row.split(), "", ""][:3]
        if "NotReady" in status or "Unknown" in status:
            said = f"{name} is {status}: kubectl describe node {name} says why, and so does winkube.node.diagnose."
            yield Worth.PLACES, said
        elif "SchedulingDisabled" in status:
            yield Worth.CAUSE, f"{name} is cordoned: kubectl uncordon {name}, when you are done."


_ADAPTER = re.compile(r"^\S.*? adapter (?P<name>.+?):\s*$")
_FIELD = re.compile(r"^\s+(?P<key>[\w ]+?)[ .]*:\s*(?P<value>.*)$")


def adapters(text: str) -> list[dict[str, Any]]:
    """The adapters of ipconfig (in English) or Get-NetAdapter, as a reading has them."""
    if text.lstrip()[:1] in {"[", "{"}:
        rows = [each for each in _objects(text) if isinstance(each, Mapping)]
        return [
            _adapter(str(each.get("Name") or ""), number, str(each.get("Status", "Up")))
            for number, each in enumerate(rows)
        ]
    if head := _NET_ADAPTER.search(text):
        lines = text[head.start() :].splitlines()
        at = lines[0].index("InterfaceDescription")
        return [
            _adapter(line[:at].strip(), number, "Up" if re.search(r"\bUp\b", line[at:]) else "Down")
            for number, line in enumerate(lines[1:])
            if line[:at].strip("- ")
        ]
    found: list[dict[str, Any]] = []
    for line in text.splitlines():
        if len(line) > WINDOW:
            continue
        if start := _ADAPTER.match(line):
            found.append(_adapter(start["name"], len(found), "Up"))
        elif found and (field := _FIELD.match(line)):
            _set(found[-1], field["key"].casefold(), field["value"].partition("(")[0].strip())
    return found


def _adapter(name: str, number: int, status: str) -> dict[str, Any]:
    return {
        "name": name,
        "index": number + 2,
        "up": status.casefold() in {"up", "2"},
        "mac": "",
        "mtu": 1500,
        "dhcp": False,
        "ipv4": [],
        "gateways": [],
    }


def _set(adapter: dict[str, Any], key: str, value: str) -> None:
    if key == "media state":
        adapter["up"] = False
    elif key in {"ipv4 address", "ip address", "autoconfiguration ipv4 address"} and value:
        adapter["ipv4"].append({"address": value, "prefix": 24})
    elif key == "subnet mask" and adapter["ipv4"]:
        with suppress(ValueError):  # somebody masked it
            adapter["ipv4"][-1]["prefix"] = ip_network(f"0.0.0.0/{value}").prefixlen
    elif key == "default gateway" and value:
        adapter["gateways"].append(value)
    elif key == "physical address":
        adapter["mac"] = value
