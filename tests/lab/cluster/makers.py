"""Who made a cluster, and what that leaves in it: each fact with repository, path and commit. kubespray's values are in
kubespray.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.lab.cluster import kubespray

Binding = tuple[str, str, str]
"""Name of a ClusterRoleBinding, its ClusterRole, the group."""

_CSR = "system:certificates.k8s.io:certificatesigningrequests"


@dataclass(frozen=True)
class Maker:
    """kubeadm: its ConfigMaps and bindings are there. two_cas: callers' certificates are of another CA than the API
    server's, and it verifies those of kubelets. flannel_map: flannel has its ConfigMap. network: whose it is on Linux
    nodes, as long as nobody says otherwise; windows_sets: DaemonSets for
    Windows nodes, of the network and kube-proxy. settings: of seed.Settings."""

    kubeadm: bool = True
    two_cas: bool = False
    flannel_map: bool = True
    network: str = "flannel"
    bindings: tuple[Binding, ...] = ()
    windows_sets: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)


K3S_REPOSITORY, K3S_COMMIT = "k3s-io/k3s", "0103601430f963d88c1cce3ced48a606512aafb0"
"""pkg/daemons/control/server.go: client-ca-file is ClientCA, kubelet-certificate-authority ServerCA, anonymous-auth
false; cluster-signing-kubelet-serving by ServerCA, the others by ClientCA; ranges 10.42.0.0/16 and 10.43.0.0/16, DNS
10.43.0.10. manifests/rolebindings.yaml has no binding for bootstrap tokens. rke2 starts k3s' server."""
K0S_REPOSITORY, K0S_COMMIT = "k0sproject/k0s", "00c15fe3fabef40589dd96c8f1dbac0270821b75"
"""pkg/component/controller/apiserver.go: enable-bootstrap-token-auth, one CA. Ranges, unverified at this commit:
10.244.0.0/16 and 10.96.0.0/12."""

_K3S: dict[str, Any] = {
    "anonymous": "off",
    "pod_network": "10.42.0.0/16",
    "service_network": "10.43.0.0/16",
    "dns_address": "10.43.0.10",
}
ALL = {
    "kubeadm": Maker(),
    "kubespray": Maker(network=str(kubespray.NETWORK_PLUGIN.value), settings=dict(kubespray.SETTINGS)),
    "k3s": Maker(kubeadm=False, two_cas=True, flannel_map=False, settings=_K3S),
    "rke2": Maker(kubeadm=False, two_cas=True, settings=_K3S),
    "k0s": Maker(
        kubeadm=False,
        flannel_map=False,
        # pkg/component/controller/systemrbac.go at K0S_COMMIT; unverified, as known from its clusters.
        bindings=(
            ("kubelet-bootstrap", "system:node-bootstrapper", "system:bootstrappers"),
            ("node-autoapprove-bootstrap", f"{_CSR}:nodeclient", "system:bootstrappers"),
            ("node-autoapprove-certificate-rotation", f"{_CSR}:selfnodeclient", "system:nodes"),
        ),
        # Its Calico (VXLAN) and kube-proxy for Windows come by themselves; the names are unverified.
        windows_sets=("calico-node-windows", "kube-proxy-windows"),
    ),
}
