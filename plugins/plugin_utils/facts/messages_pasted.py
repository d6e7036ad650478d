# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people paste that no log of a node is searched for: kubectl's words, those of programs in pods, of pages.

A file of its own: logs of healthy nodes may have these lines, so they lead to a finding only where a person asks.
"""

from __future__ import annotations

from .message import Message

_PAGE = "kubernetes.io, Windows containers in Kubernetes, v1.22, Getting help and troubleshooting"

PARTICULAR: tuple[Message, ...] = (
    Message(
        "pod.port-forward",
        r"(?:wincat(?:\.exe)?|socat)\b.*(?:not found|cannot find)|do port forwarding: wincat|CommandLine\W+wincat",
        _PAGE,
    ),
    Message("pod.cpu-zero", r"usageNanoCores\W{1,4}0\b", "https://github.com/containerd/containerd/issues/9531"),
)
"""As particular as sentences (words/precedence.py)."""

GENERAL: tuple[Message, ...] = (
    Message(
        "flannel.no-subnet-env", r"subnet\.env\b.{0,80}(?:cannot find|no such file|not found|does not exist)", _PAGE
    ),
    Message("host.no-adapter", "no network adapter", _PAGE),
    Message(
        "traffic.names-limits",
        r"resolve-dnsname : [\w-]+\.[\w-]+(?:\.svc)? : DNS name does not exist",
        "aws/containers-roadmap#606; kubernetes.io, Windows, DNS limitations",
    ),
    Message(
        "traffic.names",
        r"DNS name does not exist|could not resolve host|remote name could not be resolved|getaddrinfo|"
        r"Non-existent domain|until DNS starts up|can't resolve '|"
        r"Ping request could not find host|DNS request timed out|"
        r"No such host is known",
        _PAGE,
    ),
    Message(
        "host.connection-cut",
        r"connection was aborted by the software in your host machine",
        "learn.microsoft.com WSAECONNABORTED (10053); rancher/rancher#46344",
    ),
)
"""Of no program of the node: behind what these say."""

STATES: tuple[Message, ...] = (
    Message("hns.no-management-address", r"waiting for the network to be created", _PAGE),
    Message(
        "node.not-ready",
        r"Kubelet (?:stopped posting|never posted) node status|NodeStatusUnknown|KubeletNotReady|NodeNotReady|"
        r"(?:status is now: |\b)NotReady\b",
        "kubernetes/kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go; rancher/rancher#27974",
    ),
    Message(
        "pod.stuck",
        r"ContainerCreating|CrashLoopBackOff|FailedCreatePodSandBox|Back-off restarting failed|PodInitializing|"
        r"RunContainerError|CreateContainerError|ContainerCannotRun|Init:Error",
        f"{_PAGE}; kubernetes/kubernetes pkg/kubelet/events/event.go, pkg/kubelet/container/sync_result.go",
    ),
)
"""Words for a state: last, and never a cause."""
