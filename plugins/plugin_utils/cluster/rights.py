# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kubeconfig's user may do, checked before it is tried."""

from __future__ import annotations

from .client import Cluster
from .records import REVIEW

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
"""Every user may ask this about itself. Source: kubernetes.io, "Checking API Access"; ClusterRole system:basic-user."""


def is_allowed(cluster: Cluster, verb: str, group: str, resource: str, namespace: str = "", name: str = "") -> bool:
    """Whether the user may; `resource` includes its subresource (`pods/exec`). ClusterError without an answer."""
    kind, _slash, sub = resource.partition("/")
    wanted = {"verb": verb, "group": group, "resource": kind, "subresource": sub, "namespace": namespace, "name": name}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {key: value for key, value in wanted.items() if value}},
    }
    return cluster.ask(REVIEWS, body, REVIEW).allowed
