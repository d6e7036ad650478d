# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a later task of a run would refuse, said by the first one for all hosts, before anything is changed on one of
them: what the components refuse of their own plan (`node_plan.py`), and what the cluster and the whole machine say of
it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from ..cluster.backends import DESTINATIONS, read_large
from ..cluster.client import Cluster
from ..cluster.error import FORBIDDEN, ClusterError
from ..cluster.network import SOURCES, resolve
from ..cluster.reading import BOOTSTRAP_RIGHTS, KUBEADM_RIGHTS, ClusterReading, read_cluster, read_network
from ..cluster.rights import is_allowed
from ..cluster.trial import try_token
from ..components import networks
from ..components.expected import SERVICE
from ..components.join import cluster_fit
from ..components.layout import Layout
from ..components.node import Node
from ..engine.address import mask
from ..engine.clock import as_timestamp
from ..engine.reading import Reading, file_key
from ..engine.sentences import join_words
from ..facts.kubernetes_fixes import FIXES
from ..facts.version import Version, VersionError
from ..words.cause import ERROR
from ..words.causes import CAUSES
from ..words.mended import describe_lacking

PREFIX = "winkube_"
ROOM_BYTES = 2 * 1024**3
"""Free on the volume of the programs before a node is made of a machine: the programs take less than 0.7 GB unpacked,
and are there twice while they arrive. Base images of Windows are not counted."""

BEHIND_S: Final = 300
"""A certificate is valid from so long before the moment in which it is signed.

Source: kubernetes v1.29 pkg/controller/certificates/signer/signer.go (Backdate: 5 minutes).
"""

AHEAD_S: Final = 24 * 3600
"""No clock runs ahead so far by itself: the date was set wrong, and tokens and certificates would be over too early."""


NOT_TRIED: Final = (
    "Whether the cluster accepts a bootstrap token was not tried, since none was made: only what its group may do was "
    "asked."
)

PLANNED_WITH = ("cluster_cidr", "service_cidr", "dns_service_ip", "cluster_domain")
"""What components make their arguments of, of the values of the cluster's network."""
KNOWING = ("host", "kubelet", "join", "flannel", "kube_proxy")
"""Roles whose options have values of the cluster."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run for one host. `value`: of the variable of this name, without prefix, None if it is not known; `roles`:
    whether the role of this name takes part (tags); `opened`: the cluster of a kubeconfig, whose answers
    all hosts of the run share; `warn` and `tell` show a sentence; `tries`: whether a bootstrap token is made, to try
    what it may do; `host`: its name in the inventory, for commands."""

    value: Callable[[str], Any]
    reading: Reading
    roles: Callable[[str], bool]
    layout: Layout
    opened: Callable[[Mapping[str, Any]], Cluster | None] | None = None
    warn: Callable[[str], None] = lambda _sentence: None
    tell: Callable[[str], None] = lambda _sentence: None
    tries: bool = False
    host: str = ""
    _known: dict[str, Any] = field(default_factory=dict)

    def cluster(self) -> Cluster | None:
        """None without a kubeconfig. ClusterError."""
        return (self.opened or Cluster.open)(self.value("cluster") or {})

    def read_cluster(self) -> ClusterReading | None:
        """The cluster, read once for all hosts of the run; None without a kubeconfig. ClusterError."""
        if "cluster" not in self._known:
            try:
                self._known["cluster"] = self._read_cluster()
            except ClusterError as error:
                self._known["cluster"] = error
        found: ClusterReading | ClusterError | None = self._known["cluster"]
        if isinstance(found, ClusterError):
            raise found
        return found

    def _read_cluster(self) -> ClusterReading | None:
        cluster = self.cluster() if self.asks else None
        if cluster is None:
            return None
        if not self.joining:
            return read_network(cluster)
        rights = (*BOOTSTRAP_RIGHTS, *(KUBEADM_RIGHTS if self.text("join") == "kubeadm" else ()))
        if not self.makes_token:
            return read_cluster(cluster)
        if not self.tries:
            return read_cluster(cluster, rights=rights)
        trial = try_token(cluster, rights)
        if trial.accepted is None:
            return read_cluster(cluster, rights=rights)
        return replace(read_cluster(cluster), lacking=trial.lacking, token_accepted=trial.accepted)

    @property
    def makes_token(self) -> bool:
        """Whether the machine joins with a bootstrap token of ours."""
        return self.text("join") != "kubeconfig" and not self.text("bootstrap_kubeconfig_source")

    def whole_network(self) -> Mapping[str, str]:
        """The values of the cluster's network by name, as the variable winkube_network has them; empty if one cannot be
        known."""
        if "network" not in self._known:
            given = {each: self.text(each) for each in SOURCES}
            try:
                self._known["network"] = resolve(given, self.read_cluster())
            except ClusterError:  # which `_check_cluster` says
                self._known["network"] = given
        found: Mapping[str, str] = self._known["network"]
        return found

    def text(self, name: str) -> str:
        value = self.value(name)
        return "" if value is None else str(value)

    @property
    def kubernetes(self) -> bool:
        """Whether the machine is to be a node, and not only to have containerd."""
        return bool(self.text("kubernetes_version"))

    @property
    def asks(self) -> bool:
        """Whether the cluster is asked at all, if there is a kubeconfig."""
        return self.kubernetes and not self.golden_image and any(map(self.roles, KNOWING))

    @property
    def joining(self) -> bool:
        """Whether the run will let the machine join: it has no kubeconfig of a kubelet yet."""
        return self.kubernetes and self.roles("join") and not self.there("kubelet_kubeconfig")

    @property
    def golden_image(self) -> bool:
        """Whether the machine becomes an image, which is in no cluster and no network."""
        return self.text("golden_image").casefold() in {"true", "yes", "1"}

    def there(self, what: str) -> bool:
        """Whether a file of the layout is on the node; True where no one can tell."""
        found = self.reading.parts.get(file_key(getattr(self.layout, what)))
        return not isinstance(found, Mapping) or bool(found.get("exists"))

    @property
    def can_plan(self) -> bool:
        """Whether the network is known, of which components make their arguments; if not, why is said of the
        cluster."""
        known = self.whole_network()
        return not isinstance(self._known.get("cluster"), ClusterError) and all(known[name] for name in PLANNED_WITH)


def find_problems(run: Run, node: Node | None, refusals: tuple[str, ...] = ()) -> tuple[str, ...]:
    """One sentence for each thing that cannot work.

    Args:
        run: The run, for one host.
        node: The node as the variables want it; None if they cannot be rendered yet.
        refusals: What the components refuse of their own plan, if they were planned.
    """
    found = [*_check_proxies(run), *_check_drives(run, node), *_check_room(run), *_check_cluster(run, node), *refusals]
    if node is not None:
        found += _check_network(run, node)
        _tell_fixes(run, node)
        _tell_large(run, node)
    found += _check_kubeconfig(run)
    return tuple(dict.fromkeys(found))


def _tell_fixes(run: Run, node: Node) -> None:
    """What the release lacks that a later one of its line has, of the programs that the run installs."""
    programs = {"kubelet": run.roles("kubelet"), "kube-proxy": run.roles("kube_proxy") and node.runs_kube_proxy}
    gates = {name for name, on in node.kubelet.feature_gates.items() if str(on).casefold() == "true"}
    concerned = [
        each
        for each in FIXES
        if programs[each.program]
        and each.network in {"", node.network_mode}
        and (not each.two_families or networks.has_two_families(node.service_cidr))
        and (not each.gate or each.gate in gates)
    ]
    with suppress(VersionError):  # which the role kubelet refuses
        if node.kubernetes and (said := describe_lacking(Version.parse(node.kubelet.version), concerned)):
            run.tell(said)


def _tell_large(run: Run, node: Node) -> None:
    """The Services that get no rule on a node without DSR. The cluster is not asked where that does not matter."""
    if not (run.asks and run.roles("kube_proxy") and node.runs_kube_proxy) or node.kube_proxy.dsr:
        return
    try:
        cluster = run.cluster()
        large = read_large(cluster) if cluster is not None else ()
    except ClusterError as error:  # which `_check_cluster` says, but for a right
        if error.status == FORBIDDEN:
            run.tell(
                "How many endpoints Services have was not counted: the kubeconfig's user may not list EndpointSlices "
                "(examples/rbac/site.yml)."
            )
        return
    if large:
        remedy = CAUSES["kube-proxy.rule-too-many"].remedy
        run.tell(
            f"Without DSR a rule takes {DESTINATIONS} endpoints, and these Services get none on a Windows node: "
            f"{join_words(f'{each.name} ({each.endpoints})' for each in large)}. {remedy.plain} "
            f"{remedy.ours('HOST')}"
        )


def _check_network(run: Run, node: Node) -> tuple[str, ...]:
    """Of a network that the cluster brings. One of the node's own is the role flannel's to check."""
    if run.golden_image or not run.kubernetes or node.cni_managed_by == SERVICE:
        return ()
    return (*_check_two_families(run, node), *(_check_calico(run, node) if node.calico else ()))


def _check_two_families(run: Run, node: Node) -> Iterator[str]:
    """IPv4 and IPv6 with a network that the cluster brings: its DaemonSets say which."""
    named = {"cluster_cidr": node.cluster_cidr, "service_cidr": node.service_cidr}
    for name, text in named.items():
        if not networks.has_two_families(text):
            continue
        if why := networks.two_families_problem(node.flannel.network_mode, _name_network(run), run.reading.build):
            yield f"{PREFIX}{name}: {text} has two families, {why}"


def _check_calico(run: Run, node: Node) -> tuple[str, ...]:
    """What keeps Calico off this node, before it joins; nothing where no one may look, or there is no cluster yet."""
    from ..calico import judge as calico  # only a cluster with Calico needs it
    from ..calico.view import build_wanted, look

    try:
        cluster = run.cluster() if run.joining else None
        if cluster is None:
            return ()
        needed = build_wanted(
            cluster.server,
            cluster_cidr=node.cluster_cidr,
            service_cidr=node.service_cidr,
            api_server=run.whole_network()["api_server"],
            cni_bin_dir=run.layout.cni_bin_dir,
            cni_conf_dir=run.layout.cni_conf_dir,
        )
        found = calico.problems(look(cluster), needed)
    except ClusterError as error:
        return () if error.status == FORBIDDEN else (str(error),)
    return tuple(each.advise(run.host) for each in found if each.severity == ERROR and calico.rule_of(each).before)


def _name_network(run: Run) -> str:
    """flannel or calico where a DaemonSet of the cluster is; empty for another, or where no one can be asked."""
    try:
        cluster = run.cluster()
        sets = cluster.items("/apis/apps/v1/daemonsets") if cluster else ()
    except ClusterError:
        return ""
    names = [str((each.get("metadata") or {}).get("name") or "") for each in sets]
    return next((known for known in networks.ONE_FAMILY if any(known in name for name in names)), "")


def _check_kubeconfig(run: Run) -> tuple[str, ...]:
    """That the file is there and says which cluster. Before a join also that the user may do what the join asks of it,
    and that the clocks agree."""
    if run.golden_image or not (run.kubernetes and run.roles("join")):
        return ()
    try:
        cluster = run.cluster()
        return (
            ()
            if cluster is None or not run.joining
            else (
                *_check_rights(run, cluster),
                *_check_clock(run, cluster.server_time),
            )
        )
    except ClusterError as error:
        return (str(error),)


def _check_cluster(run: Run, node: Node | None) -> tuple[str, ...]:
    """The cluster, read once for all nodes, held against what this one is to be."""
    try:
        found = run.read_cluster()
    except ClusterError as error:
        return (str(error),)
    if found is None or node is None:
        return ()
    if run.joining and run.makes_token and found.token_accepted is None:
        run.tell(NOT_TRIED)
    given = {name: run.text(name) for name in SOURCES}
    wanted = cluster_fit.Newcomer(node.kubelet, run.layout, given, run.joining, node.cni_managed_by == SERVICE)
    if taken := cluster_fit.describe_known(found, wanted):
        run.tell(taken)
    for sentence in cluster_fit.find_notices(found, wanted):
        run.warn(sentence)
    return cluster_fit.find_misfits(found, wanted)


Right = tuple[str, str, str, str, str]
"""verb, group, resource (with its subresource), namespace, what it is for."""

JOIN_RIGHTS: tuple[Right, ...] = (
    ("get", "", "nodes", "", "to see the Node"),
    ("patch", "", "nodes", "", "to set its taints"),
    ("list", "certificates.k8s.io", "certificatesigningrequests", "", "to see the request of its certificate"),
)
TOKEN_RIGHTS: tuple[Right, ...] = (
    ("create", "", "secrets", "kube-system", "for the token of the join"),
    ("delete", "", "secrets", "kube-system", "to take the token of the join away"),
)
DRAIN_RIGHTS: tuple[Right, ...] = (
    ("list", "", "pods", "", "to drain"),
    ("create", "", "pods/eviction", "", "to drain"),
)


def _check_rights(run: Run, cluster: Cluster) -> tuple[str, ...]:
    """Asked as `kubectl auth can-i` does: a SelfSubjectAccessReview each, which every user may create."""
    wanted = [*JOIN_RIGHTS]
    if run.makes_token:
        wanted += TOKEN_RIGHTS
    if run.text("drain").casefold() in {"true", "yes", "1"}:
        wanted += DRAIN_RIGHTS
    missing = [right for right in wanted if not is_allowed(cluster, *right[:4])]
    if not missing:
        return ()
    said = "; ".join(
        f"{verb} {resource}{f' in {namespace}' if namespace else ''} ({purpose})"
        for verb, _group, resource, namespace, purpose in missing
    )
    return (
        f"winkube_cluster.kubeconfig {(run.value('cluster') or {}).get('kubeconfig')}: its user may not {said}. "
        "Use one that may, or bind it to a role with these rights.",
    )


def _check_clock(run: Run, cluster: datetime | None) -> Iterator[str]:
    """The node's clock against the API server's, each as it is now: what the controller's says does not count."""
    said = (run.reading.parts.get("system") or {}).get("clock")
    if not (said and run.reading.taken_at and cluster):
        return
    own = datetime.fromisoformat(str(said)) + timedelta(seconds=time.time() - run.reading.taken_at)
    if -BEHIND_S <= (own - cluster).total_seconds() <= AHEAD_S:
        return
    yield (
        f"The node's clock says {as_timestamp(own)}, the API server's {as_timestamp(cluster)}: what the cluster issues "
        "would not be valid on the node. Put the wrong one right (on the node: w32tm /resync /force)."
    )


_DRIVE = re.compile(r"[A-Za-z]:")


def _check_proxies(run: Run) -> Iterator[str]:
    shared = run.text("proxy")
    for name in ("proxy", "http_proxy", "node_http_proxy", "node_https_proxy"):
        value = run.text(name)
        if value and not _is_proxy(value):
            said = "proxy" if value == shared else name
            yield (
                f"{PREFIX}{said}: '{mask(value)}' is not a proxy; give http://proxy.example.com:3128, with user and "
                "password before an @ where it wants them."
            )


def _is_proxy(value: str) -> bool:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0 and parts.path in {"", "/"}


def _check_drives(run: Run, node: Node | None) -> Iterator[str]:
    """Every path's drive: a batch would end at its first folder there. Nothing is said where no drive was read."""
    there = sorted(run.reading.free_bytes)
    places = {each.name: getattr(run.layout, each.name) for each in fields(run.layout)}
    if node is not None:
        places |= {"cni_data_dir": node.kube_proxy.cni_data_dir, "flannel_net_conf": node.flannel.net_conf}
    wanted: dict[str, dict[str, str]] = {}
    for name, path in places.items():
        if isinstance(path, str) and _DRIVE.match(path):
            wanted.setdefault(path[:2].upper(), {})[f"{PREFIX}{name}"] = path
    for drive, variables in wanted.items() if there else ():
        if drive not in there:
            told = ", ".join(f"{name} ({path})" for name, path in sorted(variables.items()))
            yield f"The machine has no fixed drive {drive} (it has {', '.join(there)}), where {told} would lie."


def _check_room(run: Run) -> Iterator[str]:
    """Only for a machine that lacks its programs: one that has them all would fetch nothing."""
    lacking = [
        program
        for program, role, wanted in (
            ("containerd_binary", "containerd", run.text("container_runtime") == "containerd"),
            ("kubelet_binary", "kubelet", run.kubernetes),
        )
        if wanted and run.roles(role) and not run.there(program)
    ]
    volumes = dict.fromkeys(str(getattr(run.layout, program))[:2].upper() for program in lacking)
    for volume in volumes:
        left = run.reading.free_bytes.get(volume)
        if isinstance(left, int) and left < ROOM_BYTES:
            yield (
                f"The volume {volume} has {left / 1024**3:.1f} GB free, and the programs of a node need "
                f"{ROOM_BYTES // 1024**3} GB while they are installed; images of containers come on top. Make room, or "
                "a larger volume."
            )
