"""The figures of a series, and who is to blame for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri import defects, verdict
from ansible_collections.winkube.node.plugins.plugin_utils.cri.figures import ABSURD, Figures, figures, own_nano_cores
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import (
    CONTAINER_STATS,
    CRICTL,
    POD_STATS,
    SUMMARY,
    Reading,
    Sample,
    Subject,
)
from ansible_collections.winkube.node.plugins.plugin_utils.cri.verdict import Conditions, Verdict, judge, table
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from tests.unit.cri.series_of_ct36 import WITH_DEFECT, WITHOUT, A, B

HALF = 500_000_000
SECOND = 1_000_000_000
BURN = Subject("load", "burner", "burn")
POD = Subject("load", "burner")
UNSIGNED = 2**64 - 5


def readings(values: Iterable[int | None], busy: bool = True, step: int = 10) -> list[Reading]:
    """Readings every 10 s of something that uses half a core, or nothing, whatever is reported."""
    return [
        Reading((100 + step * n) * SECOND, n * step * (HALF if busy else 0), value) for n, value in enumerate(values)
    ]


def samples(source: str, values: Iterable[int | None], subject: Subject = BURN, busy: bool = True) -> list[Sample]:
    return [Sample(source, {subject: reading}) for reading in readings(values, busy)]


def only(found: list[Sample], conditions: Conditions | None = None) -> Verdict:
    (one,) = judge(table(found), conditions or Conditions())
    return one


def containerd(version: str, **more: object) -> Conditions:
    return Conditions(containerd=Version.parse(version), **more)  # type: ignore[arg-type]


# -- figures -----------------------------------------------------------------------------------------------------


def of_summary(pairs: list[tuple[str, int]]) -> list[Sample]:
    return [Sample(SUMMARY, {Subject("", name): Reading(None, None, value)}) for name, value in pairs]


@pytest.mark.row("CT-35", "CT-36")
def test_the_series_with_the_defect_alternates() -> None:
    found = table(of_summary(WITH_DEFECT))
    of_a, of_b = found[Subject("", A)][SUMMARY], found[Subject("", B)][SUMMARY]
    assert (of_a.samples, of_a.zeros, of_a.minimum, of_a.maximum, of_a.alternating) == (4, 2, 0, 1506845973, True)
    assert (of_b.samples, of_b.zeros, of_b.minimum, of_b.maximum, of_b.alternating) == (4, 2, 0, 503096265, True)


@pytest.mark.row("CT-36", "CT-37")
def test_both_series_are_judged() -> None:
    bad = judge(table(of_summary(WITH_DEFECT)), containerd("1.7.12"))
    assert {(one.subject.pod, one.blame) for one in bad} == {(A, verdict.CANNOT_TELL), (B, verdict.CANNOT_TELL)}
    assert all("2 zero" in one.text and "The runtime was not asked" in one.text for one in bad)
    good = judge(table(of_summary(WITHOUT)), containerd("1.6.27"))
    assert {(one.subject.pod, one.blame) for one in good} == {(A, verdict.NEITHER), (B, verdict.NEITHER)}


@pytest.mark.row("CT-36", "CT-39")
def test_the_series_with_the_defect_and_crictl_beside_it() -> None:
    values = [value for name, value in WITH_DEFECT if name == A]
    subject = Subject("", A, "burn")
    kubelet = [Sample(SUMMARY, {subject: Reading(None, None, value)}) for value in values]
    crictl = [Sample(CRICTL, {subject: Reading(None, None, value)}) for value in values]
    one = only([*kubelet, *crictl], containerd("1.7.12"))
    assert (one.blame, one.defect and one.defect.name) == (verdict.CONTAINERD, "container-zero")


@pytest.mark.row("CT-41")
def test_underflow_equal_and_older_timestamps_are_counted() -> None:
    one = figures(
        [
            Reading(1, 10, UNSIGNED),
            Reading(1, 10, None),
            Reading(3, 10, ABSURD),
            Reading(2, 12, ABSURD - 1),
            Reading(None, None, 0),
        ]
    )
    assert one == Figures(
        samples=5,
        minimum=0,
        maximum=ABSURD - 1,
        zeros=1,
        nulls=1,
        underflows=2,
        equal_timestamps=1,
        older_timestamps=1,
        still=1,
        alternating=False,
        own_nano_cores=0,
        zero_usage=(None,),
        spikes=1,
        jumps=1,
    )
    assert one.values == 1


@pytest.mark.row("CT-41")
@pytest.mark.parametrize("interval_s", [1, 10, 3600, 86400])
def test_what_containerd_1_7_20_makes_of_a_counter_that_went_back_is_absurd(interval_s: int) -> None:
    """uint64(float64(current - old) / float64(nanoSeconds) * 1e9), the difference wrapped around."""
    wrapped = (7388156250000 - 7388703125000) % 2**64
    value = min(int(wrapped / (interval_s * SECOND) * SECOND), 2**63)
    assert figures([Reading(1, 1, value)]).underflows == 1


@pytest.mark.row("CT-41")
def test_what_is_absurd_begins_at_ten_thousand_cores() -> None:
    """No node has as many; whatever is below may be a usage."""
    least = 10_000 * SECOND
    one = figures([Reading(1, 1, least - 1), Reading(2, 2, least)])
    assert (one.maximum, one.underflows) == (least - 1, 1)


@pytest.mark.row("CT-41")
@pytest.mark.parametrize("busy", [True, False])
def test_an_underflow_is_a_fault_of_the_idle_too(busy: bool) -> None:
    one = only(samples(CONTAINER_STATS, [HALF, UNSIGNED, HALF], busy=busy), containerd("1.7.20"))
    assert (one.blame, one.defect and one.defect.name) == (verdict.CONTAINERD, "container-underflow")
    assert "500 millicores to 500 millicores in 3 samples (1 absurdly large)" in one.text


@pytest.mark.row("CT-40")
def test_own_usage_from_two_readings() -> None:
    assert own_nano_cores([Reading(10 * SECOND, 7 * SECOND, None), Reading(14 * SECOND, 9 * SECOND, None)]) == HALF


# The debug output in https://github.com/containerd/containerd/issues/9531 (comment of 2024-01-01), seconds and counter:
# of four calls one, 0.36 s after the last, found the counter where it had been, and answered 0.
ISSUE = [
    (4.809688400, 7388156250000),
    (5.167099900, 7388156250000),
    (6.005670800, 7388703125000),
    (6.264280600, 7388750000000),
]


@pytest.mark.row("CT-40")
def test_own_usage_of_a_counter_that_moves_in_steps() -> None:
    found = [Reading(round(at * SECOND), counter, None) for at, counter in ISSUE]
    assert own_nano_cores(found) == (7388750000000 - 7388156250000) * SECOND // 1_454_592_200
    assert figures(found).still == 1


@pytest.mark.row("CT-40", "CT-41")
def test_own_usage_passes_over_what_is_not_newer_and_begins_anew_after_a_restart() -> None:
    steps = [(10, 100), (12, 101), (12, 999), (11, 999), (14, 102), (16, 0), (18, 1)]
    assert own_nano_cores([Reading(at * SECOND, core * SECOND, None) for at, core in steps]) == HALF
    assert own_nano_cores([Reading(1, 1, 5)]) is None
    assert own_nano_cores([Reading(1, None, 5), Reading(2, None, 5)]) is None


# -- the truth table ---------------------------------------------------------------------------------------------

GOOD = [HALF] * 4
ZEROS = [HALF, 0, HALF, 0]
WRAPPED = [HALF, UNSIGNED, HALF, HALF]
NULLS: list[int | None] = [None] * 4


@pytest.mark.row("CT-34", "CT-39")
@pytest.mark.parametrize(
    ("summary", "runtime", "blame"),
    [
        (GOOD, GOOD, verdict.NEITHER),
        (ZEROS, ZEROS, verdict.CONTAINERD),
        (ZEROS, GOOD, verdict.KUBELET),
        (GOOD, ZEROS, verdict.CONTAINERD),
        (WRAPPED, WRAPPED, verdict.CONTAINERD),
        (WRAPPED, GOOD, verdict.KUBELET),
        (WRAPPED, ZEROS, verdict.BOTH),
        (ZEROS, WRAPPED, verdict.BOTH),
        (ZEROS, NULLS, verdict.KUBELET),
        (GOOD, NULLS, verdict.NEITHER),
        (NULLS, NULLS, verdict.NEITHER),
        (ZEROS, None, verdict.CANNOT_TELL),
        (GOOD, None, verdict.NEITHER),
        (None, ZEROS, verdict.CONTAINERD),
        (None, GOOD, verdict.NEITHER),
    ],
)
@pytest.mark.parametrize("source", [CONTAINER_STATS, CRICTL])
def test_the_truth_table(
    source: str, summary: list[int | None] | None, runtime: list[int | None] | None, blame: str
) -> None:
    one = only([*samples(SUMMARY, summary or []), *samples(source, runtime or [])])
    assert (one.subject, one.call, one.blame) == (BURN, CONTAINER_STATS, blame)
    assert one.defect is None or blame == verdict.KUBELET  # without containerd's version only kubelet's is known


@pytest.mark.row("CT-37")
def test_a_zero_of_what_is_idle_is_no_fault() -> None:
    found = [*samples(SUMMARY, ZEROS, busy=False), *samples(CONTAINER_STATS, ZEROS, busy=False)]
    assert only(found).blame == verdict.NEITHER
    assert only(found, Conditions(busy=frozenset({"burner"}))).blame == verdict.CONTAINERD
    assert only(found, Conditions(busy=frozenset({"burn"}))).blame == verdict.CONTAINERD
    assert only(found, Conditions(busy=frozenset({"other"}))).blame == verdict.NEITHER


@pytest.mark.row("CT-37", "CT-41")
def test_from_where_on_something_is_busy() -> None:
    """From 100 millicores on, unless somebody says otherwise."""

    def blame(nano_cores: int) -> str:
        own = [Reading(n * SECOND, n * nano_cores, value) for n, value in enumerate(ZEROS)]
        return only([Sample(CONTAINER_STATS, {BURN: one}) for one in own]).blame

    assert (blame(100_000_000), blame(99_999_999)) == (verdict.CONTAINERD, verdict.NEITHER)
    found = samples(CONTAINER_STATS, ZEROS)
    assert only(found, Conditions(busy_millicores=500)).blame == verdict.CONTAINERD
    assert only(found, Conditions(busy_millicores=501)).blame == verdict.NEITHER


def test_zeros_alone_without_a_counter_cannot_be_judged() -> None:
    found = [Sample(CONTAINER_STATS, {BURN: Reading(None, None, 0)}) for _ in range(3)]
    one = only(found)
    assert one.blame == verdict.CANNOT_TELL
    assert "name it in busy" in one.text


@pytest.mark.row("CT-39")
def test_kubelet_passes_on_what_a_runtime_with_the_defect_says() -> None:
    """Zeros in the summary, none in the calls seen: of a containerd that is known for it that says nothing yet."""
    found = [*samples(SUMMARY, ZEROS), *samples(CONTAINER_STATS, GOOD)]
    one = only(found, containerd("1.7.12"))
    assert (one.blame, one.defect and one.defect.name) == (verdict.CANNOT_TELL, "container-zero")
    assert only(found, containerd("2.3.0")).blame == verdict.KUBELET


@pytest.mark.row("CT-33")
def test_the_gate_decides_which_call_kubelet_is_compared_with() -> None:
    found = [*samples(SUMMARY, ZEROS), *samples(CONTAINER_STATS, GOOD), *samples(POD_STATS, ZEROS)]
    off = {one.call: one.blame for one in judge(table(found), Conditions())}
    assert off == {CONTAINER_STATS: verdict.KUBELET, POD_STATS: verdict.CONTAINERD}
    on = {one.call: one for one in judge(table(found), Conditions(from_cri=True))}
    assert on[CONTAINER_STATS].blame == verdict.NEITHER
    assert on[POD_STATS].blame == verdict.CONTAINERD
    assert "passes it on" in on[POD_STATS].text


@pytest.mark.row("CT-39")
def test_a_pod_is_compared_with_its_containers() -> None:
    """kubelet adds up a pod from its containers and counts a missing value as 0."""
    found = [*samples(SUMMARY, ZEROS, POD), *samples(CONTAINER_STATS, NULLS)]
    of_pod = next(one for one in judge(table(found), containerd("2.3.7")) if not one.subject.container)
    assert (of_pod.blame, of_pod.defect and of_pod.defect.name) == (verdict.KUBELET, "kubelet-null-as-zero")


def test_a_container_of_another_pod_is_not_asked() -> None:
    other = Subject("load", "other", "burn")
    found = [*samples(SUMMARY, ZEROS, POD), *samples(CONTAINER_STATS, ZEROS, other)]
    blames = {one.subject: one.blame for one in judge(table(found), Conditions())}
    assert blames == {POD: verdict.CANNOT_TELL, other: verdict.CONTAINERD}


# -- what is known -----------------------------------------------------------------------------------------------


@pytest.mark.row("CT-38", "CT-39", "CT-43")
@pytest.mark.parametrize(
    ("call", "symptom", "version", "name"),
    [
        (CONTAINER_STATS, defects.ZERO, "1.6.36", None),
        (CONTAINER_STATS, defects.ZERO, "1.7.0", "container-zero"),
        (CONTAINER_STATS, defects.ZERO, "1.7.35", "container-zero"),
        (CONTAINER_STATS, defects.ZERO, "2.2.9", "container-zero"),
        (CONTAINER_STATS, defects.ZERO, "2.3.0", None),
        (CONTAINER_STATS, defects.UNDERFLOW, "1.7.21", "container-underflow"),
        (CONTAINER_STATS, defects.UNDERFLOW, "1.7.22", None),
        (CONTAINER_STATS, defects.MISSING, "1.6.20~ds1", "container-missing"),
        (CONTAINER_STATS, defects.MISSING, "1.7.0", None),
        (CONTAINER_STATS, defects.MISSING, "2.3.0", "container-null"),
        (POD_STATS, defects.ZERO, "1.7.12", "pod-zero"),
        (POD_STATS, defects.ZERO, "2.4.2", "pod-zero"),
        (POD_STATS, defects.UNDERFLOW, "2.4.2", "pod-underflow"),
    ],
)
def test_what_is_known_per_call_and_version(call: str, symptom: str, version: str, name: str | None) -> None:
    found = defects.find_defect(call, symptom, Version.parse(version))
    assert (found.name if found else None) == name


@pytest.mark.row("CT-43")
def test_the_known_defect_names_upstream_s_issue() -> None:
    one = only(samples(CONTAINER_STATS, ZEROS), containerd("1.7.12"))
    assert one.defect is not None
    assert one.defect.issue == "https://github.com/containerd/containerd/issues/9531"


@pytest.mark.row("CT-23", "CT-40")
def test_null_of_1_6_is_no_fault() -> None:
    one = only([*samples(CRICTL, NULLS), *samples(SUMMARY, GOOD)], containerd("1.6.27"))
    assert (one.blame, one.defect and one.defect.name) == (verdict.NEITHER, "container-missing")
    assert "its counter of CPU time gives 500 millicores. null is not 0: no value is not a wrong value." in one.text
    assert "(4 missing)" in one.text


# -- how real counters mislead: what is reported against what the counter proves ---------------------------------


def counted(pairs: Iterable[tuple[float, int | None]], start: int = 100, step: int = 10) -> list[Sample]:
    """Samples of ListContainerStats, `step` s apart; of each pair the first is what is used in the time before it, in
    cores, the second what is reported, in millicores."""
    core, found = 0, []
    for number, (cores, value) in enumerate(pairs):
        core += int(cores * step * SECOND)
        nano = None if value is None else value * 1_000_000
        found.append(Sample(CONTAINER_STATS, {BURN: Reading((start + step * number) * SECOND, core, nano)}))
    return found


def moved(found: list[Sample], number: int, seconds: float) -> list[Sample]:
    """The clock jumps before the reading number `number`."""
    return [
        Sample(one.source, {BURN: replace(reading, at_ns=(reading.at_ns or 0) + int(seconds * SECOND))})
        if place >= number
        else one
        for place, one in enumerate(found)
        for reading in one.readings.values()
    ]


STEADY = [(0.5, 500)] * 12


@pytest.mark.parametrize(
    ("name", "given", "blame"),
    [
        ("rests, and says so", [(0.5, 500), (0.5, 500), (0, 0), (0, 0), (0.5, 500), (0.5, 500)], "neither"),
        ("rests on the whole, zero in a burst", [*[(0, 0)] * 20, (0.9, 0), *[(0, 0)] * 20], "containerd"),
        ("busy on the whole, zeros where it rests", [(0.8, 800)] * 6 + [(0, 0)] * 2 + [(0.8, 800)] * 6, "neither"),
        ("zero while it works", [(0.5, 500)] * 4 + [(0.5, 0)] + [(0.5, 500)] * 4, "containerd"),
        ("a zero at first, while it works", [(0.5, 0), *STEADY], "containerd"),
        ("a zero at first, before it works", [(0, 0), (0, 0), *STEADY], "neither"),
        ("8 cores said, half a core proven", [(0.5, 8000)] * 12, "containerd"),
        ("half of what is proven", [(2.0, 1000)] * 12, "containerd"),
        ("9,999 cores once", [*STEADY, (0.5, 9_999_000), *STEADY], "containerd"),
        ("a short peak, seen by the runtime alone", [*STEADY, (0.5, 1400), *STEADY], "neither"),
        (
            "bursts that samples and counter see differently",
            [(0.1, 100), (3, 200), (0.1, 2500), (2, 90)] * 4,
            "neither",
        ),
        ("hardly any usage, said double", [(0.02, 40)] * 12, "neither"),
        ("too few to tell", [(0.5, 900)] * 3, "neither"),
    ],
)
def test_a_value_is_held_against_the_counter_around_it(
    name: str, given: list[tuple[float, int | None]], blame: str
) -> None:
    """Zeros counted by the usage on the whole, and any value that was neither zero nor absurd was right."""
    assert only(counted(given)).blame == blame, name


@pytest.mark.parametrize("seconds", [3600, -3600, 86400])
def test_a_clock_that_jumps_is_no_change_of_usage(seconds: int) -> None:
    """The usage by the counter became next to nothing, or nothing behind the jump was compared at all."""
    found = figures([one.readings[BURN] for one in moved(counted(STEADY), 6, seconds)])
    assert found.jumps == 1
    assert found.own_nano_cores == HALF
    zero = counted([*STEADY[:8], (0.5, 0), *STEADY[:4]])
    assert only(moved(zero, 6, seconds)).blame == "containerd"
