# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said where the cause is not known: the place and the code, and what to look at next.

    place_sentence(parse(line))   # "Not known: kubelet, mounting a volume of smb.csi.k8s.io: Windows 1219, ..."

A file of its own: meanings.py answers with it, and the same caution holds for what one line alone seems to prove.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..facts.message_places import (
    ANY_API,
    ANY_CONTAINER,
    ANY_IMAGE,
    ANY_LAYER,
    ANY_NETWORK,
    ANY_STREAM,
    ANY_UNMOUNT,
    ANY_VOLUME,
    API,
    ATTACH,
    ENDPOINT,
    HCS,
    HNS,
    HOT_ATTACH,
    JOINING,
    KUBELET,
    NAMESPACE,
    NETWORK,
    POD_NETWORK,
    PROCESS,
    PULL,
    RULE,
    SHARE,
    STAGE,
    VOLUME,
    WEBHOOK,
)
from .line import Line, groups_of, parse
from .remedy import Remedy, join_and

NO_CAUSE = "Not known"
"""So an answer begins that has a place, and no cause."""
_SAID = 120
"""So much of what a line says first stands for what was being done, where no table knows it."""


def place_sentence(line: Line) -> str:
    """Who, doing what, on what, and the innermost reason."""
    reason = str(line.innermost)
    first = line.chain[0].strip()[:_SAID] if len(line.chain) > 1 and not line.operation else ""
    said = "" if first in reason else first
    where = ", ".join(each for each in (line.speaker, line.operation or said) if each)
    where = f"{where} ({line.object})" if where and line.object else where or line.object
    return f"{NO_CAUSE}: {': '.join(each for each in (where, reason) if each)}".rstrip(".") + "."


_HNS = (
    "Compare hnsdiag list networks and endpoints with what the line names; read the event log "
    "Microsoft-Windows-Host-Network-Service-Admin."
)
_NETWORK = "Compare hnsdiag list networks with cni.conf; read containerd's log at that time."
_VOLUME = "Read the log of the CSI driver's pod on this node at the first error of this volume."
_IMAGE = "Run crictl pull IMAGE on the node; read containerd's log at that time."
_CONTAINER = (
    "Run crictl inspect on the container; read the event log Microsoft-Windows-Hyper-V-Compute-Admin at that time."
)
_CLUSTER = "curl.exe -k https://ADDRESS:6443/healthz on the node; compare the clock, then the kubeconfig."

LOOKS: tuple[tuple[tuple[str, ...], str], ...] = (
    ((WEBHOOK,), "Look at the webhook's Service, its pods and the caBundle of its configuration."),
    (
        (KUBELET, ANY_STREAM),
        "kubectl get node -o wide and kubectl get csr; try port 10250 from a control plane node.",
    ),
    ((SHARE,), "Try it on the node: New-SmbGlobalMapping -RemotePath \\\\SERVER\\SHARE -Credential (Get-Credential)."),
    (
        (ATTACH,),
        "kubectl get volumeattachments; read the log of the CSI driver's controller and that of its pod here.",
    ),
    ((HNS, NETWORK, ENDPOINT, RULE, NAMESPACE, HOT_ATTACH, JOINING), _HNS),
    ((ANY_VOLUME, ANY_UNMOUNT, VOLUME, STAGE), _VOLUME),
    ((PULL, ANY_IMAGE, ANY_LAYER), _IMAGE),
    ((POD_NETWORK, ANY_NETWORK), _NETWORK),
    ((HCS, PROCESS, ANY_CONTAINER), _CONTAINER),
    ((API, ANY_API), _CLUSTER),
)
"""What to look at next, by what was being done."""
_OF_ID: Mapping[str, str] = {
    "pod": "Run kubectl describe pod on the pod; the last event that names a reason says more. Paste it here.",
    "node": "Read the end of kubelet's log on the node; kubectl describe node has its conditions.",
    "hns": _HNS,
    "kube-proxy": _HNS,
    "flannel": _NETWORK,
    "cni": _NETWORK,
    "volume": _VOLUME,
    "image": _IMAGE,
    "container": _CONTAINER,
    "cluster": _CLUSTER,
    "join": "Run kubeadm join with --v=5 on the node.",
    "start": "Read the first error of the program's log after its start.",
    "host": "Read the System event log at that time.",
}
"""By the first part of a finding's id, where the line does not say what was being done."""
_LOOK_ELSE = "Read the lines before it, and the log of the program that it names."


def look_next(identity: str, raw: str = "") -> str:
    """The next look for a line, by what was being done, and for a finding's id."""
    line = parse(raw)
    done = {line.operation, *groups_of(line.operation)} if line.operation else line.operations
    by_operation = (text for operations, text in LOOKS if not done.isdisjoint(operations))
    return next(by_operation, _OF_ID.get(identity.partition(".")[0], _LOOK_ELSE))


def look_first(identity: str, remedy: Remedy) -> str:
    """The look in place of a drastic remedy: what that ends is said, and how it is done is not."""
    ended = join_and(sorted(remedy.ends))
    return (
        f"{look_next(identity)} What mends it ends {ended}, and this is one sign of it: only if the look, or a second "
        f"sign, shows the same, do what docs/diagnose.md says of {identity}."
    )
