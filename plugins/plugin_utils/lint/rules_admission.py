# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that a Windows pod must not have: with `os.name: windows` the API server rejects it.

Which field is rejected since when was read from validateWindows in pkg/apis/core/validation of Kubernetes 1.23 to
1.37, and is compared with what the real code answers (tests/real/apiserver_judge). Fields of pointer type are rejected
by presence, so `privileged: false` too; `hostPID` and `hostIPC` are plain booleans, so `false` is absence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .catalog import PodCase
from .levels import Level, by_minor, rejected
from .model import Hit, Severity, as_map
from .rule import Remove, Rule, Test, fields, is_set, is_true

_DOC = "Kubernetes documentation, Windows containers"
_CODE = "k8s.io/kubernetes pkg/apis/core/validation validateWindows"


def _effectless(value: Any) -> bool:
    return value is False


def _only_drops(value: Any) -> bool:
    return not as_map(value).get("add")


def _row(
    row: str,
    field: str,
    why: str,
    remedy: str,
    source: str,
    *,
    test: Test = is_set,
    rows: tuple[str, ...] = (),
    level: Level | None = None,
    fix: Remove | None = None,
) -> Rule:
    return Rule(
        id=row,
        title=f"`{field}` on a Windows pod",
        level=level or rejected(),
        find=fields(field, test=test),
        message="{field} is {set}. " + why + " {consequence}",
        remedy=remedy,
        source=source,
        rows=rows,
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

_NAMED_IN_LM_21 = frozenset({"runAsNonRoot", "windowsOptions"})


def _other_pod_fields(case: PodCase) -> Iterator[Hit]:
    """Pod securityContext fields that no rule of their own names. runAsNonRoot works since 1.24 (F-01)."""
    allowed = _NAMED_IN_LM_21 if case.profile.minor >= 24 else frozenset({"windowsOptions"})
    for field, value in case.pod.security.items():
        if value is not None and field not in allowed and field not in _POD_FIELDS_WITH_RULE:
            yield Hit(("spec", "securityContext", field))


_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _apparmor_annotations(case: PodCase) -> Iterator[Hit]:
    for key in case.pod.annotations:
        if isinstance(key, str) and key.startswith(_APPARMOR):
            yield Hit(("metadata", "annotations", key), {"value": key}, key.removeprefix(_APPARMOR))


RULES: tuple[Rule, ...] = (
    _row(
        "LM-01",
        "spec.hostPID",
        _NAMESPACES,
        _HOST_PROCESS,
        _DOC + ", v1.22 and v1.27 (S2 L75, L278; S3 L78, L239)",
        test=is_true,
    ),
    _row(
        "LM-02",
        "spec.hostIPC",
        _NAMESPACES,
        _HOST_PROCESS,
        _DOC + ", v1.22 and v1.27 (S2 L75, L278; S3 L79)",
        test=is_true,
    ),
    _row(
        "LM-03",
        _POD + "seLinuxOptions",
        "SELinux is a part of Linux.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L353; S3 L80)",
        rows=("SE-10",),
        fix=Remove(),
    ),
    _row(
        "LM-04",
        _POD + "seccompProfile",
        "Seccomp is a part of Linux.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L353; S3 L81)",
        rows=("SE-10",),
        fix=Remove(),
    ),
    _row(
        "LM-05",
        _POD + "fsGroup",
        "Windows has no group ids; rights to files are ACLs, resolved inside the container.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L195; S3 L82)",
        rows=("ST-04",),
        fix=Remove(),
    ),
    _row(
        "LM-06",
        _POD + "fsGroupChangePolicy",
        "Windows has no group ids.",
        _TAKE_AWAY,
        _DOC + " (S2 L75; S3 L83)",
        fix=Remove(),
    ),
    _row(
        "LM-07",
        _POD + "sysctls",
        "The Windows kernel has no sysctls.",
        "Remove the field; set what the application needs in its own configuration.",
        _DOC + " (S2 L75; S3 L84)",
        test=bool,
        fix=Remove(),
    ),
    _row(
        "LM-08",
        "spec.shareProcessNamespace",
        "Containers of a Windows pod share the network and nothing else.",
        "Remove the field; let containers talk over localhost or a shared volume.",
        _DOC + " (S2 L75, L282; S3 L85, L252)",
        rows=("LM-69",),
        fix=Remove(_effectless),
    ),
    _row(
        "LM-09",
        _POD + "runAsUser",
        "A Windows user is a name with a SID, not a number.",
        _USER_NAME,
        _DOC + " (S2 L75; S3 L86; KEP S4 L284)",
        rows=("SE-04", "SE-17"),
        fix=Remove(),
    ),
    _row(
        "LM-10", _POD + "runAsGroup", "Windows has no group ids.", _TAKE_AWAY, _DOC + " (S2 L75; S3 L87)", fix=Remove()
    ),
    _row(
        "LM-11",
        _POD + "supplementalGroups",
        "Windows has no group ids.",
        _TAKE_AWAY,
        _DOC + " (S2 L75; S3 L88; KEP S4 L285)",
        rows=("SE-17",),
        fix=Remove(),
    ),
    _row(
        "LM-12",
        _CONTAINER + "seLinuxOptions",
        "SELinux is a part of Linux.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L272; S3 L89, L228; KEP S4 L272)",
        rows=("SE-10",),
        fix=Remove(),
    ),
    _row(
        "LM-13",
        _CONTAINER + "seccompProfile",
        "Seccomp is a part of Linux.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L353; S3 L90)",
        rows=("SE-10",),
        fix=Remove(),
    ),
    _row(
        "LM-14",
        _CONTAINER + "capabilities",
        "POSIX capabilities are not implemented on Windows.",
        "Remove the field; give the container's user the rights that it needs in the image.",
        _DOC + " (S2 L75, L265; S3 L91, L203; KEP S4 L271)",
        rows=("SE-10",),
        fix=Remove(_only_drops),
    ),
    _row(
        "LM-15",
        _CONTAINER + "readOnlyRootFilesystem",
        "The registry and system processes of a Windows container have to write to its root file system.",
        "Remove the field; mount what must not change with readOnly: true, which works.",
        _DOC + " (S2 L75, L202, L268; S3 L92, L213; KEP S4 L276)",
        rows=("LM-41", "ST-03"),
        fix=Remove(),
    ),
    _row(
        "LM-16",
        _CONTAINER + "privileged",
        "Windows has no privileged containers.",
        "Remove the field; what needs the host itself runs as a HostProcess pod (windowsOptions.hostProcess: true"
        " and hostNetwork: true).",
        _DOC + " (S2 L44, L75, L266, L355; S3 L93, L206; KEP S4 L97)",
        rows=("LM-23", "SE-08"),
        fix=Remove(_effectless),
    ),
    _row(
        "LM-17",
        _CONTAINER + "allowPrivilegeEscalation",
        "None of the Linux capabilities that it speaks of exist on Windows; false counts as set too.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L264; S3 L94, L200)",
        fix=Remove(),
    ),
    _row(
        "LM-18",
        _CONTAINER + "procMount",
        "Windows has no /proc.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L267; S3 L95)",
        fix=Remove(),
    ),
    _row(
        "LM-19",
        _CONTAINER + "runAsUser",
        "A Windows user is a name with a SID, not a number.",
        _USER_NAME,
        _DOC + " (S2 L75, L271; S3 L96, L224)",
        rows=("SE-04",),
        fix=Remove(),
    ),
    _row(
        "LM-20",
        _CONTAINER + "runAsGroup",
        "Windows has no group ids.",
        _TAKE_AWAY,
        _DOC + " (S2 L75, L269; S3 L97)",
        fix=Remove(),
    ),
    Rule(
        id="LM-21",
        title="Other fields of the pod's securityContext",
        level=by_minor((22, Severity.WARNING)),
        find=_other_pod_fields,
        message="securityContext.{field} has no effect on Windows: of a pod's securityContext only runAsNonRoot"
        " (since 1.24) and windowsOptions work.",
        remedy="Remove the field, or move what is meant into securityContext.windowsOptions.",
        source=_DOC + ", v1.22: none of the fields work (S2 L288); v1.27: runAsNonRoot and windowsOptions (S3 L283)",
        paths=("spec.securityContext.*",),
    ),
    _row(
        "WL-01",
        "spec.hostUsers",
        "Windows has no user namespaces.",
        _TAKE_AWAY,
        _CODE
        + ", since v1.25.0; pkg/api/pod dropDisabledFields: left out while UserNamespacesSupport is off (to 1.32)",
        level=rejected(since=33, exists=25),
        fix=Remove(),
    ),
    _row(
        "WL-02",
        _POD + "supplementalGroupsPolicy",
        "Windows has no group ids.",
        _TAKE_AWAY,
        _CODE + ", since v1.31.0; pkg/api/pod dropDisabledFields: left out while SupplementalGroupsPolicy is off (to"
        " 1.32)",
        level=rejected(since=33, exists=31),
        fix=Remove(),
    ),
    _row(
        "WL-03",
        _POD + "seLinuxChangePolicy",
        "SELinux is a part of Linux.",
        _TAKE_AWAY,
        _CODE + ", since v1.32.0; pkg/api/pod dropDisabledFields: left out while SELinuxChangePolicy is off (1.32)",
        level=rejected(since=33, exists=32),
        fix=Remove(),
    ),
    _row(
        "WL-04",
        "spec.resources",
        "A Windows pod has no job object of its own that could be limited.",
        "Remove the field and set resources.limits of each container.",
        "k8s.io/kubernetes pkg/apis/core/validation validatePodResources, since v1.34.0",
        level=rejected(since=34, exists=32),
    ),
    Rule(
        id="LM-25",
        title="AppArmor profile of a Windows pod",
        level=rejected(since=30),
        find=fields("spec.securityContext.appArmorProfile", "spec.containers[*].securityContext.appArmorProfile"),
        message="{field} is set. AppArmor is a part of Linux. {consequence}",
        remedy=_TAKE_AWAY,
        source=_DOC + " (S2 L353); " + _CODE + ", since v1.30.0",
        rows=("SE-10",),
        paths=("spec.securityContext.appArmorProfile", "spec.containers[*].securityContext.appArmorProfile"),
        fix=Remove(),
    ),
    Rule(
        id="LM-25",
        title="AppArmor profile of a Windows pod",
        level=by_minor((22, Severity.WARNING)),
        find=_apparmor_annotations,
        message="the annotation {value} asks for an AppArmor profile. AppArmor is a part of Linux; the annotation"
        " has no effect.",
        remedy="Remove the annotation.",
        source=_DOC + " (S2 L353)",
        rows=("SE-10",),
        paths=(f"metadata.annotations[{_APPARMOR}*]",),
        fix=Remove(),
    ),
)

_POD_FIELDS_WITH_RULE = frozenset(
    path.removeprefix(_POD) for rule in RULES for path in rule.paths if path.startswith(_POD) and path != _POD + "*"
)
