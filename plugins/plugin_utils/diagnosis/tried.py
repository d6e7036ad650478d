# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What diagnose knows besides what was read of the machine: the cluster's objects, what pods and programs said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ..cluster.pods import has_ended
from ..cluster.reading import ClusterReading
from ..components.node import Node
from ..components.options import option
from ..engine.secret import NO_TEXT, Secret
from ..facts.version import Version, VersionError
from ..words.finding import Finding
from .cluster_view import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Looking:
    """How a node is looked at: the options of win_k8s_diagnose that are about nothing else.

    `watch` are the seconds between two looks. `target` is an address or URL outside the cluster that pods should reach,
    empty for none; `pod_wait` seconds may a pod take to start; `registries` are host names that should be reached, by
    the proxies `http_proxy` and `https_proxy`, which are URLs.
    """

    watch: int = option("Seconds.", default=10)
    hyperv_adapters: tuple[Mapping[str, Any], ...] | None = option("What Hyper-V hosts told.", default=None)
    exec_in_pods: bool = option("Whether commands are run in pods.", default=True)
    stats_samples: int = option("How many.", default=3)
    stats_interval: int = option("Seconds.", default=2)
    target: str = option("An address.", default="")
    pod_wait: int = option("Seconds.", default=300)
    http_proxy: Secret[str] = option("A proxy.", default=NO_TEXT)
    https_proxy: Secret[str] = option("A proxy.", default=NO_TEXT)
    registries: tuple[str, ...] = option("Host names.", default=())


@dataclass(frozen=True, slots=True)
class Objects:
    """The cluster's objects that concern the node: its Node (None: there is none), its pods, warnings about them, and
    everyone's Nodes, Services and EndpointSlices; `kubelets`: what kubeadm makes a node's config.yaml of."""

    node: Object | None = None
    pods: tuple[Object, ...] = ()
    events: tuple[Object, ...] = ()
    nodes: tuple[Object, ...] = ()
    services: tuple[Object, ...] = ()
    slices: tuple[Object, ...] = ()
    kubelets: ClusterReading | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What a program that was run somewhere said: `exit_code` None if it could not be run, and `output` says why."""

    exit_code: int | None
    output: str = ""

    @property
    def worked(self) -> bool:
        """Whether it ran and ended well."""
        return self.exit_code == 0

    @property
    def failed(self) -> bool:
        """Whether it ran and ended otherwise."""
        return self.exit_code not in (0, None)

    @property
    def first(self) -> str:
        """The first line of what it said."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        return lines[0].rstrip(".") if lines else "it said nothing"

    @property
    def outcome(self) -> str:
        """How it ended, for a line of evidence."""
        if self.exit_code is None:
            return f"could not be run ({self.first})"
        return "works" if self.worked else f"ended with {self.exit_code} ({self.first})"


@dataclass(frozen=True, slots=True)
class InPod:
    """What the commands said that were run in one of the node's pods, by name of the command; `pod` is its namespace
    and name, empty if there was none to run them in, and `why` says why not."""

    pod: str = ""
    why: str = ""
    said: Mapping[str, Said] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stats:
    """kubelet's summaries as judged by plugin_utils/cri: `verdicts` are `{blame, text, defect: {issue} | None}`;
    `why` says why there are none."""

    containerd: str = ""
    verdicts: tuple[Object, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Gmsa:
    """What the cluster has of gMSA. `served`: it knows GMSACredentialSpecs. `webhooks` are the entries of the webhook's
    name, each with `kind`; `denied` are (account of a pod, spec) that its rights do not allow."""

    served: bool = False
    specs: tuple[Object, ...] = ()
    webhooks: tuple[Object, ...] = ()
    denied: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """`host` is the inventory's name. `objects` is None without a way to the cluster, and `no_cluster` says why.
    `ports` are (host, port) that the controller tried: whether something answered. `reached` says how programs and
    probes fared that asked registries, by URL. `calico` is what the cluster's objects say of Calico, where the node's
    network is its. `hypervisor_asked` is whether a Hyper-V host told of its adapters."""

    host: str
    expected: Node
    how: Looking = field(default_factory=Looking)
    objects: Objects | None = None
    no_cluster: str = ""
    in_pod: InPod = InPod()
    stats: Stats = Stats()
    ports: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    reached: Mapping[str, Said] = field(default_factory=dict)
    hypervisor_asked: bool = False
    calico: tuple[Finding, ...] = ()
    gmsa: Gmsa | None = None
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)

    @property
    def version(self) -> Version | None:
        """The release of Kubernetes that is wanted, None if it is not known."""
        try:
            return Version.parse(self.expected.kubelet.version)
        except VersionError:
            return None

    @property
    def node(self) -> Object | None:
        """The Node object."""
        return self.objects.node if self.objects else None


def pods_of(objects: Objects | None) -> Iterator[Object]:
    """The node's pods that are not over."""
    for pod in objects.pods if objects else ():
        if not has_ended(pod):
            yield pod


def moment(text: object) -> datetime | None:
    """A time of the API, None if it is none."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
