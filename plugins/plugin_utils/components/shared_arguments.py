# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of several components, from the options that their modules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

from ..engine.reading import Reading
from ..engine.resource import Notice, Refused, Resource
from ..engine.resources.firewall_rule import Network
from ..engine.resources.programs import Source
from ..engine.services.existing import Existing
from ..facts import kubernetes
from ..facts.feature_gates import gate as feature_gate
from ..facts.service_wrappers import GRACEFUL_SHUTDOWN_GATE
from ..facts.version import Version
from . import inbound, log_runner, networks, nssm
from .declaration import Daemon
from .kubernetes_fit import release
from .layout import Layout
from .service import Running
from .shared_options import ProgramSource, ServiceOptions
from .source import find_trust, source
from .stage import Given, Resources


class Downloads(Protocol):
    """Options of a component that downloads programs."""

    @property
    def source(self) -> ProgramSource:
        """Where its own program comes from."""

    @property
    def allow_unverified(self) -> tuple[str, ...]:
        """The programs that may come without a checksum."""


class Serves(Downloads, Protocol):
    """Options of a component whose program is a service."""

    @property
    def service(self) -> ServiceOptions:
        """How the service runs."""


class File(Protocol):
    """An address with its checksum."""

    @property
    def url(self) -> str:
        """The address."""

    @property
    def checksum(self) -> str:
        """Its checksum; empty for none."""


def source_of(given: Given[Downloads], component: str, version: str, wanted: File | None = None) -> Source:
    """The source of a program: of the component's own, unless another is `wanted`. One without a proxy of its own uses
    the component's. Refused without a checksum."""
    options = given.options
    wanted = wanted or options.source
    _note_trust(given, f"{component} {version}", wanted)
    found = source(
        component=component,
        version=version,
        url=wanted.url,
        checksum=wanted.checksum,
        unverified=options.allow_unverified,
        read_url=given.asks.read_url,
        proxy=(wanted if isinstance(wanted, ProgramSource) else options.source).proxy or None,
    )
    return replace(found, keep_pushed=given.shared.keep_pushed_builds)


def _note_trust(given: Given[Any], program: str, wanted: File) -> None:
    if trust := find_trust(wanted.url, wanted.checksum):
        given.asks.unpinned[wanted.url] = f"{program} (no sum)" if trust == "no sum" else program


def running(given: Given[Serves], daemon: Daemon) -> Running:
    """How a component's service runs, with its manager found."""
    return Running(
        options=replace(given.options.service, manager=service_manager(given, daemon)),
        tools=service_tools(given, daemon),
        log=log_runner.check_rotation(given.shared.log),
        rests=given.shared.golden_image,
    )


def service_manager(given: Given[Any], daemon: Daemon) -> str:
    """The service's manager. `auto` keeps the present one (kube-proxy without one follows the kubelet). A new node
    gets the manager with which graceful node shutdown works, if that is on by default."""
    wanted: str = given.options.service.manager
    if wanted != "auto":
        return wanted
    for name in (daemon.service(given.layout), given.layout.kubelet_service):
        if found := given.reading.service(name):
            return Existing(found).manager
    gate = feature_gate("kubelet", GRACEFUL_SHUTDOWN_GATE, kubernetes_version(given.options.version).line)
    return "sc" if gate and gate.default else "nssm"


def service_tools(given: Given[Any], daemon: Daemon) -> Resources:
    """nssm.exe if the service runs under it, or kube-log-runner.exe if that writes its log: only then a source is
    required."""
    manager = service_manager(given, daemon)
    if manager == "nssm":
        return nssm.build_resources(
            given.layout, nssm.nssm_source(**_tool(given, given.shared.nssm_source, nssm.NAME)), given.mark
        )
    if manager == "sc" and daemon.kind.wrapped:
        of_runner = given.shared.log_runner_source
        wanted = log_runner.find_source(
            version=of_runner.version, **_tool(given, of_runner, f"{log_runner.NAME} {of_runner.version}")
        )
        return log_runner.build_resources(given.layout, wanted, given.mark)
    return ()


def _tool(given: Given[Downloads], wanted: File, program: str) -> dict[str, Any]:
    options = given.options
    _note_trust(given, program, wanted)
    return {
        "url": wanted.url,
        "checksum": wanted.checksum,
        "proxy": options.source.proxy or None,
        "unverified": options.allow_unverified,
        "read_url": given.asks.read_url,
    }


def program_alone(
    given: Given[Any],
    daemon: Daemon,
    resources: Callable[[Layout, Source, tuple[Resource, ...], str], Resources],
    component: str,
) -> Resources:
    """An image's part of a program whose service names the machine; nothing if the cluster runs the program."""
    if given.options.managed_by == "cluster":
        return ()
    tools = service_tools(given, daemon)
    return resources(given.layout, source_of(given, component, given.options.version), tools, given.mark)


def kubernetes_version(text: str) -> Version:
    """The wanted release. Refused if it is invalid."""
    return release(text, "winkube_kubernetes_version")


class Address(Protocol):
    """Which of the machine's addresses is the node's."""

    @property
    def interface_name(self) -> str:
        """The adapter."""

    @property
    def management_ip(self) -> str:
        """The address; empty for the adapter's first one."""


def management(reading: Reading, address: Address) -> networks.Management:
    """The node's address in the cluster. Refused if it has none."""
    return networks.management(reading, interface_name=address.interface_name, address=address.management_ip)


def inbound_networks(given: Given[Any], address: Address, cluster_cidr: str) -> tuple[Network, ...] | None:
    """Who may reach a port of the node. Empty means everyone; None leaves the firewall alone, as in an image, where
    the rule would name this node's network."""
    wanted = given.shared.firewall
    if given.shared.golden_image or not wanted.enabled:
        return None
    known = given.ask_for_all("addresses", inbound.addresses)
    return inbound.scope(wanted.sources, management(given.reading, address), cluster_cidr, known)


def check_skew(given: Given[Any], version: Version) -> tuple[Notice, ...]:
    """Refused if this release does not work with the cluster's API server; a notice if that is unknown."""
    server = given.ask_for_all("version", lambda cluster: cluster.version())
    if given.shared.golden_image:
        return ()
    if server is None:
        text = "skip the comparison with the API server's version (winkube_cluster.kubeconfig is empty)"
        return (Notice("version of the API server", text),)
    if sentence := kubernetes.skew_problem(given.name, version.line, Version.parse(server, "API server").line):
        raise Refused(sentence)
    return ()


def feature_gates(wanted: Mapping[str, Any]) -> dict[str, bool]:
    """Feature gates; on the command line a value is a string. Refused unless it is true or false."""
    words = {"true": True, "false": False}
    found = {str(name): words.get(str(value).lower()) for name, value in wanted.items()}
    wrong = [name for name, value in found.items() if value is None]
    if wrong:
        raise Refused(*(f"feature_gates.{name}: '{wanted[name]}' is neither true nor false." for name in wrong))
    return {name: bool(value) for name, value in found.items()}
