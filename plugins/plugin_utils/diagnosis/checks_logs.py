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

from ..facts.ambiguous import Ambiguous
from ..words.cause import Cause
from ..words.finding import Finding, Seen
from ..words.line import parse
from ..words.messages import Hit, search
from ..words.places import look_first, look_next, place_sentence
from ..words.remedies import advice
from ..words.remedy import Remedy
from ..words.several import several_of, without
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
    found: Iterable[Finding],
    scene: Scene,
    known: Mapping[str, Cause],
    looked: Collection[str] = (),
    ruled_out: Collection[str] = (),
) -> tuple[Finding, ...]:
    """The findings with what logs say to them, and those that logs alone make of the known causes. `looked` are the ids
    of those that a check finds on the machine itself, `ruled_out` those that it looked for there and did not find."""
    findings = list(found)
    hits = search(scene.logs, scene.quiet, scene.working)
    for hit in hits:
        row = _left_of(hit.row, findings, looked, ruled_out)
        identity = hit.finding if row is None else row.causes[0].id
        cause = known.get(identity)
        if cause is None:
            continue
        at = next((number for number, each in enumerate(findings) if each.id == identity), None)
        if at is not None and identity in looked:
            findings[at] = findings[at].with_evidence(*hit.lines, explains=_breaks(hit))
        elif row is not None and len(row.causes) > 1:
            findings.append(Finding(_as_several(cause, row, known), _as_seen(hit)))
        else:
            own = (each for each in hits if each.finding == hit.finding)
            findings.append(Finding(cause, replace(_as_seen(hit), remedy=_careful(cause, hit, own))))
    return tuple(findings)


def _left_of(
    row: Ambiguous | None, findings: Iterable[Finding], looked: Collection[str], ruled_out: Collection[str]
) -> Ambiguous | None:
    """Of several causes the one that a check has found, else those that none has ruled out; all if they are all."""
    if row is None:
        return None
    seen = {each.id for each in findings if each.id in looked}
    there = tuple(each for each in row.causes if each.id in seen)
    left = there[:1] or without(row, frozenset(ruled_out)).causes or row.causes
    return replace(row, causes=left)


def _as_several(cause: Cause, row: Ambiguous, known: Mapping[str, Cause]) -> Cause:
    """The likeliest cause in the words of the list."""
    said = several_of(row, {each.id: known[each.id].title if each.id in known else each.id for each in row.causes})
    return replace(cause, title=said.title, why=said.cause, remedy=advice(said.look))
