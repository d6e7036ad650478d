# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said where the cause is not known: the place and the code, and what to look at next.

    place_sentence(parse(line))   # "Not known: kubelet, mounting a volume of smb.csi.k8s.io: Windows 1219, ..."

A file of its own: meanings.py answers with it, and the same caution holds for what one line alone seems to prove.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .line import Line, parse
from .remedy import Action, Remedy

NO_CAUSE = "Not known"
"""So an answer begins that has a place, and no cause."""
_SAID = 120
"""So much of what a line says first stands for what was being done, where no table knows it."""
DRASTIC = re.compile(
    r"\b(?:drain|rejoin|join again|reinstall|restart (?:(?:a|the) (?:machine|service)|kubelet))", re.IGNORECASE
)
"""What ends pods or a node's membership: one line alone does not ask for it."""


def is_drastic(remedy: Remedy) -> bool:
    """Whether it drains, rejoins, restarts or installs again."""
    return remedy.action in {Action.REJOIN, Action.RESTART, Action.SWITCH} or DRASTIC.search(remedy.text) is not None


def place_sentence(line: Line) -> str:
    """Who, doing what, on what, and the innermost reason."""
    reason = str(line.innermost)
    first = line.chain[0].strip()[:_SAID] if len(line.chain) > 1 and not line.operation else ""
    said = "" if first in reason else first
    where = ", ".join(each for each in (line.speaker, line.operation or said) if each)
    where = f"{where} ({line.object})" if where and line.object else where or line.object
    return f"{NO_CAUSE}: {': '.join(each for each in (where, reason) if each)}".rstrip(".") + "."


LOOK: Mapping[str, str] = {
    "pod.": "Run kubectl describe pod on the pod; the last event that names a reason says more. Paste it here.",
    "node.": "Read the end of kubelet's log on the node; run verify on it.",
    "HNS": "Compare hnsdiag list networks and endpoints with what the line names; read the event log "
    "Microsoft-Windows-Host-Network-Service-Admin.",
    "attach": "kubectl get volumeattachments; read the log of the CSI driver's controller and that of its pod here.",
    "volume": "Read the log of the CSI driver's pod on this node; run the same New-SmbGlobalMapping there.",
    "image": "Run crictl pull IMAGE on the node; read containerd's log at that time.",
    "network": "Compare hnsdiag list networks with cni.conf; read containerd's log at that time.",
    "contain": "Run crictl inspect on the container; read the event log Microsoft-Windows-Hyper-V-Compute-Admin.",
    "webhook": "Look at the webhook's Service, its pods and the caBundle of its configuration.",
    "logs or exec": "kubectl get node -o wide and kubectl get csr; try port 10250 from a control plane node.",
    "cluster": "curl.exe -k https://ADDRESS:6443/healthz on the node; compare the clock, then the kubeconfig.",
    "join": "Run kubeadm join with --v=5 on the node.",
    "start": "Read the first error of the program's log after its start.",
    "host": "Read the System event log at that time.",
}
"""What to look at next, by a word of the place or of a finding's id."""
_LOOK_ELSE = "Read the lines before it, and the log of the program that it names; run diagnose on the node."


def look_next(identity: str, raw: str = "") -> str:
    """The next look for a finding's id and a line."""
    place = f"{place_sentence(parse(raw))} {identity}" if raw else identity
    place = place.replace("hns.", "HNS ").replace("cni.", "network ").replace("flannel.", "network ")
    place = place.replace("kube-proxy.", "HNS ")
    return next((text for word, text in LOOK.items() if word in place), _LOOK_ELSE)


def look_first(identity: str, remedy: Remedy) -> str:
    """A drastic remedy's text behind the look that has to come before it."""
    return f"{look_next(identity)} If it shows the same: {remedy.text}"
