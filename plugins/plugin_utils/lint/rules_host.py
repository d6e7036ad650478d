# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The account and isolation of a pod: HostProcess, gMSA, Hyper-V."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..foreign.windows import Pattern
from .catalog import ObjectCase, PodCase
from .model import Hit, Path, Severity, as_map, as_text
from .rule import ALL_CONTAINERS, DOC, GUIDE, Rule, always, by_steps, is_pipe, mounts, needing, short, volumes

_HYPERV_ANNOTATION = "experimental.windows.kubernetes.io/isolation-type"
_LONGEST_NAME = 253
_PLACEHOLDER_HANDLER = "example-container-runtime-handler"


@needing("annotations")
def _hyperv_annotation(case: PodCase) -> Iterator[Hit]:
    if str(case.pod.annotations.get(_HYPERV_ANNOTATION)).lower() == "hyperv":
        yield Hit(
            ("metadata", "annotations", _HYPERV_ANNOTATION), {"value": f"annotation {_HYPERV_ANNOTATION}: hyperv"}
        )


@needing("runtimeClassName")
def _hyperv_pod(case: PodCase) -> Iterator[Hit]:
    name = as_text(case.pod.spec.get("runtimeClassName"))
    handler = as_text(as_map(case.catalog.runtime_classes.get(name)).get("handler"))
    if "hypervisor" in handler or "hypervisor" in name:
        yield Hit(
            ("spec", "runtimeClassName"),
            {"value": f"RuntimeClass {name}" + (f" (handler {handler})" if handler else "")},
        )


def _hyperv_class(case: ObjectCase) -> Iterator[Hit]:
    handler = as_text(case.object.value.get("handler"))
    if handler.startswith("runhcs-wcow-hypervisor"):
        yield Hit(("handler",), {"value": f"handler {handler}"})


def _placeholder_handler(case: ObjectCase) -> Iterator[Hit]:
    if case.object.value.get("handler") == _PLACEHOLDER_HANDLER:
        yield Hit(("handler",), {"value": _PLACEHOLDER_HANDLER})


@needing("hostProcess")
def _host_process_without_network(case: PodCase) -> Iterator[Hit]:
    if case.pod.host_process and case.pod.spec.get("hostNetwork") is not True:
        yield Hit(("spec", "hostNetwork"))


def _host_process_of(case: PodCase) -> Iterator[tuple[Any, bool | None, bool]]:
    """(container, its own hostProcess, the effective one). Source: validateWindowsHostProcessPod."""
    at_pod = as_map(case.pod.security.get("windowsOptions")).get("hostProcess")
    for container in case.pod.containers:
        own = as_map(container.security.get("windowsOptions")).get("hostProcess")
        yield container, own, (at_pod if own is None else own) is True


@needing("hostProcess")
def _host_process_mixed(case: PodCase) -> Iterator[Hit]:
    at_pod = as_map(case.pod.security.get("windowsOptions")).get("hostProcess")
    mixed = case.pod.host_process and not all(in_force for _container, _own, in_force in _host_process_of(case))
    for container, own, in_force in _host_process_of(case):
        if isinstance(own, bool) and isinstance(at_pod, bool) and own != at_pod:
            path = (*container.path, "securityContext", "windowsOptions", "hostProcess")
            yield Hit(path, {"what": container.name}, container.name)
        elif mixed and not in_force:
            yield Hit(container.path, {"what": container.name}, container.name)


@needing("hostProcess")
def _host_process_without_user(case: PodCase) -> Iterator[Hit]:
    at_pod = as_map(case.pod.security.get("windowsOptions")).get("runAsUserName")
    for container, _own, in_force in _host_process_of(case):
        if in_force and not (as_map(container.security.get("windowsOptions")).get("runAsUserName") or at_pod):
            yield Hit(container.path, {"what": container.name}, container.name)


@needing("hostProcess")
def _host_process_user_unknown(case: PodCase) -> Iterator[Hit]:
    """Accounts that every container has and no host."""
    for path, user, container, of_host in user_names(case):
        if of_host and user.rpartition("\\")[2].lower() in ("containeradministrator", "containeruser"):
            yield Hit(path, {"value": user}, container)


_USER: Path = ("securityContext", "windowsOptions", "runAsUserName")


def user_names(case: PodCase) -> Iterator[tuple[Path, str, str, bool]]:
    """(path, runAsUserName, container name, whether it is a HostProcess container) for each one that is set."""
    yield from (
        (path, name, container, of_host)
        for path, security, container, of_host in (
            (("spec", *_USER), case.pod.security, "", case.pod.host_process),
            *(
                ((*each.path, *_USER), each.security, each.name, in_force)
                for each, _own, in_force in _host_process_of(case)
            ),
        )
        if (name := as_text(as_map(security.get("windowsOptions")).get("runAsUserName")))
    )


@needing("hostProcess")
def _host_process_pipes(case: PodCase) -> Iterator[Hit]:
    pipes = {
        as_text(volume.get("name")): as_text(as_map(volume.get("hostPath")).get("path"))
        for _path, volume in volumes(case)
        if is_pipe(as_text(as_map(volume.get("hostPath")).get("path")))
    }
    for path, mount, container in mounts(case) if case.pod.host_process else ():
        if as_text(mount.get("name")) in pipes:
            yield Hit(path, {"value": pipes[as_text(mount["name"])]}, container)


@needing("hostAliases")
def _host_aliases(case: PodCase) -> Iterator[Hit]:
    if case.pod.host_process and case.pod.spec.get("hostAliases"):
        yield Hit(("spec", "hostAliases"))


@needing("hostProcess")
def _host_process(case: PodCase) -> Iterator[Hit]:
    if case.pod.host_process:
        yield Hit(("spec",))


def _gmsa(case: PodCase) -> Iterator[tuple[Any, str, str]]:
    places = [
        (("spec",), case.pod.security, ""),
        *((each.path, each.security, each.name) for each in case.pod.containers),
    ]
    for path, security, container in places:
        name = as_map(security.get("windowsOptions")).get("gmsaCredentialSpecName")
        if isinstance(name, str) and name:
            yield (*path, "securityContext", "windowsOptions", "gmsaCredentialSpecName"), name, container


_SUBDOMAIN = Pattern(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@needing("gmsaCredentialSpecName")
def _gmsa_misnamed(case: PodCase) -> Iterator[Hit]:
    places = [
        (("spec",), case.pod.security, ""),
        *((each.path, each.security, each.name) for each in case.pod.containers),
    ]
    for path, security, container in places:
        name = as_map(security.get("windowsOptions")).get("gmsaCredentialSpecName")
        if isinstance(name, str) and not (_SUBDOMAIN.fullmatch(name) and len(name) <= _LONGEST_NAME):
            hit = (*path, "securityContext", "windowsOptions", "gmsaCredentialSpecName")
            yield Hit(hit, {"value": short(name) or "empty"}, container)


@needing("gmsaCredentialSpecName")
def _gmsa_unknown(case: PodCase) -> Iterator[Hit]:
    """Only if credential specs are among the input."""
    known = {each.name for each in case.catalog.of_kind("GMSACredentialSpec")}
    for path, name, container in _gmsa(case):
        if known and name not in known and _SUBDOMAIN.fullmatch(name):
            yield Hit(path, {"value": name, "known": ", ".join(sorted(known))}, container)


@needing("gmsaCredentialSpecName")
def _gmsa_names(case: PodCase) -> Iterator[Hit]:
    for path, name, container in _gmsa(case):
        yield Hit(path, {"value": name}, container)


RULES: tuple[Rule, ...] = (
    Rule(
        id="hyperv-isolation",
        title="Hyper-V isolation",
        level=always(Severity.WARNING),
        find=_hyperv_annotation,
        message="{value} asks for Hyper-V isolation, which Kubernetes does not support.",
        remedy="Use process isolation: a handler runhcs-wcow-process and images of the node's build.",
        source=DOC,
        paths=(f"metadata.annotations[{_HYPERV_ANNOTATION}]",),
        all_pods=True,
    ),
    Rule(
        id="hyperv-isolation",
        title="Hyper-V isolation by a RuntimeClass",
        level=always(Severity.WARNING),
        find=_hyperv_pod,
        message="{value} asks for Hyper-V isolation: containerd can, Kubernetes does not support it.",
        remedy="Use process isolation: a handler runhcs-wcow-process and images of the node's build.",
        source=DOC + "; microsoft/hcsshim cmd/containerd-shim-runhcs-v1",
        paths=("spec.runtimeClassName",),
        all_pods=True,
    ),
    Rule(
        id="hyperv-isolation",
        title="Hyper-V isolation in a RuntimeClass",
        level=always(Severity.WARNING),
        find=_hyperv_class,
        message="{value} asks for Hyper-V isolation: containerd can, Kubernetes does not support it.",
        remedy="Use the handler runhcs-wcow-process.",
        source=DOC,
        kinds=("RuntimeClass",),
        paths=("handler",),
    ),
    Rule(
        id="example-handler",
        title="Handler of the documentation's example",
        level=always(Severity.ERROR),
        find=_placeholder_handler,
        message="handler is {value}, the placeholder of the documentation: no node has it.",
        remedy="Name a handler of the nodes' containerd configuration; its own on Windows is runhcs-wcow-process.",
        source=GUIDE,
        kinds=("RuntimeClass",),
        paths=("handler",),
    ),
    Rule(
        id="host-process-without-host-network",
        title="HostProcess pod without hostNetwork",
        level=always(Severity.ERROR),
        find=_host_process_without_network,
        message="a HostProcess pod has to set hostNetwork: true; the API server rejects this one.",
        remedy="Set spec.hostNetwork: true.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateWindowsHostProcessPod",
        paths=("spec.hostNetwork",),
    ),
    Rule(
        id="mixed-host-process",
        title="HostProcess and other containers in one pod",
        level=always(Severity.ERROR),
        find=_host_process_mixed,
        message="container {what} disagrees with the rest of the pod about hostProcess: all or none; the API"
        " server rejects the pod.",
        remedy="Set windowsOptions.hostProcess at the pod, not at containers.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateWindowsHostProcessPod",
        paths=(f"{ALL_CONTAINERS}.securityContext.windowsOptions.hostProcess",),
    ),
    Rule(
        id="host-process-without-user",
        title="HostProcess container without a user",
        level=always(Severity.WARNING),
        find=_host_process_without_user,
        message="container {what} runs on the host and names no user: the image's default user seldom exists there.",
        remedy=r"Set windowsOptions.runAsUserName, for example 'NT AUTHORITY\SYSTEM' or 'NT AUTHORITY\Local service'.",
        source="Kubernetes documentation, Create a Windows HostProcess pod, Choosing a user account",
        paths=(f"{ALL_CONTAINERS}.securityContext.windowsOptions.runAsUserName",),
    ),
    Rule(
        id="host-process-user",
        title="Account of containers for a HostProcess container",
        level=always(Severity.ERROR),
        find=_host_process_user_unknown,
        message="runAsUserName is {value}, an account that containers have but the host does not: the HostProcess"
        " container does not start.",
        remedy=r"Use NT AUTHORITY\SYSTEM, NT AUTHORITY\Local service, NT AUTHORITY\NetworkService, or a local group.",
        source="microsoft/hcsshim internal/jobcontainers/logon.go processToken",
        paths=(f"{ALL_CONTAINERS}.securityContext.windowsOptions.runAsUserName",),
    ),
    Rule(
        id="host-process-pipe",
        title="Named pipe mounted into a HostProcess container",
        level=always(Severity.ERROR),
        find=_host_process_pipes,
        message="the named pipe {value} is mounted into a HostProcess container: the runtime refuses to start it.",
        remedy="Remove the mount: a host process opens the pipe by its name.",
        source="microsoft/hcsshim internal/jobcontainers/mounts.go setupMounts",
        paths=(f"{ALL_CONTAINERS}.volumeMounts[*]",),
    ),
    Rule(
        id="host-aliases",
        title="hostAliases of a HostProcess pod",
        level=always(Severity.WARNING),
        find=_host_aliases,
        message="hostAliases are set; the kubelet gives HostProcess pods no hosts file, they use the host's own.",
        remedy="Remove the field, or let DNS know the names.",
        source="k8s.io/kubernetes pkg/kubelet shouldMountHostsFile",
        paths=("spec.hostAliases",),
    ),
    Rule(
        id="host-process-unsupported",
        title="HostProcess where it does not run",
        level=by_steps("host-process-unsupported"),
        find=_host_process,
        message="this is a HostProcess pod; {what}.",
        remedy="Use containerd 1.6 or later and Kubernetes 1.23 or later.",
        source="Kubernetes documentation, Create a Windows HostProcess pod; k8s.io/kubernetes pkg/features"
        " v1.22.17, v1.23.17",
        paths=("spec.securityContext.windowsOptions.hostProcess",),
    ),
    Rule(
        id="invalid-gmsa-name",
        title="Form of gmsaCredentialSpecName",
        level=always(Severity.ERROR),
        find=_gmsa_misnamed,
        message="gmsaCredentialSpecName {value} is not a name that an object can have: the API server rejects the pod.",
        remedy="Name the GMSACredentialSpec: small letters, digits, '-' and '.'.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateWindowsSecurityContextOptions",
        paths=("spec.securityContext.windowsOptions.gmsaCredentialSpecName",),
    ),
    Rule(
        id="unknown-gmsa-spec",
        title="gMSA credential spec that does not exist",
        level=always(Severity.ERROR),
        find=_gmsa_unknown,
        message="gmsaCredentialSpecName {value} is not among the GMSACredentialSpecs of the input ({known}):"
        " the webhook"
        " refuses the pod.",
        remedy="Correct the name, or create the GMSACredentialSpec.",
        source=GUIDE,
        paths=("spec.securityContext.windowsOptions.gmsaCredentialSpecName",),
    ),
    Rule(
        id="gmsa-network-share",
        title="gMSA with containerd and network shares",
        level=by_steps("gmsa-network-share"),
        find=_gmsa_names,
        message="gMSA {value} with containerd: access to Windows network shares needs a patch of the kernel.",
        remedy="Keep the nodes at a current cumulative update, and try the share.",
        source=DOC,
        paths=("spec.securityContext.windowsOptions.gmsaCredentialSpecName",),
    ),
)
