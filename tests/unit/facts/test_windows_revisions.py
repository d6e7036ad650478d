"""The ledger of bad revisions of Windows: its rows, and what is known of a build and revision."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.winkube.node.plugins.filter.k8s_windows_bad_updates import k8s_windows_bad_updates
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import find_release
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows_revisions import (
    BAD_REVISIONS,
    BadEntryError,
    BadRevision,
    find_bad,
    find_refused,
    find_update,
    next_good,
    parse_entries,
    updates,
)

JULY_2024 = ("2024-07 Cumulative Update for Microsoft server operating system version 21H2 (KB5040437)", ["5040437"])


def words(build: int, revision: int, mode: str = "") -> str:
    return " ".join(each.breaks for each in find_bad(build, revision, mode=mode))


def test_the_updates_are_in_order_and_each_is_there_once() -> None:
    rows = [(each.build, each.revision) for each in updates()]
    assert all(one < other for one, other in pairwise(rows))
    assert {build for build, _ in rows} == {17763, 20348, 26100}
    numbers = [each.kb for each in updates() if each.kb]
    assert len(numbers) == len(set(numbers)) and all(each.startswith("KB") for each in numbers)
    for one, other in pairwise(updates()):
        assert one.build != other.build or one.date <= other.date, (one, other)


@pytest.mark.parametrize("entry", BAD_REVISIONS, ids=lambda each: f"{each.build}.{each.since}-{each.mended}")
def test_an_entry_speaks_of_updates_that_there_are_and_names_a_public_source(entry: BadRevision) -> None:
    assert find_release(entry.build) is not None
    assert entry.source.startswith("https://")
    assert entry.breaks.endswith((".", ")."))
    assert entry.since < entry.mended
    if any(each.build == entry.build for each in updates()):
        for revision in filter(None, (entry.since, entry.mended)):
            assert find_update(entry.build, revision).kb, revision


def test_there_are_at_least_forty() -> None:
    assert len(BAD_REVISIONS) == len(set(BAD_REVISIONS)) >= 40


@pytest.mark.parametrize(
    ("revision", "known"), [(2529, False), (2582, True), (2700, True), (2761, True), (2762, False)], ids=str
)
def test_the_pods_network_of_2022_was_lost_from_july_to_october_2024(revision: int, known: bool) -> None:
    assert ("Pods reach neither each other nor the outside" in words(20348, revision)) is known


def test_what_concerns_another_network_mode_is_left_out() -> None:
    assert "overlay" in words(26100, 4946, "overlay")
    assert words(26100, 4946, "l2bridge") == ""
    assert "overlay" in words(26100, 4946), "not known: told"


def test_the_next_good_one() -> None:
    found = next_good(20348, 2582)
    assert found is not None and found.name == "10.0.20348.2762 (KB5044281)"
    overlay = next_good(26100, 4946, mode="overlay")
    assert overlay is not None and overlay.revision == 6901
    last = updates()[-1]
    assert next_good(last.build, last.revision) is None
    assert next_good(12345, 1) is None
    assert find_update(20348, 9).name == "10.0.20348.9"


def test_an_update_that_brings_something_bad_is_refused() -> None:
    (found,) = find_refused([JULY_2024], 20348, 2529)
    assert found.kb == "KB5040437"
    assert "Pods reach neither each other nor the outside" in found.why
    assert found.why.endswith("The next good one is 10.0.20348.2762 (KB5044281).")


def test_what_the_node_has_already_or_an_update_only_does_not_mend_is_no_reason() -> None:
    assert list(find_refused([JULY_2024], 20348, 2582)) == []
    assert list(find_refused([("2022-09 Cumulative Update", ["KB5017316"])], 20348, 887)) == [], (
        "HNS crashes before it, too"
    )
    assert list(find_refused([("Definition update", ["2267602"])], 20348, 2529)) == []


def test_an_entry_that_is_unverified_or_of_others_is_told_only() -> None:
    assert "Calico" in " ".join(each.concerns for each in find_bad(20348, 2322))
    assert list(find_refused([("2024-02 Cumulative Update", ["KB5034770"])], 20348, 2227)) == []
    assert list(find_refused([("2026-01 Cumulative Update", ["KB5073457"])], 20348, 4529)) == [], "Remote Desktop"


def test_a_users_own_entries() -> None:
    entry = {"build": 20348, "since": 5139, "mended": 6000, "breaks": "Our driver.", "source": "https://wiki.example/1"}
    (own,) = parse_entries([entry])
    assert own in find_bad(20348, 5139, [own])
    (found,) = find_refused([("2026-05 Cumulative Update", ["5087545"])], 20348, 5024, [own])
    assert found.why.endswith("The next good one is 10.0.20348.6000.")
    later = ("2026-07 Cumulative Update for x64-based Systems (KB5099999) (20348.5555)", ["KB5099999"])
    assert [each.kb for each in find_refused([later], 20348, 5024, [own])] == ["KB5099999"]
    (unsourced,) = parse_entries([{**entry, "source": ""}])
    assert unsourced.unverified
    assert list(find_refused([later], 20348, 5024, [unsourced])) == []


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ("20348", "wanted a list"),
        (["20348"], "entry 1: it is '20348'"),
        ([{"build": 20348, "breaks": "x", "kb": 1}], "kb is not a key; there are build"),
        ([{"build": 20348}], "breaks is missing"),
        ([{"build": "new", "breaks": "x"}], "are numbers such as 20348"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_a_wrong_entry_is_named(entries: Any, said: str) -> None:
    with pytest.raises(BadEntryError, match="winkube_windows_revisions") as caught:
        parse_entries(entries)
    assert said in str(caught.value)


def test_the_filter_of_patch_yml() -> None:
    found = {"1": {"title": JULY_2024[0], "kb": JULY_2024[1]}}
    (bad,) = k8s_windows_bad_updates(found, {"build": 20348, "revision": 2529})
    assert bad["kb"] == "KB5040437" and "KB5044281" in bad["why"]
    with pytest.raises(AnsibleFilterError, match="winkube_windows_revisions: it is 5"):
        k8s_windows_bad_updates(found, {"build": 20348, "revision": 2529}, 5)  # type: ignore[arg-type]
    with pytest.raises(AnsibleFilterError, match="KeyError: 'build'"):
        k8s_windows_bad_updates(found, {})
