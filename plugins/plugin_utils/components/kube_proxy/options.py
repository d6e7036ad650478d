# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_kube_proxy and the variables of the role kube_proxy."""

from __future__ import annotations

from ..options import PROXY, Interface, Option, Variable, checksum_option, service_seconds, unverified_option

PLACES = (
    Option(
        "kube_proxy_service",
        "str",
        "The name of kube-proxy's service.",
        default="kube-proxy",
        variable=Variable("winkube_kube_proxy_service_name"),
    ),
    Option(
        "kube_proxy_binary",
        "str",
        "kube-proxy.exe.",
        default=r"C:\k\kube-proxy.exe",
        variable=Variable("winkube_kube_proxy_binary", r"{{ winkube_root }}\kube-proxy.exe"),
    ),
    Option(
        "kube_proxy_kubeconfig",
        "str",
        "kube-proxy's kubeconfig.",
        default=r"C:\k\kube-proxy.kubeconfig",
        variable=Variable("winkube_kube_proxy_kubeconfig", r"{{ winkube_root }}\kube-proxy.kubeconfig"),
    ),
)

INTERFACE = Interface(
    module="win_kube_proxy",
    summary="Installs kube-proxy on a Windows node and runs it as a service",
    task="Install and configure kube-proxy",
    shared=("node", "golden_image", "pushed_builds", "drain", "cluster", "nssm", "log_runner"),
    places=PLACES,
    options=(
        Option(
            "version",
            "str",
            "The release of Kubernetes, such as V(1.37.1). Refused if it does not go with the cluster's API server.",
            required=True,
            variable="winkube_kubernetes_version",
        ),
        Option(
            "node_name",
            "str",
            "The name of the Node object, the same that the kubelet has. Written in lower case.",
            required=True,
            variable="winkube_node_name",
        ),
        Option(
            "managed_by",
            "str",
            (
                (
                    "Who owns kube-proxy. With V(cluster) our own service, one that runs "
                    "C(node.kube_proxy_binary), is stopped and removed; another of that name is refused."
                ),
                "With V(service), a DaemonSet of the cluster that runs it on this node is refused.",
            ),
            default="service",
            choices=("service", "cluster"),
            variable="winkube_kube_proxy_managed_by",
        ),
        Option(
            "source",
            "dict",
            "Where kube-proxy.exe comes from.",
            required=True,
            options=(
                Option(
                    "url",
                    "str",
                    "The program (C(.exe)), fetched by the node; V(http), V(https), or V(file:///C:/...) on the node.",
                    required=True,
                    variable=Variable(
                        "winkube_kube_proxy_url",
                        "{{ winkube_kubernetes_base_url }}/kube-proxy.exe",
                        shown="below C(winkube_kubernetes_base_url)",
                    ),
                ),
                checksum_option(
                    "kube-proxy",
                    Variable(
                        "winkube_kube_proxy_checksum",
                        "{{ winkube_kubernetes_checksum or ((winkube_kube_proxy_url ~ '.sha256') if "
                        "winkube_kube_proxy_url.startswith('https://') else '') }}",
                        shown="the publisher's sum file",
                    ),
                ),
                PROXY,
            ),
        ),
        unverified_option("kube-proxy"),
        Option(
            "network_mode",
            "str",
            "V(l2bridge) (flannel's host-gw) or V(overlay) (flannel's vxlan); others are refused.",
            default="l2bridge",
            variable="winkube_network_mode",
        ),
        Option(
            "network_name",
            "str",
            "The HNS network of the pods; empty for V(cbr0) (l2bridge) or V(vxlan0) (overlay).",
            default="",
            variable=Variable(
                "winkube_kube_proxy_network_name",
                "{{ winkube_overlay_network_name if winkube_network_mode == 'overlay' else 'cbr0' }}",
                "The HNS network that kube-proxy works on; that of l2bridge is always cbr0.",
                shown="C(cbr0), or that of overlay",
            ),
        ),
        Option(
            "cni_data_dir",
            "str",
            "The folder in which host-local keeps which address is taken, the C(dataDir) of the CNI configuration.",
            default="C:\\var\\lib\\cni\\networks",
            variable="winkube_cni_data_dir",
        ),
        Option(
            "cluster_cidr",
            "str",
            "The pods' network. Traffic to it is not translated.",
            default="10.244.0.0/16",
            variable="winkube_cluster_cidr",
        ),
        Option(
            "dsr",
            "bool",
            "Direct server return. The feature gate that it needs is set where the release has it off.",
            default=False,
            variable=Variable("winkube_kube_proxy_dsr"),
        ),
        Option(
            "verbosity",
            "int",
            "How much kube-proxy logs.",
            default=2,
            variable=Variable(
                "winkube_kube_proxy_verbosity",
                text="How much kube-proxy logs. Kubernetes' documentation of 1.22 has 4.",
            ),
        ),
        Option(
            "feature_gates",
            "dict",
            "Feature gates by name, V(true) or V(false). One that this release does not know is refused.",
            default={},
            variable=Variable(
                "winkube_kube_proxy_feature_gates",
                text="Feature gates by name. One that this release does not know, or that is locked to the other"
                " value, is refused.",
            ),
        ),
        Option(
            "extra_arguments",
            "list",
            "Further arguments, such as V(--nodeport-addresses=10.0.0.0/8). Checked as the others are.",
            default=[],
            elements="str",
            variable=Variable("winkube_kube_proxy_extra_arguments"),
        ),
        Option(
            "service",
            "dict",
            "How the service is made and run.",
            options=(
                Option(
                    "manager",
                    "str",
                    "V(nssm), or V(sc) for sc.exe and the program's own C(--windows-service), behind "
                    "kube-log-runner.exe.",
                    default="nssm",
                    choices=("nssm", "sc"),
                    variable="winkube_service_manager",
                ),
                Option(
                    "environment",
                    "dict",
                    "Secret. Variables of the service's own environment, besides KUBE_NETWORK. A change restarts it.",
                    default={},
                    variable=Variable("winkube_kube_proxy_environment"),
                ),
                Option(
                    "depends_on",
                    "list",
                    (
                        (
                            "Services that Windows has to start before, such as V(kubelet), and with which it stops"
                            " this one."
                        ),
                        "None by default. If one of them does not come up at boot, this service stays down.",
                    ),
                    default=[],
                    elements="str",
                    variable=Variable(
                        "winkube_kube_proxy_depends_on",
                        text="Services that Windows has to start before, such as V([kubelet]) in Kubernetes' "
                        "documentation of 1.22. Windows then stops kube-proxy whenever the kubelet is stopped.",
                    ),
                ),
                *service_seconds(
                    "Seconds in which it has to be healthy.",
                    120,
                    120,
                    Variable("winkube_kube_proxy_start_timeout"),
                    Variable("winkube_kube_proxy_stop_timeout"),
                ),
            ),
        ),
    ),
)
