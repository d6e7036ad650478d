# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of KubeletConfiguration that a user adds to our drop-in (winkube_kubelet_config).

What no other variable sets is taken; types, gates and what Windows refuses are judged of the whole, in effective.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...facts import kubelet_config
from ...facts.flags import PRE_RELEASE
from ...facts.version import Line
from ...foreign.spelling import meant
from .kubelet_args import DROP_INS, Kubelet

VARIABLE = "winkube_kubelet_config"

OWNERS: Mapping[str, str] = {
    "authentication.x509.clientCAFile": "winkube_kubernetes_dir",
    "clusterDNS": "winkube_kubelet_cluster_dns",
    "clusterDomain": "winkube_cluster_domain",
    "containerRuntimeEndpoint": "winkube_containerd_pipe",
    "evictionHard": "winkube_eviction_hard",
    "evictionSoft": "winkube_eviction_soft",
    "evictionSoftGracePeriod": "winkube_eviction_soft_grace_period",
    "featureGates": "winkube_kubelet_feature_gates",
    "kubeReserved": "winkube_kube_reserved",
    "logging.verbosity": "winkube_kubelet_verbosity",
    "registerWithTaints": "winkube_node_taints",
    "shutdownGracePeriod": "winkube_kubelet_shutdown_grace_period",
    "shutdownGracePeriodCriticalPods": "winkube_kubelet_shutdown_grace_period_critical_pods",
    "systemReserved": "winkube_system_reserved",
}
"""Field -> the variable that sets it. tests/unit/components/test_kubelet_own_config.py holds it against the options."""

NOT_TAKEN: Mapping[str, str] = {
    "kind": "it stands in the drop-in already.",
    "apiVersion": "it stands in the drop-in already.",
    "staticPodURLHeader": "its values are credentials in most cases, and the drop-in is shown by --diff; write a "
    "drop-in of your own beside ours, which only administrators may read.",
}


def list_paths(given: Mapping[str, Any], line: Line) -> tuple[str, ...]:
    """The fields, by dotted path; a map or a list is one field."""
    return tuple(path for path, _value in _walk(given, kubelet_config.fields(line)))


def _walk(given: Mapping[str, Any], known: Mapping[str, str], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        path = f"{above}{name}"
        if known.get(path) == "object" and isinstance(value, Mapping) and value:
            yield from _walk(value, known, f"{path}.")
        else:
            yield path, value


def problems(kubelet: Kubelet) -> list[str]:
    """Why the fields cannot go into the drop-in, a sentence each."""
    given = kubelet.options.config
    if not given:
        return []
    if not kubelet.has_configuration:
        return [
            f"{VARIABLE}: with winkube_join: {kubelet.options.join} the kubelet has no configuration file; give the "
            "flags of these fields as winkube_kubelet_extra_arguments."
        ]
    line = kubelet.version.line
    if line < DROP_INS:
        return [
            f"{VARIABLE}: a kubelet {kubelet.version} reads no drop-in ({DROP_INS} is the first one that does without "
            "a switch); give the flags of these fields as winkube_kubelet_extra_arguments."
        ]
    known = kubelet_config.fields(line)
    return [
        f"{VARIABLE}: {path}: {why}"
        for path, value in _walk(given, known)
        if (why := _why_not(path, value, known, kubelet))
    ]


def _why_not(path: str, value: Any, known: Mapping[str, str], kubelet: Kubelet) -> str:
    """Empty for a field that is taken."""
    line = kubelet.version.line
    if path in NOT_TAKEN:
        return NOT_TAKEN[path]
    if path not in known:
        if path in kubelet_config.fields(PRE_RELEASE):
            return f"a kubelet {kubelet.version} does not know it."
        near = meant(path, known)
        return f"KubeletConfiguration has no such field{f'; is {near} meant?' if near else '.'}"
    owned = [each for each in OWNERS if each == path or each.startswith(f"{path}.")]
    if owned:
        return f"{OWNERS[owned[0]]} sets {'it' if owned[0] == path else owned[0]}; set that."
    if value is None and line < kubelet_config.PATCHES_VERSIONED:
        return f"a kubelet {kubelet.version} takes nothing away by a null ({kubelet_config.PATCHES_VERSIONED} does)."
    return ""
