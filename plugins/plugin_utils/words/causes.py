# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every cause that a text can lead to, by id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from . import causes_cni, causes_network, causes_node, causes_pods, causes_programs, causes_service, causes_volumes
from .cause import Cause

PROVEN = frozenset(
    {
        *("*.stopped", "*.disabled", "*.not-installed", "*.other-version"),
        *("hns.vmcompute-stopped", "hns.no-network", "hns.network-pod-cidr", "node.absent"),
        *("flannel.net-conf-name", "flannel.net-conf-backend", "flannel.net-conf-network", "flannel.mtu"),
        *("flannel.bridge-endpoint", "kube-proxy.cluster-cidr"),
        *("kube-proxy.rule-twice", "node.address"),
        *("kube-proxy.rule-missing", "kube-proxy.rule-stale", "cni.version", "hns.restarted"),
        *("kube-proxy.source-vip", "kube-proxy.rule-source-vip", "cni.provider-address", "hns.network-type"),
        *("flannel.no-subnet-env", "flannel.subnet-env-stale", "flannel.subnet-env-invalid", "flannel.iface"),
        *("cni.absent", "cni.unreadable", "cni.exceptions", "cni.network-name", "cni.plugin-type"),
        *("cni.dockershim-form", "cni.old-form", "cni.policy-without-settings", "cni.policy-case", "cni.policies-key"),
        *("cni.plugin-missing", "kube-proxy.hostname-override", "kube-proxy.network-name", "kube-proxy.no-rules"),
    }
)
"""The findings whose remedy's command tests/integration/test_remedies.py runs on a node that was broken so. Of any
other it says that no one has tried it."""


def as_tried(cause: Cause) -> Cause:
    """The same; a remedy of which no test has run the command says so."""
    proven = any(fnmatchcase(cause.id, pattern) for pattern in PROVEN)
    return cause if proven else replace(cause, remedy=cause.remedy.untried())


CAUSES: Mapping[str, Cause] = {
    each.id: as_tried(each)
    for each in (
        *causes_node.CAUSES,
        *(rule.cause for rule in causes_cni.RULES.values()),
        causes_service.causes_of("kubelet", "kubelet")["unhealthy"],
        *causes_programs.CAUSES,
        *causes_network.CAUSES,
        *causes_volumes.CAUSES,
        *causes_pods.CAUSES,
    )
}
