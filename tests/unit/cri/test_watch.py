"""Sampling and report: who is asked, what is learned before, and two nodes judged from the wire on."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Literal

import grpc
import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cri.client import CriClient, CriError
from ansible_collections.winkube.node.plugins.plugin_utils.cri.kubelet import KubeletProxy
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import SUMMARY, Sample
from ansible_collections.winkube.node.plugins.plugin_utils.cri.watch import (
    Sampling,
    collect,
    report,
    second_caller,
    summary_line,
    take,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import VersionError

from tests.unit.cluster.fake import Fake
from tests.unit.cri import wire
from tests.unit.cri.wire import runtime

Way = Literal["auto", "partial", "strict"]

SECOND = 1_000_000_000
HALF = 500_000_000
PROXY = "/api/v1/nodes/win1/proxy"


class Steps:
    """A clock that a test can read: each sleep moves it."""

    def __init__(self) -> None:
        self.at = 100.0
        self.slept: list[float] = []

    def clock(self) -> Clock:
        return Clock(now=lambda: self.at, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds


class Node:
    """A node whose container `burn` uses half a core; `reported` is what containerd makes of it, call by call."""

    def __init__(self, version: str, reported: list[int | None]) -> None:
        self.version = version
        self.reported = reported
        self.lock = threading.Lock()
        self.calls = 0

    def cpu(self) -> tuple[int, int, int | None]:
        with self.lock:
            number = self.calls
            self.calls += 1
        return (1000 + 5 * number) * SECOND, number * 5 * HALF, self.reported[number % len(self.reported)]

    def answers(self) -> dict[str, wire.Answer]:
        return {
            runtime("Version"): wire.version(self.version),
            runtime("ListContainerStats"): lambda: wire.many(
                1, [wire.container_stats("load", "burner", "burn", wire.cpu(*self.cpu()))]
            ),
        }


class Kubelet:
    """Says in its summary what `values` has, call by call."""

    def __init__(self, values: list[int | None], gates: Mapping[str, Any] | None = None, containerd: str = "") -> None:
        self.values = iter(values)
        self.gates = gates
        self.containerd = containerd

    def summary(self) -> dict[str, Any]:
        cpu = {"time": "2024-01-22T19:48:13Z", "usageNanoCores": next(self.values), "usageCoreNanoSeconds": 1}
        container = {"name": "burn", "cpu": cpu}
        return {"pods": [{"podRef": {"name": "burner", "namespace": "load"}, "containers": [container]}]}

    def feature_gates(self) -> Mapping[str, Any] | None:
        return self.gates

    def containerd_version(self) -> str:
        return self.containerd


def watched(node: Node, kubelet: Kubelet | None, how: Sampling | None = None) -> dict[str, Any]:
    how = how or Sampling(samples=4, interval=5)
    with wire.serving(node.answers()) as server, CriClient(server.address) as client:
        return report(how, take(how, client, None, kubelet, clock=Steps().clock()))


@pytest.mark.row("CT-34", "CT-39", "CT-43")
def test_a_node_with_the_defect_and_its_healthy_twin() -> None:
    zeros: list[int | None] = [HALF, 0, 3 * HALF, 0]
    sick = watched(Node("1.7.12", zeros), Kubelet([0, HALF, 0, HALF]))
    (finding,) = sick["findings"]
    assert (finding["namespace"], finding["pod"], finding["container"]) == ("load", "burner", "burn")
    assert (finding["call"], finding["blame"]) == ("ListContainerStats", "containerd")
    assert finding["defect"]["issue"] == "https://github.com/containerd/containerd/issues/9531"
    assert finding["text"] == (
        "container burn of pod load/burner: containerd 1.7.12 answered ListContainerStats with 0 millicores to 1500 "
        "millicores in 4 samples (2 zero); the kubelet's summary had 0 millicores to 500 millicores in 4 samples (2 "
        "zero); its counter of CPU time gives 500 millicores. The value is wrong in the runtime's own answer, and the "
        "kubelet passes it on."
    )
    assert summary_line(sick) == "1 looked at, wrong by containerd: 1"
    well = watched(Node("1.7.12", [HALF]), Kubelet([HALF] * 4))
    assert well["findings"] == []
    assert summary_line(well) == "1 looked at, nothing wrong"


def test_the_report_has_every_reading_and_the_figures() -> None:
    found = watched(Node("1.6.36", [None]), None, Sampling(samples=2, interval=5))
    assert found["readings"] == [
        {
            "namespace": "load",
            "pod": "burner",
            "container": "burn",
            "source": "ListContainerStats",
            "at_ns": 1000 * SECOND,
            "core_ns": 0,
            "nano_cores": None,
        },
        {
            "namespace": "load",
            "pod": "burner",
            "container": "burn",
            "source": "ListContainerStats",
            "at_ns": 1005 * SECOND,
            "core_ns": 5 * HALF,
            "nano_cores": None,
        },
    ]
    (series,) = found["series"]
    assert (series["nulls"], series["own_nano_cores"], series["minimum"]) == (2, HALF, None)
    assert found["containerd_version"] == "1.6.36"
    (verdict,) = found["verdicts"]
    assert (verdict["blame"], verdict["defect"]["name"]) == ("neither", "container-missing")
    assert len(found["notes"]) == 1
    assert "ListPodSandboxStats with UNIMPLEMENTED" in found["notes"][0]


@pytest.mark.row("CT-35")
def test_only_the_names_that_are_wanted() -> None:
    for pattern, kept in (("bur*", 4), ("burn", 4), ("ur*", 0), ("cpulimit*", 0)):
        found = watched(Node("1.7.12", [0]), None, Sampling(samples=4, interval=5, names=(pattern,)))
        assert len(found["readings"]) == kept


@pytest.mark.row("CT-33")
@pytest.mark.parametrize(
    ("option", "gates", "wanted", "notes"),
    [
        ("auto", {}, "partial", 0),
        ("auto", {"PodAndContainerStatsFromCRI": True}, "strict", 0),
        ("auto", {"PodAndContainerStatsFromCRI": False}, "partial", 0),
        ("auto", None, "partial", 1),
        ("strict", {}, "strict", 0),
        ("partial", {"PodAndContainerStatsFromCRI": True}, "partial", 0),
    ],
)
def test_which_way_the_kubelet_takes(option: Way, gates: Mapping[str, Any] | None, wanted: str, notes: int) -> None:
    given = Sampling(samples=1, interval=5, kubelet_stats=option)
    found = report(given, take(given, None, None, Kubelet([HALF], gates, "1.6.36"), clock=Steps().clock()))
    assert found["kubelet_stats"] == wanted
    assert len(found["notes"]) == notes
    assert found["containerd_version"] == "1.6.36"


@pytest.mark.row("CT-38", "CT-43")
@pytest.mark.parametrize(
    ("version", "stats", "warned"),
    [
        ("1.6.36", "partial", False),
        ("1.7.0", "partial", True),
        ("1.7.35", "partial", True),
        ("2.3.0", "partial", False),
        ("2.3.0", "strict", True),
    ],
)
def test_a_containerd_that_is_known_for_it_is_warned_of(version: str, stats: Way, warned: bool) -> None:
    found = watched(Node(version, [HALF]), None, Sampling(samples=1, interval=5, kubelet_stats=stats))
    notes = [note for note in found["notes"] if note.startswith(f"containerd {version} is known to report 0")]
    assert len(notes) == warned
    assert all(note.endswith("https://github.com/containerd/containerd/issues/9531") for note in notes)


def test_the_version_of_a_build_of_one_s_own() -> None:
    found = watched(Node("3a57b67.m", [HALF]), None)
    assert found["containerd_version"] == ""
    assert "containerd reports '3a57b67.m', which is not a version; set containerd_version." in found["notes"]
    given = Sampling(samples=1, interval=5, containerd_version="1.7.12")
    assert watched(Node("3a57b67.m", [HALF]), None, given)["containerd_version"] == "1.7.12"
    with pytest.raises(VersionError, match="containerd_version"):
        watched(Node("1.7.12", [HALF]), None, Sampling(samples=1, interval=5, containerd_version="new"))


def test_a_runtime_that_goes_away_fails() -> None:
    class Gone:
        def version(self) -> dict[str, Any]:
            return {"runtimeName": "containerd", "runtimeVersion": "1.7.12"}

        def call(self, name: str) -> dict[str, Any]:
            if name == "ListContainerStats":
                return {}
            raise CriError("gone", "UNAVAILABLE")

    with pytest.raises(CriError, match="gone"):
        take(Sampling(samples=1, interval=5), Gone(), None, None, clock=Steps().clock())


def test_a_call_that_fails_later_is_a_gap() -> None:
    """One answer that did not come in an hour ended the run, and its result was lost."""

    class Shaky:
        calls = 0

        def version(self) -> dict[str, Any]:
            return {"runtimeName": "containerd", "runtimeVersion": "2.3.0"}

        def call(self, name: str) -> dict[str, Any]:
            if name == "ListContainerStats":
                self.calls += 1
                if self.calls in (2, 4):
                    raise CriError("no answer within 10 s", "DEADLINE_EXCEEDED")
            return {}

    found = take(Sampling(samples=5, interval=5), Shaky(), None, None, clock=Steps().clock())
    assert sum(one.source == "ListContainerStats" for one in found.samples) == 3
    assert "2 calls failed (first in round 2), gaps in the series: no answer within 10 s" in found.notes

    class Broken(Shaky):
        calls = 1

    with pytest.raises(CriError, match="no answer within 10 s"):
        take(Sampling(samples=5, interval=5), Broken(), None, None, clock=Steps().clock())


# -- sampling ----------------------------------------------------------------------------------------------------


@pytest.mark.row("CT-35")
def test_samples_come_at_the_interval_whatever_the_answers_take() -> None:
    steps = Steps()
    takes = iter([0.5, 7.0, 0.25])
    asked: list[float] = []

    def ask() -> Sample:
        asked.append(steps.at)
        steps.at += next(takes)
        return Sample(SUMMARY, {})

    assert len(collect([ask, lambda: None], 3, 5, steps.clock())) == 3
    assert asked == [100, 105, 112]
    assert steps.slept == [4.5]


@pytest.mark.row("CT-42")
def test_a_second_caller_asks_at_the_same_time() -> None:
    node = Node("1.7.12", [HALF])
    how = Sampling(samples=2, interval=0.3, second_caller=0.01)
    with wire.serving(node.answers()) as server, CriClient(server.address) as one, CriClient(server.address) as other:
        found = report(how, take(how, one, other, None))
        came = server.asked.count(runtime("ListContainerStats"))
    assert found["second_caller"] >= 2
    assert came == found["second_caller"] + 2
    assert found["notes"] == [note for note in found["notes"] if "second" not in note]


@pytest.mark.row("CT-42")
def test_the_error_of_a_second_caller_is_told() -> None:
    node = Node("1.7.12", [HALF])
    answers: dict[str, wire.Answer] = {runtime("ListContainerStats"): grpc.StatusCode.INTERNAL}
    how = Sampling(samples=2, interval=0.1, second_caller=0.01)
    with (
        wire.serving(node.answers()) as server,
        wire.serving(answers) as broken,
        CriClient(server.address) as one,
        CriClient(broken.address) as other,
    ):
        found = report(how, take(how, one, other, None))
    said = f"{broken.address} answered /runtime.v1.RuntimeService/ListContainerStats with INTERNAL: as the test wants."
    assert f"The second caller was ended by an error: {said}" in found["notes"]
    assert found["second_caller"] == 0


def test_the_second_caller_ends_with_the_block() -> None:
    with second_caller(lambda: None, 60) as caller:
        assert "second caller" in {thread.name for thread in threading.enumerate()}
    assert caller.calls <= 1
    assert "second caller" not in {thread.name for thread in threading.enumerate()}


# -- kubelet behind the API server -------------------------------------------------------------------------------


@pytest.mark.row("CT-30", "OB-05")
def test_the_summary_comes_through_the_api_server() -> None:
    fake = Fake()
    fake.objects[f"{PROXY}/stats/summary"] = {"pods": []}
    fake.objects[f"{PROXY}/configz"] = {"kubeletconfig": {"featureGates": {"PodAndContainerStatsFromCRI": True}}}
    fake.objects["/api/v1/nodes/win1"] = {"status": {"nodeInfo": {"containerRuntimeVersion": "containerd://1.7.12"}}}
    kubelet = KubeletProxy(fake.cluster, "win1")
    assert kubelet.summary() == {"pods": []}
    assert kubelet.feature_gates() == {"PodAndContainerStatsFromCRI": True}
    assert kubelet.containerd_version() == "1.7.12"


def test_a_node_that_is_not_there() -> None:
    kubelet = KubeletProxy(Fake().cluster, "win1")
    with pytest.raises(ClusterError, match="has no Node win1"):
        kubelet.summary()
    assert kubelet.feature_gates() is None
    assert kubelet.containerd_version() == ""


def test_another_runtime_has_no_version_of_containerd() -> None:
    fake = Fake()
    fake.objects["/api/v1/nodes/win1"] = {"status": {"nodeInfo": {"containerRuntimeVersion": "docker://20.10.9"}}}
    assert KubeletProxy(fake.cluster, "win1").containerd_version() == ""
