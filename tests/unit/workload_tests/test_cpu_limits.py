"""Kubernetes' test of CPU limits: its pods, the wait, and what is judged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster import run_namespace
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cri.kubelet import KubeletProxy
from ansible_collections.winkube.node.plugins.plugin_utils.cri.samples import Sample, of_summary
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import cpu_limits
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.cpu_limits import burn, faults, manifests
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.outcome import Context

from tests.unit.cluster.fake import Fake
from tests.unit.workload_tests import told

BURNING = told.burning("default", "win1")
DECIMAL, MILLI = "winkube-cpulimit-decimal-win1", "winkube-cpulimit-milli-win1"
PODS = "/api/v1/namespaces/default/pods"
SUMMARY = "/api/v1/nodes/win1/proxy/stats/summary"


def summary(decimal: int | None, milli: int | None) -> dict[str, Any]:
    return {
        "pods": [
            {
                "podRef": {"name": name, "namespace": "default"},
                "cpu": {"time": "2024-01-22T19:48:13Z", "usageCoreNanoSeconds": 1}
                | ({} if value is None else {"usageNanoCores": value}),
                "containers": [],
            }
            for name, value in ((DECIMAL, decimal), (MILLI, milli))
        ]
    }


@pytest.mark.row("CT-44", "SM-19")
def test_the_pods_are_those_of_the_e2e_test() -> None:
    first, second = manifests(BURNING)
    assert (first["metadata"]["name"], second["metadata"]["name"]) == (DECIMAL, MILLI)
    limits = [pod["spec"]["containers"][0]["resources"]["limits"] for pod in (first, second)]
    assert limits == [{"cpu": "0.5", "memory": "1Gi"}, {"cpu": "500m", "memory": "1Gi"}]
    for pod in (first, second):
        (container,) = pod["spec"]["containers"]
        assert container["image"] == "registry.k8s.io/e2e-test-images/busybox:1.36.1-1"
        assert container["command"][:2] == ["powershell.exe", "-Command"]
        assert container["command"][2].startswith("foreach ($loop in 1..8) { Start-Job -ScriptBlock {")
        assert container["command"][2].endswith("; Get-Job | Wait-Job")
        assert pod["spec"]["tolerations"] == [{"operator": "Exists"}], "Windows nodes have a taint"
        assert pod["spec"]["nodeSelector"] == {"kubernetes.io/os": "windows"} and pod["spec"]["nodeName"] == "win1"
    assert (BURNING.how.wait, BURNING.how.tolerance, cpu_limits.LIMIT_NANO_CORES) == (120, 0.05, 500_000_000)


@pytest.mark.row("CT-44", "RS-14")
@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (500_618_452, ""),
        (1, ""),
        (525_000_000, ""),
        (525_000_001, "it uses 525 m, more than its limit of 500 m and 5%."),
        (1_506_845_973, "it uses 1507 m, more than its limit of 500 m and 5%."),
        (
            0,
            "the kubelet's summary says that it uses no CPU, but it burns some; docs/cpu-stats.md has causes.",
        ),
        (None, "the kubelet's summary has no CPU usage for it."),
        (2**64 - 7, f"kubelet's summary says {2**64 - 7} nanocores, a negative difference read as unsigned."),
    ],
)
def test_above_zero_and_within_the_limit(value: int | None, fault: str) -> None:
    found = faults(BURNING, of_summary(summary(478_772_447, value)))
    assert found == ((f"pod default/{MILLI}: {fault}",) if fault else ())


def test_a_pod_that_is_not_in_the_summary() -> None:
    assert faults(BURNING, Sample("", {})) == tuple(
        f"pod default/{name}: the kubelet's summary has no CPU usage for it." for name in (DECIMAL, MILLI)
    )


class Api(Fake):
    """Pods run `starts_after` seconds after they were made, on a clock that only sleeping moves."""

    def __init__(self, starts_after: float = 5, ends_after: float = 1e9) -> None:
        super().__init__()
        self.at = 0.0
        self.starts_after, self.ends_after = starts_after, ends_after
        self.asked_at: list[float] = []
        self.objects[SUMMARY] = summary(500_618_452, 478_772_447)

    def clock(self) -> Clock:
        def sleep(seconds: float) -> None:
            self.at += seconds

        return Clock(now=lambda: self.at, sleep=sleep)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None, content_type: str) -> tuple[int, bytes]:
        status, answer = super().send(method, path, body, content_type)
        if path == SUMMARY:
            self.asked_at.append(self.at)
        if method == "GET" and path.startswith(f"{PODS}/") and status == 200:
            phase = "Pending" if self.at < self.starts_after else "Running" if self.at < self.ends_after else "Failed"
            return status, json.dumps({**json.loads(answer), "status": {"phase": phase}}).encode()
        return status, answer

    def burn(self) -> tuple[dict[str, int | None], tuple[str, ...]]:
        kubelet = KubeletProxy(self.cluster, "win1")
        return burn(self.cluster, BURNING, lambda: of_summary(kubelet.summary()), self.clock())

    def deleted(self) -> list[str]:
        return [path for method, path, _body in self.writes if method == "DELETE"]


@pytest.mark.row("CT-44", "RS-14")
def test_two_minutes_after_they_run_they_are_judged_and_taken_away() -> None:
    api = Api()
    usage, found = api.burn()
    assert usage == {DECIMAL: 500_618_452, MILLI: 478_772_447} and found == ()
    assert api.asked_at == [6 + 120.0]  # it looks every 2 s
    assert api.deleted() == [f"{PODS}/{DECIMAL}", f"{PODS}/{MILLI}"]


def test_a_zero_fails_and_the_pods_are_gone_all_the_same() -> None:
    api = Api()
    api.objects[SUMMARY] = summary(439_449_510, 0)
    _usage, (sentence,) = api.burn()
    assert sentence.startswith(f"pod default/{MILLI}: the kubelet's summary says that it uses no CPU")
    assert len(api.deleted()) == 2


@dataclass(frozen=True)
class Known(Context):
    """With a cluster of its own."""

    api: Api | None = None

    def cluster(self) -> Cluster:
        assert self.api is not None
        return self.api.cluster


def test_each_node_in_turn_and_a_fault_of_one_does_not_keep_it_from_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods of one name in a namespace would meet those of the previous node, which Windows takes seconds to end."""
    monkeypatch.setattr(run_namespace, "make_run_mark", lambda: "")
    api = Api()
    for name in ("win1", "win2"):
        api.add_node(name, **{"kubernetes.io/os": "windows"})
    api.objects[SUMMARY] = {"pods": []}
    api.objects[SUMMARY.replace("win1", "win2")] = json.loads(
        json.dumps(summary(500_618_452, 478_772_447)).replace("win1", "win2")
    )
    context = Known({}, (), False, Path(), api.clock(), api)
    outcome = cpu_limits.run(context, told.cpu_limits())
    assert outcome.steps == ("burn CPU in two pods on win1 for 120 s", "burn CPU in two pods on win2 for 120 s")
    assert outcome.result["nano_cores"] == {
        DECIMAL: None,
        MILLI: None,
        "winkube-cpulimit-decimal-win2": 500_618_452,
        "winkube-cpulimit-milli-win2": 478_772_447,
    }
    assert (outcome.failed, outcome.said.count("has no CPU usage for it")) == (True, 2)
    assert len(api.deleted()) == 4
    api.writes.clear()
    planned = cpu_limits.run(replace(context, check_mode=True), told.cpu_limits(nodes=["win2"]))
    assert (planned.changed, [pod["spec"]["nodeName"] for pod in planned.result["pods"]]) == (True, ["win2", "win2"])
    assert api.writes == []


def test_pods_that_do_not_start_or_do_not_last_say_so_and_are_gone() -> None:
    never = Api(starts_after=1e9)
    with pytest.raises(ClusterError, match=f"pod default/{DECIMAL} does not run after 900 s; kubectl describe pod"):
        never.burn()
    assert len(never.deleted()) == 2
    short = Api(ends_after=60)
    with pytest.raises(ClusterError, match=f"pod default/{DECIMAL} is Failed after 120 s, so its usage is unknown"):
        short.burn()
    assert len(short.deleted()) == 2
