# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One reading of the cluster, as a run needs it to plan nodes: a frozen value with what was seen and what was not.

The makers' ConfigMaps: kubernetes cmd/kubeadm/app/constants/constants.go; flannel Documentation/kube-flannel.yml. The
API server's own: kubernetes pkg/controlplane/controller/clusterauthenticationtrust and defaultservicecidr.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

from ..engine.gate import Record, Unexpected
from ..foreign.files import ForeignError
from ..foreign.values import load_json, load_yaml
from .client import Cluster
from .documents import Kubeconfig, kubeconfig
from .error import FORBIDDEN, ClusterError
from .records import (
    CLUSTER_CONFIGURATION,
    ENDPOINT_SLICE,
    KUBELET_DOCUMENT,
    NET_CONF,
    REVIEW,
    SERVICE,
    SERVICE_CIDR,
    SLICES_OF_API,
    ClusterConfiguration,
    ConfigMap,
    KubeletDocument,
)

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
    """`server` and `ca_pem` are the kubeconfig's, `published` what cluster-info says. `kubelet_config` and
    `cluster_configuration`: None where the cluster has none. `client_ca` is the CA of those who call kubelets.
    `api_addresses`: where API servers are. `lacking`: rights that joining machines do not have; None if it may not be
    asked. `token_accepted`: whether API servers know a bootstrap token; None if none was tried. `unseen`: what the
    kubeconfig's user may not read."""

    server: str
    ca_pem: bytes = field(default=b"", repr=False)
    published: Kubeconfig | None = None
    kubelet_config: KubeletDocument | None = None
    kubelet_config_source: str = KUBELET_CONFIG
    cluster_configuration: ClusterConfiguration | None = None
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
    def _of_kubeadm(self) -> ClusterConfiguration:
        return self.cluster_configuration or ClusterConfiguration()

    def service_cidr(self) -> Known | None:
        """The range of Services."""
        return self.service_ranges or _known(self._of_kubeadm.service_subnet)

    def cluster_cidr(self) -> Known | None:
        """The range of pods."""
        return self.pod_network or _known(self._of_kubeadm.pod_subnet)

    def cluster_domain(self) -> Known | None:
        """The domain of Services."""
        said = (self.kubelet_config or {}).get("clusterDomain")
        return Known(said, self.kubelet_config_source) if said else _known(self._of_kubeadm.dns_domain)

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


def _known(value: str) -> Known | None:
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


def read_kubelet_config(cluster: Cluster) -> KubeletDocument | None:
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
    return _Reader(cluster).read_client_ca() or api_ca


def have_common_certificate(one: bytes, other: bytes) -> bool:
    """Whether two bundles have a certificate in common. Where the CA of callers and that of the API server have none
    (k3s, rke2), the API server also verifies the certificates of kubelets."""
    return bool(_certificates(one) & _certificates(other))


class _Reader:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.unseen: list[Unseen] = []

    def read_network(self) -> ClusterReading:
        info = self._config_map("kube-public", "cluster-info").data.get("kubeconfig")
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
        kubernetes = self._get("/api/v1/namespaces/default/services/kubernetes", KUBERNETES, SERVICE)
        return replace(
            network,
            client_ca=self.read_client_ca(),
            kubernetes_address=kubernetes.address if kubernetes else "",
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

    def _read(self, ask: Callable[[], T], what: str, verb: str = "was") -> T | None:
        return self._ask(ask, what, f"{what} {verb} not read: the kubeconfig's user may not")

    def _get(self, path: str, what: str, record: Record[T]) -> T | None:
        return self._read(lambda: self.cluster.read(path, record), what)

    def _list(self, path: str, what: str, record: Record[T]) -> tuple[T, ...]:
        return self._read(lambda: self.cluster.read_all(path, record), what, "were") or ()

    def _config_map(self, namespace: str, name: str) -> ConfigMap:
        found = self._read(lambda: self.cluster.config_map(namespace, name), f"ConfigMap {namespace}/{name}")
        return found or ConfigMap()

    def read_client_ca(self) -> bytes:
        """What the API server publishes of its own --client-ca-file; empty without it."""
        return (
            self._config_map("kube-system", "extension-apiserver-authentication")
            .data.get("client-ca-file", "")
            .encode()
        )

    def _document(
        self,
        name: str,
        key: str,
        shape: Callable[[object, str], T],
        load: Callable[[str], object] = load_yaml,
        namespace: str = "kube-system",
    ) -> T | None:
        """A document in a ConfigMap. ClusterError if it is there and cannot be read."""
        text = self._config_map(namespace, name).data.get(key)
        if text is None:
            return None
        where = f"ConfigMap {namespace}/{name}"
        try:
            return shape(load(text), key)
        except ForeignError as error:
            raise ClusterError(f"{where}: {key} cannot be read: {error}") from error
        except Unexpected as error:
            raise ClusterError(f"{where} is not used, since in it {error}.") from error

    def read_configuration(self) -> ClusterConfiguration | None:
        """kubeadm's ClusterConfiguration; None where there is none, or it may not be read."""
        return self._document("kubeadm-config", "ClusterConfiguration", CLUSTER_CONFIGURATION)

    def read_kubelet(self) -> tuple[str, KubeletDocument | None]:
        """Its source, and itself. From 1.24 on its name has no release in it. Source: kubernetes v1.23.17, v1.24.17
        cmd/kubeadm/app/constants/constants.go."""
        found = self._document("kubelet-config", "kubelet", KUBELET_DOCUMENT)
        if found is not None or any(each.what == KUBELET_CONFIG for each in self.unseen):
            return KUBELET_CONFIG, found
        major, minor, _patch = self.cluster.version().split(".")
        if int(minor) >= 24:
            return KUBELET_CONFIG, None
        name = f"kubelet-config-{major}.{minor}"
        return f"ConfigMap kube-system/{name}", self._document(name, "kubelet", KUBELET_DOCUMENT)

    def _flannel(self) -> Known | None:
        for namespace in ("kube-flannel", "kube-system"):
            found = self._document("kube-flannel-cfg", "net-conf.json", NET_CONF, load_json, namespace)
            if found is not None and found.network:
                return Known(found.network, f"ConfigMap {namespace}/kube-flannel-cfg")
        return None

    def _dns(self) -> Known | None:
        found = self._list("/api/v1/namespaces/kube-system/services", "Services of kube-system", SERVICE)
        return next(
            (
                Known(each.address, f"Service kube-system/{each.name}")
                for each in found
                if each.labels.get("k8s-app") == "kube-dns" and each.address
            ),
            None,
        )

    def _service_ranges(self) -> Known | None:
        found = self._get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes", SERVICE_RANGE, SERVICE_CIDR)
        return Known(",".join(found.cidrs), SERVICE_RANGE) if found and found.cidrs else None

    def _endpoints(self) -> tuple[str, ...]:
        slices = self._list(SLICES_OF_API, "EndpointSlices of default", ENDPOINT_SLICE)
        found = (
            f"{address}:{each.find_port('https') or 6443}"
            for each in slices
            if each.service == "kubernetes"
            for addresses in each.endpoints
            for address in addresses
        )
        return tuple(sorted(set(found)))

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
                partial(self.cluster.ask, REVIEWS, body, REVIEW),
                REVIEWS,
                "Whether machines may join was not asked: the kubeconfig's user may not create subjectaccessreviews",
            )
            if answer is None:
                return None
            if not answer.allowed:
                lacking.append(right)
        return tuple(lacking)
