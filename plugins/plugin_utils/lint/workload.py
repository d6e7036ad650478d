# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the pod in an object: the Pod itself, or the template of whatever makes pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .manifest import KubeObject
from .model import Path, as_list, as_map, as_text

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

# Where the pod template stands, by kind. Sources: S2 L79-85, S3 L105-112; k8s.io/api batch/v1, core/v1 PodTemplate.
TEMPLATES: dict[str, tuple[str, ...]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "ReplicationController": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "Deployment": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}


@dataclass(frozen=True, slots=True)
class Container:
    """One container, of any of the three lists; `path` counts from the pod."""

    path: Path
    name: str
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        return str(self.path[1])

    @property
    def security(self) -> dict[str, Any]:
        return as_map(self.value.get("securityContext"))

    @property
    def image(self) -> str:
        return as_text(self.value.get("image"))


@dataclass(frozen=True, slots=True, eq=False)
class Pod:
    """A pod or pod template. `root` is the mapping that holds metadata and spec, `prefix` its path in the document."""

    object: KubeObject
    prefix: Path
    root: dict[str, Any]
    spec: dict[str, Any]
    containers: tuple[Container, ...]

    @property
    def labels(self) -> dict[str, Any]:
        return as_map(as_map(self.root.get("metadata")).get("labels"))

    @property
    def annotations(self) -> dict[str, Any]:
        return as_map(as_map(self.root.get("metadata")).get("annotations"))

    @property
    def security(self) -> dict[str, Any]:
        return as_map(self.spec.get("securityContext"))

    @property
    def declared(self) -> str:
        """`spec.os.name`, empty if absent."""
        return as_text(as_map(self.spec.get("os")).get("name"))

    @property
    def host_process(self) -> bool:
        """Does any container run as a process of the host? Source: k8s.io/kubernetes validateWindowsHostProcessPod."""
        at_pod = as_map(self.security.get("windowsOptions")).get("hostProcess") is True
        return at_pod or any(
            as_map(each.security.get("windowsOptions")).get("hostProcess") is True for each in self.containers
        )


def pod_of(thing: KubeObject) -> Pod | None:
    """The pod in an object, if any; also in unknown kinds that carry a pod template where a Deployment has it."""
    template = TEMPLATES.get(thing.kind, ("spec", "template"))
    root = _inside(thing.value, template)
    spec = root.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("containers"), list):
        return None
    return Pod(thing, (*thing.prefix, *template), root, spec, tuple(_containers(spec)))


def _inside(value: Any, path: tuple[str, ...]) -> dict[str, Any]:
    for part in path:
        value = as_map(value).get(part)
    return as_map(value)


def _containers(spec: dict[str, Any]) -> Iterator[Container]:
    for listed in CONTAINER_LISTS:
        for number, value in enumerate(as_list(spec.get(listed))):
            if isinstance(value, dict):
                yield Container(("spec", listed, number), as_text(value.get("name")) or f"{listed}[{number}]", value)
