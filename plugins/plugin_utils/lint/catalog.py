# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All objects of one run, and the questions that rules ask across objects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..facts.node_labels import BUILD_LABEL
from ..facts.taint import Taint, follows_state
from .manifest import KubeObject
from .model import as_list, as_map, as_text
from .profile import Profile
from .target import Target, selector_os, target_of
from .workload import TEMPLATES, Pod, holds_images, pods_of


@dataclass(frozen=True, slots=True, eq=False)
class PodCase:
    """A pod as a rule sees it: the pod, its system, the cluster, and the other objects."""

    pod: Pod
    target: Target
    profile: Profile
    catalog: Catalog

    @property
    def declares_windows(self) -> bool:
        return self.pod.os_name == "windows"


@dataclass(frozen=True, eq=False)
class ObjectCase:
    """Any other object as a rule sees it. `pods` are the Windows pods that use it."""

    object: KubeObject
    profile: Profile
    catalog: Catalog
    pods: tuple[PodCase, ...] = ()

    @property
    def spec(self) -> dict[str, Any]:
        return self.object.spec

    declares_windows = False


@dataclass(eq=False)
class Catalog:
    """The objects in the order of the input, without those that another object of the input made."""

    profile: Profile
    objects: list[KubeObject]
    pods: list[PodCase] = field(default_factory=list)
    node_pods: dict[str, list[Pod]] = field(default_factory=dict)
    # Kinds that name images but have no pod, with the number of objects.
    not_looked_into: Counter[str] = field(default_factory=Counter)

    @cached_property
    def by_kind(self) -> Mapping[str, list[KubeObject]]:
        found: defaultdict[str, list[KubeObject]] = defaultdict(list)
        for each in self.objects:
            found[each.sort].append(each)
        return found

    def of_kind(self, kind: str, namespace: str | None = None) -> Iterator[KubeObject]:
        for each in self.by_kind.get(kind, ()):
            if namespace is None or each.namespace == namespace:
                yield each

    def find(self, kind: str, name: str, namespace: str | None = None) -> KubeObject | None:
        return next((each for each in self.of_kind(kind, namespace) if each.name == name), None)

    @cached_property
    def runtime_classes(self) -> Mapping[str, Mapping[str, Any]]:
        return {each.name: each.value for each in self.of_kind("RuntimeClass")}

    @cached_property
    def node_systems(self) -> Mapping[str, str]:
        """The operating system of each Node of the input, by name."""
        return {each.name: selector_os(as_map(each.metadata.get("labels"))) for each in self.of_kind("Node")}

    @cached_property
    def windows_nodes(self) -> tuple[KubeObject, ...]:
        labelled = (
            each for each in self.of_kind("Node") if selector_os(as_map(each.metadata.get("labels"))) == "windows"
        )
        return tuple(labelled)

    @cached_property
    def builds(self) -> tuple[int, ...]:
        """The builds of the cluster's Windows nodes: those of the Nodes in the input, else the profile's."""
        numbers = {
            str(as_map(node.metadata.get("labels")).get(BUILD_LABEL, "")).removeprefix("10.0.")
            for node in self.windows_nodes
        }
        return tuple(sorted(int(number) for number in numbers if number.isdigit())) or self.profile.builds

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """The taints on every Windows node: those of the Nodes in the input, else the profile's.

        Also empty if unknown (see taints_known).
        """
        if not self.windows_nodes:
            return (self.profile.taint,) if self.profile.taint else ()
        common: set[Taint] | None = None
        for node in self.windows_nodes:
            found = {
                Taint(as_text(taint.get("key")), str(taint.get("value") or ""), as_text(taint.get("effect")))
                for taint in map(as_map, as_list(node.spec.get("taints")))
                if taint.get("effect") in ("NoSchedule", "NoExecute") and not follows_state(taint.get("key"))
            }
            common = found if common is None else common & found
        return tuple(sorted(common or (), key=str))

    @property
    def taints_known(self) -> bool:
        return bool(self.windows_nodes) or self.profile.taint_told

    @cached_property
    def labelled_pods(self) -> Mapping[tuple[str, str, str], list[PodCase]]:
        """Pods by namespace and each of their labels, so that a selector need not try every pod."""
        found: defaultdict[tuple[str, str, str], list[PodCase]] = defaultdict(list)
        for case in self.pods:
            for key, value in case.pod.labels.items():
                found[case.pod.object.namespace, str(key), str(value)].append(case)
        return found

    def select_pods(self, selector: Mapping[str, Any], namespace: str) -> list[PodCase]:
        """The pods that a Service's selector matches."""
        wanted = [(str(key), str(value)) for key, value in selector.items()]
        if not wanted:
            return []
        candidates = self.labelled_pods.get((namespace, *wanted[0]), [])
        return [case for case in candidates if all(str(case.pod.labels.get(key)) == value for key, value in wanted)]

    @cached_property
    def claim_users(self) -> Mapping[tuple[str, str], list[PodCase]]:
        """Windows pods by namespace and name of the claims that they mount."""
        found: defaultdict[tuple[str, str], list[PodCase]] = defaultdict(list)
        for case in self.pods:
            if not case.target.windows:
                continue
            for volume in map(as_map, as_list(case.pod.spec.get("volumes"))):
                name = as_text(as_map(volume.get("persistentVolumeClaim")).get("claimName"))
                found[case.pod.object.namespace, name].append(case)
        return found

    @cached_property
    def config_users(self) -> Mapping[tuple[str, str], list[PodCase]]:
        """Windows pods by namespace and name of the ConfigMaps that they mount or take variables from."""
        found: defaultdict[tuple[str, str], list[PodCase]] = defaultdict(list)
        for case in self.pods:
            if case.target.windows:
                for name in sorted(_config_maps(case.pod)):
                    found[case.pod.object.namespace, name].append(case)
        return found

    @cached_property
    def secret_users(self) -> Mapping[tuple[str, str], list[PodCase]]:
        """Windows pods by namespace and name of the Secrets that they mount."""
        found: defaultdict[tuple[str, str], list[PodCase]] = defaultdict(list)
        for case in self.pods:
            for name in sorted(_secrets(case.pod)) if case.target.windows else ():
                found[case.pod.object.namespace, name].append(case)
        return found

    @cached_property
    def default_class(self) -> str:
        """The StorageClass of claims without one; empty if no class of the input is the default."""
        named = (each for each in self.of_kind("StorageClass") if _is_default(each))
        return next((each.name for each in named), "")

    def class_of(self, claim: Mapping[str, Any]) -> str:
        """The name of the StorageClass in a claim's spec; "" if it wants none, or if the default is unknown."""
        return as_text(claim["storageClassName"]) if claim.get("storageClassName") is not None else self.default_class

    @cached_property
    def class_users(self) -> Mapping[str, list[PodCase]]:
        """Windows pods by the StorageClass of the claims that they mount."""
        found: defaultdict[str, list[PodCase]] = defaultdict(list)
        for claim in self.of_kind("PersistentVolumeClaim"):
            users = self.claim_users.get((claim.namespace, claim.name), [])
            found[self.class_of(claim.spec)] += users
        for case in self.pods:
            if case.target.windows:
                for template in map(as_map, as_list(case.pod.object.spec.get("volumeClaimTemplates"))):
                    found[self.class_of(as_map(template.get("spec")))].append(case)
                for volume in map(as_map, as_list(case.pod.spec.get("volumes"))):
                    template = as_map(as_map(volume.get("ephemeral")).get("volumeClaimTemplate"))
                    if template:
                        found[self.class_of(as_map(template.get("spec")))].append(case)
        return found

    @cached_property
    def volume_users(self) -> Mapping[str, list[PodCase]]:
        """Windows pods by the PersistentVolume that their claims are bound to, or must be bound to."""
        found: defaultdict[str, list[PodCase]] = defaultdict(list)
        for claim in self.of_kind("PersistentVolumeClaim"):
            users = self.claim_users.get((claim.namespace, claim.name), [])
            wanted = as_text(claim.spec.get("volumeName")) or self._static_volume(claim)
            found[wanted] += users
        for volume in self.of_kind("PersistentVolume"):
            reference = as_map(volume.spec.get("claimRef"))
            found[volume.name] += self.claim_users.get(
                (as_text(reference.get("namespace")), as_text(reference.get("name"))), []
            )
        return found

    def _static_volume(self, claim: KubeObject) -> str:
        """The only volume of the claim's class, if nothing provisions that class; else empty."""
        name = self.class_of(claim.spec)
        provisioner = self.find("StorageClass", name)
        if provisioner is not None and provisioner.value.get("provisioner") != "kubernetes.io/no-provisioner":
            return ""
        free = [
            volume.name
            for volume in self.of_kind("PersistentVolume")
            if as_text(volume.spec.get("storageClassName")) == name and not volume.spec.get("claimRef")
        ]
        return free[0] if len(free) == 1 else ""


def _is_default(storage_class: KubeObject) -> bool:
    annotations = as_map(storage_class.metadata.get("annotations"))
    return annotations.get("storageclass.kubernetes.io/is-default-class") in ("true", True)


def _secrets(pod: Pod) -> set[str]:
    """The names of the Secrets that a pod mounts."""
    found = set()
    for volume in map(as_map, as_list(pod.spec.get("volumes"))):
        found.add(as_map(volume.get("secret")).get("secretName"))
        for source in map(as_map, as_list(as_map(volume.get("projected")).get("sources"))):
            found.add(as_map(source.get("secret")).get("name"))
    return {name for name in found if isinstance(name, str)}


def _config_maps(pod: Pod) -> set[str]:
    """The names of the ConfigMaps that a pod mounts or takes variables from."""
    found = set()
    for volume in map(as_map, as_list(pod.spec.get("volumes"))):
        found.add(as_map(volume.get("configMap")).get("name"))
        for source in map(as_map, as_list(as_map(volume.get("projected")).get("sources"))):
            found.add(as_map(source.get("configMap")).get("name"))
    for container in pod.containers:
        for source in map(as_map, as_list(container.value.get("envFrom"))):
            found.add(as_map(source.get("configMapRef")).get("name"))
        for entry in map(as_map, as_list(container.value.get("env"))):
            found.add(as_map(as_map(entry.get("valueFrom")).get("configMapKeyRef")).get("name"))
    return {name for name in found if isinstance(name, str)}


def build_catalog(objects: Iterable[KubeObject], profile: Profile) -> Catalog:
    """The catalog of a run, without objects that a controller in the input made (ReplicaSets, Pods of a live
    cluster)."""
    everything = list(objects)
    uids = {each.metadata.get("uid") for each in everything if each.metadata.get("uid")}
    kept = [
        each
        for each in everything
        if not any(as_map(owner).get("uid") in uids for owner in as_list(each.metadata.get("ownerReferences")))
    ]
    catalog = Catalog(profile, kept)
    for each in everything:
        # Pods themselves tell what runs on a node.
        for pod in pods_of(each) if each.kind == "Pod" and each.spec.get("nodeName") else ():
            catalog.node_pods.setdefault(as_text(each.spec["nodeName"]), []).append(pod)
    for each in kept:
        pods = pods_of(each)
        if not pods and each.sort not in TEMPLATES and holds_images(each):
            catalog.not_looked_into[each.kind] += 1
        for pod in pods:
            target = target_of(pod, catalog.runtime_classes, catalog.node_systems)
            if target.os == "unknown" and profile.unknown_pods == "windows":
                target = Target("windows", target.evidence, target.selects, target.builds)
            catalog.pods.append(PodCase(pod, target, profile, catalog))
    return catalog
