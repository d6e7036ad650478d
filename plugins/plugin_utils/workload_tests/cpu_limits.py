# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes' own test of CPU limits on Windows: two pods burn CPU, and two minutes later the kubelet's figures are
checked.

Source: kubernetes test/e2e/windows/cpu_limits.go, "Container limits should not be exceeded after waiting 2 minutes".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..cluster import run_namespace
from ..cluster.answer import Object
from ..cluster.client import Cluster, wait_for
from ..cluster.error import ClusterError
from ..cri.figures import ABSURD, MILLICORE
from ..cri.kubelet import KubeletProxy
from ..cri.samples import Sample, Subject, of_summary
from ..engine.clock import Clock
from ..engine.waiting import Wait
from ..facts.node_labels import OS_LABEL
from ..scheduling.nodes import select_nodes, windows_nodes
from .outcome import Context, Outcome

LIMITS: Mapping[str, str] = {"decimal": "0.5", "milli": "500m"}
"""By pod name: the same limit in both of Kubernetes' notations."""

LIMIT_NANO_CORES = 500 * MILLICORE
BURN = (
    "foreach ($loop in 1..8) { Start-Job -ScriptBlock { "
    "foreach ($m in 1..2147483647) { foreach ($n in 1..2147483647) { $m * $n * 1340371 } } } } ; Get-Job | Wait-Job"
)
"""Eight jobs that multiply forever, as in the e2e test: more than the limit on every machine."""

LABEL = "winkube-cpu-limits"

_PREFIX = "winkube-cpulimit-"


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuLimitsOptions:
    """The test's options, which k8s_windows_conformance documents. Times are seconds. For Windows the usual image is
    PowerShell with scripts. Source: kubernetes v1.31 test/utils/image/manifest.go, BusyBox."""

    nodes: tuple[str, ...]
    namespace: str
    image: str
    wait: float
    tolerance: float
    start_timeout: float


@dataclass(frozen=True, slots=True)
class Burning:
    """The pods on one node."""

    how: CpuLimitsOptions
    node: str
    run: str


def run(context: Context, how: CpuLimitsOptions) -> Outcome:
    """The test on one node after another; a fault on one does not stop the next. Refused, ClusterError."""
    cluster, run_id = context.cluster(), run_namespace.make_run_mark()
    nodes = select_nodes(windows_nodes(cluster.nodes()), how.nodes, cordoned=True)
    each = [Burning(how, node.name, run_id) for node in nodes]
    steps = tuple(f"burn CPU in two pods on {burning.node} for {how.wait:g} s" for burning in each)
    result: dict[str, Any] = {"pods": [pod for burning in each for pod in manifests(burning)]}
    if context.check_mode:
        return Outcome(True, steps, result)
    used: dict[str, int | None] = {}
    found: list[str] = []
    for burning in each:
        kubelet = KubeletProxy(cluster, burning.node)
        try:
            some, wrong = burn(cluster, burning, partial(_sample, kubelet), context.clock)
        except ClusterError as error:
            some, wrong = {}, (str(error),)
        used |= some
        found += wrong
    return Outcome(True, steps, {**result, "nano_cores": used, "findings": found}, "\n".join(found), bool(found))


def _sample(kubelet: KubeletProxy) -> Sample:
    return of_summary(kubelet.summary())


def manifests(burning: Burning) -> tuple[Object, ...]:
    """The pods."""
    return tuple(_pod(burning, name, limit) for name, limit in LIMITS.items())


def _pod_name(burning: Burning, name: str) -> str:
    """The name contains the node's, since the pods of the previous node may still exist, and the run's, since
    another run may use the namespace."""
    return "-".join(part for part in (f"{_PREFIX}{name}", burning.node, burning.run) if part)


def _pod(burning: Burning, name: str, limit: str) -> Object:
    full = _pod_name(burning, name)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": full,
            "namespace": burning.how.namespace,
            "labels": {"testapp": LABEL, run_namespace.RUN: burning.run},
        },
        "spec": {
            "nodeName": burning.node,
            "nodeSelector": {OS_LABEL: "windows"},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 5,
            "containers": [
                {
                    "name": f"{_PREFIX}{name}",
                    "image": burning.how.image,
                    "command": ["powershell.exe", "-Command", BURN],
                    "resources": {"limits": {"cpu": limit, "memory": "1Gi"}},
                }
            ],
        },
    }


def faults(burning: Burning, sample: Sample) -> tuple[str, ...]:
    """Faults in the kubelet's summary, a sentence each: a pod is missing, uses nothing, or uses more than its limit."""
    return tuple(
        f"pod {burning.how.namespace}/{_pod_name(burning, name)}: {sentence}"
        for name in LIMITS
        if (sentence := _fault(burning, sample.readings.get(Subject(burning.how.namespace, _pod_name(burning, name)))))
    )


def _fault(burning: Burning, reading: Any) -> str:
    value = None if reading is None else reading.nano_cores
    most = int(LIMIT_NANO_CORES * (1 + burning.how.tolerance))
    if value is None:
        return "the kubelet's summary has no CPU usage for it."
    if value == 0:
        return "the kubelet's summary says that it uses no CPU, but it burns some; docs/cpu-stats.md has causes."
    if value >= ABSURD:
        return f"kubelet's summary says {value} nanocores, a negative difference read as unsigned."
    if value > most:
        return (
            f"it uses {value / MILLICORE:.0f} m, more than its limit of {LIMIT_NANO_CORES / MILLICORE:.0f} m and "
            f"{burning.how.tolerance:.0%}."
        )
    return ""


def usage(burning: Burning, sample: Sample) -> dict[str, int | None]:
    """Nanocores by pod."""
    names = [_pod_name(burning, name) for name in LIMITS]
    found = {name: sample.readings.get(Subject(burning.how.namespace, name)) for name in names}
    return {name: None if one is None else one.nano_cores for name, one in found.items()}


def burn(
    cluster: Cluster, burning: Burning, summary: Callable[[], Sample], clock: Clock
) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Run the pods; nanocores by pod, and the faults. The pods are deleted afterwards, whatever happens.

    ClusterError if they do not start, or do not run to the end.
    """
    with _running(cluster, burning, clock):
        Wait("waiting while the pods use their CPU", clock).sleep(burning.how.wait)
        for pod in manifests(burning):
            if _phase(cluster, pod) != "Running":
                raise ClusterError(
                    f"pod {_name(pod)} is {_phase(cluster, pod) or 'gone'} after {burning.how.wait:g} s, so its usage "
                    "is unknown."
                )
        sample = summary()
        return usage(burning, sample), faults(burning, sample)


@contextmanager
def _running(cluster: Cluster, burning: Burning, clock: Clock) -> Iterator[None]:
    """The running pods; deleted at the end of the context."""
    made: list[Object] = []
    try:
        for pod in manifests(burning):
            cluster.create(_collection(burning), pod)
            made.append(pod)
        for pod in made:
            wait_for(
                Wait(f"waiting for the pod {_name(pod)} to run", clock),
                burning.how.start_timeout,
                lambda pod=pod: True if _phase(cluster, pod) == "Running" else None,  # type: ignore[misc]
                f"pod {_name(pod)} does not run after {burning.how.start_timeout:g} s; kubectl describe pod says why.",
                interval_s=2,
            )
        yield
    finally:
        _remove(cluster, made)


def _remove(cluster: Cluster, pods: Sequence[Object]) -> None:
    for pod in pods:
        cluster.delete(_path(pod))


def _phase(cluster: Cluster, pod: Object) -> str:
    found = cluster.get(_path(pod)) or {}
    return str((found.get("status") or {}).get("phase") or "")


def _collection(burning: Burning) -> str:
    return f"/api/v1/namespaces/{burning.how.namespace}/pods"


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
