# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who a run is, so that another one can tell whether it still goes on: a pod by its uid, else a process by where and
when it started. A clock says nothing: a run may wait for hours."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..cluster.pods import has_ended

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
INITIAL_PID_NAMESPACE = "4026531836"
"""Of the machine itself, in no container. Source: linux include/linux/proc_ns.h, PROC_PID_INIT_INO."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process runs. Two processes of one place can see each other. Empty parts are not known."""

    host: str = ""
    machine: str = ""
    boot: str = ""
    pids: str = ""
    """The namespace of its number."""

    @classmethod
    def here(cls) -> Place:
        """Of this process."""
        return cls(
            socket.gethostname(),
            _read("/etc/machine-id"),
            _read("/proc/sys/kernel/random/boot_id"),
            _read_link("/proc/self/ns/pid"),
        )

    @property
    def is_machine(self) -> bool:
        """Whether it is a machine itself, and not a container on it."""
        return bool(self.machine) and self.pids == INITIAL_PID_NAMESPACE


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ansible-playbook. `by` is for people; `pod` is `namespace/name/uid` of the pod that it runs in, else
    `pid`, `started` and `place` are its process."""

    id: str
    by: str
    pod: str = ""
    pid: int = 0
    started: str = ""
    place: Place = field(default_factory=Place)

    def to_data(self) -> dict[str, Any]:
        """For the annotation: what is not known is left out."""
        found = asdict(self)
        found["place"] = {name: value for name, value in found["place"].items() if value}
        return {name: value for name, value in found.items() if value}

    @classmethod
    def from_data(cls, found: Mapping[str, Any]) -> Run:
        """Of an annotation, which anybody may have written: a part of another type is one that is not known."""
        place = found.get("place")
        pid = found.get("pid")
        return cls(
            _text(found, "id"),
            _text(found, "by"),
            _text(found, "pod"),
            pid if isinstance(pid, int) else 0,
            _text(found, "started"),
            Place(**{name: _text(place, name) for name in ("host", "machine", "boot", "pids")})
            if isinstance(place, Mapping)
            else Place(),
        )


def is_over(
    run: Run,
    list_pods: Callable[[str], Sequence[Mapping[str, Any]]],
    here: Place,
    started: Callable[[int], str],
) -> bool | None:
    """Whether a run has ended; None where only a person can say so.

    Args:
        run: The run of a mark.
        list_pods: The pods at an API path. It may raise.
        here: Where this process runs.
        started: When the process of a number started, empty if there is none.
    """
    if run.pod:
        namespace, _slash, rest = run.pod.partition("/")
        name, _slash, uid = rest.partition("/")
        if not (_NAME.fullmatch(namespace) and _NAME.fullmatch(name) and uid):
            return None
        found = list_pods(f"/api/v1/namespaces/{namespace}/pods?fieldSelector=metadata.name%3D{quote(name)}")
        same = [pod for pod in found if (pod.get("metadata") or {}).get("uid") == uid]
        return not same or has_ended(same[0])
    if not run.pid or not run.started or run.place.host != here.host:
        return None
    if run.place == here:
        return started(run.pid) != run.started
    restarted = run.place.boot and here.boot and run.place.boot != here.boot
    if restarted and run.place.machine == here.machine and run.place.is_machine and here.is_machine:
        return True
    return None


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _read_link(path: str) -> str:
    """The number in `pid:[4026531836]`."""
    try:
        return str(Path(path).readlink()).partition("[")[2].rstrip("]")
    except OSError:
        return ""
