# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a component declares once. Reading, reset, verify, logs, the provisioner and the documentation use it.

registry.py lists all components; docs/architecture.md tells how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
"""The account of a service without a configured one. Source: learn.microsoft.com, CreateServiceW,
lpServiceStartName."""


def _nowhere(_layout: Layout) -> tuple[str, ...]:
    return ()


def _path_of_windows(_layout: Layout) -> tuple[str, ...]:
    return WINDOWS_PATH


@dataclass(frozen=True, slots=True)
class Started:
    """A program that runs to its end. `path` are the folders in which it looks up others; `account` is its account
    if the runner's task starts it."""

    program: Place
    path: Places
    account: str = LOCAL_SYSTEM


@dataclass(frozen=True, slots=True)
class ServiceKind:
    """How a program runs as a service.

    `managers` are the possible service managers, the default first: `nssm`, `sc` (sc.exe; the program speaks to the
    service control manager), `registered` (as `sc`, but the program makes its service). `native_flag` tells the program
    that it is a service; empty: it finds out by itself; None: it cannot be one. `why` explains a refusal of another
    manager; `source` is where the flag was read. `wrapped`: it prints its log, so under sc.exe kube-log-runner writes
    it to a file.
    """

    managers: tuple[str, ...]
    native_flag: str | None
    why: str
    source: str
    wrapped: bool = False
    unverified: bool = False


@dataclass(frozen=True, slots=True)
class Health:
    """Where a program says whether it is healthy: answer 200 at a URL.

    `default` is the URL with its default settings. `find` gives it for the arguments with which a service starts the
    program (None: they cannot be told, as in a script) and the reading; empty if there is none.
    """

    default: str
    find: Callable[[Sequence[str] | None, Layout, Reading], str]


@dataclass(frozen=True, slots=True)
class NoHealth:
    """A program has no such URL: `why`, and what tells instead that it works, as a sentence."""

    why: str


@dataclass(frozen=True, slots=True)
class Daemon:
    """A component's program and its service.

    `program` is its path; `asks` are the arguments that make it print its version and end (none: it has no such
    arguments). `rank` orders starts, lowest first; stops run the other way. `of_cluster`: it talks to the API server
    and is stopped while a node joins again. `log` is its log if the service does not set one; `event_source` is its
    source in the event log Application, if it logs there. `pipe` is the named pipe that exists while it works.
    `health` is where it says that it is healthy, or the reason that it says so nowhere.
    `path` are folders that its Path must have, and `account` is its account: unless set otherwise a service gets the
    machine's Path, of which only Windows' own folders are certain.
    """

    service: Place
    program: Place
    kind: ServiceKind
    health: Health | NoHealth
    rank: int = 2
    asks: tuple[str, ...] = ("--version",)
    of_cluster: bool = False
    log: Place | None = None
    event_source: str = ""
    pipe: Place | None = None
    path: Places = _path_of_windows
    account: str = LOCAL_SYSTEM


@dataclass(frozen=True, slots=True)
class Component:
    """A part of a node.

    `name` is what people call it, `role` its role and tag, `interface` its module's options and its role's variables.
    `reads` is what it needs to know of a node, whatever its options. `expected`: whether a node must have it.
    `settings` are its configuration files without secrets; `files` its other files; `tools` the programs beside its
    own, and `runs` those of them that look up others; `folders` those that may hold something of it; `rules` its
    firewall rules. A reset removes all of these. `bound` are files, and folders if not empty, that belong to this one
    machine or its cluster: no image may have them. `optional`: site.yml runs the role only if `winkube_<role>` is true.
    `stages` run in order; `after` runs when all are done.
    """

    name: str
    role: str
    reads: Callable[[Layout], tuple[Query, ...]]
    expected: Callable[[Expected], bool]
    interface: Interface
    stages: tuple[Stage, ...]
    daemon: Daemon | None = None
    settings: Places = _nowhere
    files: Places = _nowhere
    tools: Places = _nowhere
    runs: tuple[Started, ...] = ()
    folders: Places = _nowhere
    rules: tuple[str, ...] = ()
    bound: Places = _nowhere
    optional: bool = False
    after: Ending = nothing_after

    @property
    def module(self) -> str:
        """The name of its module."""
        return self.interface.module
