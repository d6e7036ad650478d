# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What containerd, Windows, HCS and HNS report about a container, and where they disagree.

The tools of the node are parsed: ctr, tasklist, hcsdiag, files of the container. Images of Windows containers are in
English, so `ipconfig` in a container speaks English whatever the node does.
"""

from __future__ import annotations

import csv
import ipaddress
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

HOSTS_FILE = r"C:\Windows\System32\drivers\etc\hosts"
"""In the container."""

MANAGED = "# Kubernetes-managed hosts file"
"""Begins the hosts file that the kubelet writes. Source: kubernetes v1.37.1 pkg/kubelet/kubelet_pods.go,
managedHostsHeader."""

_ALIASES = "# Entries added by HostAliases"
_ID = re.compile(r"[0-9a-f]{64}")
_ADAPTER = re.compile(r"^\S.* adapter (?P<name>.+):$")
_VIRTUAL = re.compile(r"^vEthernet \((?P<endpoint>.+)\)$")
_FIELD = re.compile(r"^\s*(?P<label>[A-Z][^:]*?)[ .]*:(?: (?P<value>.*))?$")
_LABELS = {
    "connection-specific dns suffix": "suffix",
    "ipv4 address": "address",
    "autoconfiguration ipv4 address": "address",
    "subnet mask": "mask",
    "default gateway": "gateway",
}

KNOWN_NETWORKS: Mapping[str, str] = {
    "calico": "Calico",
    "cbr0": "flannel, host-gw",
    "flannel.4096": "flannel, overlay",
    "vxlan0": "flannel, overlay",
    "nat": "Windows' own NAT network",
}
"""Whose network it is, by its name in lower case. flannel's are the names in this collection's and in flannel's own
cni.conf; Calico's is fixed. Source: sigs.k8s.io/sig-windows-tools hostprocess/flannel and hostprocess/calico."""


@dataclass(frozen=True, slots=True)
class Task:
    """A line of `ctr task ls`: a container that containerd has started, and the process HCS has given it."""

    id: str
    pid: int
    status: str


@dataclass(frozen=True, slots=True)
class Process:
    """A line of `tasklist /V /FO CSV /NH`. `cpu_s`: seconds of CPU time so far."""

    pid: int
    name: str
    user: str
    cpu_s: int


@dataclass(frozen=True, slots=True)
class Hosts:
    """A container's hosts file. `managed`: the kubelet wrote it. `pod`: the addresses in its line for the pod, with the
    names there; aliases that the pod's manifest adds are left out."""

    managed: bool
    pod: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class PodAdapter:
    """An adapter as `ipconfig` in a container shows it; a field is empty where it has none.

    `endpoint` is the name of its HNS endpoint and `network` that of its HNS network, where the adapter's name tells:
    CNI plugins on Windows call an endpoint `<id of the sandbox>_<network>`. Source: containernetworking/plugins
    pkg/hns/endpoint_windows.go, ConstructEndpointName.
    """

    name: str
    endpoint: str = ""
    network: str = ""
    suffix: str = ""
    address: str = ""
    mask: str = ""
    gateway: str = ""

    @property
    def cni(self) -> str:
        """Whose network it is; empty if the name is unknown."""
        return KNOWN_NETWORKS.get(self.network.casefold(), "")


def container_id(text: str) -> str:
    """Return `text` if it is a container id, since it becomes an argument of a program that runs as SYSTEM. ValueError
    with a sentence for anything but 64 lower-case hexadecimal digits."""
    if not _ID.fullmatch(text):
        raise ValueError(
            f"'{text}' is not a container id; it has 64 hexadecimal digits in lower case, as in the first column of "
            "'ctr -n k8s.io task ls'."
        )
    return text


def tasks(text: str) -> tuple[Task, ...]:
    """From `ctr -n k8s.io task ls`. Source: containerd v2.3.7 cmd/ctr/commands/tasks/list.go."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdigit():
            found.append(Task(words[0], int(words[1]), words[2]))
    return tuple(found)


def processes(text: str) -> dict[int, Process]:
    """By pid. The columns have no names in this form, so there is nothing to translate; the time is
    `hours:minutes:seconds`."""
    found = {}
    for row in csv.reader(line for line in text.splitlines() if line.startswith('"')):
        if len(row) < 8 or not row[1].isdigit():
            continue
        parts = [int(part) for part in re.findall(r"\d+", row[7])]
        seconds = sum(part * 60**power for power, part in enumerate(reversed(parts)))
        found[int(row[1])] = Process(int(row[1]), row[0], row[6], seconds)
    return found


def labels(pods: str, containers: str) -> dict[str, dict[str, str]]:
    """The labels that the kubelet gives, by id, out of `crictl pods -o json` and `crictl ps -a -o json`; of what is no
    such answer, none. (`ctr containers info` has them too, and the secrets in a container's environment.)"""
    found: dict[str, dict[str, str]] = {}
    for text, key in ((pods, "items"), (containers, "containers")):
        try:
            parsed = json.loads(text)
        except ValueError:
            continue
        entries = parsed.get(key) if isinstance(parsed, dict) else None
        for entry in entries if isinstance(entries, list) else []:
            given = entry.get("labels") or {}
            found[str(entry.get("id"))] = {str(name): str(value) for name, value in given.items()}
    return found


def hosts(text: str) -> Hosts:
    """From a hosts file."""
    pod: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        if line.startswith(_ALIASES):
            break
        words = line.split("#", 1)[0].split()
        if len(words) < 2:
            continue
        try:
            address = ipaddress.ip_address(words[0])
        except ValueError:
            continue
        if not address.is_loopback and not (address.version == 6 and words[1].startswith("ip6-")):
            pod[str(address)] = tuple(words[1:])
    return Hosts(text.lstrip("\ufeff\r\n ").startswith(MANAGED), pod)


def adapters(text: str) -> tuple[PodAdapter, ...]:
    """From `ipconfig`."""
    found: list[dict[str, str]] = []
    for line in text.splitlines():
        if head := _ADAPTER.match(line.rstrip()):
            found.append({"name": head["name"]})
        elif found and (field := _FIELD.match(line.rstrip())):
            name = _LABELS.get(field["label"].casefold())
            if name and not found[-1].get(name):
                found[-1][name] = (field["value"] or "").strip().removesuffix("(Preferred)")
    return tuple(PodAdapter(**one, **_endpoint(one["name"])) for one in found)


def _endpoint(adapter: str) -> dict[str, str]:
    match = _VIRTUAL.match(adapter)
    if match is None:
        return {}
    _sandbox, underscore, network = match["endpoint"].partition("_")
    return {"endpoint": match["endpoint"], "network": network if underscore else ""}


def endpoints(answer: Mapping[str, Any]) -> dict[str, str]:
    """The addresses of the node's own HNS endpoints by name, out of the probe's `hns` with `endpoints`; remote ones,
    which stand for pods of other nodes, are left out. ValueError with HNS's own words if it refused."""
    raw = answer.get("endpoints")
    if not isinstance(raw, str):
        raise ValueError(str(raw.get("error")) if isinstance(raw, Mapping) else "HNS is not there")
    parsed = json.loads(raw)
    if parsed.get("Success") is False:
        raise ValueError(str(parsed.get("Error")))
    found = parsed.get("Output") or []
    return {
        str(one.get("Name")): str(one.get("IPAddress") or "") for one in found if not one.get("IsRemoteEndpoint", False)
    }


RUNNING = "RUNNING"
SHIM = "containerd-shim-runhcs-v1.exe"
"""containerd starts one for each pod, by this name, from its own folder. Source: containerd
v2.3.7 pkg/shim/util_windows.go, shimBinaryFormat; the runtime is io.containerd.runhcs.v1."""

HCS_SERVICE = "vmcompute"


@dataclass(frozen=True, slots=True)
class Seen:
    """What each source reports about a container. None: not asked, or the query failed (`notes` says why)."""

    task: Task
    labels: Mapping[str, str] = field(default_factory=dict)
    process: Process | None = None
    hosts: Hosts | None = None
    adapters: tuple[PodAdapter, ...] | None = None
    notes: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """The pod's; empty for a container that no kubelet has made."""
        return self.labels.get("io.kubernetes.pod.namespace", "")

    @property
    def pod(self) -> str:
        """The pod's name."""
        return self.labels.get("io.kubernetes.pod.name", "")

    @property
    def name(self) -> str:
        """The container's name in its pod; empty for the pod's sandbox."""
        return self.labels.get("io.kubernetes.container.name", "")

    def __str__(self) -> str:
        if not self.pod:
            return f"container {self.task.id[:13]}"
        return f"{f'container {self.name}' if self.name else 'the sandbox'} of pod {self.namespace}/{self.pod}"


def below(shim: str, *, shim_there: bool, hcs: Mapping[str, Any] | None, in_use: bool) -> tuple[str, ...]:
    """What is missing below containerd: the shim or the Host Compute Service. Windows starts the service on demand, so
    it must run only if containers do (`in_use`)."""
    found = []
    if not shim_there:
        found.append(f"There is no {shim}, with which containerd starts containers; no pod can start.")
    state = str((hcs or {}).get("state") or "not there")
    if hcs is None or (in_use and state != "running"):
        found.append(f"The service {HCS_SERVICE} (Host Compute Service), which makes the containers, is {state}.")
    return tuple(found)


def findings(seen: Seen, endpoints: Mapping[str, str] | None, cluster_domain: str) -> tuple[str, ...]:
    """Disagreements, a sentence each. `endpoints`: addresses of HNS endpoints by name, None if unknown."""
    return tuple(f"{seen}: {sentence}" for sentence in _findings(seen, endpoints, cluster_domain))


def _findings(seen: Seen, endpoints: Mapping[str, str] | None, cluster_domain: str) -> Iterator[str]:
    if seen.task.status != RUNNING:
        yield f"its task is {seen.task.status}."
    elif seen.process is None:
        yield f"containerd says that it runs as process {seen.task.pid}, and Windows has no such process."
    if seen.hosts is not None and seen.name:
        if not seen.hosts.managed:
            yield "its hosts file is not the kubelet's, so the pod does not know its own name."
        elif not seen.hosts.pod:
            yield "its hosts file has no line for the pod."
    for adapter in seen.adapters or ():
        if adapter.endpoint:
            yield from _adapter(seen, adapter, endpoints, cluster_domain)


def _adapter(
    seen: Seen, adapter: PodAdapter, endpoints: Mapping[str, str] | None, cluster_domain: str
) -> Iterator[str]:
    wanted = f"{seen.namespace}.svc.{cluster_domain}"
    if seen.namespace and adapter.suffix and adapter.suffix.casefold() != wanted.casefold():
        yield f"the DNS suffix of {adapter.name} is {adapter.suffix}, not {wanted}."
    if endpoints is None:
        return
    named = {name.casefold(): address for name, address in endpoints.items()}
    there = named.get(adapter.endpoint.casefold())
    if there is None:
        yield f"HNS has no endpoint {adapter.endpoint}, whose adapter the container has."
        return
    if adapter.address and adapter.address != there:
        yield f"{adapter.name} has the address {adapter.address}, its HNS endpoint {there}."
    if seen.hosts is not None and seen.hosts.pod and there not in seen.hosts.pod:
        yield f"its hosts file says that the pod is {', '.join(seen.hosts.pod)}, its HNS endpoint has {there}."


def as_data(seen: Seen, endpoints: Mapping[str, str] | None, cluster_domain: str) -> dict[str, Any]:
    """As the module returns it."""
    process = seen.process
    return {
        "id": seen.task.id,
        "pid": seen.task.pid,
        "status": seen.task.status,
        "namespace": seen.namespace,
        "pod": seen.pod,
        "container": seen.name,
        "process": {} if process is None else {"name": process.name, "user": process.user, "cpu_s": process.cpu_s},
        "pod_ips": [] if seen.hosts is None else list(seen.hosts.pod),
        "adapters": [
            {name: getattr(one, name) for name in ("name", "endpoint", "network", "cni", "suffix", "address", "mask")}
            | {"gateway": one.gateway}
            for one in seen.adapters or ()
        ],
        "findings": list(findings(seen, endpoints, cluster_domain)),
        "notes": list(seen.notes),
    }
