# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reading of a cluster is made of, and Nodes: API objects and what ConfigMaps have in them, as frozen
dataclasses that the gate makes. No type is asked for again behind it.

Sources: k8s.io/api v0.37.1 core/v1, discovery/v1, networking/v1, authorization/v1; kubernetes
cmd/kubeadm/app/apis/kubeadm/v1beta4/types.go; flannel Documentation/kube-flannel.yml (net-conf.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..engine.gate import At, Fields, Flag, Free, Listing, Number, Record, Table, Text
from .objects import ANNOTATIONS, DNS_NAME, LABELS, MEGA, TIME, WORD, WORDS

CONTAINERD = "containerd://"
"""How a Node names its runtime."""
SERVICE_NAME = "kubernetes.io/service-name"
"""Label of an EndpointSlice. Source: kubernetes.io, EndpointSlices, Ownership."""
SLICES_OF_API = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
"""Those of the Service kubernetes, the API servers, are among them."""


@dataclass(frozen=True, slots=True)
class NodeCondition:
    """`status` is `True`, `False` or `Unknown`, `since` the time of its last transition, empty if it is not told."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True)
class NodeObject:
    """A Node. `version` is its resourceVersion, `created` the time of its creation; `kubelet`, `runtime` and `os_image`
    are what it says of their releases (`v1.37.1`, `containerd://2.3.7`)."""

    name: str
    uid: str = ""
    version: str = ""
    created: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    unschedulable: bool = False
    pod_cidr: str = ""
    conditions: tuple[NodeCondition, ...] = ()
    kubelet: str = ""
    runtime: str = ""
    os_image: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether its condition Ready is True."""
        found = self.find_condition("Ready")
        return found is not None and found.status == "True"

    @property
    def containerd(self) -> str:
        """The release of containerd that it runs; empty for another runtime."""
        return self.runtime.removeprefix(CONTAINERD) if self.runtime.startswith(CONTAINERD) else ""

    def find_condition(self, name: str) -> NodeCondition | None:
        """Its condition of this type."""
        return next((each for each in self.conditions if each.type == name), None)


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """A ConfigMap's texts."""

    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Service:
    """`cluster_ip`: None for a headless one, empty for one that has none."""

    name: str
    labels: Mapping[str, str]
    cluster_ip: str = ""

    @property
    def address(self) -> str:
        """Where it listens; empty without an address."""
        return "" if self.cluster_ip == "None" else self.cluster_ip


@dataclass(frozen=True, slots=True)
class ServiceCIDR:
    """Ranges of Services."""

    cidrs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SlicePort:
    """A port of an EndpointSlice; None for all ports."""

    name: str = ""
    port: int | None = None


@dataclass(frozen=True, slots=True)
class EndpointSlice:
    """`endpoints`: the addresses of each."""

    labels: Mapping[str, str]
    ports: tuple[SlicePort, ...] = ()
    endpoints: tuple[tuple[str, ...], ...] = ()

    @property
    def service(self) -> str:
        """The name of its Service."""
        return self.labels.get(SERVICE_NAME, "")

    def find_port(self, name: str) -> int | None:
        """The port of this name; None without one."""
        return next((each.port for each in self.ports if each.name == name), None)


@dataclass(frozen=True, slots=True)
class Review:
    """An access review."""

    allowed: bool = False


@dataclass(frozen=True, slots=True)
class ClusterConfiguration:
    """What kubeadm's ClusterConfiguration says of nodes; empty for what it leaves to kubeadm."""

    service_subnet: str = ""
    pod_subnet: str = ""
    dns_domain: str = ""
    certificates_dir: str = ""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Backend:
    """flannel's backend; a number that is not there is flannel's own default."""

    type: str = "udp"
    vni: int | None = None
    port: int | None = None
    direct_routing: bool = False
    gbp: bool = False


@dataclass(frozen=True, slots=True)
class NetConf:
    """flannel's net-conf.json."""

    network: str = ""
    backend: Backend = Backend()


_CONDITION = Record(
    NodeCondition,
    type=At("type", WORD),
    status=At("status", WORD),
    reason=At("reason", Free(), ""),
    message=At("message", Free(), ""),
    since=At("lastTransitionTime", TIME, ""),
)
NODE = Record(
    NodeObject,
    name=At("metadata.name", DNS_NAME),
    uid=At("metadata.uid", WORD, ""),
    version=At("metadata.resourceVersion", WORD, ""),
    created=At("metadata.creationTimestamp", TIME, ""),
    annotations=At("metadata.annotations", ANNOTATIONS, {}),
    unschedulable=At("spec.unschedulable", Flag(), False),
    pod_cidr=At("spec.podCIDR", WORD, ""),
    conditions=At("status.conditions", Listing(_CONDITION), ()),
    kubelet=At("status.nodeInfo.kubeletVersion", WORD, ""),
    runtime=At("status.nodeInfo.containerRuntimeVersion", WORD, ""),
    os_image=At("status.nodeInfo.osImage", WORD, ""),
)
CONFIG_MAP = Record(ConfigMap, data=At("data", Table(Text(2 * MEGA)), {}))
SERVICE = Record(
    Service,
    name=At("metadata.name", DNS_NAME),
    labels=At("metadata.labels", LABELS, {}),
    cluster_ip=At("spec.clusterIP", WORD, ""),
)
SERVICE_CIDR = Record(ServiceCIDR, cidrs=At("spec.cidrs", WORDS, ()))
_PORT = Record(SlicePort, name=At("name", WORD, ""), port=At("port", Number(0, 65535), None))


def _addresses(value: object, path: str) -> tuple[str, ...]:
    return tuple(At("addresses", WORDS, ())(value, path))


ENDPOINT_SLICE = Record(
    EndpointSlice,
    labels=At("metadata.labels", LABELS, {}),
    ports=At("ports", Listing(_PORT), ()),
    endpoints=At("endpoints", Listing(_addresses), ()),
)
REVIEW = Record(Review, allowed=At("status.allowed", Flag(), False))
CLUSTER_CONFIGURATION = Record(
    ClusterConfiguration,
    service_subnet=At("networking.serviceSubnet", WORD, ""),
    pod_subnet=At("networking.podSubnet", WORD, ""),
    dns_domain=At("networking.dnsDomain", WORD, ""),
    certificates_dir=At("certificatesDir", WORD, ""),
    feature_gates=At("featureGates", Table(Flag()), {}),
)
_BACKEND = Record(
    Backend,
    type=At("Type", WORD, "udp"),
    vni=At("VNI", Number(), None),
    port=At("Port", Number(), None),
    direct_routing=At("DirectRouting", Flag(), False),
    gbp=At("GBP", Flag(), False),
)
VNI_NOTE = Record(Backend, vni=At("VNI", Number(), None))
"""What flannel notes of vxlan on a Node."""
NET_CONF = Record(NetConf, network=At("Network", WORD, ""), backend=At("Backend", _BACKEND, Backend()))

KubeletDocument = Mapping[str, Any]
"""A KubeletConfiguration: a document whose keys differ per release. What kubeadm reads of it has its type; the rest is
checked by the tables of the exact release."""
KUBELET_DOCUMENT = Fields(
    clusterDomain=WORD,
    clusterDNS=WORDS,
    staticPodPath=WORD,
    authentication=Fields(
        anonymous=Fields(enabled=Flag()), webhook=Fields(enabled=Flag()), x509=Fields(clientCAFile=WORD)
    ),
    authorization=Fields(mode=WORD),
    featureGates=Table(Flag()),
)
