# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a check: what it is called and says, and the function that looks."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ..components.networks import Range
from ..components.networks import parse_ranges as ranges
from .finding import Finding, Remedy
from .scene import Scene

__all__ = ["Area", "Check", "Needs", "Seen", "inside", "ranges"]

ISSUES = "https://github.com/"


class Area(StrEnum):
    """What a check is about; selections (table.py) are made of these."""

    PROGRAMS = "programs"
    """Services and their programs."""
    NETWORK = "network"
    """HNS, adapters, flannel, CNI, kube-proxy."""
    NODE = "node"
    """The Node object."""
    WORKLOADS = "workloads"
    """Pods and where their traffic goes."""


class Needs(StrEnum):
    """What a check needs besides what was read of the machine; it is left out where that was not asked."""

    NOTHING = ""
    NODE = "node"
    """The Node object, whether or not there is one."""
    CLUSTER = "cluster"
    """Services, EndpointSlices and the node's pods, too."""
    TRIED = "tried"
    """What only diagnose gathers: what pods, ports, registries and the cluster's objects say."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that a check saw. `remedy` and `cause` replace the check's own where more is known; `evidence` are
    lines that were read; `explains` are ids that follow from it besides the check's."""

    subject: str
    seen: str
    wanted: str = ""
    remedy: Remedy | None = None
    cause: str = ""
    evidence: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """`look` yields what is wrong in a scene, nothing where it cannot tell. The texts are those of its findings.
    `issue` is `<owner>/<repository>#<number>`; `explains` are the ids of findings, or patterns of them, that follow
    from this one; `role` is the component's that it looks at, if it is about one."""

    id: str
    severity: str
    title: str
    cause: str
    remedy: Remedy
    look: Callable[[Scene], Iterator[Seen]]
    issue: str = ""
    explains: tuple[str, ...] = ()
    needs: Needs = Needs.NOTHING
    area: Area = Area.NETWORK
    role: str = ""

    @property
    def link(self) -> str:
        """The address of the issue."""
        repository, _hash, number = self.issue.partition("#")
        return f"{ISSUES}{repository}/issues/{number}" if self.issue else ""

    def can(self, scene: Scene) -> bool:
        """Whether what it needs of the cluster was asked."""
        if self.needs == Needs.CLUSTER:
            return scene.cluster is not None
        if self.needs == Needs.TRIED:
            return scene.tried is not None
        return scene.asked or self.needs == Needs.NOTHING

    def findings(self, scene: Scene) -> Iterator[Finding]:
        """What it sees, as findings."""
        if self.can(scene):
            yield from (self.finding(each) for each in self.look(scene))

    def finding(self, each: Seen) -> Finding:
        """One thing that was seen, as a finding."""
        return Finding(
            id=self.id,
            severity=self.severity,
            title=self.title,
            subject=each.subject,
            seen=each.seen,
            wanted=each.wanted,
            cause=each.cause or self.cause,
            remedy=each.remedy or self.remedy,
            evidence=each.evidence,
            source=self.link,
            explains=(*self.explains, *each.explains),
        )


def inside(address: str, networks: Iterable[Range]) -> bool:
    """Whether an address lies in one of the networks."""
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(own.version == each.version and own in each for each in networks)
