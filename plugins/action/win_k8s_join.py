# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a machine a node of its cluster; documented in modules/win_k8s_join.py."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from ..plugin_utils.cluster import endpoint as endpoints
from ..plugin_utils.cluster.client import Clock, Cluster
from ..plugin_utils.cluster.documents import kubeconfig as read_kubeconfig
from ..plugin_utils.cluster.documents import public_key_sha256
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.cluster.tokens import bootstrap_token
from ..plugin_utils.components.join import join, kubeconfig, node_object
from ..plugin_utils.components.join.after_join import Expected, look_after, planned_taints
from ..plugin_utils.components.join.identities import Identity, identities, users_kubeconfig
from ..plugin_utils.components.join.join_configuration import JoinSettings, join_configuration
from ..plugin_utils.components.join.joining import LATER, Joining, told
from ..plugin_utils.components.join.secret_file import SecretFile
from ..plugin_utils.components.kubelet.kubelet import config_file
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.notice import Notice
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused, Resource
from ..plugin_utils.kubernetes_action import KubernetesAction
from ..plugin_utils.node.link import NodeError

CHECK_TOKEN = "000000.0000000000000000"
"""Stands for the token in check mode, which makes none."""
NOBODY_TO_ASK = "without winkube_cluster.kubeconfig the cluster was not asked about this node"


@dataclass(slots=True)
class _Task:
    """What one task has found out. `material` is what the node joins with, set only while that is so."""

    cluster: Cluster | None
    identities: tuple[Identity, ...] = ()
    joins: bool = False
    material: Joining | None = field(default=None, repr=False)


class ActionModule(KubernetesAction):
    """win_k8s_join."""

    module = "win_k8s_join"
    component = join.NAME
    deadline_s = 1800

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Join if need be, write the kubeconfigs of flanneld and kube-proxy, look after the Node object."""
        try:
            return self._work(options, layout)
        except ClusterError as error:
            raise NodeError(f"{self.component}: {error}") from None

    def resources(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, mark: str
    ) -> tuple[Resource, ...]:
        """The join, while there is something to join with; else what is brought in before it or besides."""
        if self._found.material is not None:
            return (replace(self._found.material, mark=mark), *self._notices())
        written = tuple(self._file(item, layout, mark) for item in self._found.identities)
        files = (*join.folders(layout), *written)
        if not self._found.joins:
            return (*files, *self._own_kubeconfig(options, layout, mark))
        return (*self._kubeadm(options, layout, mark), *files)

    def _work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        join.check_name(options["node_name"])
        self._found = found = _Task(Cluster.open(options["cluster"]))
        reading = self.reading(options, layout)
        if missing := reading.missing(join.reads(layout)):
            reading = reading.merged(self._link.probe(missing), missing)
        found.joins = not self._has_joined(options, layout, reading)
        if found.joins:
            self._may_join(options, layout, reading)
        steps, found.identities = identities(found.cluster, options, layout, check=self._task.check_mode, clock=Clock())
        done = [self._converged(options, layout, reading)]
        if found.joins:
            with ExitStack() as stack:
                found.material = self._material(options, layout, stack)
                if options["state"] == "rejoined":
                    steps += self._without_node(options)
                done.append(self._converged(options, layout, done[-1].reading))
            found.material = None
        result = self._finished(done, options)
        more, node = self._after_join(options, layout, done[-1].reading)
        state = "planned" if self._task.check_mode else "done"
        result["steps"] += [{"text": text, "state": state} for text in (*steps, *more)]
        result["changed"] = result["changed"] or bool(steps or more)
        pod_cidr = node_object.pod_cidr(node or {}) or ""
        if self._task.check_mode:
            return result | {"joined": found.joins, "pod_cidr": pod_cidr or (LATER if found.joins else "")}
        for step in result["steps"]:
            step["text"] = told(step["text"], pod_cidr)
        for part in result.get("diff") or ():
            part |= {key: told(value, pod_cidr) for key, value in part.items()}
        return result | {"joined": found.joins, "pod_cidr": pod_cidr}

    def _has_joined(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> bool:
        cluster = self._found.cluster
        return join.has_joined(
            join.Situation(
                layout=layout,
                way=options["join"],
                node_name=options["node_name"],
                reading=reading,
                node=cluster.node(options["node_name"]) if cluster else None,
                asked=cluster is not None,
                rejoin=options["state"] == "rejoined",
            )
        )

    def _may_join(self, options: Mapping[str, Any], layout: Layout, reading: Reading) -> None:
        """Refused before anything is done where the join could not work."""
        join.check_places(layout, options["join"], reading)
        cluster = self._found.cluster
        if cluster is None:
            own = {"kubeconfig": options["kubeconfig_source"], "bootstrap_kubeconfig": options["bootstrap_source"]}
            if not own.get(options["join"]):
                raise _no_cluster(options)
            if options["state"] == "rejoined":
                raise Refused(
                    "A node is joined anew only with the cluster's API at hand, for its old Node object has to go: set "
                    "winkube_cluster.kubeconfig to a kubeconfig on the controller."
                )
        elif not node_object.has_ready_linux(cluster.nodes()):
            raise Refused(
                f"The cluster {cluster.server} has no Linux node that is Ready: its own pods (DNS among them) run on "
                "Linux only, and Windows nodes cannot do without them. Add one before, or find out why it is not Ready."
            )

    def _kubeadm(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        if options["join"] != "kubeadm":
            return ()
        wanted = self.source_of(options, component=join.KUBEADM, version=str(self.version(options)))
        return join.kubeadm(layout, wanted, mark)

    def _material(self, options: Mapping[str, Any], layout: Layout, stack: ExitStack) -> Joining:
        """What the node joins with. A token that is made here is gone when `stack` is closed."""
        cluster, name = self._found.cluster, options["node_name"]
        made = Joining(
            layout=layout,
            way=options["join"],
            node_name=name,
            mark="",
            anew=options["state"] == "rejoined",
            start_timeout_s=options["start_timeout"],
        )
        if options["join"] == "kubeconfig":
            return self._brought(made, options, "kubeconfig_source")
        if options["join"] == "bootstrap_kubeconfig" and options["bootstrap_source"]:
            return self._brought(made, options, "bootstrap_source")
        if cluster is None:
            raise _no_cluster(options)
        where = endpoints.endpoint(cluster, options["api_server"])
        if options["join"] == "kubeadm" and not where.published:
            raise Refused(
                "The cluster has no ConfigMap kube-public/cluster-info, which kubeadm finds it by: it was not made by "
                "kubeadm. Set winkube_join: bootstrap_kubeconfig."
            )
        if not where.ca_pem:
            raise Refused(
                f"Neither cluster-info nor {options['cluster']['kubeconfig']} says by which CA {where.server} is to be "
                "trusted: use a kubeconfig with certificate-authority-data."
            )
        token = CHECK_TOKEN if self._task.check_mode else stack.enter_context(bootstrap_token(cluster, name))
        if options["join"] == "bootstrap_kubeconfig":
            text = kubeconfig.with_token(where.server, where.ca_pem, "tls-bootstrap-token-user", token)
            return replace(made, kubeconfig=text, ca_pem=where.ca_pem)
        settings = JoinSettings(
            version=self.version(options),
            node_name=name,
            pipe=layout.containerd_pipe,
            api_server=where.host_and_port,
            token=token,
            ca_hash=public_key_sha256(where.ca_pem),
            taints=tuple(options["taints"]),
            kubelet_extra_args={str(key): str(value) for key, value in options["kubelet_extra_args"].items()},
        )
        return replace(made, configuration=join_configuration(settings), token=token)

    def _brought(self, made: Joining, options: Mapping[str, Any], option: str) -> Joining:
        """With a file of the user's; the kubelet knows its callers by the CA in it, else by the cluster's."""
        text, cluster = self._users_file(options, option), self._found.cluster
        ca_pem = read_kubeconfig(text, options[option]).ca_pem
        if not ca_pem and cluster is not None:
            ca_pem = endpoints.endpoint(cluster, options["api_server"]).ca_pem
        if not ca_pem:
            raise Refused(
                f"{option}: {options[option]} has no certificate-authority-data, and the kubelet knows its callers by "
                "the cluster's CA: put it into that file (kubectl config view --raw --flatten), or set "
                "winkube_cluster.kubeconfig."
            )
        return replace(made, kubeconfig=text, ca_pem=ca_pem)

    def _without_node(self, options: Mapping[str, Any]) -> list[str]:
        """The old Node object is deleted: kubeadm joins no machine whose Node is Ready."""
        cluster = self._found.cluster
        path = f"/api/v1/nodes/{options['node_name']}"
        if cluster is None or cluster.get(path) is None:
            return []
        if not self._task.check_mode:
            cluster.delete(path)
        return [f"delete the Node {options['node_name']}"]

    def _own_kubeconfig(self, options: Mapping[str, Any], layout: Layout, mark: str) -> tuple[Resource, ...]:
        """On a node that has joined with a kubeconfig of the user's, that file as it is now."""
        if options["join"] != "kubeconfig" or not options["kubeconfig_source"]:
            return ()
        text = self._users_file(options, "kubeconfig_source")
        service = layout.kubelet_service
        return (SecretFile(layout.kubelet_kubeconfig, text, layout.backup(mark), "the kubelet's kubeconfig", service),)

    def _users_file(self, options: Mapping[str, Any], option: str) -> str:
        """A kubeconfig on the controller that shall go to the node. Refused if it must not."""
        path = options[option]
        if not path:
            raise Refused(f"join: {options['join']} needs {option}, a kubeconfig on the controller.")
        return users_kubeconfig(path, option, allow_admin=options["allow_cluster_admin"])

    def _file(self, item: Identity, layout: Layout, mark: str) -> Resource:
        return SecretFile(item.path, item.text, layout.backup(mark), f"the kubeconfig of {item.program}", item.service)

    def _notices(self) -> tuple[Resource, ...]:
        return () if self._found.cluster else (Notice("the cluster", NOBODY_TO_ASK),)

    def _after_join(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading
    ) -> tuple[Sequence[str], Mapping[str, Any] | None]:
        """What the cluster says of the node now: steps that were taken there, and the Node object."""
        cluster = self._found.cluster
        if cluster is None:
            return (), None
        if self._task.check_mode:
            node = None if self._found.joins else cluster.node(options["node_name"])
            return planned_taints(cluster, node, options["taints"]) if node else (), node
        system = reading.parts.get("system", {}).get("os") or {}
        expected = Expected(
            name=options["node_name"],
            architecture=str(system.get("architecture") or ""),
            build=reading.build,
            taints=tuple(options["taints"]),
            pod_cidr=options["wait_for_pod_cidr"],
            serving_csr=_wants_serving_certificate(layout, reading),
            timeout_s=options["node_timeout"] if self._found.joins else 0,
        )
        report = look_after(cluster, expected, Clock())
        for sentence in report.warnings:
            self.warn_once(sentence)
        return report.steps, report.node


def _wants_serving_certificate(layout: Layout, reading: Reading) -> bool:
    """Whether kubeadm's KubeletConfiguration has the kubelet ask the cluster for its serving certificate."""
    text = reading.text(config_file(layout)) if join.is_there(config_file(layout), reading) else None
    return re.search(r"(?m)^serverTLSBootstrap:\s*true\s*$", text or "") is not None


def _no_cluster(options: Mapping[str, Any]) -> Refused:
    return Refused(
        f"{options['node_name']} has not joined, and a join by {options['join']} needs the cluster's API "
        "for its token: set winkube_cluster.kubeconfig to a kubeconfig on the controller."
    )
