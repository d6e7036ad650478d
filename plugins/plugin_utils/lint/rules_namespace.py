# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the namespace, and webhooks requested by it or by the pod, do to a Windows pod."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .catalog import PodCase
from .model import Hit, Path, Severity, as_list, as_map, as_text
from .rule import Rule, always, by_steps, says_yes
from .workload import Container

_ENFORCE = "pod-security.kubernetes.io/enforce"


def _namespace(case: PodCase) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """(labels, annotations) of the pod's Namespace, if it is among the input."""
    found = case.catalog.find("Namespace", case.pod.object.namespace)
    metadata = found.metadata if found is not None else {}
    return as_map(metadata.get("labels")), as_map(metadata.get("annotations"))


def _not_admitted(case: PodCase) -> Iterator[Hit]:
    level = as_text(_namespace(case)[0].get(_ENFORCE))
    if case.pod.host_process and level in ("baseline", "restricted"):
        yield Hit(("spec",), {"level": level, "what": "HostProcess containers", "how": "the level privileged"})
    elif level == "restricted":
        yield from _not_restricted(case)


def _not_restricted(case: PodCase) -> Iterator[Hit]:
    spared = says_yes("restricted-spares-windows", case)
    if not spared and not all(_as_on_linux(case, each) for each in case.pod.containers):
        what = "pods without allowPrivilegeEscalation, capabilities and seccompProfile that do not say os.name: windows"
        yield Hit(("spec",), {"level": "restricted", "what": what, "how": "spec.os.name: windows"})
    of_pod = case.pod.security.get("runAsNonRoot")
    for container in case.pod.containers:
        own = container.security.get("runAsNonRoot", of_pod)
        if own is not True:
            values = {"level": "restricted", "what": "containers without runAsNonRoot", "how": "runAsNonRoot: true"}
            yield Hit(container.path, values, container.name)


def _as_on_linux(case: PodCase, container: Container) -> bool:
    dropped = as_list(as_map(container.security.get("capabilities")).get("drop"))
    profile = container.security.get("seccompProfile") or case.pod.security.get("seccompProfile")
    return container.security.get("allowPrivilegeEscalation") is False and "ALL" in dropped and bool(profile)


# Keys and values with which a pod's annotations and labels, or its Namespace's, ask a webhook for a container. Sources:
# istio.io, Installing the sidecar; linkerd.io, Automatic proxy injection; developer.hashicorp.com, Vault Agent Injector
# annotations; kuma.io, data plane on Kubernetes; opentelemetry.io, Operator for Kubernetes: their images are for Linux
# only.
_ON = ("true",)
_ASKED_OF_POD: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "sidecar.istio.io/inject": ("Istio", _ON),
    "linkerd.io/inject": ("Linkerd", ("enabled", "ingress")),
    "vault.hashicorp.com/agent-inject": ("the Vault agent", _ON),
    "kuma.io/sidecar-injection": ("Kuma", ("enabled", "true")),
    "azure.workload.identity/inject-proxy-sidecar": ("Azure Workload Identity", _ON),
}
# Annotations that count whatever their value, which may be a name.
_ASKED_BY_PRESENCE = (
    (re.compile(r"instrumentation\.opentelemetry\.io/inject-\w.*"), "OpenTelemetry's instrumentation"),
    (re.compile(r"admission\.datadoghq\.com/\w+-lib\.(?:custom-image|version)"), "Datadog's instrumentation"),
)
_ASKED_OF_NAMESPACE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "istio-injection": ("Istio", ("enabled",)),
    "linkerd.io/inject": ("Linkerd", ("enabled", "ingress")),
    "kuma.io/sidecar-injection": ("Kuma", ("enabled", "true")),
}
# The pod's way to refuse what its namespace asks for.
_REFUSED = {"istio-injection": "sidecar.istio.io/inject"}


def _sidecars(case: PodCase) -> Iterator[Hit]:
    for part, said in (("annotations", case.pod.annotations), ("labels", case.pod.labels)):
        for name, (who, values) in _ASKED_OF_POD.items():
            if str(said.get(name)).lower() in values:
                path: Path = ("metadata", part, name)
                yield Hit(path, {"value": f"{name}: {str(said[name]).lower()}", "who": who})
    for name, value in case.pod.annotations.items():
        for pattern, who in _ASKED_BY_PRESENCE:
            if pattern.fullmatch(str(name)) and str(value).lower() != "false":
                yield Hit(("metadata", "annotations", str(name)), {"value": f"{name}: {value}", "who": who})
    if case.pod.object.group == "serving.knative.dev":
        yield Hit(("spec",), {"value": f"a {case.pod.object.kind} of Knative", "who": "Knative's queue-proxy"})
    labels, annotations = _namespace(case)
    for name, (who, values) in _ASKED_OF_NAMESPACE.items():
        refusal = _REFUSED.get(name, name)
        told = str(labels.get(name, annotations.get(name))).lower()
        if told in values and refusal not in case.pod.annotations and refusal not in case.pod.labels:
            yield Hit(("metadata",), {"value": f"{name}: {told} of namespace {case.pod.object.namespace}", "who": who})


RULES: tuple[Rule, ...] = (
    Rule(
        id="pod-security",
        title="Pods that the namespace's Pod Security level refuses",
        level=by_steps("pod-security"),
        find=_not_admitted,
        message="the namespace enforces the Pod Security level {level}, which refuses {what}.",
        remedy="Use {how}, or another namespace.",
        source="k8s.io/pod-security-admission policy/check_windowsHostProcess.go, check_runAsNonRoot.go,"
        " check_allowPrivilegeEscalation.go",
        paths=("spec", "spec.containers[*]"),
    ),
    Rule(
        id="linux-sidecar",
        title="Containers for Linux that a webhook adds",
        level=always(Severity.WARNING),
        find=_sidecars,
        message="{value}: if {who} is in the cluster, it adds containers whose images are only for Linux,"
        " and the pod does not start.",
        remedy="Ask for no injection into Windows pods.",
        source="the projects' documentation of injection; knative.dev, Serving",
        paths=("metadata.annotations", "metadata.labels"),
    ),
)
