# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a check: what it is called and says, and the function that looks."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .finding import Finding
from .scene import Scene

ISSUES = "https://github.com/"

Range = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Seen:
    """One thing that a check saw. `remedy` replaces the check's own where more is known."""

    object: str
    seen: str
    wanted: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """`look` yields what is wrong in a scene, nothing where it cannot tell. The texts are those of its findings.
    `issue` is `<owner>/<repository>#<number>`; with `needs_cluster` it is left out where the cluster was not asked."""

    id: str
    severity: str
    title: str
    cause: str
    remedy: str
    look: Callable[[Scene], Iterator[Seen]]
    row: str = ""
    issue: str = ""
    needs_cluster: bool = False

    @property
    def link(self) -> str:
        """The address of the issue."""
        repository, _hash, number = self.issue.partition("#")
        return f"{ISSUES}{repository}/issues/{number}" if self.issue else ""

    def findings(self, scene: Scene) -> Iterator[Finding]:
        """What it sees, as findings."""
        if self.needs_cluster and scene.cluster is None:
            return
        for each in self.look(scene):
            yield Finding(
                id=self.id,
                severity=self.severity,
                object=each.object,
                seen=each.seen,
                wanted=each.wanted,
                cause=self.cause,
                remedy=each.remedy or self.remedy,
                row=self.row,
                issue=self.link,
            )


def ranges(text: str) -> tuple[Range, ...]:
    """The networks in `10.244.0.0/16,fd00::/56`; what is none is left out."""
    found = []
    for part in text.split(","):
        try:
            found.append(ipaddress.ip_network(part.strip(), strict=False))
        except ValueError:
            continue
    return tuple(found)


def inside(address: str, networks: Iterable[Range]) -> bool:
    """Whether an address lies in one of the networks."""
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(own.version == each.version and own in each for each in networks)


def listed(values: Iterable[object]) -> str:
    """Values for a sentence."""
    return ", ".join(str(each) for each in values) or "none"
