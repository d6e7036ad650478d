# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape of a check: a cause, and the function that looks for it."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ..components.networks import Range
from ..components.networks import parse_ranges as ranges
from ..words.cause import Cause
from ..words.finding import Finding, Seen
from .scene import Scene

__all__ = ["Check", "Needs", "inside", "ranges"]


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
class Check:
    """`look` yields what is wrong in a scene, nothing where it cannot tell; the words are the cause's. `role` is the
    component's that it looks at, if it is about one."""

    cause: Cause
    look: Callable[[Scene], Iterator[Seen]]
    needs: Needs = Needs.NOTHING
    role: str = ""

    @property
    def id(self) -> str:
        """The cause's."""
        return self.cause.id

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
            yield from (Finding(self.cause, each) for each in self.look(scene))


def inside(address: str, networks: Iterable[Range]) -> bool:
    """Whether an address lies in one of the networks."""
    try:
        own = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(own.version == each.version and own in each for each in networks)
