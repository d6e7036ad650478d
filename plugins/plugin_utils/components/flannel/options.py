# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_flannel and the variables of the role flannel."""

from __future__ import annotations

from ..options import (
    NODE_ADDRESS,
    NODE_NAME,
    PROXY,
    Interface,
    Option,
    Variable,
    build_unverified_option,
    service_option,
    service_seconds,
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

INTERFACE = Interface(
    module="win_flannel",
    summary="Runs flanneld on a Windows node and configures CNI for it",
    task="Install and configure flannel",
    shared=("node", "golden_image", "pushed_builds", "drain", "cluster", "inbound", "nssm"),
    places=PLACES,
    options=(
        NODE_NAME,
        Option(
            "managed_by",
            "str",
            "Who runs flannel. With V(cluster) our own service, one that runs C(node.flanneld_binary), is "
            "stopped and removed; another of that name that runs is refused, and so is a cluster without a "
            "DaemonSet of a network for this node.",
            default="service",
            choices=("service", "cluster"),
            variable="winkube_cni_managed_by",
        ),
        Option(
            "version",
            "str",
            "The release of flannel, such as V(0.28.0).",
            default="0.28.0",
            variable=Variable("winkube_flannel_version"),
        ),
        Option(
            "source",
            "dict",
            "Where flanneld.exe comes from.",
            options=(
                Option(
                    "url",
                    "str",
                    "The program (C(.exe)), fetched by the node.",
                    default="https://github.com/flannel-io/flannel/releases/download/v0.28.0/flanneld.exe",
                    variable=Variable(
                        "winkube_flannel_url",
                        "{{ winkube_downloads }}github.com/flannel-io/flannel/releases/download/v{{ "
                        "winkube_flannel_version | regex_replace('^v') }}/flanneld.exe",
                        shown="the release's C(flanneld.exe)",
                    ),
                ),
                Option(
                    "checksum",
                    "str",
                    (
                        ("V(sha256:) and 64 hex digits, or the https address of a sum file. flannel publishes none."),
                        "Without one the source is refused, unless O(allow_unverified) names C(flanneld).",
                    ),
                    default="",
                    variable=Variable("winkube_flannel_checksum", "{{ winkube_download_sums }}", shown="none"),
                ),
                PROXY,
            ),
        ),
        build_unverified_option("flanneld"),
        Option(
            "kubernetes_version",
            "str",
            "The release of Kubernetes, empty if not known. Decides whether there can be dockershim.",
            default="",
            variable="winkube_kubernetes_version",
        ),
        Option(
            "plugins_version",
            "str",
            "The release of the CNI plugins on the node. Decides which O(cni_version) they take.",
            default="1.9.0",
            variable="winkube_cni_plugins_version",
        ),
        Option(
            "network_mode",
            "str",
            "V(l2bridge) is flannel's host-gw, V(overlay) its vxlan with VNI 4096 and port 4789. flannel "
            "has no backend for V(l2tunnel), V(transparent) and V(nat), which are refused.",
            default="l2bridge",
            variable="winkube_network_mode",
        ),
        Option(
            "network_name",
            "str",
            "The HNS network that flanneld makes. Empty for V(cbr0) (l2bridge) or V(vxlan0) (overlay).",
            default="",
            variable="winkube_overlay_network_name if winkube_network_mode == 'overlay' else 'cbr0'",
        ),
        Option(
            "cluster_cidr",
            "str",
            "The pods' network, flannel's Network.",
            default="10.244.0.0/16",
            variable="winkube_cluster_cidr",
        ),
        Option(
            "service_cidr", "str", "The services' network.", default="10.96.0.0/12", variable="winkube_service_cidr"
        ),
        Option(
            "dns_service_ip",
            "str",
            "The address of the cluster's DNS, in O(service_cidr).",
            default="10.96.0.10",
            variable="winkube_dns_service_ip",
        ),
        Option(
            "cluster_domain",
            "str",
            "The cluster's domain; pods search C(svc.) and this one.",
            default="cluster.local",
            variable="winkube_cluster_domain",
        ),
        *NODE_ADDRESS,
        Option(
            "api_server",
            "str",
            (
                (
                    "Where the node reaches the API server, such as V(10.0.0.1:6443). The virtual switch is "
                    "kept only if it answers."
                ),
                "Empty for the address in O(cluster.kubeconfig); without that the run does not wait for it.",
            ),
            default="",
            variable="winkube_api_server",
        ),
        Option(
            "exception_list",
            "list",
            "Networks outside the cluster that pods reach with their own address, besides O(cluster_cidr), "
            "O(service_cidr) and, in l2bridge, the subnet of the node's address.",
            default=[],
            elements="str",
            variable=Variable("winkube_exception_list"),
        ),
        Option(
            "external_targets",
            "list",
            "Addresses outside the cluster that pods must reach. A warning if an exception covers one of them.",
            default=[],
            elements="str",
            variable=Variable("winkube_external_targets"),
        ),
        Option(
            "runtime",
            "str",
            "The runtime that C(cni.conf) is written for. V(dockershim) is refused from Kubernetes 1.24 on.",
            default="containerd",
            choices=("containerd", "dockershim"),
            variable="winkube_container_runtime",
        ),
        Option(
            "cni_version",
            "str",
            "C(cniVersion) in C(cni.conf). Empty for the best that the plugins take.",
            default="",
            variable=Variable("winkube_cni_version", shown="by release of the plugins"),
        ),
        Option(
            "dsr",
            "bool",
            "Whether kube-proxy uses direct server return. C(cni.conf) then has C(loopbackDSR), without which no pod "
            "reaches itself by its Service.",
            default=False,
            variable="winkube_kube_proxy_dsr | default(false)",
        ),
        Option(
            "conf_template",
            "path",
            (
                (
                    "A Jinja2 template of C(cni.conf), looked for in the role and then along the usual search "
                    "path. It gets the variable C(cni)."
                ),
                "Its output is checked before anything is sent.",
            ),
            default="cni.conf.j2",
            variable=Variable("winkube_cni_conf_template"),
        ),
        Option(
            "net_conf",
            "str",
            "Where C(net-conf.json) lies on the node.",
            default="C:\\etc\\kube-flannel\\net-conf.json",
            variable=Variable(
                "winkube_flannel_net_conf", text="Where flannel's configuration (net-conf.json) lies on the node."
            ),
        ),
        service_option(
            ("nssm", "sc"),
            "V(nssm). flanneld does not speak to the service control manager, so V(sc) is refused.",
            *service_seconds("Seconds within which flanneld must have its lease and its network.", 180, 60),
            variable=Variable(
                "winkube_flannel_service",
                text="C(manager): only V(nssm); V(sc) is refused, since flanneld cannot be a service by itself."
                " C(start_timeout), C(stop_timeout): seconds.",
            ),
        ),
    ),
)
