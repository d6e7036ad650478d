# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A component that is a program, its service and its configuration; its declaration is all of its code.

doc_fragments/components.py documents its options, and `make generate` writes those files of its role that only repeat
the declaration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import yaml

from ..engine import windows_path
from ..engine.batch import Op
from ..engine.reading import Query, services_query
from ..engine.resource import Refused, Resource
from ..engine.resources.directory import Directory, guard
from ..engine.resources.file import File
from ..engine.resources.firewall_rule import FirewallRule, Network
from ..engine.resources.programs import Programs, Source
from ..engine.resources.service import RUNNING, Service
from ..engine.tools import wait_service
from . import nssm
from .declaration import Component, Daemon
from .layout import Layout
from .options import Interface, Variable, inlined, option, suboptions
from .service import Running, service_of
from .shared_arguments import inbound_networks, running, source_of
from .shared_options import (
    ProgramSource,
    ServiceOptions,
    checksum_option,
    environment_option,
    service_options,
    start_option,
    stop_option,
    unverified_option,
)
from .source import is_archive
from .stage import Given, Resources, Stage

T = TypeVar("T")


class WithPort(Protocol):
    """Options of a program that listens."""

    @property
    def port(self) -> int:
        """The TCP port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodsAddress:
    """The options that decide who may reach a port."""

    interface_name: str = option(
        "The adapter of the node's address.", default="Ethernet", variable="winkube_interface_name"
    )
    management_ip: str = option(
        "That address; empty for the adapter's first one.", default="", variable="winkube_management_ip"
    )
    cluster_cidr: str = option(
        "The pods' network, whose pods may come in by the firewall rule.",
        default="",
        variable="winkube_network.cluster_cidr",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """The options of all modules of this kind. `own` are those of the one program."""

    version: str = option("Its release.")
    source: ProgramSource = suboptions(ProgramSource, "Where it comes from.")
    allow_unverified: tuple[str, ...] = unverified_option("the program")
    own: Any = option("Its own.")
    config_template: str = option("A template.", default="")
    address: PodsAddress = inlined(PodsAddress)
    service: ServiceOptions = suboptions(ServiceOptions, "Its service.")


def _no_arguments(_layout: Layout, _options: Any) -> tuple[str, ...]:
    return ()


def _accept_any(_version: str, _options: Any) -> None:
    return None


def answers(url: str) -> Callable[[WithPort, int], tuple[Op, ...]]:
    """The gate that passes when `url` answers 200; its `{}` is the option `port`."""

    def build_gate(options: WithPort, seconds: int) -> tuple[Op, ...]:
        return (Op("wait", {"for": "http", "url": url.format(options.port), "status": 200, "timeout_s": seconds}),)

    return build_gate


@dataclass(frozen=True, slots=True)
class Recipe(Generic[T]):
    """How one program becomes a service.

    `summary` is the short description of role and module, `description` the rest of the module's, `example` its options
    in the example; `title` is the service's display name. The role installs the release `version` from `url`, checked
    by `sums`; both are templates of the role. `no_url` says what to do if nobody publishes the program. `members` are
    its files in a release archive, with `{version}` for the release: the program, and what lies beside it. `arguments`
    are the program's; `log_arguments` say where it logs unless nssm writes its output. `config` is the role's template
    of its configuration (JSON or YAML by the name before `.j2`), which lies beside the program and restarts the
    service. The template gets one variable of the role's name: the options, `node` with the layout, and `folder`, the
    program's. `leaves` are files that the program itself makes in that folder. `check` refuses an unsuitable version or
    options. A start waits for `ready`, within its seconds; the service must also stay up. `options` is the dataclass of
    its own options; one without a variable gets `winkube_<role>_<name>`. `port` is the TCP port that others may reach,
    if there is a firewall rule for it. `queries` are read too.
    """

    summary: str
    title: str
    version: str
    options: type[T]
    description: tuple[str, ...] = ()
    example: Mapping[str, Any] = field(default_factory=dict)
    url: str = ""
    sums: str = ""
    no_url: str = ""
    members: tuple[str, ...] = ()
    config: str = ""
    leaves: tuple[str, ...] = ()
    arguments: Callable[[Layout, T], tuple[str, ...]] = _no_arguments
    log_arguments: Callable[[str], tuple[str, ...]] = lambda _log: ()
    check: Callable[[str, T], None] = _accept_any
    ready: Callable[[T, int], tuple[Op, ...]] = lambda _options, _seconds: ()
    port: Callable[[T], int] | None = None
    queries: tuple[Query, ...] = ()
    start_timeout_s: int = 60
    stop_timeout_s: int = 60


@dataclass(frozen=True, slots=True)
class Args:
    """Checked arguments of such a module. `archive`: `source` is a release archive, not only the program. `config`
    is the text of its configuration. `sources` may reach the port: an empty one means everyone, None leaves the
    firewall alone. `mark` is the batch's id."""

    layout: Layout
    source: Source
    options: Any
    service: Running = field(default_factory=Running)
    archive: bool = False
    config: str = ""
    sources: tuple[Network, ...] | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True)
class ProgramService:
    """A component of this kind. `component` is its declaration; `daemon` and `recipe` are parts of it."""

    component: Component
    daemon: Daemon
    recipe: Recipe[Any]

    @property
    def rule(self) -> str:
        """The name of its firewall rule; empty for none."""
        return next(iter(self.component.rules), "")

    def build_resources(self, args: Args) -> tuple[Resource, ...]:
        """Folders, program, configuration, firewall rule, service. Refused for an unsuitable version or options."""
        self.recipe.check(args.source.version or "", args.options)
        return (
            *self._folders(args.layout),
            *args.service.tools,
            self._programs(args.layout, args.source, archive=args.archive, mark=args.mark),
            *self._config(args.layout, args.config, args.layout.backup(args.mark)),
            *self._firewall(args),
            self._service(args),
        )

    def reads(self, layout: Layout) -> tuple[Query, ...]:
        """Everything that `build_resources` reads for this layout, whatever its other arguments."""
        resources: tuple[Resource, ...] = (
            *self._folders(layout),
            self._programs(layout, Source("", None, ""), archive=True, mark=""),
            *self._config(layout, "", ""),
            *((FirewallRule(self.rule, "TCP", 1, ()),) if self.rule else ()),
        )
        return (
            *(query for resource in resources for query in resource.reads()),
            *nssm.reads(layout),
            services_query((self.daemon.service(layout),)),
            *self.recipe.queries,
        )

    def _folders(self, layout: Layout) -> tuple[Directory, ...]:
        return guard(windows_path.parent(self.daemon.program(layout)), layout.log_dir)

    def _programs(self, layout: Layout, source: Source, *, archive: bool, mark: str) -> Programs:
        program = self.daemon.program(layout)
        named = tuple(member.format(version=source.version.removeprefix("v")) for member in self.recipe.members)
        if not archive and len(named) > 1:
            raise Refused(f"{self.component.name}: source.url: its programs come in an archive; name that.")
        beside = tuple(
            (name, windows_path.join(windows_path.parent(program), name.rpartition("/")[2])) for name in named
        )
        files = ((named[0], program), *beside[1:]) if archive and named else (("", program),)
        return Programs(self.component.name, source, files, layout.state_dir, mark[:8])

    def _config(self, layout: Layout, text: str, backup: str) -> tuple[File, ...]:
        return tuple(File(path, text.encode(), backup) for path in _config_paths(self.daemon, self.recipe, layout))

    def _firewall(self, args: Args) -> tuple[FirewallRule, ...]:
        if self.recipe.port is None:
            return ()
        port = self.recipe.port(args.options)
        if not 0 < port < 65536:
            raise Refused(f"{self.component.name}: port: {port} is not a TCP port, which is 1 to 65535.")
        return () if args.sources is None else (FirewallRule(self.rule, "TCP", port, args.sources, adopts=True),)

    def _service(self, args: Args) -> Service:
        seconds = args.service.options.start_timeout
        stays_up = wait_service(self.daemon.service(args.layout), RUNNING, seconds, stable_s=3)
        log = windows_path.join(args.layout.log_dir, f"{self.component.name}.log")
        return service_of(
            self.component.name,
            self.daemon,
            args.layout,
            args.service,
            arguments=self.recipe.arguments(args.layout, args.options),
            native_arguments=self.recipe.log_arguments(log),
            ready=(*self.recipe.ready(args.options, seconds), stays_up),
            uses=_config_paths(self.daemon, self.recipe, args.layout),
            display_name=self.recipe.title,
        )


def declare(name: str, role: str, daemon: Daemon, recipe: Recipe[Any], *, rule: str = "") -> ProgramService:
    """A component that site.yml runs only where `winkube_optional_components` names its role."""

    def reads(layout: Layout) -> tuple[Query, ...]:
        return made.reads(layout)

    def build_wanted(given: Given[ProgramOptions]) -> Resources:
        return made.build_resources(_arguments(made, given))

    component = Component(
        name=name,
        role=role,
        reads=reads,
        expected=lambda expected: role in expected.optional_components,
        interface=_interface(name, role, daemon, recipe),
        daemon=daemon,
        settings=lambda layout: _config_paths(daemon, recipe, layout),
        files=lambda layout: tuple(_beside(daemon, layout, name) for name in recipe.leaves),
        tools=lambda layout: (layout.nssm,),
        rules=(rule,) if rule else (),
        optional=True,
        stages=(Stage(name, build_wanted),),
    )
    made = ProgramService(component, daemon, recipe)
    return made


def _beside(daemon: Daemon, layout: Layout, name: str) -> str:
    return windows_path.join(windows_path.parent(daemon.program(layout)), name)


def _config_paths(daemon: Daemon, recipe: Recipe[Any], layout: Layout) -> tuple[str, ...]:
    return (_beside(daemon, layout, recipe.config.removesuffix(".j2")),) if recipe.config else ()


def _config(made: ProgramService, given: Given[ProgramOptions]) -> str:
    """The text of its configuration; empty if it has none. Refused if it does not parse."""
    if not made.recipe.config:
        return ""
    template, role = given.options.config_template, made.component.role
    folder = windows_path.parent(made.daemon.program(given.layout))
    whole = asdict(given.options)
    variables = {**whole, **whole.pop("own"), "node": asdict(given.layout), "folder": folder}
    text = given.asks.render(template, {role: variables}, role)
    try:
        json.loads(text) if made.recipe.config.endswith(".json.j2") else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())
        raise Refused(
            f"{given.name}: config_template: {template} yields a file that cannot be read: {problem}."
        ) from None
    return text


def _arguments(made: ProgramService, given: Given[ProgramOptions]) -> Args:
    """The arguments from the module's options. Refused without a source."""
    url, address = given.options.source.url, given.options.address
    if not url:
        variable = f"winkube_{made.component.role}_url"
        told = made.recipe.no_url or "Name an archive or the program"
        raise Refused(f"{given.name}: no source. {told} in {variable}, with its checksum.")
    return Args(
        layout=given.layout,
        source=source_of(given, given.name, given.options.version),
        options=given.options.own,
        archive=is_archive(given.name, url),
        config=_config(made, given),
        sources=inbound_networks(given, address, address.cluster_cidr) if made.recipe.port else None,
        mark=given.mark,
        service=running(given, made.daemon),
    )


def _interface(name: str, role: str, daemon: Daemon, recipe: Recipe[Any]) -> Interface:
    """The options of all modules of this kind, and those of the recipe."""

    def build_variable(option: str, *default: Any, **more: str) -> Variable:
        return Variable(f"winkube_{role}_{option}", *default, **more)

    published = f" {recipe.no_url.partition(';')[0]}." if recipe.no_url else ""
    file = recipe.config.removesuffix(".j2")
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
        options=ProgramOptions,
        own={
            "version": option(
                f"The release of {name}, such as V({recipe.version}).",
                variable=build_variable("version", recipe.version),
            ),
            "source": suboptions(
                ProgramSource,
                f"Where {name} comes from.",
                url=option(
                    f"A release archive or the program, fetched by the node.{published}",
                    default="",
                    variable=build_variable("url", recipe.url, shown="the publisher's" if recipe.url else ""),
                ),
                checksum=checksum_option(
                    name,
                    build_variable(
                        "checksum",
                        recipe.sums or "{{ winkube_download_sums }}",
                        shown="the publisher's" if recipe.sums else "none",
                    ),
                    sums="a sum file",
                ),
            ),
            "allow_unverified": unverified_option(name),
            "own": inlined(recipe.options, prefix=f"winkube_{role}_"),
            "config_template": option(
                f"A Jinja2 template of C({file}), looked for in the role and then along the usual search path.",
                default=recipe.config,
                variable=build_variable("config_template"),
                type="path",
            )
            if recipe.config
            else None,
            **({} if recipe.port else {"address": None}),
            "service": service_options(
                daemon.kind.managers,
                "V(sc) for sc.exe and the program's own way to be a service, or V(nssm).",
                environment=environment_option(),
                start=start_option("Seconds within which it must work.", recipe.start_timeout_s),
                stop=stop_option(recipe.stop_timeout_s),
                variable=build_variable("service"),
            ),
        },
    )
