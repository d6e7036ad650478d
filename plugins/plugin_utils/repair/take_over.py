# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes made by scripts: their services, and programs that run outside any service.

A program started by hand or by start.ps1 holds its ports and files, and is gone after the next restart: it is ended, so
that a service can take its place. Services are not recreated: the roles correct them. Sources: kubernetes/website,
Adding Windows nodes (start.ps1, register-svc.ps1); kubernetes-sigs/sig-windows-tools hostprocess/PrepareNode.ps1
(StartKubelet.ps1); kubernetes-sigs/image-builder ansible/windows (kube-log-runner.exe).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..components import registry
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Batch, Op
from ..engine.reading import Expectation, Query, Reading, merge_queries, services_query, system_query
from ..engine.resource import Refused
from ..engine.resources.service import ACTIVE
from ..engine.services.existing import Existing
from ..engine.tools import SYSTEM32, run
from . import COMPONENT, stopping

TASKKILL = SYSTEM32 + r"\taskkill.exe"
NOT_FOUND = 128
"""taskkill's exit code if there is no such process. Source: learn.microsoft.com, taskkill."""
PROCESSES = "processes:take_over"
GONE_S = 60


@dataclass(frozen=True, slots=True)
class Process:
    """A program outside any service; `path` is its file."""

    pid: int
    name: str
    path: str
    started: str

    @property
    def text(self) -> str:
        """What is done with it."""
        return f"end {self.path or self.name} (pid {self.pid}), which no service has started"


@dataclass(frozen=True, slots=True)
class Found:
    """A service that runs one of Kubernetes' programs. `origin` is the script that makes such services, `ours` for
    one as the roles make it; `expected` is the roles' name for this program's service."""

    service: str
    program: str
    origin: str
    expected: str


def programs(layout: Layout) -> Mapping[str, str]:
    """The names of programs that scripts start, each with the roles' service for it."""
    return {
        windows_path.name(daemon.program(layout)).casefold(): daemon.service(layout)
        for daemon in reversed(registry.start_order(of_cluster=True))
    }


def reads(layout: Layout) -> tuple[Query, ...]:
    """The processes of these programs, and of nssm.exe, which starts some of them; and all services."""
    names = (*programs(layout), "nssm.exe")
    return merge_queries(
        (
            system_query(),
            services_query(stopping.names(layout)),
            Query(PROCESSES, "processes", (("names", tuple(sorted(names))),)),
        )
    )


def services(layout: Layout, reading: Reading) -> tuple[Found, ...]:
    """Every service that runs one of the programs, itself, under nssm, or through a wrapper."""
    return tuple(
        Found(str(service["name"]), program, origin(service), expected)
        for service in reading.services()
        for program, expected in programs(layout).items()
        if _runs(service, program)
    )


def origin(service: Mapping[str, Any]) -> str:
    """The script that makes a service of this shape, or `ours`."""
    line = _line(service)
    if "startkubelet.ps1" in line:
        return "PrepareNode.ps1"
    if "kube-log-runner.exe" in line and "-log-file-age=" not in line:  # ours has a log limit
        return "image-builder"
    if service.get("nssm") is not None and not service["nssm"].get("AppStderr"):  # ours has a log
        return "register-svc.ps1"
    return "ours"


def refuse_misnamed(layout: Layout, reading: Reading) -> None:
    """Refused for a service of another name that runs the same program as one of the roles'."""
    wrong = [
        f"The service {each.service} runs {each.program}, and winkube_node names {each.expected} for that: both would "
        f"take the same ports. Name the service in the variables as it is called, or remove it (sc.exe delete "
        f"{each.service})."
        for each in services(layout, reading)
        if each.service.casefold() != each.expected.casefold()
    ]
    if wrong:
        raise Refused(*wrong)


def find_loose(layout: Layout, reading: Reading) -> tuple[Process, ...]:
    """The programs outside a service. Refused if it is unclear which of two is the service's."""
    found: list[Process] = []
    listed = [_process(each) for each in reading.parts.get(PROCESSES) or ()]
    for program in programs(layout):
        running = [each for each in listed if each.name.casefold() == program]
        owners = [
            service
            for service in reading.services()
            if service.get("state") in ACTIVE and _runs(service, program) and service.get("pid")
        ]
        found += _find_outside(program, running, owners, listed)
    return tuple(found)


def batch(layout: Layout, going: tuple[Process, ...], reading: Reading) -> Batch | None:
    """End these processes with their children, and wait until they are gone. No undo: their console arguments are
    unknown, and the services that follow take their place."""
    if not going:
        return None
    ops: list[Op] = []
    for each in going:
        # The filter: by now the pid may belong to another program.
        words = ("/T", "/F", "/PID", str(each.pid), "/FI", f"IMAGENAME eq {each.name}")
        ops.append(run(TASKKILL, *words, ok_exit=(0, NOT_FOUND)))
    held = sorted({each.path for each in going if not windows_path.problem(each.path)})
    running = {each.path.casefold() for each in (_process(one) for one in reading.parts.get(PROCESSES) or ())
               if each.pid not in {one.pid for one in going}}  # fmt: skip
    ops += (
        Op("wait", {"for": "process_gone", "path": path, "timeout_s": GONE_S})
        for path in held
        if path.casefold() not in running
    )
    return Batch(
        component=COMPONENT,
        ops=tuple(ops),
        pre=(Expectation(system_query(), (("machine", reading.machine), ("boot_id", reading.boot_id))),),
        state=reads(layout),
    )


def list_roles(layout: Layout, going: tuple[Process, ...]) -> tuple[str, ...]:
    """The roles whose services take the place of these processes."""
    names = {each.name.casefold() for each in going}
    return tuple(
        each.role
        for each in registry.COMPONENTS
        if each.daemon is not None and windows_path.name(each.daemon.program(layout)).casefold() in names
    )


def as_data(found: tuple[Found, ...], going: tuple[Process, ...]) -> dict[str, Any]:
    """For a task's result."""
    return {
        "services": [{"name": each.service, "program": each.program, "made_by": each.origin} for each in found],
        "processes": [{"pid": each.pid, "path": each.path or each.name, "started": each.started} for each in going],
    }


def _find_outside(
    program: str, running: list[Process], owners: list[Mapping[str, Any]], listed: list[Process]
) -> Iterator[Process]:
    own = {int(service["pid"]) for service in owners}
    left = [each for each in running if each.pid not in own]
    behind = [service for service in owners if int(service["pid"]) not in {each.pid for each in running}]
    if not behind or not left:
        yield from left
        return
    # A wrapper's child cannot be older than the wrapper.
    since = min((each.started for each in listed if each.pid in own), default="")
    older = [each for each in left if since and each.started < since]
    yield from older
    rest = [each for each in left if each not in older]
    if len(rest) > len(behind):
        pids = ", ".join(str(each.pid) for each in rest)
        raise Refused(
            f"{program} runs {len(rest)} times (pids {pids}), and {behind[0]['name']} has started one of them: end the "
            "others yourself (taskkill.exe /F /PID), since Windows does not tell here which is whose."
        )


def _runs(service: Mapping[str, Any], program: str) -> bool:
    present = windows_path.name(Existing(service).program).casefold()
    line = _line(service)
    if program == "kubelet.exe" and "startkubelet.ps1" in line:
        return True
    return present == program or ("kube-log-runner.exe" in line and program in line)


def _line(service: Mapping[str, Any]) -> str:
    parameters = service.get("nssm") or {}
    return f"{service.get('image_path')} {parameters.get('Application')} {parameters.get('AppParameters')}".casefold()


def _process(found: Mapping[str, Any]) -> Process:
    return Process(int(found["pid"]), str(found["name"]), str(found.get("path") or ""), str(found.get("started") or ""))
