# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restart services: a component's with its dependants; Windows' own are only started if they are down.

A file of its own: an action of win_k8s_repair, as rejoin, network and take_over are.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..components import registry
from ..components.declaration import Daemon
from ..components.layout import Layout
from ..engine.batch import Batch, Op
from ..engine.reading import Expectation, Query, Reading, merge_queries, services_query, system_query
from ..engine.resource import Refused
from ..engine.resources.service import RUNNING, running_dependants
from ..engine.tools import sc, start_ops, wait_pipe, wait_service
from ..facts.windows import DISABLED
from . import COMPONENT, stopping

WINDOWS = ("hns", "vmcompute")
"""Services of the feature Containers; they start on demand. Source: windows-containers' own start types."""
STABLE_S = 5


def names() -> tuple[str, ...]:
    """Valid names: the components with a service, by their roles, and Windows' own."""
    return (*(each.role for each in registry.COMPONENTS if each.daemon is not None), *WINDOWS)


def reads(layout: Layout) -> tuple[Query, ...]:
    """All of these services."""
    ours = tuple(each.service(layout) for each in registry.start_order())
    return merge_queries((system_query(), services_query((*ours, *WINDOWS))))


def batch(layout: Layout, wanted: Sequence[str], reading: Reading) -> tuple[Batch, str]:
    """The batch, and its description without a full stop. Refused for a name that is not a service of a node, or not
    installed."""
    if unknown := [each for each in wanted if each not in names()]:
        raise Refused(f"services: there is no {', '.join(unknown)} to restart; there are {', '.join(names())}.")
    ops: list[Op] = []
    said: list[str] = []
    for name in (each for each in WINDOWS if each in wanted):
        found = reading.service(name)
        if found is None:
            raise Refused(f"There is no service {name}: run site.yml with the tag host, which installs Containers.")
        if found.get("state") != RUNNING:
            enable = (sc("config", name, "start=", "demand"),) if found.get("start") == DISABLED else ()
            ops += [*enable, *start_ops(name, stopping.TIMEOUT_S)]
            said.append(f"start {name}")
    going = _going(layout, wanted, reading)
    services = [each.service(layout) for each in going]
    for service in services:
        if reading.service(service) is None:
            raise Refused(f"There is no service {service} to restart: run site.yml, which installs it.")
    ran = stopping.list_active(tuple(reversed(services)), reading)
    ops += stopping.stop(ran, reading)
    for daemon, service in zip(going, services, strict=True):
        ops += start_ops(service, stopping.TIMEOUT_S)
        if daemon.pipe is not None:
            ops.append(wait_pipe(daemon.pipe(layout), stopping.TIMEOUT_S))
        ops.append(wait_service(service, RUNNING, stopping.TIMEOUT_S, stable_s=STABLE_S))
        said.append(f"{'restart' if service in ran else 'start'} {service}")
    same = Expectation(system_query(), (("machine", reading.machine), ("boot_id", reading.boot_id)))
    return Batch(component=COMPONENT, ops=tuple(ops), pre=(same,), state=reads(layout)), ", ".join(said)


def _going(layout: Layout, wanted: Sequence[str], reading: Reading) -> tuple[Daemon, ...]:
    """The named services and our running services that depend on them, in start order."""
    roles = {each.role: each.daemon for each in registry.COMPONENTS if each.daemon is not None}
    named = {daemon.service(layout) for role, daemon in roles.items() if role in wanted and daemon is not None}
    leaning = {other for service in named for other in running_dependants(service, reading)}
    known = {name.casefold() for name in named | leaning}
    return tuple(each for each in registry.start_order() if each.service(layout).casefold() in known)
