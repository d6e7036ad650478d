# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From answers to verdicts: what fails only because something else does is told apart from what is broken itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from .commands import WORD
from .model import Answer, Check, Finding
from .plan import GROUPS

BANNER = "<H1>Windows Container Web Server</H1>"
"""What the guide's web server says."""
REMEDIES = {
    "nodes": "Look at the Node's conditions, then run playbooks/verify.yml and playbooks/diagnose.yml.",
    "pods": "kubectl describe pod tells the reason. For pods that stay in ContainerCreating or cannot be pulled: the "
    "pause image and the image have to be of the node's build, and the node has to reach the registry.",
    "node-to-pod": "Look whether flanneld runs on the Linux node too and has a route or an FDB entry for the Windows "
    "node's range; on virtual machines whether MAC spoofing is allowed.",
    "pod-to-pod": "Look at the HNS network and at cni.conf on both nodes, whether the adapters of virtual machines may "
    "use other MAC addresses, and UDP 4789 or the routes between the nodes.",
    "service": "Look whether kube-proxy runs on the node, with the right source VIP and network name, and whether HNS "
    "has policy lists (playbooks/verify.yml).",
    "discovery": "Look whether CoreDNS runs, whether the pod has its address as DNS server, and whether the Service's "
    "addresses are among the exceptions of the outbound NAT.",
    "inbound": "Look whether a firewall between the hosts lets the NodePort through. From the Windows node itself it "
    "does not work.",
    "outbound": "Compare the exceptions of cni.conf with the ranges of cluster, Services and nodes: the external "
    "address must not be in them. Try with curl, not with ping.",
    "pod-to-node": "Look at the firewall of the other node, and whether the nodes' own range is among the exceptions "
    "of cni.conf: with l2bridge it has to be, with overlay it must not.",
    "image": "Look at the pod's events and at the registries of the node (docs/registries.md).",
    "dns-config": "Look at clusterDNS of the kubelet and at dns in cni.conf: on Windows the CNI plugin passes it on.",
    "user": "Look at runAsUserName of the pod; a mutating webhook may have changed it.",
    "reserved": "Look at systemReserved, kubeReserved and evictionHard of the kubelet.",
}
"""What to do about a broken check, by its group."""
_ADDRESS = re.compile(r"^\d+\.\d+\.\d+\.\d+\s*$", re.MULTILINE)
_STATUS = re.compile(r"[1-5]\d\d")
_LONG = 200


def verdicts(checks: Sequence[Check], answers: Mapping[str, Answer]) -> tuple[Finding, ...]:
    """A finding for each check. `answers`: by the check's id, for those that were run."""
    first = {check.id: _alone(check, check.answer or answers.get(check.id)) for check in checks}
    failed = {check.group for check in checks if first[check.id][0] == "failed"}
    return tuple(_finding(check, *first[check.id], failed) for check in checks)


def _finding(check: Check, state: str, seen: str, failed: set[str]) -> Finding:
    if state == "ok":
        return Finding(check, "ok", seen)
    if state == "skipped":
        return Finding(check, "skipped", seen)
    if state == "limitation" or check.limitation:
        return Finding(check, "limitation", f"{seen} {check.limitation}".strip())
    causes = [GROUPS[name] for name in check.needs if name in failed]
    if causes:
        return Finding(check, "follows", f"{seen} It follows from what is broken there: {', '.join(causes)}.")
    return Finding(check, "broken", seen, REMEDIES[check.group])


def _alone(check: Check, answer: Answer | None) -> tuple[str, str]:
    """`ok`, `failed`, `skipped` or `limitation`, and what was seen."""
    if check.exclusion:
        return "skipped", check.exclusion
    if check.where == "none":
        return "limitation", ""
    if answer is None:
        return "skipped", "Its command was not run."
    if answer.error:
        return "failed", _sentence(answer.error)
    said = _short(answer.stderr or answer.stdout)
    if check.expect == "denied":
        if answer.code != 0 and "denied" in f"{answer.stdout}{answer.stderr}".lower():
            return "ok", "Access is denied, as it has to be."
        return "failed", _sentence(f"the file was written, or the answer is another one: {said or answer.code}")
    if answer.code != 0:
        return "failed", _sentence(said) if said else f"It ended with {answer.code} and said nothing."
    return _content(check, answer.stdout)


def _content(check: Check, text: str) -> tuple[str, str]:
    shown = _short(text)
    if check.expect == "banner":
        right, wrong = BANNER in text, "the answer is not the web server's page"
    elif check.expect == "echo":
        right, wrong = text.strip() == WORD, f"'{WORD}' was sent, and something else came back"
    elif check.expect == "http":
        right, wrong = _STATUS.fullmatch(text.strip()) is not None, "there is no HTTP status"
    elif check.expect == "reply":
        right, wrong = "TTL=" in text, "no reply"
    elif check.expect == "address":
        right, wrong = _ADDRESS.search(text) is not None, "the name has no address"
    elif check.expect == "dns":
        right, wrong = check.wanted in text.split(), f"{check.wanted} is not among the pod's DNS servers"
    elif check.expect == "user":
        right = text.strip().lower().rpartition("\\")[2] == check.wanted
        wrong = f"the user is not {check.wanted}"
    else:
        right, wrong = True, ""
    if right:
        return "ok", _ok(check, shown)
    return "failed", _sentence(f"{wrong}: {shown or 'nothing was printed'}")


def _ok(check: Check, shown: str) -> str:
    if check.expect == "banner":
        return "The web server answers."
    if check.expect == "echo":
        return "What was sent came back."
    if check.expect == "reply":
        return "It replies."
    return _sentence(shown) if shown else "It is so."


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONG else f"{line[:_LONG]}..."


def _sentence(text: str) -> str:
    stripped = text.strip()
    return stripped if stripped.endswith((".", "!", "?")) else f"{stripped}."
