# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""The machine itself: the folders for everything else, the feature Containers, its name, its proxy, its switches.

Any user can make `C:\k` first and would own it, and services run programs from there as LocalSystem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...engine import windows_path
from ...engine.batch import Op
from ...engine.reading import Query, Reading, system_query
from ...engine.resource import Change, Refused, Resource
from ...engine.resources.directory import guard_always
from ...engine.resources.environment_variable import EnvironmentVariable
from ...engine.resources.feature import Feature
from ...engine.secret import Secret
from ...facts.calico import hns_mode
from .. import log_limit, networks
from ..layout import Layout
from ..shared_options import SharedOptions
from . import host_checks, node_fit, sshd
from .options import HostOptions, ProxyOptions
from .os_switches import OsSwitches, list_wanted

NAME = "host"

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
NO_PROXY_ALWAYS = ("localhost", "127.0.0.1", ".svc")


def build_proxy(options: HostOptions, subnet: str) -> tuple[EnvironmentVariable, ...]:
    """The machine's variables; none without a proxy, which cannot reach the cluster's ranges and domain. `subnet` is
    the node's own network, empty if unknown."""
    proxy, network = options.proxy, options.network
    if not proxy.http and not proxy.https:
        return ()
    ranges = (each.strip() for cidr in (network.cluster_cidr, network.service_cidr) for each in cidr.split(","))
    own = (*NO_PROXY_ALWAYS, f".{network.domain}" if network.domain else "", *ranges, subnet)
    without = dict.fromkeys(each for each in (*proxy.no_proxy, *own) if each)
    wanted = zip(PROXY_VARIABLES, (proxy.http, proxy.https, Secret(",".join(without))), strict=True)
    return tuple(EnvironmentVariable(name, value) for name, value in wanted if value)


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings about a machine, one sentence each: reasons why it cannot be a node; warnings; and reminders, shown
    again when something changes or is planned."""

    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reminders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """The machine as it is wanted. Its adapter and address count only if Kubernetes is wanted, and not for an image,
    in whose `options` nothing is of this machine alone. Limits of the services' `logs` are kept only where scheduled
    tasks are allowed. `mark` is the batch's id."""

    options: HostOptions
    layout: Layout
    shared: SharedOptions = field(default_factory=SharedOptions)
    logs: tuple[str, ...] = ()
    mark: str = ""

    @property
    def limits(self) -> log_limit.LogLimits | None:
        """The limits of logs. Refused for invalid numbers."""
        wanted = log_limit.limits(self.options.log)
        if self.shared.runner != "task":
            return None
        return log_limit.LogLimits(self.layout, wanted, self.logs, self.layout.backup(self.mark))


def containers(layout: Layout) -> Feature:
    """The Windows feature Containers. It brings HNS, which makes the pods' networks, and the Host Compute Service
    (vmcompute), which makes containers.

    Source: microsoft/hcsshim README.md; learn.microsoft.com, Get started: Prep Windows for containers.
    """
    note = windows_path.join(layout.state_dir, "feature-containers.json")
    return Feature("Containers", ("hns", "vmcompute"), note, running=("hns",), answers=(networks.hns_query(),))


def build_resources(wanted: Host, reading: Reading) -> tuple[Resource, ...]:
    """The root folder, the CNI folders (containerd watches its conf folder from its first start), flannel's folders
    and their parents; the feature Containers, the machine's name, its proxy, switches of Windows. Refused if the
    machine cannot become the wanted node."""
    options, layout = wanted.options, wanted.layout
    if refusals := check(wanted, reading).refusals:
        raise Refused(*refusals)
    limits = wanted.limits
    return (
        *guard_always(*_folders(layout)),
        containers(layout),
        *((ComputerName(options.computer_name),) if options.computer_name else ()),
        *build_proxy(options, _subnet(options, reading)),
        OsSwitches(list_wanted(options, node_fit.Machine.of(reading).build)),
        *((limits,) if limits else ()),
    )


def _folders(layout: Layout) -> tuple[str, ...]:
    return (layout.root, layout.cni_bin_dir, layout.cni_conf_dir, layout.flannel_dir, layout.flannel_run_dir)


def check(wanted: Host, reading: Reading) -> Findings:
    """All reasons against this machine at once, before it is changed, and warnings."""
    options, layout = wanted.options, wanted.layout
    system = reading.parts.get("system") or {}
    machine = node_fit.Machine.of(reading)
    fit = node_fit.problems(machine, options)
    refusals = [*host_checks.rights(system), *fit.refusals]
    feature = containers(layout).change(reading)
    warnings = [
        *fit.warnings,
        *host_checks.bad_revision(machine, options.bad_revisions, hns_mode(options.network.mode)),
        *(() if feature and feature.reboot else host_checks.restart(system)),
        *host_checks.page_file(reading, options.page_file_min_mb),
    ]
    if options.gmsa:
        warnings += host_checks.gmsa_warnings(machine)
    reminders: list[str] = []
    if options.kubernetes_version:
        refusals += () if wanted.shared.golden_image else _adapter(options, reading)
        complaint = host_checks.clear_text(layout, reading)
        if complaint and options.require_encryption:
            refusals.append(f"{complaint} winkube_require_encryption is true, so nothing was done.")
        elif complaint:
            (reminders if host_checks.are_secret_folders_closed(layout, reading) else warnings).append(complaint)
    return Findings(tuple(refusals), tuple(warnings), tuple(reminders))


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` and `check` read for this layout, whatever their other arguments."""
    proxy = Secret("http://any")
    options = HostOptions(proxy=ProxyOptions(http=proxy, https=proxy))
    resources: tuple[Resource, ...] = (
        *guard_always(*_folders(layout)),
        containers(layout),
        ComputerName("any"),
        *build_proxy(options, ""),
        OsSwitches(()),
        *((limits,) if (limits := Host(options, layout).limits) else ()),
    )
    return (
        system_query(),
        *(query for resource in resources for query in resource.reads()),
        networks.adapters_query(),
        *host_checks.reads(layout),
        *sshd.reads(),
    )


def _adapter(options: HostOptions, reading: Reading) -> tuple[str, ...]:
    try:
        _management(options, reading)
    except Refused as refused:
        return refused.sentences
    return ()


def _management(options: HostOptions, reading: Reading) -> networks.Management:
    network = options.network
    return networks.management(reading, interface_name=network.interface_name, address=network.address)


def _subnet(options: HostOptions, reading: Reading) -> str:
    """The network of the node's own address; empty if no Kubernetes is wanted and the adapter does not exist."""
    try:
        return _management(options, reading).subnet
    except Refused:
        return ""


# The machine's name, in force after a restart.

COMPUTER_NAME_KEY = r"HKLM\SYSTEM\CurrentControlSet\Control\ComputerName"
PENDING_NAME = Query(
    "registry:computer-name", "registry", (("path", rf"{COMPUTER_NAME_KEY}\ComputerName"), ("name", "ComputerName"))
)
"""The name after the next start."""
ACTIVE_NAME = Query(
    "registry:active-computer-name",
    "registry",
    (("path", rf"{COMPUTER_NAME_KEY}\ActiveComputerName"), ("name", "ComputerName")),
)
"""The name that the machine answers to now."""

_NAME = re.compile(r"(?!\d+$)(?!-)[A-Za-z0-9-]{1,15}(?<!-)")
"""Source: learn.microsoft.com, Naming conventions in Active Directory for computers: 15 characters, letters, digits
and hyphens, not only digits."""


@dataclass(frozen=True, slots=True)
class ComputerName:
    """The machine is called `name`."""

    name: str

    @property
    def label(self) -> str:
        return "the machine's name"

    def reads(self) -> tuple[Query, ...]:
        """The name now, and after the next start."""
        return (PENDING_NAME, ACTIVE_NAME)

    def change(self, reading: Reading) -> Change | None:
        """Rename the machine, and ask for a restart until it has the name. Refused for an invalid name."""
        if not _NAME.fullmatch(self.name):
            raise Refused(
                f"winkube_computer_name: '{self.name}' cannot be the name of a Windows machine: use up to 15 letters, "
                "digits and hyphens (NetBIOS cuts what is longer), not only digits, without a hyphen at either end. "
                "The Node may have a longer name (winkube_node_name)."
            )
        pending, active = (str(reading.parts[query.key].get("value") or "") for query in (PENDING_NAME, ACTIVE_NAME))
        if self._is(pending) and self._is(active):
            return None
        reboot = f"the machine is called {self.name}"
        if self._is(pending):
            return Change(text="", reboot=reboot)
        now = {"exists": True, "type": "string", "value": self.name}
        undo = (Op("computer_name", {"name": pending}),) if pending else ()
        return Change(
            text=f"rename the machine from {active or pending} to {self.name}",
            before=f"{pending}\n",
            after=f"{self.name}\n",
            prepare=(Op("computer_name", {"name": self.name}).with_undo(*undo),),
            predicted={
                PENDING_NAME.key: now,
                ACTIVE_NAME.key: now,
                "system": {**reading.parts.get("system", {}), "computer_name": self.name},
            },
            state=self.reads(),
            reboot=reboot,
        )

    def _is(self, found: str) -> bool:
        return found.casefold() == self.name.casefold()
