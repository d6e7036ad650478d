# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of Calico's objects in the cluster: the rules by which its module and site.yml judge them, as findings.

A file of its own: the rules are another package's, and each becomes one check.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..calico.judge import RULES, Rule, problems
from ..calico.view import build_wanted, look
from ..cluster.client import Cluster
from ..cluster.error import ClusterError
from ..components.layout import Layout
from ..components.node import Node
from ..words.finding import Finding, Seen
from .check import Check, Needs
from .scene import Scene


def _find_seen(rule: Rule, scene: Scene) -> Iterator[Seen]:
    for each in scene.tried.calico if scene.tried is not None else ():
        if each.id == rule.cause.id:
            yield each.what


def calico_problems(cluster: Cluster, expected: Node, layout: Layout) -> tuple[Finding, ...]:
    """What the cluster's objects say, where the node's network is Calico's; nothing for who may not read them
    (examples/rbac/calico.yml)."""
    if not expected.calico:
        return ()
    needed = build_wanted(
        cluster.server,
        cluster_cidr=expected.cluster_cidr,
        service_cidr=expected.service_cidr,
        cni_bin_dir=layout.cni_bin_dir,
        cni_conf_dir=layout.cni_conf_dir,
    )
    try:
        return problems(look(cluster), needed)
    except ClusterError:
        return ()


CHECKS = tuple(Check(rule.cause, partial(_find_seen, rule), needs=Needs.TRIED) for rule in RULES)
