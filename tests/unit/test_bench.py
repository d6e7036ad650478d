"""The benchmark's judgement, and what it takes a remote call for; the execution environment's requirements."""

from __future__ import annotations

import base64
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench import push
from tests.bench.calls import Call, call_of, components, excepted
from tests.bench.figures import Figures, aims, missed
from tests.bench.fleet import Measured, resident_peak
from tests.bench.measure import common, growth, ratio_of, sizes
from tests.bench.yardsticks import YARDSTICKS, yardsticks

ROOT = Path(__file__).resolve().parents[2]
GOOD = Figures(
    converged_calls=1,
    changed_calls=9,
    changed_components=7,
    changed_excepted={"join: the cluster has to answer first": 1},
    ratio_to_win_ping=2.0,
    ratio_real_latencies=1.2,
    peer_calls_ratio=20.0,
    bytes_per_call=120_000,
    cpu_s_per_node=0.6,
    api_requests=14,
    api_requests_per_node=0.0,
    calls_per_node_10=1,
    calls_per_node_100=1,
    bytes_per_node_10=300000,
    bytes_per_node_100=300000,
    peak_rss_10=100000,
    peak_rss_100=130000,
    seconds_10=5.0,
    seconds_100=50.0,
)


def test_figures_that_meet_every_target() -> None:
    assert missed(GOOD) == []
    assert json.loads(json.dumps(GOOD.as_dict()))["changed_calls"] == 9
    assert "remarks" not in GOOD.as_dict()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"api_requests_per_node": 2.5}, "costs 2.5 requests to the API server; at most 2"),
        ({"api_requests": 21}, "A converged run asks the API server 21 times; at most 20"),
        ({"converged_calls": 2}, "A converged node costs 2 remote calls, not 1."),
        ({"changed_calls": 10}, "A first join costs 10 remote calls, not 9"),
        ({"changed_calls": 8}, "A first join costs 8 remote calls, not 9"),
        ({"ratio_to_win_ping": 2.01}, "takes 2.01 times as long"),
        ({"peer_calls_ratio": 19.9}, "The peer's calls take 19.9 times as long"),
        ({"bytes_per_call": 120_001}, "A converged node is sent 120001 bytes"),
        ({"cpu_s_per_node": 0.61}, "costs the controller 0.61 s"),
        ({"calls_per_node_100": 2}, "At 10 nodes a node costs 1 calls, at 100 nodes 2"),
        ({"bytes_per_node_100": 300001}, "At 10 nodes a node costs 300000 bytes, at 100 nodes 300001"),
        ({"peak_rss_100": 130001}, "needs 130001 KiB at 100 nodes and 100000 KiB at 10"),
        ({"remarks": ("Not all cost the same.",)}, "Not all cost the same."),
    ],
)
def test_each_target_that_is_missed_is_said(change: dict[str, Any], sentence: str) -> None:
    found = missed(replace(GOOD, **change))
    assert len(found) == 1
    assert sentence in found[0]


def test_an_aim_that_is_not_reached_is_said_and_misses_nothing() -> None:
    near = replace(GOOD, ratio_to_win_ping=1.3, cpu_s_per_node=0.2)
    assert aims(near) == []
    assert aims(replace(near, ratio_to_win_ping=1.5)) == ["ratio_to_win_ping is 1.50; the aim is 1.3."]
    assert aims(replace(near, rss_1000_ratio=1.4)) == ["rss_1000_ratio is 1.40; the aim is 1.3."]


def grown(count: int, parent_s: float | None) -> Measured:
    return Measured(
        2.0 + 0.2 * count, None, dict.fromkeys(map(str, range(count)), 1), {}, {}, 3.0 + 0.3 * count, 0, parent_s
    )


def test_growth_tells_where_more_forks_gain_nothing() -> None:
    """In the parent each node takes 0.1 s, in a worker 0.2 s and its call: meanwhile 12 others are begun."""
    found = growth([grown(count, 1.0 + 0.1 * count) for count in (10, 32, 100)], call_s=1.0)
    assert [round(each, 6) for each in (found.start_s, found.node_s)] == [2.0, 0.2]
    assert found.parent_s == pytest.approx(0.1) and found.worker_s == pytest.approx(0.2)
    assert found.forks == 12
    assert growth([grown(10, None), grown(20, None)], call_s=1.0).forks is None


def test_the_sizes_of_the_growth() -> None:
    assert (sizes(100), sizes(1000), sizes(10)) == ([10, 32, 100], [10, 100, 1000], [10])


def test_memory_that_the_system_does_not_tell_is_not_judged() -> None:
    assert missed(replace(GOOD, peak_rss_10=None, peak_rss_100=None)) == []


def sent(kind: str, component: str = "", *ops: str) -> Call:
    """A call as node_apply gets it."""
    batch = {"component": component, "ops": [{"op": op} for op in ops]} if component else None
    envelope = json.dumps({"schema": 1, "id": f"{1:032x}", "state_dir": "C:\\s", "kind": kind, "batch": batch}).encode()
    return call_of("node_apply", {"batch": base64.b64encode(gzip.compress(envelope)).decode()})


def test_what_a_first_join_is_made_of() -> None:
    read = call_of("node_probe", {"request": "{}"})
    join = [sent("submit", "join", "fetch"), sent("submit", "join", "run")]
    switch = [sent("submit", "flannel", "hns_network"), sent("follow"), read, sent("submit", "flannel", "write")]
    calls = [read, sent("submit", "host", "mkdir"), *join, *switch]
    assert components(calls) == 3
    assert excepted(calls) == {
        "external vSwitch: a batch of its own": 1,
        "external vSwitch: the connection breaks": 1,
        "external vSwitch: the node is read again": 1,
        "join: the cluster has to answer first": 1,
    }
    assert len(calls) == 1 + components(calls) + sum(excepted(calls).values())
    assert sum(excepted(calls, 9).values()) == sum(excepted(calls).values()) + 2, "a few are the switch's"


def test_a_batch_more_of_a_component_is_no_exception() -> None:
    once = [Call("read"), Call("submit", "containerd"), Call("submit", "join"), Call("submit", "join")]
    assert excepted(once) == excepted([*once, Call("submit", "containerd"), Call("submit", "join")])


def test_the_ratio_is_of_medians() -> None:
    assert ratio_of([3.0, 9.0, 2.9], [2.0, 1.9, 8.0]) == 1.5


def test_figures_of_nodes_that_are_in_both_runs() -> None:
    few = Measured(1.0, None, {"win001": 1, "win002": 1}, {"win001": 10, "win002": 12})
    many = Measured(1.0, None, {"win001": 1, "win002": 1, "win003": 1}, {"win001": 10, "win002": 12, "win003": 12})
    assert common("bytes", few, many) == (11, 11, ())
    more = replace(many, bytes={**many.bytes, "win002": 13})
    assert common("bytes", few, more)[2] == ("win002 costs 12 bytes among 2 nodes and 13 among 3.",)
    other = replace(many, calls={**many.calls, "win003": 2})
    assert common("calls", few, other)[2] == ("Among 3 nodes win003 costs 2 calls, and the others 1.",)


def test_memory_of_a_process() -> None:
    if Path("/proc/self/status").exists():
        assert (resident_peak(os.getpid()) or 0) > 1000
    assert resident_peak(2**22 + 1) is None


def test_what_is_wanted_of_a_push() -> None:
    assert push.missed([push.Push(10.0, 3, 600_000), push.Push(0.7, 2, 400_000)]) == []
    first, *second = push.missed([push.Push(1.0, 4, 1), push.Push(10.1, 3, 400_001)])
    assert first == "Push 1 took 4 remote calls, not 3."
    assert [sentence.split()[2] for sentence in second] == ["worked", "took", "sent"]


def test_a_yardstick_is_null_where_its_program_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for rdiff alone: what travels is its signature and its difference, which is compressed."""
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    rdiff = programs / "rdiff"
    rdiff.write_text('#!/bin/sh\ncase $1 in signature) head -c 7 "$2" > "$3";; delta) tr b c < "$3" > "$4";; esac\n')
    rdiff.chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    monkeypatch.setattr("shutil.which", lambda name, path: name if name == "rdiff" else None)
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(b"b" * 5000)
    found = {each["how"]: each["bytes"] for each in yardsticks(tmp_path / "one", tmp_path / "two", work, environment)}
    assert found.keys() == YARDSTICKS.keys()
    assert found["zstd --patch-from"] is None and found["bsdiff"] is None
    assert 7 < found["rdiff, gzip"] < 200 and list(work.iterdir()) == []
