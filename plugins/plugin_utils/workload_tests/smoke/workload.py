# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test's workload in a cluster: make it, wait, read it, run its checks, delete it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from typing import Any

from ...cluster import run_namespace
from ...cluster.client import Cluster, wait_for
from ...cluster.error import ClusterError
from ...cluster.exec import exec_in_pod
from ...engine.clock import Clock
from ...engine.waiting import Wait
from ...facts.node_labels import BUILD_LABEL, OS_LABEL
from ...facts.quantity import quantity
from ...scheduling.nodes import list_tolerated, windows_nodes
from . import manifests
from .model import Answer, Check, Facts, NodeFact, PodFact, SmokeOptions

Object = dict[str, Any]
EXEC_S = 40.0
"""Seconds for one command in a pod, including PowerShell's start in a container."""
_PARALLEL = 6
REFUSED = 403
_POD_NAMES = re.compile(r"^\s*pods\s+(\w+)", re.MULTILINE)


class Workload:
    """One run's objects in one cluster, in the namespace that `how` names. Its pods tolerate `taints` besides those of
    the nodes. `now`: UTC."""

    def __init__(
        self,
        cluster: Cluster,
        how: SmokeOptions,
        taints: Sequence[str],
        clock: Clock,
        now: Callable[[], datetime],
    ) -> None:
        self._cluster, self._how, self._taints, self._clock, self._now = cluster, how, taints, clock, now
        self.run_id = run_namespace.make_run_mark()

    def deploy(self) -> tuple[str, ...]:
        """Make everything; sentences about it. ClusterError, Refused."""
        how, wish = self._how, self._wish()
        created = manifests.objects(wish)
        run_namespace.create(self._cluster, manifests.namespace(wish))
        if how.pull_secret:
            self._cluster.create(f"{run_namespace.PATH}/{how.namespace}/secrets", self._pull_secret())
        for path, item in created:
            self._cluster.create(path, item)
        images = sorted({manifests.image(wish, build) for build in wish.builds})
        return (f"create the namespace {how.namespace} with {len(created)} objects, images {', '.join(images)}",)

    def _wish(self) -> manifests.Wish:
        found = self._cluster.nodes()
        usable = [node for node in map(node_fact, found) if node.windows and node.usable]
        if not usable:
            raise ClusterError(
                "There is no Windows node that is Ready and not cordoned, so no pod can run; see kubectl get nodes."
            )
        builds: dict[int, int] = {}
        for node in usable:
            builds[node.build] = builds.get(node.build, 0) + 1
        until = run_namespace.until(self._now(), self._how.timeout)
        return manifests.Wish(self._how, until, builds, list_tolerated(windows_nodes(found), self._taints), self.run_id)

    def _pull_secret(self) -> Object:
        """A copy of the Secret `namespace/name`: a pod can only use one from its own namespace."""
        home, name = (*self._how.pull_secret.split("/", 1), "")[:2]
        found = self._cluster.get(f"{run_namespace.PATH}/{home}/secrets/{name}")
        if found is None:
            raise ClusterError(
                f"winkube_smoke_pull_secret: there is no Secret {name} in the namespace {home}; it is given as "
                "namespace/name."
            )
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": manifests.PULL_SECRET, "namespace": self._how.namespace},
            "type": found.get("type", "kubernetes.io/dockerconfigjson"),
            "data": found.get("data") or {},
        }

    # -- reading -------------------------------------------------------------------------------------------------

    def wait(self) -> None:
        """Wait until all pods are Ready or the time is up; a pod that is not Ready then is a finding. ClusterError."""

        refused: list[str] = []

        def all_ready() -> bool | None:
            made = self._cluster.items(f"/apis/apps/v1/namespaces/{self._how.namespace}/deployments")
            wanted = sum(int(item["spec"].get("replicas", 1)) for item in made)
            said = refusal(made)
            if said and said in refused:  # a second time: quotas are sometimes recounted
                raise ClusterError(said, REFUSED)
            refused.append(said)
            pods = [*self._pods(manifests.WEB), *self._pods(manifests.PEER)]
            return True if len(pods) >= wanted and all(pod.is_ready for pod in pods) else None

        try:
            wait = Wait("waiting for the pods of the smoke test to be Ready", self._clock)
            wait_for(wait, self._how.timeout, all_ready, interval_s=2.0)
        except ClusterError as error:
            if error.status:
                raise

    def facts(self) -> Facts:
        """The plan's input. ClusterError."""
        how = self._how
        web, peer = self._service(manifests.WEB), self._service(manifests.PEER)
        peers = self._pods(manifests.PEER)
        return Facts(
            namespace=how.namespace,
            nodes=tuple(self._read_reserved(node) if node.windows else node for node in self.nodes()),
            web=tuple(self._pods(manifests.WEB)),
            peer=next((pod for pod in peers if pod.is_ready), next(iter(peers), None)),
            web_address=str(web["spec"].get("clusterIP") or ""),
            web_node_port=_node_port(web),
            peer_address=str(peer["spec"].get("clusterIP") or ""),
            mode=how.network_mode or self._mode(),
            dns_domain=how.dns_domain,
            dns_address=dns_address(self._cluster),
            linux=how.linux_host,
            outside=how.outside_host,
            external_address=how.external_address,
            external_name=how.external_name,
            external_dns=how.external_dns,
            repository=how.image_repo,
            pod_names=serves_pod_names(self._optional(f"{run_namespace.PATH}/kube-system/configmaps/coredns")),
            policies=self._policies(),
            web_second=str([*(web["spec"].get("clusterIPs") or ()), "", ""][1]),
        )

    def _policies(self) -> tuple[str, ...]:
        """NetworkPolicies in this run's Namespace, which only an operator of the cluster can have made."""
        path = f"/apis/networking.k8s.io/v1/namespaces/{self._how.namespace}/networkpolicies"
        return tuple(str(item["metadata"]["name"]) for item in (self._optional(path) or {}).get("items") or ())

    def _optional(self, path: str) -> Object | None:
        """The object; None if it is missing or may not be read."""
        try:
            return self._cluster.get(path)
        except ClusterError as error:
            if error.status not in {403, 404}:
                raise
            return None

    def nodes(self) -> list[NodeFact]:
        """All Nodes, by name."""
        return sorted((node_fact(item) for item in self._cluster.nodes()), key=lambda node: node.name)

    def _mode(self) -> str:
        """The mode in flannel's annotations on the Windows nodes. Source: flannel pkg/subnet/kube/annotations.go."""
        for item in self._cluster.nodes():
            annotations = item["metadata"].get("annotations") or {}
            if node_fact(item).windows and annotations.get("flannel.alpha.coreos.com/backend-type") == "vxlan":
                return "overlay"
        return "l2bridge"

    def _service(self, name: str) -> Object:
        found = self._cluster.get(f"{run_namespace.PATH}/{self._how.namespace}/services/{name}")
        if found is None:
            raise ClusterError(f"The Service {name} of the smoke test is gone from {self._how.namespace}.")
        return found

    def _pods(self, app: str) -> list[PodFact]:
        path = f"{run_namespace.PATH}/{self._how.namespace}/pods?labelSelector=app%3D{app}"
        pods = [item for item in self._cluster.items(path) if not item["metadata"].get("deletionTimestamp")]
        return sorted((pod_fact(item) for item in pods), key=lambda pod: pod.name)

    def _read_reserved(self, node: NodeFact) -> NodeFact:
        try:
            found = self._cluster.get(f"/api/v1/nodes/{node.name}/proxy/configz")
        except ClusterError as error:
            return replace(node, unasked=str(error))
        if found is None:
            return replace(node, unasked="the API server has no way to it.")
        return replace(node, reserved=list_reserved(found.get("kubeletconfig") or {}, node.capacity))

    # -- asking --------------------------------------------------------------------------------------------------

    def run(self, checks: Sequence[Check]) -> dict[str, Answer]:
        """The answers of all checks that run in pods, by id."""
        due = [check for check in checks if check.where == "pod"]
        with ThreadPoolExecutor(_PARALLEL, thread_name_prefix="smoke") as pool:
            return dict(zip((check.id for check in due), pool.map(self._ask, due), strict=True))

    def _ask(self, check: Check) -> Answer:
        try:
            done = exec_in_pod(self._cluster, self._how.namespace, check.pod, check.argv, EXEC_S)
        except ClusterError as error:
            return Answer(error=str(error))
        return Answer(done.exit_code, done.stdout, done.stderr)


# -- from the API's objects ------------------------------------------------------------------------------------------


def refusal(deployments: Sequence[Mapping[str, Any]]) -> str:
    """Why the cluster lets none of these pods be made, with the remedy; empty if it does.

    Source: kubernetes pkg/controller/replicaset (condition ReplicaFailure, with what the API server said).
    """
    for item in deployments:
        for condition in (item.get("status") or {}).get("conditions") or ():
            if condition.get("type") == "ReplicaFailure" and condition.get("status") == "True":
                name, said = item["metadata"]["name"], str(condition.get("message") or "").strip().rstrip(".")
                return f"The cluster refuses the pods of the Deployment {name}: {said}. {_way_out(said)}"
    return ""


def _way_out(said: str) -> str:
    if "exceeded quota" in said or "must specify" in said:
        return (
            "Something puts a ResourceQuota into new namespaces: exempt winkube_smoke_namespace from it, or raise its "
            "limits for the test."
        )
    if "PodSecurity" in said:
        return (
            "The namespace asks for the level baseline: exempt winkube_smoke_namespace from the policy that forbids it."
        )
    return "An admission rule of the cluster forbids it: exempt winkube_smoke_namespace from it."


def dns_address(cluster: Cluster) -> str:
    """The address of the cluster's DNS Service (coredns with kubespray, kube-dns with kubeadm); empty without one.
    Not nodelocaldns, which runs only on Linux. ClusterError."""
    of_system = f"{run_namespace.PATH}/kube-system/services"
    found = cluster.get(f"{of_system}/kube-dns") or cluster.get(f"{of_system}/coredns") or {}
    return str((found.get("spec") or {}).get("clusterIP") or "")


def serves_pod_names(config: Mapping[str, Any] | None) -> bool | None:
    """Whether CoreDNS with this ConfigMap answers for names of pods; None without a ConfigMap.

    Source: coredns plugin/kubernetes, README: `pods disabled` is the default.
    """
    text = str(((config or {}).get("data") or {}).get("Corefile") or "")
    if not text:
        return None
    found = _POD_NAMES.search(text)
    return found is not None and found[1] != "disabled"


def node_fact(item: Mapping[str, Any]) -> NodeFact:
    """A Node object as a fact."""
    metadata, status = item["metadata"], item.get("status") or {}
    labels = metadata.get("labels") or {}
    info = status.get("nodeInfo") or {}
    windows = str(labels.get(OS_LABEL) or info.get("operatingSystem") or "") == "windows"
    version = str(labels.get(BUILD_LABEL) or info.get("kernelVersion") or "")
    part = [*version.split("."), "", "", ""][2]
    ready: Mapping[str, Any] = next(
        (one for one in status.get("conditions") or [] if one.get("type") == "Ready"), {"status": "absent"}
    )
    problem = "" if ready["status"] == "True" else str(ready.get("message") or f"Ready is {ready['status']}")
    addresses = [one["address"] for one in status.get("addresses") or [] if one.get("type") == "InternalIP"]
    return NodeFact(
        name=str(metadata["name"]),
        address=str(addresses[0]) if addresses else "",
        windows=windows,
        build=int(part) if windows and part.isdigit() else 0,
        usable=not problem and not (item.get("spec") or {}).get("unschedulable"),
        problem=problem,
        capacity={key: str(value) for key, value in (status.get("capacity") or {}).items()},
        allocatable={key: str(value) for key, value in (status.get("allocatable") or {}).items()},
    )


def pod_fact(item: Mapping[str, Any]) -> PodFact:
    """A Pod object as a fact."""
    status = item.get("status") or {}
    conditions = {one.get("type"): one for one in status.get("conditions") or []}
    containers = status.get("containerStatuses") or []
    ready = (conditions.get("Ready") or {}).get("status") == "True"
    return PodFact(
        name=str(item["metadata"]["name"]),
        address=str(status.get("podIP") or ""),
        node=str((item.get("spec") or {}).get("nodeName") or ""),
        problem="" if ready and status.get("podIP") else _explain_not_ready(status, conditions, containers),
        image=str(item["spec"]["containers"][0].get("image") or ""),
        image_id=str(containers[0].get("imageID") or "") if containers else "",
        second=str([*(one.get("ip") or "" for one in status.get("podIPs") or ()), "", ""][1]),
    )


def _explain_not_ready(status: Mapping[str, Any], conditions: Mapping[Any, Any], containers: Sequence[Any]) -> str:
    for container in containers:
        waiting = (container.get("state") or {}).get("waiting") or (container.get("state") or {}).get("terminated")
        if waiting:
            return f"{waiting.get('reason', '')}: {waiting.get('message', '')}".strip(": ")
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return f"{scheduled.get('reason', 'Unschedulable')}: {scheduled.get('message', '')}".strip(": ")
    return f"it is {status.get('phase') or 'not there'}, and not Ready"


def list_reserved(config: Mapping[str, Any], capacity: Mapping[str, str]) -> dict[str, str]:
    """The cpu and memory that a kubelet with this configuration reserves: system, kube, and hard eviction.

    In cores and bytes. Source: kubernetes pkg/kubelet/cm/container_manager_windows.go.
    """
    eviction = str((config.get("evictionHard") or {}).get("memory.available") or "0")
    share = quantity(eviction.removesuffix("%")) if eviction.endswith("%") else None
    whole = _number(capacity.get("memory", "0"))
    memory = whole * share / 100 if share is not None else _number(eviction)
    kept = {"cpu": Fraction(0), "memory": memory}
    for part in ("systemReserved", "kubeReserved"):
        for name in kept:
            kept[name] += _number(str((config.get(part) or {}).get(name) or "0"))
    return {"cpu": f"{int(kept['cpu'] * 1000)}m", "memory": str(int(kept["memory"]))}


def _number(text: str) -> Fraction:
    return quantity(text) or Fraction(0)


def _node_port(service: Mapping[str, Any]) -> int:
    return int(next((port.get("nodePort") or 0 for port in service["spec"].get("ports") or []), 0))
