# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU and memory: Windows pages rather than kill for memory, and it has no huge pages."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from ..facts.quantity import quantity
from ..foreign.windows import Pattern
from .catalog import PodCase
from .model import Hit, Severity, as_map, as_text
from .rule import ALL_CONTAINERS, DOC, Rule, always, by_steps, needing, volumes

_RESOURCES = f"{ALL_CONTAINERS}.resources"


@needing("resources", "emptyDir")
def _huge_pages(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        resources = as_map(container.value.get("resources"))
        for part in ("limits", "requests"):
            for name in as_map(resources.get(part)):
                if str(name).startswith("hugepages-"):
                    yield Hit((*container.path, "resources", part, name), {"what": str(name)}, container.name)
    for path, volume in volumes(case):
        medium = as_text(as_map(volume.get("emptyDir")).get("medium"))
        if medium.startswith("HugePages"):
            yield Hit((*path, "emptyDir", "medium"), {"what": f"emptyDir.medium {medium}"})


def _list_sizes(case: PodCase) -> Iterator[tuple[Any, dict[str, Any], dict[str, Any]]]:
    """(container, requests, limits); ephemeral containers have neither."""
    for container in case.pod.containers:
        if container.kind != "ephemeralContainers":
            resources = as_map(container.value.get("resources"))
            yield container, as_map(resources.get("requests")), as_map(resources.get("limits"))


def _list_pairs(case: PodCase, *resources: str) -> Iterator[tuple[Any, str, Fraction, Fraction, dict[str, str]]]:
    """(container, resource, request, limit, both as written) for containers that set both."""
    for container, requests, limits in _list_sizes(case):
        for resource in resources:
            request, limit = quantity(requests.get(resource)), quantity(limits.get(resource))
            if request is not None and limit is not None:
                written = {"request": str(requests[resource]), "limit": str(limits[resource])}
                yield container, resource, request, limit, written


@needing("requests")
def _request_above_limit(case: PodCase) -> Iterator[Hit]:
    for container, resource, request, limit, written in _list_pairs(case, "cpu", "memory", "ephemeral-storage"):
        if request > limit:
            yield Hit((*container.path, "resources", "requests"), {"resource": resource, **written}, container.name)


def _unequal_memory(case: PodCase) -> Iterator[Hit]:
    """A request below its limit; the rule request-above-limit has the other case."""
    for container, resource, request, limit, written in _list_pairs(case, "memory"):
        if request < limit:
            yield Hit((*container.path, "resources", "requests", resource), written, container.name)


def _no_memory_limit(case: PodCase) -> Iterator[Hit]:
    for container, _requests, limits in _list_sizes(case):
        if "memory" not in limits:
            yield Hit((*container.path, "resources", "limits"), {"what": container.name}, container.name)


def _no_requests(case: PodCase) -> Iterator[Hit]:
    """A limit counts as the request: the API server copies it. missing-memory-limit covers memory without either."""
    for container, requests, limits in _list_sizes(case):
        if "cpu" not in requests and "cpu" not in limits:
            yield Hit((*container.path, "resources", "requests"), {"what": container.name}, container.name)


# Source: learn.microsoft.com, Windows container requirements: Nano Server in process isolation takes 40 MB and more.
_SMALLEST_CONTAINER = 40 * 1024**2


@needing("limits")
def _too_little_memory(case: PodCase) -> Iterator[Hit]:
    """A host process needs no system of its own."""
    for container, _requests, limits in _list_sizes(case) if not case.pod.host_process else ():
        limit = quantity(limits.get("memory"))
        if limit is not None and 0 < limit < _SMALLEST_CONTAINER:
            values = {"value": str(limits["memory"])}
            yield Hit((*container.path, "resources", "limits", "memory"), values, container.name)


# No Windows node has as many: Windows Server supports up to 2,048 logical processors per machine, clouds rent 416.
_MOST_PROCESSORS = 256


@needing("cpu")
def _too_many_processors(case: PodCase) -> Iterator[Hit]:
    for container, requests, limits in _list_sizes(case):
        part = "requests" if "cpu" in requests else "limits"
        asked = quantity((requests or limits).get("cpu", limits.get("cpu")))
        if asked is not None and asked > _MOST_PROCESSORS:
            value = str(requests.get("cpu", limits.get("cpu")))
            yield Hit((*container.path, "resources", part, "cpu"), {"value": value}, container.name)


# A container with a hundredth of a processor takes minutes to start. Source: kubernetes/kubernetes#93945; kubelet
# calculateCPUMaximum: the limit is a hard share of the job object's time.
_SMALLEST_SHARE = 0.01


@needing("limits")
def _too_little_processor(case: PodCase) -> Iterator[Hit]:
    for container, _requests, limits in _list_sizes(case):
        limit = quantity(limits.get("cpu"))
        if limit is not None and 0 < limit <= _SMALLEST_SHARE:
            values = {"value": str(limits["cpu"])}
            yield Hit((*container.path, "resources", "limits", "cpu"), values, container.name)


@needing("resizePolicy")
def _find_resized(case: PodCase) -> Iterator[Hit]:
    for container in case.pod.containers:
        if container.value.get("resizePolicy"):
            yield Hit((*container.path, "resizePolicy"), {}, container.name)


# Resources of device plugins that run only on Linux nodes. Sources: the plugins' own pages; their DaemonSets.
_LINUX_DEVICES = Pattern(
    r"(?:nvidia\.com|amd\.com|(?:[a-z]+\.)?intel\.com|squat\.ai|rdma|smarter-devices|devices\.kubevirt\.io|xilinx\.com"
    r"|habana\.ai|aws\.amazon\.com|google\.com|cloud-tpus\.google\.com)/.+"
)


@needing("resources")
def _linux_devices(case: PodCase) -> Iterator[Hit]:
    for container, requests, limits in _list_sizes(case):
        for part, amounts in (("limits", limits), ("requests", {k: v for k, v in requests.items() if k not in limits})):
            for name in amounts:
                if _LINUX_DEVICES.fullmatch(str(name)):
                    values = {"value": str(name)}
                    yield Hit((*container.path, "resources", part, str(name)), values, container.name)


RULES: tuple[Rule, ...] = (
    Rule(
        id="request-above-limit",
        title="A request above its limit",
        level=always(Severity.ERROR),
        find=_request_above_limit,
        message="{resource} request {request} is above the limit {limit}: the API server rejects the pod.",
        remedy="Lower the request or raise the limit. Check the unit: 500m is half a processor.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateResourceRequirements",
        paths=(f"{_RESOURCES}.requests",),
    ),
    Rule(
        id="too-little-memory",
        title="Less memory than a Windows container takes",
        level=always(Severity.ERROR),
        find=_too_little_memory,
        message="memory limit {value} is less than an empty Windows container takes (40Mi for Nano Server, more for"
        " Server Core): it does not start, or ends soon.",
        remedy="Raise the limit; check the unit, 300m is 0.3 bytes.",
        source="learn.microsoft.com, Windows container requirements",
        paths=(f"{_RESOURCES}.limits.memory",),
    ),
    Rule(
        id="too-many-processors",
        title="More processors than a node has",
        level=always(Severity.WARNING),
        find=_too_many_processors,
        message="{value} processors are asked for: if no node has so many, the pod stays Pending.",
        remedy="Check the unit: 500m is half a processor.",
        source="k8s.io/kubernetes pkg/scheduler/framework/plugins/noderesources",
        paths=(f"{_RESOURCES}.requests.cpu",),
    ),
    Rule(
        id="too-little-processor",
        title="Less processor than a container needs to start",
        level=always(Severity.WARNING),
        find=_too_little_processor,
        message="processor limit {value} is a hard share on Windows: starting the container's own system processes"
        " takes minutes with it, and probes may kill it first.",
        remedy="Raise the limit to 100m and more, or set only a request.",
        source="kubernetes/kubernetes#93945; k8s.io/kubernetes pkg/kubelet/kuberuntime calculateCPUMaximum",
        paths=(f"{_RESOURCES}.limits.cpu",),
    ),
    Rule(
        id="resize-policy",
        title="Resizing in place",
        level=by_steps("resize-policy"),
        find=_find_resized,
        message="resizePolicy is set; the API server refuses to resize Windows pods; they are recreated.",
        remedy="Remove the field.",
        source="k8s.io/kubernetes pkg/apis/core/validation ValidatePodResize",
        paths=(f"{ALL_CONTAINERS}.resizePolicy",),
    ),
    Rule(
        id="linux-device",
        title="Devices that only Linux nodes offer",
        level=always(Severity.ERROR),
        find=_linux_devices,
        message="{value} comes from a device plugin that runs only on Linux: no Windows node offers it.",
        remedy="Ask for what a plugin for Windows offers: microsoft.com/directx, directx.microsoft.com/display.",
        source="NVIDIA/k8s-device-plugin; TensorWorks/DirectX-Device-Plugins; learn.microsoft.com, AKS, Windows GPUs",
        paths=(f"{_RESOURCES}.limits", f"{_RESOURCES}.requests"),
    ),
    Rule(
        id="huge-pages",
        title="Huge pages",
        level=always(Severity.ERROR),
        find=_huge_pages,
        message="{what}: huge pages are not implemented in the Windows container runtime.",
        remedy="Remove it.",
        source=DOC,
        paths=(f"{_RESOURCES}.limits[hugepages-*]", "spec.volumes[*].emptyDir.medium"),
    ),
    Rule(
        id="unequal-memory-request",
        title="Memory request and limit differ",
        level=always(Severity.INFO),
        find=_unequal_memory,
        message="memory request {request} and limit {limit} differ. Windows does not kill for memory, it pages:"
        " an overcommitted node gets slow.",
        remedy="Set the request equal to the limit, or remove the request: then the limit counts as the request.",
        source=DOC,
        paths=(f"{_RESOURCES}.requests.memory",),
    ),
    Rule(
        id="missing-memory-limit",
        title="No memory limit",
        level=always(Severity.INFO),
        find=_no_memory_limit,
        message="container {what} has no memory limit: the scheduler counts nothing for it, and the node pages"
        " when it grows.",
        remedy="Set resources.limits.memory.",
        source=DOC,
        paths=(f"{_RESOURCES}.limits.memory",),
    ),
    Rule(
        id="missing-cpu-request",
        title="No CPU request",
        level=always(Severity.INFO),
        find=_no_requests,
        message="container {what} has neither a CPU request nor a CPU limit: the scheduler cannot keep the node"
        " from being overcommitted.",
        remedy="Set resources.requests.cpu or resources.limits.cpu.",
        source=DOC,
        paths=(f"{_RESOURCES}.requests.cpu",),
    ),
)
