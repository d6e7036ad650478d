# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one Node object says, held against what is wanted: nothing is asked of the machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..budget.count import Seen
from ..cluster.records import NodeCondition, NodeObject
from ..engine.printable import make_printable
from .condition import APPLIED_ELSEWHERE, HEALTHY, UP_TO_DATE, Condition, find_applied

_RELEASE = re.compile(r"v?(\d+\.\d+\.\d+)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the variables of a host want, as the options of k8s_windows_look of the same names; an empty release is not
    compared."""

    node_name: str
    kubernetes_version: str = ""
    containerd_version: str = ""


@dataclass(frozen=True, slots=True)
class Seeing:
    """One thing that is not as wanted: a reason, as a condition has it, and a sentence."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Look:
    """`paused`: a person has taken the Node out of every run. `findings` are empty for one that is as wanted, as far as
    its Node object tells."""

    there: bool
    ready: bool = False
    paused: bool = False
    cordoned: bool = False
    findings: Sequence[Seeing] = ()

    def to_data(self) -> dict[str, Any]:
        """As a task's result has it."""
        return asdict(self) | {"findings": [asdict(each) for each in self.findings]}


def look_at(node: NodeObject | None, wanted: Wanted, fingerprint: str = "") -> Look:
    """What of a Node is not as wanted. `fingerprint`: of the variables, empty if they are not compared."""
    if node is None:
        return Look(there=False, findings=(Seeing("NotJoined", f"The cluster has no Node {wanted.node_name}."),))
    seen = Seen.of(node)
    findings = [*_find_away(node, seen), *_compare(node, wanted, fingerprint), *_find_told(node)]
    return Look(True, seen.ready, seen.paused, seen.cordoned, tuple(findings))


def _find_away(node: NodeObject, seen: Seen) -> list[Seeing]:
    found: list[Seeing] = []
    if seen.paused:
        found.append(Seeing("Paused", "A person has paused it (annotation winkube.node/paused)."))
    if not seen.ready:
        ready = node.find_condition("Ready") or NodeCondition("Ready", "Unknown")
        said = make_printable(ready.message or "nothing is said of why")
        found.append(Seeing("NotReady", f"It is not Ready since {ready.since or 'ever'}: {said}"))
    if seen.mark is not None:
        found.append(Seeing("Marked", f"A run works on it, or has ended in its midst: {seen.mark.describe()}."))
    elif seen.cordoned:
        found.append(Seeing("Cordoned", "A person has cordoned it."))
    return found


def look_condition(node: NodeObject, wanted: Wanted, fingerprint: str = "") -> Condition | None:
    """UpToDate, as far as a look may say it: False where the variables are not those of the last run, and what was
    before once they are again. None where a run has to say it."""
    told = node.find_condition(UP_TO_DATE)
    findings = _compare(node, wanted, fingerprint)
    if findings:
        said = " ".join(each.message for each in findings)
        differs = told is not None and told.status == "False" and told.reason != APPLIED_ELSEWHERE
        return None if differs else Condition(UP_TO_DATE, "False", APPLIED_ELSEWHERE, said)
    if told is not None and told.reason == APPLIED_ELSEWHERE and fingerprint:
        return Condition(UP_TO_DATE, "True", "AsWanted", "The variables are again those of the last run.")
    return None


def _find_told(node: NodeObject) -> list[Seeing]:
    """What runs have said of it."""
    found = []
    for name in (UP_TO_DATE, HEALTHY):
        told = node.find_condition(name)
        if told is not None and told.status in {"False", "Unknown"} and told.reason != APPLIED_ELSEWHERE:
            found.append(Seeing(told.reason, make_printable(told.message)))
    return found


def _compare(node: NodeObject, wanted: Wanted, fingerprint: str) -> list[Seeing]:
    found = []
    for program, said, want in (
        ("kubelet", node.kubelet, wanted.kubernetes_version),
        ("containerd", node.containerd, wanted.containerd_version),
    ):
        runs, asked = _release(said), _release(want)
        if runs and asked and runs != asked:
            found.append(Seeing("OtherRelease", f"{program} {runs} runs, and {asked} is wanted."))
    if fingerprint and find_applied(node) != fingerprint:
        said = "The variables are not those of the last run that made it right."
        found.append(Seeing(APPLIED_ELSEWHERE, said if find_applied(node) else "No run has noted what it made."))
    return found


def _release(text: str) -> str:
    match = _RELEASE.match(text.strip())
    return match[1] if match else ""
