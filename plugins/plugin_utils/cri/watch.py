# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CPU usage for k8s_windows_cri_info: runtime and kubelet asked for samples at an interval, and the report."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol

from ..cluster.error import ClusterError
from ..engine.clock import Clock
from ..engine.waiting import Wait
from ..facts.version import Version, VersionError
from . import samples as read
from .client import CriError, Object
from .defects import ZERO, find_defect
from .samples import POD_STATS, Sample, SampleError, Subject
from .verdict import CONTAINERD, KUBELET, NEITHER, Conditions, Verdict, judge, table


def collect(
    ask: Sequence[Callable[[], Sample | None]],
    count: int,
    interval_s: float,
    clock: Clock | None = None,
    each: Callable[[int, Sequence[Sample]], None] | None = None,
    gap: Callable[[int, Exception], None] | None = None,
) -> list[Sample]:
    """`count` rounds, `interval_s` from the begin of one to the begin of the next, each asking everyone once.

    None from one of them is not a sample. A round that takes longer than the interval is followed at once by the next.
    `each` is told the number of a round, from 1, and its samples. Somebody who does not answer in the first round ends
    it all (`ask` raises); later that is a gap, told to `gap` with the number of the round.
    """
    clock = clock or Clock()
    found: list[Sample] = []
    begin = clock.now()
    for number in range(count):
        Wait(f"waiting for sample {number + 1} of {count}", clock).sleep(begin + number * interval_s - clock.now())
        samples: list[Sample] = []
        for one in ask:
            try:
                sample = one()
            except Exception as error:
                if number == 0 or gap is None:
                    raise
                gap(number + 1, error)
                continue
            if sample is not None:
                samples.append(sample)
        found += samples
        if each is not None:
            each(number + 1, samples)
    return found


@dataclass(slots=True)
class SecondCaller:
    """What the second caller did."""

    calls: int = 0
    errors: list[str] = field(default_factory=list)


@contextmanager
def second_caller(call: Callable[[], object], interval_s: float) -> Iterator[SecondCaller]:
    """Repeat `call` in its own thread while the block runs. An error ends the thread and is recorded.

    containerd compares each call with the last one of anybody; a second caller makes short intervals, in which the
    defects show. Source: https://github.com/kubernetes/kubernetes/issues/122092.
    """
    done = SecondCaller()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            try:
                call()
            except Exception as error:  # any error belongs in the report, not on the terminal
                done.errors.append(str(error))
                return
            done.calls += 1
            stop.wait(interval_s)

    thread = threading.Thread(target=work, name="second caller", daemon=True)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join(timeout=30)


GATE = "PodAndContainerStatsFromCRI"


class Runtime(Protocol):
    """The part of CriClient that is used here."""

    def version(self) -> Object: ...

    def call(self, name: str) -> Object: ...


class Kubelet(Protocol):
    """One node's kubelet behind the API server (KubeletProxy, or a stand-in)."""

    def summary(self) -> Object: ...

    def feature_gates(self) -> Mapping[str, Any] | None: ...

    def containerd_version(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How often everyone is asked, and how it is judged; as the option `stats` of k8s_windows_cri_info documents it.
    `interval` and `second_caller` are seconds."""

    samples: int
    interval: float
    second_caller: float = 0
    names: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()
    busy_millicores: int = 100
    containerd_version: str = ""
    kubelet_stats: Literal["auto", "partial", "strict"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions(Sampling):
    """The option `stats`: besides, what is shown and written, and the answers that others have."""

    live: bool
    csv: str
    plot: str
    title: str
    crictl: tuple[Any, ...]
    summaries: tuple[Any, ...]


def check_numbers(how: Sampling) -> None:
    """SampleError for a number that is too small."""
    for name, number, least in (
        ("samples", how.samples, 1),
        ("interval", how.interval, 0),
        ("second_caller", how.second_caller, 0),
        ("busy_millicores", how.busy_millicores, 0),
    ):
        if number < least:
            raise SampleError(f"stats.{name}: {number} is less than {least}.")


def read_elsewhere(how: StatsOptions) -> tuple[Sample, ...]:
    """The answers of `crictl stats` and of /stats/summary that the option brings along."""
    crictl = [read.as_object(one, f"stats.crictl[{number}]") for number, one in enumerate(how.crictl)]
    summaries = [read.as_object(one, f"stats.summaries[{number}]") for number, one in enumerate(how.summaries)]
    return (
        *(read.of_container_stats(one, read.CRICTL) for one in crictl),
        *(read.of_summary(one) for one in summaries),
    )


@dataclass(slots=True)
class _Gaps:
    """Calls that failed, by what they said: one that fails is a gap in the series, not its end."""

    rounds: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, error: Exception) -> None:
        """An answer that did not come. What is not an answer of a runtime or kubelet is raised again."""
        if not isinstance(error, (CriError, ClusterError, SampleError)):
            raise error
        self.rounds.setdefault(str(error), []).append(number)

    def notes(self) -> list[str]:
        """A sentence each."""
        return [
            f"{len(numbers)} calls failed (first in round {numbers[0]}), gaps in the series: {said}"
            for said, numbers in self.rounds.items()
        ]


@dataclass(slots=True)
class Collected:
    """The samples, and what is known about their sources."""

    samples: list[Sample] = field(default_factory=list)
    containerd: Version | None = None
    strict: bool = False
    second_calls: int = 0
    notes: list[str] = field(default_factory=list)


def take(
    how: Sampling,
    runtime: Runtime | None,
    second: Runtime | None,
    kubelet: Kubelet | None,
    given: tuple[Sample, ...] = (),
    clock: Clock | None = None,
    each: Callable[[int, Sequence[Sample]], None] | None = None,
) -> Collected:
    """Ask everyone. `second` is a connection of its own for the second caller, None for none; `each` is told a round's
    samples, as far as they fit `how.names`, as soon as they are there. CriError if the runtime does not even answer
    ListContainerStats in the first round; a call that fails later is a gap and a note, and so are other calls that it
    does not have. VersionError if `how.containerd_version` is not a version."""
    found = Collected(samples=list(given))
    _learn(found, how, runtime, kubelet)
    ask: list[Callable[[], Sample | None]] = []
    if kubelet is not None:
        ask.append(lambda: read.of_summary(kubelet.summary()))
    if runtime is not None:
        ask.append(lambda: read.of_container_stats(runtime.call(read.CONTAINER_STATS)))
        ask.append(lambda: _pod_stats(runtime, found.notes))
    if ask:
        caller = SecondCaller()
        with ExitStack() as stack:
            if second is not None:
                caller = stack.enter_context(
                    second_caller(lambda: second.call(read.CONTAINER_STATS), how.second_caller)
                )
            told = (
                None
                if each is None
                else lambda n, samples: each(n, [_select_readings(one, how.names) for one in samples])
            )
            gaps = _Gaps()
            found.samples += collect(ask, how.samples, how.interval, clock, told, gaps.add)
            found.notes += gaps.notes()
        found.second_calls = caller.calls
        found.notes += [f"The second caller was ended by an error: {error}" for error in caller.errors]
    return found


def report(how: Sampling, found: Collected) -> Object:
    """What k8s_windows_cri_info returns of `stats`."""
    kept = [_select_readings(sample, how.names) for sample in found.samples]
    counted = table(kept)
    conditions = Conditions(found.containerd, found.strict, frozenset(how.busy), how.busy_millicores)
    verdicts = judge(counted, conditions)
    return {
        "findings": [_verdict(one) for one in verdicts if one.blame != NEITHER],
        "verdicts": [_verdict(one) for one in verdicts],
        "series": [
            {**_subject(subject), "source": source, **asdict(one)}
            for subject, sources in counted.items()
            for source, one in sources.items()
        ],
        "readings": [row for sample in kept for row in rows(sample)],
        "containerd_version": str(found.containerd or ""),
        "kubelet_stats": "strict" if found.strict else "partial",
        "second_caller": found.second_calls,
        "notes": [*found.notes, *_warning(found.containerd, found.strict)],
    }


def rows(sample: Sample) -> list[Object]:
    """An answer as readings of the result."""
    return [
        {**_subject(subject), "source": sample.source, **asdict(reading)}
        for subject, reading in sample.readings.items()
    ]


def summary_line(result: Mapping[str, Any]) -> str:
    """One line for the terminal."""
    blames = [str(one["blame"]) for one in result["findings"]]
    if not blames:
        return f"{len(result['verdicts'])} looked at, nothing wrong"
    names = {KUBELET: "kubelet", CONTAINERD: "containerd", "both": "both", "cannot_tell": "not decided"}
    counts = ", ".join(f"{names[one]}: {blames.count(one)}" for one in names if one in blames)
    return f"{len(result['verdicts'])} looked at, wrong by {counts}"


def _learn(found: Collected, how: Sampling, runtime: Runtime | None, kubelet: Kubelet | None) -> None:
    said = ""
    if runtime is not None:
        answer = runtime.version()
        said = str(answer.get("runtimeVersion") or "") if answer.get("runtimeName") == "containerd" else ""
    if how.containerd_version:
        found.containerd = Version.parse(how.containerd_version, "containerd_version")
    elif said := said or (kubelet.containerd_version() if kubelet is not None else ""):
        try:
            found.containerd = Version.parse(said, "containerd")
        except VersionError:
            # A custom build may report anything; the figures need no version.
            found.notes.append(f"containerd reports '{said}', which is not a version; set containerd_version.")
    found.strict = how.kubelet_stats == "strict"
    if how.kubelet_stats == "auto" and kubelet is not None:
        gates = kubelet.feature_gates()
        if gates is None:
            found.notes.append(f"kubelet's configuration could not be read; {GATE} is taken to be off, as by default.")
        else:
            found.strict = bool(gates.get(GATE, False))


def _warning(containerd: Version | None, strict: bool) -> list[str]:
    """A known defect of this containerd in the call that the kubelet uses, seen or not."""
    defect = find_defect(POD_STATS if strict else read.CONTAINER_STATS, ZERO, containerd)
    if defect is None:
        return []
    return [
        f"containerd {containerd} is known to report 0 for busy containers on Windows: {defect.text} {defect.issue}"
    ]


def _pod_stats(runtime: Runtime, notes: list[str]) -> Sample | None:
    try:
        return read.of_pod_stats(runtime.call(POD_STATS))
    except CriError as error:
        # containerd 1.6 on Windows does not have it; a pod that is just going away fails the whole call.
        # Source: containerd v1.6.36 and v2.4.2 sandbox_stats_windows.go, podSandboxStats.
        if error.code == "UNAVAILABLE":
            raise
        if str(error) not in notes:
            notes.append(str(error))
        return None


def _select_readings(sample: Sample, patterns: tuple[str, ...]) -> Sample:
    if not patterns:
        return sample
    kept = {subject: reading for subject, reading in sample.readings.items() if _fits(subject, patterns)}
    return Sample(sample.source, kept, sample.system)


def _fits(subject: Subject, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for name in (subject.pod, subject.container) if name for pattern in patterns)


def _subject(subject: Subject) -> Object:
    return asdict(subject)


def _verdict(one: Verdict) -> Object:
    defect = {} if one.defect is None else {key: getattr(one.defect, key) for key in ("name", "text", "issue")}
    return {**_subject(one.subject), "call": one.call, "blame": one.blame, "text": one.text, "defect": defect}
