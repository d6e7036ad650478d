# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the CNI configuration that containerd takes: whether there is one, which, and what its linter finds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from ..components.cni.cni_conf import FILE
from ..engine import windows_path
from ..network.conf import ENDINGS
from ..network.model import Endpoint
from .check import Check, Seen, inside, listed, ranges
from .cni_lint import FIXED, RULES, Subject, lint
from .expectations import Expectations
from .finding import ERROR
from .remedies import FLANNEL_FILES, MEND_CNI_CONF, advice
from .scene import Scene

PLACEHOLDER = "external"

TITLES = {
    "cni.key-twice": "A key stands twice in the CNI configuration",
    "cni.ending": "The CNI configuration's ending does not fit what it holds",
    "cni.version": "A plugin does not know the configuration's cniVersion",
    "cni.dockershim-form": "cni.conf is of dockershim's form, the runtime is containerd",
    "cni.old-form": "A policy is of the form that containerd's plugins pass over",
    "cni.new-form": "A policy is of the form that dockershim's plugins do not know",
    "cni.policy-without-settings": "A policy's settings are dropped",
    "cni.policy-skipped": "A policy is passed over",
    "cni.policy-case": "A policy is not found, as it is written",
    "cni.policy-unknown": "A policy is of no type that HNS knows",
    "cni.policy-level": "A policy is of a type that endpoints do not have",
    "cni.policies-key": "The plugin reads its policies from another key",
    "cni.exception-wrong": "An exception is no network",
    "cni.exception-all": "An exception covers everything",
    "cni.no-provider-address": "The plugin is not told the node's address",
    "cni.value-unfilled": "A value in the CNI configuration was never filled in",
    "cni.value-type": "A value in the CNI configuration is a text where a list belongs",
    "cni.ignored-key": "Nobody reads a key of the CNI configuration",
    "cni.dns-search": "The CNI configuration has more than one DNS suffix",
    "cni.ipam": "The CNI configuration names another cloud's IPAM plugin",
    "cni.plugin-rare": "The CNI configuration names a program that is not known here",
}
"""Of the linter's findings that no check of this package makes itself."""


_ELSEWHERE = advice(
    "containerd's conf_dir is not winkube_cni_conf_dir, where flannel's configuration is written: run site.yml with "
    "the tag containerd, which sets it, or set winkube_cni_conf_dir to it."
)


def _absent(scene: Scene) -> Iterator[Seen]:
    if scene.expect.flannel and scene.cni_text == "":
        elsewhere = not windows_path.same(windows_path.parent(scene.cni_path), scene.layout.cni_conf_dir)
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
    wanted = bool(scene.expect.network_name or scene.expect.network_mode)
    if (FILE in found and scene.cni_file != FILE) or (nat and wanted and len(found) > 1):
        yield Seen(
            "CNI configuration",
            f"containerd uses {scene.cni_file}, the first of {listed(found)}",
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
    pods = ranges(scene.expect.cluster_cidr)
    outside = pods and not any(inside(address, pods) for each in stray for address in each.addresses)
    if stray and own and (outside or not taken):
        yield Seen(
            f"network {nat[stray[0].network].name}",
            f"{len(stray)} endpoints of pods are in it: {listed(each.label for each in stray[:3])}",
            f"pods in {listed(each.name for each in own)}",
        )


def _for_pods(name: str) -> bool:
    return PLACEHOLDER not in name.casefold() and name.casefold() != "ingress"


def _is_pod(endpoint: Endpoint) -> bool:
    """With a namespace, and its container's id in its name: Docker's containers have neither."""
    return not endpoint.remote and bool(endpoint.namespace) and bool(re.search(r"[0-9a-f]{8,}", endpoint.name))


def subject_of(expect: Expectations, file: str = FILE, programs: tuple[str, ...] | None = None) -> Subject:
    """What is known of the node that a CNI configuration is for."""
    return Subject(
        file,
        network_name=expect.network_name,
        plugins_version=expect.plugins_version,
        cluster_cidr=expect.cluster_cidr,
        service_cidr=expect.service_cidr,
        management_ip=expect.management_ip,
        programs=programs,
    )


def _linted(identity: str, scene: Scene) -> Iterator[Seen]:
    if not scene.cni_text or scene.cni_conf is None:
        return
    subject = subject_of(scene.expect, scene.cni_file, scene.programs)
    for each in lint(scene.cni_text, subject):
        if each.id == identity:
            yield Seen(each.subject, each.seen, each.wanted)


def _of_lint(identity: str, title: str) -> Check:
    rule = RULES[identity]
    return Check(
        identity,
        rule.severity,
        title,
        rule.cause,
        MEND_CNI_CONF
        if identity in FIXED
        else advice(f"{rule.remedy} site.yml with the tag flannel writes flannel's."),
        partial(_linted, identity),
        rule.issue,
        explains=("cni.exceptions", "hns.endpoint-*", "hns.policy-refused", "hns.element-not-found", "traffic.*"),
    )


CHECKS = (
    Check(
        "cni.absent",
        ERROR,
        "There is no cni.conf",
        "flanneld's network did not come, so it was not written; or somebody removed it.",
        FLANNEL_FILES,
        _absent,
        explains=("node.not-ready", "node.taint", "pod.*"),
    ),
    Check(
        "cni.unreadable",
        ERROR,
        "The CNI configuration cannot be read",
        "Somebody has edited it: Go's decoder takes strict JSON in UTF-8 without a byte order mark.",
        FLANNEL_FILES,
        _unreadable,
        explains=("cni.absent", "node.not-ready", "node.taint", "pod.*"),
    ),
    Check(
        "cni.not-first",
        ERROR,
        "containerd uses another file than the pod network's",
        "Another CNI, containerd's own installation (nat), or somebody's try has left its configuration in the folder.",
        advice("Remove what is not wanted, never the folder: containerd watches it from its start."),
        _not_first,
        "kubernetes-sigs/sig-windows-tools#215",
        explains=("cni.*", "pod.*", "hns.pod-without-endpoint"),
    ),
    Check(
        "cni.pods-on-nat",
        ERROR,
        "Pods are in the machine's nat network",
        "containerd took a configuration of its own plugin nat, when these pods were started: nobody outside of the "
        "machine reaches them.",
        advice(
            "Look into the folder of CNI configurations: remove the one of nat (0-containerd-nat.conf, .json), then "
            "delete these pods."
        ),
        _pods_on_nat,
        "kubernetes/kubernetes#101680",
        explains=("hns.pod-without-endpoint", "traffic.*", "pod.*"),
    ),
    *(_of_lint(identity, title) for identity, title in TITLES.items()),
)
