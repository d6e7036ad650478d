# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What flanneld and kube-proxy may do in the cluster: a ServiceAccount each, with a token that does not expire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...cluster.objects import Wanted

FLANNELD = "winkube-flanneld"
KUBE_PROXY = "winkube-kube-proxy"
NAMESPACE = "kube-system"

_SERVICE_ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
_SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_GROUP = "rbac.authorization.k8s.io"

FLANNELD_RULES: tuple[Mapping[str, Any], ...] = (
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
)
"""Source: flannel v0.26.1 Documentation/kube-flannel.yml, ClusterRole flannel."""

KUBE_PROXY_ROLE = "system:node-proxier"
"""Source: kubernetes.io, Using RBAC Authorization, Core component roles."""


def token_path(account: str) -> str:
    """Where the token of `account` is."""
    return f"{_SECRETS}/{account}-token"


def objects(account: str) -> tuple[Wanted, ...]:
    """All that `account` (FLANNELD or KUBE_PROXY) needs in the cluster, in the order in which it is made."""
    role = (_role(account),) if account == FLANNELD else ()
    return (_account(account), *role, _binding(account, account if role else KUBE_PROXY_ROLE), _token(account))


def _account(name: str) -> Wanted:
    metadata = {"name": name, "namespace": NAMESPACE}
    return Wanted(_SERVICE_ACCOUNTS, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})


def _role(name: str) -> Wanted:
    body = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [dict(rule) for rule in FLANNELD_RULES],
    }
    return Wanted(f"{_RBAC}/clusterroles", body)


def _binding(name: str, role: str) -> Wanted:
    body = {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
    }
    return Wanted(f"{_RBAC}/clusterrolebindings", body)


def _token(account: str) -> Wanted:
    """Since 1.24 a ServiceAccount has no token of its own accord: it is asked for by a Secret."""
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": f"{account}-token",
            "namespace": NAMESPACE,
            "annotations": {"kubernetes.io/service-account.name": account},
        },
        "type": "kubernetes.io/service-account-token",
    }
    return Wanted(_SECRETS, body)
