# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that a Windows pod must not have: with `os.name: windows` the API server rejects it.

The release that first rejects each field is from validateWindows in pkg/apis/core/validation of Kubernetes 1.23 to
1.37 (facts/rule_steps.txt), and a test compares it with the real code (tests/real/apiserver_judge). Fields of pointer
type are rejected if present, so `privileged: false` too; `hostPID` and `hostIPC` are plain booleans, so `false` is
absence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .catalog import PodCase
from .model import Hit, Severity, as_map
from .rule import DOC, KEP, Remove, Rule, Test, always, by_steps, fields, is_set, is_true, needing, says_yes

_CODE = "k8s.io/kubernetes pkg/apis/core/validation validateWindows"


def _effectless(value: Any) -> bool:
    return value is False


def _only_drops(value: Any) -> bool:
    return not as_map(value).get("add")


def _field(
    rule: str,
    field: str,
    why: str,
    remedy: str,
    source: str,
    *,
    test: Test = is_set,
    fix: Remove | None = None,
    unless: Callable[[PodCase], bool] | None = None,
) -> Rule:
    return Rule(
        id=rule,
        title=f"`{field}` on a Windows pod",
        level=by_steps(rule),
        find=fields(field, test=test, unless=unless),
        message="{field} is {set}. " + why + " {consequence}",
        remedy=remedy,
        source=source,
        paths=(field,),
        fix=fix,
    )


_POD = "spec.securityContext."
_CONTAINER = "spec.containers[*].securityContext."
_TAKE_AWAY = "Remove the field."
_USER_NAME = (
    "Remove the field; the user of a Windows container is named in securityContext.windowsOptions.runAsUserName."
)
_NAMESPACES = "Windows has no PID and IPC namespaces of the host to share."
_HOST_PROCESS = (
    "Remove the field; what needs the host itself runs as a HostProcess pod"
    " (windowsOptions.hostProcess: true and hostNetwork: true)."
)

_WORKING = frozenset({"runAsNonRoot", "windowsOptions"})


@needing("securityContext")
def _find_other_pod_fields(case: PodCase) -> Iterator[Hit]:
    """Fields of the pod's securityContext without a rule of their own."""
    allowed = _WORKING if says_yes("run-as-non-root-works", case) else _WORKING - {"runAsNonRoot"}
    for field, value in case.pod.security.items():
        if value is not None and field not in allowed and field not in _POD_FIELDS_WITH_RULE:
            yield Hit(("spec", "securityContext", field))


_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


@needing("annotations")
def _apparmor_annotations(case: PodCase) -> Iterator[Hit]:
    for key in case.pod.annotations:
        if isinstance(key, str) and key.startswith(_APPARMOR):
            yield Hit(("metadata", "annotations", key), {"value": key}, key.removeprefix(_APPARMOR))


@needing("windowsOptions")
def _options_of_linux(case: PodCase) -> Iterator[Hit]:
    """Source: k8s.io/kubernetes pkg/apis/core/validation validateLinux, 1.24 on."""
    if case.pod.os_name != "linux":
        return
    if case.pod.security.get("windowsOptions") is not None:
        yield Hit(("spec", "securityContext", "windowsOptions"))
    for container in case.pod.containers:
        if container.security.get("windowsOptions") is not None:
            yield Hit((*container.path, "securityContext", "windowsOptions"), {}, container.name)


_TOKEN = by_steps("token-of-a-linux-user")


def _owns_its_token(case: PodCase) -> bool:
    """Whether the kubelet tries to give the service account's token to a Linux user, which fails on Windows.

    It does if all containers have the same one. Source: k8s.io/kubernetes pkg/volume/util FsUserFrom.
    """
    if _TOKEN.of(case.profile, case.declares_windows) is None:
        return False
    at_pod = case.pod.security.get("runAsUser")
    users = {str(each.security.get("runAsUser", at_pod)) for each in case.pod.containers}
    return len(users) == 1 and users != {"None"} and case.pod.spec.get("automountServiceAccountToken") is not False


@needing("runAsUser")
def _owners_of_tokens(case: PodCase) -> Iterator[Hit]:
    if not _owns_its_token(case):
        return
    if case.pod.security.get("runAsUser") is not None:
        yield Hit(("spec", "securityContext", "runAsUser"), {"value": str(case.pod.security["runAsUser"])})
    for each in case.pod.containers:
        if each.security.get("runAsUser") is not None:
            path = (*each.path, "securityContext", "runAsUser")
            yield Hit(path, {"value": str(each.security["runAsUser"])}, each.name)


RULES: tuple[Rule, ...] = (
    _field(
        "host-pid",
        "spec.hostPID",
        _NAMESPACES,
        _HOST_PROCESS,
        DOC + ", v1.22 and v1.27",
        test=is_true,
    ),
    _field(
        "host-ipc",
        "spec.hostIPC",
        _NAMESPACES,
        _HOST_PROCESS,
        DOC + ", v1.22 and v1.27",
        test=is_true,
    ),
    _field(
        "selinux-options",
        _POD + "seLinuxOptions",
        "SELinux is a part of Linux.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    _field(
        "seccomp-profile",
        _POD + "seccompProfile",
        "Seccomp is a part of Linux.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    _field(
        "fs-group",
        _POD + "fsGroup",
        "Windows has no group ids; rights to files are ACLs, resolved inside the container.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    _field(
        "fs-group-change-policy",
        _POD + "fsGroupChangePolicy",
        "Windows has no group ids.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    _field(
        "sysctls",
        _POD + "sysctls",
        "The Windows kernel has no sysctls.",
        "Remove the field; set what the application needs in its own configuration.",
        DOC,
        test=bool,
        fix=Remove(),
    ),
    _field(
        "share-process-namespace",
        "spec.shareProcessNamespace",
        "Containers of a Windows pod share the network and nothing else.",
        "Remove the field; let containers talk over localhost or a shared volume.",
        DOC,
        fix=Remove(_effectless),
    ),
    _field(
        "run-as-user",
        _POD + "runAsUser",
        "A Windows user is a name with a SID, not a number.",
        _USER_NAME,
        DOC + "; " + KEP,
        fix=Remove(),
        unless=_owns_its_token,
    ),
    _field("run-as-group", _POD + "runAsGroup", "Windows has no group ids.", _TAKE_AWAY, DOC, fix=Remove()),
    _field(
        "supplemental-groups",
        _POD + "supplementalGroups",
        "Windows has no group ids.",
        _TAKE_AWAY,
        DOC + "; " + KEP,
        fix=Remove(),
    ),
    _field(
        "selinux-options",
        _CONTAINER + "seLinuxOptions",
        "SELinux is a part of Linux.",
        _TAKE_AWAY,
        DOC + "; " + KEP,
        fix=Remove(),
    ),
    _field(
        "seccomp-profile",
        _CONTAINER + "seccompProfile",
        "Seccomp is a part of Linux.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    _field(
        "capabilities",
        _CONTAINER + "capabilities",
        "POSIX capabilities are not implemented on Windows.",
        "Remove the field; give the container's user the rights that it needs in the image.",
        DOC + "; " + KEP,
        fix=Remove(_only_drops),
    ),
    _field(
        "read-only-root-fs",
        _CONTAINER + "readOnlyRootFilesystem",
        "The registry and system processes of a Windows container have to write to its root file system.",
        "Remove the field; mount what must not change with readOnly: true, which works.",
        DOC + "; " + KEP,
        fix=Remove(),
    ),
    _field(
        "privileged",
        _CONTAINER + "privileged",
        "Windows has no privileged containers.",
        "Remove the field; what needs the host itself runs as a HostProcess pod (windowsOptions.hostProcess: true"
        " and hostNetwork: true).",
        DOC + "; " + KEP,
        fix=Remove(_effectless),
    ),
    _field(
        "privilege-escalation",
        _CONTAINER + "allowPrivilegeEscalation",
        "None of the Linux capabilities that it speaks of exist on Windows; false counts as set too.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    _field(
        "proc-mount",
        _CONTAINER + "procMount",
        "Windows has no /proc.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    _field(
        "run-as-user",
        _CONTAINER + "runAsUser",
        "A Windows user is a name with a SID, not a number.",
        _USER_NAME,
        DOC,
        fix=Remove(),
        unless=_owns_its_token,
    ),
    _field(
        "run-as-group",
        _CONTAINER + "runAsGroup",
        "Windows has no group ids.",
        _TAKE_AWAY,
        DOC,
        fix=Remove(),
    ),
    Rule(
        id="other-security-context",
        title="Other fields of the pod's securityContext",
        level=always(Severity.WARNING),
        find=_find_other_pod_fields,
        message="securityContext.{field} has no effect on Windows: of a pod's securityContext only runAsNonRoot"
        " (since 1.24) and windowsOptions work.",
        remedy="Remove the field, or move what is meant into securityContext.windowsOptions.",
        source=DOC + ", v1.22: none of the fields work; v1.27: runAsNonRoot and windowsOptions",
        paths=("spec.securityContext.*",),
    ),
    _field(
        "host-users",
        "spec.hostUsers",
        "Windows has no user namespaces.",
        _TAKE_AWAY,
        _CODE
        + ", since v1.25.0; pkg/api/pod dropDisabledFields: left out while UserNamespacesSupport is off (to 1.32)",
        fix=Remove(),
    ),
    _field(
        "supplemental-groups-policy",
        _POD + "supplementalGroupsPolicy",
        "Windows has no group ids.",
        _TAKE_AWAY,
        _CODE + ", since v1.31.0; pkg/api/pod dropDisabledFields: left out while SupplementalGroupsPolicy is off (to"
        " 1.32)",
        fix=Remove(),
    ),
    _field(
        "selinux-change-policy",
        _POD + "seLinuxChangePolicy",
        "SELinux is a part of Linux.",
        _TAKE_AWAY,
        _CODE + ", since v1.32.0; pkg/api/pod dropDisabledFields: left out while SELinuxChangePolicy is off (1.32)",
        fix=Remove(),
    ),
    _field(
        "pod-resources",
        "spec.resources",
        "A Windows pod has no job object of its own that could be limited.",
        "Remove the field and set resources.limits of each container.",
        "k8s.io/kubernetes pkg/apis/core/validation validatePodResources, since v1.34.0",
    ),
    Rule(
        id="run-as-user",
        title="`runAsUser` of all containers of a pod with a token",
        level=_TOKEN,
        find=_owners_of_tokens,
        message="runAsUser is {value} in all containers: the kubelet of 1.28 and earlier wants to give the service"
        " account's token to that user, Windows has no such owner, and the pod does not start.",
        remedy=_USER_NAME,
        source="k8s.io/kubernetes pkg/volume/util FsUserFrom, atomic_writer.go; kubernetes/kubernetes#102849",
        paths=(_POD + "runAsUser", _CONTAINER + "runAsUser"),
        fix=Remove(),
    ),
    Rule(
        id="windows-options",
        title="windowsOptions of a pod for Linux",
        level=by_steps("windows-options"),
        find=_options_of_linux,
        message="spec.os.name is linux and windowsOptions are set: the API server rejects the pod.",
        remedy="Remove windowsOptions, or say os.name: windows.",
        source="k8s.io/kubernetes pkg/apis/core/validation validateLinux",
        paths=("spec.securityContext.windowsOptions", "spec.containers[*].securityContext.windowsOptions"),
        all_pods=True,
    ),
    Rule(
        id="apparmor-profile",
        title="AppArmor profile of a Windows pod",
        level=by_steps("apparmor-profile"),
        find=fields("spec.securityContext.appArmorProfile", "spec.containers[*].securityContext.appArmorProfile"),
        message="{field} is set. AppArmor is a part of Linux. {consequence}",
        remedy=_TAKE_AWAY,
        source=DOC + "; " + _CODE + ", since v1.30.0",
        paths=("spec.securityContext.appArmorProfile", "spec.containers[*].securityContext.appArmorProfile"),
        fix=Remove(),
    ),
    Rule(
        id="apparmor-profile",
        title="AppArmor profile of a Windows pod",
        level=always(Severity.WARNING),
        find=_apparmor_annotations,
        message="the annotation {value} asks for an AppArmor profile. AppArmor is a part of Linux; the annotation"
        " has no effect.",
        remedy="Remove the annotation.",
        source=DOC,
        paths=(f"metadata.annotations[{_APPARMOR}*]",),
        fix=Remove(),
    ),
)

_POD_FIELDS_WITH_RULE = frozenset(
    path.removeprefix(_POD) for rule in RULES for path in rule.paths if path.startswith(_POD) and path != _POD + "*"
)
