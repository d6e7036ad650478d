# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a node when its checks are asked: readings, the cluster's objects, what pods and programs said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from ..components import healthz, networks
from ..components.expected import Expected
from ..components.layout import Layout
from ..diagnosis.finding import ERROR, Finding
from ..engine.reading import Reading
from ..engine.resource import Refused
from ..facts.version import Version, VersionError
from ..network.model import Hns
from ..network.parse import parse
from ..network.virtual_machine import VmAdapter

Object = Mapping[str, Any]
"""A JSON object as the API or HNS returns it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the node should be, beside components.expected. Empty texts are not known.

    `external` is an address or URL outside the cluster that pods should reach; `pod_wait_s` so long may a pod take to
    start; `registries` are host names; `http_proxy` and `https_proxy` are URLs; `join` is how the node joined.
    """

    kubernetes_version: str = ""
    join: str = "kubeadm"
    pause_image_source: str = "kubernetes"
    dns_service_ip: str = ""
    cluster_domain: str = "cluster.local"
    external: str = ""
    pod_wait_s: int = 300
    http_proxy: str = ""
    https_proxy: str = ""
    registries: tuple[str, ...] = ()

    @property
    def version(self) -> Version | None:
        """The release of Kubernetes, None if it is not known."""
        try:
            return Version.parse(self.kubernetes_version)
        except VersionError:
            return None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster's objects that concern the node: its Node (None: there is none), its pods, warnings about them, and
    everybody's Nodes, Services and EndpointSlices."""

    node: Object | None = None
    pods: tuple[Object, ...] = ()
    events: tuple[Object, ...] = ()
    nodes: tuple[Object, ...] = ()
    services: tuple[Object, ...] = ()
    slices: tuple[Object, ...] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """What a program that was run somewhere said: `exit_code` None if it could not be run, and `output` says why."""

    exit_code: int | None
    output: str = ""

    @property
    def worked(self) -> bool:
        """Whether it ran and ended well."""
        return self.exit_code == 0


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
class Evidence:
    """Everything a check may look at.

    `first` and `second` are two readings some seconds apart, the second of fewer things. `findings` are those of
    the table of checks (plugin_utils/diagnosis). `logs` are the ends of logs by
    service. `cluster` is None without a way to it, and `no_cluster` says why. `ports` are (host, port) that the
    controller tried: whether something answered. `hyperv` are the adapters that Hyper-V hosts told of, None if there is
    no such host in the inventory. `reached` says how programs and probes fared that asked registries, by URL.
    """

    host: str
    layout: Layout
    expected: Expected
    wanted: Wanted
    first: Reading
    second: Reading
    findings: tuple[Finding, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    cluster: ClusterView | None = None
    no_cluster: str = ""
    in_pod: InPod = InPod()
    stats: Stats = Stats()
    ports: Mapping[tuple[str, int], bool] = field(default_factory=dict)
    hyperv: tuple[VmAdapter, ...] | None = None
    reached: Mapping[str, Said] = field(default_factory=dict)
    message: str = ""
    now: datetime = datetime(1970, 1, 1, tzinfo=UTC)

    def of(self, *patterns: str, severity: str = ERROR) -> list[Finding]:
        """What the table of checks has found under these ids, or patterns of ids."""
        return [
            one
            for one in self.findings
            if one.severity == severity and any(fnmatchcase(one.id, pattern) for pattern in patterns)
        ]

    def service(self, name: str) -> Mapping[str, Any] | None:
        """A service as it was seen last, None if there is none."""
        return self.second.service(name)

    def arguments(self, name: str, binary: str) -> tuple[str, ...] | None:
        """The arguments with which a service starts its program; None if it is not there or that cannot be told."""
        found = self.service(name)
        return None if found is None else healthz.started_with(found, binary)

    @property
    def adapters(self) -> tuple[networks.Adapter, ...]:
        """The machine's adapters; none where they could not be read."""
        try:
            return networks.adapters(self.first)
        except Refused:
            return ()

    @property
    def build(self) -> int | None:
        """The build of the machine's Windows."""
        return self.first.build

    @property
    def hns(self) -> Hns:
        """HNS's objects."""
        return parse(self.first.parts.get(networks.HNS))


def pods_of(view: ClusterView) -> Iterator[Object]:
    """The node's pods that are not over."""
    for pod in view.pods:
        if (pod.get("status") or {}).get("phase") not in {"Succeeded", "Failed"}:
            yield pod


def named(thing: Object) -> str:
    """Namespace and name of an object."""
    metadata = thing.get("metadata") or {}
    return f"{metadata.get('namespace', '')}/{metadata.get('name', '')}".lstrip("/")


def is_host_process(pod: Object) -> bool:
    """Whether the pod runs on the host itself, with the host's network."""
    spec = pod.get("spec") or {}
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    return bool(spec.get("hostNetwork") or options.get("hostProcess"))


def moment(text: object) -> datetime | None:
    """A time of the API, None if it is none."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
