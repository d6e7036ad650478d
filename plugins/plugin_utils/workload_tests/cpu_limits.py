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
from ..facts.node_labels import OS_LABEL
from ..scheduling.nodes import select_nodes, windows_nodes
from .outcome import Context, Outcome

LIMITS: Mapping[str, str] = {"decimal": "0.5", "milli": "500m"}
"""By pod name: the same limit in both of Kubernetes' notations."""

LIMIT_NANO_CORES = 500 * MILLICORE
IMAGE = "registry.k8s.io/e2e-test-images/busybox:1.36.1-1"
"""For Windows this image is PowerShell with scripts. Source: kubernetes v1.31 test/utils/image/manifest.go, BusyBox."""

BURN = (
    "foreach ($loop in 1..8) { Start-Job -ScriptBlock { "
    "foreach ($m in 1..2147483647) { foreach ($n in 1..2147483647) { $m * $n * 1340371 } } } } ; Get-Job | Wait-Job"
)
"""Eight jobs that multiply forever, as in the e2e test: more than the limit on every machine."""

LABEL = "winkube-cpu-limits"
WAIT_S = 120
TOLERANCE = 0.05
"""The share above the limit that is still accepted."""

_PREFIX = "winkube-cpulimit-"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where the pods run, and how to judge them. `start_timeout_s`: a first pull of the image takes minutes."""

    namespace: str
    node: str
    image: str = IMAGE
    wait_s: float = WAIT_S
    tolerance: float = TOLERANCE
    start_timeout_s: float = 900
    run: str = ""


def run(context: Context, options: Mapping[str, Any]) -> Outcome:
    """The test on one node after another; a fault on one does not stop the next. Refused, ClusterError."""
    cluster, run_id = context.cluster(), run_namespace.make_run_mark()
    each = [
        Wanted(
            options["namespace"],
            node.name,
            options["image"],
            options["wait"],
            options["tolerance"],
            options["start_timeout"],
            run_id,
        )
        for node in select_nodes(windows_nodes(cluster.nodes()), options["nodes"], cordoned=True)
    ]
    steps = tuple(f"burn CPU in two pods on {wanted.node} for {wanted.wait_s:g} s" for wanted in each)
    result: dict[str, Any] = {"pods": [pod for wanted in each for pod in manifests(wanted)]}
    if context.check_mode:
        return Outcome(True, steps, result)
    used: dict[str, int | None] = {}
    found: list[str] = []
    for wanted in each:
        kubelet = KubeletProxy(cluster, wanted.node)
        try:
            some, wrong = burn(cluster, wanted, partial(_sample, kubelet), context.clock)
        except ClusterError as error:
            some, wrong = {}, (str(error),)
        used |= some
        found += wrong
    return Outcome(True, steps, {**result, "nano_cores": used, "findings": found}, "\n".join(found), bool(found))


def _sample(kubelet: KubeletProxy) -> Sample:
    return of_summary(kubelet.summary())


def manifests(wanted: Wanted) -> tuple[Object, ...]:
    """The pods."""
    return tuple(_pod(wanted, name, limit) for name, limit in LIMITS.items())


def _pod_name(wanted: Wanted, name: str) -> str:
    """The name contains the node's, since the pods of the previous node may still exist, and the run's, since
    another run may use the namespace."""
    return "-".join(part for part in (f"{_PREFIX}{name}", wanted.node, wanted.run) if part)


def _pod(wanted: Wanted, name: str, limit: str) -> Object:
    full = _pod_name(wanted, name)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": full,
            "namespace": wanted.namespace,
            "labels": {"testapp": LABEL, run_namespace.RUN: wanted.run},
        },
        "spec": {
            "nodeName": wanted.node,
            "nodeSelector": {OS_LABEL: "windows"},
            "tolerations": [{"operator": "Exists"}],
            "terminationGracePeriodSeconds": 5,
            "containers": [
                {
                    "name": f"{_PREFIX}{name}",
                    "image": wanted.image,
                    "command": ["powershell.exe", "-Command", BURN],
                    "resources": {"limits": {"cpu": limit, "memory": "1Gi"}},
                }
            ],
        },
    }


def faults(wanted: Wanted, sample: Sample) -> tuple[str, ...]:
    """Faults in the kubelet's summary, a sentence each: a pod is missing, uses nothing, or uses more than its limit."""
    return tuple(
        f"pod {wanted.namespace}/{_pod_name(wanted, name)}: {sentence}"
        for name in LIMITS
        if (sentence := _fault(wanted, sample.readings.get(Subject(wanted.namespace, _pod_name(wanted, name)))))
    )


def _fault(wanted: Wanted, reading: Any) -> str:
    value = None if reading is None else reading.nano_cores
    most = int(LIMIT_NANO_CORES * (1 + wanted.tolerance))
    if value is None:
        return "the kubelet's summary has no CPU usage for it."
    if value == 0:
        return "the kubelet's summary says that it uses no CPU, but it burns some; docs/cpu-stats.md has causes."
    if value >= ABSURD:
        return f"kubelet's summary says {value} nanocores, a negative difference read as unsigned."
    if value > most:
        return (
            f"it uses {value / MILLICORE:.0f} m, more than its limit of {LIMIT_NANO_CORES / MILLICORE:.0f} m and "
            f"{wanted.tolerance:.0%}."
        )
    return ""


def usage(wanted: Wanted, sample: Sample) -> dict[str, int | None]:
    """Nanocores by pod."""
    names = [_pod_name(wanted, name) for name in LIMITS]
    found = {name: sample.readings.get(Subject(wanted.namespace, name)) for name in names}
    return {name: None if one is None else one.nano_cores for name, one in found.items()}


def burn(
    cluster: Cluster, wanted: Wanted, summary: Callable[[], Sample], clock: Clock
) -> tuple[dict[str, int | None], tuple[str, ...]]:
    """Run the pods; nanocores by pod, and the faults. The pods are deleted afterwards, whatever happens.

    ClusterError if they do not start, or do not run to the end.
    """
    with _running(cluster, wanted, clock):
        clock.sleep(wanted.wait_s)
        for pod in manifests(wanted):
            if _phase(cluster, pod) != "Running":
                raise ClusterError(
                    f"pod {_name(pod)} is {_phase(cluster, pod) or 'gone'} after {wanted.wait_s:g} s, so its usage is "
                    "unknown."
                )
        sample = summary()
        return usage(wanted, sample), faults(wanted, sample)


@contextmanager
def _running(cluster: Cluster, wanted: Wanted, clock: Clock) -> Iterator[None]:
    """The running pods; deleted at the end of the context."""
    made: list[Object] = []
    try:
        for pod in manifests(wanted):
            cluster.create(_collection(wanted), pod)
            made.append(pod)
        for pod in made:
            wait_for(
                clock,
                wanted.start_timeout_s,
                lambda pod=pod: True if _phase(cluster, pod) == "Running" else None,  # type: ignore[misc]
                f"pod {_name(pod)} does not run after {wanted.start_timeout_s:g} s; kubectl describe pod says why.",
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


def _collection(wanted: Wanted) -> str:
    return f"/api/v1/namespaces/{wanted.namespace}/pods"


def _path(pod: Object) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
