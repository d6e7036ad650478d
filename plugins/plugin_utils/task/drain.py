# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drains a node before its pods are interrupted, and uncordons it afterwards.

`interrupts` decides by the batch that is about to be sent: one that stops a service, makes or removes a network, or
restarts the machine. A converged node is never cordoned.

Before it cordons, a run marks the Node (budget/claim.py): others see who works on it, and no more are away than may
be. The mark says also that we cordoned it. Only with it does the last task of a run uncordon the node; if the run
fails, the next one does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ..budget import claim
from ..budget.claim import CONFLICT, TRIES, Claim, write_mark
from ..budget.mark import ANNOTATION
from ..cluster.error import ClusterError
from ..cluster.objects import full_name
from ..cluster.pods import has_ended, pods_of, stays_in_drain
from ..components.asks import Asks
from ..components.shared_options import Access, DrainOptions
from ..engine.batch import Batch, Op
from ..engine.clock import Clock
from ..engine.resource import Refused
from ..engine.waiting import Wait
from ..facts.node_labels import BUILD_LABEL
from ..host_process.pod import is_ours
from ..node.link import NodeError
from . import claimed
from .budget import build_claim
from .screen import display

_REFUSALS = frozenset({400, 403, 404, 409, 415, 422})
"""A cordon that is answered so was refused: the Node is as it was."""

EMPTY_LISTS, LIST_EVERY_S = 2, 2.0
"""How many lists in succession have to be without pods, and the seconds between them."""

INTERRUPTING_OPS = frozenset({"hns_network", "hns_network_remove", "hns_remove", "addresses", "computer_name"})

Object = Mapping[str, Any]


class Api(claim.Api, Protocol):
    """What of the cluster's API is needed besides. Pods are listed, never asked for by name: examples/rbac/site.yml
    grants no more."""

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """What a drain may do, as `kubectl drain` has it: evict pods that nothing replaces (`force`), pods whose emptyDir
    is lost (`delete_emptydir_data`); `grace_s` below 0 leaves each pod its own time. `host_process`: the namespace in
    which pods of the connection host_process stay, since a run, this one or another, works through them."""

    timeout_s: int = 600
    grace_s: int = -1
    force: bool = False
    delete_emptydir_data: bool = False
    host_process: str = ""

    @classmethod
    def from_options(cls, wanted: DrainOptions) -> Rules:
        """From the option `drain`, or those of win_k8s_drain."""
        return cls(
            wanted.timeout,
            wanted.grace_period,
            wanted.force,
            wanted.delete_emptydir_data,
            wanted.host_process_namespace,
        )


@dataclass(frozen=True, slots=True)
class NodeDrain:
    """Drains the Node `name` through the API, under the mark of `claim`."""

    api: Api
    name: str
    claim: Claim
    rules: Rules = Rules()
    clock: Clock = field(default_factory=Clock)

    def cordon_and_drain(self) -> tuple[str, ...]:
        """Nothing if the cluster has no such Node yet. Refused for one that another run works on; ClusterError, with
        the node cordoned no more if it was us, for pods that may not or do not go; where the cordon cannot be taken
        back, the error says so and how to."""
        if self.api.find_node(self.name) is None:
            return ()
        self._select_pods_to_evict(self._pods(), " Nothing was changed.")
        self.claim.take([self.name])
        try:
            cordoned = self._cordon()
        except ClusterError as error:
            if error.status in _REFUSALS:
                self._unmark()
                raise
            raise self._give_back(error, "may be cordoned") from error
        try:
            count = self._evict()
        except ClusterError as error:
            raise (self._give_back(error, "is still cordoned") if cordoned else error) from error
        return (*((f"cordon {self.name}",) if cordoned else ()), *self._drain_steps(count))

    def _cordon(self) -> bool:
        """Whether this run cordoned the Node now: not one that is cordoned already."""
        for _attempt in range(TRIES):
            node = self.claim.see(self.name)
            if node.cordoned:
                return False
            if node.mark is None or not self.claim.is_own(node.mark):
                raise ClusterError(
                    f"The mark of this run on the Node {self.name} is gone: another run, or a person, has taken it. "
                    "Nothing was changed.",
                    CONFLICT,
                )
            if write_mark(self.api, node, replace(node.mark, cordoned=True), unschedulable=True):
                return True
        raise ClusterError(f"The Node {self.name} changes all the time and could not be cordoned.", CONFLICT)

    def _drain_steps(self, count: int) -> tuple[str, ...]:
        return (f"drain {self.name} ({count} pods)",) if count else ()

    def _unmark(self) -> None:
        with suppress(ClusterError):
            self.claim.release([self.name])

    def _give_back(self, error: ClusterError, state: str) -> ClusterError:
        """What ended the drain, after the cordon is taken back; if that fails, with what is left to do by hand."""
        try:
            self.uncordon()
        except ClusterError as again:
            said = f"{str(error).rstrip('.')}. The Node {self.name} {state}: taking that back failed, too"
            reason = "" if str(again) == str(error) else f" ({str(again).rstrip('.')})"
            return ClusterError(
                f"{said}{reason}. The next run that works lets pods come back; by hand: kubectl uncordon {self.name}; "
                f"kubectl annotate node {self.name} {ANNOTATION}-",
                error.status,
                passing=error.passing,
            )
        return error

    def plan_steps(self) -> tuple[str, ...]:
        """What `cordon_and_drain` would do. ClusterError for pods that may not go."""
        node = self.api.find_node(self.name)
        if node is None:
            return ()
        pods = self._select_pods_to_evict(self._pods(), " Nothing was changed.")
        cordon = () if node.unschedulable else (f"cordon {self.name}",)
        return (*cordon, *self._drain_steps(len(pods)))

    def list_evictable(self) -> list[dict[str, Any]]:
        """The pods that a drain is about: `{namespace, name, images, build}`, the last of their nodeSelector."""
        if self.api.find_node(self.name) is None:
            return []
        return [_describe(pod) for pod in self._pods() if not self._stays(pod) and not has_ended(pod)]

    def uncordon(self) -> tuple[str, ...]:
        """As Claim.uncordon."""
        return self.claim.uncordon(self.name)

    def plan_uncordon(self) -> tuple[str, ...]:
        """What `uncordon` would do."""
        node = self.claim.see(self.name)
        ours = node.mark is not None and self.claim.may_end(node.mark) and node.mark.cordoned and node.cordoned
        return (f"uncordon {self.name}",) if ours else ()

    def is_ours(self) -> bool:
        """Whether a run of this collection has marked the Node and this one may take the mark away."""
        mark = self.claim.see(self.name).mark
        return mark is not None and self.claim.may_end(mark)

    def _pods(self) -> list[dict[str, Any]]:
        return self.api.items(pods_of(self.name))

    def _select_pods_to_evict(self, pods: Sequence[Object], then: str = "") -> list[Object]:
        """ClusterError with the names of the pods that may not be evicted, and `then`."""
        going = [pod for pod in pods if not self._stays(pod)]
        kept = [(pod, why) for pod in going if (why := self._explain_refusal(pod))]
        if kept:
            named = "; ".join(f"{full_name(pod)} {why}" for pod, why in kept)
            raise ClusterError(f"The node {self.name} is not drained: {named}.{then}")
        return going

    def _stays(self, pod: Object) -> bool:
        """As `stays_in_drain`; and through its own pods the connection works."""
        return stays_in_drain(pod) or is_ours(pod, self.rules.host_process)

    def _explain_refusal(self, pod: Object) -> str:
        if has_ended(pod):
            return ""
        if not (pod.get("metadata") or {}).get("ownerReferences") and not self.rules.force:
            return "has no controller that recreates it (winkube_drain_options.force: true deletes it)"
        volumes = (pod.get("spec") or {}).get("volumes") or ()
        if any("emptyDir" in volume for volume in volumes) and not self.rules.delete_emptydir_data:
            return "keeps data in an emptyDir (winkube_drain_options.delete_emptydir_data: true gives it up)"
        return ""

    def _evict(self) -> int:
        """Evict what is on the Node, list it again, until it has nothing more; how many pods went.

        A pod that was bound while the cordon was on its way is seen by a later list. One empty list is not enough: the
        scheduler may not have heard of the cordon yet, and behind a load balancer a server may lag.
        """
        end = self.clock.now() + self.rules.timeout_s
        found: set[str] = set()
        asked: set[str] = set()
        empty = 0
        left: list[Object] = []
        wait = Wait(f"drain: waiting for the pods of {self.name} to go", self.clock)
        while empty < EMPTY_LISTS:
            if found or empty:
                wait.sleep(LIST_EVERY_S, ", ".join(map(full_name, left)))
            left = self._select_pods_to_evict(self._pods())
            empty = 0 if left else empty + 1
            if left and found and self.clock.now() >= end:
                waiting = [full_name(pod) for pod in left if _uid(pod) not in asked]
                why = f" A PodDisruptionBudget keeps {', '.join(waiting)}." if waiting else ""
                raise ClusterError(
                    f"The node {self.name} is not empty after {self.rules.timeout_s} s: "
                    f"{', '.join(full_name(pod) for pod in left)}.{why}"
                )
            for pod in left:
                found.add(_uid(pod))
                if _uid(pod) not in asked and self._ask(pod):
                    asked.add(_uid(pod))
        return len(found)

    def _ask(self, pod: Object) -> bool:
        """Whether the eviction was granted; the answer to a pod that is gone is as good."""
        options = {} if self.rules.grace_s < 0 else {"deleteOptions": {"gracePeriodSeconds": self.rules.grace_s}}
        metadata = {"name": _meta(pod, "name"), "namespace": _meta(pod, "namespace")}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, **options}
        try:
            self.api.create(f"{_path(pod)}/eviction", body)
        except ClusterError as error:
            if error.is_budget:
                return False
            if error.status != 404:
                raise
        return True


def empty_before(batch: Batch, wanted: DrainOptions, asks: Asks) -> tuple[str, ...]:
    """What an action does before it sends `batch`: nothing, unless the option `drain` is on and the batch interrupts
    pods. Sentences for the task's steps. Refused without access to the cluster, NodeError if the node is not emptied.
    """
    if not wanted.enabled or not interrupts(batch):
        claimed.forget([wanted.node_name])
        return ()
    try:
        cluster = asks.cluster(wanted.cluster)
        if cluster is None:
            raise Refused(
                "winkube_drain is on, but the controller has no way to the cluster: name its kubeconfig in "
                "winkube_cluster.kubeconfig."
            )
        ours = build_claim(cluster, wanted.budget, lambda sentence: display.display(f"  {asks.host}: {sentence}"))
        node = NodeDrain(cluster, wanted.node_name, ours, Rules.from_options(wanted))
        return empty(node, wanted.cluster)
    except ClusterError as error:
        raise NodeError(f"drain: {error}") from error


def empty(node: NodeDrain, access: Access, *, give_back: bool = False) -> tuple[str, ...]:
    """`cordon_and_drain`, undone at the end of a run that gets no further. What follows it changes the machine; with
    `give_back` only what forgets the Node's note does."""
    with claimed.noted([node.name], access):
        steps = node.cordon_and_drain()
    if not give_back:
        claimed.forget([node.name])
    return steps


def interrupts(batch: Batch) -> bool:
    """Whether pods notice this batch: it stops a service that runs, works on networks, or restarts the machine."""
    return any(_interrupts(op) for op in batch.ops)


def _interrupts(op: Op) -> bool:
    if op.op in INTERRUPTING_OPS:
        return True
    if op.op != "run":
        return False
    program = str(op.args.get("program", "")).casefold().rsplit("\\", 1)[-1]
    first = str(next(iter(op.args.get("args") or ()), "")).casefold()
    return program == "shutdown.exe" or (program in {"sc.exe", "nssm.exe"} and first in {"stop", "restart"})


def _describe(pod: Object) -> dict[str, Any]:
    spec = pod.get("spec") or {}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    return {
        "namespace": _meta(pod, "namespace"),
        "name": _meta(pod, "name"),
        "images": list(dict.fromkeys(str(each.get("image", "")) for each in containers)),
        "build": str((spec.get("nodeSelector") or {}).get(BUILD_LABEL, "")),
    }


def _meta(pod: Object, key: str) -> str:
    return str((pod.get("metadata") or {}).get(key, ""))


def _uid(pod: Object) -> str:
    return _meta(pod, "uid")


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{_meta(pod, 'namespace')}/pods/{_meta(pod, 'name')}"
