# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs: those that are made here, and whether one of the user's may go to a node."""

from __future__ import annotations

import base64
import json
import ntpath

from ...cluster.documents import Kubeconfig

ADMIN_GROUPS = frozenset({"system:masters", "kubeadm:cluster-admins"})
"""Whoever is in one of these may do everything in the cluster.

Source: kubernetes.io, Using RBAC Authorization (system:masters); kubernetes v1.29.0 cmd/kubeadm/app/constants,
ClusterAdminsGroupAndClusterRoleBinding.
"""
ADMIN_NAMES = frozenset({"kubernetes-admin", "kubernetes-super-admin", "cluster-admin"})
"""Users that kubeadm's admin.conf and super-admin.conf are made for, and the role's own name."""


def with_token(server: str, ca_pem: bytes, user: str, token: str) -> str:
    """A kubeconfig for `user` with a token; as JSON, which is YAML as well."""
    cluster: dict[str, str] = {"server": server}
    if ca_pem:
        cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": user,
        "clusters": [{"name": "kubernetes", "cluster": cluster}],
        "contexts": [{"name": user, "context": {"cluster": "kubernetes", "user": user}}],
        "users": [{"name": user, "user": {"token": token}}],
    }
    return json.dumps(document, indent=2) + "\n"


def problems(found: Kubeconfig, where: str, *, allow_admin: bool) -> list[str]:
    """Why the kubeconfig `where` must not be put on a node: one sentence each."""
    said = []
    groups = sorted(ADMIN_GROUPS.intersection(found.organizations))
    names = sorted(ADMIN_NAMES.intersection(name.casefold() for name in found.names))
    if (groups or names) and not allow_admin:
        who = f"the group {groups[0]}" if groups else f"the user {names[0]}"
        said.append(
            f"{where} is a cluster administrator's ({who}): whoever gets at this node would own the cluster. Make one "
            "for the user system:node:<name> in the group system:nodes, or say winkube_allow_cluster_admin_kubeconfig: "
            "true."
        )
    said += [
        f"{where} names the file {path} ({key}), which is not on the node: put its content into the kubeconfig "
        f"(kubectl config view --raw --flatten)."
        for key, path in sorted(found.files.items())
        if not ntpath.splitdrive(path)[0]
    ]
    return said
