# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two of the rules as ValidatingAdmissionPolicies: what reaches the API server past the linter is told there.

Which labels tell a system is the table of `target`, so that both give the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..facts.node_labels import BUILD_LABEL
from .profile import SettingError
from .silence import ANNOTATION
from .target import LINUX_LABELS, OS_LABELS, WINDOWS_KEYS, WINDOWS_LABELS

SINCE_MINOR = 30
"""admissionregistration.k8s.io/v1 has them. Source: Kubernetes 1.30, CHANGELOG, ValidatingAdmissionPolicy is stable."""
NAMESPACE_LABEL = "winkube.node/os=windows"

# Source: k8s.io/apimachinery pkg/util/validation IsQualifiedName, IsValidLabelValue.
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_PART = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_LABEL = re.compile(rf"(?:(?=.{{1,253}}/){_PART}(?:\.{_PART})*/)?{_NAME}=(?:{_NAME})?")


def build_policies(label: str, minor: int) -> str:
    """Both policies with their bindings, as YAML.

    Args:
        label: `key=value` of the namespaces in which each pod has to select a system.
        minor: Kubernetes 1.<minor> of the cluster.

    Raises:
        SettingError: The label is none, or the cluster has no such policies.
    """
    if not _LABEL.fullmatch(label):
        raise SettingError(
            f"--policies: {label!r} is no label of a namespace; write KEY=VALUE, as in {NAMESPACE_LABEL}."
        )
    if minor < SINCE_MINOR:
        raise SettingError(f"--policies: ValidatingAdmissionPolicies need Kubernetes 1.{SINCE_MINOR}, not 1.{minor}.")
    key, _equals, value = label.partition("=")
    return _fill(
        _TEXT,
        {
            "windows_labels": _labels("windows", WINDOWS_LABELS),
            "linux_labels": _labels("linux", LINUX_LABELS),
            "windows_keys": _list(WINDOWS_KEYS),
            "os_labels": _list(OS_LABELS),
            "build_label": BUILD_LABEL,
            "key": key,
            "value": value,
        },
    )


def _fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its parts and values: CEL has braces of its own."""
    for name, part in _PARTS.items():
        text = text.replace(f"  <{name}>\n", part)
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    return text


def _list(values: Iterable[str]) -> str:
    return f"[{', '.join(map(repr, values))}]"


def _labels(system: str, of_clouds: Mapping[str, Iterable[str]]) -> str:
    """A map of CEL: label -> its values, in small letters."""
    labels = {**dict.fromkeys(OS_LABELS, (system,)), **{key: sorted(values) for key, values in of_clouds.items()}}
    return "{" + ",\n        ".join(f"{key!r}: {_list(values)}" for key, values in labels.items()) + "}"


def _accepted(*rules: str) -> str:
    return f"""\
    # The reason for which somebody accepts the finding, at the object or at the pod.
    - name: accepted
      expression: >-
        [has(object.metadata.annotations) ? object.metadata.annotations : {{}},
        has(variables.pod.metadata) && has(variables.pod.metadata.annotations) ? variables.pod.metadata.annotations
        : {{}}].exists(annotations, {_list(f"{ANNOTATION}{rule}" for rule in rules)}
        .exists(name, name in annotations && annotations[name] != ''))
"""


_PARTS = {
    "accepted name": _accepted("missing-os-name"),
    "accepted selector": _accepted("missing-os-selector", "os-name-without-selector"),
    "match": """\
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
      - apiGroups: [apps]
        apiVersions: [v1]
        operations: [CREATE, UPDATE]
        resources: [deployments, daemonsets, statefulsets, replicasets]
      - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs, cronjobs]}
  matchConditions:
    # What a Deployment makes was told of the Deployment.
    - name: made-by-nothing-of-these
      expression: >-
        !has(object.metadata.ownerReferences) || !object.metadata.ownerReferences.exists(owner,
        has(owner.controller) && owner.controller
        && (owner.apiVersion.startsWith('apps/') || owner.apiVersion.startsWith('batch/')))
  variables:
    # The Pod itself, or the template. The kinds have it in different places, so it has no type.
    - name: pod
      expression: >-
        object.kind == 'Pod' ? dyn(object)
        : (object.kind == 'CronJob' ? dyn(object).spec.jobTemplate : dyn(object)).spec.template
    - name: selector
      expression: "has(variables.pod.spec.nodeSelector) ? variables.pod.spec.nodeSelector : {}"
    # Required terms of the node affinity: alternatives.
    - name: terms
      expression: >-
        has(variables.pod.spec.affinity) && has(variables.pod.spec.affinity.nodeAffinity)
        && has(variables.pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution)
        ? variables.pod.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms
        : []
""",
    "windows": """\
    - name: windowsLabels
      expression: >-
        <windows_labels>
    - name: selectsWindows
      expression: >-
        variables.selector.exists(key, key == '<build_label>' || key in variables.windowsLabels
        && variables.selector[key].lowerAscii() in variables.windowsLabels[key])
        || variables.terms.size() > 0 && variables.terms.all(term, has(term.matchExpressions)
        && term.matchExpressions.exists(each,
        each.operator in ['In', 'Exists']
        && each.key in <windows_keys>
        || has(each.values) && each.key in variables.windowsLabels
        && (each.operator == 'In' && each.values.all(value, value.lowerAscii() in variables.windowsLabels[each.key])
        || each.operator == 'NotIn' && each.key in <os_labels>
        && 'linux' in each.values && !('windows' in each.values))))
""",
    "linux": """\
    - name: linuxLabels
      expression: >-
        <linux_labels>
    - name: selectsLinux
      expression: >-
        variables.selector.exists(key, key in variables.linuxLabels
        && variables.selector[key].lowerAscii() in variables.linuxLabels[key])
        || variables.terms.size() > 0 && variables.terms.all(term, has(term.matchExpressions)
        && term.matchExpressions.exists(each, has(each.values) && each.key in variables.linuxLabels
        && (each.operator == 'In' && each.values.all(value, value.lowerAscii() in variables.linuxLabels[each.key])
        || each.operator == 'NotIn' && each.key in <os_labels>
        && 'windows' in each.values)))
""",
}

_TEXT = """\
# Written by workload-lint --policies. Both warn whoever applies an object, note it in the API server's audit log,
# and refuse nothing.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: missing-os-name.lint.winkube.node
spec:
  <match>
  <accepted name>
  <windows>
  validations:
    - expression: "!variables.selectsWindows || has(variables.pod.spec.os) || variables.accepted"
      message: >-
        the pod selects Windows nodes, but spec.os.name does not say so: the API server cannot refuse what does not
        work. Set spec.os.name: windows.
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: missing-os-name.lint.winkube.node
spec:
  policyName: missing-os-name.lint.winkube.node
  validationActions: [Warn, Audit]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: missing-os-selector.lint.winkube.node
spec:
  <match>
  <accepted selector>
  <windows>
  <linux>
  validations:
    # What a RuntimeClass or a named node selects is not looked up.
    - expression: >-
        has(variables.pod.spec.runtimeClassName) || has(variables.pod.spec.nodeName)
        || variables.selectsWindows || variables.selectsLinux || variables.accepted
      message: >-
        this namespace is for Windows pods, and nothing brings the pod to a Windows or a Linux node: either may get it.
        Add nodeSelector kubernetes.io/os, or a RuntimeClass that has it.
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: missing-os-selector.lint.winkube.node
spec:
  policyName: missing-os-selector.lint.winkube.node
  validationActions: [Warn, Audit]
  matchResources:
    namespaceSelector: {matchLabels: {"<key>": "<value>"}}
"""
