# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of services and their programs, the same for each component that has one.

A running service proves little: containerd runs before its pipe is there, nssm says RUNNING while the program crashes
again and again. So each program is held to what it does: answers, stays the same process, writes its log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ..components import registry
from ..components.cni import cni
from ..components.containerd import shim
from ..components.declaration import Component, Health
from ..components.flannel import flannel
from ..cri_tcp import expiry
from ..engine import windows_path
from ..engine.reading import file_key, pipe_query
from ..engine.resources.programs import read_version, receipt_of
from ..facts.windows import DISABLED
from ..words.cause import ERROR, WARNING, Area, Cause
from ..words.causes_service import causes_of
from ..words.finding import Seen
from ..words.remedies import advice, converge
from ..words.remedy import Ends
from . import programs
from .check import Check
from .programs import Program
from .scene import Scene


def exit_line(service: Mapping[str, Any]) -> str:
    """A service's exit codes in the words of `sc.exe query`, unchanged."""
    win32, own = int(service.get("exit_code") or 0), int(service.get("service_exit_code") or 0)
    return (
        f"{service.get('name')}: {service.get('state')}, WIN32_EXIT_CODE {win32} (0x{win32 & 0xFFFFFFFF:x}), "
        f"SERVICE_EXIT_CODE {own} (0x{own & 0xFFFFFFFF:x})"
    )


def _program(component: Component, scene: Scene) -> Program | None:
    """The program, if this node has to have it and services were read."""
    if not scene.whole or scene.services is None:
        return None
    found = programs.programs(scene.layout, scene.expected)
    return next((each for each in found if each.component.name == component.name), None)


def _missing(component: Component, scene: Scene) -> Iterator[Seen]:
    program = _program(component, scene)
    if program is not None and scene.second.service(program.service) is None:
        yield Seen(f"service {program.service}", "there is none", "one")


def _there(component: Component, scene: Scene) -> Iterator[tuple[Program, Mapping[str, Any]]]:
    program = _program(component, scene)
    found = scene.second.service(program.service) if program is not None else None
    if program is not None and found is not None:
        yield program, found


def _evidence(program: Program, found: Mapping[str, Any], scene: Scene) -> tuple[str, ...]:
    lines = [line.strip() for line in scene.logs.get(program.service, "").splitlines() if line.strip()]
    return (exit_line(found), *lines[-3:], programs.log_of(program, scene.first).advice)


def _find_disabled(component: Component, scene: Scene) -> Iterator[Seen]:
    for program, found in _there(component, scene):
        if found.get("start") == DISABLED:
            yield Seen(f"service {program.service}", "it is disabled", "started with the machine")


def _find_stopped(component: Component, scene: Scene) -> Iterator[Seen]:
    for program, found in _there(component, scene):
        state = str(found.get("state"))
        if state in {"running", "paused"} or found.get("start") == DISABLED:
            continue
        code = found.get("service_exit_code") or found.get("exit_code") or 0
        seen = f"it is {state} (its last exit code was {code})"
        yield Seen(f"service {program.service}", seen, "running", evidence=_evidence(program, found, scene))


def _crashes(component: Component, scene: Scene) -> Iterator[Seen]:
    """nssm's pause, and a program that is gone or another one in the second look."""
    for program, found in _there(component, scene):
        evidence = _evidence(program, found, scene)
        name = windows_path.name(program.binary)
        if found.get("state") == "paused":
            yield Seen(
                f"service {program.service}",
                "it is paused: its program ended at once, and nssm waits before it tries again",
                "running",
                evidence=evidence,
            )
        elif found.get("state") == "running" and isinstance(scene.second.parts.get("processes"), list):
            before, after = programs.process(program, scene.first), programs.process(program, scene.second)
            if after is None or (before is not None and before["pid"] != after["pid"]):
                was = "does not" if after is None else "was started again while it was watched"
                seen = f"it says that it runs, but {name} {was}: it ends again and again"
                yield Seen(f"service {program.service}", seen, "one process that stays", evidence=evidence)


def _at_work(component: Component, scene: Scene) -> Iterator[tuple[Program, Mapping[str, Any]]]:
    for program, found in _there(component, scene):
        if found.get("state") == "running" and not any(_crashes(component, scene)):
            yield program, found


def _no_pipe(component: Component, scene: Scene) -> Iterator[Seen]:
    for program, found in _at_work(component, scene):
        pipe = scene.second.parts.get(pipe_query(program.pipe).key) if program.pipe else None
        if pipe is not None and not pipe.get("exists"):
            seen = rf"its pipe \\.\pipe\{program.pipe} is not there"
            yield Seen(f"service {program.service}", seen, "the pipe", evidence=_evidence(program, found, scene))


def _unhealthy(component: Component, scene: Scene) -> Iterator[Seen]:
    for program, found in _at_work(component, scene):
        url = programs.healthz(program, scene.layout, scene.first)
        answer = scene.second.parts.get(f"http:{url}") if url else None
        if answer is not None and answer.get("status") != 200:
            yield Seen(
                f"service {program.service}", _ill(url, answer), "200", evidence=_evidence(program, found, scene)
            )


def _ill(url: str, answer: Mapping[str, Any]) -> str:
    if error := str(answer.get("error") or "").strip():
        return f"{url} does not answer: {error.rstrip('.')}"
    return f"{url} answers {answer.get('status')} {str(answer.get('body', '')).strip()[:200]}".rstrip()


def _log(component: Component, scene: Scene) -> Iterator[tuple[Program, str, Mapping[str, Any]]]:
    for program, _found in _at_work(component, scene):
        path = programs.log_of(program, scene.first).file
        if path and file_key(path) in scene.second.parts:
            yield program, path, scene.second.parts[file_key(path)]


def _no_log(component: Component, scene: Scene) -> Iterator[Seen]:
    for program, path, found in _log(component, scene):
        if not found.get("exists") or not found.get("size"):
            seen = f"it runs, but its log {path} is {'empty' if found.get('exists') else 'not there'}"
            yield Seen(f"service {program.service}", seen, "what it prints in a file")


def _log_old(component: Component, scene: Scene) -> Iterator[Seen]:
    """A log that is older than the process is not that process's. Windows may note the time of an open file late, so
    this is a warning."""
    for program, path, found in _log(component, scene):
        process = programs.process(program, scene.second)
        if found.get("size") and process and str(found.get("written", "")) < str(process.get("started", "")):
            seen = f"{path} was last written {found.get('written')}, before it was started"
            yield Seen(f"service {program.service}", seen, "lines of this process")


def _other_version(component: Component, scene: Scene) -> Iterator[Seen]:
    """What the Node says that it runs, else what the receipt has of the files that are there."""
    if not scene.whole or not component.expected(scene.expected):
        return
    wanted = scene.expected.version_of(component.role).removeprefix("v")
    if not wanted:
        return
    receipt, recorded = _read_receipt(component, scene)
    runs = _version_of_node(component, scene) or recorded
    if runs and _release(runs) != wanted:
        origin = f"{receipt}: {recorded}" if recorded else f"{receipt} is not about the program that is there"
        yield Seen(component.name, f"it is {runs}", wanted, evidence=(origin,))


RECEIPTS = {cni.NAME: cni.PLUGINS, flannel.NAME: flannel.PROGRAM}
"""Where the receipt is not called as its component."""

_VERSIONED = tuple(each for each in registry.COMPONENTS if each.daemon is not None or each.name in RECEIPTS)
"""The components that have a release of their own on the node."""


def _read_receipt(component: Component, scene: Scene) -> tuple[str, str]:
    """A component's receipt, and the release that it has of the files that are there; empty if it is not about them."""
    receipt = receipt_of(scene.layout.state_dir, RECEIPTS.get(component.name, component.name))
    return receipt, read_version(scene.first, receipt)


def components_seen(scene: Scene) -> dict[str, str]:
    """What the node has to have, in the order of the components: role -> name and release, `containerd 2.3.7`; only the
    name where nothing says which release runs."""
    if not scene.whole:
        return {}
    return {
        each.role: f"{each.name} {_version_of_node(each, scene) or _read_receipt(each, scene)[1]}".rstrip()
        for each in _VERSIONED
        if each.expected(scene.expected)
    }


def _version_of_node(component: Component, scene: Scene) -> str:
    """What its Node says of a running program; empty for those of which it says nothing."""
    info = ((scene.node or {}).get("status") or {}).get("nodeInfo") or {}
    said = {"kubelet": info.get("kubeletVersion"), "containerd": info.get("containerRuntimeVersion")}
    return str(said.get(component.name) or "").rpartition("://")[2].removeprefix("v")


def _release(version: str) -> str:
    """Without what a vendor adds, such as 1.7.20 of `1.7.20+azure`."""
    return version.partition("+")[0]


def _shim(scene: Scene) -> Iterator[Seen]:
    if not scene.whole:
        return
    if path := shim.stranger(scene.layout, scene.first):
        yield Seen("containerd", f"it runs pods by {path}, the first in the machine's Path", "its own shim")


def _find_left_open(scene: Scene) -> Iterator[Seen]:
    """CRI over TCP whose time was over, and what the node could not do about it by itself."""
    if scene.whole and (said := expiry.finding(scene.layout, scene.first)):
        yield Seen("CRI over TCP", said.removesuffix(expiry.REMEDY).strip().rstrip("."), "closed")


_LOOKS: Mapping[str, Callable[[Component, Scene], Iterator[Seen]]] = {
    "not-installed": _missing,
    "disabled": _find_disabled,
    "stopped": _find_stopped,
    "crashes": _crashes,
    "no-pipe": _no_pipe,
    "unhealthy": _unhealthy,
    "no-log": _no_log,
    "log-old": _log_old,
}
"""By the kind of a program's cause."""


def checks_of(component: Component) -> tuple[Check, ...]:
    """The checks of one component that has a program."""
    daemon = component.daemon
    left_out = {
        *(() if daemon is not None and daemon.pipe is not None else ("no-pipe",)),
        *(() if daemon is not None and isinstance(daemon.health, Health) else ("unhealthy",)),
    }
    causes = causes_of(component.role, component.name)
    return tuple(
        Check(causes[kind], partial(look, component), role=component.role)
        for kind, look in _LOOKS.items()
        if kind not in left_out
    )


def _version_check(component: Component) -> Check:
    label = component.role.replace("_", "-")
    return Check(
        Cause(
            f"{label}.other-version",
            ERROR,
            f"{component.name} is not the release in the inventory",
            "The node was not brought up to date, or somebody replaced the program.",
            converge(
                component.role,
                text=f"Replace {component.name} by the release that is wanted, and restart what runs it.",
            ),
            area=Area.PROGRAMS,
        ),
        partial(_other_version, component),
        role=component.role,
    )


CHECKS = (
    *(check for each in registry.COMPONENTS if each.daemon is not None for check in checks_of(each)),
    *(_version_check(each) for each in _VERSIONED),
    Check(
        Cause(
            "containerd.other-shim",
            WARNING,
            "containerd runs pods by another release's shim",
            "The first one in the machine's Path is taken, not the one beside containerd.exe.",
            advice(shim.REMEDY, Ends.MACHINE),
            area=Area.PROGRAMS,
        ),
        _shim,
    ),
    Check(
        Cause(
            "cri-tcp.left-open",
            WARNING,
            "CRI over TCP was not closed when its time was over",
            "The node could not close it by itself.",
            advice(expiry.REMEDY),
            area=Area.PROGRAMS,
        ),
        _find_left_open,
    ),
)
