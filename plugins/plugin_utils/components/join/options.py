# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_k8s_join and the variables of the role join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..options import Interface, Option, Variable, option, suboptions
from ..shared_options import ProgramSource, kubernetes_source, node_name_option, unverified_option

PLACES = (
    Option(
        "kubeadm_binary",
        "str",
        "kubeadm.exe.",
        default=r"C:\k\kubeadm.exe",
        variable=Variable("winkube_kubeadm_binary", r"{{ winkube_root }}\kubeadm.exe"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A program's own credentials on the node."""

    kubeconfig: bool = option("Whether the node needs a kubeconfig for it.", default=True)
    kubeconfig_source: str = option("A kubeconfig on the controller.", default="", type="path")


def _credentials(program: str, managed_by: str) -> Credentials:
    account = f"winkube-{program}"
    return suboptions(
        Credentials,
        f"{program}'s credentials.",
        kubeconfig=option(
            f"Whether the node needs a kubeconfig for {program}.",
            default=True,
            variable=f"{managed_by} == 'service'",
        ),
        kubeconfig_source=option(
            f"A kubeconfig on the controller. Empty for the ServiceAccount C({account}), made if it is not there.",
            default="",
            variable=Variable(
                f"winkube_{program.replace('-', '_')}_kubeconfig_source", shown=f"a ServiceAccount C({account})"
            ),
            type="path",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinOptions:
    node_name: str = node_name_option()
    version: str = option(
        "The Kubernetes release, such as V(1.37.1). Decides the form of kubeadm's configuration.",
        variable="winkube_kubernetes_version",
    )
    join: Literal["kubeadm", "bootstrap_kubeconfig", "kubeconfig"] = option(
        (
            "V(kubeadm) runs C(kubeadm.exe join); the cluster was made by kubeadm.",
            (
                "V(bootstrap_kubeconfig) starts the kubelet with C(bootstrap-kubelet.conf), with which it "
                "gets its own certificate."
            ),
            "V(kubeconfig) starts it with your own kubeconfig.",
        ),
        default="kubeadm",
        variable="winkube_join",
    )
    state: Literal["joined", "rejoined"] = option(
        (
            "V(joined) joins the machine if it has not joined.",
            (
                "V(rejoined) puts the machine's identity aside, deletes the Node object and joins again, "
                "every time it is asked. If that fails the old identity comes back."
            ),
        ),
        default="joined",
        variable=Variable(
            "winkube_join_state",
            text="V(joined), or V(rejoined) (C(playbooks/repair.yml)): the machine's identity is put aside, "
            "the Node deleted, and the machine joins again.",
        ),
    )
    source: ProgramSource = kubernetes_source("kubeadm", needed="Needed for O(join=kubeadm).")
    allow_unverified: tuple[str, ...] = unverified_option("kubeadm")
    api_server: str = option(
        "The API's address as nodes reach it. Empty for what the cluster's cluster-info says, else the kubeconfig's.",
        default="",
        variable="winkube_api_server",
    )
    taints: tuple[str, ...] = option(
        "Taints that the Node has, as C(key=value:effect). Those that are missing are patched on.",
        default=("os=windows:NoSchedule",),
        variable="winkube_node_taints",
    )
    kubeconfig_source: str = option(
        "For O(join=kubeconfig), a kubeconfig on the controller. A cluster administrator's is refused.",
        default="",
        variable=Variable("winkube_kubelet_kubeconfig_source"),
        type="path",
    )
    bootstrap_source: str = option(
        "For O(join=bootstrap_kubeconfig), a kubeconfig on the controller. Empty for one that is made "
        "through the API, with a token that is gone after the join.",
        default="",
        variable=Variable(
            "winkube_bootstrap_kubeconfig_source",
            text="A kubeconfig on the controller, for C(winkube_join: bootstrap_kubeconfig); empty for one "
            "made through the API.",
            shown="made through the API",
        ),
        type="path",
    )
    approve_serving: bool = option(
        "Whether to approve the certificate that the kubelet asks the cluster for, to serve logs and exec with, if its "
        "names and addresses are those of the Node.",
        default=True,
        variable=Variable("winkube_approve_serving"),
    )
    allow_cluster_admin: bool = option(
        "Whether a cluster administrator's kubeconfig may go to the node.",
        default=False,
        variable=Variable(
            "winkube_allow_cluster_admin_kubeconfig",
            text="Whether a cluster administrator's kubeconfig may go to the node. Anyone who gets access to "
            "the node then owns the cluster.",
        ),
    )
    flanneld: Credentials = _credentials("flanneld", "winkube_cni_managed_by")
    kube_proxy: Credentials = _credentials("kube-proxy", "winkube_kube_proxy_managed_by")
    wait_for_pod_cidr: bool = option(
        "Whether to wait for the podCIDR of a node that has just joined; flanneld needs it.",
        default=True,
        variable="winkube_cni_managed_by == 'service'",
    )
    start_timeout: int = option(
        "Seconds within which the kubelet must start and get its certificate.",
        default=240,
        variable=Variable("winkube_join_start_timeout"),
    )
    node_timeout: int = option(
        "Seconds within which the Node and its podCIDR must exist after the join.",
        default=120,
        variable=Variable("winkube_join_node_timeout"),
    )


INTERFACE = Interface(
    module="win_k8s_join",
    summary="Makes a Windows machine a node of a Kubernetes cluster",
    task="Join the cluster",
    shared=("node", "golden_image", "cluster"),
    places=PLACES,
    options=JoinOptions,
)
