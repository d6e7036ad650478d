# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the CNI configuration that containerd takes: whether there is one, which, and which rules it breaks."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from ..components.cni.conf import ENDINGS, FILE
from ..components.cni.judge import judge
from ..components.cni.rules import Subject
from ..components.node import Node
from ..engine import windows_path
from ..engine.sentences import join_words
from ..network.model import Endpoint
from ..words.cause import ERROR, Cause
from ..words.causes import CAUSES
from ..words.causes_cni import RULES
from ..words.finding import Seen
from ..words.remedies import advice, converge
from .check import Check, inside, ranges
from .checks_network import PLACEHOLDER
from .scene import Scene

_ELSEWHERE = converge(
    "containerd",
    text="containerd's conf_dir is not the folder where flannel's configuration is written: set it in config.toml, and "
    "restart containerd.",
    variables=("winkube_cni_conf_dir",),
).untried()


def _absent(scene: Scene) -> Iterator[Seen]:
    if scene.expected.flannel_is_ours and scene.cni_text == "":
        elsewhere = not windows_path.is_same(windows_path.parent(scene.cni_path), scene.layout.cni_conf_dir)
        yield Seen(
            scene.cni_file,
            f"there is no {scene.cni_path}: no pod can start",
            "flannel's configuration",
            remedy=_ELSEWHERE if elsewhere else None,
        )


def _unreadable(scene: Scene) -> Iterator[Seen]:
    if scene.cni_problem:
        yield Seen(scene.cni_file, scene.cni_problem.rstrip("."), "strict JSON in UTF-8, an object")


def _not_first(scene: Scene) -> Iterator[Seen]:
    """Another file than ours, or the configuration of containerd's own `nat` before one of a pod network."""
    found = sorted(each for each in scene.conf_files if each.endswith(ENDINGS))
    nat = scene.cni_conf is not None and all(each.type == "nat" for each in scene.cni_conf.plugins)
    wanted = bool(scene.network_name or scene.network_mode)
    if (FILE in found and scene.cni_file != FILE) or (nat and wanted and len(found) > 1):
        yield Seen(
            "CNI configuration",
            f"containerd uses {scene.cni_file}, the first of {join_words(found)}",
            f"{FILE} alone, or first" if FILE in found else "the pod network's file alone, or first",
        )


def _pods_on_nat(scene: Scene) -> Iterator[Seen]:
    """Pods on the machine's own nat network while there is one for pods."""
    if not scene.hns.knows("networks", "endpoints"):
        return
    own = [each for each in scene.hns.networks if each.type in {"overlay", "l2bridge"} and _for_pods(each.name)]
    nat = {each.id: each for each in scene.hns.networks if each.type == "nat"}
    stray = [each for each in scene.hns.endpoints if each.network in nat and _is_pod(each)]
    taken = [each for each in scene.hns.endpoints if scene.is_pods(each) and each.network in {one.id for one in own}]
    pods = ranges(scene.expected.cluster_cidr)
    outside = pods and not any(inside(address, pods) for each in stray for address in each.addresses)
    if stray and own and (outside or not taken):
        yield Seen(
            f"network {nat[stray[0].network].name}",
            f"{len(stray)} endpoints of pods are in it: {join_words(each.label for each in stray[:3])}",
            f"pods in {join_words(each.name for each in own)}",
        )


def _for_pods(name: str) -> bool:
    return PLACEHOLDER not in name.casefold() and name.casefold() != "ingress"


def _is_pod(endpoint: Endpoint) -> bool:
    """With a namespace, and its container's id in its name: Docker's containers have neither."""
    return not endpoint.remote and bool(endpoint.namespace) and bool(re.search(r"[0-9a-f]{8,}", endpoint.name))


def subject_of(expected: Node, network_name: str, file: str = FILE) -> Subject:
    """What is expected of the node that a CNI configuration is for."""
    return Subject(
        file,
        network_name=network_name,
        plugins_version=expected.flannel.plugins_version,
        cluster_cidr=expected.cluster_cidr,
        service_cidr=expected.service_cidr,
        management_ip=expected.management_ip,
    )


def _subject(scene: Scene) -> Subject:
    """The same, with what was seen of the node."""
    network, adapters = scene.pod_network, scene.adapters or ()
    mode = network.type if network else ""
    return replace(
        subject_of(scene.expected, scene.network_name, scene.cni_file),
        subnets=tuple(_host_subnets(scene)),
        programs=scene.programs,
        networks=tuple(each.name for each in scene.hns.networks) if scene.hns.knows("networks") else None,
        mode=mode,
        addresses=tuple(own for each in adapters for own, _length in each.addresses) if mode == "overlay" else None,
        dsr=bool(scene.uses_dsr),
    )


def _host_subnets(scene: Scene) -> Iterator[str]:
    """The networks of the address that is expected, else of the pod network's management address if the host has it."""
    network = scene.pod_network
    wanted = scene.expected.management_ip or (network.management_ip if network else "")
    for adapter in scene.adapters or ():
        for address, length in adapter.addresses:
            if address == wanted and not ipaddress.IPv4Address(address).is_link_local:
                yield str(ipaddress.IPv4Network(f"{address}/{length}", strict=False))


def _find_broken(identity: str, scene: Scene) -> Iterator[Seen]:
    if not scene.cni_text or scene.cni_conf is None:
        return
    for each in judge(scene.cni_text, _subject(scene)):
        if each.id == identity:
            yield Seen(each.subject, each.seen, each.wanted)


def _of_rule(cause: Cause) -> Check:
    return Check(cause, _unreadable if cause.id == "cni.unreadable" else partial(_find_broken, cause.id))


CHECKS = (
    Check(
        CAUSES["cni.absent"],
        _absent,
    ),
    Check(
        Cause(
            "cni.not-first",
            ERROR,
            "containerd uses another file than the pod network's",
            "Another CNI, containerd's own installation (nat), or somebody's try has left its configuration in the "
            "folder.",
            advice("Remove what is not wanted, never the folder: containerd watches it from its start."),
            "kubernetes-sigs/sig-windows-tools#215",
            explains=("cni.*", "pod.*", "hns.pod-without-endpoint"),
        ),
        _not_first,
    ),
    Check(
        CAUSES["cni.pods-on-nat"],
        _pods_on_nat,
    ),
    *(_of_rule(each.cause) for each in RULES.values()),
)
