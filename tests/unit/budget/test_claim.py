"""Runs claim Nodes under one budget: all or none, never more than the budget, and nothing of a dead run blocks a run
that can tell."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.budget.claim import BudgetFullError, Claim, Wish
from ansible_collections.winkube.node.plugins.plugin_utils.budget.count import Budget
from ansible_collections.winkube.node.plugins.plugin_utils.budget.mark import ANNOTATION, Mark
from ansible_collections.winkube.node.plugins.plugin_utils.budget.run import Place, Run, is_over
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from .nodes import Api, Time, node

HERE = Place("ctl", "machine", "boot", "4026531836")
ALIVE = {11: "100", 12: "200"}


def run(number: int) -> Run:
    """A run whose process is `number`, on this machine."""
    return Run(f"run{number}", f"ann@ctl (pid {number})", pid=number, started=ALIVE.get(number, "1"), place=HERE)


def claim(api: Api, number: int = 11, budget: str = "1", **wish: Any) -> Claim:
    time = Time()
    return Claim(
        api,
        run(number),
        Wish(Budget.parse(budget), "site", **wish),
        clock=Clock(time.now, time.sleep),
        pause=lambda: 5.0,
        here=HERE,
        started=lambda pid: ALIVE.get(pid, ""),
    )


def mark(number: int, **more: Any) -> str:
    return replace(Mark(run(number), "site", "2026-11-29T06:00:00Z", "1"), **more).to_text()


def fleet(*names: str) -> Api:
    return Api(*(node(name) for name in names))


def test_a_batch_is_marked_whole() -> None:
    api = fleet("win1", "win2", "win3")
    assert claim(api, budget="2").take(["win1", "win2"]) == ("mark win1", "mark win2")
    assert api.marked() == ["win1", "win2"]
    found = Mark.parse(api.nodes["win1"]["metadata"]["annotations"][ANNOTATION])
    assert (found.run, found.why, found.budget, found.cordoned) == (run(11), "site", "2", False)
    assert claim(api, budget="2").take(["win1", "win2"]) == (), "a second task of the run has nothing to mark"


def test_a_full_budget_says_who_holds_it_and_leaves_nothing() -> None:
    api = Api(node("win1"), node("win2", cordoned=True), node("win3"))
    with pytest.raises(BudgetFullError) as told:
        claim(api, timeout_s=20).take(["win1"])
    assert str(told.value) == (
        "The budget is full after 20 s: 1 of the Windows nodes may be away at once (winkube_max_unavailable), and away "
        "is win2 (cordoned by a person). Not begun: win1."
    )
    assert api.marked() == []


@pytest.mark.parametrize(
    ("away", "goes"),
    [
        (node("win2", cordoned=True), False),
        (node("win2", ready=False), False),
        (node("win2", winkube_node__mark=mark(12)), False),
        (node("win2", ready=False, winkube_node__paused=""), True),
        (node("win2", ready=False, changed="2026-10-01T00:00:05Z"), True),
        (node("lin1", linux=True, cordoned=True), True),
        (node("win2"), True),
    ],
    ids=["cordoned", "not ready", "marked", "paused", "never ready", "linux", "serves"],
)
def test_what_counts_as_away(away: dict[str, Any], goes: bool) -> None:
    api = Api(node("win1"), away)
    if goes:
        assert claim(api).take(["win1"]) == ("mark win1",)
    else:
        with pytest.raises(BudgetFullError):
            claim(api).take(["win1"])


def test_a_node_that_is_away_needs_no_slot() -> None:
    api = Api(node("win1", ready=False), node("win2", cordoned=True), node("win3", ready=False))
    assert claim(api).take(["win1"]) == ("mark win1",)
    assert claim(api).take(["win2"]) == (), "a person's cordon is not marked"


def test_a_batch_larger_than_the_budget_is_refused_at_once() -> None:
    api = fleet("win1", "win2", "win3")
    with pytest.raises(Refused, match=r"2 nodes would be away at once .win1, win2., and winkube_max_unavailable is 1:"):
        claim(api, timeout_s=600).take(["win1", "win2"])
    assert [each for each in api.requests if each.startswith("PATCH")] == []


@pytest.mark.parametrize(("budget", "total", "most"), [("1", 10, 1), ("25%", 10, 2), ("25%", 3, 1), ("100%", 4, 4)])
def test_a_percentage_is_rounded_down(budget: str, total: int, most: int) -> None:
    assert Budget.parse(budget).of(total) == most


@pytest.mark.parametrize("wrong", ["0", "0%", "101%", "-1", "many", "", "1.5"])
def test_a_budget_that_is_none(wrong: str) -> None:
    with pytest.raises(Refused, match="max_unavailable: "):
        Budget.parse(wrong)


def test_the_smallest_budget_of_a_mark_counts() -> None:
    api = Api(node("win1"), node("win2", winkube_node__mark=mark(12)), node("win3"), node("win4"))
    with pytest.raises(BudgetFullError, match=r"1 of the Windows nodes may be away.* win2 \(ann@ctl \(pid 12\), site"):
        claim(api, budget="3").take(["win1"])


def test_the_room_is_waited_for() -> None:
    api = Api(node("win1"), node("win2", cordoned=True))

    def uncordon(number: int) -> None:
        if number == 3:
            api.nodes["win2"]["spec"] = {}

    api.before = uncordon
    assert claim(api, timeout_s=60).take(["win1"]) == ("mark win1",)


def test_a_node_of_a_run_that_goes_on_is_left_alone() -> None:
    api = Api(node("win1", winkube_node__mark=mark(12)), node("win2"))
    with pytest.raises(Refused, match=r"The Node win1 is busy with ann@ctl .pid 12., site, since 2026-11-29T06:00:00Z"):
        claim(api).take(["win1"])


def test_a_node_of_a_dead_run_is_taken_over_with_its_cordon() -> None:
    api = Api(node("win1", cordoned=True, winkube_node__mark=mark(99, cordoned=True)), node("win2", ready=False))
    assert claim(api).take(["win1"]) == ("mark win1",)
    found = Mark.parse(api.nodes["win1"]["metadata"]["annotations"][ANNOTATION])
    assert (found.run.id, found.cordoned) == ("run11", True)


def test_a_dead_runs_mark_on_a_node_that_serves_is_removed() -> None:
    api = Api(node("win1"), node("win2", winkube_node__mark=mark(99, cordoned=True)))
    assert claim(api).take(["win1"]) == ("mark win1",)
    assert api.marked() == ["win1"]


def test_a_run_of_elsewhere_is_taken_over_only_by_a_person() -> None:
    elsewhere = replace(run(12), place=replace(HERE, host="other"))
    marked = Mark(elsewhere, "site", "2026-11-29T06:00:00Z", "1").to_text()
    api = Api(node("win1", cordoned=True, winkube_node__mark=marked))
    with pytest.raises(Refused, match="cannot be told from here; if it is dead: -e winkube_take_over=run12"):
        claim(api).take(["win1"])
    assert claim(api, take_over="run12").take(["win1"]) == ("mark win1",)


RUNNING = {"metadata": {"uid": "1"}, "status": {"phase": "Running"}}


@pytest.mark.parametrize(
    ("pods", "over"),
    [
        ([], True),
        ([RUNNING], False),
        ([{"metadata": {"uid": "1"}, "status": {"phase": "Failed"}}], True),
        ([{"metadata": {"uid": "2"}, "status": {"phase": "Running"}}], True),
    ],
    ids=["gone", "runs", "failed", "another of the same name"],
)
def test_a_run_in_a_pod_is_over_with_it(pods: list[dict[str, Any]], *, over: bool) -> None:
    marked = replace(Mark(replace(run(12), pid=0, pod="ops/keep-1/1"), "keep", "", "1"), cordoned=True).to_text()
    api = Api(node("win1", cordoned=True, winkube_node__mark=marked))
    api.pods["/api/v1/namespaces/ops/pods?fieldSelector=metadata.name%3Dkeep-1"] = pods
    if over:
        assert claim(api).take(["win1"]) == ("mark win1",)
    else:
        with pytest.raises(Refused, match=r"busy with ann@ctl \(pid 12\), keep\. Nothing is done to it\.$"):
            claim(api).take(["win1"])


@pytest.mark.parametrize(
    ("theirs", "over"),
    [
        (HERE, True),
        (replace(HERE, boot="before"), True),
        (replace(HERE, pids="4026532000"), None),
        (replace(HERE, boot="before", pids="4026532000"), None),
        (replace(HERE, boot="before", machine=""), None),
        (replace(HERE, host="other"), None),
        (Place(), None),
    ],
    ids=["here", "before a restart", "in a container", "in one before", "machine unknown", "elsewhere", "unknown"],
)
def test_a_process_is_known_to_be_over_only_where_it_could_be_seen(theirs: Place, *, over: bool | None) -> None:
    ended = replace(run(99), place=theirs)
    assert is_over(ended, lambda path: [], HERE, lambda pid: "") is over
    if theirs == HERE:
        assert is_over(ended, lambda path: [], HERE, lambda pid: "1") is False
        assert is_over(ended, lambda path: [], HERE, lambda pid: "2") is True, "another process has its number"


def test_a_mark_that_nobody_can_read_stops_a_run() -> None:
    api = Api(node("win1", winkube_node__mark="{"))
    with pytest.raises(Refused, match=r"if it is dead: kubectl annotate node win1 winkube.node/mark-"):
        claim(api).take(["win1"])


def test_a_paused_node_is_not_touched() -> None:
    api = Api(node("win1", winkube_node__paused="disk is being replaced"))
    with pytest.raises(Refused, match="The Node win1 is paused"):
        claim(api).take(["win1"])


def test_a_node_that_has_not_joined_needs_nothing() -> None:
    assert claim(fleet("win2")).take(["win1"]) == ()


def test_a_run_that_holds_the_budget_itself_does_not_wait_for_itself() -> None:
    api = fleet("win1", "win2")
    claim(api).take(["win1"])
    before = len(api.requests)
    with pytest.raises(BudgetFullError):
        claim(api, timeout_s=10**6).take(["win2"])
    assert len(api.requests) == before + 1


def test_a_heartbeat_between_reading_and_marking_is_no_reason_to_give_up() -> None:
    api = fleet("win1", "win2")
    api.before = lambda number: api.touch("win1") if number in {2, 5} else None
    assert claim(api).take(["win1"]) == ("mark win1",)


def test_heartbeats_while_a_large_batch_is_marked_take_nothing_back() -> None:
    """Failed before, for ten nodes that write their status every few seconds: each began the batch anew, five times."""
    names = [f"win{number}" for number in range(1, 51)]
    api, beaten = fleet(*names), set()

    def beat(_number: int) -> None:
        name = api.requests[-1].rpartition("/")[2]
        if api.requests[-1].startswith("PATCH") and name not in beaten:
            beaten.add(name)
            api.touch(name)

    api.before = beat
    assert len(claim(api, budget="50").take(names)) == len(names) == len(beaten)
    assert sum(each.startswith("PATCH") for each in api.requests) == 2 * len(names)


def test_a_person_who_cordons_a_node_between_reading_and_marking_is_seen() -> None:
    api = fleet("win1", "win2")

    def cordon() -> None:
        api.nodes["win2"]["spec"]["unschedulable"] = True
        api.touch("win2")

    api.before = _at(3, cordon)
    assert api.requests == [] and claim(api, budget="2").take(["win1", "win2"]) == ("mark win1",)
    assert api.marked() == ["win1"], "a person's cordon is not marked"


class KilledError(Exception):
    """The process is gone: nothing of it runs any more."""


def _at(number: int, act: Callable[[], object]) -> Callable[[int], None]:
    """Calls `act` once, before the request of this number."""
    done: list[int] = []

    def before(now: int) -> None:
        if now >= number and not done:
            done.append(now)
            act()

    return before


@pytest.mark.parametrize("budget", ["1", "2"])
@pytest.mark.parametrize("number", range(1, 12))
def test_two_runs_never_hold_more_than_the_budget(number: int, budget: str) -> None:
    """The whole claim of one run falls between any two requests of the other."""
    api = fleet("win1", "win2", "win3", "win4", "win5")
    names = {"1": (["win1"], ["win2"]), "2": (["win1", "win2"], ["win3", "win4"])}[budget]
    got: list[str] = []

    def other() -> None:
        try:
            claim(api, 12, budget).take(names[1])
            got.append("other")
        except BudgetFullError:
            pass

    api.before = _at(number, other)
    try:
        claim(api, 11, budget, timeout_s=30).take(names[0])
        got.append("one")
    except BudgetFullError:
        pass
    assert len(got) <= 1
    held = {"one": names[0], "other": names[1], "": []}[got[0] if got else ""]
    assert api.marked() == held


@pytest.mark.parametrize("number", range(1, 12))
def test_a_killed_run_blocks_nobody_who_can_tell(number: int) -> None:
    api = fleet("win1", "win2", "win3")

    def die() -> None:
        raise KilledError

    api.before = _at(number, die)
    with suppress(KilledError):
        claim(api, 13, "2").take(["win1", "win2"])
    api.before = lambda number: None
    assert claim(api, 11, "2").take(["win2", "win3"]) == ("mark win2", "mark win3")
    assert api.marked() == ["win2", "win3"]


def test_a_cluster_that_fails_after_the_mark_leaves_none() -> None:
    api = fleet("win1", "win2")

    def refuse() -> None:
        raise ClusterError("503", 503, passing=True)

    api.before = _at(3, refuse)
    with pytest.raises(ClusterError):
        claim(api).take(["win1"])
    assert api.marked() == []


@pytest.mark.parametrize("since", ["1999-01-01T00:00:00Z", "2099-01-01T00:00:00Z", "yesterday"])
def test_no_clock_decides_whose_a_node_is(since: str) -> None:
    """The clocks of two controllers may be minutes apart."""
    api = Api(node("win1", winkube_node__mark=mark(12, since=since)), node("win2"))
    with pytest.raises(Refused, match="busy with"):
        claim(api).take(["win1"])
    with pytest.raises(BudgetFullError):
        claim(api).take(["win2"])
    over = Api(node("win1", winkube_node__mark=mark(99, since=since)))
    assert claim(over).take(["win1"]) == ("mark win1",)


def test_others_are_told_of_each_refusal_and_of_a_node_that_is_taken_over() -> None:
    told: list[tuple[str, str]] = []
    listening: dict[str, Any] = {"tell": lambda seen, reason, message: told.append((seen.name, reason))}
    api = Api(node("win1"), node("win2", cordoned=True), node("win3", winkube_node__mark=mark(12)))
    with pytest.raises(BudgetFullError):
        replace(claim(api), **listening).take(["win1"])
    with pytest.raises(Refused):
        replace(claim(api), **listening).take(["win3"])
    assert told == [("win1", "BudgetFull"), ("win3", "Busy")]
    with suppress(BudgetFullError, Refused):
        replace(claim(api), **listening).plan(["win3"])
    assert len(told) == 2, "a plan tells nobody"
    dead = Api(node("win1", cordoned=True, winkube_node__mark=mark(99, cordoned=True)))
    replace(claim(dead), **listening).take(["win1"])
    assert told[2:] == [("win1", "TakenOver")]


def test_a_node_that_is_gone_needs_no_uncordon() -> None:
    api = Api(node("win1", cordoned=True, winkube_node__mark=mark(11, cordoned=True)))
    api.before = lambda number: api.nodes.clear() if number == 2 else None
    assert claim(api).uncordon("win1") == ()
    assert claim(Api()).uncordon("win1") == ()
