# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU readings out of the four things that report them: two CRI calls, `crictl stats -o json`, kubelet's summary.

A value that is missing stays None: null is not 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

CONTAINER_STATS = "ListContainerStats"
POD_STATS = "ListPodSandboxStats"
CRICTL = "crictl stats"
SUMMARY = "/stats/summary"
SOURCES = (SUMMARY, CONTAINER_STATS, POD_STATS, CRICTL)
"""Where a reading comes from. crictl asks ListContainerStats; it is kept apart because it runs elsewhere and at another
time."""

# The labels that kubelet gives to CRI objects. Source: k8s.io/kubelet v0.37.1 pkg/types/labels.go.
_POD, _NAMESPACE, _CONTAINER = (
    "io.kubernetes.pod.name",
    "io.kubernetes.pod.namespace",
    "io.kubernetes.container.name",
)
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")


class SampleError(ValueError):
    """An unusable sample; str() is a sentence for people."""


@dataclass(frozen=True, order=True, slots=True)
class Subject:
    """What a series is about: a container, or a pod (`container` empty). Runtimes without Kubernetes' labels give no
    namespace and no pod."""

    namespace: str
    pod: str
    container: str = ""

    def __str__(self) -> str:
        names = [part for part in (self.namespace, self.pod) if part]
        where = "/".join(names)
        if not self.container:
            return f"pod {where}"
        return f"container {self.container} of pod {where}" if where else f"container {self.container}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer about one subject. `at_ns`: the reading's own timestamp, nanoseconds since 1970. `core_ns`:
    usageCoreNanoSeconds, CPU time so far. `nano_cores`: usageNanoCores, 1e9 is one core. None: not reported."""

    at_ns: int | None
    core_ns: int | None
    nano_cores: int | None


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer of one source: what it says about each subject."""

    source: str
    readings: Mapping[Subject, Reading]
    system: str = ""
    """`windows` or `linux` where the answer tells, else empty."""


def as_object(given: Any, what: str) -> dict[str, Any]:
    """`given`, or the text in it, as a JSON object. SampleError naming `what` if it is not one."""
    found = given
    if isinstance(given, str):
        try:
            found = json.loads(given)
        except ValueError as error:
            raise SampleError(f"{what}: this is not JSON ({error}).") from error
    if not isinstance(found, dict):
        raise SampleError(f"{what}: a JSON object is wanted, this is a {type(found).__name__}.")
    return found


def of_container_stats(answer: Mapping[str, Any], source: str = CONTAINER_STATS) -> Sample:
    """From an answer of ListContainerStats as grpcurl, crictl or our client give it: `{"stats": [{"attributes",
    "cpu": {"timestamp", "usageCoreNanoSeconds": {"value"}, "usageNanoCores": {"value"}}}]}`; `stats` may be one
    object."""
    readings: dict[Subject, Reading] = {}
    for entry in _entries(answer.get("stats")):
        attributes = _object(entry.get("attributes"))
        subject = _container(attributes, Subject("", ""))
        readings[_free(subject, attributes, readings)] = _of_cri(entry.get("cpu"))
    return Sample(source, readings)


def of_pod_stats(answer: Mapping[str, Any]) -> Sample:
    """From an answer of ListPodSandboxStats: the pods, and the containers in them."""
    readings: dict[Subject, Reading] = {}
    systems: set[str] = set()
    for entry in _entries(answer.get("stats")):
        attributes = _object(entry.get("attributes"))
        metadata = _object(attributes.get("metadata"))
        pod = Subject(str(metadata.get("namespace") or ""), str(metadata.get("name") or attributes.get("id") or ""))
        system = next((name for name in ("windows", "linux") if _object(entry.get(name))), "")
        systems |= {system} - {""}
        inside = _object(entry.get(system))
        readings[pod] = _of_cri(inside.get("cpu"))
        for container in _entries(inside.get("containers")):
            subject = _container(_object(container.get("attributes")), pod)
            readings[subject] = _of_cri(container.get("cpu"))
    return Sample(POD_STATS, readings, systems.pop() if len(systems) == 1 else "")


def of_summary(answer: Mapping[str, Any]) -> Sample:
    """From kubelet's summary: `{"pods": [{"podRef", "cpu", "containers": [{"name", "cpu"}]}]}`; `pods` may be one
    object. Source: kubernetes v1.37.1 staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go."""
    readings: dict[Subject, Reading] = {}
    for pod in _entries(answer.get("pods")):
        reference = _object(pod.get("podRef"))
        subject = Subject(str(reference.get("namespace") or ""), str(reference.get("name") or ""))
        if pod.get("cpu") is not None:
            readings[subject] = _of_kubelet(pod["cpu"])
        for container in _entries(pod.get("containers")):
            name = str(container.get("name") or "")
            readings[Subject(subject.namespace, subject.pod, name)] = _of_kubelet(container.get("cpu"))
    return Sample(SUMMARY, readings)


def series(samples: Iterable[Sample], source: str) -> dict[Subject, tuple[Reading, ...]]:
    """The readings of one source, per subject, in the order of the samples."""
    found: dict[Subject, list[Reading]] = {}
    for sample in samples:
        if sample.source == source:
            for subject, reading in sample.readings.items():
                found.setdefault(subject, []).append(reading)
    return {subject: tuple(readings) for subject, readings in found.items()}


def _entries(value: Any) -> list[Mapping[str, Any]]:
    entries = [value] if isinstance(value, Mapping) else value
    return [entry for entry in entries or () if isinstance(entry, Mapping)]


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _container(attributes: Mapping[str, Any], pod: Subject) -> Subject:
    labels = _object(attributes.get("labels"))
    metadata = _object(attributes.get("metadata"))
    name = labels.get(_CONTAINER) or metadata.get("name") or attributes.get("id") or ""
    return Subject(str(labels.get(_NAMESPACE) or pod.namespace), str(labels.get(_POD) or pod.pod), str(name))


def _free(subject: Subject, attributes: Mapping[str, Any], taken: Mapping[Subject, Reading]) -> Subject:
    """Without Kubernetes' labels two containers may have one name; the second is named by its id."""
    if subject not in taken:
        return subject
    return Subject(subject.namespace, subject.pod, f"{subject.container} ({str(attributes.get('id') or '')[:12]})")


def _of_cri(cpu: Any) -> Reading:
    found = _object(cpu)
    return Reading(
        _number(found.get("timestamp")),
        _unwrap(found.get("usageCoreNanoSeconds")),
        _unwrap(found.get("usageNanoCores")),
    )


def _of_kubelet(cpu: Any) -> Reading:
    found = _object(cpu)
    return Reading(
        _time(found.get("time")), _number(found.get("usageCoreNanoSeconds")), _number(found.get("usageNanoCores"))
    )


def _unwrap(value: Any) -> int | None:
    """CRI's UInt64Value: null is not a value; `{}` is 0, because JSON of protobuf leaves out what is 0."""
    if isinstance(value, Mapping):
        return _number(value.get("value", 0))
    return _number(value)


def _number(value: Any) -> int | None:
    """64-bit numbers are text in protobuf's JSON and numbers in Kubernetes'."""
    if value is None or isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _time(value: Any) -> int | None:
    """Kubernetes' times are whole seconds in UTC (metav1.Time), with a fraction where a MicroTime is used."""
    found = _TIME.fullmatch(str(value or ""))
    if found is None:
        return None
    seconds = int(datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp())
    return seconds * 1_000_000_000 + int((found[2] or "0").ljust(9, "0"))
