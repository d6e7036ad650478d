# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_flannel and the variables of the role flannel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..options import Interface, Option, Variable, inlined, option, suboptions
from ..shared_options import (
    NodeAddress,
    ProgramSource,
    ServiceOptions,
    node_name_option,
    service_options,
    start_option,
    stop_option,
    unverified_option,
)

PLACES = (
    Option(
        "flannel_dir", "str", "The folder of flanneld.", default=r"C:\flannel", variable=Variable("winkube_flannel_dir")
    ),
    Option(
        "flannel_run_dir",
        "str",
        "The folder in which flanneld writes subnet.env.",
        default=r"C:\run\flannel",
        variable=Variable("winkube_flannel_run_dir"),
    ),
    Option(
        "flanneld_service",
        "str",
        "The name of flanneld's service.",
        default="flanneld",
        variable=Variable("winkube_flanneld_service_name"),
    ),
    Option(
        "flanneld_binary",
        "str",
        "flanneld.exe.",
        default=r"C:\flannel\flanneld.exe",
        variable=Variable("winkube_flanneld_binary", r"{{ winkube_flannel_dir }}\flanneld.exe"),
    ),
    Option(
        "flanneld_kubeconfig",
        "str",
        "flanneld's kubeconfig.",
        default=r"C:\flannel\flanneld.kubeconfig",
        variable=Variable("winkube_flanneld_kubeconfig", r"{{ winkube_flannel_dir }}\flanneld.kubeconfig"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlannelOptions:
    node_name: str = node_name_option()
    managed_by: Literal["service", "cluster"] = option(
        "Who runs flannel. With V(cluster) our own service, one that runs C(node.flanneld_binary), is "
        "stopped and removed; another of that name that runs is refused, and so is a cluster without a "
        "DaemonSet of a network for this node.",
        default="service",
        variable="winkube_cni_managed_by",
    )
    version: str = option(
        "The release of flannel, such as V(0.28.10).", default="0.28.10", variable=Variable("winkube_flannel_version")
    )
    source: ProgramSource = suboptions(
        ProgramSource,
        "Where flanneld.exe comes from.",
        url=option(
            "The program (C(.exe)), fetched by the node.",
            default="https://github.com/flannel-io/flannel/releases/download/v0.28.10/flanneld.exe",
            variable=Variable(
                "winkube_flannel_url",
                "{{ winkube_downloads }}github.com/flannel-io/flannel/releases/download/v{{ "
                "winkube_flannel_version | regex_replace('^v') }}/flanneld.exe",
                shown="the release's C(flanneld.exe)",
            ),
        ),
        checksum=option(
            (
                ("V(sha256:) and 64 hex digits, or the https address of a sum file. flannel publishes none."),
                "Without one the source is refused, unless O(allow_unverified) names C(flanneld).",
            ),
            default="",
            variable=Variable("winkube_flannel_checksum", "{{ winkube_download_sums }}", shown="none"),
        ),
    )
    allow_unverified: tuple[str, ...] = unverified_option("flanneld")
    kubernetes_version: str = option(
        "The release of Kubernetes, empty if not known. Decides whether there can be dockershim.",
        default="",
        variable="winkube_kubernetes_version",
    )
    plugins_version: str = option(
        "The release of the CNI plugins on the node. Decides which O(cni_version) they take.",
        default="1.10.0",
        variable="winkube_cni_plugins_version",
    )
    network_mode: str = option(
        "V(l2bridge) is flannel's host-gw, V(overlay) its vxlan with VNI 4096 and port 4789. flannel "
        "has no backend for V(l2tunnel), V(transparent) and V(nat), which are refused.",
        default="l2bridge",
        variable="winkube_network_mode",
    )
    network_name: str = option(
        "The HNS network that flanneld makes. Empty for V(cbr0) (l2bridge) or V(vxlan0) (overlay).",
        default="",
        variable="winkube_overlay_network_name if winkube_network_mode == 'overlay' else 'cbr0'",
    )
    cluster_cidr: str = option(
        "The pods' network, flannel's Network.", default="10.244.0.0/16", variable="winkube_network.cluster_cidr"
    )
    service_cidr: str = option(
        "The services' network.", default="10.96.0.0/12", variable="winkube_network.service_cidr"
    )
    dns_service_ip: str = option(
        "The address of the cluster's DNS, in O(service_cidr).",
        default="10.96.0.10",
        variable="winkube_network.dns_service_ip",
    )
    cluster_domain: str = option(
        "The cluster's domain; pods search C(svc.) and this one.",
        default="cluster.local",
        variable="winkube_network.cluster_domain",
    )
    address: NodeAddress = inlined(NodeAddress)
    api_server: str = option(
        (
            (
                "Where the node reaches the API server, such as V(10.0.0.1:6443). The virtual switch is "
                "kept only if it answers."
            ),
            "Empty for the address in O(cluster.kubeconfig); without that the run does not wait for it.",
        ),
        default="",
        variable="winkube_api_server",
    )
    exception_list: tuple[str, ...] = option(
        "Networks outside the cluster that pods reach with their own address, besides O(cluster_cidr), "
        "O(service_cidr) and, in l2bridge, the subnet of the node's address.",
        default=(),
        variable=Variable("winkube_exception_list"),
    )
    external_targets: tuple[str, ...] = option(
        "Addresses outside the cluster that pods must reach. A warning if an exception covers one of them.",
        default=(),
        variable=Variable("winkube_external_targets"),
    )
    runtime: Literal["containerd", "dockershim"] = option(
        "The runtime that C(cni.conf) is written for. V(dockershim) is refused from Kubernetes 1.24 on.",
        default="containerd",
        variable="winkube_container_runtime",
    )
    cni_version: str = option(
        "C(cniVersion) in C(cni.conf). Empty for the best that the plugins take.",
        default="",
        variable=Variable("winkube_cni_version", shown="by release of the plugins"),
    )
    dsr: bool = option(
        "Whether kube-proxy uses direct server return. C(cni.conf) then has C(loopbackDSR), without which no pod "
        "reaches itself by its Service.",
        default=False,
        variable="winkube_kube_proxy_dsr",
    )
    conf_template: str = option(
        (
            (
                "A Jinja2 template of C(cni.conf), looked for in the role and then along the usual search "
                "path. It gets the variable C(cni)."
            ),
            "Its output is checked before anything is sent.",
        ),
        default="cni.conf.j2",
        variable=Variable("winkube_cni_conf_template"),
        type="path",
    )
    net_conf: str = option(
        "Where C(net-conf.json) lies on the node.",
        default="C:\\etc\\kube-flannel\\net-conf.json",
        variable=Variable(
            "winkube_flannel_net_conf", text="Where flannel's configuration (net-conf.json) lies on the node."
        ),
    )
    service: ServiceOptions = service_options(
        ("nssm", "sc"),
        "V(nssm). flanneld does not speak to the service control manager, so V(sc) is refused.",
        start=start_option("Seconds within which flanneld must have its lease and its network.", 180),
        stop=stop_option(60),
        variable=Variable(
            "winkube_flannel_service",
            text="C(manager): only V(nssm); V(sc) is refused, since flanneld cannot be a service by itself."
            " C(start_timeout), C(stop_timeout): seconds.",
        ),
    )


INTERFACE = Interface(
    module="win_flannel",
    summary="Runs flanneld on a Windows node and configures CNI for it",
    task="Install and configure flannel",
    shared=("node", "golden_image", "pushed_builds", "drain", "cluster", "inbound", "nssm"),
    places=PLACES,
    options=FlannelOptions,
)
