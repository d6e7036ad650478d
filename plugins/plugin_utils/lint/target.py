# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decides which system a pod is for by its own content; `unknown` is an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..facts.node_labels import BUILD_LABEL, OS_LABEL
from .images import image_os
from .model import as_list, as_map, as_text
from .workload import Pod

OS_LABELS = (OS_LABEL, "beta.kubernetes.io/os")
SYSTEMS = ("windows", "linux")
# Labels of managed clusters that tell the system, and where they can the build: value, in small letters, -> build or 0.
# Sources: learn.microsoft.com, AKS, reserved system labels (kubernetes.azure.com/os-sku); cloud.google.com, GKE,
# Windows Server node pools (gke-os-distribution, gke-windows-os-version); openshift/windows-machine-config-operator
# pkg/nodeconfig (os_id).
WINDOWS_LABELS: Mapping[str, Mapping[str, int]] = {
    "kubernetes.azure.com/os-sku": {
        "windows2019": 17763,
        "windows2022": 20348,
        "windows2025": 26100,
        "windowsannual": 25398,
    },
    "kubernetes.azure.com/os-type": {"windows": 0},
    "cloud.google.com/gke-os-distribution": {"windows_ltsc": 0, "windows_sac": 0, "windows": 0},
    "cloud.google.com/gke-windows-os-version": {"2019": 17763, "2022": 20348, "2025": 26100},
    "node.openshift.io/os_id": {"windows": 0},
}
# Labels of which any value tells that the node is one of Windows.
WINDOWS_KEYS = (BUILD_LABEL, "cloud.google.com/gke-windows-os-version")
LINUX_LABELS: Mapping[str, frozenset[str]] = {
    "kubernetes.azure.com/os-sku": frozenset(
        ["ubuntu", "ubuntu2204", "ubuntu2404", "azurelinux", "azurelinux3", "cblmariner", "mariner"]
    ),
    "kubernetes.azure.com/os-type": frozenset(["linux"]),
    "cloud.google.com/gke-os-distribution": frozenset(["cos", "cos_containerd", "ubuntu", "ubuntu_containerd"]),
    "node.openshift.io/os_id": frozenset(["rhcos", "rhel"]),
}
WINDOWS_TAINT_KEYS = ("os", OS_LABEL, "node.kubernetes.io/os")

RuntimeClasses = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Evidence:
    os: str
    text: str
    strong: bool = True


@dataclass(frozen=True, slots=True)
class Target:
    """`os`: windows, linux or unknown. `evidence`: all evidence, the deciding one first.

    `selects`: whether the scheduler brings the pod to this system (selector, affinity, RuntimeClass, a named node).
    `builds`: the Windows builds that it selects, one of which its node has; empty for any.
    """

    os: str
    evidence: tuple[Evidence, ...]
    selects: bool
    builds: tuple[int, ...]

    @property
    def why(self) -> str:
        return self.evidence[0].text if self.evidence else "all pods that do not say count as such"

    @property
    def windows(self) -> bool:
        return self.os == "windows"


def _system(name: str) -> str:
    """The system meant by a misspelling such as `Windows`, which is not a node's label (see unknown-os-name)."""
    return name.lower() if name.lower() in SYSTEMS else ""


def selector_os(selector: Mapping[str, Any]) -> str:
    """The system that a nodeSelector selects, empty if it selects none."""
    for label in OS_LABELS:
        if as_text(selector.get(label)):
            return _system(as_text(selector[label]))
    if BUILD_LABEL in selector:
        return "windows"
    return next(filter(None, (_label_os(str(key), str(value)) for key, value in selector.items())), "")


def find_other_systems(selector: Mapping[str, Any]) -> list[str]:
    """Labels of a nodeSelector for the other system than the deciding label's: no node has both."""
    decided = selector_os(selector)
    said = ((key, _system_of(str(key), str(value))) for key, value in selector.items())
    return [f"{key}: {selector[key]}" for key, system in said if system and decided and system != decided]


def _system_of(key: str, value: str) -> str:
    if key in OS_LABELS:
        return _system(value)
    return "windows" if key == BUILD_LABEL else _label_os(key, value)


def _label_os(key: str, value: str) -> str:
    if value.lower() in WINDOWS_LABELS.get(key, {}):
        return "windows"
    return "linux" if value.lower() in LINUX_LABELS.get(key, ()) else ""


def _requirement_os(requirement: Any) -> str:
    key, operator = as_text(as_map(requirement).get("key")), as_map(requirement).get("operator")
    values = set(map(str, as_list(as_map(requirement).get("values"))))
    if key in OS_LABELS and operator == "In" and len(values) == 1:
        return _system(values.pop())
    if key in OS_LABELS and operator == "NotIn" and "windows" in values:
        return "linux"
    if key in OS_LABELS and operator == "NotIn" and "linux" in values:
        return "windows"
    if operator == "In" and values and key not in OS_LABELS:
        systems = {_label_os(key, value) for value in values}
        if len(systems) == 1 and systems != {""}:
            return systems.pop()
    return "windows" if key in WINDOWS_KEYS and operator in ("In", "Exists") else ""


def _label_build(key: str, value: str) -> int | None:
    """The build of a label's value, None if it has none."""
    if key == BUILD_LABEL:
        number = value.removeprefix("10.0.")
        return int(number) if number.isdigit() else None
    return WINDOWS_LABELS.get(key, {}).get(value.lower()) or None


def list_terms(spec: Mapping[str, Any]) -> list[Any]:
    """The terms of the node affinity, of which the scheduler requires one."""
    node = as_map(as_map(spec.get("affinity")).get("nodeAffinity"))
    return as_list(as_map(node.get("requiredDuringSchedulingIgnoredDuringExecution")).get("nodeSelectorTerms"))


def affinity_os(spec: Mapping[str, Any]) -> str:
    """The system that the required node affinity selects: all its terms, which are alternatives, must agree."""
    found = {
        next(filter(None, map(_requirement_os, as_list(as_map(term).get("matchExpressions")))), "")
        for term in list_terms(spec)
    }
    return found.pop() if len(found) == 1 else ""


def runtime_class_os(spec: Mapping[str, Any], classes: RuntimeClasses) -> str:
    runtime_class = as_map(classes.get(as_text(spec.get("runtimeClassName"))))
    found = selector_os(as_map(as_map(runtime_class.get("scheduling")).get("nodeSelector")))
    return found or ("windows" if as_text(runtime_class.get("handler")).startswith("runhcs-wcow") else "")


def tolerates_windows(toleration: Any) -> bool:
    """Whether it names the taint of Windows nodes; a toleration of everything does not."""
    entry = as_map(toleration)
    return entry.get("key") in WINDOWS_TAINT_KEYS and str(entry.get("value")).lower() == "windows"


def _find_by_selector(pod: Pod, _classes: RuntimeClasses) -> Iterator[Evidence]:
    if found := selector_os(as_map(pod.spec.get("nodeSelector"))):
        yield Evidence(found, f"spec.nodeSelector selects {found}")


def _find_by_os_name(pod: Pod, _classes: RuntimeClasses) -> Iterator[Evidence]:
    if found := _system(pod.os_name):
        yield Evidence(found, f"spec.os.name is {pod.os_name}")


def _find_by_affinity(pod: Pod, _classes: RuntimeClasses) -> Iterator[Evidence]:
    if "affinity" in pod.spec and (found := affinity_os(pod.spec)):
        yield Evidence(found, f"spec.affinity.nodeAffinity requires {found}")


def _find_by_runtime_class(pod: Pod, classes: RuntimeClasses) -> Iterator[Evidence]:
    if "runtimeClassName" in pod.spec and (found := runtime_class_os(pod.spec, classes)):
        yield Evidence(found, f"RuntimeClass {pod.spec['runtimeClassName']} selects {found}")


def _asks_for_windows(options: Any) -> bool:
    """Whether the options mean Windows: policies require `hostProcess: false` from Linux pods too."""
    return any(value for key, value in as_map(options).items() if key != "hostProcess") or (
        as_map(options).get("hostProcess") is True
    )


def _find_by_windows_options(pod: Pod, _classes: RuntimeClasses) -> Iterator[Evidence]:
    if _asks_for_windows(pod.security.get("windowsOptions")):
        yield Evidence("windows", "spec.securityContext.windowsOptions is set", strong=False)
    for container in pod.containers:
        if _asks_for_windows(container.security.get("windowsOptions")):
            yield Evidence("windows", f"container {container.name} sets securityContext.windowsOptions", strong=False)


def _find_by_image(pod: Pod, _classes: RuntimeClasses) -> Iterator[Evidence]:
    for container in pod.containers:
        if image_os(container.image) == "windows":
            yield Evidence(
                "windows", f"container {container.name} has the Windows image {container.image}", strong=False
            )


def _find_by_toleration(pod: Pod, _classes: RuntimeClasses) -> Iterator[Evidence]:
    if any(map(tolerates_windows, as_list(pod.spec.get("tolerations")))):
        yield Evidence("windows", "spec.tolerations names the taint of Windows nodes", strong=False)


_WITNESSES: tuple[Callable[[Pod, RuntimeClasses], Iterator[Evidence]], ...] = (
    _find_by_os_name,
    _find_by_selector,
    _find_by_affinity,
    _find_by_runtime_class,
    _find_by_windows_options,
    _find_by_image,
    _find_by_toleration,
)


def _builds(pod: Pod, classes: RuntimeClasses) -> tuple[int, ...]:
    runtime_class = as_map(classes.get(as_text(pod.spec.get("runtimeClassName"))))
    for selector in (pod.spec.get("nodeSelector"), as_map(runtime_class.get("scheduling")).get("nodeSelector")):
        for key, value in as_map(selector).items():
            build = _label_build(str(key), str(value))
            if build is not None:
                return (build,)
    found: set[int] = set()
    for term in list_terms(pod.spec):
        named = _term_builds(term)
        if not named:
            # Terms are alternatives: with this one the pod may get any build.
            return ()
        found |= named
    return tuple(sorted(found))


def _term_builds(term: Any) -> set[int]:
    for each in map(as_map, as_list(as_map(term).get("matchExpressions"))):
        if each.get("operator") == "In":
            named = {_label_build(as_text(each.get("key")), str(value)) for value in as_list(each.get("values"))}
            if named and None not in named:
                return {build for build in named if build is not None}
    return set()


def target_of(pod: Pod, classes: RuntimeClasses, nodes: Mapping[str, str] = MappingProxyType({})) -> Target:
    """The first evidence decides; a rule reports contradictions. `nodes`: systems of known Nodes by name."""
    evidence = tuple(found for witness in _WITNESSES for found in witness(pod, classes))
    if named := nodes.get(as_text(pod.spec.get("nodeName"))):
        # After os.name and selectors, before mere hints.
        strong = [each for each in evidence if each.strong]
        rest = [each for each in evidence if not each.strong]
        evidence = (*strong, Evidence(named, f"spec.nodeName is a Node with {named}"), *rest)
    known_class = as_text(pod.spec.get("runtimeClassName"))
    selects = bool(
        selector_os(as_map(pod.spec.get("nodeSelector")))
        or affinity_os(pod.spec)
        or runtime_class_os(pod.spec, classes)
        # What an unknown RuntimeClass selects is unknown; assume that it selects the system.
        or (known_class and known_class not in classes)
        or pod.spec.get("nodeName")
    )
    return Target(evidence[0].os if evidence else "unknown", evidence, selects, _builds(pod, classes))
