"""Who made a cluster, and what that leaves in it: each fact with repository, path and commit. kubespray's values are in
kubespray.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.lab.cluster import k0s, kubespray

Binding = tuple[str, str, str]
"""Name of a ClusterRoleBinding, its ClusterRole, the group."""


@dataclass(frozen=True)
class Maker:
    """kubeadm: its ConfigMaps and bindings are there. two_cas: callers' certificates are of another CA than the API
    server's. verifies: API servers verify the certificates of kubelets, approves: the maker approves them itself.
    flannel_map: flannel has its ConfigMap. network: whose it is on Linux nodes, as long as nobody says otherwise.
    settings: of seed.Settings."""

    kubeadm: bool = True
    two_cas: bool = False
    verifies: bool = False
    approves: bool = False
    flannel_map: bool = True
    suffix: str = ""
    """Of the versions that its nodes tell."""
    network: str = "flannel"
    bindings: tuple[Binding, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


K3S_REPOSITORY, K3S_COMMIT = "k3s-io/k3s", "0103601430f963d88c1cce3ced48a606512aafb0"
"""pkg/daemons/control/server.go: client-ca-file is ClientCA, kubelet-certificate-authority ServerCA, anonymous-auth
false; cluster-signing-kubelet-serving by ServerCA, the others by ClientCA; ranges 10.42.0.0/16 and 10.43.0.0/16, DNS
10.43.0.10. manifests/rolebindings.yaml has no binding for bootstrap tokens. rke2 starts k3s' server."""
TUNNEL = K3S_REPOSITORY, "04fc08a77a83292dd0d77d94d37a1acb69414928"
"""pkg/daemons/control/tunnel.go, dialBackend: a kubelet is dialled through its agent's tunnel alone, unless
--egress-selector-mode is disabled; pkg/cli/cmds/server.go: the default is agent, also of rke2 (pkg/cli/cmds/server.go,
copyFlag)."""

_K3S: dict[str, Any] = {
    "anonymous": "off",
    "tunnel": True,
    "pod_network": "10.42.0.0/16",
    "service_network": "10.43.0.0/16",
    "dns_address": "10.43.0.10",
}
ALL = {
    "kubeadm": Maker(),
    "kubespray": Maker(network=str(kubespray.NETWORK_PLUGIN.value), settings=dict(kubespray.SETTINGS)),
    "k3s": Maker(kubeadm=False, two_cas=True, verifies=True, flannel_map=False, suffix="+k3s1", settings=_K3S),
    "rke2": Maker(kubeadm=False, two_cas=True, verifies=True, suffix="+rke2r1", settings=_K3S),
    "k0s": Maker(
        kubeadm=False,
        verifies=True,
        approves=True,
        flannel_map=False,
        network="calico",
        bindings=k0s.BINDINGS,
        settings=k0s.SETTINGS,
    ),
}
