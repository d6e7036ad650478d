# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-proxy: program, service, and for overlay its source VIP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.reading import Query, Reading, file_key, http_query, services_query
from ...engine.resource import Notice, Refused, ReliesOn, Resource, whole_file
from ...engine.resources.directory import Directory, guard
from ...engine.resources.firewall_rule import FirewallRule
from ...engine.resources.programs import Programs, Source
from ...engine.resources.service import ACTIVE, RUNNING, NoService, Service, runs
from ...engine.tools import wait_service
from ...facts.flags import KUBE_PROXY, NEWEST
from ...facts.windows_revisions import find_bad, next_good
from .. import daemon_sets, inbound, log_runner, nssm
from ..declaration import Daemon, Health, ServiceKind
from ..flag_check import read
from ..healthz import LOOPBACK, url_of, wait_healthy
from ..layout import Layout
from ..service import Dependencies, Running, service_of
from . import kube_proxy_args, source_vip
from .kube_proxy_args import KubeProxy, arguments, environment
from .options import CNI_DATA_DIR, FirewallOptions

NAME = "kube-proxy"
SERVICE = ServiceKind(
    managers=("nssm", "sc"),
    native_flag="--windows-service",
    why="kube-proxy does not make its own service.",
    source="kubernetes v1.27.0 cmd/kube-proxy/app/init_windows.go; it has no --service",
    wrapped=True,
)
HEALTHZ_PORT = kube_proxy_args.HEALTHZ_PORT
NETWORK_MODES = ("l2bridge", "overlay")
DSR = "DSR"
"""Whom a known bad revision of Windows concerns that has none (facts/windows_revisions.json)."""


@dataclass(frozen=True, slots=True)
class KubeProxyArgs:
    """Checked arguments of win_kube_proxy.

    `environment` are variables besides KUBE_NETWORK; `reads_vip` are the queries that found the source VIP; `mark` is
    the batch's id.
    """

    wanted: KubeProxy
    source: Source
    service: Running = field(default_factory=Running)
    inbound: tuple[FirewallRule, ...] = ()
    notices: tuple[Notice, ...] = ()
    reads_vip: tuple[Query, ...] = ()
    mark: str = ""


def build_resources(args: KubeProxyArgs, reading: Reading) -> tuple[Resource, ...]:
    """Folders, program, service. Refused if kube-proxy would not start with its arguments, or has no kubeconfig."""
    layout = args.wanted.layout
    problems, lacking = [*kube_proxy_args.problems(args.wanted), *_find_without_dsr(args, reading)], {}
    if not reading.parts.get(file_key(layout.kube_proxy_kubeconfig), {"exists": True}).get("exists"):
        lacking["join"] = (
            f"kube-proxy: there is no {layout.kube_proxy_kubeconfig} on the node. The role join writes it; that needs "
            "winkube_cluster.kubeconfig, or your own file (winkube_kube_proxy_kubeconfig_source)."
        )
    if problems or lacking:
        raise Refused(*problems, lacking=lacking)
    service = _service(args)
    return (
        *_folders(layout),
        *args.service.tools,
        _programs(layout, args.source, args.mark),
        *args.inbound,
        ReliesOn(layout.kube_proxy_kubeconfig, (whole_file(layout.kube_proxy_kubeconfig), *args.reads_vip)),
        service,
        Dependencies(service, args.service.options.depends_on),
        *args.notices,
    )


def _find_without_dsr(args: KubeProxyArgs, reading: Reading) -> Iterator[str]:
    """kube-proxy exits where HNS has no DSR. Source: kubernetes v1.37.2 pkg/proxy/winkernel/proxier.go and
    hcnutils.go (DsrSupported)."""
    system = (reading.parts.get("system") or {}).get("os") or {}
    build, revision = int(system.get("build") or 0), int(system.get("revision") or 0)
    for entry in find_bad(build, revision) if args.wanted.options.dsr else ():
        if entry.concerns == DSR and not entry.unverified:
            good = next_good(build, revision)
            todo = f"Update Windows to {good.name} or later, or set" if good else "Set"
            yield f"winkube_kube_proxy_dsr: Windows 10.0.{build}.{revision}: {entry.summary} {todo} it to false."


def program(layout: Layout, source: Source, tools: tuple[Resource, ...], mark: str) -> tuple[Resource, ...]:
    """Only folders, kube-proxy.exe and its service's tools, for an image: the command line names the machine and, in
    overlay, an address of its pods."""
    return (*_folders(layout), *tools, _programs(layout, source, mark))


def network_name(network_mode: str) -> str:
    """The HNS network of a mode, by kubernetes.io's names."""
    return kube_proxy_args.NETWORKS[mode(network_mode)]


def mode(network_mode: str) -> kube_proxy_args.Mode:
    """The mode by its name. Refused for one that this role does not support."""
    if network_mode == "l2bridge":
        return "l2bridge"
    if network_mode == "overlay":
        return "overlay"
    raise Refused(
        f"kube-proxy: the network mode is '{network_mode}', but this role can do {' and '.join(NETWORK_MODES)} only. "
        "Leave kube-proxy to the cluster (winkube_kube_proxy_managed_by: cluster), or change winkube_network_mode."
    )


def leave_to_cluster(layout: Layout, reading: Reading) -> tuple[Resource, ...]:
    """Remove our service, now that kube-proxy is the cluster's. Refused if the service of that name is not ours and
    runs, or would at the next boot."""
    name, program = layout.kube_proxy_service, layout.kube_proxy_binary
    found = reading.service(name)
    if found is None or runs(name, program, reading):
        return (NoService(name, program),)
    if not (found.get("state") in ACTIVE or found.get("start") in (0, 1, 2)):
        return ()
    raise Refused(
        f"kube-proxy is managed by the cluster (winkube_kube_proxy_managed_by), but the node has a service {name} as "
        f"well ({found.get('state')}) that does not run {program}: it is not ours, and both would write the "
        f"same HNS policies. Remove the service (sc.exe stop {name}, sc.exe delete {name}), or set "
        "winkube_kube_proxy_managed_by: service and take the DaemonSet off this node."
    )


def find_daemon_sets(found: Sequence[Mapping[str, Any]], node: Mapping[str, Any] | None, name: str) -> tuple[str, ...]:
    """The DaemonSets that run kube-proxy on this node, or will once it has joined."""
    return daemon_sets.running(found, NAME, daemon_sets.labels_of(node, name)) or daemon_sets.awaited(found, NAME)


def nobody_runs_it(node: str) -> str:
    """A sentence: the cluster should run kube-proxy on the node, but no DaemonSet does."""
    return (
        f"it is managed by the cluster (winkube_kube_proxy_managed_by), but no DaemonSet there runs it on {node}: "
        "services will not be reachable from its pods."
    )


def refuse_beside(daemon_set: str, node: str) -> None:
    """Refuse a service beside a DaemonSet."""
    raise Refused(
        f"kube-proxy: the DaemonSet {daemon_set} runs it on {node} already, and a service beside it would write the "
        "same HNS policies. Set winkube_kube_proxy_managed_by: cluster, or keep the DaemonSet off Windows nodes "
        "(nodeSelector kubernetes.io/os: linux)."
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` reads for this layout, whatever its other arguments; the source VIP only for
    the default network of overlay."""
    resources: tuple[Resource, ...] = (
        *_folders(layout),
        _programs(layout, Source("", None, ""), ""),
        inbound.health_checks(port=HEALTHZ_PORT),
    )
    vips = windows_path.join(CNI_DATA_DIR, kube_proxy_args.NETWORKS["overlay"])
    return (
        *(query for resource in resources for query in resource.reads()),
        whole_file(layout.kube_proxy_kubeconfig),
        *source_vip.reads(layout, vips),
        *nssm.reads(layout),
        *log_runner.reads(layout),
        services_query((layout.kube_proxy_service, layout.kubelet_service)),
        http_query(url_of((LOOPBACK, kube_proxy_args.HEALTHZ_PORT)), layout.kube_proxy_service),
    )


def firewall(options: FirewallOptions, wanted: KubeProxy | None = None) -> tuple[FirewallRule, ...]:
    """The rule for load balancers, as the option `firewall` says. Without `wanted` it opens the default port, for
    the cluster's kube-proxy. A kube-proxy that listens only on loopback gets no rule."""
    if not options.enabled:
        return ()
    where = (LOOPBACK, HEALTHZ_PORT) if wanted is None else kube_proxy_args.healthz(wanted)
    port = where[1] if where else ""
    return (inbound.health_checks(options.health_check_sources, port, options.node_port_range),)


def _folders(layout: Layout) -> tuple[Directory, ...]:
    return guard(windows_path.parent(layout.kube_proxy_binary), layout.log_dir)


def _programs(layout: Layout, source: Source, mark: str) -> Programs:
    return Programs(NAME, source, (("", layout.kube_proxy_binary),), layout.state_dir, mark[:8])


def _service(args: KubeProxyArgs) -> Service:
    return service_of(
        NAME,
        DAEMON,
        args.wanted.layout,
        args.service,
        arguments=arguments(args.wanted),
        ready=(_build_gate(args),),
        environment=environment(args.wanted),
    )


def _build_gate(args: KubeProxyArgs) -> Op:
    """A wait for kube-proxy's health address if it has one: under nssm the service state is RUNNING even if it
    crashes again and again."""
    where = kube_proxy_args.healthz(args.wanted)
    if where is None:
        return wait_service(
            args.wanted.layout.kube_proxy_service, RUNNING, args.service.options.start_timeout, stable_s=30
        )
    return wait_healthy(url_of(where), args.service.options.start_timeout)


def _find_health(argv: Sequence[str] | None, _layout: Layout, _reading: Reading) -> str:
    """Its usual address where a script starts it; none if a configuration file sets it."""
    return url_of(kube_proxy_args.healthz_of(read(((kube_proxy_args.OWN, argv or ()),), KUBE_PROXY, NEWEST)))


DAEMON = Daemon(
    service=lambda layout: layout.kube_proxy_service,
    program=lambda layout: layout.kube_proxy_binary,
    kind=SERVICE,
    health=Health(url_of((LOOPBACK, kube_proxy_args.HEALTHZ_PORT)), _find_health),
    rank=4,
    of_cluster=True,
)
