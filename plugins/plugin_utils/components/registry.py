# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All components of a node, in the order of their roles in site.yml: the only list of them. What is read of a node
follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pkgutil import iter_modules

from ..engine.reading import Query, file_query, merge_queries, system_query
from . import layout, programs
from .cni import component as cni
from .containerd import component as containerd
from .declaration import Component, Daemon
from .flannel import component as flannel
from .host import component as host
from .join import component as join
from .kube_proxy import component as kube_proxy
from .kubelet import component as kubelet
from .layout import Layout
from .program_service import ProgramService

PROGRAM_SERVICES: tuple[ProgramService, ...] = tuple(
    import_module(f"{programs.__name__}.{found.name}").DECLARATION
    for found in sorted(iter_modules(programs.__path__), key=lambda found: found.name)
)
"""Components that are only a program and its service: every module in programs/."""

COMPONENTS: tuple[Component, ...] = (
    host.COMPONENT,
    cni.COMPONENT,
    containerd.COMPONENT,
    kubelet.COMPONENT,
    join.COMPONENT,
    flannel.COMPONENT,
    kube_proxy.COMPONENT,
    *(each.component for each in PROGRAM_SERVICES),
)

CHANGES_LIMIT = 16384
"""Bytes of changes.json, which has one line per component."""

PLACES = (*layout.PLACES, *(place for each in COMPONENTS for place in each.interface.places))
"""Where things are on a node, as in the option `node`."""

DAEMONS: dict[str, Daemon] = {each.name: each.daemon for each in COMPONENTS if each.daemon is not None}
"""The programs that run as services, by component."""


def start_order(*, of_cluster: bool = False) -> tuple[Daemon, ...]:
    """The services in start order; with `of_cluster` only those that talk to the API server."""
    return tuple(
        sorted((each for each in DAEMONS.values() if each.of_cluster or not of_cluster), key=lambda each: each.rank)
    )


def stop_order(where: Layout, *, of_cluster: bool = False) -> tuple[str, ...]:
    """The names of the services in stop order."""
    return tuple(each.service(where) for each in reversed(start_order(of_cluster=of_cluster)))


def rules() -> tuple[str, ...]:
    """The names of all firewall rules."""
    return tuple(rule for each in COMPONENTS for rule in each.rules)


# What is read of a node: everything that the components need for its layout, in one remote call.


def read_plan(where: Layout, components: Iterable[Component] | None = None) -> tuple[Query, ...]:
    """All queries of these components, or of all components, for a node with this layout, without duplicates."""
    return merge_queries(
        (
            system_query(),
            file_query(where.runner, sha256=True),
            file_query(where.changes, content_limit=CHANGES_LIMIT),
            *(query for component in components or COMPONENTS for query in component.reads(where)),
        )
    )
