"""Clusters with Calico, in the lab's API server: what its operator has made, as far as Windows nodes need it."""

from __future__ import annotations

from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.calico.view import Wanted

from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.custom import OPERATOR, OWN, STORED, kind_of
from tests.lab.cluster.kinds import BY_NAME
from tests.unit.scheduling.objects import windows

WANTED = Wanted(
    pods="10.244.0.0/16",
    services=("10.96.0.0/12",),
    host="192.168.122.10",
    port="6443",
    bin_dir=r"C:\opt\cni\bin",
    conf_dir=r"C:\etc\cni\net.d",
)
POOL = {
    "cidr": "10.244.0.0/16",
    "encapsulation": "VXLAN",
    "blockSize": 26,
    "natOutgoing": "Enabled",
    "nodeSelector": "all()",
}
SPEC: dict[str, Any] = {
    "cni": {"type": "Calico", "ipam": {"type": "Calico"}},
    "serviceCIDRs": ["10.96.0.0/12"],
    "calicoNetwork": {"bgp": "Disabled", "windowsDataplane": "HNS", "ipPools": [POOL]},
}


def installation(spec: dict[str, Any] | None = None, version: str = "v3.31.7") -> dict[str, Any]:
    return {
        "metadata": {"name": "default"},
        "spec": SPEC if spec is None else spec,
        "status": {"calicoVersion": version, "variant": "Calico"} if version else {},
    }


def operator(lab: Cluster, namespace: str = "tigera-operator", *, served: bool = True) -> None:
    """The operator's Deployment and its CRDs; `served`: Calico's API server answers too."""
    lab.store.create(BY_NAME["Namespace"], "", {"metadata": {"name": namespace}})
    labels = {"name": "tigera-operator"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "operator", "image": "operator:1"}]}}
    # None of its pods: what it would do is in the objects already.
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    lab.store.create(BY_NAME["Deployment"], namespace, {"metadata": {"name": "tigera-operator"}, "spec": spec})
    lab.api.served |= {OPERATOR, STORED}
    if served:
        api_server(lab)


def api_server(lab: Cluster, available: str = "True", message: str = "all checks passed") -> None:
    lab.api.served.add(OWN)
    condition = {"type": "Available", "status": available, "message": message}
    body = {"metadata": {"name": "v3.projectcalico.org"}, "spec": {}, "status": {"conditions": [condition]}}
    lab.store.create(BY_NAME["APIService"], "", body)


def custom(lab: Cluster, name: str, spec: dict[str, Any], group: str = OWN, called: str = "default") -> None:
    lab.store.create(kind_of(group, name), "", {"metadata": {"name": called}, "spec": spec})


def endpoint(lab: Cluster, namespace: str = "tigera-operator", **data: str) -> None:
    given = data or {"KUBERNETES_SERVICE_HOST": "192.168.122.10", "KUBERNETES_SERVICE_PORT": "6443"}
    lab.store.create(
        BY_NAME["ConfigMap"], namespace, {"metadata": {"name": "kubernetes-services-endpoint"}, "data": given}
    )


def whole(lab: Cluster, spec: dict[str, Any] | None = None, version: str = "v3.31.7") -> None:
    """All that Windows needs, and two Windows nodes."""
    operator(lab)
    endpoint(lab)
    lab.store.create(kind_of(OPERATOR, "Installation"), "", installation(spec, version))
    custom(lab, "IPAMConfiguration", {"strictAffinity": True, "autoAllocateBlocks": True})
    custom(lab, "FelixConfiguration", {"vxlanVNI": 4096})
    lab.store.create(BY_NAME["Namespace"], "", {"metadata": {"name": "calico-system"}})
    lab.store.create(BY_NAME["DaemonSet"], "calico-system", {"metadata": {"name": "calico-node-windows"}, "spec": {}})
    for name in ("win1", "win2"):
        lab.store.create(BY_NAME["Node"], "", windows(name, 20348))
