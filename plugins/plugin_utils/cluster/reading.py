# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One reading of the cluster, as a run needs it to plan nodes: a frozen value with what was seen and what was not.

The makers' ConfigMaps: kubernetes cmd/kubeadm/app/constants/constants.go; flannel Documentation/kube-flannel.yml. The
API server's own: kubernetes pkg/controlplane/controller/clusterauthenticationtrust and defaultservicecidr.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..foreign.files import ForeignError
from ..foreign.values import load_json, load_yaml
from .answer import Object
from .client import Cluster
from .documents import Kubeconfig, kubeconfig
from .error import FORBIDDEN, ClusterError

T = TypeVar("T")

KUBEADM_CONFIG = "ConfigMap kube-system/kubeadm-config"
KUBELET_CONFIG = "ConfigMap kube-system/kubelet-config"
CLUSTER_INFO = "ConfigMap kube-public/cluster-info"
AUTHENTICATION = "ConfigMap kube-system/extension-apiserver-authentication"
SERVICE_RANGE = "ServiceCIDR kubernetes"
KUBERNETES = "Service default/kubernetes"
KUBECONFIG = "the kubeconfig"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
JOINING_GROUP = "system:bootstrappers:kubeadm:default-node-token"
"""The group of kubeadm's tokens, and of ours. Source: cmd/kubeadm/app/constants/constants.go."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value of the cluster, and the object that says it."""

    value: str
    source: str


@dataclass(frozen=True, slots=True)
class Unseen:
    """An object that the kubeconfig's user may not ask for."""

    what: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Right:
    """What a machine that joins has to be allowed; `group`: whose right it is."""

    verb: str
    api_group: str
    resource: str
    namespace: str = ""
    name: str = ""
    group: str = JOINING_GROUP

    def __str__(self) -> str:
        named = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{named}{f' in {self.namespace}' if self.namespace else ''} ({self.group})"


BOOTSTRAP_RIGHTS = (
    Right("create", "certificates.k8s.io", "certificatesigningrequests"),
    Right("create", "certificates.k8s.io", "certificatesigningrequests/nodeclient"),
)
KUBEADM_RIGHTS = (
    Right("get", "", "configmaps", "kube-system", "kubeadm-config"),
    Right("get", "", "configmaps", "kube-system", "kubelet-config"),
    Right("get", "", "nodes"),
)
"""What kubeadm's own bindings grant. Source: cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go,
phases/kubelet/config.go, phases/uploadconfig/uploadconfig.go."""


@dataclass(frozen=True, slots=True)
class ClusterReading:
    """`server` and `ca_pem` are the kubeconfig's, `published` what cluster-info says. `kubelet_config`,
    `cluster_configuration` and `kube_proxy` are parsed, None where the cluster has none. `client_ca` is the CA of those
    who call kubelets. `api_addresses`: where API servers are. `lacking`: rights that joining machines do not have;
    None if it may not be asked. `token_accepted`: whether API servers know a bootstrap token; None if none was tried.
    `unseen`: what the kubeconfig's user may not read."""

    server: str
    ca_pem: bytes = field(default=b"", repr=False)
    published: Kubeconfig | None = None
    kubelet_config: Mapping[str, Any] | None = None
    kubelet_config_source: str = KUBELET_CONFIG
    cluster_configuration: Mapping[str, Any] | None = None
    kube_proxy: Mapping[str, Any] | None = None
    pod_network: Known | None = None
    client_ca: bytes = field(default=b"", repr=False)
    kubernetes_address: str = ""
    dns: Known | None = None
    service_ranges: Known | None = None
    api_addresses: tuple[str, ...] = ()
    lacking: tuple[Right, ...] | None = ()
    token_accepted: bool | None = None
    unseen: tuple[Unseen, ...] = ()

    def saw(self, *objects: str) -> bool:
        """Whether all of these could be asked for."""
        return not {each.what for each in self.unseen} & set(objects)

    @property
    def has_kubeadm(self) -> bool:
        """Whether the cluster has what `kubeadm join` reads."""
        return self.kubelet_config is not None and self.cluster_configuration is not None

    @property
    def has_two_cas(self) -> bool:
        """Whether callers of kubelets have another CA than the API server's certificate: k3s, rke2. There the API
        server also verifies the certificates of kubelets."""
        return bool(self.client_ca and self.api_ca) and not have_common_certificate(self.client_ca, self.api_ca)

    @property
    def api_ca(self) -> bytes:
        """The CA of the API server's certificate."""
        return (self.published.ca_pem if self.published else b"") or self.ca_pem

    @property
    def networking(self) -> Mapping[str, Any]:
        """kubeadm's ranges and domain."""
        found = (self.cluster_configuration or {}).get("networking")
        return found if isinstance(found, Mapping) else {}

    def service_cidr(self) -> Known | None:
        """The range of Services."""
        return self.service_ranges or self._of_kubeadm("serviceSubnet")

    def cluster_cidr(self) -> Known | None:
        """The range of pods."""
        return self.pod_network or self._of_kubeadm("podSubnet")

    def cluster_domain(self) -> Known | None:
        """The domain of Services."""
        said = str((self.kubelet_config or {}).get("clusterDomain") or "")
        return Known(said, self.kubelet_config_source) if said else self._of_kubeadm("dnsDomain")

    def api_server(self) -> Known | None:
        """The address of the API as nodes may reach it: never one of this machine or of this link."""
        published = Known(self.published.server, CLUSTER_INFO) if self.published else None
        return next(
            (
                each
                for each in (published, Known(self.server, KUBECONFIG))
                if each is not None and is_reachable_by_others(each.value)
            ),
            None,
        )

    def _of_kubeadm(self, name: str) -> Known | None:
        value = str(self.networking.get(name) or "")
        return Known(value, KUBEADM_CONFIG) if value else None


def is_reachable_by_others(server: str) -> bool:
    """Whether an address, with or without a scheme, can be that of another machine: not loopback, not link-local."""
    host = (urlsplit(with_scheme(server)).hostname or "").lower()
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host not in {"", "localhost"}
    return not (address.is_loopback or address.is_link_local or address.is_unspecified)


def with_scheme(server: str) -> str:
    """The address of an API server, which may be given as host:port."""
    return server if "://" in server or not server else f"https://{server}"


def _certificates(pem: bytes) -> set[bytes]:
    begin = b"-----BEGIN CERTIFICATE-----"
    return {b"".join(part.partition(b"-----END")[0].split()) for part in pem.split(begin)[1:]}


def read_cluster(cluster: Cluster, *, rights: Sequence[Right] = ()) -> ClusterReading:
    """Ask the cluster for all of it; `rights` are asked for by SubjectAccessReviews. ClusterError if it does not
    answer; what its user may not read is said in `unseen`."""
    return _Reader(cluster).read(rights)


def read_network(cluster: Cluster) -> ClusterReading:
    """Only what `ClusterReading`'s ranges, domain and addresses are made of. ClusterError."""
    return _Reader(cluster).read_network()


def read_kubelet_config(cluster: Cluster) -> Mapping[str, Any] | None:
    """The cluster's KubeletConfiguration; None if there is none, or it may not be read. ClusterError."""
    return _Reader(cluster).read_kubelet()[1]


def read_kubelets(cluster: Cluster) -> ClusterReading:
    """Only what kubeadm makes a node's KubeletConfiguration of. ClusterError."""
    reader = _Reader(cluster)
    source, kubelet = reader.read_kubelet()
    configuration = reader.read_configuration() if kubelet is not None else None
    return ClusterReading(
        server=cluster.server,
        kubelet_config=kubelet,
        kubelet_config_source=source,
        cluster_configuration=configuration,
        unseen=tuple(reader.unseen),
    )


def read_client_ca(cluster: Cluster, api_ca: bytes) -> bytes:
    """The CA of those who call kubelets: what the API server publishes of its own --client-ca-file; `api_ca`, that of
    its certificate, where it is not published or may not be read. ClusterError."""
    found = _Reader(cluster).data("kube-system", "extension-apiserver-authentication")
    return found.get("client-ca-file", "").encode() or api_ca


def have_common_certificate(one: bytes, other: bytes) -> bool:
    """Whether two bundles have a certificate in common. Where the CA of callers and that of the API server have none
    (k3s, rke2), the API server also verifies the certificates of kubelets."""
    return bool(_certificates(one) & _certificates(other))


class _Reader:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.unseen: list[Unseen] = []

    def read_network(self) -> ClusterReading:
        info = self.data("kube-public", "cluster-info").get("kubeconfig")
        source, kubelet = self.read_kubelet()
        return ClusterReading(
            server=self.cluster.server,
            ca_pem=self.cluster.ca_pem,
            published=kubeconfig(info, CLUSTER_INFO) if info else None,
            kubelet_config=kubelet,
            kubelet_config_source=source,
            cluster_configuration=self.read_configuration(),
            pod_network=self._flannel(),
            dns=self._dns(),
            service_ranges=self._service_ranges(),
            unseen=tuple(self.unseen),
        )

    def read(self, rights: Sequence[Right]) -> ClusterReading:
        network = self.read_network()
        authentication = self.data("kube-system", "extension-apiserver-authentication")
        return replace(
            network,
            kube_proxy=self._document(self.data("kube-system", "kube-proxy"), "config.conf"),
            client_ca=authentication.get("client-ca-file", "").encode(),
            kubernetes_address=_address(self._get("/api/v1/namespaces/default/services/kubernetes", KUBERNETES)),
            api_addresses=self._endpoints(),
            lacking=self._lacking(rights),
            unseen=tuple(self.unseen),
        )

    def _ask(self, ask: Callable[[], T], what: str, sentence: str) -> T | None:
        """The answer; None, and `what` is unseen, where the kubeconfig's user may not ask."""
        try:
            return ask()
        except ClusterError as error:
            if error.status != FORBIDDEN:
                raise
            self.unseen.append(Unseen(what, f"{sentence} (examples/rbac/site.yml)."))
            return None

    def _get(self, path: str, what: str) -> Object | None:
        return self._ask(lambda: self.cluster.get(path), what, f"{what} was not read: the kubeconfig's user may not")

    def _items(self, path: str, what: str) -> list[Object]:
        said = f"{what} were not read: the kubeconfig's user may not"
        return self._ask(lambda: self.cluster.items(path), what, said) or []

    def data(self, namespace: str, name: str) -> dict[str, str]:
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        found = (self._get(path, f"ConfigMap {namespace}/{name}") or {}).get("data")
        return {str(key): str(value) for key, value in found.items()} if isinstance(found, Mapping) else {}

    def _document(self, data: Mapping[str, str], key: str) -> Mapping[str, Any] | None:
        """A document in a ConfigMap. ClusterError if it is there and cannot be read."""
        if key not in data:
            return None
        try:
            found = load_yaml(data[key])
        except ForeignError:
            found = None
        if not isinstance(found, Mapping):
            raise ClusterError(
                f"{key} in a ConfigMap of kube-system is not YAML with a mapping; kubeadm cannot read it."
            )
        return found

    def read_configuration(self) -> Mapping[str, Any] | None:
        """kubeadm's ClusterConfiguration; None where there is none, or it may not be read."""
        return self._document(self.data("kube-system", "kubeadm-config"), "ClusterConfiguration")

    def read_kubelet(self) -> tuple[str, Mapping[str, Any] | None]:
        """Its source, and itself. From 1.24 on its name has no release in it. Source: kubernetes v1.23.17, v1.24.17
        cmd/kubeadm/app/constants/constants.go."""
        found = self._document(self.data("kube-system", "kubelet-config"), "kubelet")
        if found is not None or any(each.what == KUBELET_CONFIG for each in self.unseen):
            return KUBELET_CONFIG, found
        major, minor, _patch = self.cluster.version().split(".")
        if int(minor) >= 24:
            return KUBELET_CONFIG, None
        name = f"kubelet-config-{major}.{minor}"
        return f"ConfigMap kube-system/{name}", self._document(self.data("kube-system", name), "kubelet")

    def _flannel(self) -> Known | None:
        for namespace in ("kube-flannel", "kube-system"):
            text = self.data(namespace, "kube-flannel-cfg").get("net-conf.json")
            try:
                network = str((load_json(text) if text else {}).get("Network") or "")
            except (ForeignError, AttributeError):
                continue  # flannel's own stage says what is wrong with it
            if network:
                return Known(network, f"ConfigMap {namespace}/kube-flannel-cfg")
        return None

    def _dns(self) -> Known | None:
        path = "/api/v1/namespaces/kube-system/services"
        for service in self._items(path, "Services of kube-system"):
            metadata = service.get("metadata") or {}
            if (metadata.get("labels") or {}).get("k8s-app") == "kube-dns" and (address := _address(service)):
                return Known(address, f"Service kube-system/{metadata.get('name')}")
        return None

    def _service_ranges(self) -> Known | None:
        found = self._get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes", SERVICE_RANGE)
        ranges = ((found or {}).get("spec") or {}).get("cidrs") or ()
        return Known(",".join(str(each) for each in ranges), SERVICE_RANGE) if ranges else None

    def _endpoints(self) -> tuple[str, ...]:
        path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
        found: dict[str, None] = {}
        for each in self._items(path, "EndpointSlices of default"):
            labels = (each.get("metadata") or {}).get("labels") or {}
            if labels.get("kubernetes.io/service-name") != "kubernetes":
                continue
            port = next((one.get("port") for one in each.get("ports") or () if one.get("name") == "https"), 6443)
            for endpoint in each.get("endpoints") or ():
                found |= dict.fromkeys(f"{address}:{port}" for address in endpoint.get("addresses") or ())
        return tuple(sorted(found))

    def _lacking(self, rights: Sequence[Right]) -> tuple[Right, ...] | None:
        lacking = []
        for right in rights:
            kind, _slash, sub = right.resource.partition("/")
            wanted = {
                "verb": right.verb,
                "group": right.api_group,
                "resource": kind,
                "subresource": sub,
                "namespace": right.namespace,
                "name": right.name,
            }
            body = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": "system:bootstrap:winkub",
                    "groups": [right.group, "system:bootstrappers", "system:authenticated"],
                    "resourceAttributes": {key: value for key, value in wanted.items() if value},
                },
            }
            answer = self._ask(
                partial(self.cluster.ask, REVIEWS, body),
                REVIEWS,
                "Whether machines may join was not asked: the kubeconfig's user may not create subjectaccessreviews",
            )
            if answer is None:
                return None
            if not (answer.get("status") or {}).get("allowed"):
                lacking.append(right)
        return tuple(lacking)


def _address(service: Object | None) -> str:
    spec = (service or {}).get("spec") or {}
    found = str(spec.get("clusterIP") or "")
    return "" if found == "None" else found
