"""Measuring: what is run, and how figures are made of it."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.calls import Recorder, components, excepted
from tests.bench.figures import IN_WIN_PINGS, REAL_WIN_PING_S, Figures
from tests.bench.fleet import PEER_CALLS, Fleet, Measured
from tests.integration.whole import OVERLAY

FEW = 10
HOSTS = 5
RUNS = 5
LATENCY_S = 0.5
THOUSAND = 1000
_STARTED = time.monotonic()


def say(text: str) -> None:
    """Progress, on stderr."""
    print(f"bench {time.monotonic() - _STARTED:5.0f} s: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Compared:
    """A converged site.yml beside win_ping alone and beside the peer's calls, the same nodes and latency."""

    ratio: float
    real_ratio: float
    peer_ratio: float
    cpu_s_per_node: float
    api_requests: int
    api_requests_per_node: float


def compare(fleet: Fleet) -> Compared:
    """Medians of interleaved runs; the peer's calls and the runs with real latencies are run once."""
    fleet.latency(REAL_WIN_PING_S)
    real_ping = fleet.ping().seconds
    fleet.latency(REAL_WIN_PING_S * IN_WIN_PINGS["node_probe"])
    real, alone = fleet.site(), fleet.site("--limit", fleet.names[0])
    say(f"{HOSTS} nodes, real latencies: win_ping {real_ping:.2f} s, site.yml {real.seconds:.2f} s")
    fleet.latency(LATENCY_S)
    site, ping, worked = [], [], []
    for number in range(RUNS):
        ping.append(fleet.ping().seconds)
        run = fleet.site()
        site.append(run.seconds)
        worked.append(run.cpu_s)
        say(f"{HOSTS} nodes, run {number + 1} of {RUNS}: win_ping {ping[-1]:.2f} s, site.yml {site[-1]:.2f} s")
    peer = fleet.peer().seconds
    say(f"{HOSTS} nodes, the peer's {PEER_CALLS} calls: {peer:.0f} s")
    fleet.latency(0.0)
    return Compared(
        ratio=ratio_of(site, ping),
        real_ratio=real.seconds / real_ping,
        peer_ratio=peer / statistics.median(site),
        cpu_s_per_node=statistics.median(worked) / HOSTS,
        api_requests=real.api_requests,
        api_requests_per_node=(real.api_requests - alone.api_requests) / (HOSTS - 1),
    )


def converged(fleet: Fleet, count: int) -> Measured:
    """A run over `count` nodes that changes nothing; new ones are made first."""
    new = fleet.grow_to(count)
    made = fleet.site("--limit", ",".join(new)) if new else None
    run = fleet.site()
    say(f"{count} nodes: {f'{made.seconds:.0f} s to make {len(new)}, ' if made else ''}{run.seconds:.1f} s converged")
    return run


@dataclass(frozen=True)
class Growth:
    """Straight lines through converged runs of several sizes: seconds of a run without nodes, seconds of each node,
    the processor seconds of a node in ansible-playbook's own process, where nodes come one after the other, and in the
    workers; the number of forks from which on more forks gain nothing. None where /proc does not tell."""

    start_s: float
    node_s: float
    parent_s: float | None = None
    worker_s: float | None = None
    forks: int | None = None


def growth(runs: Sequence[Measured], call_s: float) -> Growth:
    """`call_s`: how long the remote call of a node takes, during which a worker waits.

    While the parent works for one node, `forks` workers can be busy with others; with more of them some wait for it.
    """
    sizes = [float(len(run.calls)) for run in runs]
    line = statistics.linear_regression(sizes, [run.seconds for run in runs])
    own = [run.parent_s for run in runs if run.parent_s is not None]
    if len(own) < len(runs):
        return Growth(line.intercept, line.slope)
    parent = statistics.linear_regression(sizes, own).slope
    worker = statistics.linear_regression(sizes, [run.cpu_s for run in runs]).slope - parent
    forks = round((call_s + worker) / parent) if parent > 0 else None
    return Growth(line.intercept, line.slope, parent, worker, forks)


def ratio_of(site: Sequence[float], ping: Sequence[float]) -> float:
    """Median of the seconds of site.yml over the median of those of win_ping."""
    return statistics.median(site) / statistics.median(ping)


def sizes(many: int) -> list[int]:
    """How many nodes the growth is measured with: three sizes, each as many times the one before."""
    return sorted({FEW, round(math.sqrt(FEW * many)), many})


def common(what: str, few: Measured, many: Measured) -> tuple[int, int, tuple[str, ...]]:
    """Calls or bytes of one node on average, among few nodes and among many, over the nodes that are in both.

    And sentences: for each that costs something else among many, and for each of the others that costs more or less
    than any of these.
    """
    before, after = getattr(few, what), getattr(many, what)
    remarks = [
        f"{name} costs {before[name]} {what} among {len(before)} nodes and {after[name]} among {len(after)}."
        for name in before
        if before[name] != after[name]
    ]
    usual = sorted({after[name] for name in before})
    shown = str(usual[0]) if len(usual) == 1 else f"{usual[0]} to {usual[-1]}"
    remarks += [
        f"Among {len(after)} nodes {name} costs {cost} {what}, and the others {shown}."
        for name, cost in after.items()
        if name not in before and not usual[0] <= cost <= usual[-1]
    ]
    return _mean(before, before), _mean(after, before), tuple(remarks)


def _mean(costs: Mapping[str, int], names: Iterable[str]) -> int:
    return round(statistics.mean(costs[name] for name in names))


def measure(folder: Path, many: int, *, whole_fleet: bool) -> Figures:
    """All figures: calls and the ratio with whole nodes, growth with whole nodes or with containerd alone."""
    fleet = Fleet(folder / "whole", OVERLAY)
    try:
        first = fleet.grow_to(HOSTS)[0]
        recorder = Recorder(fleet.bench.lab.host(first).node)
        made = fleet.site()
        calls = list(recorder.calls)
        say(f"{HOSTS} whole nodes made in {made.seconds:.0f} s with {made.calls[first]} calls each")
        again = fleet.site()
        compared = compare(fleet)
        if whole_fleet:
            runs = [converged(fleet, size) for size in sizes(many)]
    finally:
        fleet.close()
    if not whole_fleet:
        fleet = Fleet(folder / "containerd", OVERLAY, whole=False)
        try:
            runs = [converged(fleet, size) for size in sizes(many)]
        finally:
            fleet.close()
    few, lot = runs[0], runs[-1]
    grown = growth(runs, REAL_WIN_PING_S * IN_WIN_PINGS["node_probe"])
    calls_few, calls_many, odd_calls = common("calls", few, lot)
    bytes_few, bytes_many, odd_bytes = common("bytes", few, lot)
    return Figures(
        converged_calls=max(again.calls.values()),
        changed_calls=made.calls[first],
        changed_components=components(calls),
        changed_excepted=excepted(calls, made.calls[first] - len(calls)),
        ratio_to_win_ping=compared.ratio,
        ratio_real_latencies=compared.real_ratio,
        peer_calls_ratio=compared.peer_ratio,
        cpu_s_per_node=compared.cpu_s_per_node,
        api_requests=compared.api_requests,
        api_requests_per_node=compared.api_requests_per_node,
        bytes_per_call=max(again.sent.values()),
        calls_per_node_10=calls_few,
        calls_per_node_100=calls_many,
        bytes_per_node_10=bytes_few,
        bytes_per_node_100=bytes_many,
        peak_rss_10=few.peak_rss,
        peak_rss_100=lot.peak_rss,
        seconds_10=few.seconds,
        seconds_100=lot.seconds,
        seconds_start=grown.start_s,
        seconds_per_node=grown.node_s,
        parent_s_per_node=grown.parent_s,
        worker_s_per_node=grown.worker_s,
        forks_gain_until=grown.forks,
        nodes_1000_s=lot.seconds if many == THOUSAND else None,
        rss_1000_ratio=lot.peak_rss / few.peak_rss if many == THOUSAND and few.peak_rss and lot.peak_rss else None,
        remarks=odd_calls + odd_bytes,
    )
