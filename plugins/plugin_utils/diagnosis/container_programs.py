# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The programs of a node that tell of its containers: what is read before, what is run, what lies below containerd.

A file of its own: cri/containers.py reads what these programs print, and knows no node."""

from __future__ import annotations

from collections.abc import Sequence

from ..components.layout import Layout
from ..components.networks import hns_query
from ..cri import containers
from ..cri.containers import HCS_SERVICE, SHIM, Task
from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, Reading, file_query, services_query, system_query
from ..engine.resource import Refused
from ..engine.tools import SYSTEM32, run

HCSDIAG = SYSTEM32 + r"\hcsdiag.exe"
TASKLIST = SYSTEM32 + r"\tasklist.exe"


def check_ids(given: Sequence[str]) -> list[str]:
    """The ids of the containers that are asked for. Refused for anything else."""
    try:
        return [containers.container_id(text) for text in given]
    except ValueError as error:
        raise Refused(f"containers: {error}") from error


def reads(layout: Layout) -> tuple[Query, ...]:
    """What is read of the node before any program is run."""
    return (
        system_query(),
        services_query((HCS_SERVICE,)),
        file_query(layout.runner, sha256=True),
        file_query(layout.ctr),
        file_query(_shim(layout)),
        *(file_query(path) for path in crictl_paths(layout)),
        hns_query("endpoints"),
    )


def crictl_paths(layout: Layout) -> tuple[str, ...]:
    """Where crictl.exe may be."""
    return tuple(windows_path.join(folder, "crictl.exe") for folder in (layout.containerd_bin_dir, layout.root))


def list_tasks(layout: Layout) -> tuple[Op, Op]:
    """containerd's tasks and Windows' processes."""
    pipe = rf"\\.\pipe\{layout.containerd_pipe}"
    return (
        run(layout.ctr, "--address", pipe, "--namespace", "k8s.io", "task", "ls", encoding="utf-8"),
        run(TASKLIST, "/V", "/FO", "CSV", "/NH", timeout_s=120),
    )


def list_pods(layout: Layout, crictl: str) -> tuple[Op, Op]:
    """The pods and the containers that the kubelet has made, with their labels."""
    endpoint = f"npipe:////./pipe/{layout.containerd_pipe}"
    return (
        run(crictl, "--runtime-endpoint", endpoint, "pods", "-o", "json", encoding="utf-8"),
        run(crictl, "--runtime-endpoint", endpoint, "ps", "-a", "-o", "json", encoding="utf-8"),
    )


def look_inside(task: Task) -> tuple[Op, Op]:
    """The hosts file and the adapters of a running container. ValueError for an id that hcsdiag must not get."""
    name = containers.container_id(task.id)
    return (
        run(HCSDIAG, "read", name, containers.HOSTS_FILE, encoding="utf-8"),
        run(HCSDIAG, "exec", name, "ipconfig"),
    )


def judge_host(layout: Layout, reading: Reading, listed: Sequence[Task]) -> tuple[str, ...]:
    """What is wrong below containerd: its shim, and Windows' service that runs containers."""
    shim = _shim(layout)
    return containers.below(
        shim,
        shim_there=bool(reading.file(shim).get("exists")),
        hcs=reading.service(HCS_SERVICE),
        in_use=any(task.status == containers.RUNNING for task in listed),
    )


def _shim(layout: Layout) -> str:
    return windows_path.join(layout.containerd_bin_dir, SHIM)
