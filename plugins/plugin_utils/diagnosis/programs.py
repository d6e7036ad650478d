# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs that have to run on a node: what is read of them, where they log, where they say whether they are
healthy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..components import registry
from ..components.declaration import Component
from ..components.healthz import find_url
from ..components.layout import Layout
from ..components.node import Node
from ..engine import windows_path
from ..engine.reading import Query, Reading, file_query, http_query, pipe_query, services_query
from ..engine.services.existing import argument, log_file

BLOCKED_LIMIT = 64 * 1024
"""Bytes of blocked.json, which quotes what programs said."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program that has to run as a service; `log` is where its log is if its service does not say otherwise; empty
    for a program that writes none by itself, or into the event log under `event_source`."""

    component: Component
    service: str
    binary: str
    role: str
    log: str = ""
    event_source: str = ""
    pipe: str = ""


def programs(layout: Layout, expected: Node) -> tuple[Program, ...]:
    """What has to run, in the order in which one thing needs the other."""
    return tuple(
        Program(
            component,
            daemon.service(layout),
            daemon.program(layout),
            component.role,
            daemon.log(layout) if daemon.log else "",
            daemon.event_source,
            daemon.pipe(layout) if daemon.pipe else "",
        )
        for component in registry.COMPONENTS
        if (daemon := component.daemon) is not None and component.expected(expected)
    )


def reads(layout: Layout, expected: Node) -> tuple[Query, ...]:
    """What both looks ask for: services, processes, pipe, and what blocks the node."""
    wanted = programs(layout, expected)
    names = tuple(sorted({windows_path.name(program.binary) for program in wanted}))
    return (
        services_query(program.service for program in wanted),
        Query("processes", "processes", (("names", names),)),
        *(pipe_query(program.pipe) for program in wanted if program.pipe),
        file_query(layout.blocked, content_limit=BLOCKED_LIMIT),
    )


def health(layout: Layout, expected: Node, first: Reading) -> tuple[Query, ...]:
    """The addresses at which programs say whether they are healthy, for the second look: only the first tells with
    which arguments services start them."""
    urls = (healthz(program, layout, first) for program in programs(layout, expected))
    return tuple(http_query(url) for url in urls if url)


def healthz(program: Program, layout: Layout, reading: Reading) -> str:
    """Where a program says whether it is healthy, by its service's command line; empty if it says so nowhere."""
    found, daemon = reading.service(program.service), program.component.daemon
    return "" if found is None or daemon is None else find_url(daemon, found, layout, reading)


def logs(layout: Layout, expected: Node, first: Reading) -> tuple[Query, ...]:
    """The logs that are single files, for the second look: only the first tells where services put them."""
    there = (program for program in programs(layout, expected) if first.service(program.service))
    return tuple(file_query(log.file) for log in (log_of(program, first) for program in there) if log.file)


def source_vip(layout: Layout, reading: Reading) -> str:
    """The source VIP on kube-proxy's command line; empty if it has none."""
    service = reading.service(layout.kube_proxy_service) or {}
    text = str((service.get("nssm") or {}).get("AppParameters") or service.get("image_path") or "")
    return argument(text, "source-vip")


@dataclass(frozen=True, slots=True)
class Log:
    """Where a service's output goes: one `file`, or files of klog's in `folder`, or neither; `advice` is how to read
    it, one sentence."""

    advice: str
    file: str = ""
    folder: str = ""


def log_of(program: Program, reading: Reading) -> Log:
    """By the service itself: nssm's AppStderr (the programs of Kubernetes log there), else the command line's
    --log-file (kube-log-runner's, or containerd's own), else its --log-dir, where klog makes a new file at each start.

    Without any of them a service's output is lost: Windows gives it no console. Kubernetes' programs know neither flag
    from 1.26 on. Source: k8s.io/klog/v2 klog_file.go, logName.
    """
    service = reading.service(program.service) or {}
    nssm = service.get("nssm")
    line = str(service.get("image_path") or "")
    if file := log_file(service) or program.log:
        return Log(f"Read the end of {file} on the node.", file=file)
    line = str(nssm.get("AppParameters") or "") if nssm else line
    if folder := argument(line, "log-dir"):
        name = windows_path.name(program.binary)
        return Log(f"Read the newest {name}.*.log.* in {folder} on the node.", folder=folder)
    if program.event_source and not nssm:
        return Log(f"Read the events of {program.event_source} in the event log Application of the node.")
    if nssm:
        return Log(
            f"Read what nssm says of {program.service} in the event log Application; the service has no file for its "
            f"output (AppStderr), which site.yml with the tag {program.role} gives it."
        )
    return Log(
        f"Read what the Service Control Manager says of {program.service} in the event log System. As it is, what it "
        f"prints is lost; site.yml with the tag {program.role} puts kube-log-runner before it, which keeps that."
    )


def process(program: Program, reading: Reading) -> Mapping[str, Any] | None:
    """The program's process; where it was started under another name's path it still counts by its name."""
    listed = reading.parts.get("processes")
    processes: list[Mapping[str, Any]] = listed if isinstance(listed, list) else []
    name = windows_path.name(program.binary).casefold()
    same = [one for one in processes if str(one["name"]).casefold() == name]
    by_path = [one for one in same if one.get("path") and windows_path.is_same(str(one["path"]), program.binary)]
    return next(iter(by_path or same), None)
