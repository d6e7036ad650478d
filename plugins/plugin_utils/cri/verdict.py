# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who reports wrong CPU usage: kubelet, containerd, both or neither; per container and pod, and per call of CRI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..facts.version import Version
from .defects import MISSING, OFF, UNDERFLOW, ZERO, Defect, find_defect
from .figures import MILLICORE, Figures, figures, millicores
from .samples import CONTAINER_STATS, CRICTL, POD_STATS, SUMMARY, Sample, Subject, series

KUBELET, CONTAINERD, BOTH, NEITHER, CANNOT_TELL = "kubelet", "containerd", "both", "neither", "cannot_tell"
"""Who is to blame."""

BUSY_MILLICORES = 100
"""From this usage on a zero is a fault. A container that does almost nothing may well report one."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is known beside the samples.

    `containerd`: its version, None if not known. `from_cri`: kubelet's feature gate PodAndContainerStatsFromCRI (alpha
    from 1.23, beta from 1.37, off in both. Source: kubernetes v1.37.1 pkg/features/kube_features.go); without it the
    summary is made from ListContainerStats, with it from ListPodSandboxStats. `busy`: names of pods or containers that
    are known to burn CPU all the time. `busy_millicores`: see BUSY_MILLICORES.
    """

    containerd: Version | None = None
    from_cri: bool = False
    busy: frozenset[str] = frozenset()
    busy_millicores: int = BUSY_MILLICORES


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who reports wrong values about one subject, as far as one call of CRI goes. `text` says why, `defect` is what is
    known about it upstream."""

    subject: Subject
    call: str
    blame: str
    text: str
    defect: Defect | None = None


def table(samples: Sequence[Sample]) -> dict[Subject, dict[str, Figures]]:
    """The figures per subject and source."""
    found: dict[Subject, dict[str, Figures]] = {}
    for source in sorted({sample.source for sample in samples}):
        for subject, readings in series(samples, source).items():
            found.setdefault(subject, {})[source] = figures(readings)
    return dict(sorted(found.items()))


def judge(found: Mapping[Subject, Mapping[str, Figures]], conditions: Conditions) -> list[Verdict]:
    """A verdict for each subject and each call that says something about it.

    kubelet is compared with the call that it uses itself; the other call is judged by itself.
    """
    verdicts: list[Verdict] = []
    for subject in found:
        for call in (CONTAINER_STATS, POD_STATS):
            runtime = _runtime(found, subject, call)
            kubelet = found[subject].get(SUMMARY) if (call == POD_STATS) == conditions.from_cri else None
            if runtime or kubelet is not None:
                busy = _busy(subject, (*found[subject].values(), *runtime), conditions)
                verdicts.append(_one(subject, call, kubelet, runtime, busy, conditions))
    return verdicts


def _runtime(found: Mapping[Subject, Mapping[str, Figures]], subject: Subject, call: str) -> tuple[Figures, ...]:
    """What the runtime said in this call: crictl asks ListContainerStats too, and a pod's value in kubelet's summary is
    the sum of that of its containers."""
    if call == POD_STATS:
        return tuple(one for source, one in found[subject].items() if source == POD_STATS)
    subjects = (
        [subject] if subject.container else [one for one in found if one.container and _pod(one) == _pod(subject)]
    )
    return tuple(one for each in subjects for source, one in found[each].items() if source in (CONTAINER_STATS, CRICTL))


def _pod(subject: Subject) -> tuple[str, str]:
    return subject.namespace, subject.pod


def _busy(subject: Subject, all_figures: Sequence[Figures], conditions: Conditions) -> bool | None:
    """None if it cannot be told."""
    if {subject.pod, subject.container} & conditions.busy:
        return True
    least = conditions.busy_millicores * MILLICORE
    own = [one.own_nano_cores for one in all_figures if one.own_nano_cores is not None]
    if own:
        return max(own) >= least
    # Without a counter, zeros between high values tell: what burns CPU before and after did not rest.
    if any(one.alternating and (one.maximum or 0) >= least for one in all_figures):
        return True
    return None


def _faults(
    all_figures: Sequence[Figures], busy: bool | None, subject: Subject, conditions: Conditions
) -> frozenset[str]:
    found = {UNDERFLOW} if any(one.underflows for one in all_figures) else set()
    least = conditions.busy_millicores * MILLICORE
    named = bool({subject.pod, subject.container} & conditions.busy)
    if any(_wrong_zeros(one, busy, least, named) for one in all_figures):
        found.add(ZERO)
    if any(one.spikes or _off(one) for one in all_figures):
        found.add(OFF)
    return frozenset(found)


def _wrong_zeros(one: Figures, busy: bool | None, least: int, named: bool) -> int:
    """Zeros of a container that was busy then: the counter moved around that very sample. Where no counter tells, it
    counts whether it was busy over the whole series, or is declared busy."""
    return sum(1 for near in one.zero_usage if (busy is True if near is None else named or near >= least))


def _off(one: Figures) -> bool:
    """Whether the series as a whole contradicts the counter: half, twice, or a constant that has nothing to
    do with it. Only for steady usage: with bursts, samples and counter may well see different ones."""
    if one.mean is None or one.own_nano_cores is None or not one.steady:
        return False
    far = abs(one.mean - one.own_nano_cores) >= BUSY_MILLICORES * MILLICORE
    return far and not 0.6 * one.own_nano_cores <= one.mean <= one.own_nano_cores / 0.6


def _one(
    subject: Subject,
    call: str,
    kubelet: Figures | None,
    runtime: tuple[Figures, ...],
    busy: bool | None,
    conditions: Conditions,
) -> Verdict:
    containerd = conditions.containerd
    of_kubelet = _faults((kubelet,) if kubelet else (), busy, subject, conditions)
    of_runtime = _faults(runtime, busy, subject, conditions)
    missing = any(one.nulls for one in runtime)
    who = f"containerd {containerd}" if containerd else "containerd"
    seen = _describe_readings(call, who, kubelet, runtime)
    zeros = (near for one in (*runtime, *((kubelet,) if kubelet else ())) for near in one.zero_usage)
    undecided = busy is None and any(near is None for near in zeros)

    def verdict(blame: str, reason: str, defect: Defect | None = None) -> Verdict:
        return Verdict(subject, call, blame, f"{subject}: {seen} {reason}", defect)

    if not of_kubelet and not of_runtime:
        if undecided:
            return verdict(
                CANNOT_TELL,
                "Whether it was busy is not known, since no counter of CPU time was reported; if it was, name it in "
                "busy.",
            )
        defect = find_defect(call, MISSING, containerd) if missing else None
        return verdict(
            NEITHER, "null is not 0: no value is not a wrong value." if missing else "Nothing is wrong.", defect
        )
    symptom = next(one for one in (UNDERFLOW, ZERO, OFF) if one in (of_runtime or of_kubelet))
    defect = find_defect(call, symptom, containerd)
    if of_runtime:
        if kubelet is None:
            return verdict(CONTAINERD, "The value is wrong in the runtime's own answer.", defect)
        if of_kubelet <= of_runtime:
            passed = "and the kubelet passes it on." if of_kubelet else "though kubelet's answers do not show it."
            return verdict(CONTAINERD, f"The value is wrong in the runtime's own answer, {passed}", defect)
        return verdict(BOTH, "The runtime's answer is wrong, and kubelet's in another way.", defect)
    if not runtime:
        return verdict(CANNOT_TELL, f"The runtime was not asked by {call}; ask it, or give what crictl says.", defect)
    if missing:
        own = find_defect(SUMMARY, symptom, containerd)
        return verdict(KUBELET, "The runtime reports no value, so the kubelet made this one itself.", own)
    if defect is not None:
        return verdict(
            CANNOT_TELL,
            "The kubelet passes on what the runtime reports, and this containerd is known for such answers; they were "
            "not among those seen here. Take more samples.",
            defect,
        )
    return verdict(KUBELET, "The runtime's answers are right.")


def _describe_readings(call: str, who: str, kubelet: Figures | None, runtime: Sequence[Figures]) -> str:
    parts = [f"{who} answered {call} with {_words(one)};" for one in runtime]
    if kubelet:
        parts.append(f"the kubelet's summary had {_words(kubelet)};")
    own = [one.own_nano_cores for one in (*runtime, *((kubelet,) if kubelet else ())) if one.own_nano_cores is not None]
    parts.append(
        f"its counter of CPU time gives {millicores(max(own))}." if own else "no counter of CPU time was read."
    )
    return " ".join(parts)


def _words(one: Figures) -> str:
    counts = [
        (one.zeros, "zero"),
        (one.nulls, "missing"),
        (one.underflows, "absurdly large"),
        (one.spikes, "far beyond what its counter proves"),
        (one.jumps, "behind a jump of the clock"),
    ]
    odd = ", ".join(f"{count} {name}" for count, name in counts if count)
    span = f"{millicores(one.minimum)} to {millicores(one.maximum)}" if one.maximum is not None else "no usable value"
    off = f", on average {millicores(one.mean)} where the counter proves otherwise" if _off(one) else ""
    return f"{span} in {one.samples} samples{f' ({odd})' if odd else ''}{off}"
