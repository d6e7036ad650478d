# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A component that is one program and its service, and nothing else: its declaration is all the code that it has.

source_action.py runs it, doc_fragments/components.py documents its options, `make generate` writes the files
of its role that only repeat the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, services_query
from ..engine.resource import Refused, Resource
from ..engine.resources.directory import Directory, guarded
from ..engine.resources.firewall_rule import FirewallRule, Network
from ..engine.resources.programs import Programs, Source
from ..engine.resources.service import RUNNING, Service
from ..engine.tools import wait_service
from . import nssm
from .declaration import Component, Daemon
from .layout import Layout
from .options import PROXY, Interface, Option, Variable, checksum_option, service_seconds, unverified_option
from .service import Managed, service_of

Values = Mapping[str, Any]
"""The module's options, checked."""


def _no_arguments(_layout: Layout, _values: Values) -> tuple[str, ...]:
    return ()


def _accepted(_version: str, _values: Values) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one program becomes a service.

    `summary` is the role's and the module's short description, `title` the service's display name. `version` is the
    release that the role installs, from `url` and checked by `sums`, both templates of the role; `no_url` is what to do
    where nobody publishes the program. `member` is the program's name in a release archive. `arguments` are the
    program's; `log_arguments` say where it logs, where nssm does not keep what it prints. `check` refuses a version or
    options that do not do. `ready` is waited for after a start, in so many seconds; the service has to stay up besides.
    Each of `options` gets the variable `winkube_<role>_<name>`. `port` is the TCP port that others may reach, where
    there is a firewall rule for it. `queries` are read besides.
    """

    summary: str
    title: str
    version: str
    url: str = ""
    sums: str = ""
    no_url: str = ""
    member: str = ""
    options: tuple[Option, ...] = ()
    arguments: Callable[[Layout, Values], tuple[str, ...]] = _no_arguments
    log_arguments: Callable[[str], tuple[str, ...]] = lambda _log: ()
    check: Callable[[str, Values], None] = _accepted
    ready: Callable[[Values, int], tuple[Op, ...]] = lambda _values, _seconds: ()
    port: Callable[[Values], int] | None = None
    queries: tuple[Query, ...] = ()
    start_timeout_s: int = 60
    stop_timeout_s: int = 60


@dataclass(frozen=True, slots=True)
class Args(Managed):
    """Arguments of such a module, checked. `archive` tells whether `source` is a release archive or the program alone;
    `sources` may reach the port: nobody named is everybody, None leaves the firewall alone; `mark` is the id of the
    batch."""

    layout: Layout
    source: Source
    values: Values
    archive: bool = False
    sources: tuple[Network, ...] | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ProgramService:
    """A component of this kind; `component` is its declaration, `daemon` and `recipe` are parts of it."""

    component: Component
    daemon: Daemon
    recipe: Recipe

    @property
    def rule(self) -> str:
        """The name of its firewall rule; empty for none."""
        return next(iter(self.component.rules), "")

    def desired(self, args: Args) -> tuple[Resource, ...]:
        """Folders, program, firewall rule, service. Refused for a version or options that do not do."""
        self.recipe.check(args.source.version or "", args.values)
        return (
            *self._folders(args.layout),
            *args.tools,
            self._programs(args.layout, args.source, archive=args.archive, mark=args.mark),
            *self._firewall(args),
            self._service(args),
        )

    def reads(self, layout: Layout) -> tuple[Query, ...]:
        """What `desired` needs to know for this layout, whatever its other arguments."""
        resources: tuple[Resource, ...] = (
            *self._folders(layout),
            self._programs(layout, Source("", None, ""), archive=True, mark=""),
            *((FirewallRule(self.rule, "TCP", 1, ()),) if self.rule else ()),
        )
        return (
            *(query for resource in resources for query in resource.reads()),
            *nssm.reads(layout),
            services_query((self.daemon.service(layout),)),
            *self.recipe.queries,
        )

    def _folders(self, layout: Layout) -> tuple[Directory, ...]:
        return guarded(windows_path.parent(self.daemon.program(layout)), layout.log_dir)

    def _programs(self, layout: Layout, source: Source, *, archive: bool, mark: str) -> Programs:
        member = self.recipe.member if archive else ""
        return Programs(
            self.component.name, source, ((member, self.daemon.program(layout)),), layout.state_dir, mark[:8]
        )

    def _firewall(self, args: Args) -> tuple[FirewallRule, ...]:
        if self.recipe.port is None:
            return ()
        port = self.recipe.port(args.values)
        if not 0 < port < 65536:
            raise Refused(f"{self.component.name}: port: {port} is no TCP port, which is 1 to 65535.")
        return () if args.sources is None else (FirewallRule(self.rule, "TCP", port, args.sources, adopts=True),)

    def _service(self, args: Args) -> Service:
        stays_up = wait_service(self.daemon.service(args.layout), RUNNING, args.start_timeout_s, stable_s=3)
        log = windows_path.join(args.layout.log_dir, f"{self.component.name}.log")
        return service_of(
            self.component.name,
            self.daemon,
            args.layout,
            args,
            arguments=self.recipe.arguments(args.layout, args.values),
            native_arguments=self.recipe.log_arguments(log),
            ready=(*self.recipe.ready(args.values, args.start_timeout_s), stays_up),
            display_name=self.recipe.title,
        )


_PORT = (
    Option(
        "interface_name",
        "str",
        "The adapter of the node's address.",
        default="Ethernet",
        variable="winkube_interface_name",
    ),
    Option(
        "management_ip",
        "str",
        "That address; empty for the adapter's first one.",
        default="",
        variable="winkube_management_ip",
    ),
    Option(
        "cluster_cidr",
        "str",
        "The pods' network, whose pods may come in by the firewall rule.",
        default="",
        variable="winkube_cluster_cidr",
    ),
)
"""What who may reach a port follows from."""


def declare(name: str, role: str, daemon: Daemon, recipe: Recipe, *, rule: str = "") -> ProgramService:
    """A component that site.yml runs only where `winkube_optional_components` names its role."""

    def reads(layout: Layout) -> tuple[Query, ...]:
        return made.reads(layout)

    component = Component(
        name=name,
        role=role,
        reads=reads,
        expected=lambda expected: role in expected.optional_components,
        interface=_interface(name, role, daemon, recipe),
        daemon=daemon,
        tools=lambda layout: (layout.nssm,),
        rules=(rule,) if rule else (),
        optional=True,
    )
    made = ProgramService(component, daemon, recipe)
    return made


def _interface(name: str, role: str, daemon: Daemon, recipe: Recipe) -> Interface:
    """The options that all modules of this kind have, and those of the recipe."""

    def own(option: str, *default: Any, **more: str) -> Variable:
        return Variable(f"winkube_{role}_{option}", *default, **more)

    published = f" {recipe.no_url.partition(';')[0]}." if recipe.no_url else ""
    managers = daemon.kind.managers
    return Interface(
        module=f"win_{role}",
        summary=recipe.summary,
        task=f"Install {name}",
        shared=(
            "node",
            "golden_image",
            "pushed_builds",
            "drain",
            "nssm",
            *(("inbound", "cluster") if recipe.port else ()),
        ),
        options=(
            Option(
                "version",
                "str",
                f"The release of {name}, such as V({recipe.version}).",
                required=True,
                variable=own("version", recipe.version),
            ),
            Option(
                "source",
                "dict",
                f"Where {name} comes from.",
                options=(
                    Option(
                        "url",
                        "str",
                        f"A release archive or the program, fetched by the node.{published}",
                        default="",
                        variable=own("url", recipe.url, shown="the publisher's" if recipe.url else ""),
                    ),
                    checksum_option(
                        name,
                        own(
                            "checksum",
                            recipe.sums or "{{ winkube_download_sums }}",
                            shown="the publisher's" if recipe.sums else "none",
                        ),
                        sums="a sum file",
                    ),
                    PROXY,
                ),
            ),
            unverified_option(name),
            *(replace(option, variable=own(option.name)) for option in recipe.options),
            *(_PORT if recipe.port else ()),
            Option(
                "service",
                "dict",
                "How the service is made and run.",
                options=(
                    Option(
                        "manager",
                        "str",
                        "V(sc) for sc.exe and the program's own way to be a service, or V(nssm).",
                        default=managers[0],
                        choices=managers,
                    ),
                    *service_seconds("Seconds in which it has to work.", recipe.start_timeout_s, recipe.stop_timeout_s),
                ),
                variable=own("service"),
            ),
        ),
    )
