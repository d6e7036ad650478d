# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How long pods take to start when many start at once: make them together, watch until they are Ready, delete them in
any case; and the evaluation of their times.

Source: kubernetes test/e2e/windows/density.go, whose pods run the pause image; the proposal for Windows nodes wants
such tests with images and memory that fit Windows.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ..cluster import run_namespace
from ..cluster.client import Cluster, wait_for
from ..cluster.error import ClusterError
from ..components.join import node_object
from ..engine.clock import Clock
from ..engine.resource import Refused
from ..engine.waiting import Wait
from ..facts.kubernetes import NoPauseImageError, pause_image
from ..facts.node_labels import HOSTNAME_LABEL, OS_LABEL
from ..facts.taint import Taint
from ..facts.version import Version, VersionError
from ..scheduling.nodes import WindowsNode, list_tolerated, select_nodes, windows_nodes
from . import interrupted
from .outcome import Context, Outcome

LABEL = "winkube.node/density"
PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True, kw_only=True)
class DensityOptions:
    """The test's options, which k8s_windows_conformance documents. `pods` are those of each node; `limits` are seconds
    by percentile, `timeout` is seconds."""

    nodes: tuple[str, ...]
    pods: int
    image: str
    memory: str
    cpu: str
    timeout: int
    limits: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Wish:
    """One run: pods that tolerate `taints`, in `namespace`, which is a leftover after `until`."""

    how: DensityOptions
    namespace: str
    until: str
    taints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """One pod. `started_s`: from its creation to its container's start, by the cluster's own whole-second
    timestamps; `ready_s`: until it was seen Ready from here. None if it did not happen; `problem` then says why."""

    name: str
    node: str
    started_s: float | None
    ready_s: float | None
    problem: str = ""


def run(context: Context, how: DensityOptions) -> Outcome:
    """Make the pods, measure, delete them; fails for pods that did not start and for exceeded limits. Refused,
    ClusterError."""
    cluster = context.cluster()
    now = cluster.now()
    nodes = select_nodes(windows_nodes(cluster.nodes()), how.nodes)
    wish = Wish(
        how,
        f"winkube-density-{uuid.uuid4().hex[:8]}",
        run_namespace.until(now, how.timeout),
        list_tolerated(nodes, context.taints),
    )
    made = pods(wish, nodes)
    images = sorted({pod["spec"]["containers"][0]["image"] for pod in made})
    text = f"run {len(made)} pods on {', '.join(node.name for node in nodes)}, images {', '.join(images)}"
    if context.check_mode:
        return Outcome(True, (text,))
    swept = context.sweep(cluster, LABEL, now)
    noted = {"test": "density", "label": LABEL, "name": wish.namespace, "run": wish.namespace}
    interrupted.note(context.folder, noted, context.access)
    samples = measure(cluster, wish, made, context.clock)
    interrupted.forget(context.folder, wish.namespace)
    run_namespace.wait_until_gone(cluster, wish.namespace, context.clock, how.timeout)
    wrong = problems(samples, how.limits)
    result = {"summary": summary(samples), "samples": [asdict(each) for each in samples]}
    return Outcome(True, (*swept, text), result, f"density: {' '.join(wrong)}" if wrong else "", bool(wrong))


def measure(cluster: Cluster, wish: Wish, made: Sequence[dict[str, Any]], clock: Clock) -> list[Sample]:
    """Make the pods and wait for them. The Namespace is deleted whatever happens, even after Ctrl-C. ClusterError."""
    run_namespace.create(cluster, namespace(wish))
    try:
        path = f"{run_namespace.PATH}/{wish.namespace}/pods"
        begun: dict[str, float] = {}
        for pod in made:
            cluster.create(path, pod)
            begun[pod["metadata"]["name"]] = clock.now()
        return _watch(cluster, path, made, begun, clock, wish.how.timeout)
    finally:
        cluster.delete(f"{run_namespace.PATH}/{wish.namespace}")


def _watch(
    cluster: Cluster,
    path: str,
    made: Sequence[dict[str, Any]],
    begun: dict[str, float],
    clock: Clock,
    timeout_s: float,
) -> list[Sample]:
    ready: dict[str, float] = {}
    last: dict[str, dict[str, Any]] = {}

    def look() -> bool | None:
        now = clock.now()
        last.clear()
        last.update({str(pod["metadata"]["name"]): pod for pod in cluster.items(path)})
        for name, pod in last.items():
            if name in begun and name not in ready and node_object.is_ready(pod):
                ready[name] = round(now - begun[name], 1)
        return True if len(ready) == len(begun) else None

    try:
        wait_for(Wait(f"waiting for {len(begun)} pods to be Ready", clock), timeout_s, look)
    except ClusterError as error:
        if error.status:
            raise
    return [
        sample(
            pod["metadata"]["name"],
            str(pod["spec"]["nodeSelector"][HOSTNAME_LABEL]),
            last.get(pod["metadata"]["name"]),
            ready.get(pod["metadata"]["name"]),
        )
        for pod in made
    ]


def namespace(wish: Wish) -> dict[str, Any]:
    """The Namespace of one run."""
    return run_namespace.body(LABEL, wish.namespace, wish.until, wish.namespace)  # whose name is random


def pods(wish: Wish, nodes: Iterable[WindowsNode]) -> list[dict[str, Any]]:
    """The pods, each bound to its node by a selector, so that the scheduler's time counts too. Refused."""
    return [_pod(wish, node, number) for node in nodes for number in range(1, wish.how.pods + 1)]


def image_of(wish: Wish, node: WindowsNode) -> str:
    """The image of the pods on this node. Refused if no pause image is known."""
    if wish.how.image:
        return wish.how.image
    try:
        return pause_image(Version.parse(node.kubelet).line, build=node.build)
    except (VersionError, NoPauseImageError) as error:
        raise Refused(f"{node.name}: {error} Name an image with winkube_density_image.") from error


def _pod(wish: Wish, node: WindowsNode, number: int) -> dict[str, Any]:
    amounts = {"cpu": wish.how.cpu, "memory": wish.how.memory}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{node.name}-{number}", "labels": {LABEL: "true"}},
        "spec": {
            "os": {"name": "windows"},
            "nodeSelector": {OS_LABEL: "windows", HOSTNAME_LABEL: _hostname(node)},
            "tolerations": [Taint.parse(taint).toleration() for taint in wish.taints],
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "containers": [
                {"name": "pause", "image": image_of(wish, node), "resources": {"requests": amounts, "limits": amounts}}
            ],
        },
    }


def _hostname(node: WindowsNode) -> str:
    labels = (node.body.get("metadata") or {}).get("labels") or {}
    return str(labels.get(HOSTNAME_LABEL) or node.name)


def sample(name: str, node: str, pod: Mapping[str, Any] | None, ready_s: float | None) -> Sample:
    """The result of one pod; None: it is gone."""
    if pod is None:
        return Sample(name, node, None, None, "it is gone; something else deleted it.")
    status = pod.get("status") or {}
    states = [one.get("state") or {} for one in status.get("containerStatuses") or ()]
    started = [str((state.get("running") or {}).get("startedAt") or "") for state in states]
    created = str((pod.get("metadata") or {}).get("creationTimestamp") or "")
    seconds = _between(created, started[0]) if started and started[0] else None
    if ready_s is not None:
        return Sample(name, node, seconds, ready_s)
    waiting = next((state["waiting"] for state in states if state.get("waiting")), None)
    if waiting:
        why = f"{waiting.get('reason', '')}: {waiting.get('message', '')}".strip(": ")
        return Sample(name, node, seconds, None, why)
    refused = [one for one in status.get("conditions") or () if one.get("status") == "False" and one.get("message")]
    why = str(refused[0]["message"]) if refused else f"it is {status.get('phase') or 'not there'}, and not Ready"
    return Sample(name, node, seconds, None, why)


def percentile(values: Sequence[float], share: int) -> float | None:
    """The percentile by nearest rank; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[max(math.ceil(share / 100 * len(ordered)), 1) - 1]


def summary(samples: Sequence[Sample]) -> dict[str, Any]:
    """Counts, and percentiles of both times in seconds."""
    result: dict[str, Any] = {"pods": len(samples), "ready": sum(1 for each in samples if each.ready_s is not None)}
    for name, values in (
        ("started_s", [each.started_s for each in samples if each.started_s is not None]),
        ("ready_s", [each.ready_s for each in samples if each.ready_s is not None]),
    ):
        found = {f"p{share}": percentile(values, share) for share in PERCENTILES}
        result[name] = {**found, "max": max(values, default=None)}
    return result


def problems(samples: Sequence[Sample], limits: Mapping[str, float]) -> list[str]:
    """One sentence per problem: pods that did not start, percentiles above `limits` ({"p50": seconds, ...}; 0 for no
    limit)."""
    said: list[str] = []
    reasons: dict[tuple[str, str], list[str]] = {}
    for each in samples:
        if each.ready_s is None:
            reasons.setdefault((each.node, each.problem), []).append(each.name)
    for (node, why), names in reasons.items():
        said.append(f"{node}: {len(names)} of its pods did not become Ready: {why}")
    found = summary(samples)["ready_s"]
    for name, limit in limits.items():
        if limit and found.get(name) is not None and found[name] > limit:
            said.append(f"The {name} of the time until a pod is Ready is {found[name]:g} s, more than {limit:g} s.")
    return said


def _between(first: str, last: str) -> float | None:
    try:
        return (_time(last) - _time(first)).total_seconds()
    except ValueError:
        return None


def _time(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00"))
