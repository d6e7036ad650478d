"""What is in a cluster that kubeadm and flannel's manifest have set up: one Linux control plane and nothing more.

Sources: kubernetes cmd/kubeadm/app/phases/{uploadconfig,kubelet,bootstraptoken,addons}; flannel's
Documentation/kube-flannel.yml; names of what kubeadm binds: cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.lab.cluster import calico, k0s, kubeconfig, kubespray, makers
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.store import Object, Store

BOOTSTRAPPERS = "system:bootstrappers:kubeadm:default-node-token"
_RBAC = "rbac.authorization.k8s.io"
_CSR = "system:certificates.k8s.io:certificatesigningrequests"


@dataclass(frozen=True)
class Settings:
    """maker: of makers.py; anonymous: `cluster-info` may be read without credentials (kubeadm), `unbound`: nothing may,
    which is a 403 (kubespray's remove_anonymous_access), `off`: 401 (--anonymous-auth=false); kubelet: further fields
    of the ConfigMap kubelet-config; bootstrap_tokens: --enable-bootstrap-token-auth; token_lag: how often API servers
    do not know a new bootstrap token; control_planes: how many API servers there are; network: `flannel` or `calico`,
    empty for the maker's; calico: of calico.DEFAULTS, what is otherwise; backend: `host-gw` or `vxlan`; vni, port: of
    vxlan; serving: kubelets ask for serving certificates; tunnel: API servers dial a kubelet through its maker's agent
    alone.
    client_ca is what KubeletConfiguration has as clientCAFile, empty for the maker's; second_pod_network and
    second_service_network are the IPv6 ranges of a cluster with two families."""

    version: str = "1.37.1"
    backend: str = "host-gw"
    vni: int = 4096
    port: int = 4789
    pod_network: str = "10.244.0.0/16"
    service_network: str = "10.96.0.0/12"
    dns_address: str = "10.96.0.10"
    domain: str = "cluster.local"
    address: str = "192.168.122.10"
    name: str = "control-plane"
    serving: bool = False
    maker: str = "kubeadm"
    client_ca: str = ""
    second_pod_network: str = ""
    second_service_network: str = ""
    anonymous: str = "cluster-info"
    bootstrap_tokens: bool = True
    token_lag: int = 0
    control_planes: int = 1
    network: str = ""
    calico: Mapping[str, Any] = field(default_factory=dict)
    tunnel: bool = False
    kubelet: Mapping[str, Any] = field(default_factory=dict)

    @property
    def api_addresses(self) -> tuple[str, ...]:
        """One for each control plane, from `address` on."""
        first, _dot, last = self.address.rpartition(".")
        return tuple(f"{first}.{int(last) + number}" for number in range(self.control_planes))

    @property
    def has_kubeadm(self) -> bool:
        """Whether kubeadm's ConfigMaps and bindings are there."""
        return makers.ALL[self.maker].kubeadm

    @property
    def has_calico(self) -> bool:
        """Whether manifests have installed Calico on the Linux nodes."""
        return (self.network or makers.ALL[self.maker].network) == "calico"

    @property
    def gives_ranges(self) -> bool:
        """Whether Nodes get a podCIDR. Source: kubespray's kubeadm-config.v1beta4.yaml.j2: allocate-node-cidrs is false
        beside Calico, unless addresses are host-local's."""
        return not (self.has_calico and self.maker == "kubespray")

    @property
    def tunnels(self) -> bool:
        """Whether packets between the pods of two nodes go through VXLAN."""
        return self.backend == "vxlan" or self.has_calico

    @property
    def certificates(self) -> str:
        """Source of kubeadm's: kubernetes cmd/kubeadm/app/apis/kubeadm/v1beta4/defaults.go, DefaultCertificatesDir."""
        return str(kubespray.CERTIFICATES.value) if self.maker == "kubespray" else "/etc/kubernetes/pki"

    @property
    def flannel_namespace(self) -> str:
        """rke2's charts are in kube-system: docs.rke2.io, Network Options."""
        if self.maker == "rke2":
            return "kube-system"
        return str(kubespray.FLANNEL_NAMESPACE.value) if self.maker == "kubespray" else "kube-flannel"

    @property
    def dns_service(self) -> str:
        return str(kubespray.DNS_SERVICE.value) if self.maker == "kubespray" else "kube-dns"

    @property
    def minor(self) -> int:
        return int(self.version.split(".")[1])

    @property
    def kubelet_config(self) -> str:
        """Source: kubernetes cmd/kubeadm/app/constants/constants.go, GetKubeletConfigMapName at 1.23 and 1.24."""
        return "kubelet-config" if self.minor >= 24 else f"kubelet-config-1.{self.minor}"

    def net_conf(self) -> str:
        backend: dict[str, Any] = {"Type": self.backend}
        if self.backend == "vxlan":
            backend |= {"VNI": self.vni, "Port": self.port}
            if self.maker == "kubespray":
                backend["DirectRouting"] = kubespray.DIRECT_ROUTING.value
        return json.dumps({"Network": self.pod_network, "EnableNFTables": False, "Backend": backend}, indent=2)


def fill(store: Store, settings: Settings, port: int, ca: bytes, client_ca: bytes) -> None:
    """`port`: of the API servers; `ca`: of the API server's certificate; `client_ca`: of its callers'."""
    for name in ("default", "kube-system", "kube-public", "kube-node-lease", "kube-flannel"):
        _put(store, "Namespace", "", name, {"spec": {}, "status": {"phase": "Active"}})
    _roles(store, settings)
    _config_maps(store, settings, f"https://{settings.address}:{port}", ca)
    _put(
        store,
        "ConfigMap",
        "kube-system",
        "extension-apiserver-authentication",
        {"data": {"client-ca-file": client_ca.decode(), "requestheader-username-headers": '["X-Remote-User"]'}},
    )
    _service_range(store, settings)
    _workloads(store, settings, port)
    if settings.has_calico:
        calico.fill(store, settings.pod_network, settings.calico)
    if settings.maker == "k0s":
        _proxy_account(store, "node-proxier")
        server = f"https://{settings.address}:{port}"
        _put(store, "ConfigMap", "kube-system", k0s.PROXY, {"data": k0s.proxy_config(server)})
    store.create(BY_NAME["Node"], "", control_plane(settings))


def _put(store: Store, kind: str, namespace: str, name: str, body: Object) -> None:
    metadata = {"name": name, **body.pop("metadata", {})}
    store.create(BY_NAME[kind], namespace, {**body, "metadata": metadata})


def _rule(groups: list[str], resources: list[str], verbs: list[str], names: list[str] | None = None) -> Object:
    rule: Object = {"apiGroups": groups, "resources": resources, "verbs": verbs}
    return {**rule, "resourceNames": names} if names else rule


def _bind(store: Store, name: str, role: str, kind: str, subject: str, namespace: str = "") -> None:
    """A binding to a ClusterRole; with `namespace`, to the Role of that name there."""
    found = {
        "roleRef": {"apiGroup": _RBAC, "kind": "Role" if namespace else "ClusterRole", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": kind, "name": subject}],
    }
    _put(store, "RoleBinding" if namespace else "ClusterRoleBinding", namespace, name, found)


def _roles(store: Store, settings: Settings) -> None:
    roles = {
        "cluster-admin": [_rule(["*"], ["*"], ["*"]), {"nonResourceURLs": ["*"], "verbs": ["*"]}],
        "view": [_rule(["", "apps"], ["pods", "services", "configmaps", "daemonsets"], ["get", "list", "watch"])],
        "system:node-proxier": [
            _rule([""], ["endpoints", "services", "nodes"], ["get", "list", "watch"]),
            _rule(["", "events.k8s.io"], ["events"], ["create", "patch", "update"]),
            _rule(["discovery.k8s.io"], ["endpointslices"], ["list", "watch"]),
        ],
        "system:node-bootstrapper": [
            _rule(["certificates.k8s.io"], ["certificatesigningrequests"], ["create", "get", "list", "watch"])
        ],
        f"{_CSR}:nodeclient": [_rule(["certificates.k8s.io"], ["certificatesigningrequests/nodeclient"], ["create"])],
        f"{_CSR}:selfnodeclient": [
            _rule(["certificates.k8s.io"], ["certificatesigningrequests/selfnodeclient"], ["create"])
        ],
        "kubeadm:get-nodes": [_rule([""], ["nodes"], ["get"])],
        # Source: flannel Documentation/kube-flannel.yml, ClusterRole flannel.
        "flannel": [
            _rule([""], ["pods"], ["get"]),
            _rule([""], ["nodes"], ["get", "list", "watch"]),
            _rule([""], ["nodes/status"], ["patch"]),
        ],
    }
    for name, rules in roles.items():
        _put(store, "ClusterRole", "", name, {"rules": rules})
    _bind(store, "cluster-admin", "cluster-admin", "Group", "system:masters")
    _bind(store, "system:node-proxier", "system:node-proxier", "User", "system:kube-proxy")
    if maker := makers.ALL[settings.maker]:
        for name, role, group in maker.bindings:
            _bind(store, name, role, "Group", group)
    if not settings.has_kubeadm:
        return
    _bind(store, "kubeadm:kubelet-bootstrap", "system:node-bootstrapper", "Group", BOOTSTRAPPERS)
    _bind(store, "kubeadm:node-autoapprove-bootstrap", f"{_CSR}:nodeclient", "Group", BOOTSTRAPPERS)
    _bind(store, "kubeadm:node-autoapprove-certificate-rotation", f"{_CSR}:selfnodeclient", "Group", "system:nodes")
    _bind(store, "kubeadm:get-nodes", "kubeadm:get-nodes", "Group", BOOTSTRAPPERS)
    # Source: kubernetes cmd/kubeadm/app/phases/addons/proxy/proxy.go, EnsureProxyAddon.
    _proxy_account(store, "kubeadm:node-proxier")
    readable = {
        ("kube-system", "kubeadm:nodes-kubeadm-config"): ["kubeadm-config"],
        ("kube-system", "kubeadm:kubelet-config"): [settings.kubelet_config],
        ("kube-system", "kube-proxy"): ["kube-proxy"],
    }
    for (namespace, name), maps in readable.items():
        _put(store, "Role", namespace, name, {"rules": [_rule([""], ["configmaps"], ["get"], maps)]})
        _bind(store, name, name, "Group", BOOTSTRAPPERS, namespace)
        _bind(store, f"{name}-of-nodes", name, "Group", "system:nodes", namespace)
    info = "kubeadm:bootstrap-signer-clusterinfo"
    _put(store, "Role", "kube-public", info, {"rules": [_rule([""], ["configmaps"], ["get"], ["cluster-info"])]})
    if settings.anonymous != "unbound":
        _bind(store, info, info, "User", "system:anonymous", "kube-public")


def _proxy_account(store: Store, binding: str) -> None:
    _put(store, "ServiceAccount", "kube-system", "kube-proxy", {})
    of_proxy = {
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "system:node-proxier"},
        "subjects": [{"kind": "ServiceAccount", "name": "kube-proxy", "namespace": "kube-system"}],
    }
    _put(store, "ClusterRoleBinding", "", binding, of_proxy)


def _service_range(store: Store, settings: Settings) -> None:
    """Served from 1.33 on. Source: kubernetes v1.33.0 pkg/controlplane/controller/defaultservicecidr."""
    if settings.minor >= 33:
        ranges = [text for text in (settings.service_network, settings.second_service_network) if text]
        _put(store, "ServiceCIDR", "", "kubernetes", {"spec": {"cidrs": ranges}})


def _config_maps(store: Store, settings: Settings, server: str, ca: bytes) -> None:
    api = "kubeadm.k8s.io/v1beta4" if settings.minor >= 31 else "kubeadm.k8s.io/v1beta3"
    cluster = {
        "apiVersion": api,
        "kind": "ClusterConfiguration",
        "certificatesDir": settings.certificates,
        "clusterName": kubespray.CLUSTER_NAME.value if settings.maker == "kubespray" else "kubernetes",
        "controlPlaneEndpoint": server.removeprefix("https://"),
        "kubernetesVersion": f"v{settings.version}",
        "imageRepository": "registry.k8s.io",
        "networking": {
            "dnsDomain": settings.domain,
            "podSubnet": settings.pod_network,
            "serviceSubnet": settings.service_network,
        },
    }
    kubelet: Object = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"cacheTTL": "0s", "enabled": True},
            "x509": {"clientCAFile": settings.client_ca or f"{settings.certificates}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "systemd",
        "clusterDNS": [settings.dns_address],
        "clusterDomain": settings.domain,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": 10248,
        "resolvConf": "/run/systemd/resolve/resolv.conf",
        "rotateCertificates": True,
        "staticPodPath": "/etc/kubernetes/manifests",
    }
    if settings.serving:
        kubelet["serverTLSBootstrap"] = True
    kubelet |= dict(settings.kubelet)
    proxy: Object = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clusterCIDR": settings.pod_network,
    }
    if settings.maker == "kubespray":
        kubelet["clusterDNS"] = [kubespray.NODELOCALDNS.value]
        if settings.minor >= 35:
            kubelet["failCgroupV1"] = kubespray.FAIL_CGROUP_V1.value
        proxy |= {"mode": kubespray.PROXY_MODE.value, "healthzBindAddress": kubespray.PROXY_HEALTHZ.value}
    maps: dict[tuple[str, str], dict[str, str]] = {
        ("kube-system", "kubeadm-config"): {"ClusterConfiguration": _yaml(cluster)},
        ("kube-system", settings.kubelet_config): {"kubelet": _yaml(kubelet)},
        ("kube-system", "kube-proxy"): {"config.conf": _yaml(proxy)},
        ("kube-system", "kube-root-ca.crt"): {"ca.crt": ca.decode()},
        ("kube-system", "coredns"): {"Corefile": COREFILE},
        ("kube-public", "cluster-info"): {"kubeconfig": kubeconfig.write(server, ca)},
        (settings.flannel_namespace, "kube-flannel-cfg"): {
            "cni-conf.json": json.dumps({"name": "cbr0", "cniVersion": "0.3.1", "plugins": [{"type": "flannel"}]}),
            "net-conf.json": settings.net_conf(),
        },
    }
    if settings.maker == "kubespray":
        bound = f"bind {kubespray.NODELOCALDNS.value}"
        maps["kube-system", str(kubespray.NODELOCALDNS_MAP.value)] = {
            "Corefile": f"{settings.domain}:53 {{ {bound} }}\n"
        }
    if not settings.has_kubeadm:
        for name in ("kubeadm-config", settings.kubelet_config, "kube-proxy"):
            del maps["kube-system", name]
        del maps["kube-public", "cluster-info"]
    if settings.has_calico or not makers.ALL[settings.maker].flannel_map:
        del maps[settings.flannel_namespace, "kube-flannel-cfg"]
    for (namespace, name), data in maps.items():
        _put(store, "ConfigMap", namespace, name, {"data": data})


COREFILE = """.:53 {
    errors
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    forward . /etc/resolv.conf
    cache 30
}
"""
"""In short what kubeadm writes. Source: kubernetes v1.29 cmd/kubeadm/app/phases/addons/dns/manifests.go."""


def _yaml(document: Object) -> str:
    return yaml.safe_dump(document, sort_keys=True)


def _workloads(store: Store, settings: Settings, port: int) -> None:
    first = settings.service_network.partition("/")[0].rpartition(".")[0] + ".1"
    services = {
        ("default", "kubernetes"): (first, [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]),
        ("kube-system", settings.dns_service): (
            settings.dns_address,
            [
                {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
                {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
            ],
        ),
    }
    for (namespace, name), (address, ports) in services.items():
        spec = {"clusterIP": address, "clusterIPs": [address], "type": "ClusterIP", "ports": ports}
        labels = {} if namespace == "default" else {"k8s-app": "kube-dns"}
        _put(store, "Service", namespace, name, {"metadata": {"labels": labels}, "spec": spec})
    slice_of = {"metadata": {"labels": {"kubernetes.io/service-name": "kubernetes"}}, "addressType": "IPv4"}
    ports = [{"name": "https", "port": port, "protocol": "TCP"}]
    ends = [{"addresses": [each], "conditions": {"ready": True}} for each in settings.api_addresses]
    _put(store, "EndpointSlice", "default", "kubernetes", {**slice_of, "endpoints": ends, "ports": ports})
    slice_of = {"metadata": {"labels": {"kubernetes.io/service-name": settings.dns_service}}, "addressType": "IPv4"}
    ports = [{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "protocol": "TCP"}]
    pods = settings.pod_network.partition("/")[0].rpartition(".")[0]
    ends = [{"addresses": [f"{pods}.2"], "conditions": {"ready": True}}]
    _put(store, "EndpointSlice", "kube-system", settings.dns_service, {**slice_of, "endpoints": ends, "ports": ports})
    flannel = (
        settings.flannel_namespace,
        str(kubespray.FLANNEL_DAEMON_SET.value) if settings.maker == "kubespray" else "kube-flannel-ds",
        "ghcr.io/flannel-io/flannel:v0.26.1",
    )
    for namespace, name, image in (
        *(() if settings.has_calico else (flannel,)),
        ("kube-system", "kube-proxy", f"registry.k8s.io/kube-proxy:v{settings.version}"),
    ):
        selector = {"kubernetes.io/os": "linux"}
        template: Object = {
            "metadata": {"labels": {"app": name}},
            "spec": {"nodeSelector": selector, "containers": [{"name": name, "image": image}]},
        }
        scheduled = ("currentNumberScheduled", "desiredNumberScheduled", "numberReady")
        status = {**dict.fromkeys(scheduled, 1), "numberMisscheduled": 0}
        daemon_set: Object = {"selector": {"matchLabels": {"app": name}}, "template": template}
        stack: Object = {"labels": {k0s.STACK: "kubeproxy"}} if settings.maker == "k0s" else {}
        _put(store, "DaemonSet", namespace, name, {"metadata": stack, "spec": daemon_set, "status": status})


def control_plane(settings: Settings) -> Object:
    data = "null" if settings.backend == "host-gw" else f'{{"VNI":{settings.vni},"VtepMAC":"0e:2a:0a:f4:00:00"}}'
    network = settings.pod_network.partition("/")[0]
    # Its own flannel has VNI 1; another needs a file. k3s-io/k3s 0ba4732c pkg/nodeconfig/nodeconfig.go, getNodeArgs.
    k3s = ["server", *(("--flannel-conf", "/etc/rancher/k3s/flannel.json") if settings.vni != 1 else ())]
    return {
        "metadata": {
            "name": settings.name,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": settings.name,
                "kubernetes.io/os": "linux",
                "node-role.kubernetes.io/control-plane": "",
            },
            "annotations": {
                "flannel.alpha.coreos.com/backend-data": data,
                "flannel.alpha.coreos.com/backend-type": settings.backend,
                "flannel.alpha.coreos.com/kube-subnet-manager": "true",
                "flannel.alpha.coreos.com/public-ip": settings.address,
                **({"k3s.io/node-args": json.dumps(k3s)} if settings.maker == "k3s" else {}),
            },
        },
        "spec": {
            **({"podCIDR": f"{network}/24", "podCIDRs": [f"{network}/24"]} if settings.gives_ranges else {}),
            "taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}],
        },
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": settings.address},
                {"type": "Hostname", "address": settings.name},
            ],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            "nodeInfo": {
                "kubeletVersion": f"v{settings.version}{makers.ALL[settings.maker].suffix}",
                "kubeProxyVersion": f"v{settings.version}{makers.ALL[settings.maker].suffix}",
                "operatingSystem": "linux",
                "architecture": "amd64",
                "osImage": "simulated Linux",
                "containerRuntimeVersion": "containerd://2.3.2",
                "kernelVersion": "simulated",
                "bootID": "00000000-0000-4000-8000-000000000001",
                "machineID": "00000000000040008000000000000001",
                "systemUUID": "00000000-0000-4000-8000-000000000001",
            },
        },
    }
