# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The credentials of flanneld and kube-proxy on one node: the user's files, or ServiceAccounts in the cluster;
kubeconfigs for a node, and whether the user's may go there."""

from __future__ import annotations

import base64
import json
import ntpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...cluster.client import Cluster, wait_for
from ...cluster.documents import Kubeconfig
from ...cluster.documents import kubeconfig as read_kubeconfig
from ...cluster.endpoint import endpoint
from ...cluster.error import ClusterError
from ...cluster.rights import is_allowed
from ...engine.clock import Clock
from ...engine.local_path import expand_home
from ...engine.resource import Notice, Refused
from ...engine.secret import Secret, encode
from ...engine.waiting import Wait
from ..layout import Layout
from .options import JoinOptions

ADMIN_GROUPS = frozenset({"system:masters", "kubeadm:cluster-admins"})
"""Groups with all rights in the cluster.

Source: kubernetes.io, Using RBAC Authorization (system:masters); kubernetes v1.29.0 cmd/kubeadm/app/constants,
ClusterAdminsGroupAndClusterRoleBinding.
"""
ADMIN_NAMES = frozenset({"kubernetes-admin", "kubernetes-super-admin", "cluster-admin"})
"""Users of kubeadm's admin.conf and super-admin.conf, and the role's own name."""


def build_kubeconfig(server: str, ca_pem: bytes, user: str, token: Secret[str]) -> Secret[str]:
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
        "users": [{"name": user, "user": {"token": token.reveal()}}],
    }
    return Secret(json.dumps(document, indent=2) + "\n")


def kubeconfig_problems(found: Kubeconfig, where: str, *, allow_admin: bool) -> list[str]:
    """Why the kubeconfig `where` must not be put on a node: one sentence each."""
    said = []
    groups = sorted(ADMIN_GROUPS.intersection(found.organizations))
    names = sorted(ADMIN_NAMES.intersection(name.casefold() for name in found.names))
    if (groups or names) and not allow_admin:
        who = f"the group {groups[0]}" if groups else f"the user {names[0]}"
        said.append(
            f"{where} is a cluster administrator's ({who}): anyone with access to this node would control the cluster. "
            "Make one for the user system:node:<name> in the group system:nodes, or set "
            "winkube_allow_cluster_admin_kubeconfig: true."
        )
    said += [
        f"{where} names the file {path} ({key}), which is not on the node: put its content into the kubeconfig "
        f"(kubectl config view --raw --flatten)."
        for key, path in sorted(found.files.items())
        if not ntpath.splitdrive(path)[0]
    ]
    return said


# Objects that are made in the cluster if they are missing, and otherwise left alone.

CONFLICT = 409


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object: the path of its collection, and its body."""

    collection: str
    body: Mapping[str, Any]

    def may_be_made(self, cluster: Cluster) -> bool:
        """Whether the user may make it. ClusterError."""
        *_rest, resource = self.collection.split("/")
        group = str(self.body["apiVersion"]).rpartition("/")[0]
        return is_allowed(cluster, "create", group, resource, str(self.body["metadata"].get("namespace") or ""))

    @property
    def name(self) -> str:
        """metadata.name."""
        return str(self.body["metadata"]["name"])

    @property
    def path(self) -> str:
        """Its path in the API."""
        return f"{self.collection}/{self.name}"

    @property
    def label(self) -> str:
        """For people: `ServiceAccount winkube-flanneld`."""
        return f"{self.body['kind']} {self.name}"


def find_missing(cluster: Cluster, objects: Iterable[Wanted]) -> tuple[Wanted, ...]:
    """The objects that do not exist."""
    return tuple(wanted for wanted in objects if cluster.get(wanted.path) is None)


def make(cluster: Cluster, objects: Iterable[Wanted]) -> None:
    """Make them. Another host's task may just have made one."""
    for wanted in objects:
        try:
            cluster.create(wanted.collection, wanted.body)
        except ClusterError as error:
            if error.status != CONFLICT:
                raise


# What flanneld and kube-proxy may do in the cluster: a ServiceAccount each, with a token that does not expire.

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
    """The path of the token of `account`."""
    return f"{_SECRETS}/{account}-token"


def objects(account: str) -> tuple[Wanted, ...]:
    """All objects that `account` (FLANNELD or KUBE_PROXY) needs in the cluster, in order of creation."""
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
    """The Secret that asks for a token: since 1.24 a ServiceAccount gets none by itself."""
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


TOKEN_S = 30
"""Seconds that the controller manager may take to fill in a ServiceAccount's token."""
LATER = "(known when the ServiceAccount is made)"
MANIFESTS = (
    "An administrator makes the accounts with kubectl apply -f examples/rbac/accounts.yml; examples/rbac/site.yml has "
    "the rights to read them."
)


@dataclass(frozen=True, slots=True)
class Identity:
    """A kubeconfig at `path` on the node, read by `service`, which runs `binary`."""

    path: str
    service: str
    binary: str
    text: Secret[str]

    @property
    def content(self) -> Secret[bytes]:
        """The file's."""
        return encode(self.text)


@dataclass(frozen=True, slots=True)
class Identities:
    """`steps` taken in the cluster, kubeconfigs for the node, and of whom the user may not know what they have."""

    steps: tuple[str, ...] = ()
    found: tuple[Identity, ...] = ()
    unknown: tuple[Notice, ...] = ()


def identities(
    cluster: Cluster | None, options: JoinOptions, layout: Layout, *, joins: bool, check: bool, clock: Clock
) -> Identities:
    """Of flanneld and kube-proxy. Without a cluster, only the user's own files; with `check` nothing is made.

    Where the user may not read an account, the kubeconfig of a node that has joined stays as it is. Refused for a
    machine that joins, and where an account is missing that the user may not make.
    """
    steps: list[str] = []
    found: list[Identity] = []
    unknown: list[Notice] = []
    programs = (
        (
            "flanneld",
            options.flanneld,
            FLANNELD,
            layout.flanneld_kubeconfig,
            layout.flanneld_service,
            layout.flanneld_binary,
        ),
        (
            "kube_proxy",
            options.kube_proxy,
            KUBE_PROXY,
            layout.kube_proxy_kubeconfig,
            layout.kube_proxy_service,
            layout.kube_proxy_binary,
        ),
    )
    for option, wanted, account, path, service, binary in programs:
        if not wanted.kubeconfig:
            continue
        text: Secret[str] | None = None
        if wanted.kubeconfig_source:
            text = users_kubeconfig(
                wanted.kubeconfig_source,
                f"{option}.kubeconfig_source",
                allow_admin=options.allow_cluster_admin,
            )
        elif cluster is not None:
            if is_allowed(cluster, "get", "", "secrets", NAMESPACE, f"{account}-token"):
                made, text = _of_account(cluster, account, options.api_server, check=check, clock=clock)
                steps += made
            elif joins:
                raise Refused(
                    f"The kubeconfig's user may not read the Secret {account}-token in {NAMESPACE}. {MANIFESTS}"
                )
            else:
                unread = f"leave {path} as it is: the kubeconfig's user may not read the token of {account}"
                unknown.append(Notice(account, unread))
        if text is not None:
            found.append(Identity(path, service, binary, text))
    return Identities(tuple(steps), tuple(found), tuple(unknown))


def users_kubeconfig(path: str, option: str, *, allow_admin: bool) -> Secret[str]:
    """A kubeconfig on the controller that will go to a node. Refused if it must not go there, or is invalid."""
    try:
        text = expand_home(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"{option}: {path} on the controller cannot be read: {error}.") from error
    if problems := kubeconfig_problems(read_kubeconfig(text, path), path, allow_admin=allow_admin):
        raise Refused(*problems)
    return Secret(text)


def _of_account(
    cluster: Cluster, account: str, api_server: str, *, check: bool, clock: Clock
) -> tuple[list[str], Secret[str]]:
    absent = find_missing(cluster, objects(account))
    if denied := [item.label for item in absent if not item.may_be_made(cluster)]:
        raise Refused(
            f"The cluster lacks {', '.join(item.label for item in absent)}, and the kubeconfig's user may not make "
            f"{', '.join(denied)}. {MANIFESTS}"
        )
    steps = [f"create in the cluster: {', '.join(item.label for item in absent)}"] if absent else []
    if check and absent:
        return steps, Secret(LATER)
    make(cluster, absent)

    def token() -> Secret[str] | None:
        data = (cluster.get(token_path(account)) or {}).get("data") or {}
        return Secret(base64.b64decode(str(data.get("token") or "")).decode()) or None

    sentence = (
        f"the cluster gave the ServiceAccount {account} no token within {TOKEN_S} s: kube-controller-manager fills it "
        f"into the Secret {account}-token in {NAMESPACE}."
    )
    found = wait_for(Wait(f"join: waiting for the token of {account}", clock), TOKEN_S, token, sentence)
    where = endpoint(cluster, api_server)
    return steps, build_kubeconfig(where.server, where.ca_pem, account, found)
