# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The credentials with which a node joins, for each of the ways: the user's files, or a token with kubeadm's
JoinConfiguration in the form that the release reads. And whether the join can work."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...cluster import endpoint as endpoints
from ...cluster.client import Cluster
from ...cluster.documents import kubeconfig as read_kubeconfig
from ...cluster.reading import KUBELET_CONFIG, read_client_ca, read_kubelet_config
from ...engine.reading import Reading
from ...engine.resource import Refused, Resource
from ...engine.resources.file import File
from ...engine.secret import Secret, encode
from ...facts.version import Line, Version
from ..declaration import LOCAL_SYSTEM
from ..kubelet.cluster_config import list_foreign_gates
from ..kubelet.kubelet_args import endpoint
from ..layout import Layout
from . import identities, join, node_object
from .cluster_fit import PATCHES_SINCE, build_patch
from .identities import users_kubeconfig
from .joining import Joining, discovery_file, patches_dir
from .options import JoinOptions

FIRST = Line(1, 22)
"""The first minor release that reads v1beta3. Source: kubernetes v1.28.0
cmd/kubeadm/app/apis/kubeadm/v1beta4/doc.go."""
V1BETA4 = Line(1, 31)
"""The first minor release that reads v1beta4 without --allow-experimental-api.

Source: kubernetes.io/blog/2024/08/23/kubernetes-1-31-kubeadm-v1beta4.
"""


TOKEN_USER = "tls-bootstrap-token-user"
PRIVILEGED_USER = "IsPrivilegedUser"
ASKS_THE_TOKEN = Line(1, 31)
"""The first minor release whose check IsPrivilegedUser accepts LocalSystem. Earlier ones look up the groups of the
user's name, and LocalSystem has none. Source: kubernetes#124665, #108140; v1.30
cmd/kubeadm/app/preflight/checks_windows.go."""


def join_configuration(options: JoinOptions, layout: Layout, *, patches: bool = False) -> str:
    """The file for `kubeadm join --config`; `patches`: whether kubeadm patches what it writes. Refused for a release
    that reads neither form."""
    version = Version.parse(options.version)
    if version.line < FIRST:
        raise Refused(
            f"kubeadm {version} reads neither kubeadm.k8s.io/v1beta3 nor v1beta4: use Kubernetes {FIRST} or "
            "newer, or winkube_join: kubeconfig."
        )
    named = version.line >= V1BETA4
    registration: dict[str, Any] = {
        "name": options.node_name,
        "criSocket": endpoint(layout.containerd_pipe),
        "taints": [_taint(taint) for taint in options.taints],
    }
    if join.KUBEADM_RUN.account == LOCAL_SYSTEM and version.line < ASKS_THE_TOKEN:
        registration["ignorePreflightErrors"] = [PRIVILEGED_USER]
    document = {
        "apiVersion": f"kubeadm.k8s.io/{'v1beta4' if named else 'v1beta3'}",
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": without_drive(discovery_file(layout))}},
        "nodeRegistration": registration,
        **({"patches": {"directory": patches_dir(layout)}} if patches else {}),
    }
    return json.dumps(document, indent=2) + "\n"


def without_drive(path: str) -> str:
    r"""`C:\etc\x` as `\etc\x`: kubeadm parses the path as a URL, for which `C:` is a scheme other than https, and
    refuses it. It runs on that drive.

    Source: kubernetes v1.22.17, v1.37.2 cmd/kubeadm/app/apis/kubeadm/validation/validation.go,
    ValidateDiscoveryKubeConfigPath. Seen: kubeadm.exe 1.37.1.
    """
    return path[2:]


def _taint(text: str) -> dict[str, str]:
    rest, _colon, effect = text.rpartition(":")
    key, _equals, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect}


def check_possible(cluster: Cluster | None, options: JoinOptions, layout: Layout, reading: Reading) -> None:
    """Refused before anything is done if the join could not work. `cluster` is asked about other nodes alone."""
    join.check_places(layout, options.join, reading)
    if cluster is None:
        own = {"kubeconfig": options.kubeconfig_source, "bootstrap_kubeconfig": options.bootstrap_source}
        if not own.get(options.join):
            raise _refuse_without_cluster(options)
        if options.state == "rejoined":
            raise Refused(
                "Rejoining needs access to the cluster's API, to delete the old Node object: set "
                "winkube_cluster.kubeconfig to a kubeconfig on the controller."
            )
    elif not node_object.has_ready_linux(cluster.nodes()):
        raise Refused(
            f"The cluster {cluster.server} has no Linux node that is Ready: its own pods (DNS among them) run on "
            "Linux only, and Windows nodes need them. Add one first, or find out why it is not Ready."
        )


def material(
    cluster: Cluster | None,
    options: JoinOptions,
    kubeconfig: str,
    layout: Layout,
    version: Version,
    token: Callable[[Cluster], Secret[str]],
) -> Joining:
    """The join with its credentials; `token` makes one in the cluster, which `kubeconfig` leads to, if the way needs
    one. Refused if the join could not work."""
    name = options.node_name
    made = Joining(
        layout=layout,
        way=options.join,
        node_name=name,
        mark="",
        again=options.state == "rejoined",
        start_timeout_s=options.start_timeout,
    )
    if options.join == "kubeconfig":
        return _take_kubeconfig(cluster, made, options, "kubeconfig_source", options.kubeconfig_source)
    if options.join == "bootstrap_kubeconfig" and options.bootstrap_source:
        return _take_kubeconfig(cluster, made, options, "bootstrap_source", options.bootstrap_source)
    if cluster is None:
        raise _refuse_without_cluster(options)
    where = endpoints.endpoint(cluster, options.api_server)
    kubelet_config = read_kubelet_config(cluster) if options.join == "kubeadm" else None
    if options.join == "kubeadm" and kubelet_config is None:
        raise Refused(
            "The cluster has no ConfigMap kube-system/kubelet-config, which kubeadm reads: it was not made by kubeadm. "
            "Set winkube_join: bootstrap_kubeconfig."
        )
    if not where.ca_pem:
        raise Refused(
            f"Neither cluster-info nor {kubeconfig} says by which CA {where.server} can be "
            "verified: use a kubeconfig with certificate-authority-data."
        )
    made_token = token(cluster)
    if options.join == "bootstrap_kubeconfig":
        text = identities.build_kubeconfig(where.server, where.ca_pem, TOKEN_USER, made_token)
        return replace(made, kubeconfig=text, ca_pem=read_client_ca(cluster, where.ca_pem))
    gates = list_foreign_gates(kubelet_config or {}, version)
    if gates and version.minor < PATCHES_SINCE:
        raise Refused(
            f"{KUBELET_CONFIG}: featureGates.{gates[0]}: a kubelet {version} ends on it, and kubeadm {version} cannot "
            f"leave it out (1.{PATCHES_SINCE} is the first that patches what it writes); take it out there."
        )
    return replace(
        made,
        configuration=join_configuration(options, layout, patches=bool(gates)),
        discovery=identities.build_kubeconfig(where.server, where.ca_pem, TOKEN_USER, made_token),
        patch=json.dumps(build_patch(gates)) if gates else "",
        token=made_token,
    )


def _take_kubeconfig(cluster: Cluster | None, made: Joining, options: JoinOptions, option: str, path: str) -> Joining:
    """The join with a kubeconfig of the user's. The kubelet authenticates callers by the CA that the cluster publishes
    for them, else by the one in the kubeconfig, else by the cluster's."""
    text = _users_file(options, option, path)
    ca_pem = read_kubeconfig(text.reveal(), path).ca_pem
    if cluster is not None:
        ca_pem = read_client_ca(cluster, ca_pem or endpoints.endpoint(cluster, options.api_server).ca_pem)
    if not ca_pem:
        raise Refused(
            f"{option}: {path} has no certificate-authority-data, and the kubelet knows its callers by "
            "the cluster's CA: put it into that file (kubectl config view --raw --flatten), or set "
            "winkube_cluster.kubeconfig."
        )
    return replace(made, kubeconfig=text, ca_pem=ca_pem)


def delete_node(cluster: Cluster | None, name: str, *, check: bool) -> list[str]:
    """Delete the old Node object: kubeadm does not join a machine whose Node is Ready."""
    path = f"/api/v1/nodes/{name}"
    if cluster is None or cluster.get(path) is None:
        return []
    if not check:
        cluster.delete(path)
    return [f"delete the Node {name}"]


def build_own_kubeconfig(options: JoinOptions, layout: Layout, reading: Reading, mark: str) -> tuple[Resource, ...]:
    """On a node that has joined with a kubeconfig of the user's: that file, as it is now, and the kubelet, which reads
    it."""
    if options.join != "kubeconfig" or not options.kubeconfig_source:
        return ()
    text = _users_file(options, "kubeconfig_source", options.kubeconfig_source)
    kubeconfig = File(layout.kubelet_kubeconfig, encode(text), layout.backup(mark))
    return (kubeconfig, *join.build_reader(layout.kubelet_service, layout.kubelet_binary, kubeconfig.path, reading))


def _users_file(options: JoinOptions, option: str, path: str) -> Secret[str]:
    """A kubeconfig on the controller that will go to the node. Refused if it must not."""
    if not path:
        raise Refused(f"join: {options.join} needs {option}, a kubeconfig on the controller.")
    return users_kubeconfig(path, option, allow_admin=options.allow_cluster_admin)


def _refuse_without_cluster(options: JoinOptions) -> Refused:
    return Refused(
        f"{options.node_name} has not joined, and a join by {options.join} needs the cluster's API "
        "for its token: set winkube_cluster.kubeconfig to a kubeconfig on the controller."
    )
