# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""flannel on Windows: its backends, what they are called in HNS, and what they insist on."""

from __future__ import annotations

from dataclasses import dataclass

from .version import Version

VNI = 4096
PORT = 4789


@dataclass(frozen=True, slots=True)
class Backend:
    """One of flannel's backends on Windows.

    `type` is its name in net-conf.json, `hns_type` that of the HNS network it makes, `delegate` the CNI plugin that
    it wants, `network` the name that kubernetes.io, v1.22, gives the network. `maturity`: as it says there.
    """

    type: str
    hns_type: str
    delegate: str
    network: str
    maturity: str
    source: str
    unverified: bool = False


BACKENDS: dict[str, Backend] = {
    "l2bridge": Backend(
        "host-gw",
        "L2Bridge",
        "win-bridge",
        "cbr0",
        "stable",
        "flannel v0.22 pkg/backend/hostgw/hostgw_windows.go: Type L2Bridge, Name cbr0 where none is given",
    ),
    "overlay": Backend(
        "vxlan",
        "Overlay",
        "win-overlay",
        "vxlan0",
        "beta; alpha in flannel's own words",
        "flannel v0.26 pkg/backend/vxlan/vxlan_windows.go and device_windows.go: Type Overlay, VNI at least 4096, port "
        "4789 alone, Name flannel.<VNI> where none is given; vxlan0 is kubernetes.io's name",
    ),
}
"""By winkube_network_mode."""


@dataclass(frozen=True, slots=True)
class NoBackend:
    """A driver of HNS that flannel has no backend for; `why` ends a sentence."""

    why: str
    source: str
    unverified: bool = False


OTHER_MODES: dict[str, NoBackend] = {
    "calico": NoBackend(
        "Calico's operator brings it",
        "tigera/operator pkg/render/windows.go",
    ),
    "l2tunnel": NoBackend(
        "Azure's own CNI plugin makes it",
        "kubernetes.io, Networking on Windows, table of network modes: l2tunnel is used by Azure-CNI",
    ),
    "transparent": NoBackend(
        "ovn-kubernetes makes it",
        "kubernetes.io, Networking on Windows, table of network modes: transparent is used by ovn-kubernetes",
    ),
    "nat": NoBackend(
        "it is not used by Kubernetes",
        "kubernetes.io, Networking on Windows, table of network modes: nat is not used in Kubernetes",
    ),
}
"""The other drivers that kubernetes.io names, and Calico, which has a mode of its own here."""


LOCAL_PODS_FROM = Version.parse("0.12.0")
"""The first flannel with which a node reaches its own pods over vxlan. Source: kubernetes.io v1.20, Intro to Windows
support, Flannel VXLAN (limitations)."""

NAMES_ADAPTER_FROM = Version.parse("0.24.1")
"""From this release on flanneld's vxlan asks HNS for a network on the very interface that has --iface's address. Where
a virtual switch is there already that is a vEthernet, which HNS refuses (Azure/azure-container-networking#184).
Source: flannel pkg/backend/vxlan/vxlan_windows.go (interfaceName: be.extIface.Iface.Name), device_windows.go
addNetAdapterName."""

NET_CONF = r"C:\etc\kube-flannel\net-conf.json"
"""Where flanneld looks if it is not told: /etc/kube-flannel/net-conf.json on the drive that the service's folder is on.

Source: flannel v0.22 main.go, net-config-path."""

NO_OVERLAY_BUILDS: dict[int, str] = {17134: "Windows Server, version 1803"}
"""Builds on which services have no working addresses with win-overlay. Source: kubernetes/enhancements, KEP 116."""

DEFAULT_PORT = 8472
"""Of vxlan on Linux, where net-conf.json has no Port. Source: flannel Documentation/backends.md, VXLAN."""
K3S, K3S_ARGS, K3S_CONF = "+k3s", "k3s.io/node-args", "--flannel-conf"
"""How the version of a kubelet of k3s ends; the annotation with its command line, its configuration file included, as
a JSON list; and the option that names a net-conf.json. Without it k3s writes one with VNI 1 and no Port. rke2's flannel
is a chart with a ConfigMap, in which VNI 4096 and Port 4789 stand.

Source: k3s-io/k3s 0ba4732c pkg/nodeconfig/nodeconfig.go (getNodeArgs), 638b0c47 pkg/agent/flannel/setup_linux.go;
rancher/rke2-charts 0161342c packages/rke2-flannel/generated-changes/patch/values.yaml.patch."""

CONFIG_MAPS: tuple[tuple[str, str], ...] = (("kube-flannel", "kube-flannel-cfg"), ("kube-system", "kube-flannel-cfg"))
"""Where flannel's manifest keeps net-conf.json, older ones in kube-system.

Source: flannel Documentation/kube-flannel.yml."""
