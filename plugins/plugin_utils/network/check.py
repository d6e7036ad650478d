# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks of a node's network, and what they find.

reading = Reading(..)                       # with the answers to reads(expectations)
cluster = ask(Cluster.open(..), "win1")     # or None: then what needs the cluster is left out
findings_of(reading, cluster, Expectations(layout, network_name="vxlan0", network_type="overlay"))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..engine.reading import Reading
from . import checks_balancers, checks_endpoints, checks_files, checks_host, checks_network
from .checking import Check
from .cluster_view import ClusterView
from .expectations import Expectations
from .finding import SEVERITIES, Finding
from .model import Hns
from .scene import Scene, reads, scene_of

__all__ = ["CHECKS", "counts_of", "findings_in", "findings_of", "left_out", "reads"]

CHECKS: tuple[Check, ...] = (
    *checks_host.CHECKS,
    *checks_network.CHECKS,
    *checks_files.CHECKS,
    *checks_endpoints.CHECKS,
    *checks_balancers.CHECKS,
)
"""In the order in which one thing rests on the other: what is found first is often the cause of what follows."""


def findings_of(reading: Reading, cluster_view: ClusterView | None, expectations: Expectations) -> tuple[Finding, ...]:
    """What is wrong, errors first, else in the order of CHECKS.

    `reading` has the answers to `reads(expectations)`; what is missing in it, and without `cluster_view` what needs the
    cluster, is not checked.
    """
    return findings_in(scene_of(reading, expectations, cluster_view))


def findings_in(scene: Scene) -> tuple[Finding, ...]:
    """The same of a scene."""
    found = [finding for check in CHECKS for finding in check.findings(scene)]
    return tuple(sorted(found, key=lambda each: SEVERITIES.index(each.severity)))


def left_out(cluster_view: ClusterView | None) -> tuple[str, ...]:
    """The ids of checks that could not be made."""
    return () if cluster_view is not None else tuple(check.id for check in CHECKS if check.needs_cluster)


def counts_of(hns: Hns, findings: Iterable[Finding] = ()) -> dict[str, int]:
    """How many there are of what HNS manages, and how many findings of each severity."""
    local = [each for each in hns.endpoints if not each.remote]
    kinds = Counter(kind for each in hns.policy_lists for kind in each.types)
    severities = Counter(each.severity for each in findings)
    return {
        "networks": len(hns.networks),
        **{f"networks_{kind}": count for kind, count in sorted(Counter(each.type for each in hns.networks).items())},
        "endpoints": len(hns.endpoints),
        "endpoints_local": len(local),
        "endpoints_remote": len(hns.endpoints) - len(local),
        "namespaces": len(hns.namespaces),
        "policy_lists": len(hns.policy_lists),
        **{f"policies_{kind.casefold()}": count for kind, count in sorted(kinds.items())},
        **{f"{severity}s": severities[severity] for severity in SEVERITIES},
    }
