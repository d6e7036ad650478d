# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One container as containerd, Windows, HCS and HNS see it, and where they disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .host_tools import Hosts, PodAdapter, Process, Task

RUNNING = "RUNNING"
SHIM = "containerd-shim-runhcs-v1.exe"
"""containerd starts one for each pod, by this name, from its own folder. Source: containerd
v2.3.7 pkg/shim/util_windows.go, shimBinaryFormat; the runtime is io.containerd.runhcs.v1."""

HCS_SERVICE = "vmcompute"


@dataclass(frozen=True, slots=True)
class Seen:
    """What each of them says of one container. None: not asked, or it could not be asked (`notes` says why)."""

    task: Task
    labels: Mapping[str, str] = field(default_factory=dict)
    process: Process | None = None
    hosts: Hosts | None = None
    adapters: tuple[PodAdapter, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """The pod's; empty for a container that no kubelet has made."""
        return self.labels.get("io.kubernetes.pod.namespace", "")

    @property
    def pod(self) -> str:
        """The pod's name."""
        return self.labels.get("io.kubernetes.pod.name", "")

    @property
    def name(self) -> str:
        """The container's name in its pod; empty for the pod's sandbox."""
        return self.labels.get("io.kubernetes.container.name", "")

    def __str__(self) -> str:
        if not self.pod:
            return f"container {self.task.id[:13]}"
        return f"{f'container {self.name}' if self.name else 'the sandbox'} of pod {self.namespace}/{self.pod}"


def below(shim: str, *, shim_there: bool, hcs: Mapping[str, Any] | None, in_use: bool) -> tuple[str, ...]:
    """What is missing of the layer below containerd: the shim, and the Host Compute Service. Windows starts that on
    demand, so it has to run only if containers do (`in_use`)."""
    found = []
    if not shim_there:
        found.append(f"There is no {shim}, with which containerd starts containers; no pod can start.")
    state = str((hcs or {}).get("state") or "not there")
    if hcs is None or (in_use and state != "running"):
        found.append(f"The service {HCS_SERVICE} (Host Compute Service), which makes the containers, is {state}.")
    return tuple(found)


def findings(seen: Seen, endpoints: Mapping[str, str] | None, cluster_domain: str) -> tuple[str, ...]:
    """Where they disagree, a sentence each. `endpoints`: addresses of HNS endpoints by name, None if not known."""
    return tuple(f"{seen}: {sentence}" for sentence in _findings(seen, endpoints, cluster_domain))


def _findings(seen: Seen, endpoints: Mapping[str, str] | None, cluster_domain: str) -> Iterator[str]:
    if seen.task.status != RUNNING:
        yield f"its task is {seen.task.status}."
    elif seen.process is None:
        yield f"containerd says that it runs as process {seen.task.pid}, and Windows has no such process."
    if seen.hosts is not None and seen.name:
        if not seen.hosts.managed:
            yield "its hosts file is not the kubelet's, so the pod does not know its own name."
        elif not seen.hosts.pod:
            yield "its hosts file has no line for the pod."
    for adapter in seen.adapters or ():
        if adapter.endpoint:
            yield from _adapter(seen, adapter, endpoints, cluster_domain)


def _adapter(
    seen: Seen, adapter: PodAdapter, endpoints: Mapping[str, str] | None, cluster_domain: str
) -> Iterator[str]:
    wanted = f"{seen.namespace}.svc.{cluster_domain}"
    if seen.namespace and adapter.suffix and adapter.suffix.casefold() != wanted.casefold():
        yield f"the DNS suffix of {adapter.name} is {adapter.suffix}, not {wanted}."
    if endpoints is None:
        return
    named = {name.casefold(): address for name, address in endpoints.items()}
    there = named.get(adapter.endpoint.casefold())
    if there is None:
        yield f"HNS has no endpoint {adapter.endpoint}, whose adapter the container has."
        return
    if adapter.address and adapter.address != there:
        yield f"{adapter.name} has the address {adapter.address}, its HNS endpoint {there}."
    if seen.hosts is not None and seen.hosts.pod and there not in seen.hosts.pod:
        yield f"its hosts file says that the pod is {', '.join(seen.hosts.pod)}, its HNS endpoint has {there}."


def as_data(seen: Seen, endpoints: Mapping[str, str] | None, cluster_domain: str) -> dict[str, Any]:
    """As the module returns it."""
    process = seen.process
    return {
        "id": seen.task.id,
        "pid": seen.task.pid,
        "status": seen.task.status,
        "namespace": seen.namespace,
        "pod": seen.pod,
        "container": seen.name,
        "process": {} if process is None else {"name": process.name, "user": process.user, "cpu_s": process.cpu_s},
        "pod_ips": [] if seen.hosts is None else list(seen.hosts.pod),
        "adapters": [
            {name: getattr(one, name) for name in ("name", "endpoint", "network", "cni", "suffix", "address", "mask")}
            | {"gateway": one.gateway}
            for one in seen.adapters or ()
        ],
        "findings": list(findings(seen, endpoints, cluster_domain)),
        "notes": list(seen.notes),
    }
