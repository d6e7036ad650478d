"""What kubespray's defaults put into a cluster, where that differs from kubeadm's: values alone, each with the file
that sets it, at REPOSITORY and COMMIT. kubespray runs `kubeadm init`, so what it leaves out is kubeadm's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

REPOSITORY, COMMIT = "kubernetes-sigs/kubespray", "46dbdd3994b32640bcd806b0097f50e8fdf1d514"
_DEFAULTS = "roles/kubespray_defaults/defaults/main/main.yml"
_KUBEADM = "roles/kubernetes/control-plane/templates/kubeadm-config.v1beta4.yaml.j2"
_FLANNEL = "roles/network_plugin/flannel/templates/cni-flannel.yml.j2"


@dataclass(frozen=True)
class Recorded:
    """`template` writes the value into the cluster, `variable` of `defaults` is where it comes from."""

    value: Any
    template: str
    variable: str = ""
    defaults: str = _DEFAULTS


CERTIFICATES = Recorded("/etc/kubernetes/ssl", _KUBEADM, "kube_cert_dir")
"""ClusterConfiguration.certificatesDir, of which kubeadm makes clientCAFile."""
CLUSTER_NAME = Recorded("cluster.local", _KUBEADM, "cluster_name")
POD_NETWORK = Recorded("10.233.64.0/18", _KUBEADM, "kube_pods_subnet")
SERVICE_NETWORK = Recorded("10.233.0.0/18", _KUBEADM, "kube_service_addresses")
DOMAIN = Recorded("cluster.local", _KUBEADM, "dns_domain")
NODELOCALDNS = Recorded("169.254.25.10", _KUBEADM, "nodelocaldns_ip")
"""KubeletConfiguration.clusterDNS, as enable_nodelocaldns is true."""
NODELOCALDNS_MAP = Recorded("nodelocaldns", "roles/kubernetes-apps/ansible/templates/nodelocaldns-config.yml.j2")
DNS_ADDRESS = Recorded("10.233.0.3", "roles/kubernetes-apps/ansible/templates/coredns-svc.yml.j2", "skydns_server")
DNS_SERVICE = Recorded("coredns", "roles/kubernetes-apps/ansible/templates/coredns-svc.yml.j2")
"""kubeadm's own Service is kube-dns."""
FAIL_CGROUP_V1 = Recorded(True, _KUBEADM, "kubelet_fail_cgroup_v1")
"""KubeletConfiguration.failCgroupV1, from Kubernetes 1.35 on."""
PROXY_MODE = Recorded("ipvs", _KUBEADM, "kube_proxy_mode")
PROXY_HEALTHZ = Recorded(
    "0.0.0.0:10256",
    _KUBEADM,
    "kube_proxy_healthz_bind_address",
    "roles/kubernetes/control-plane/defaults/main/kube-proxy.yml",
)
FLANNEL_NAMESPACE = Recorded("kube-system", _FLANNEL)
"""flannel's own manifest has kube-flannel."""
FLANNEL_DAEMON_SET = Recorded("kube-flannel", _FLANNEL)
DIRECT_ROUTING = Recorded(
    False, _FLANNEL, "flannel_vxlan_direct_routing", "roles/network_plugin/flannel/defaults/main.yml"
)

SETTINGS: dict[str, Any] = {
    "maker": "kubespray",
    "pod_network": POD_NETWORK.value,
    "service_network": SERVICE_NETWORK.value,
    "dns_address": DNS_ADDRESS.value,
    "domain": DOMAIN.value,
}
"""Of `seed.Settings`. resolvConf stays kubeadm's: kubespray's own lies on the Linux nodes, not in the cluster."""
