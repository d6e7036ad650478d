# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_k8s_join and the variables of the role join."""

from __future__ import annotations

from ..options import NODE_NAME, Interface, Option, Variable, kubernetes_source

PLACES = (
    Option(
        "kubeadm_binary",
        "str",
        "kubeadm.exe.",
        default=r"C:\k\kubeadm.exe",
        variable=Variable("winkube_kubeadm_binary", r"{{ winkube_root }}\kubeadm.exe"),
    ),
)

INTERFACE = Interface(
    module="win_k8s_join",
    summary="Makes a Windows machine a node of a Kubernetes cluster",
    task="Join the cluster",
    shared=("node", "golden_image", "cluster"),
    places=PLACES,
    options=(
        NODE_NAME,
        Option(
            "version",
            "str",
            "The Kubernetes release, such as V(1.37.1). Decides the form of kubeadm's configuration.",
            required=True,
            variable="winkube_kubernetes_version",
        ),
        Option(
            "join",
            "str",
            (
                "V(kubeadm) runs C(kubeadm.exe join); the cluster was made by kubeadm.",
                (
                    "V(bootstrap_kubeconfig) starts the kubelet with C(bootstrap-kubelet.conf), with which it "
                    "gets its own certificate."
                ),
                "V(kubeconfig) starts it with your own kubeconfig.",
            ),
            default="kubeadm",
            choices=("kubeadm", "bootstrap_kubeconfig", "kubeconfig"),
            variable="winkube_join",
        ),
        Option(
            "state",
            "str",
            (
                "V(joined) joins the machine if it has not joined.",
                (
                    "V(rejoined) puts the machine's identity aside, deletes the Node object and joins again, "
                    "every time it is asked. If that fails the old identity comes back."
                ),
            ),
            default="joined",
            choices=("joined", "rejoined"),
            variable=Variable(
                "winkube_join_state",
                text="V(joined), or V(rejoined) (C(playbooks/repair.yml)): the machine's identity is put aside, "
                "the Node deleted, and the machine joins again.",
            ),
        ),
        *kubernetes_source("kubeadm", needed="Needed for O(join=kubeadm)."),
        Option(
            "api_server",
            "str",
            "The API's address as nodes reach it. Empty for what the cluster's cluster-info says, else the "
            "kubeconfig's.",
            default="",
            variable="winkube_api_server",
        ),
        Option(
            "taints",
            "list",
            "Taints that the Node has, as C(key=value:effect). Those that are missing are patched on.",
            default=["os=windows:NoSchedule"],
            elements="str",
            variable="winkube_node_taints",
        ),
        Option(
            "kubelet_extra_args",
            "dict",
            "Arguments that kubeadm notes for the kubelet in C(kubeadm-flags.env).",
            default={},
            variable=Variable("winkube_join_kubelet_extra_args"),
        ),
        Option(
            "kubeconfig_source",
            "path",
            "For O(join=kubeconfig), a kubeconfig on the controller. A cluster administrator's is refused.",
            default="",
            variable=Variable("winkube_kubelet_kubeconfig_source"),
        ),
        Option(
            "bootstrap_source",
            "path",
            "For O(join=bootstrap_kubeconfig), a kubeconfig on the controller. Empty for one that is made "
            "through the API, with a token that is gone after the join.",
            default="",
            variable=Variable(
                "winkube_bootstrap_kubeconfig_source",
                text="A kubeconfig on the controller, for C(winkube_join: bootstrap_kubeconfig); empty for one "
                "made through the API.",
                shown="made through the API",
            ),
        ),
        Option(
            "allow_cluster_admin",
            "bool",
            "Whether a cluster administrator's kubeconfig may go to the node.",
            default=False,
            variable=Variable(
                "winkube_allow_cluster_admin_kubeconfig",
                text="Whether a cluster administrator's kubeconfig may go to the node. Anyone who gets access to "
                "the node then owns the cluster.",
            ),
        ),
        Option(
            "flanneld",
            "dict",
            "flanneld's credentials.",
            options=(
                Option(
                    "kubeconfig",
                    "bool",
                    "Whether the node needs a kubeconfig for flanneld.",
                    default=True,
                    variable="winkube_cni_managed_by == 'service'",
                ),
                Option(
                    "kubeconfig_source",
                    "path",
                    "A kubeconfig on the controller. Empty for the ServiceAccount C(winkube-flanneld), made if "
                    "it is not there.",
                    default="",
                    variable=Variable(
                        "winkube_flanneld_kubeconfig_source", shown="a ServiceAccount C(winkube-flanneld)"
                    ),
                ),
            ),
        ),
        Option(
            "kube_proxy",
            "dict",
            "kube-proxy's credentials.",
            options=(
                Option(
                    "kubeconfig",
                    "bool",
                    "Whether the node needs a kubeconfig for kube-proxy.",
                    default=True,
                    variable="winkube_kube_proxy_managed_by == 'service'",
                ),
                Option(
                    "kubeconfig_source",
                    "path",
                    "A kubeconfig on the controller. Empty for the ServiceAccount C(winkube-kube-proxy), made "
                    "if it is not there.",
                    default="",
                    variable=Variable(
                        "winkube_kube_proxy_kubeconfig_source", shown="a ServiceAccount C(winkube-kube-proxy)"
                    ),
                ),
            ),
        ),
        Option(
            "wait_for_pod_cidr",
            "bool",
            "Whether to wait for the podCIDR of a node that has just joined; flanneld needs it.",
            default=True,
            variable="winkube_cni_managed_by == 'service'",
        ),
        Option(
            "start_timeout",
            "int",
            "Seconds within which the kubelet must start and get its certificate.",
            default=240,
            variable=Variable("winkube_join_start_timeout"),
        ),
        Option(
            "node_timeout",
            "int",
            "Seconds within which the Node and its podCIDR must exist after the join.",
            default=120,
            variable=Variable("winkube_join_node_timeout"),
        ),
    ),
)
