# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
r"""The machine itself: the folders for everything else, the feature Containers, its name, its proxy.

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
from ...engine.secret import NO_TEXT, Secret
from ...facts.windows_revisions import BadRevision
from .. import log_limit, networks
from ..layout import Layout
from . import host_checks, node_fit

NAME = "host"

PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
NO_PROXY_ALWAYS = ("localhost", "127.0.0.1", ".svc")


@dataclass(frozen=True, slots=True)
class Proxy:
    """The machine's web proxy. `exceptions` are the user's own; the proxy cannot reach the cluster's `ranges` and
    its `domain`."""

    http: Secret[str] = NO_TEXT
    https: Secret[str] = NO_TEXT
    exceptions: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    domain: str = ""

    def variables(self, subnet: str) -> tuple[EnvironmentVariable, ...]:
        """The machine's variables; none without a proxy. `subnet` is the node's own network, empty if unknown."""
        if not self.http and not self.https:
            return ()
        own = (*NO_PROXY_ALWAYS, f".{self.domain}" if self.domain else "", *self.ranges, subnet)
        without = dict.fromkeys(each for each in (*self.exceptions, *own) if each)
        wanted = zip(PROXY_VARIABLES, (self.http, self.https, Secret(",".join(without))), strict=True)
        return tuple(EnvironmentVariable(name, value) for name, value in wanted if value)


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings about a machine, one sentence each: reasons why it cannot be a node; warnings; and reminders, shown
    again when something changes or is planned."""

    refusals: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reminders: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostArgs:
    """Checked arguments of win_k8s_host. `interface_name` is the adapter of the node's address, `address` that
    address (empty: the adapter's first); both count only if Kubernetes is wanted. `gmsa`: whether pods will use such
    accounts. `bad_revisions` are the user's own, beside those of facts. `limits` are those of the services' `logs`,
    kept only where scheduled tasks are allowed (`scheduled`). A `golden_image` needs no adapter. `mark` is the
    batch's id."""

    layout: Layout
    wanted: node_fit.Wanted = field(default_factory=node_fit.Wanted)
    computer_name: str = ""
    proxy: Proxy = field(default_factory=Proxy)
    interface_name: str = "Ethernet"
    address: str = ""
    page_file_mb: int = 0
    require_encryption: bool = False
    gmsa: bool = False
    bad_revisions: tuple[BadRevision, ...] = ()
    limits: log_limit.LogLimitOptions | None = None
    logs: tuple[str, ...] = ()
    scheduled: bool = True
    golden_image: bool = False
    mark: str = ""


def containers(layout: Layout) -> Feature:
    """The Windows feature Containers. It brings HNS, which makes the pods' networks, and the Host Compute Service
    (vmcompute), which makes containers.

    Source: microsoft/hcsshim README.md; learn.microsoft.com, Get started: Prep Windows for containers.
    """
    note = windows_path.join(layout.state_dir, "feature-containers.json")
    return Feature("Containers", ("hns", "vmcompute"), note, running=("hns",), answers=(networks.hns_query(),))


def build_resources(args: HostArgs, reading: Reading) -> tuple[Resource, ...]:
    """The root folder, the CNI folders (containerd watches its conf folder from its first start), flannel's folders
    and their parents; the feature Containers, the machine's name, its proxy. Refused if the machine cannot become
    the wanted node."""
    layout = args.layout
    folders = (layout.root, layout.cni_bin_dir, layout.cni_conf_dir, layout.flannel_dir, layout.flannel_run_dir)
    if refusals := check(args, reading).refusals:
        raise Refused(*refusals)
    return (
        *guard_always(*folders),
        containers(layout),
        *((ComputerName(args.computer_name),) if args.computer_name else ()),
        *args.proxy.variables(_subnet(args, reading)),
        *((host_checks.GmsaPreconditions(),) if args.gmsa else ()),
        *((_logs(args),) if args.scheduled else ()),
    )


def _logs(args: HostArgs) -> log_limit.LogLimits:
    return log_limit.LogLimits(args.layout, args.limits, args.logs, args.layout.backup(args.mark))


def check(args: HostArgs, reading: Reading) -> Findings:
    """All reasons against this machine at once, before it is changed, and warnings."""
    system = reading.parts.get("system") or {}
    machine = node_fit.Machine.of(system)
    fit = node_fit.problems(machine, args.wanted)
    refusals = [*host_checks.rights(system), *fit.refusals]
    feature = containers(args.layout).change(reading)
    warnings = [
        *fit.warnings,
        *host_checks.bad_revision(machine, args.bad_revisions, args.wanted.network_mode),
        *(() if feature and feature.reboot else host_checks.restart(system)),
        *host_checks.page_file(reading, args.page_file_mb),
    ]
    if args.gmsa:
        warnings += host_checks.gmsa_warnings(machine, reading)
    reminders: list[str] = []
    if args.wanted.kubernetes:
        refusals += () if args.golden_image else _adapter(args, reading)
        complaint = host_checks.clear_text(args.layout, reading)
        if complaint and args.require_encryption:
            refusals.append(f"{complaint} winkube_require_encryption is true, so nothing was done.")
        elif complaint:
            (reminders if host_checks.are_secret_folders_closed(args.layout, reading) else warnings).append(complaint)
    return Findings(tuple(refusals), tuple(warnings), tuple(reminders))


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` and `check` read for this layout, whatever their other arguments."""
    resources: tuple[Resource, ...] = (
        *guard_always(layout.root, layout.cni_bin_dir, layout.cni_conf_dir, layout.flannel_dir, layout.flannel_run_dir),
        containers(layout),
        ComputerName("any"),
        *Proxy(Secret("http://any"), Secret("http://any")).variables(""),
        _logs(HostArgs(layout)),
    )
    return (
        system_query(),
        *(query for resource in resources for query in resource.reads()),
        networks.adapters_query(),
        *host_checks.reads(layout),
    )


def _adapter(args: HostArgs, reading: Reading) -> tuple[str, ...]:
    try:
        networks.management(reading, interface_name=args.interface_name, address=args.address)
    except Refused as refused:
        return refused.sentences
    return ()


def _subnet(args: HostArgs, reading: Reading) -> str:
    """The network of the node's own address; empty if no Kubernetes is wanted and the adapter does not exist."""
    try:
        return networks.management(reading, interface_name=args.interface_name, address=args.address).subnet
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
        """What changes."""
        return "the machine's name"

    def reads(self) -> tuple[Query, ...]:
        """The name now, and after the next start."""
        return (PENDING_NAME, ACTIVE_NAME)

    def change(self, reading: Reading) -> Change | None:
        """Rename the machine, and ask for a restart until it has the name. Refused for an invalid name."""
        if not _NAME.fullmatch(self.name):
            raise Refused(
                f"'{self.name}' cannot be the name of a Windows machine: use up to 15 letters, digits and hyphens, "
                "not only digits, without a hyphen at either end."
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
