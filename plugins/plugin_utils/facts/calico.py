# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calico on Windows with VXLAN: which releases go together, how its programs are started, and what Windows cannot do.

Sources: tigera/operator 40788b9b (2026-08-21) and its branches release-v1.32 to v1.44; projectcalico/calico 87c15906
(2026-08-22) and its tags; tigera/docs of that week, the folders calico_versioned_docs/version-3.29 to 3.32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .version import Line

OPERATOR_FROM: Final = Line(3, 27)
"""The first Calico with images for HostProcess pods, which its operator runs. Source: tigera/docs, Calico for Windows,
Requirements, Linux platform requirements; operator release-v1.32 pkg/render/windows.go."""

KUBERNETES_FROM: Final = Line(1, 22)
CONTAINERD_FROM: Final = "1.6.0"
"""Source: tigera/docs, Calico for Windows, Requirements, Operator install requirements."""


@dataclass(frozen=True, slots=True)
class Release:
    """A line of Calico: the operator's line and the lines of Kubernetes that Calico names as tested with it. The last
    two are empty where no page of it could be read."""

    calico: Line
    operator: Line
    kubernetes: tuple[Line, ...]


def _lines(first: int, last: int) -> tuple[Line, ...]:
    return tuple(Line(1, minor) for minor in range(first, last + 1))


RELEASES: Final[tuple[Release, ...]] = (
    Release(Line(3, 27), Line(1, 32), ()),
    Release(Line(3, 28), Line(1, 34), ()),
    Release(Line(3, 29), Line(1, 36), _lines(29, 32)),
    Release(Line(3, 30), Line(1, 38), _lines(31, 35)),
    Release(Line(3, 31), Line(1, 40), _lines(32, 35)),
    Release(Line(3, 32), Line(1, 42), _lines(34, 36)),
)
"""Sources: operator config/calico_versions.yml of each branch; tigera/docs _includes/partials/_system-requirements.mdx,
Supported versions. 3.27, 3.28: their pages are no longer kept there, so their Kubernetes is unverified."""

BUILDS: Final = {17763: 1432, 20348: 169}
"""Build of Windows: its least revision. Windows Server 2025 (26100) stands on no page of Calico: unverified. Source:
tigera/docs, Calico for Windows, Requirements, Windows platform requirements."""

LEAST_VNI: Final = 4096
PORT: Final = 4789
"""Of VXLAN. Windows takes no smaller VNI and no other port. Sources: calico cni-plugin/pkg/dataplane/windows
ensureVxlanNetworkExists (error), felix/dataplane/windows/vxlan_mgr.go; tigera/docs, Requirements, Calico VXLAN."""

RESERVED: Final = 4
"""Addresses of each block that Windows keeps; a Windows node has one block. Source: tigera/docs, Limitations."""

CNI_BIN_DIR: Final = "/opt/cni/bin"
CNI_CONF_DIR: Final = "/etc/cni/net.d"
"""Source: operator pkg/render/windows.go, DefaultWindowsCNIDirectories."""

PROVIDER_DIRS: Final = {
    "AKS": ("/k/azurecni/bin", "/k/azurecni/netconf"),
    "EKS": ("/Program Files/Amazon/EKS/cni", "/Program Files/Amazon/EKS/cni/config"),
}
"""Those of other values of kubernetesProvider, likewise."""

NETWORK: Final = "Calico"
ENDPOINT: Final = "Calico_ep"
"""The HNS network of the pods, and the host's endpoint on it, which has kube-proxy's source VIP. Sources: operator
windowsCNIConfigMap (name, windows_use_single_network); calico SetupVxlanNetwork."""

ENDPOINT_MAP: Final = "kubernetes-services-endpoint"
HOST_KEY: Final = "KUBERNETES_SERVICE_HOST"
PORT_KEY: Final = "KUBERNETES_SERVICE_PORT"
"""The ConfigMap beside the operator that tells HostProcess pods where the API server is: no kube-proxy runs there yet.
Source: operator pkg/controller/installation/validation.go, pkg/controller/utils GetK8sServiceEndPoint."""

NAMESPACE: Final = "calico-system"
DAEMON_SET: Final = "calico-node-windows"
STATUS: Final = "calico-windows"
"""Source: operator pkg/common (CalicoNamespace, WindowsDaemonSetName); windows_controller.go, the name of its
TigeraStatus."""


LINUX_SET: Final = "calico-node"
LINUX_CONTAINER: Final = "calico-node"
CONFIG_MAP: Final = "calico-config"
BACKEND_KEY: Final = "calico_backend"
ETCD_KEY: Final = "etcd_endpoints"
CNI_KEY: Final = "cni_network_config"
"""What Calico's manifests, and kubespray's, make for Linux nodes: a DaemonSet with one container, and the ConfigMap
beside it. Sources: calico charts/calico/templates/calico-node.yaml, calico-config.yaml; kubespray 46dbdd3
roles/network_plugin/calico/templates."""

ACCOUNT: Final = "calico-node"
"""The DaemonSet's ServiceAccount, which also may make tokens for calico-cni-plugin. Source: likewise, calico-cr.yml."""

NODE_IMAGE: Final = ("/node", "/node-windows")
CNI_IMAGE: Final = ("/node", "/cni-windows")
"""The end of the Linux image's repository, and of the Windows image of the same tag. Source: operator
pkg/components/calico.go of each branch from release-v1.32 on."""

PROXY: Final = "kube-proxy-windows"
"""The DaemonSet of kube-proxy on Windows nodes. Source: kubernetes-sigs/sig-windows-tools 401ee6fc
hostprocess/calico/kube-proxy/kube-proxy.yml."""

MOUNT: Final = "$env:CONTAINER_SANDBOX_MOUNT_POINT"


@dataclass(frozen=True, slots=True)
class Programs:
    """How the images' programs are started, from a release on."""

    since: Line
    install: tuple[str, ...]
    alive: tuple[str, ...]
    ready: tuple[str, ...]
    stop: tuple[str, ...]


_NODE: Final = f"{MOUNT}/CalicoWindows/calico-node.exe"
_ONE: Final = (f"{MOUNT}/CalicoWindows/calico.exe", "component", "node")
PROGRAMS: Final = (
    Programs(
        Line(3, 27),
        (f"{MOUNT}/opt/cni/bin/install.exe",),
        (_NODE, "-felix-live"),
        (_NODE, "-felix-ready"),
        (_NODE, "-shutdown"),
    ),
    Programs(
        Line(3, 33),
        (f"{MOUNT}/opt/cni/bin/calico.exe", "component", "cni", "install"),
        (*_ONE, "health", "--felix-live"),
        (*_ONE, "health", "--felix-ready"),
        (*_ONE, "shutdown"),
    ),
)
"""Source: operator pkg/render/windows.go of release-v1.32 to v1.42 (3.27 to 3.32) and release-v1.44 (3.33)."""


def programs(calico: Line) -> Programs:
    """The row of a release that has images for Windows."""
    return next(row for row in reversed(PROGRAMS) if row.since <= calico)


MODE: Final = "calico"
"""What winkube_network_mode is called."""


def hns_mode(mode: str) -> str:
    """The kind of HNS network that a winkube_network_mode stands for: Calico's with VXLAN is an overlay."""
    return "overlay" if mode == MODE else mode


def release(calico: Line) -> Release | None:
    """The row of a line of Calico; None for one that is not known here."""
    return next((each for each in RELEASES if each.calico == calico), None)
