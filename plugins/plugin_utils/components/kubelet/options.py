# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_kubelet and the variables of the role kubelet."""

from __future__ import annotations

from ..options import (
    KUBERNETES_VERSION,
    NODE_ADDRESS,
    NODE_NAME,
    Interface,
    Option,
    Variable,
    build_environment_option,
    depends_on,
    extra_arguments,
    kubernetes_source,
    service_option,
    service_seconds,
)

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
    Option(
        "credential_providers",
        "list",
        "Names of programs that the kubelet asks for credentials. These are read with everything else; others cost one "
        "remote call more.",
        default=[],
        elements="str",
        variable="winkube_credential_providers | default([], true) | map(attribute='name', default='') | select | list",
    ),
)

INTERFACE = Interface(
    module="win_kubelet",
    summary="Installs the kubelet on a Windows node and runs it as a service",
    task="Install and configure the kubelet",
    shared=("node", "golden_image", "pushed_builds", "drain", "cluster", "inbound", "nssm", "log_runner"),
    places=PLACES,
    options=(
        KUBERNETES_VERSION,
        NODE_NAME,
        *kubernetes_source("kubelet"),
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
                text="How much the kubelet logs. Kubernetes' documentation of 1.22 has 6, for debugging.",
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
                    "What Windows and its services need, by resource. It reduces what pods may request; nothing "
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
                "What kubelet and containerd need, by resource. It only reduces what pods may request.",
                "C(cpu) may be a share, as in O(system_reserved).",
            ),
            default={},
            variable=Variable("winkube_kube_reserved"),
        ),
        Option(
            "eviction_hard",
            "dict",
            "Thresholds by signal. Before Kubernetes 1.31 they only reduce what pods may request.",
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
                    "Where O(cluster_cidr) has two families one address of each, such as V(10.0.0.5,fd00::5); empty"
                    " for the adapter's own two."
                ),
                (
                    "Without it a kubelet takes the address that the machine's name resolves to, which may be the"
                    " address of flannel's endpoint on the host."
                ),
            ),
            default="",
            variable=Variable("winkube_kubelet_node_ip"),
        ),
        *NODE_ADDRESS,
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
            "shutdown_grace_period",
            "str",
            (
                "How long the machine waits for pods when it shuts down or restarts, such as V(60s); V(0s) for not at "
                "all. Empty for what the cluster's own configuration says.",
                "From Kubernetes 1.34 on, with O(join=kubeadm) and O(service.manager=sc); where it would do nothing, a "
                "warning says why.",
            ),
            default="",
            variable=Variable("winkube_kubelet_shutdown_grace_period"),
        ),
        Option(
            "shutdown_grace_period_critical_pods",
            "str",
            "The part of O(shutdown_grace_period) that is kept for critical pods, which go last. Empty for V(0s).",
            default="",
            variable=Variable("winkube_kubelet_shutdown_grace_period_critical_pods"),
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
            "What runs the pods. V(dockershim) is the kubelet's own interface to an existing Docker, up to Kubernetes "
            "1.23, with O(join=kubeconfig); this collection installs no Docker.",
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
            "credential_providers",
            "list",
            (
                "Programs that the kubelet asks for registries' credentials, such as those of ECR, ACR and GAR. They "
                "get a folder of their own, and the kubelet a file that maps images to them.",
                "From Kubernetes 1.24 on. Settings with which a kubelet would end are refused.",
            ),
            default=[],
            elements="dict",
            options=(
                Option("name", "str", "The program's name, such as V(ecr-credential-provider).", required=True),
                Option(
                    "source",
                    "dict",
                    "Where the program comes from.",
                    required=True,
                    options=(
                        Option("url", "str", "The program (C(.exe)), fetched by the node.", required=True),
                        Option("version", "str", "Its release, for people.", default=""),
                        Option(
                            "checksum",
                            "str",
                            "V(sha256:) and 64 hex digits, or the https address of a sum file. Needed, unless "
                            "O(allow_unverified) has the program's name.",
                            default="",
                        ),
                    ),
                ),
                Option(
                    "match_images",
                    "list",
                    (
                        "Which images it is asked about: host, port and the beginning of a path. C(*) stands for "
                        "something within one part of the host between dots.",
                    ),
                    required=True,
                    elements="str",
                ),
                Option(
                    "cache_duration",
                    "str",
                    "How long an answer is valid that does not say so itself.",
                    default="12h",
                ),
                Option(
                    "api_version",
                    "str",
                    "The version of C(credentialprovider.kubelet.k8s.io) that the program speaks; empty for the "
                    "newest of the kubelet, V(v1) from 1.26 on.",
                    default="",
                ),
                Option("args", "list", "Its arguments.", default=[], elements="str"),
                Option(
                    "env",
                    "dict",
                    "Variables that it gets beside the kubelet's. The file shows them: no place for a secret.",
                    default={},
                ),
                Option(
                    "token_attributes",
                    "dict",
                    "C(tokenAttributes) as in the kubelet's API: the program gets a token of the pod's service "
                    "account. From Kubernetes 1.34 on.",
                    default={},
                ),
            ),
            variable=Variable(
                "winkube_credential_providers",
                text="Programs that the kubelet asks for registries' credentials, such as those of ECR, ACR and GAR "
                "(docs/registries.md).",
            ),
        ),
        extra_arguments("--max-pods=60", "winkube_kubelet_extra_arguments"),
        service_option(
            ("auto", "nssm", "sc"),
            (
                "V(nssm), or V(sc) for sc.exe and the kubelet's own C(--windows-service), behind kube-log-runner.exe.",
                "V(auto) keeps what the service has; a new node gets V(sc) from Kubernetes 1.34 on, "
                "since graceful node shutdown works only there, and V(nssm) before.",
            ),
            build_environment_option(Variable("winkube_kubelet_environment")),
            depends_on("containerd", Variable("winkube_kubelet_depends_on")),
            *service_seconds(
                "Seconds within which it must be healthy.",
                240,
                120,
                Variable("winkube_kubelet_start_timeout"),
                Variable("winkube_kubelet_stop_timeout"),
            ),
            manager="winkube_service_manager",
        ),
    ),
)
