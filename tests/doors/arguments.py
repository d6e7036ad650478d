"""What the components are told, and the cluster that they ask."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.unit.components.test_given_options import options

SUM = f"sha256:{'a' * 64}"


def _source(name: str, version: str = "") -> dict[str, Any]:
    return {
        "url": f"https://example.com/{name}",
        "checksum": SUM,
        "proxy": "",
        **({"version": version} if version else {}),
    }


OF_MODULE: dict[str, dict[str, Any]] = {
    "win_containerd": {"version": "2.3.7", "source": _source("containerd.tar.gz")},
    "win_cni": {"version": "1.9.0", "source": _source("cni.tgz"), "allow_unverified": ["flannel-cni"]},
    "win_kubelet": {"version": "1.37.1"},
    "win_kube_proxy": {"version": "1.37.1"},
    "win_k8s_join": {"version": "1.37.1", "node_name": "win2"},
    "win_fluent_bit": {"outputs": [{"name": "stdout"}], "source": _source("fluent-bit.zip")},
    "win_node_problem_detector": {"source": _source("npd.tar.gz")},
}
CONF = {
    "name": "vxlan0",
    "cniVersion": "0.3.0",
    "type": "flannel",
    "capabilities": {"portMappings": True, "dns": True},
    "delegate": {
        "type": "win-overlay",
        "apiVersion": 2,
        "policies": [
            {
                "name": "EndpointPolicy",
                "value": {"type": "OutBoundNAT", "settings": {"exceptions": ["10.244.0.0/16", "10.96.0.0/12"]}},
            },
            {
                "name": "EndpointPolicy",
                "value": {
                    "type": "SDNRoute",
                    "settings": {"destinationPrefix": "10.96.0.0/12", "needEncap": True},
                },
            },
            {"name": "EndpointPolicy", "value": {"type": "ProviderAddress"}},
        ],
    },
}
TEMPLATES = {"flanneld": json.dumps(CONF), "containerd": "version = 3\n", "fluent_bit": "[SERVICE]\n"}


def arguments(module: str) -> dict[str, Any]:
    """The module's options."""
    return options(module, cluster_cidr="10.244.0.0/16", service_cidr="10.96.0.0/12", **OF_MODULE.get(module, {}))


def rendered(component: str) -> Callable[[dict[str, Any]], str]:
    """What a component's template yields."""
    return lambda _variables: TEMPLATES.get(component, "{}")


KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
DOCUMENTS: dict[tuple[str, str], dict[str, Any]] = {
    ("kubeadm-config", "ClusterConfiguration"): {
        "networking": {"serviceSubnet": "10.96.0.0/12", "podSubnet": "10.244.0.0/16", "dnsDomain": "cluster.local"},
        "certificatesDir": "/etc/kubernetes/pki",
        "featureGates": {"NodeLocalCRISocket": True},
    },
    ("kubelet-config", "kubelet"): {
        "clusterDomain": "cluster.local",
        "clusterDNS": ["10.96.0.10"],
        "staticPodPath": "/etc/kubernetes/manifests",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "featureGates": {"NodeLogQuery": True},
    },
    ("kube-flannel-cfg", "net-conf.json"): {
        "Network": "10.244.0.0/16",
        "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789, "DirectRouting": False, "GBP": False},
    },
}
"""The documents in ConfigMaps of kube-system: by name and key."""
OF_READING: dict[str, dict[str, Any]] = {
    f"{KUBE_SYSTEM}/services/kube-dns": {
        "kind": "Service",
        "metadata": {"name": "kube-dns", "labels": {"k8s-app": "kube-dns"}},
        "spec": {"clusterIP": "10.96.0.10"},
    },
    "/api/v1/namespaces/default/services/kubernetes": {
        "kind": "Service",
        "metadata": {"name": "kubernetes"},
        "spec": {"clusterIP": "10.96.0.1"},
    },
    "/apis/networking.k8s.io/v1/servicecidrs/kubernetes": {
        "kind": "ServiceCIDR",
        "metadata": {"name": "kubernetes"},
        "spec": {"cidrs": ["10.96.0.0/12"]},
    },
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes": {
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "endpoints": [{"addresses": ["10.0.0.4"]}],
        "ports": [{"name": "https", "port": 6443}],
    },
    "/apis/authorization.k8s.io/v1/subjectaccessreviews": {
        "kind": "SubjectAccessReview",
        "metadata": {},
        "status": {"allowed": True},
    },
    f"{KUBE_SYSTEM}/configmaps/extension-apiserver-authentication": {
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication"},
        "data": {"client-ca-file": "pem"},
    },
}
"""What the reading of a cluster asks for besides."""

CA = {"certificate-authority-data": "cGVt"}
API_OBJECTS: dict[str, dict[str, Any]] = {
    "/version": {"major": "1", "minor": "37", "gitVersion": "v1.37.1"},
    "/api/v1/nodes/lin1": {
        "kind": "Node",
        "metadata": {"name": "lin1", "labels": {"kubernetes.io/os": "linux"}, "uid": "u-1"},
        "spec": {"podCIDR": "10.244.0.0/24"},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.4"}],
            "nodeInfo": {"operatingSystem": "linux"},
        },
    },
    "/api/v1/nodes/win1": {
        "kind": "Node",
        "metadata": {"name": "win1", "labels": {"kubernetes.io/os": "windows"}, "resourceVersion": "7"},
        "spec": {"podCIDR": "10.244.3.0/24", "taints": [{"key": "os", "value": "windows", "effect": "NoSchedule"}]},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.21"}, {"type": "Hostname", "address": "win1"}],
            "allocatable": {"memory": "16Gi", "cpu": "4"},
        },
    },
    "/api/v1/namespaces/kube-public/configmaps/cluster-info": {
        "kind": "ConfigMap",
        "metadata": {"name": "cluster-info", "namespace": "kube-public"},
        "data": {
            "kubeconfig": json.dumps(
                {
                    "clusters": [
                        {
                            "name": "",
                            "cluster": {"server": "https://10.0.0.4:6443", "certificate-authority-data": "cGVt"},
                        }
                    ]
                }
            )
        },
    },
    "/apis/discovery.k8s.io/v1/endpointslices/kubernetes": {
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "labels": {"kubernetes.io/service-name": "kubernetes"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.0.0.4"], "conditions": {"ready": True}}],
        "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}],
    },
    "/apis/apps/v1/daemonsets/kube-flannel": {
        "kind": "DaemonSet",
        "metadata": {"name": "kube-flannel", "namespace": "kube-flannel"},
        "spec": {
            "template": {
                "spec": {
                    "nodeSelector": {"kubernetes.io/os": "linux"},
                    "containers": [{"name": "kube-flannel", "image": "flannel:v0.27", "args": ["--kube-subnet-mgr"]}],
                }
            }
        },
        "status": {"desiredNumberScheduled": 1},
    },
}
