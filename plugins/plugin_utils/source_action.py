# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions share whose component is a program that comes from somewhere, and may run under nssm; those of them
that go with a release of Kubernetes or with a cluster; and those that are a program and its service alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from .cluster.client import Cluster
from .cluster.error import ClusterError
from .component_action import ComponentAction
from .components import inbound, log_runner, networks, nssm
from .components.kubernetes_fit import release
from .components.layout import Layout
from .components.program_service import Args, ProgramService
from .components.registry import COMPONENTS, PROGRAM_SERVICES
from .components.source import is_archive, source
from .engine.reading import Reading
from .engine.resource import Notice, Refused, Resource
from .engine.resources.firewall_rule import Network
from .engine.resources.programs import Source
from .facts import kubernetes
from .facts.version import Version
from .node.link import NodeError


class SourceAction(ComponentAction):
    """A component with the options `source`, `allow_unverified` and, if it is a service, `nssm_source`."""

    def source_of(
        self, options: Mapping[str, Any], *, component: str = "", version: str = "", option: str = "source"
    ) -> Source:
        """Where the program comes from; the component's own unless another is named. Refused if nothing vouches for
        it. One without a proxy of its own goes through that of `source`."""
        wanted = options[option]
        found = source(
            component=component or self.component,
            version=version or str(options["version"]),
            url=wanted["url"],
            checksum=wanted["checksum"],
            unverified=options["allow_unverified"],
            read_url=self.read_once,
            proxy=wanted.get("proxy", options["source"]["proxy"]) or None,
        )
        return replace(found, keep_pushed=bool(options.get("keep_pushed_builds")))

    def service_options(self, options: Mapping[str, Any], layout: Layout, mark: str) -> dict[str, Any]:
        """The fields of `Managed`, from the options that the modules of services share."""
        service = options["service"]
        return {
            "manager": service["manager"],
            "tools": self._tools(options, layout, mark),
            "rotation": log_runner.rotation(options["log"]),
            "environment": variables(service.get("environment") or {}),
            "depends_on": tuple(service.get("depends_on") or ()),
            "start_timeout_s": service["start_timeout"],
            "stop_timeout_s": service["stop_timeout"],
            "rests": options["golden_image"],
        }

    def program_alone(
        self,
        options: Mapping[str, Any],
        layout: Layout,
        mark: str,
        resources: Callable[[Layout, Source, tuple[Resource, ...], str], tuple[Resource, ...]],
        component: str = "",
    ) -> tuple[Resource, ...]:
        """What an image has of a program whose service names the machine; nothing where the program is the
        cluster's."""
        if options["managed_by"] == "cluster":
            return ()
        tools = self._tools(options, layout, mark)
        return resources(layout, self.source_of(options, component=component), tools, mark)

    def _tools(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        """nssm.exe, where the service runs under it, or kube-log-runner.exe, where that keeps its log: only then does
        anybody have to say where it comes from."""
        daemon = next(each.daemon for each in COMPONENTS if each.module == self.module)
        manager = options["service"]["manager"]
        if manager == "nssm":
            return self._nssm(options, layout, mark)
        if manager == "sc" and daemon is not None and daemon.kind.wrapped:
            return self._log_runner(options, layout, mark)
        return ()

    def _nssm(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        wanted = nssm.nssm_source(
            url=options["nssm_source"]["url"],
            checksum=options["nssm_source"]["checksum"],
            proxy=options["source"]["proxy"] or None,
            unverified=options["allow_unverified"],
            read_url=self.read_once,
        )
        return nssm.desired(layout, wanted, mark)

    def _log_runner(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        wanted = log_runner.wanted_source(
            version=options["log_runner_source"]["version"],
            url=options["log_runner_source"]["url"],
            checksum=options["log_runner_source"]["checksum"],
            proxy=options["source"]["proxy"] or None,
            unverified=options["allow_unverified"],
            read_url=self.read_once,
        )
        return log_runner.desired(layout, wanted, mark)

    def read_once(self, address: str) -> str:
        """As `read_url`; planning again does not read again."""
        texts: dict[str, str] = self.__dict__.setdefault("_texts", {})
        if address not in texts:
            texts[address] = self.read_url(address)
        return texts[address]


def variables(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """A service's variables as `NAME=value`, sorted, so that they are the same at each run."""
    return tuple(f"{name}={value}" for name, value in sorted(environment.items()))


T = TypeVar("T")
_CLUSTER = "the cluster itself"


class KubernetesAction(SourceAction):
    """A component that goes with a release of Kubernetes, or with a cluster."""

    def version(self, options: Mapping[str, Any]) -> Version:
        """The release that is wanted. Refused if it is none."""
        return release(options["version"], "winkube_kubernetes_version")

    def of_cluster(self, options: Mapping[str, Any], what: str, ask: Callable[[Cluster], T]) -> T | None:
        """What `ask` gets from the cluster, asked once in a task; None without a kubeconfig. NodeError if it cannot be
        asked."""
        answers: dict[str, Any] = self.__dict__.setdefault("_answers", {})
        if what not in answers:
            try:
                cluster = self.opened(options)
                answers[what] = None if cluster is None else ask(cluster)
            except ClusterError as error:
                raise NodeError(f"{self.component}: {error}") from error
        found: T | None = answers[what]
        return found

    def opened(self, options: Mapping[str, Any]) -> Cluster | None:
        """The cluster, None for an image, which belongs to none; actions that one task plans share its connection.
        ClusterError as `Cluster.open`."""
        answers: dict[str, Any] = self.__dict__.setdefault("_answers", {})
        if _CLUSTER not in answers:
            cluster = None if options.get("golden_image") else Cluster.open(options["cluster"])
            answers[_CLUSTER] = cluster.remembering() if cluster and self._given is not None else cluster
        found: Cluster | None = answers[_CLUSTER]
        return found

    def management(self, options: Mapping[str, Any], reading: Reading) -> networks.Management:
        """The node's address in the cluster's network. Refused if there is none."""
        return networks.management(reading, interface_name=options["interface_name"], address=options["management_ip"])

    def inbound(self, options: Mapping[str, Any], reading: Reading) -> tuple[Network, ...] | None:
        """Who may reach a port of the node; nobody named is everybody, None: the firewall is left alone, as in an
        image, since the rule would name the node's own network."""
        wanted = options["firewall"]
        if options["golden_image"] or not wanted["enabled"]:
            return None
        known = self.of_cluster(options, "addresses", inbound.addresses)
        return inbound.scope(wanted["sources"], self.management(options, reading), options["cluster_cidr"], known)

    def check_skew(self, options: Mapping[str, Any], version: Version) -> tuple[Notice, ...]:
        """Refused if this release does not go with the cluster's API server. A notice if nobody can tell."""
        server = self.of_cluster(options, "version", lambda cluster: cluster.version())
        if options["golden_image"]:
            return ()
        if server is None:
            text = "skip the comparison with the API server's version (winkube_cluster.kubeconfig is empty)"
            return (Notice("version of the API server", text),)
        if sentence := kubernetes.skew_problem(self.component, version.line, Version.parse(server, "API server").line):
            raise Refused(sentence)
        return ()

    def warn_all(self, sentences: Iterable[str]) -> None:
        """Each sentence as a warning, once in a task."""
        said: set[str] = self.__dict__.setdefault("_said", set())
        for sentence in sentences:
            if sentence not in said:
                said.add(sentence)
                self.warn_once(f"{self.component}: {sentence}")


def feature_gates(given: Mapping[str, Any]) -> dict[str, bool]:
    """Feature gates; a variable on the command line is a text. Refused for what is neither true nor false."""
    words = {"true": True, "false": False}
    found = {str(name): words.get(str(value).lower()) for name, value in given.items()}
    wrong = [name for name, value in found.items() if value is None]
    if wrong:
        raise Refused(*(f"feature_gates.{name}: '{given[name]}' is neither true nor false." for name in wrong))
    return {name: bool(value) for name, value in found.items()}


class ProgramServiceAction(KubernetesAction):
    """The module of one of the components in PROGRAM_SERVICES; a subclass names it."""

    _made: ClassVar[ProgramService]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """The module's name tells which component it is."""
        super().__init_subclass__(**keywords)
        cls._made = next(each for each in PROGRAM_SERVICES if each.component.module == cls.module)
        cls.component = cls._made.component.name

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """Folders, program, firewall rule, service."""
        url = options["source"]["url"]
        if not url:
            variable = f"winkube_{self._made.component.role}_url"
            told = self._made.recipe.no_url or "Name an archive or the program"
            raise Refused(f"{self.component}: no source. {told} in {variable}, with its checksum.")
        return self._made.desired(
            Args(
                layout=layout,
                source=self.source_of(options),
                values=options,
                archive=is_archive(self.component, url),
                sources=self.inbound(options, reading) if self._made.recipe.port else None,
                mark=mark,
                **self.service_options(options, layout, mark),
            )
        )
