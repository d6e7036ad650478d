# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_kubelet and the variables of the role kubelet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..options import Interface, Option, Variable, inlined, option, suboptions
from ..shared_options import (
    NodeAddress,
    ProgramSource,
    ServiceOptions,
    depends_on_option,
    environment_option,
    extra_arguments_option,
    kubernetes_source,
    node_name_option,
    service_options,
    start_option,
    stop_option,
    unverified_option,
    version_option,
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
        "The kubelet's kubeconfig, supplied by you or written by the join.",
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
        "Names of programs that the kubelet asks for credentials. These are read together with everything else; others "
        "cost one more remote call.",
        default=[],
        elements="str",
        variable="winkube_credential_providers | default([], true) | map(attribute='name', default='') | select | list",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSource:
    """Where a credential provider comes from."""

    url: str = option("The program (C(.exe)), fetched by the node.")
    version: str = option("Its release, for people.", default="")
    checksum: str = option(
        "V(sha256:) and 64 hex digits, or the https address of a sum file. Needed, unless "
        "O(allow_unverified) has the program's name.",
        default="",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialProvider:
    """A program that the kubelet asks for registries' credentials, such as that of ECR, ACR or GAR."""

    name: str = option("The program's name, such as V(ecr-credential-provider).")
    source: ProviderSource = suboptions(ProviderSource, "Where the program comes from.", required=True)
    match_images: tuple[str, ...] = option(
        (
            "Which images it is asked about: host, port and the beginning of a path. C(*) stands for "
            "something within one part of the host between dots.",
        )
    )
    cache_duration: str = option("How long an answer is valid that does not say so itself.", default="12h")
    api_version: str = option(
        "The version of C(credentialprovider.kubelet.k8s.io) that the program speaks; empty for the "
        "newest of the kubelet, V(v1) from 1.26 on.",
        default="",
    )
    args: tuple[str, ...] = option("Its arguments.", default=())
    env: Mapping[str, Any] = option(
        "Variables that it gets beside the kubelet's. The file shows them: no place for a secret.", default={}
    )
    token_attributes: Mapping[str, Any] = option(
        "C(tokenAttributes) as in the kubelet's API: the program gets a token of the pod's service "
        "account. From Kubernetes 1.34 on.",
        default={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletOptions:
    version: str = version_option()
    node_name: str = node_name_option()
    source: ProgramSource = kubernetes_source("kubelet")
    allow_unverified: tuple[str, ...] = unverified_option("kubelet")
    join: Literal["kubeadm", "bootstrap_kubeconfig", "kubeconfig"] = option(
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
        variable="winkube_join",
    )
    cluster_dns: tuple[str, ...] = option(
        "Addresses of the cluster's DNS service.",
        default=("10.96.0.10",),
        variable=Variable(
            "winkube_kubelet_cluster_dns", ["{{ winkube_network.dns_service_ip }}"], shown="C(winkube_dns_service_ip)"
        ),
    )
    cluster_domain: str = option(
        "The cluster's DNS domain.",
        default="cluster.local",
        variable="winkube_network.cluster_domain",
        flag="cluster-domain",
        setting="clusterDomain",
    )
    verbosity: int = option(
        "Log verbosity of the kubelet.",
        default=2,
        variable=Variable(
            "winkube_kubelet_verbosity",
            text="Log verbosity of the kubelet. Kubernetes' documentation of 1.22 uses 6, for debugging.",
        ),
        flag="v",
    )
    priority_class: str = option(
        "The priority of its process. Below V(ABOVE_NORMAL_PRIORITY_CLASS) busy pods can starve it.",
        default="ABOVE_NORMAL_PRIORITY_CLASS",
        variable=Variable("winkube_kubelet_priority_class"),
        flag="windows-priorityclass",
    )
    system_reserved: Mapping[str, Any] = option(
        (
            ("What Windows and its services need, by resource. It reduces what pods may request; nothing enforces it."),
            "C(cpu) may be a share of the node's logical processors, for example V(10%).",
        ),
        default={"memory": "2Gi"},
        variable=Variable("winkube_system_reserved"),
    )
    kube_reserved: Mapping[str, Any] = option(
        (
            "What kubelet and containerd need, by resource. It only reduces what pods may request.",
            "C(cpu) may be a share, as in O(system_reserved).",
        ),
        default={},
        variable=Variable("winkube_kube_reserved"),
    )
    eviction_hard: Mapping[str, Any] = option(
        "Thresholds by signal. Before Kubernetes 1.31 they only reduce what pods may request.",
        default={},
        variable=Variable("winkube_eviction_hard"),
    )
    eviction_soft: Mapping[str, Any] = option(
        "Thresholds by signal. Without effect before Kubernetes 1.31.",
        default={},
        variable=Variable("winkube_eviction_soft"),
    )
    eviction_soft_grace_period: Mapping[str, Any] = option(
        "Grace periods by signal.", default={}, variable=Variable("winkube_eviction_soft_grace_period")
    )
    taints: tuple[str, ...] = option(
        "Taints of a new Node, such as V(os=windows:NoSchedule). An empty list for none.",
        default=("os=windows:NoSchedule",),
        variable="winkube_node_taints",
    )
    labels: Mapping[str, Any] = option("Labels of a new Node.", default={}, variable=Variable("winkube_node_labels"))
    node_ip: str = option(
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
    )
    address: NodeAddress = inlined(NodeAddress)
    cluster_cidr: str = option("The pods' network.", default="10.244.0.0/16", variable="winkube_network.cluster_cidr")
    feature_gates: Mapping[str, Any] = option(
        "Feature gates by name, V(true) or V(false). One that this release does not know is refused.",
        default={},
        variable=Variable(
            "winkube_kubelet_feature_gates",
            text="Feature gates by name, such as V({WindowsHostNetwork: true}). One that this release does "
            "not know is refused.",
        ),
    )
    config: Mapping[str, Any] = option(
        (
            "Other fields of KubeletConfiguration, as in the kubelet's API, such as V(imageMaximumGCAge). They are "
            "merged last into the drop-in. V(null) takes away what the cluster's own configuration says (from 1.32 "
            "on).",
            "A field that another option sets, that the release does not know, or with which a kubelet on Windows "
            "would end, is refused. From Kubernetes 1.30 on, with O(join=kubeadm).",
        ),
        default={},
        variable=Variable(
            "winkube_kubelet_config",
            text="Other fields of KubeletConfiguration, such as V({imageMaximumGCAge: 168h}), merged last into the "
            "drop-in (docs/kubernetes-flags.md).",
        ),
    )
    shutdown_grace_period: str = option(
        (
            "How long the machine waits for pods when it shuts down or restarts, such as V(60s); V(0s) for not at "
            "all. Empty for what the cluster's own configuration says.",
            "From Kubernetes 1.34 on, with O(join=kubeadm) and O(service.manager=sc); where it would do nothing, a "
            "warning says why.",
        ),
        default="",
        variable=Variable("winkube_kubelet_shutdown_grace_period"),
    )
    shutdown_grace_period_critical_pods: str = option(
        "The part of O(shutdown_grace_period) that is kept for critical pods, which go last. Empty for V(0s).",
        default="",
        variable=Variable("winkube_kubelet_shutdown_grace_period_critical_pods"),
    )
    pause_image: str = option(
        "The sandbox image. A kubelet is told up to Kubernetes 1.26; empty for the one that fits O(version).",
        default="",
        variable="winkube_pause_image | default('')",
    )
    pause_image_source: Literal["kubernetes", "microsoft"] = option(
        "Whose sandbox image; V(microsoft) has signed binaries.",
        default="kubernetes",
        variable="winkube_pause_image_source | default('kubernetes')",
    )
    container_runtime: Literal["containerd", "dockershim"] = option(
        "What runs the pods. V(dockershim) is the kubelet's own interface to an existing Docker, up to Kubernetes "
        "1.23, with O(join=kubeconfig); this collection installs no Docker.",
        default="containerd",
        variable="winkube_container_runtime",
    )
    containerd_version: str = option(
        "The containerd that runs beside it; empty if not known. Decides about WindowsHostNetwork.",
        default="",
        variable="winkube_containerd_version | default('')",
    )
    credential_providers: tuple[CredentialProvider, ...] = option(
        (
            "Programs that the kubelet asks for registries' credentials, such as those of ECR, ACR and GAR. They "
            "get a folder of their own, and the kubelet a file that maps images to them.",
            "From Kubernetes 1.24 on. Settings with which a kubelet would end are refused.",
        ),
        default=(),
        variable=Variable(
            "winkube_credential_providers",
            text="Programs that the kubelet asks for registries' credentials, such as those of ECR, ACR and GAR "
            "(docs/registries.md).",
        ),
    )
    extra_arguments: tuple[str, ...] = extra_arguments_option("--max-pods=60", "winkube_kubelet_extra_arguments")
    service: ServiceOptions = service_options(
        ("auto", "nssm", "sc"),
        (
            "V(nssm), or V(sc) for sc.exe and the kubelet's own C(--windows-service), behind kube-log-runner.exe.",
            "V(auto) keeps what the service has; a new node gets V(sc) from Kubernetes 1.34 on, "
            "since graceful node shutdown works only there, and V(nssm) before.",
        ),
        environment=environment_option(Variable("winkube_kubelet_environment")),
        depends_on=depends_on_option("containerd", Variable("winkube_kubelet_depends_on")),
        start=start_option("Seconds within which it must be healthy.", 240, Variable("winkube_kubelet_start_timeout")),
        stop=stop_option(120, Variable("winkube_kubelet_stop_timeout")),
        manager="winkube_service_manager",
    )


INTERFACE = Interface(
    module="win_kubelet",
    summary="Installs the kubelet on a Windows node and runs it as a service",
    task="Install and configure the kubelet",
    shared=("node", "golden_image", "pushed_builds", "drain", "cluster", "inbound", "nssm", "log_runner"),
    places=PLACES,
    options=KubeletOptions,
)
