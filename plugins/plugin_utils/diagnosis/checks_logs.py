# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings out of the ends of logs: a known message leads to a cause, and its lines are the evidence.

A message leads to the id of a check. Where that check looks at the machine itself (checks_*.py) and found the fault,
the lines join its evidence; where it did not, or could not look, the log alone makes the finding, with the same words
and the same remedy. What only logs tell stands in causes_*.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from ..messages.line import parse
from .check import Area, Check, Seen
from .finding import ERROR, Finding, Remedy
from .messages import Hit, search
from .places import is_drastic, look_first, look_next, place_sentence
from .remedies import advice
from .scene import Scene

AREAS = {"image": Area.WORKLOADS, "container": Area.WORKLOADS, "pod": Area.WORKLOADS,
         "volume": Area.WORKLOADS, "node": Area.NODE, "start": Area.PROGRAMS, "cluster": Area.PROGRAMS,
         "join": Area.PROGRAMS, "host": Area.PROGRAMS, "kubelet": Area.PROGRAMS}  # fmt: skip
"""By the first part of an id; the network for the others."""

FOLLOWS = {
    "hns": ("hns.no-network", "hns.no-host-adapter", "hns.pod-without-endpoint", "node.not-ready", "pod.*"),
    "flannel": ("hns.no-network", "flannel.no-subnet-env", "cni.absent", "node.not-ready", "pod.*"),
    "cni": ("hns.pod-without-endpoint", "node.not-ready", "pod.*"),
    "kube-proxy": ("kube-proxy.no-rules", "kube-proxy.rule-missing", "traffic.*"),
    "start": ("node.not-ready", "node.absent", "start.ends-at-once", "pod.*"),
    "cluster": ("node.not-ready", "node.absent", "pod.*"),
    "join": ("node.absent", "node.not-ready", "pod.*"),
    "host": ("pod.*", "container.*"),
    "kubelet": ("node.not-ready", "pod.*", "container.*"),
    "node": ("pod.*",),
    "pod": ("pod.stuck",),
    "image": ("pod.*",),
    "container": ("pod.*",),
    "volume": ("container.volume", "pod.*"),
}
"""What follows from a cause, by the first part of its id."""

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


def make_log_check(identity: str, title: str, cause: str, remedy: str | Remedy, *, severity: str = ERROR) -> Check:
    """A check that only a log can answer."""
    prefix = identity.partition(".")[0]
    return Check(
        identity,
        severity,
        title,
        cause,
        advice(remedy) if isinstance(remedy, str) else remedy,
        _nothing,
        explains=tuple(each for each in FOLLOWS[prefix] if each != identity),
        area=AREAS.get(prefix, Area.NETWORK),
    )


def _nothing(scene: Scene) -> Iterator[Seen]:
    """What only logs tell is found by `with_logs`, which searches them once for all checks."""
    return iter(())


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
        cause=place_sentence(parse(hit.lines[-1])) if hit.place else "",
    )


def _careful(check: Check, hit: Hit) -> Remedy | None:
    """What drains, rejoins or restarts comes after a look where one line, or a state, is all that speaks for it."""
    if hit.place:
        return advice(look_next(check.id, hit.lines[-1]))
    if hit.count > 1 or not is_drastic(check.remedy):
        return None
    return advice(look_first(check.id, check.remedy))


def _breaks(hit: Hit) -> tuple[str, ...]:
    folded = hit.program.casefold()
    follows = next((ids for name, ids in BREAKS.items() if name in folded), ())
    return tuple(each for each in follows if each != hit.finding)


def with_logs(found: Iterable[Finding], scene: Scene, known: Mapping[str, Check]) -> tuple[Finding, ...]:
    """The findings with what logs say to them, and those that logs alone make of checks of the machine."""
    findings = list(found)
    for hit in search(scene.logs, scene.quiet, scene.working):
        check = known.get(hit.finding)
        if check is None:
            continue
        at = next((number for number, each in enumerate(findings) if each.id == hit.finding), None)
        if at is None or only_logs(check):
            findings.append(check.finding(replace(_as_seen(hit), remedy=_careful(check, hit))))
        else:
            one = findings[at].with_evidence(*hit.lines)
            findings[at] = replace(one, explains=(*one.explains, *_breaks(hit)))
    return tuple(findings)


def only_logs(check: Check) -> bool:
    """Whether nothing but a log can make its finding."""
    return check.look is _nothing
