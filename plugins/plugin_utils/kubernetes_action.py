# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions of kubelet and kube-proxy share: their source, nssm, and what the cluster is asked before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .cluster.client import Cluster, ClusterError
from .component_action import ComponentAction
from .components import nssm
from .components.layout import Layout
from .components.notice import Notice
from .components.source import source
from .engine.resource import Refused, Resource
from .engine.resources.programs import Source
from .facts import skew
from .facts.version import Version, VersionError
from .node.link import NodeError

T = TypeVar("T")


class KubernetesAction(ComponentAction):
    """A component that is a program of Kubernetes with a service of its own."""

    def version(self, options: Mapping[str, Any]) -> Version:
        """The release that is wanted. Refused if it is none."""
        try:
            return Version.parse(options["version"], "winkube_kubernetes_version")
        except VersionError as error:
            raise Refused(str(error)) from error

    def of_cluster(self, options: Mapping[str, Any], what: str, ask: Callable[[Cluster], T]) -> T | None:
        """What `ask` gets from the cluster, asked once in a task; None without a kubeconfig. NodeError if it cannot be
        asked."""
        answers: dict[str, Any] = self.__dict__.setdefault("_answers", {})
        if what not in answers:
            try:
                cluster = Cluster.open(options["cluster"])
                answers[what] = None if cluster is None else ask(cluster)
            except ClusterError as error:
                raise NodeError(f"{self.component}: {error}") from error
        found: T | None = answers[what]
        return found

    def check_skew(self, options: Mapping[str, Any], version: Version) -> tuple[Notice, ...]:
        """Refused if this release does not go with the cluster's API server. A notice if nobody can tell."""
        server = self.of_cluster(options, "version", lambda cluster: cluster.version())
        if server is None:
            text = "not compare versions with the cluster's API server (winkube_cluster.kubeconfig is empty)"
            return (Notice("version of the API server", text),)
        if sentence := skew.problem(self.component, version.line, Version.parse(server, "API server").line):
            raise Refused(sentence)
        return ()

    def source_of(self, options: Mapping[str, Any]) -> Source:
        """The program's source. Refused if nothing vouches for it."""
        wanted = options["source"]
        return source(
            component=self.component,
            version=str(options["version"]),
            url=wanted["url"],
            checksum=wanted["checksum"],
            unverified=options["allow_unverified"],
            read_url=self.read_once,
            proxy=wanted["proxy"] or None,
        )

    def nssm_of(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        """nssm.exe, where the service runs under it."""
        if options["service"]["manager"] != "nssm":
            return ()
        wanted = nssm.nssm_source(
            url=options["nssm_source"]["url"],
            checksum=options["nssm_source"]["checksum"],
            proxy=options["source"]["proxy"] or None,
            unverified=options["allow_unverified"],
            read_url=self.read_once,
        )
        return nssm.desired(layout, wanted, mark)

    def read_once(self, address: str) -> str:
        """As `read_url`; planning again does not read again."""
        texts: dict[str, str] = self.__dict__.setdefault("_texts", {})
        if address not in texts:
            texts[address] = self.read_url(address)
        return texts[address]

    def warn_all(self, sentences: list[str]) -> None:
        """Each sentence as a warning, once in a task."""
        said: set[str] = self.__dict__.setdefault("_said", set())
        for sentence in sentences:
            if sentence not in said:
                said.add(sentence)
                self.warn_once(f"{self.component}: {sentence}")


def variables(environment: Mapping[str, Any]) -> tuple[str, ...]:
    """A service's variables as `NAME=value`, sorted, so that they are the same at each run."""
    return tuple(f"{name}={value}" for name, value in sorted(environment.items()))


def feature_gates(given: Mapping[str, Any]) -> dict[str, bool]:
    """Feature gates; a variable on the command line is a text. Refused for what is neither true nor false."""
    words = {"true": True, "false": False}
    found = {str(name): words.get(str(value).lower()) for name, value in given.items()}
    wrong = [name for name, value in found.items() if value is None]
    if wrong:
        raise Refused(*(f"feature_gates.{name}: '{given[name]}' is neither true nor false." for name in wrong))
    return {name: bool(value) for name, value in found.items()}
