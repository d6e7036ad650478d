# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions share that know of Kubernetes: its release, and what the cluster is asked before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .cluster.client import Cluster
from .cluster.error import ClusterError
from .components import inbound, networks
from .components.kubernetes_fit import release
from .engine.reading import Reading
from .engine.resource import Notice, Refused
from .engine.resources.firewall_rule import Network
from .facts import kubernetes
from .facts.version import Version
from .node.link import NodeError
from .source_action import SourceAction

T = TypeVar("T")


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
                cluster = Cluster.open(options["cluster"])
                answers[what] = None if cluster is None else ask(cluster)
            except ClusterError as error:
                raise NodeError(f"{self.component}: {error}") from error
        found: T | None = answers[what]
        return found

    def management(self, options: Mapping[str, Any], reading: Reading) -> networks.Management:
        """The node's address in the cluster's network. Refused if there is none."""
        return networks.management(reading, interface_name=options["interface_name"], address=options["management_ip"])

    def inbound(self, options: Mapping[str, Any], reading: Reading) -> tuple[Network, ...] | None:
        """Who may reach a port of the node; nobody named is everybody, None: the firewall is left alone."""
        wanted = options["firewall"]
        if not wanted["enabled"]:
            return None
        known = self.of_cluster(options, "addresses", inbound.addresses)
        return inbound.scope(wanted["sources"], self.management(options, reading), options["cluster_cidr"], known)

    def check_skew(self, options: Mapping[str, Any], version: Version) -> tuple[Notice, ...]:
        """Refused if this release does not go with the cluster's API server. A notice if nobody can tell."""
        server = self.of_cluster(options, "version", lambda cluster: cluster.version())
        if server is None:
            text = "skip the comparison with the API server's version (winkube_cluster.kubeconfig is empty)"
            return (Notice("version of the API server", text),)
        if sentence := kubernetes.skew_problem(self.component, version.line, Version.parse(server, "API server").line):
            raise Refused(sentence)
        return ()

    def warn_all(self, sentences: list[str]) -> None:
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
