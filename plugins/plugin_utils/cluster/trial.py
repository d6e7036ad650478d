# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bootstrap token may do, tried with one that is made for that and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .answer import Object
from .client import Cluster
from .endpoint import bootstrap_token
from .error import FORBIDDEN, ClusterError
from .reading import Right
from .rights import is_allowed

PATIENCE_S = 10.0
"""Seconds for which a 401 is asked again: API servers know a Secret from a cache, and learn of a new one later. Source:
kubernetes plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go (AuthenticateToken asks a lister)."""
UNKNOWN = 401
DESCRIPTION = "whether machines may join"


@dataclass(frozen=True, slots=True)
class Trial:
    """`accepted`: whether API servers know a bootstrap token; None where none could be made, or its user may not ask.
    `lacking`: the rights that its user does not have."""

    accepted: bool | None
    lacking: tuple[Right, ...] = ()


def try_token(cluster: Cluster, rights: Sequence[Right]) -> Trial:
    """Tried once for all nodes of a task. ClusterError if the cluster does not answer, or refuses a token that the
    kubeconfig's user may make."""
    what = f"trial of a bootstrap token: {'; '.join(map(str, rights))}"
    found = cluster.find_out(what, lambda: _try(cluster, rights))
    named = set(found.get("lacking") or ())
    return Trial(found.get("accepted"), tuple(each for each in rights if str(each) in named))


def _try(cluster: Cluster, rights: Sequence[Right]) -> Object:
    try:
        with bootstrap_token(cluster, DESCRIPTION) as token:
            return _ask(cluster.with_token(token), cluster, rights)
    except ClusterError as error:
        if error.status != FORBIDDEN:
            raise
        return {"accepted": None}


def _ask(joining: Cluster, cluster: Cluster, rights: Sequence[Right]) -> Object:
    end = cluster.clock.now() + PATIENCE_S
    while True:
        try:
            lacking = [str(each) for each in rights if not _may(joining, each)]
        except ClusterError as error:
            if error.status != UNKNOWN:
                raise
            if cluster.clock.now() >= end:
                return {"accepted": False}
            cluster.clock.sleep(1.0)
        else:
            return {"accepted": True, "lacking": lacking}


def _may(joining: Cluster, right: Right) -> bool:
    return is_allowed(joining, right.verb, right.api_group, right.resource, right.namespace, right.name)
