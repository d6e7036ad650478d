"""What k0s puts into a cluster whose network is its Calico: each fact with its file at REPOSITORY and COMMIT."""

from __future__ import annotations

from typing import Any

from tests.lab.cluster.store import Object

REPOSITORY, COMMIT = "k0sproject/k0s", "dff90cee9a6e8e22c6d0f3efef0f9a77fc223be4"
STACK = "k0s.k0sproject.io/stack"
"""A label of every object that k0s applies, which it applies again. pkg/applier/meta.go."""
LOOKS_S = 60.0
"""How often it looks whether there are Windows nodes: the DaemonSets for them come after the first.
pkg/component/controller/windowsstackcomponent.go."""
CALICO: dict[str, Any] = {
    "image": "quay.io/k0sproject/calico-node:v3.32.1-0",
    "pool": "default-ipv4-ippool",
    "affinity": True,
    "maps": (),
    "labels": {STACK: "calico"},
}
"""Of `calico.DEFAULTS`. static/manifests/calico: IPAMConfig/default.yaml, DaemonSet/calico-node.yaml (the pool by its
variables), ConfigMap/calico-config.yaml, which is a comment; pkg/constant/constant.go."""
SETTINGS: dict[str, Any] = {"anonymous": "off", "calico": CALICO}
"""pkg/component/controller/apiserver.go, apiDefaultArgs; the ranges are kubeadm's, pkg/apis/k0s/v1beta1/network.go."""
_CSR = "system:certificates.k8s.io:certificatesigningrequests"
BINDINGS = (
    ("kubelet-bootstrap", "system:node-bootstrapper", "system:bootstrappers"),
    ("node-autoapprove-bootstrap", f"{_CSR}:nodeclient", "system:bootstrappers"),
    ("node-autoapprove-certificate-rotation", f"{_CSR}:selfnodeclient", "system:nodes"),
)
"""pkg/component/controller/systemrbac.yaml."""
APPROVED = "Autoapproved by K0s CSRApprover"
"""It approves kubelets' serving certificates, since API servers verify them. pkg/component/controller/csrapprover.go,
apiserver.go (kubelet-certificate-authority)."""
PROXY = "kube-proxy"


def proxy_config(server: str) -> dict[str, str]:
    """Of the ConfigMap kube-proxy. pkg/component/controller/kubeproxy.go, toConfigMap."""
    account = "/var/run/secrets/kubernetes.io/serviceaccount"
    return {
        "kubeconfig.conf": "apiVersion: v1\nkind: Config\ncurrent-context: default\n"
        f"clusters: [{{name: local, cluster: {{server: '{server}', certificate-authority: {account}/ca.crt}}}}]\n"
        "contexts: [{name: default, context: {cluster: local, user: user}}]\n"
        f"users: [{{name: user, user: {{tokenFile: {account}/token}}}}]\n"
    }


def windows_sets(version: str, host: str, port: int, services: str, dns: str) -> tuple[Object, ...]:
    """static/manifests/calico/DaemonSet/calico-node-windows.yaml, windows/DaemonSet/kube-proxy-windows.yaml: what of
    them their programs read."""
    server = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": str(port), "VXLAN_VNI": "4096"}
    folders = {"cni-bin-dir": "/host/opt/cni/bin", "cni-net-dir": "/host/etc/cni/net.d"}
    mounts = [{"name": name, "mountPath": path} for name, path in folders.items()]
    image = "docker.io/calico/node-windows:v3.32.1"
    install = {
        "name": "install-cni",
        "image": "docker.io/calico/cni-windows:v3.32.1",
        "env": [
            *_env(CNI_CONF_NAME="10-calico.conflist", KUBERNETES_DNS_SERVERS=dns, KUBERNETES_SERVICE_CIDRS=services),
            *_env(**server),
            _node_name("KUBERNETES_NODE_NAME"),
        ],
        "volumeMounts": mounts,
    }
    calico = {
        "serviceAccountName": "calico-node",
        "initContainers": [{"name": "uninstall-calico", "image": image, "volumeMounts": mounts}, install],
        "containers": [
            {"name": name, "image": image, "env": [*_env(**server), _node_name("NODENAME")]}
            for name in ("felix", "node")
        ],
        "volumes": [
            {"name": "cni-bin-dir", "hostPath": {"path": "/opt/cni/bin"}},
            {"name": "cni-net-dir", "hostPath": {"path": "/etc/cni/net.d"}},
        ],
    }
    proxy = {
        "serviceAccountName": "kube-proxy",
        "containers": [
            {
                "name": "kube-proxy",
                "image": f"docker.io/sigwindowstools/kube-proxy:v{version}-calico-hostprocess",
                "volumeMounts": [{"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"}],
            }
        ],
        "volumes": [{"name": "kube-proxy", "configMap": {"name": PROXY}}],
    }
    return _set("calico-node-windows", "calico", calico), _set("kube-proxy-windows", "windows", proxy)


def _env(**values: str) -> list[Object]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _node_name(name: str) -> Object:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}


def _set(name: str, stack: str, pod: Object) -> Object:
    labels = {"k8s-app": name}
    spec = {
        "nodeSelector": {"kubernetes.io/os": "windows"},
        "hostNetwork": True,
        "tolerations": [{"operator": "Exists"}],
        "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\system"}},
        **pod,
    }
    return {
        "metadata": {"name": name, "labels": {**labels, STACK: stack}},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }
