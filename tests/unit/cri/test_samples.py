"""What the four sources of CPU readings look like, and what is read out of them."""

from __future__ import annotations

import json

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri import samples
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import Reading, Subject

LABELS = {
    "io.kubernetes.pod.name": "burner",
    "io.kubernetes.pod.namespace": "load",
    "io.kubernetes.container.name": "burn",
}
BURN = Subject("load", "burner", "burn")

# The article's own example of grpcurl's answer (CT-15): stats is an object there, numbers are strings.
GRPCURL = """
{"stats": {"attributes": {"metadata": {"name": "cpulimittest-57aeaf8c-406e-4568-bba7-5ba86e390b04"}},
  "cpu": {"timestamp": "1705956821372245000", "usageCoreNanoSeconds": {"value": "84401234375000"},
          "usageNanoCores": {"value": "407471100"}},
  "memory": {}, "writableLayer": {}}}
"""


def only(sample: samples.Sample) -> Reading:
    (reading,) = sample.readings.values()
    return reading


@pytest.mark.row("CT-15")
def test_the_answer_of_grpcurl() -> None:
    sample = samples.of_container_stats(samples.as_object(GRPCURL, "grpcurl"))
    assert dict(sample.readings) == {
        Subject("", "", "cpulimittest-57aeaf8c-406e-4568-bba7-5ba86e390b04"): Reading(
            1705956821372245000, 84401234375000, 407471100
        )
    }


@pytest.mark.row("CT-15", "CT-23")
@pytest.mark.parametrize(
    ("cpu", "wanted"),
    [
        # containerd 1.6 on Windows: no usageNanoCores; crictl prints null.
        ({"timestamp": "5", "usageCoreNanoSeconds": {"value": "7"}, "usageNanoCores": None}, Reading(5, 7, None)),
        ({"timestamp": "5", "usageCoreNanoSeconds": {"value": "7"}}, Reading(5, 7, None)),
        # A value of 0: crictl prints it, grpcurl and protobuf's JSON leave it out.
        (
            {"timestamp": "5", "usageCoreNanoSeconds": {"value": "7"}, "usageNanoCores": {"value": "0"}},
            Reading(5, 7, 0),
        ),
        ({"timestamp": "5", "usageCoreNanoSeconds": {"value": "7"}, "usageNanoCores": {}}, Reading(5, 7, 0)),
        ({"timestamp": 5, "usageCoreNanoSeconds": {"value": 7}, "usageNanoCores": {"value": 9}}, Reading(5, 7, 9)),
        ({"timestamp": 5, "usageCoreNanoSeconds": 7, "usageNanoCores": 9}, Reading(5, 7, 9)),
        (
            {
                "timestamp": "5",
                "usageCoreNanoSeconds": {"value": "7"},
                "usageNanoCores": {"value": "18446744073709551615"},
            },
            Reading(5, 7, 2**64 - 1),
        ),
        (None, Reading(None, None, None)),
    ],
)
def test_null_zero_and_value(cpu: object, wanted: Reading) -> None:
    answer = {"stats": [{"attributes": {"id": "a", "labels": LABELS}, "cpu": cpu}]}
    sample = samples.of_container_stats(answer, samples.CRICTL)
    assert dict(sample.readings) == {BURN: wanted}
    assert sample.source == "crictl stats"


@pytest.mark.row("CT-22")
def test_inodes_of_zero_are_nothing_to_complain_about() -> None:
    entry = {
        "attributes": {"labels": LABELS},
        "cpu": {"timestamp": "5", "usageNanoCores": {"value": "9"}},
        "writableLayer": {"inodesUsed": {"value": "0"}},
    }
    assert only(samples.of_container_stats({"stats": [entry]})) == Reading(5, None, 9)


@pytest.mark.row("CT-31", "OB-05")
@pytest.mark.parametrize("as_list", [True, False], ids=["list", "object"])
def test_the_summary(as_list: bool) -> None:
    pod = {
        "podRef": {"name": "burner", "namespace": "load"},
        "containers": [
            {
                "name": "burn",
                "cpu": {
                    "time": "2024-01-22T19:48:13Z",
                    "usageNanoCores": 504720890,
                    "usageCoreNanoSeconds": 82450187500000,
                },
                "memory": {},
                "rootfs": {},
                "logs": {},
            }
        ],
        "cpu": {"time": "2024-01-22T19:48:13Z", "usageNanoCores": 504720890, "usageCoreNanoSeconds": 82450187500000},
        "network": {},
        "volume": [],
    }
    sample = samples.of_summary({"node": {}, "pods": [pod] if as_list else pod})
    reading = Reading(1705952893_000000000, 82450187500000, 504720890)
    assert dict(sample.readings) == {Subject("load", "burner"): reading, BURN: reading}
    assert sample.source == "/stats/summary"


@pytest.mark.row("CT-31")
@pytest.mark.parametrize(
    ("time", "wanted"),
    [
        ("1970-01-01T00:00:01Z", 1_000_000_000),
        ("1970-01-01T00:00:01.5Z", 1_500_000_000),
        ("1970-01-01T00:00:01.000000007Z", 1_000_000_007),
        (None, None),
        ("yesterday", None),
    ],
)
def test_times_of_the_summary(time: str | None, wanted: int | None) -> None:
    sample = samples.of_summary({"pods": [{"podRef": {"name": "p"}, "cpu": {"time": time}}]})
    assert only(sample).at_ns == wanted


def test_a_summary_without_cpu_has_a_reading_without_values() -> None:
    sample = samples.of_summary({"pods": [{"podRef": {"name": "p"}, "containers": [{"name": "c"}]}]})
    assert dict(sample.readings) == {Subject("", "p", "c"): Reading(None, None, None)}


@pytest.mark.row("OB-05", "CT-18")
def test_pods_of_windows_and_the_containers_in_them() -> None:
    cpu = {"timestamp": "5", "usageCoreNanoSeconds": {"value": "7"}, "usageNanoCores": {}}
    answer = {
        "stats": [
            {
                "attributes": {"id": "s", "metadata": {"name": "burner", "namespace": "load"}},
                "windows": {"cpu": cpu, "containers": [{"attributes": {"metadata": {"name": "burn"}}, "cpu": cpu}]},
            }
        ]
    }
    sample = samples.of_pod_stats(answer)
    assert dict(sample.readings) == {Subject("load", "burner"): Reading(5, 7, 0), BURN: Reading(5, 7, 0)}
    assert sample.system == "windows"


def test_two_containers_of_one_name_stay_apart() -> None:
    entries = [{"attributes": {"id": name * 64, "metadata": {"name": "pause"}}} for name in "ab"]
    sample = samples.of_container_stats({"stats": entries})
    assert [str(subject) for subject in sample.readings] == ["container pause", "container pause (bbbbbbbbbbbb)"]


@pytest.mark.parametrize(
    ("given", "said"), [("{", "crictl[0]: this is not JSON"), ("[]", "this is a list"), (7, "an int")]
)
def test_what_is_no_object_is_refused(given: object, said: str) -> None:
    with pytest.raises(samples.SampleError, match="crictl"):
        samples.as_object(given, "crictl[0]")
    assert samples.as_object(json.loads("{}"), "x") == {}
    assert said
