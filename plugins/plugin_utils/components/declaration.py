# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a component says of itself, once. Reading, reset, verify, logs, the provisioner and the documentation ask it.

registry.py lists all components; docs/architecture.md tells how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..engine.reading import Query, Reading
from ..engine.tools import WINDOWS_PATH
from .expected import Expected
from .layout import Layout
from .options import Interface
from .stage import Ending, Stage, nothing_after

Place = Callable[[Layout], str]
"""A path or a name on a node with this layout."""
Places = Callable[[Layout], tuple[str, ...]]


LOCAL_SYSTEM = "LocalSystem"
"""The account of a service that names none. Source: learn.microsoft.com, CreateServiceW, lpServiceStartName."""


def _nowhere(_layout: Layout) -> tuple[str, ...]:
    return ()


def _path_of_windows(_layout: Layout) -> tuple[str, ...]:
    return WINDOWS_PATH


@dataclass(frozen=True, slots=True)
class Started:
    """A program that is run to its end. `path` are the folders of the Path that it is given, in which it looks others
    up, `account` is whose rights it has where the runner's task starts it."""

    program: Place
    path: Places
    account: str = LOCAL_SYSTEM


@dataclass(frozen=True, slots=True)
class ServiceKind:
    """How a program runs as a service.

    `managers`: those it can run under, the default first: `nssm`, `sc` (sc.exe; the program speaks to the service
    control manager), `registered` (as `sc`, and the program makes the service itself). `native_flag`: what tells the
    program that it is a service; empty: it finds out by itself; None: it cannot be one. `why` is said to who asks for
    another manager; `source` is where the flag was read. `wrapped`: it prints its log, so that under sc.exe
    kube-log-runner keeps that.
    """

    managers: tuple[str, ...]
    native_flag: str | None
    why: str
    source: str
    wrapped: bool = False
    unverified: bool = False


@dataclass(frozen=True, slots=True)
class Daemon:
    """The program of a component and the service that runs it.

    `program` is where the program lies, `asks` the arguments that make it say its version and end (none: it must not
    be started to find out). `rank` orders starts: lower ones first; services are stopped the other way round.
    `of_cluster`: it talks to the API server, and is stopped while a node joins again. `log` is where it logs if its
    service does not say, `event_source` under which name it does in the event log Application instead. `pipe` is the
    named pipe that is there while it works. `healthz` is the URL at which it says whether it is healthy, by the service
    as the probe lists it and the reading; empty where it says so nowhere. `path` are folders of its Path, and `account`
    is whose rights it has: unless told otherwise a service has the machine's Path, of which Windows' own are sure.
    """

    service: Place
    program: Place
    kind: ServiceKind
    rank: int = 2
    asks: tuple[str, ...] = ("--version",)
    of_cluster: bool = False
    log: Place | None = None
    event_source: str = ""
    pipe: Place | None = None
    healthz: Callable[[Mapping[str, Any], Layout, Reading], str] | None = None
    path: Places = _path_of_windows
    account: str = LOCAL_SYSTEM


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a node.

    `name` is what people call it, `role` the name of its role and tag, `interface` the options of its module and the
    variables of its role. `reads` is what it needs to know of a node
    whatever its options. `expected` tells whether a node has to have it. `settings` are its configuration files without
    secrets; `files` what else of it lies on the node, `tools` the programs beside its own, `runs` those of them that
    look others up; `folders` those in which
    something of it may lie, `rules` the names of its firewall rules: a reset takes all of these away. `bound` are the
    files and the folders, these unless they are empty, that are of this one machine or its cluster: no image may have
    them.
    `optional`: site.yml runs the role only where `winkube_<role>` is true. `stages` bring it about, one after the
    other; `after` is what is done when they are through.
    """

    name: str
    role: str
    reads: Callable[[Layout], tuple[Query, ...]]
    expected: Callable[[Expected], bool]
    interface: Interface
    daemon: Daemon | None = None
    settings: Places = _nowhere
    files: Places = _nowhere
    tools: Places = _nowhere
    runs: tuple[Started, ...] = ()
    folders: Places = _nowhere
    rules: tuple[str, ...] = ()
    bound: Places = _nowhere
    optional: bool = False
    stages: tuple[Stage, ...] = ()
    after: Ending = nothing_after

    @property
    def module(self) -> str:
        """The name of its module."""
        return self.interface.module
