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
_CALICO = "roles/network_plugin/calico_defaults/defaults/main.yml"
_CALICO_TASKS = "roles/network_plugin/calico/tasks/install.yml"
_CALICO_NODE = "roles/network_plugin/calico/templates/calico-node.yml.j2"
_CALICO_CONFIG = "roles/network_plugin/calico/templates/calico-config.yml.j2"
NETWORK_PLUGIN = Recorded("calico", "inventory/sample/group_vars/k8s_cluster/k8s-cluster.yml", "kube_network_plugin")
CALICO_IMAGE = Recorded(
    "quay.io/calico/node:v3.31.7",
    _CALICO_NODE,
    "calico_node_image_repo",
    "roles/kubespray_defaults/defaults/main/download.yml",
)
"""calico_version is the first key of calicoctl_binary_checksums in roles/kubespray_defaults/vars/main/checksums.yml."""
CALICO_NAMESPACE = Recorded("kube-system", _CALICO_NODE)
CALICO_BACKEND = Recorded("vxlan", _CALICO_CONFIG, "calico_network_backend", _CALICO)
CALICO_CLUSTER_TYPE = Recorded("kubespray", _CALICO_CONFIG)
CALICO_VNI = Recorded(4096, _CALICO_NODE, "calico_vxlan_vni", _CALICO)
CALICO_PORT = Recorded(4789, _CALICO_NODE, "calico_vxlan_port", _CALICO)
CALICO_POOL = Recorded("default-pool", _CALICO_TASKS, "calico_pool_name", _CALICO)
CALICO_IPIP = Recorded("Never", _CALICO_TASKS, "calico_ipip_mode", _CALICO)
CALICO_VXLAN = Recorded("Always", _CALICO_TASKS, "calico_vxlan_mode", _CALICO)
CALICO_BLOCK = Recorded(26, _CALICO_TASKS, "calico_pool_blocksize", _CALICO)
CALICO_AFFINITY = Recorded(
    False, "roles/network_plugin/calico/templates/calico-ipamconfig.yml.j2", "calico_ipam_strictaffinity", _CALICO
)
CALICO_EBPF = Recorded(False, _CALICO_TASKS, "calico_bpf_enabled", _CALICO)
PROXY_SERVER = Recorded("https://127.0.0.1:6443", "roles/kubernetes/kubeadm/tasks/main.yml")
"""Of the ConfigMap kube-proxy's kubeconfig, where no load balancer stands before the control planes."""
SERVICES_ENDPOINT = Recorded(
    {"KUBERNETES_SERVICE_HOST": "localhost", "KUBERNETES_SERVICE_PORT": "6443"},
    "roles/network_plugin/calico/templates/kubernetes-services-endpoint.yml.j2",
    "kube_apiserver_global_endpoint",
)
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
