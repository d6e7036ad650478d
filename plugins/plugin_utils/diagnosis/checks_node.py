# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of the Node object: there, Ready, labelled, with its address and a range, without the taints of trouble."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..components import networks
from ..engine.resource import Refused
from ..facts.node_labels import OS_LABEL
from ..words.cause import ERROR, WARNING, Area, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import advice
from .check import Check, Needs
from .cluster_view import Object
from .scene import Scene

NOT_READY_TAINTS = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.cloudprovider.kubernetes.io/uninitialized",
)
"""Taints that the cluster itself puts on a node that pods should not come to.

Source: kubernetes.io/docs/reference/labels-annotations-taints.
"""


PROBLEM = re.compile("Unhealthy$|Problem$|Deadlock$|^Frequent|^Readonly|^Corrupt")
"""Conditions that node-problem-detector sets, each True while there is a problem.

Source: kubernetes/node-problem-detector v1.36.0 config/*.json, `conditions`.
"""


def _subject(scene: Scene) -> str:
    return f"Node {scene.expected.node_name}"


def _absent(scene: Scene) -> Iterator[Seen]:
    if scene.node is None and scene.expected.kubernetes:
        yield Seen(_subject(scene), "the cluster has none of this name", "one")


def _nodes(scene: Scene) -> Iterator[Object]:
    if scene.node is not None and scene.whole:
        yield scene.node


def _not_ready(scene: Scene) -> Iterator[Seen]:
    for node in _nodes(scene):
        conditions = (node.get("status") or {}).get("conditions") or ()
        ready = next((one for one in conditions if one.get("type") == "Ready"), None)
        if ready is None or ready.get("status") != "True":
            said = ready or {}
            why = f"{said.get('reason') or 'no condition'}: {said.get('message') or 'nothing was said'}"
            yield Seen(_subject(scene), f"it is not Ready ({why.rstrip('.')})", "Ready")


def _problems(scene: Scene) -> Iterator[Seen]:
    for node in _nodes(scene):
        for each in (node.get("status") or {}).get("conditions") or ():
            if each.get("status") == "True" and PROBLEM.search(str(each.get("type"))):
                said = f"{each.get('reason')}: {each.get('message')}".rstrip(".")
                yield Seen(_subject(scene), f"its condition {each['type']} is True ({said})", "False")


def _labels(scene: Scene) -> Iterator[Seen]:
    for node in _nodes(scene):
        label = ((node.get("metadata") or {}).get("labels") or {}).get(OS_LABEL)
        if label != "windows":
            yield Seen(_subject(scene), f"its label kubernetes.io/os is {label or 'not there'}", "windows")


def _taints(scene: Scene) -> Iterator[Seen]:
    for node in _nodes(scene):
        taints = (node.get("spec") or {}).get("taints") or ()
        found = [str(taint.get("key")) for taint in taints if taint.get("key") in NOT_READY_TAINTS]
        if found:
            yield Seen(_subject(scene), f"it has the taint {', '.join(found)}", "none of them")


def _find_cordon(scene: Scene) -> Iterator[Seen]:
    for node in _nodes(scene):
        if (node.get("spec") or {}).get("unschedulable"):
            yield Seen(_subject(scene), "it is cordoned: no new pod comes to it", "uncordoned")


def _no_pod_cidr(scene: Scene) -> Iterator[Seen]:
    for node in _nodes(scene):
        if scene.expected.flannel_is_ours and not (node.get("spec") or {}).get("podCIDR"):
            yield Seen(_subject(scene), "it has no podCIDR", "a range for its pods")


def _address(scene: Scene) -> Iterator[Seen]:
    """Whether the cluster knows the node by its own address: the API server looks for the kubelet there."""
    for node in _nodes(scene):
        addresses = (node.get("status") or {}).get("addresses") or ()
        reported = [str(each.get("address")) for each in addresses if each.get("type") == "InternalIP"]
        try:
            own = networks.management(
                scene.first, interface_name=scene.interface_name, address=scene.expected.management_ip
            ).address
        except Refused:
            return
        if own not in reported:
            yield Seen(_subject(scene), f"its InternalIP is {', '.join(reported) or 'missing'}", own)


CHECKS = (
    Check(
        CAUSES["node.absent"],
        _absent,
        needs=Needs.NODE,
    ),
    Check(
        CAUSES["node.no-pod-cidr"],
        _no_pod_cidr,
        needs=Needs.NODE,
    ),
    Check(
        CAUSES["node.address"],
        _address,
        needs=Needs.NODE,
    ),
    Check(
        CAUSES["node.not-ready"],
        _not_ready,
        needs=Needs.NODE,
    ),
    Check(
        Cause(
            "node.problem",
            WARNING,
            "node-problem-detector has found a problem of the node",
            "One of its checks failed; the condition says which.",
            advice("Look at the program that the condition names, and at its log."),
            area=Area.NODE,
        ),
        _problems,
        needs=Needs.NODE,
    ),
    Check(
        Cause(
            "node.label",
            ERROR,
            "The Node is not labelled as Windows",
            "Another machine may have registered under this name: no pod for Windows comes to it.",
            advice("Look at the Node's addresses: another machine may have registered under this name."),
            area=Area.NODE,
        ),
        _labels,
        needs=Needs.NODE,
    ),
    Check(
        Cause(
            "node.taint",
            ERROR,
            "The cluster keeps pods away from the node",
            "It puts such a taint on a node that is in trouble.",
            advice("kubectl describe node says why."),
            area=Area.NODE,
        ),
        _taints,
        needs=Needs.NODE,
    ),
    Check(
        Cause(
            "node.cordoned",
            WARNING,
            "The Node is cordoned",
            "Somebody, or an interrupted run, has cordoned it.",
            advice("kubectl uncordon, when you are done."),
            area=Area.NODE,
        ),
        _find_cordon,
        needs=Needs.NODE,
    ),
)
