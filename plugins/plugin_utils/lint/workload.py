# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the pods in an object: the Pod itself, or the templates of anything that makes pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .manifest import KubeObject
from .model import Path, as_list, as_map, as_text

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

# The place of the pod template, by kind. Sources: k8s.io/api batch/v1, core/v1 PodTemplate.
TEMPLATES: dict[str, Path] = {
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
    """One container of any of the three lists; `path` starts at the pod."""

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
    """A pod or pod template. `root` is the mapping with metadata and spec, `prefix` its path in the document.

    An object may have several (JobSet, LeaderWorkerSet, Volcano's Job).
    """

    object: KubeObject
    prefix: Path
    root: dict[str, Any]
    spec: dict[str, Any]
    containers: tuple[Container, ...]
    # The real places of a pod that is assembled from pieces: path of the pod -> path of the object.
    places: Mapping[Path, Path] = field(default_factory=dict)
    # Whether any container runs as a process of the host. Source: k8s.io/kubernetes validateWindowsHostProcessPod.
    host_process: bool = field(init=False)

    @property
    def whole(self) -> bool:
        """Whether the text contains the pod as it is."""
        return not self.places

    def locate(self, path: Path) -> Path:
        """The document's path for a path in the pod."""
        for length in range(len(path), -1, -1) if self.places else ():
            if path[:length] in self.places:
                return (*self.prefix, *self.places[path[:length]], *path[length:])
        return (*self.prefix, *path)

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
    def os_name(self) -> str:
        """`spec.os.name`, empty if absent."""
        return as_text(as_map(self.spec.get("os")).get("name"))

    def __post_init__(self) -> None:
        securities = (self.security, *(each.security for each in self.containers))
        of_host = any(as_map(each.get("windowsOptions")).get("hostProcess") is True for each in securities)
        object.__setattr__(self, "host_process", of_host)


# Kinds whose pods are elsewhere, or whose `containers` are not containers of a pod.
_NO_PODS = frozenset(["CustomResourceDefinition", "ConfigMap", "Secret"])
# Argo Workflows: a template has one container or several and its own scheduling, the Workflow the rest. Source:
# argoproj/argo-workflows pkg/apis/workflow/v1alpha1 workflow_types.go Template, WorkflowSpec.
_ARGO_GROUP = "argoproj.io"
_ARGO_KINDS = frozenset(["Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate", "CronWorkflow"])
_ARGO_SHARED = ("nodeSelector", "tolerations", "affinity", "securityContext", "volumes", "hostAliases")
_ARGO_OF_WORKFLOW = ("hostNetwork", "dnsPolicy", "dnsConfig", "serviceAccountName")


def pods_of(thing: KubeObject) -> tuple[Pod, ...]:
    """The pods and pod templates in an object, in the order of the text.

    Kubernetes' own kinds have them where TEMPLATES says. Any other kind is searched: whatever has `containers` below a
    `spec` is a pod (Deployments of OpenShift, JobSet, LeaderWorkerSet, Volcano, ScaledJob, rollouts, operators).
    """
    if thing.kind in _NO_PODS:
        return ()
    if thing.sort in TEMPLATES:
        pod = _pod_at(thing, TEMPLATES[thing.sort])
        return (pod,) if pod is not None else ()
    if thing.group == _ARGO_GROUP and thing.kind in _ARGO_KINDS:
        return tuple(_argo(thing))
    return tuple(_search(thing, thing.value, ()))


def _pod_at(thing: KubeObject, path: Path) -> Pod | None:
    root = _inside(thing.value, path)
    spec = root.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("containers"), list):
        return None
    return Pod(thing, (*thing.prefix, *path), root, spec, tuple(_containers(spec)))


def _search(thing: KubeObject, value: Any, path: Path) -> Iterator[Pod]:
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _search(thing, inner, (*path, number))
    elif isinstance(value, dict):
        containers = as_list(as_map(value.get("spec")).get("containers"))
        if containers and all(isinstance(each, dict) and ("image" in each or "name" in each) for each in containers):
            pod = _pod_at(thing, path)
            if pod is not None:
                yield pod
            return
        if path[-1:] == ("template",) and (pod := _flat_pod(thing, value, path)) is not None:
            yield pod
            return
        for key, inner in value.items():
            if isinstance(inner, dict | list) and key not in ("status", "ownerReferences"):
                yield from _search(thing, inner, (*path, key))


_OF_CONTAINER = frozenset(
    ["image", "imagePullPolicy", "command", "args", "env", "envFrom", "resources", "volumeMounts", "workingDir"]
)


def _flat_pod(thing: KubeObject, template: dict[str, Any], path: Path) -> Pod | None:
    """A template whose only container is in its spec, beside the pod's fields: RunnerDeployment and the like.

    Source: actions/actions-runner-controller apis RunnerPodSpec.
    """
    given = as_map(template.get("spec"))
    if not isinstance(given.get("image"), str) or not ({"nodeSelector", "tolerations", "affinity"} & given.keys()):
        return None
    container = {key: value for key, value in given.items() if key in _OF_CONTAINER}
    spec = {key: value for key, value in given.items() if key not in _OF_CONTAINER} | {"containers": [container]}
    here: Path = (*path, "spec")
    places = {("spec",): here, ("spec", "containers", 0): here, (): path}
    root = {"metadata": as_map(template.get("metadata")), "spec": spec}
    return Pod(thing, thing.prefix, root, spec, tuple(_containers(spec)), places)


def _argo(thing: KubeObject) -> Iterator[Pod]:
    """A pod for each template: an assembled view, with the real places of its parts."""
    at: Path = ("spec", "workflowSpec") if thing.kind == "CronWorkflow" else ("spec",)
    workflow = _inside(thing.value, at)
    for number, template in enumerate(as_list(workflow.get("templates"))):
        here: Path = (*at, "templates", number)
        spec: dict[str, Any] = {}
        places: dict[Path, Path] = {(): here}
        parts = _argo_containers(as_map(template), here)
        if not parts:
            continue
        for key in (*_ARGO_SHARED, *_ARGO_OF_WORKFLOW):
            holder, where = (template, here) if key in as_map(template) else (workflow, at)
            if key in holder:
                spec[key] = holder[key]
                places[("spec", key)] = (*where, key)
        for listed, found in parts.items():
            spec[listed] = [value for _path, value in found]
            places |= {("spec", listed, place): path for place, (path, _value) in enumerate(found)}
        root = {"metadata": as_map(as_map(template).get("metadata")), "spec": spec}
        yield Pod(thing, thing.prefix, root, spec, tuple(_containers(spec)), places)


def _argo_containers(template: dict[str, Any], here: Path) -> dict[str, list[tuple[Path, Any]]]:
    main = [((*here, key), template[key]) for key in ("container", "script") if isinstance(template.get(key), dict)]
    several = as_list(as_map(template.get("containerSet")).get("containers"))
    main += [((*here, "containerSet", "containers", number), each) for number, each in enumerate(several)]
    if not main:
        return {}
    main += [((*here, "sidecars", number), each) for number, each in enumerate(as_list(template.get("sidecars")))]
    first = [
        ((*here, "initContainers", number), each) for number, each in enumerate(as_list(template.get("initContainers")))
    ]
    return {"containers": main, **({"initContainers": first} if first else {})}


def holds_images(thing: KubeObject) -> bool:
    """Whether it names images without a recognised pod; reports list such kinds."""
    return thing.kind not in _NO_PODS and _names_images(thing.value)


def _names_images(value: Any) -> bool:
    if isinstance(value, dict):
        image = value.get("image")
        # Operators have it in pieces; the image of a machine's disk is something else.
        named = isinstance(image, str) or "repository" in as_map(image) or "containers" in value
        return named or any(_names_images(inner) for key, inner in value.items() if key != "status")
    return isinstance(value, list) and any(map(_names_images, value))


def _inside(value: Any, path: Path) -> dict[str, Any]:
    for part in path:
        value = as_list(value)[part] if isinstance(part, int) else as_map(value).get(part)
    return as_map(value)


def _containers(spec: dict[str, Any]) -> Iterator[Container]:
    for listed in CONTAINER_LISTS:
        for number, value in enumerate(as_list(spec.get(listed))):
            if isinstance(value, dict):
                yield Container(("spec", listed, number), as_text(value.get("name")) or f"{listed}[{number}]", value)
