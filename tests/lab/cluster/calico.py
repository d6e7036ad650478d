"""Calico as kubespray's manifests leave it, without an operator: source, kubespray at kubespray.COMMIT.

What its pods do on a Windows machine is in programs/calico_node.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.lab.cluster import kubespray
from tests.lab.cluster.custom import STORED, kind_of
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.store import Object, Store

DEFAULTS: dict[str, Any] = {
    "image": kubespray.CALICO_IMAGE.value,
    "backend": kubespray.CALICO_BACKEND.value,
    "datastore": "kdd",
    "vni": kubespray.CALICO_VNI.value,
    "port": kubespray.CALICO_PORT.value,
    "ipip": kubespray.CALICO_IPIP.value,
    "vxlan": kubespray.CALICO_VXLAN.value,
    "affinity": kubespray.CALICO_AFFINITY.value,
    "ebpf": kubespray.CALICO_EBPF.value,
    "ipam": "calico-ipam",
    "pool": kubespray.CALICO_POOL.value,
    "maps": ("calico-config", "kubernetes-services-endpoint"),
    "labels": {},
}
"""What `Settings.calico` may say otherwise."""
_RESOURCES = ["ippools", "ipamconfigs", "felixconfigurations", "ipamblocks", "blockaffinities", "clusterinformations"]


def fill(store: Store, pod_network: str, given: Mapping[str, Any]) -> None:
    """The objects in kube-system, and those of Calico's own group. KeyError for a setting that there is not."""
    if unknown := set(given) - set(DEFAULTS):
        raise KeyError(*unknown)
    found = {**DEFAULTS, **given}
    home = str(kubespray.CALICO_NAMESPACE.value)
    for account in ("calico-node", "calico-cni-plugin"):
        store.create(BY_NAME["ServiceAccount"], home, {"metadata": {"name": account}})
    rules = [
        {"apiGroups": [STORED], "resources": _RESOURCES, "verbs": ["get", "list", "watch", "create", "update"]},
        {"apiGroups": [""], "resources": ["nodes", "pods", "namespaces", "configmaps"], "verbs": ["get", "list"]},
        # Of nodes/status upstream; here an annotation is a Node's.
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]},
        {
            "apiGroups": [""],
            "resources": ["serviceaccounts/token"],
            "resourceNames": ["calico-cni-plugin"],
            "verbs": ["create"],
        },
    ]
    store.create(BY_NAME["ClusterRole"], "", {"metadata": {"name": "calico-node"}, "rules": rules})
    bound = {
        "metadata": {"name": "calico-node"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "calico-node"},
        "subjects": [{"kind": "ServiceAccount", "name": "calico-node", "namespace": home}],
    }
    store.create(BY_NAME["ClusterRoleBinding"], "", bound)
    maps = {"calico-config": _config(found), "kubernetes-services-endpoint": dict(kubespray.SERVICES_ENDPOINT.value)}
    for name in found["maps"]:
        data = maps[name]
        store.create(BY_NAME["ConfigMap"], home, {"metadata": {"name": name}, "data": data})
    store.create(BY_NAME["DaemonSet"], home, _linux_set(found))
    pool = {
        "cidr": pod_network,
        "blockSize": kubespray.CALICO_BLOCK.value,
        "ipipMode": found["ipip"],
        "vxlanMode": found["vxlan"],
        "natOutgoing": True,
    }
    for kind, name, spec in (
        ("IPPool", str(found["pool"]), pool),
        ("IPAMConfig", "default", {"autoAllocateBlocks": True, "strictAffinity": found["affinity"]}),
        ("FelixConfiguration", "default", {"bpfEnabled": found["ebpf"], "vxlanEnabled": found["vxlan"] != "Never"}),
    ):
        store.create(kind_of(STORED, kind), "", {"metadata": {"name": name}, "spec": spec})


def _config(found: Mapping[str, Any]) -> dict[str, str]:
    """The template of CNI's configuration is JSON but for the words that the image fills in."""
    etcd = {"etcd_endpoints": "https://192.168.122.10:2379"} if found["datastore"] == "etcd" else {}
    network = f'{{"name": "k8s-pod-network", "plugins": [{{"type": "calico", "ipam": {{"type": "{found["ipam"]}"}}}}]}}'
    return {
        **etcd,
        "cluster_type": str(kubespray.CALICO_CLUSTER_TYPE.value),
        "calico_backend": str(found["backend"]),
        "cni_network_config": network,
    }


def _linux_set(found: Mapping[str, Any]) -> Object:
    env = [
        {"name": "DATASTORE_TYPE", "value": "kubernetes"},
        {"name": "FELIX_VXLANVNI", "value": str(found["vni"])},
        {"name": "FELIX_VXLANPORT", "value": str(found["port"])},
        {"name": "NODEIP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
    ]
    pod: Object = {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "hostNetwork": True,
        "serviceAccountName": "calico-node",
        "containers": [{"name": "calico-node", "image": found["image"], "env": env}],
    }
    labels = {"k8s-app": "calico-node"}
    scheduled = dict.fromkeys(("currentNumberScheduled", "desiredNumberScheduled", "numberReady"), 1)
    return {
        "metadata": {"name": "calico-node", "labels": {**labels, **found["labels"]}},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        "status": {**scheduled, "numberMisscheduled": 0},
    }
