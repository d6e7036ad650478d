"""look.yml reads Node objects only; keep.yml makes right the nodes that differ, and no other. With core's defaults."""

from __future__ import annotations

import json
import os
import signal
from functools import partial
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run, until
from tests.integration.site import CONFIG
from tests.integration.test_budget import NEWER, a_mark, change, is_cordoned, mark_of
from tests.integration.test_record import read
from tests.integration.whole import BRIDGE, DIAGNOSE, Whole
from tests.lab.cluster import tenants
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.shipped import USER
from tests.lab.machine.faults import ServiceFault

LOOK, KEEP, REPAIR, DRIFT = (ROOT / "playbooks" / f"{name}.yml" for name in ("look", "keep", "repair", "drift"))


class Kept(Whole):
    """With the rights of keep.yml."""

    RIGHTS = ("site", "conditions")


@pytest.fixture
def two(bench: Bench) -> Kept:
    """Two nodes that are Ready."""
    made = Kept(bench, BRIDGE, NEWER, server=NEWER.kubernetes, containers=True)
    bench.node("win2", address="192.168.122.232", containers=True)
    made.converge()
    return made


def keep(whole: Whole, *arguments: object, **more: Any) -> Run:
    given: dict[str, Any] = {"winkube_drain_options": tenants.OPTIONS, "winkube_budget_timeout": 0}
    return whole.site(*arguments, playbook=KEEP, **given | more)


def test_a_look_reads_one_list_of_nodes_and_asks_no_machine(two: Kept) -> None:
    assert keep(two).rc == 0
    two.bench.reset_ledger()
    looked = two.site(playbook=LOOK)
    assert looked.rc == 0 and "Every Node is as wanted." in looked.output, looked
    assert two.bench.calls("win1") == two.bench.calls("win2") == 0

    change(two, "win2", cordoned=True)
    alone = {"winkube_cluster": {"kubeconfig": str(two.cluster.shipped("conditions"))}}
    other = two.site(playbook=LOOK, winkube_kubernetes_version=NEWER.kubernetes, **alone)
    assert other.rc != 0, other
    assert "win1: OtherRelease: kubelet 1.27.4 runs, and 1.27.16 is wanted." in other.output, other
    assert "win2: Cordoned: A person has cordoned it." in other.output, other
    file = two.bench.directory / "look.jsonl"
    assert two.site(playbook=LOOK, winkube_look_fail=False, winkube_record_file=str(file)).rc == 0
    told = read(file)
    assert told["win1"]["notes"] == [] and told["win2"]["notes"] == ["Cordoned: A person has cordoned it."], told
    assert {(each["state"], each["ready"], each["versions"]["kubernetes"]) for each in told.values()} == {
        ("ok", "True", BRIDGE.kubernetes)
    }, told


def test_only_the_nodes_that_differ_are_made_right(two: Kept) -> None:
    change(two, "win2", winkube_node__paused="")
    two.bench.reset_ledger()
    kept = keep(two, winkube_kubernetes_version=NEWER.kubernetes)
    assert kept.rc == 0, kept
    assert "uncordoned win1" in kept.output, kept
    assert two.bench.calls("win2") == 0, "a paused node is not touched"
    assert not is_cordoned(two, "win1") and mark_of(two, "win1") is None
    two.bench.reset_ledger()
    again = keep(two, winkube_kubernetes_version=NEWER.kubernetes)
    assert again.rc == 0 and again.recap["win1"].changed == 0, again
    assert two.bench.calls("win1") == 1, "one call where nothing differs"
    assert two.bench.calls("win2") == 0


def told(whole: Whole, name: str = "win1") -> dict[str, tuple[str, str, str]]:
    """The conditions of this collection on a Node."""
    found = whole.cluster.nodes[name]["status"]["conditions"]
    return {
        each["type"].partition("/")[2]: (each["status"], each["reason"], each["message"])
        for each in found
        if each["type"].startswith("winkube.node/")
    }


def writes(whole: Whole) -> list[str]:
    """What runs have written to the cluster since they were last counted."""
    with whole.cluster.api.lock:
        calls = [call for call in whole.cluster.calls if call.user.startswith(USER) and call.method != "GET"]
        whole.cluster.calls.clear()
    return [f"{call.method} {call.path}" for call in calls if not call.path.endswith("accessreviews")]


def events(whole: Whole) -> list[tuple[str, str]]:
    with whole.cluster.api.lock:
        found = whole.cluster.store.list(BY_NAME["Event"])
    return [
        (each["involvedObject"]["name"], each["reason"]) for each in found if each["involvedObject"]["kind"] == "Node"
    ]


def test_a_node_says_whether_it_is_as_wanted_and_nothing_is_written_to_one_that_says_so(two: Kept) -> None:
    keep(two)
    assert told(two)["UpToDate"][:2] == ("True", "AsWanted") and told(two)["Healthy"][0] == "True"
    writes(two)
    assert keep(two).rc == 0
    assert two.site(playbook=LOOK).rc == 0
    assert writes(two) == [], "a converged node gets no write"

    look = two.site(playbook=LOOK, winkube_kubernetes_version=NEWER.kubernetes, winkube_look_fail=False)
    status, reason, message = told(two)["UpToDate"]
    assert (status, reason) == ("False", "NotApplied"), look
    assert message.startswith("kubelet 1.27.4 runs, and 1.27.16 is wanted. The variables are not those"), message
    assert two.site(playbook=LOOK).rc == 0
    assert told(two)["UpToDate"][:2] == ("True", "AsWanted"), "as the last run made it, it is wanted again"
    assert two.site(playbook=LOOK, winkube_kubelet_verbosity=4).rc != 0, (
        "no release says this, but the fingerprint does"
    )

    kept = keep(two, winkube_kubernetes_version=NEWER.kubernetes)
    assert kept.rc == 0, kept.output
    assert told(two)["UpToDate"][:2] == told(two, "win2")["UpToDate"][:2] == ("True", "AsWanted")
    assert ("win1", "Differs") in events(two) and ("win1", "AsWanted") in events(two)


def test_no_further_node_is_begun_after_the_time(two: Kept) -> None:
    before = two.pid("kubelet")
    late = keep(two, winkube_kubernetes_version=NEWER.kubernetes, winkube_until="0m")
    assert late.rc == 0, late.output
    assert "(winkube_until), so no further node is begun. Not begun: win1, win2." in late.output, late.output
    assert two.pid("kubelet") == before and not is_cordoned(two, "win1")
    wrong = keep(two, winkube_kubernetes_version=NEWER.kubernetes, winkube_until="soon")
    assert wrong.rc != 0 and "winkube_until: 'soon' is neither a time of day (05:00) nor a duration" in wrong.output
    assert two.pid("kubelet") == before


def test_a_full_budget_and_a_busy_node_are_events(two: Kept) -> None:
    change(two, "win2", cordoned=True)
    full = keep(two, winkube_kubernetes_version=NEWER.kubernetes)
    assert full.rc == 0, full.output
    assert ("win1", "BudgetFull") in events(two)
    assert told(two)["UpToDate"][:2] == ("False", "Differs"), "what was not begun still differs"
    change(two, "win2", cordoned=False)
    change(two, "win1", winkube_node__mark=a_mark(cordoned=False))
    busy = keep(two)
    assert busy.rc == 0 and "The Node win1 is busy with ann@elsewhere" in busy.output, busy.output
    assert mark_of(two, "win1"), "nothing is done to it"
    assert ("win1", "Busy") in events(two)
    taken = keep(two, winkube_kubernetes_version=NEWER.kubernetes, winkube_take_over="0123456789abcdef0123456789abcdef")
    assert taken.rc == 0, taken.output
    assert not mark_of(two, "win1")


def test_a_node_that_does_not_answer_holds_nobody_up(two: Kept) -> None:
    two.bench.lab.host("win1").set(access="refused")
    kept = keep(two, winkube_kubernetes_version=NEWER.kubernetes, winkube_max_unavailable="2")
    assert kept.rc != 0, kept.output
    assert "uncordoned win2" in kept.output, kept.output
    assert told(two)["UpToDate"][:2] == ("Unknown", "NotLookedAt")
    assert told(two, "win2")["UpToDate"][:2] == ("True", "AsWanted")


def test_a_repair_in_vain_makes_the_node_unhealthy_until_one_is_not(two: Kept) -> None:
    repair = {"winkube_repair": "restart", "winkube_repair_services": ["kubelet"], "winkube_conditions": True}
    two.host.in_turn(lambda: two.host.node.faults.service("kubelet", ServiceFault("crash_at_start", times=1)))
    vain = two.site("--limit", "win1", playbook=REPAIR, **repair)
    assert vain.rc != 0, vain.output
    status, reason, message = told(two)["Healthy"]
    assert (status, reason) == ("False", "Restart") and "The repair restart was in vain: " in message, vain.output
    mended = two.site("--limit", "win1", playbook=REPAIR, **repair)
    assert mended.rc == 0, mended.output
    assert told(two)["Healthy"][0] == "True"
    assert ("win1", "Restart") in events(two)


def test_a_repair_that_leaves_its_work_to_roles_says_so_until_they_have_run(two: Kept) -> None:
    """Killed between the two: the record and the Node say what is left, and the next run that looks finds it well."""

    def break_it() -> None:
        two.host.in_turn(lambda: two.host.node.drive.delete(r"C:\k\cni\win-bridge.exe"))

    assert keep(two).rc == 0
    assert told(two)["Healthy"][0] == "True"
    break_it()
    repair = {"winkube_repair": "cni.plugin-missing", "winkube_conditions": True}
    access = {"kubeconfig": str(two.cluster.shipped(*Kept.RIGHTS, *DIAGNOSE))}
    extra = two.variables(**repair) | {"winkube_cluster": access}
    run = two.bench.start(REPAIR, "--limit", "win1", "-e", json.dumps(extra), own_group=True)
    until(lambda: told(two)["Healthy"][1] == "LeftToRoles")
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate(timeout=300)
    assert told(two)["Healthy"][0] == "Unknown" and "to roles that have not run yet: cni." in told(two)["Healthy"][2]
    assert keep(two).rc == 0
    assert told(two)["Healthy"][:2] == ("True", "NothingInVain")

    break_it()
    mended = two.site("--limit", "win1", playbook=REPAIR, **repair)
    assert mended.rc == 0, mended.output
    assert told(two)["Healthy"][:2] == ("True", "NothingInVain")
    assert ("win1", "LeftToRoles") in events(two)
    assert two.site("--limit", "win1", playbook=REPAIR, **repair).recap["win1"].changed == 0


def test_the_next_node_s_repair_is_told_from_the_node_as_it_is_now(two: Kept) -> None:
    """The hosts of a task share a list of Nodes for half a minute, and repair.yml takes one host after the other: that
    of the first is older than what the repair of the second says on its Node."""
    assert keep(two).rc == 0
    for name in ("win1", "win2"):
        host = two.bench.lab.host(name)
        host.in_turn(partial(host.node.drive.delete, r"C:\k\cni\win-bridge.exe"))
    mended = two.site(playbook=REPAIR, winkube_repair="cni.plugin-missing", winkube_conditions=True)
    assert mended.rc == 0, mended.output
    assert [told(two, name)["Healthy"][1] for name in ("win1", "win2")] == ["NothingInVain"] * 2


def test_a_rejoin_of_a_node_that_is_well_says_nothing_on_it(two: Kept) -> None:
    assert keep(two).rc == 0
    assert told(two)["Healthy"][0] == "True"
    repair = {"winkube_repair": "rejoin", "winkube_conditions": True}
    again = two.site("--limit", "win1", playbook=REPAIR, **repair)
    assert told(two)["Healthy"][:2] == ("True", "NothingInVain"), told(two)["Healthy"]
    assert again.rc == 0 and again.recap["win1"].changed == 0, again.output
    assert ("win1", "LeftToRoles") not in events(two)


def test_drift_says_it_on_the_node_as_well(two: Kept) -> None:
    two.host.in_turn(lambda: two.host.node.drive.write(CONFIG, b"version = 2\n"))
    folder = str(two.bench.directory / "reports")
    drift = two.site(playbook=DRIFT, winkube_conditions=True, winkube_drift_dir=folder, winkube_drift_fail=False)
    assert drift.rc == 0, drift.output
    status, reason, message = told(two)["UpToDate"]
    assert (status, reason) == ("False", "Differs") and "containerd: " in message, drift.output
    assert told(two, "win2")["UpToDate"][0] == "True"
