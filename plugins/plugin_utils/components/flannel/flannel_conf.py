# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""net-conf.json for flanneld on a Windows node, and its comparison with the cluster's."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from ...cluster.records import NET_CONF, VNI_NOTE, Backend, ConfigMap, NetConf
from ...engine.gate import Unexpected
from ...engine.printable import make_sentence
from ...engine.resource import Refused
from ...facts import flannel as facts
from ...facts.node_labels import OS_LABEL
from ...foreign.files import ForeignError
from ...foreign.values import load_json
from .. import networks

SUPPORTED = tuple(facts.BACKENDS)
ANY_VNI = range(facts.VNI, 2**24)
"""Of a flannel that Linux and Windows nodes configure alike. Source: flannel v0.28.10
pkg/backend/vxlan/vxlan_windows.go."""
BACKEND_TYPE, BACKEND_DATA = "flannel.alpha.coreos.com/backend-type", "flannel.alpha.coreos.com/backend-data"
"""What flannel notes on its Node. Source: flannel v0.28.10 pkg/subnet/kube/annotations.go, pkg/backend/vxlan/vxlan.go
(vxlanLeaseAttrs)."""


def check_mode(mode: str, build: int | None) -> None:
    """Refused for a network mode without a backend in flannel, and for overlay on a build where it cannot work."""
    if mode in facts.OTHER_MODES:
        raise Refused(
            f"winkube_network_mode: flannel has no backend for {mode}, {facts.OTHER_MODES[mode].why}; it has "
            "l2bridge (host-gw) and overlay (vxlan). For another network set winkube_cni_managed_by: cluster."
        )
    if mode not in facts.BACKENDS:
        raise Refused(f"winkube_network_mode: '{mode}' is not one of {', '.join((*SUPPORTED, *facts.OTHER_MODES))}.")
    if mode == "overlay" and build in facts.NO_OVERLAY_BUILDS:
        raise Refused(
            f"winkube_network_mode: on {facts.NO_OVERLAY_BUILDS[build]} (build {build}) service addresses do not work "
            "with win-overlay; take l2bridge, or Windows Server 2019 or later."
        )


def network_name(mode: str, name: str) -> str:
    """The HNS network's name: `name`, or cbr0 or vxlan0 by mode. cni.conf and kube-proxy must use the same."""
    return name or facts.BACKENDS[mode].network


def net_conf(mode: str, cluster: str, name: str) -> str:
    """The file's text. Windows needs a VNI of at least 4096 and port 4789; both are written, since Linux' defaults
    differ."""
    backend: dict[str, Any] = {"Type": facts.BACKENDS[mode].type}
    if mode == "overlay":
        backend |= {"VNI": facts.VNI, "Port": facts.PORT, "Name": name}
    elif name != facts.BACKENDS[mode].network:
        backend["Name"] = name
    network = str(networks.list_pod_ranges(cluster)[0])
    return json.dumps({"Network": network, "Backend": backend}, indent=2) + "\n"


def cluster_net_conf(config_map: ConfigMap, where: str) -> NetConf:
    """net-conf.json from flannel's ConfigMap. Refused if the ConfigMap has none that can be used."""
    try:
        return NET_CONF(load_json(config_map.data["net-conf.json"]), "net-conf.json")
    except KeyError:
        raise Refused(f"The ConfigMap {where} has no net-conf.json.") from None
    except (ForeignError, Unexpected) as error:
        sentence = str(error).rstrip(".")
        raise Refused(f"The ConfigMap {where} has no net-conf.json that can be read: {sentence}.") from None


def _vxlan_problems(backend: Backend, where: str, vnis: Container[int]) -> Iterator[str]:
    for key, given, fits, needed, linux in (
        ("VNI", backend.vni, backend.vni in vnis, facts.VNI, "1 (its default)"),
        ("Port", backend.port, backend.port == facts.PORT, facts.PORT, f"{facts.DEFAULT_PORT} (its default)"),
    ):
        if not fits:
            yield (
                f"{where}: the cluster's flannel has {key} {linux if given is None else given}, Windows nodes need "
                f'{needed}: set "{key}": {needed} in net-conf.json there and restart flannel on the Linux nodes.'
            )
    for key, on in (("DirectRouting", backend.direct_routing), ("GBP", backend.gbp)):
        if on:
            yield f'{where}: the cluster\'s flannel has "{key}": true, which flanneld on Windows refuses to start with.'


def windows_problems(backend: Backend, where: str) -> tuple[str, ...]:
    """Why flanneld on Windows does not start with this backend, which Linux nodes and Windows nodes share."""
    vxlan = facts.BACKENDS["overlay"].type
    return tuple(_vxlan_problems(backend, where, ANY_VNI)) if backend.type.casefold() == vxlan else ()


def node_problems(nodes: Iterable[Mapping[str, Any]], mode: str) -> tuple[str, ...]:
    """Where what flannel notes on Linux Nodes does not fit this node: backend and VNI, not the port. One sentence for
    each value, with the first Node that has it. This is all that k3s shows of its flannel."""
    wanted = facts.BACKENDS[mode]
    said: dict[str | int, str] = {}
    for each in _with_flannel(nodes):
        kind, vni, where = each.backend, each.vni, f"Node {each.name}"
        if kind.casefold() != wanted.type:
            said.setdefault(
                kind, f"{where}: its flannel uses the backend {kind}, winkube_network_mode {mode} needs {wanted.type}."
            )
        elif mode == "overlay" and vni is not None and vni != facts.VNI:
            said.setdefault(
                vni,
                f"{where}: its flannel has VNI {vni}, Windows nodes need {facts.VNI}: set it where the cluster's maker "
                f"configures flannel (net-conf.json; with k3s --flannel-conf), with Port {facts.PORT}.",
            )
    return tuple(said.values())


def unseen_port(nodes: Iterable[Mapping[str, Any]], mode: str) -> str:
    """What has to be looked at by hand: nothing in the cluster tells the port of a flannel without a ConfigMap. Empty
    where no Linux Node has one that fits as far as it is seen."""
    fitting = [each for each in _with_flannel(nodes) if each.backend.casefold() == facts.BACKENDS[mode].type]
    if mode != "overlay" or not fitting:
        return ""
    first = next((each for each in fitting if each.conf), fitting[0])
    runs = f" runs {first.version}, whose flannel" if first.version else ": its flannel"
    file = f"{first.conf} ({facts.K3S_CONF})" if first.conf else "its net-conf.json"
    return (
        f"Node {first.name}{runs} tells its VNI, and nothing in the cluster its port. Windows nodes need {facts.PORT}: "
        f'where {file} on each Linux node has no "Port": {facts.PORT}, it is {facts.DEFAULT_PORT}, and packets between '
        "Linux and Windows pods are lost. ip -d link show type vxlan tells it there (dstport)."
    )


class _Flannel(NamedTuple):
    """What a Linux Node tells of its flannel. `version`: its kubelet's, where that is k3s', and `conf` the file that is
    k3s' net-conf.json; both empty elsewhere."""

    name: str
    backend: str
    vni: int | None
    version: str
    conf: str


def _with_flannel(nodes: Iterable[Mapping[str, Any]]) -> Iterator[_Flannel]:
    for node in nodes:
        metadata = node.get("metadata") or {}
        notes = metadata.get("annotations") or {}
        if (metadata.get("labels") or {}).get(OS_LABEL) != "linux" or BACKEND_TYPE not in notes:
            continue
        version = str(((node.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion") or "")
        k3s = facts.K3S in version
        yield _Flannel(
            str(metadata.get("name")),
            str(notes[BACKEND_TYPE]),
            _read_vni(str(notes.get(BACKEND_DATA) or "")),
            version if k3s else "",
            _read_conf(str(notes.get(facts.K3S_ARGS) or "")) if k3s else "",
        )


def _read_conf(text: str) -> str:
    """The file in k3s' command line; empty where there is none, or it cannot be read."""
    try:
        line = load_json(text)
    except ForeignError:
        return ""
    words = [str(each) for each in line] if isinstance(line, list) else []
    return make_sentence(next((value for word, value in pairwise(words) if word == facts.K3S_CONF), ""))


def _read_vni(text: str) -> int | None:
    """None where it cannot be read."""
    try:
        return VNI_NOTE(load_json(text), BACKEND_DATA).vni
    except (ForeignError, Unexpected):
        return None


def cluster_problems(found: NetConf, mode: str, cluster: str, where: str) -> tuple[str, ...]:
    """Where the Linux nodes' flannel does not fit this node, one sentence each. Nothing is changed in the cluster."""
    backend = found.backend
    wanted = facts.BACKENDS[mode]
    problems = []
    kind = backend.type
    if kind.casefold() != wanted.type:
        fits = [name for name, each in facts.BACKENDS.items() if each.type == kind.casefold()]
        advice = f"take winkube_network_mode {fits[0]}" if fits else "it has to be changed there"
        problems.append(
            f"{where}: the cluster's flannel uses the backend {kind}, winkube_network_mode {mode} needs {wanted.type}; "
            f"{advice}."
        )
    elif mode == "overlay":
        problems += _vxlan_problems(backend, where, {facts.VNI})
    ours = networks.list_pod_ranges(cluster)
    theirs = found.network
    if theirs not in {str(each) for each in ours}:
        problems.append(
            f"{where}: the cluster's flannel has the Network {theirs or '(none)'}, winkube_cluster_cidr is {cluster}."
        )
    return tuple(problems)
