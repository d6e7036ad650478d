# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_kube_proxy and the variables of the role kube_proxy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...facts.windows import NODE_PORTS
from ..options import Interface, Option, Variable, option, suboptions
from ..shared_options import (
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

CNI_DATA_DIR = r"C:\var\lib\cni\networks"
"""host-local's own default on the system drive. Source: containernetworking/plugins
plugins/ipam/host-local/backend/disk/backend.go, defaultDataDir."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FirewallOptions:
    """The rule of the Windows firewall (`winkube-kube-proxy`) that lets load balancers ask kube-proxy."""

    enabled: bool = option("V(false) leaves the firewall as it is.", default=True, variable="winkube_firewall")
    health_check_sources: tuple[str, ...] = option(
        (
            "Who may ask whether kube-proxy is healthy (10256), and whether a Service has endpoints here "
            "(its healthCheckNodePort): addresses and networks.",
            "V(any) admits everyone, since a cluster does not say where its load balancers are; an empty "
            "list admits no one.",
        ),
        default=("any",),
        variable=Variable("winkube_health_check_sources"),
    )
    node_port_range: str = option(
        "The API server's C(--service-node-port-range); healthCheckNodePorts are of it.",
        default=NODE_PORTS,
        variable=Variable("winkube_node_port_range"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeProxyOptions:
    version: str = version_option()
    node_name: str = node_name_option()
    managed_by: Literal["service", "cluster"] = option(
        (
            (
                "Who owns kube-proxy. With V(cluster) our own service, one that runs "
                "C(node.kube_proxy_binary), is stopped and removed; another of that name is refused."
            ),
            "With V(service), a DaemonSet of the cluster that runs it on this node is refused.",
        ),
        default="service",
        variable="winkube_kube_proxy_managed_by",
    )
    source: ProgramSource = kubernetes_source("kube-proxy")
    allow_unverified: tuple[str, ...] = unverified_option("kube-proxy")
    network_mode: str = option(
        "V(l2bridge) (flannel's host-gw) or V(overlay) (flannel's vxlan); others are refused.",
        default="l2bridge",
        variable="winkube_network_mode",
    )
    network_name: str = option(
        "The HNS network of the pods; empty for V(cbr0) (l2bridge) or V(vxlan0) (overlay).",
        default="",
        variable=Variable(
            "winkube_kube_proxy_network_name",
            "{{ winkube_overlay_network_name if winkube_network_mode == 'overlay' else 'cbr0' }}",
            "The HNS network that kube-proxy works on; that of l2bridge is always cbr0.",
            shown="C(cbr0), or that of overlay",
        ),
    )
    cni_data_dir: str = option(
        "The folder in which host-local keeps which address is taken, the C(dataDir) of the CNI configuration.",
        default=CNI_DATA_DIR,
        variable="winkube_cni_data_dir",
    )
    cluster_cidr: str = option(
        "The pods' network. Traffic to it is not translated.",
        default="10.244.0.0/16",
        variable="winkube_network.cluster_cidr",
    )
    dsr: bool = option(
        (
            "Direct server return. The feature gate that it needs is set where the release has it off.",
            "Where kube-proxy runs without it so far and a drain would evict pods of the node, it is refused unless "
            "O(drain) is on: endpoints that were made before have no loopback policy. Pods that a drain leaves, those "
            "of DaemonSets, are named: they have to be deleted afterwards.",
        ),
        default=False,
        variable="winkube_kube_proxy_dsr",
    )
    firewall: FirewallOptions = suboptions(
        FirewallOptions,
        "The rule of the Windows firewall (C(winkube-kube-proxy)) that lets load balancers ask kube-proxy.",
    )
    verbosity: int = option(
        "Log verbosity of kube-proxy.",
        default=2,
        variable=Variable(
            "winkube_kube_proxy_verbosity",
            text="Log verbosity of kube-proxy. Kubernetes' documentation of 1.22 uses 4.",
        ),
    )
    feature_gates: Mapping[str, Any] = option(
        "Feature gates by name, V(true) or V(false). One that this release does not know is refused.",
        default={},
        variable=Variable(
            "winkube_kube_proxy_feature_gates",
            text="Feature gates by name. One that this release does not know, or that is locked to the other"
            " value, is refused.",
        ),
    )
    extra_arguments: tuple[str, ...] = extra_arguments_option(
        "--nodeport-addresses=10.0.0.0/8", "winkube_kube_proxy_extra_arguments"
    )
    service: ServiceOptions = service_options(
        ("auto", "nssm", "sc"),
        (
            "V(nssm), or V(sc) for sc.exe and the program's own C(--windows-service), behind kube-log-runner.exe.",
            "V(auto) keeps what the service has, else what the kubelet's has; a new node gets V(sc) "
            "from Kubernetes 1.34 on, and V(nssm) before.",
        ),
        environment=environment_option(Variable("winkube_kube_proxy_environment"), "besides KUBE_NETWORK"),
        depends_on=depends_on_option(
            "kubelet",
            Variable(
                "winkube_kube_proxy_depends_on",
                text="Services that Windows has to start before, such as V([kubelet]) in Kubernetes' "
                "documentation of 1.22. Windows then stops kube-proxy whenever the kubelet stops.",
            ),
        ),
        start=start_option(
            "Seconds within which it must be healthy.", 120, Variable("winkube_kube_proxy_start_timeout")
        ),
        stop=stop_option(120, Variable("winkube_kube_proxy_stop_timeout")),
        manager="winkube_service_manager",
    )


INTERFACE = Interface(
    module="win_kube_proxy",
    summary="Installs kube-proxy on a Windows node and runs it as a service",
    task="Install and configure kube-proxy",
    shared=("node", "golden_image", "pushed_builds", "drain", "cluster", "nssm", "log_runner"),
    places=PLACES,
    options=KubeProxyOptions,
)
