# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that are made in the cluster if they are not there, and are otherwise left as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .client import Cluster
from .error import ClusterError

CONFLICT = 409


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object by its collection's path and its body."""

    collection: str
    body: Mapping[str, Any]

    @property
    def name(self) -> str:
        """metadata.name."""
        return str(self.body["metadata"]["name"])

    @property
    def path(self) -> str:
        """Where it is."""
        return f"{self.collection}/{self.name}"

    @property
    def label(self) -> str:
        """For people: `ServiceAccount winkube-flanneld`."""
        return f"{self.body['kind']} {self.name}"


def missing(cluster: Cluster, objects: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """Those that are not there."""
    return tuple(wanted for wanted in objects if cluster.get(wanted.path) is None)


def make(cluster: Cluster, objects: Iterable[Wanted]) -> None:
    """Make them; another host's task may have made one a moment ago."""
    for wanted in objects:
        try:
            cluster.create(wanted.collection, wanted.body)
        except ClusterError as error:
            if error.status != CONFLICT:
                raise
