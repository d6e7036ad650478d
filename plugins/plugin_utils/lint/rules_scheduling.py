# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node that a pod gets: os.name, selectors, taints, RuntimeClasses, builds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from ..facts.node_labels import ARCH_LABEL, BUILD_LABEL, HOSTNAME_LABEL, OS_LABEL
from ..facts.quantity import quantity
from ..facts.taint import Taint
from ..facts.windows import describe_images, runs_image
from .catalog import ObjectCase, PodCase
from .images import image_build
from .model import Hit, Severity, as_list, as_map, as_text
from .profile import BUILD_TITLES, build_title
from .rule import ALL_CONTAINERS, DOC, GUIDE, Complete, Rule, always, by_steps, fields, needing, short
from .target import OS_LABELS, SYSTEMS, find_other_systems, list_terms, selector_os


def _no_os_name(case: PodCase) -> Iterator[Hit]:
    if not case.pod.os_name:
        yield Hit(("spec",), {"why": case.target.why})


def _nothing_selects(case: PodCase) -> Iterator[Hit]:
    """Pods without a selector. With os.name it is os-name-without-selector, without it missing-os-selector."""
    if not case.target.selects:
        yield Hit(("spec",), {"why": case.target.why})


def _find_declared_unselected(case: PodCase) -> Iterator[Hit]:
    if case.declares_windows:
        yield from _nothing_selects(case)


def _find_undeclared_unselected(case: PodCase) -> Iterator[Hit]:
    if not case.declares_windows:
        yield from _nothing_selects(case)


def _is_undirected(case: PodCase) -> bool:
    """A pod for Linux, or of unknown system, that selects none."""
    return not (case.target.windows or case.target.selects or list_terms(case.pod.spec))


def may_land_on_windows(case: PodCase) -> bool:
    """Whether nothing but a taint keeps a pod off Windows nodes that is not for them."""
    return _is_undirected(case) and _may_match_windows(as_map(case.pod.spec.get("nodeSelector")), [])


def _find_unselected_without_taint(case: PodCase) -> Iterator[Hit]:
    untainted = case.catalog.taints_known and not case.catalog.taints
    if untainted and _is_undirected(case):
        yield Hit(("spec",))


# Windows nodes may fulfil these requirements too.
_ON_EVERY_NODE = frozenset(
    [
        HOSTNAME_LABEL,
        ARCH_LABEL,
        "beta.kubernetes.io/arch",
        "kubernetes.azure.com/cluster",
        "topology.kubernetes.io/region",
    ]
)


def _may_match_windows(selector: dict[str, Any], terms: list[Any]) -> bool:
    """Whether a Windows node may match. A label that only some nodes have may well keep the pod off."""
    if not all(_holds_on_windows(str(key), [value]) for key, value in selector.items()):
        return False
    return not terms or any(all(map(_open, as_list(as_map(term).get("matchExpressions")))) for term in terms)


def _holds_on_windows(key: str, values: list[Any]) -> bool:
    """Whether a Windows node may have one of these values. Windows Server on processors other than amd64 runs no
    containers."""
    return key in _ON_EVERY_NODE and (not key.endswith("/arch") or "amd64" in values)


def _open(requirement: Any) -> bool:
    key, operator = as_text(as_map(requirement).get("key")), as_map(requirement).get("operator")
    values = as_list(as_map(requirement).get("values"))
    if operator in ("NotIn", "DoesNotExist"):
        return key not in OS_LABELS and not (key.endswith("/arch") and "amd64" in values)
    return key in _ON_EVERY_NODE if operator == "Exists" else _holds_on_windows(key, values)


def _find_unrestricted(case: PodCase) -> Iterator[Hit]:
    """A DaemonSet for Linux, or of unknown system, that no taint and no selector keeps off Windows nodes.

    Its controller checks selectors and taints, but not os.name. Source: k8s.io/kubernetes pkg/controller/daemon
    NodeShouldRunDaemonPod.
    """
    if case.pod.object.kind != "DaemonSet" or case.target.windows or case.target.selects:
        return
    tolerations = [as_map(each) for each in as_list(case.pod.spec.get("tolerations"))]
    everything = [Taint("any", "", effect) for effect in ("NoSchedule", "NoExecute")]
    known = case.catalog.taints if case.catalog.taints_known else everything[:1]
    kept_off = [taint for taint in known if not any(_tolerates(each, taint) for each in tolerations)]
    if not kept_off and _may_match_windows(as_map(case.pod.spec.get("nodeSelector")), list_terms(case.pod.spec)):
        yield Hit(("spec", "tolerations"))


def _tolerates(toleration: dict[str, Any], taint: Taint) -> bool:
    """Source: k8s.io/api core/v1 Toleration.ToleratesTaint."""
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    if toleration.get("key") and toleration["key"] != taint.key:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and str(toleration.get("value") or "") == taint.value


def find_missing_tolerations(case: PodCase) -> list[Taint]:
    """Taints of the Windows nodes that neither pod nor RuntimeClass tolerates; empty for an unknown RuntimeClass."""
    name = as_text(case.pod.spec.get("runtimeClassName"))
    if (name and name not in case.catalog.runtime_classes) or case.pod.spec.get("nodeName"):
        return []
    of_class = as_map(as_map(case.catalog.runtime_classes.get(name)).get("scheduling")).get("tolerations")
    tolerations = [as_map(each) for each in (*as_list(case.pod.spec.get("tolerations")), *as_list(of_class))]
    return [taint for taint in case.catalog.taints if not any(_tolerates(each, taint) for each in tolerations)]


def _taint_not_tolerated(case: PodCase) -> Iterator[Hit]:
    if case.target.selects:
        for taint in find_missing_tolerations(case):
            yield Hit(("spec", "tolerations"), {"value": str(taint)})


@needing("runtimeClassName")
def _runtime_class_unknown(case: PodCase) -> Iterator[Hit]:
    """Only if RuntimeClasses are among the input: a chart need not contain the cluster's."""
    name = as_text(case.pod.spec.get("runtimeClassName"))
    if name and case.catalog.runtime_classes and name not in case.catalog.runtime_classes:
        known = ", ".join(sorted(case.catalog.runtime_classes))
        yield Hit(("spec", "runtimeClassName"), {"value": name, "known": known})


@needing("runtimeClassName")
def _runtime_class_conflict(case: PodCase) -> Iterator[Hit]:
    """Equal keys must have equal values. Source: k8s.io/kubernetes plugin/pkg/admission/runtimeclass setScheduling."""
    runtime_class = as_map(case.catalog.runtime_classes.get(as_text(case.pod.spec.get("runtimeClassName"))))
    of_class = as_map(as_map(runtime_class.get("scheduling")).get("nodeSelector"))
    for key, value in as_map(case.pod.spec.get("nodeSelector")).items():
        if key in of_class and of_class[key] != value:
            yield Hit(("spec", "nodeSelector", key), {"value": f"{key}: {value}", "other": str(of_class[key])})


def _witnesses_disagree(case: PodCase) -> Iterator[Hit]:
    strong = [each for each in case.target.evidence if each.strong]
    if len({each.os for each in strong}) > 1:
        yield Hit(("spec",), {"value": "; ".join(each.text for each in strong)})
    for other in find_other_systems(as_map(case.pod.spec.get("nodeSelector"))):
        values = {"value": f"spec.nodeSelector selects {selector_os(case.pod.spec['nodeSelector'])} and {other}"}
        yield Hit(("spec", "nodeSelector"), values)


def _find_selected_build(case: PodCase) -> Iterator[Hit]:
    """Host processes run on the host's own system, so their images need not match."""
    if not case.target.builds or case.pod.host_process:
        return
    for container in case.pod.containers:
        build = image_build(container.image)
        if build is not None and not any(runs_image(each, build) for each in case.target.builds):
            values = {"value": container.image, "image": build_title(build), "node": _titles(case.target.builds)}
            values["runs"] = " or ".join(dict.fromkeys(map(describe_images, case.target.builds)))
            yield Hit((*container.path, "image"), values, container.name)


def _titles(builds: Sequence[int]) -> str:
    return ", ".join(map(build_title, builds))


def _find_unselected_build(case: PodCase) -> Iterator[Hit]:
    """The pod may get a node that cannot run the image: among the builds that it selects, else the cluster's."""
    if case.pod.host_process:
        return
    selected = case.target.builds
    for container in case.pod.containers:
        build = image_build(container.image)
        if build is None or (selected and not any(runs_image(each, build) for each in selected)):
            continue
        others = [each for each in selected or case.catalog.builds if not runs_image(each, build)]
        if others:
            values = {"value": container.image, "image": build_title(build), "node": _titles(others)}
            values["what"] = (
                "the pod also selects" if selected else "the pod selects no build, and the cluster also has"
            )
            yield Hit((*container.path, "image"), values, container.name)


def _builds_that_no_node_runs_together(case: PodCase) -> Iterator[Hit]:
    """Images in one pod whose builds no Windows Server can run together."""
    if case.pod.host_process or len(case.pod.containers) < 2:
        return
    named = [(each, image_build(each.image)) for each in case.pod.containers]
    builds = {build for _container, build in named if build is not None}
    if len(builds) < 2 or any(all(runs_image(host, build) for build in builds) for host in BUILD_TITLES):
        return
    (first,) = [build for _container, build in named if build is not None][:1]
    for container, build in named:
        if build is not None and build != first:
            values = {"value": container.image, "image": build_title(build), "other": build_title(first)}
            yield Hit((*container.path, "image"), values, container.name)


@needing("nodeSelector")
def _node_labels(case: ObjectCase) -> Iterator[Hit]:
    """Of a Node in a cluster: one in a file gets them from its kubelet."""
    if not case.object.live:
        return
    labels = as_map(case.object.metadata.get("labels"))
    for label in (OS_LABEL, ARCH_LABEL):
        if not labels.get(label):
            yield Hit(("metadata", "labels"), {"value": label})


def _node_memory(case: ObjectCase) -> Iterator[Hit]:
    """Memory limits of the pods on a Windows node (known for live clusters) against its allocatable memory."""
    if case.object not in case.catalog.windows_nodes:
        return
    allocatable = quantity(as_map(as_map(case.object.value.get("status")).get("allocatable")).get("memory"))
    if allocatable is None:
        return
    total = sum(
        quantity(as_map(as_map(container.value.get("resources")).get("limits")).get("memory")) or 0
        for pod in case.catalog.node_pods.get(case.object.name, ())
        for container in pod.containers
        if container.kind == "containers"
    )
    if total > allocatable:
        yield Hit(("metadata", "name"), {"total": _mebibytes(total), "allocatable": _mebibytes(allocatable)})


def _mebibytes(amount: Fraction | int) -> str:
    return f"{float(amount / 1024**2):.0f}Mi"


_SELECTOR = Complete(("selector", "toleration"))


# Misspellings of windows.
_SLIPS = ("win", "window", "windows-server", "windowsserver", "windows_server", "win64")


def _capital(said: str) -> bool:
    return (said != said.lower() and said.lower() in SYSTEMS) or said.lower() in _SLIPS


def _os_beside_template(case: PodCase) -> Iterator[Hit]:
    """os.name beside the template: in a Deployment and the like the pod's fields belong below template.spec."""
    if case.pod.prefix and as_map(case.pod.object.spec.get("os")).get("name") and not case.pod.os_name:
        yield Hit(("spec",), {"value": str(as_map(case.pod.object.spec["os"])["name"]), "kind": case.pod.object.kind})


def _find_misnamed_systems(case: PodCase) -> Iterator[Hit]:
    name = as_map(case.pod.spec.get("os")).get("name")
    if "os" in case.pod.spec and isinstance(case.pod.spec["os"], dict) and name not in SYSTEMS:
        values = {"field": "os.name", "value": short(name or "empty"), "what": "The API server rejects the pod."}
        yield Hit(("spec", "os", "name"), values)
    for label in OS_LABELS:
        said = as_text(as_map(case.pod.spec.get("nodeSelector")).get(label))
        if _capital(said):
            values = {"field": label, "value": said, "what": "No node has this label: the pod stays Pending."}
            yield Hit(("spec", "nodeSelector", label), values)
    for term in list_terms(case.pod.spec):
        for each in map(as_map, as_list(as_map(term).get("matchExpressions"))):
            wrong = [str(value) for value in as_list(each.get("values")) if _capital(str(value))]
            if each.get("key") in OS_LABELS and each.get("operator") == "In" and wrong:
                what = "No node has this label: the pod stays Pending."
                yield Hit(("spec", "affinity"), {"field": str(each["key"]), "value": wrong[0], "what": what})


RULES: tuple[Rule, ...] = (
    Rule(
        id="missing-os-name",
        title="os.name is absent",
        level=by_steps("missing-os-name"),
        find=_no_os_name,
        message="this is a Windows pod ({why}), but spec.os.name does not say so: the API server cannot refuse"
        " what does not work.",
        remedy="Set spec.os.name: windows.",
        source=GUIDE,
        paths=("spec.os.name",),
        fix=Complete(("os",)),
    ),
    Rule(
        id="misplaced-os-field",
        title="spec.pod.os",
        level=always(Severity.ERROR),
        find=fields("spec.pod.os"),
        message="spec.pod.os is not a field of a pod: a strict API server refuses it, others drop it.",
        remedy="Write spec.os.name.",
        source=GUIDE + ", a slip in one note of it",
        paths=("spec.pod.os",),
        all_pods=True,
    ),
    Rule(
        id="misplaced-os-field",
        title="os.name beside the pod template",
        level=always(Severity.ERROR),
        find=_os_beside_template,
        message="spec.os.name of the {kind} is {value}; a {kind} has no such field, its pods have: a strict API server"
        " refuses it, others drop it.",
        remedy="Write it into the pod template: spec.template.spec.os.name.",
        source=GUIDE,
        paths=("spec",),
        all_pods=True,
    ),
    Rule(
        id="os-name-without-selector",
        title="os.name does not schedule",
        level=always(Severity.WARNING),
        find=_find_declared_unselected,
        message="spec.os.name is windows, but nothing brings the pod to a Windows node: the scheduler does not"
        " look at os.name.",
        remedy="Add nodeSelector kubernetes.io/os: windows, or a RuntimeClass that has it.",
        source=GUIDE,
        paths=("spec.nodeSelector",),
        fix=_SELECTOR,
    ),
    Rule(
        id="os-name-too-early",
        title="os.name before Kubernetes 1.24",
        level=by_steps("os-name-too-early"),
        find=fields("spec.os.name"),
        message="spec.os.name is {value}: Kubernetes 1.22 does not know the field, 1.23 only with the feature"
        " gate IdentifyPodOS.",
        remedy="Remove it for these versions, or turn the gate on in 1.23.",
        source=GUIDE + "; k8s.io/kubernetes pkg/features v1.23.17, v1.24.0",
        paths=("spec.os.name",),
    ),
    Rule(
        id="missing-os-selector",
        title="Windows pod that any node may get",
        level=always(Severity.WARNING),
        find=_find_undeclared_unselected,
        message="this is a Windows pod ({why}), but nothing brings it to a Windows node: a Linux node may get it.",
        remedy="Add nodeSelector kubernetes.io/os: windows, or a RuntimeClass that has it.",
        source=GUIDE,
        paths=("spec.nodeSelector",),
        fix=_SELECTOR,
    ),
    Rule(
        id="missing-os-selector",
        title="Other pod that a Windows node may get",
        level=always(Severity.WARNING),
        find=_find_unselected_without_taint,
        message="the Windows nodes carry no taint and this pod selects no system: a Windows node may get it.",
        remedy="Add nodeSelector kubernetes.io/os: linux, or taint the Windows nodes (os=windows:NoSchedule).",
        source=GUIDE,
        paths=("spec.nodeSelector",),
        all_pods=True,
    ),
    Rule(
        id="taint-not-tolerated",
        title="Taint of the Windows nodes is not tolerated",
        level=always(Severity.ERROR),
        find=_taint_not_tolerated,
        message="the pod selects Windows nodes and does not tolerate their taint {value}: it stays Pending.",
        remedy="Add the toleration, or a RuntimeClass that brings it.",
        source=GUIDE,
        paths=("spec.tolerations",),
        fix=Complete(("toleration",)),
    ),
    Rule(
        id="runtime-class",
        title="RuntimeClass that does not exist",
        level=always(Severity.WARNING),
        find=_runtime_class_unknown,
        message="runtimeClassName {value} is not among the RuntimeClasses of the input ({known}).",
        remedy="Correct the name, or add the RuntimeClass to the input.",
        source=GUIDE,
        paths=("spec.runtimeClassName",),
    ),
    Rule(
        id="runtime-class",
        title="RuntimeClass and pod contradict each other",
        level=always(Severity.ERROR),
        find=_runtime_class_conflict,
        message="nodeSelector says {value}, the RuntimeClass says {other}: the API server rejects the pod.",
        remedy="Remove the key from the pod; the RuntimeClass adds its own.",
        source="k8s.io/kubernetes plugin/pkg/admission/runtimeclass;",
        paths=("spec.nodeSelector",),
    ),
    Rule(
        id="contradictory-os",
        title="The pod contradicts itself about its system",
        level=always(Severity.ERROR),
        find=_witnesses_disagree,
        message="the pod is for two systems at once: {value}. It is never started.",
        remedy="Make them agree.",
        source="k8s.io/kubernetes pkg/kubelet/lifecycle: a pod whose os.name is not the node's is rejected with"
        " PodOSNotSupported",
        paths=("spec.os.name", "spec.nodeSelector", "spec.affinity.nodeAffinity"),
        all_pods=True,
    ),
    Rule(
        id="unknown-os-name",
        title="Unknown name of an operating system",
        level=always(Severity.ERROR),
        find=_find_misnamed_systems,
        message="{field} is {value}; the systems are named windows and linux, in small letters; no node has"
        " this label, and the API server refuses it as os.name."
        " {what}",
        remedy="Write windows or linux.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateOS (os.name); the kubelet labels its node with Go's"
        " runtime.GOOS",
        paths=("spec.os.name", "spec.nodeSelector[kubernetes.io/os]", "spec.affinity"),
        all_pods=True,
    ),
    Rule(
        id="windows-build-mismatch",
        title="Image that the selected build does not run",
        level=always(Severity.ERROR),
        find=_find_selected_build,
        message="{value} is made for {image}, the pod selects {node}, which runs images of {runs} only: the container"
        " does not start.",
        remedy="Use an image of such a build, or select nodes of the image's.",
        source=DOC + "; microsoft/hcsshim osversion/platform_compat_windows.go",
        paths=(f"{ALL_CONTAINERS}.image", f"spec.nodeSelector[{BUILD_LABEL}]"),
    ),
    Rule(
        id="windows-build-not-selected",
        title="Image that not every Windows node can run",
        level=always(Severity.WARNING),
        find=_find_unselected_build,
        message="{value} is made for {image}, {what} {node}.",
        remedy=f"Select the build with {BUILD_LABEL}, or use an image of all builds.",
        source=GUIDE + "; microsoft/hcsshim osversion/platform_compat_windows.go",
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
    Rule(
        id="mixed-windows-builds",
        title="Images of builds that no node runs together",
        level=always(Severity.ERROR),
        find=_builds_that_no_node_runs_together,
        message="{value} is made for {image}, another container of the pod for {other}: no Windows Server runs both.",
        remedy="Use images of one build in a pod.",
        source=DOC + "; microsoft/hcsshim osversion/platform_compat_windows.go",
        paths=(f"{ALL_CONTAINERS}.image",),
    ),
    Rule(
        id="unrestricted-daemonset",
        title="DaemonSet that Windows nodes get, too",
        level=always(Severity.WARNING),
        find=_find_unrestricted,
        message="the DaemonSet selects no system and tolerates the taints that would keep it off: Windows nodes get it"
        " too, and cannot run Linux programs.",
        remedy="Add nodeSelector kubernetes.io/os: linux; make a separate DaemonSet for Windows nodes.",
        source="k8s.io/kubernetes pkg/controller/daemon NodeShouldRunDaemonPod; " + GUIDE,
        paths=("spec.tolerations", "spec.nodeSelector", "spec.affinity.nodeAffinity"),
        all_pods=True,
    ),
    Rule(
        id="missing-node-label",
        title="Node without its default labels",
        level=always(Severity.INFO),
        find=_node_labels,
        message="the Node has no label {value}: selectors of pods do not find it.",
        remedy="Restart its kubelet, which sets the label, or set it with kubectl label.",
        source=GUIDE,
        kinds=("Node",),
        paths=("metadata.labels",),
    ),
    Rule(
        id="node-memory-exceeded",
        title="Memory limits exceed the node",
        level=always(Severity.WARNING),
        find=_node_memory,
        message="the memory limits of its pods add up to {total}, the node has {allocatable} to give: when they"
        " are used, it pages and gets slow.",
        remedy="Lower the limits, raise the requests to the limits, or add a node.",
        source=DOC,
        kinds=("Node",),
        paths=("status.allocatable.memory",),
    ),
)
