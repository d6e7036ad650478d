# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of a pod that no Windows node fulfils."""

from __future__ import annotations

from collections.abc import Iterator

from ..facts.node_labels import ARCH_LABEL, BUILD_LABEL, HOSTNAME_LABEL, OS_LABEL
from ..foreign.windows import Pattern
from .catalog import PodCase
from .model import Hit, Path, Severity, as_list, as_map, as_text
from .rule import DOC, Find, Rule, always, needing, short
from .target import list_terms

_BUILD = Pattern(r"\d+\.\d+\.\d{5}")


def _list_required(case: PodCase) -> Iterator[tuple[Path, list[tuple[str, list[str]]]]]:
    """(path, [(label, values; empty if it only has to exist)]) of the nodeSelector and of each required term."""
    selector = as_map(case.pod.spec.get("nodeSelector"))
    if selector:
        yield ("spec", "nodeSelector"), [(str(key), [str(value)]) for key, value in selector.items()]
    for term in list_terms(case.pod.spec):
        expressions = [as_map(each) for each in as_list(as_map(term).get("matchExpressions"))]
        asked = [each for each in expressions if each.get("operator") in ("In", "Exists")]
        yield (
            ("spec", "affinity"),
            [(as_text(each.get("key")), list(map(str, as_list(each.get("values"))))) for each in asked],
        )


@needing("nodeSelector", "affinity")
def _find_misformed_builds(case: PodCase) -> Iterator[Hit]:
    """The label has major, minor and build. Source: k8s.io/kubernetes pkg/kubelet nodestatus."""
    for path, asked in _list_required(case):
        for key, values in asked:
            for value in values:
                if key == BUILD_LABEL and not _BUILD.fullmatch(value):
                    yield Hit(path, {"value": short(value)})


# kubernetes.io/role comes from AKS and old clusters. Source: k8s.io/kubernetes pkg/kubelet/apis well_known_labels.go:
# a kubelet may set no others directly under kubernetes.io.
_UNDER_KUBERNETES_IO = frozenset([OS_LABEL, ARCH_LABEL, HOSTNAME_LABEL, "kubernetes.io/role"])


@needing("nodeSelector", "affinity")
def _find_unknown_labels(case: PodCase) -> Iterator[Hit]:
    for path, asked in _list_required(case):
        for key, _values in asked:
            if key.startswith("kubernetes.io/") and key not in _UNDER_KUBERNETES_IO:
                yield Hit(path, {"value": short(key)})


# Sources: docs.aws.amazon.com, EKS, Fargate considerations; learn.microsoft.com, AKS, system node pools.
_OF_LINUX_NODES = {"eks.amazonaws.com/compute-type": "fargate", "kubernetes.azure.com/mode": "system"}


def _on_no_windows_node(key: str, values: list[str]) -> bool:
    if key in ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"):
        return "false" not in values
    if key in _OF_LINUX_NODES:
        return values == [_OF_LINUX_NODES[key]]
    return key in (ARCH_LABEL, "beta.kubernetes.io/arch") and bool(values) and "amd64" not in values


@needing("nodeSelector", "affinity")
def _no_such_node(case: PodCase) -> Iterator[Hit]:
    """Affinity terms are alternatives: the finding requires that no Windows node matches any of them."""
    terms = []
    for path, asked in _list_required(case):
        wrong = [
            f"{key}: {', '.join(values)}".rstrip(": ") for key, values in asked if _on_no_windows_node(key, values)
        ]
        if path[-1] == "nodeSelector":
            for each in wrong:
                yield Hit(path, {"value": each})
        else:
            terms.append(wrong)
    if terms and all(terms):
        yield Hit(("spec", "affinity"), {"value": terms[0][0]})


_LINUX_HANDLER = Pattern(r"(?:kata|runsc|gvisor|runc|crun|youki|nvidia|firecracker|sysbox|spin|wasm)(?:[-_.].*)?")


def _runtime_class_of_linux(seen: bool) -> Find:
    """`seen`: the RuntimeClass is among the input; otherwise only its name is known."""

    def find(case: PodCase) -> Iterator[Hit]:
        name = as_text(case.pod.spec.get("runtimeClassName"))
        handler = as_text(as_map(case.catalog.runtime_classes.get(name)).get("handler"))
        if bool(handler) is seen and _LINUX_HANDLER.fullmatch(handler or name):
            yield Hit(("spec", "runtimeClassName"), {"value": name, "handler": handler})

    return find


RULES: tuple[Rule, ...] = (
    Rule(
        id="invalid-build-label",
        title="Form of node.kubernetes.io/windows-build",
        level=always(Severity.ERROR),
        find=_find_misformed_builds,
        message="node.kubernetes.io/windows-build is {value}; the kubelet writes major, minor and build, 10.0.20348,"
        " so no node matches.",
        remedy="Write 10.0.17763, 10.0.20348, 10.0.25398 or 10.0.26100.",
        source="k8s.io/kubernetes pkg/kubelet getWindowsBuild",
        paths=("spec.nodeSelector", "spec.affinity"),
    ),
    Rule(
        id="no-such-node",
        title="Selectors that no Windows node matches",
        level=always(Severity.ERROR),
        find=_no_such_node,
        message="{value} is required, and no Windows node has it: the pod stays Pending.",
        remedy="Windows nodes are workers for amd64, not on Fargate and in no system pool: remove the requirement.",
        source=DOC + "; EKS, Fargate considerations; AKS, system node pools",
        paths=("spec.nodeSelector", "spec.affinity"),
    ),
    Rule(
        id="unknown-node-label",
        title="Labels under kubernetes.io that no kubelet sets",
        level=always(Severity.WARNING),
        find=_find_unknown_labels,
        message="{value} is required: no kubelet sets this label, nor may one, so the pod stays Pending if nobody else"
        " does.",
        remedy="Select kubernetes.io/os, kubernetes.io/arch or node.kubernetes.io/windows-build, or a label of your"
        " own domain.",
        source="k8s.io/kubernetes pkg/kubelet/apis well_known_labels.go, IsKubeletLabel",
        paths=("spec.nodeSelector", "spec.affinity"),
    ),
    Rule(
        id="runtime-class",
        title="RuntimeClass that sounds like one of Linux",
        level=always(Severity.WARNING),
        find=_runtime_class_of_linux(seen=False),
        message="RuntimeClass {value} has the name of a runtime for Linux. This is a guess: the RuntimeClass"
        " is not among"
        " the input.",
        remedy="Use a RuntimeClass with the handler runhcs-wcow-process, or none.",
        source="Kubernetes documentation, RuntimeClass; gvisor.dev, katacontainers.io",
        paths=("spec.runtimeClassName",),
    ),
    Rule(
        id="runtime-class",
        title="RuntimeClass of a runtime for Linux",
        level=always(Severity.ERROR),
        find=_runtime_class_of_linux(seen=True),
        message="RuntimeClass {value} has the handler {handler}, which runs only on Linux.",
        remedy="Use a RuntimeClass with the handler runhcs-wcow-process, or none.",
        source="Kubernetes documentation, RuntimeClass; gvisor.dev, katacontainers.io",
        paths=("spec.runtimeClassName",),
    ),
)
