# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings out of the ends of logs: a known message leads to a cause, and its lines are the evidence.

A message leads to the id of a check. Where that check looks at the machine itself (checks_*.py) and found the fault,
the lines join its evidence; where it did not, or could not look, the log alone makes the finding, with the same words
and the same remedy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from ..words.cause import Cause
from ..words.finding import Finding, Seen
from ..words.line import parse
from ..words.messages import Hit, search
from ..words.places import look_first, look_next, place_sentence
from ..words.remedies import advice
from ..words.remedy import Remedy
from ..words.signs import speak_twice
from .scene import Scene

_ENDS = ("crashes", "stopped", "unhealthy", "no-pipe")

BREAKS: Mapping[str, tuple[str, ...]] = {
    "containerd": (*(f"containerd.{kind}" for kind in _ENDS), "start.runtime-pipe", "kubelet.*"),
    "kubelet": tuple(f"kubelet.{kind}" for kind in _ENDS),
    "kube-proxy": (*(f"kube-proxy.{kind}" for kind in _ENDS), "kube-proxy.no-rules"),
    "flanneld": (
        *(f"flannel.{kind}" for kind in _ENDS),
        *("hns.no-network", "hns.no-host-adapter", "flannel.no-subnet-env", "cni.absent"),
    ),
}
"""What follows where a program says it of itself: it ended over it, or could not do its work."""


_LOG = "log of "


def from_log(finding: Finding) -> bool:
    """Whether a log alone shows it."""
    return finding.subject.startswith(_LOG)


def _as_seen(hit: Hit) -> Seen:
    times = f" ({hit.count} times)" if hit.count > 1 else ""
    return Seen(
        f"{_LOG}{hit.program}",
        f"it says: {hit.lines[-1]}{times}",
        evidence=(*hit.lines, f"Known from {hit.source}."),
        explains=_breaks(hit),
        why=place_sentence(parse(hit.lines[-1])) if hit.place else "",
    )


def _careful(cause: Cause, hit: Hit, hits: Iterable[Hit]) -> Remedy | None:
    """A look comes first where a state, or one sign in all logs, is all that speaks for what is drastic."""
    if hit.place:
        return advice(look_next(cause.id, hit.lines[-1]))
    if not cause.remedy.drastic or speak_twice(sign for each in hits for sign in each.signs):
        return None
    return advice(look_first(cause.id, cause.remedy))


def _breaks(hit: Hit) -> tuple[str, ...]:
    folded = hit.program.casefold()
    follows = next((ids for name, ids in BREAKS.items() if name in folded), ())
    return tuple(each for each in follows if each != hit.finding)


def with_logs(
    found: Iterable[Finding], scene: Scene, known: Mapping[str, Cause], looked: Collection[str] = ()
) -> tuple[Finding, ...]:
    """The findings with what logs say to them, and those that logs alone make of the known causes. `looked` are the ids
    of those that a check finds on the machine itself."""
    findings = list(found)
    hits = search(scene.logs, scene.quiet, scene.working)
    for hit in hits:
        cause = known.get(hit.finding)
        if cause is None:
            continue
        at = next((number for number, each in enumerate(findings) if each.id == hit.finding), None)
        if at is None or hit.finding not in looked:
            own = (each for each in hits if each.finding == hit.finding)
            findings.append(Finding(cause, replace(_as_seen(hit), remedy=_careful(cause, hit, own))))
        else:
            findings[at] = findings[at].with_evidence(*hit.lines, explains=_breaks(hit))
    return tuple(findings)
