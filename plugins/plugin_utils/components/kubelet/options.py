# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_kubelet and the variables of the role kubelet."""

from __future__ import annotations

from ..options import PROXY, Interface, Option, Variable, checksum_option, service_seconds, unverified_option

PLACES = (
    Option(
        "kubelet_dir",
        "str",
        "The kubelet's own folder, with config.yaml, kubeadm-flags.env, pods and client certificates.",
        default=r"C:\var\lib\kubelet",
        variable=Variable("winkube_kubelet_dir"),
    ),
    Option(
        "kubelet_service",
        "str",
        "The name of the kubelet's service.",
        default="kubelet",
        variable=Variable("winkube_kubelet_service_name"),
    ),
    Option(
        "kubelet_binary",
        "str",
        "kubelet.exe.",
        default=r"C:\k\kubelet.exe",
        variable=Variable("winkube_kubelet_binary", r"{{ winkube_root }}\kubelet.exe"),
    ),
    Option(
        "kubelet_kubeconfig",
        "str",
        "The kubelet's kubeconfig, brought along or written by the join.",
        default=r"C:\etc\kubernetes\kubelet.conf",
        variable=Variable(
            "winkube_kubelet_kubeconfig",
            r"{{ winkube_root ~ '\config' if winkube_join == 'kubeconfig' else winkube_kubernetes_dir "
            r"~ '\kubelet.conf' }}",
            "The kubelet's kubeconfig. The one that is brought along (C(config) in the root folder), "
            "else the one that the join writes.",
        ),
    ),
)

INTERFACE = Interface(
    module="win_kubelet",
    summary="Installs the kubelet on a Windows node and runs it as a service",
    task="Install and configure the kubelet",
    shared=("node", "golden_image", "pushed_builds", "drain", "cluster", "inbound", "nssm", "log_runner"),
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
            "The name of the Node object. Written in lower case.",
            required=True,
            variable="winkube_node_name",
        ),
        Option(
            "source",
            "dict",
            "Where kubelet.exe comes from.",
            required=True,
            options=(
                Option(
                    "url",
                    "str",
                    "The program (C(.exe)), fetched by the node; V(http), V(https), or V(file:///C:/...) on the node.",
                    required=True,
                    variable=Variable(
                        "winkube_kubelet_url",
                        "{{ winkube_kubernetes_base_url }}/kubelet.exe",
                        shown="below C(winkube_kubernetes_base_url)",
                    ),
                ),
                checksum_option(
                    "kubelet",
                    Variable(
                        "winkube_kubelet_checksum",
                        "{{ winkube_kubernetes_checksum or ((winkube_kubelet_url ~ '.sha256') if "
                        "winkube_kubelet_url.startswith('https://') else '') }}",
                        shown="the publisher's sum file",
                    ),
                ),
                PROXY,
            ),
        ),
        unverified_option("kubelet"),
        Option(
            "join",
            "str",
            (
                (
                    "How the node joins. With V(kubeadm) the kubelet gets C(config.yaml), a bootstrap "
                    "kubeconfig and drop-ins."
                ),
                (
                    "With V(bootstrap_kubeconfig) it gets a bootstrap kubeconfig, and with V(kubeconfig) "
                    "neither; all is an argument, also who may talk to the kubelet, for which the cluster's CA "
                    "lies in C(pki\\ca.crt) of C(node.kubernetes_dir)."
                ),
            ),
            default="kubeadm",
            choices=("kubeadm", "bootstrap_kubeconfig", "kubeconfig"),
            variable="winkube_join",
        ),
        Option(
            "cluster_dns",
            "list",
            "Addresses of the cluster's DNS service.",
            default=["10.96.0.10"],
            elements="str",
            variable=Variable(
                "winkube_kubelet_cluster_dns", ["{{ winkube_dns_service_ip }}"], shown="C(winkube_dns_service_ip)"
            ),
        ),
        Option(
            "cluster_domain",
            "str",
            "The cluster's DNS domain.",
            default="cluster.local",
            variable="winkube_cluster_domain",
        ),
        Option(
            "verbosity",
            "int",
            "How much the kubelet logs.",
            default=2,
            variable=Variable(
                "winkube_kubelet_verbosity",
                text="How much the kubelet logs. Kubernetes' documentation of 1.22 has 6, for a look at something.",
            ),
        ),
        Option(
            "priority_class",
            "str",
            "The priority of its process. Below V(ABOVE_NORMAL_PRIORITY_CLASS) busy pods can starve it.",
            default="ABOVE_NORMAL_PRIORITY_CLASS",
            variable=Variable("winkube_kubelet_priority_class"),
        ),
        Option(
            "system_reserved",
            "dict",
            (
                (
                    "What Windows and its services need, by resource. Lessens what pods may request; nothing "
                    "enforces it."
                ),
                "C(cpu) may be a share of the node's logical processors, for example V(10%).",
            ),
            default={"memory": "2Gi"},
            variable=Variable("winkube_system_reserved"),
        ),
        Option(
            "kube_reserved",
            "dict",
            (
                "What kubelet and containerd need, by resource. Only lessens what pods may request.",
                "C(cpu) may be a share, as in O(system_reserved).",
            ),
            default={},
            variable=Variable("winkube_kube_reserved"),
        ),
        Option(
            "eviction_hard",
            "dict",
            "Thresholds by signal. Before Kubernetes 1.31 they only lessen what pods may request.",
            default={},
            variable=Variable("winkube_eviction_hard"),
        ),
        Option(
            "eviction_soft",
            "dict",
            "Thresholds by signal. Without effect before Kubernetes 1.31.",
            default={},
            variable=Variable("winkube_eviction_soft"),
        ),
        Option(
            "eviction_soft_grace_period",
            "dict",
            "Grace periods by signal.",
            default={},
            variable=Variable("winkube_eviction_soft_grace_period"),
        ),
        Option(
            "taints",
            "list",
            "Taints of a new Node, such as V(os=windows:NoSchedule). An empty list for none.",
            default=["os=windows:NoSchedule"],
            elements="str",
            variable="winkube_node_taints",
        ),
        Option("labels", "dict", "Labels of a new Node.", default={}, variable=Variable("winkube_node_labels")),
        Option(
            "node_ip",
            "str",
            (
                ("The node's address. Empty for O(management_ip), or the first IPv4 address of O(interface_name)."),
                (
                    "A kubelet that is not told takes what the machine's own name resolves to, which may be the"
                    " address of flannel's endpoint on the host."
                ),
            ),
            default="",
            variable=Variable("winkube_kubelet_node_ip"),
        ),
        Option(
            "interface_name",
            "str",
            "The adapter that the node's address is on.",
            default="Ethernet",
            variable="winkube_interface_name",
        ),
        Option(
            "management_ip",
            "str",
            "The node's address. Empty for the first IPv4 address of O(interface_name). Refused if no adapter has it.",
            default="",
            variable="winkube_management_ip",
        ),
        Option("cluster_cidr", "str", "The pods' network.", default="10.244.0.0/16", variable="winkube_cluster_cidr"),
        Option(
            "feature_gates",
            "dict",
            "Feature gates by name, V(true) or V(false). One that this release does not know is refused.",
            default={},
            variable=Variable(
                "winkube_kubelet_feature_gates",
                text="Feature gates by name, such as V({WindowsHostNetwork: true}). One that this release does "
                "not know is refused.",
            ),
        ),
        Option(
            "pause_image",
            "str",
            "The sandbox image. A kubelet is told up to Kubernetes 1.26; empty for the one that fits O(version).",
            default="",
            variable="winkube_pause_image | default('')",
        ),
        Option(
            "pause_image_source",
            "str",
            "Whose sandbox image; V(microsoft) has signed binaries.",
            default="kubernetes",
            choices=("kubernetes", "microsoft"),
            variable="winkube_pause_image_source | default('kubernetes')",
        ),
        Option(
            "container_runtime",
            "str",
            "What runs the pods. V(dockershim) is the kubelet's own way to a Docker that is there already, "
            "up to Kubernetes 1.23, with O(join=kubeconfig); this collection installs no Docker.",
            default="containerd",
            choices=("containerd", "dockershim"),
            variable="winkube_container_runtime",
        ),
        Option(
            "containerd_version",
            "str",
            "The containerd that runs beside it; empty if not known. Decides about WindowsHostNetwork.",
            default="",
            variable="winkube_containerd_version | default('')",
        ),
        Option(
            "extra_arguments",
            "list",
            "Further arguments, such as V(--max-pods=60). Checked as the others are.",
            default=[],
            elements="str",
            variable=Variable("winkube_kubelet_extra_arguments"),
        ),
        Option(
            "service",
            "dict",
            "How the service is made and run.",
            options=(
                Option(
                    "manager",
                    "str",
                    "V(nssm), or V(sc) for sc.exe and the kubelet's own C(--windows-service), behind "
                    "kube-log-runner.exe.",
                    default="nssm",
                    choices=("nssm", "sc"),
                    variable="winkube_service_manager",
                ),
                Option(
                    "environment",
                    "dict",
                    "Secret. Variables of the service's own environment, such as HTTPS_PROXY. A change restarts it.",
                    default={},
                    variable=Variable("winkube_kubelet_environment"),
                ),
                Option(
                    "depends_on",
                    "list",
                    (
                        (
                            "Services that Windows has to start before, such as V(containerd), and with which it "
                            "stops this one."
                        ),
                        "None by default. If one of them does not come up at boot, this service stays down.",
                    ),
                    default=[],
                    elements="str",
                    variable=Variable("winkube_kubelet_depends_on"),
                ),
                *service_seconds(
                    "Seconds in which it has to be healthy.",
                    240,
                    120,
                    Variable("winkube_kubelet_start_timeout"),
                    Variable("winkube_kubelet_stop_timeout"),
                ),
            ),
        ),
    ),
)
