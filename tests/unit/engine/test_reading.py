"""When a reading is believed, and what is asked for when it lacks something."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import reading as r

FACT: dict[str, Any] = {
    "schema": 1,
    "run": "this run",
    "taken_at": 1000.0,
    "predicted": False,
    "parts": {"system": {"machine": "m-1", "boot_id": "b-1"}},
}


def usable(fact: Any, **kwargs: Any) -> r.Reading | None:
    return r.usable(fact, **{"run": "this run", "now": 1010.0, "max_age": 300, "check": False, **kwargs})


def test_a_fresh_reading_of_this_run_is_believed() -> None:
    found = usable(FACT)
    assert found is not None
    assert (found.machine, found.boot_id) == ("m-1", "b-1")


@pytest.mark.parametrize(
    ("fact", "kwargs"),
    [
        (FACT, {"run": "another run"}),
        (FACT, {"now": 1301.0}),
        (FACT, {"max_age": 0}),
        (FACT, {"now": 999.0}),  # taken in the future: the clock was set back
        (FACT, {"check": True}),
        (FACT | {"predicted": True}, {}),
        (FACT | {"schema": 2}, {}),
        ({}, {}),
        (None, {}),
        ("text", {}),
        (FACT | {"parts": None}, {}),
    ],
)
def test_what_is_not_believed(fact: Any, kwargs: dict[str, Any]) -> None:
    assert usable(fact, **kwargs) is None


def test_a_prediction_is_believed_in_check_mode_only() -> None:
    assert usable(FACT | {"predicted": True}, check=True) is not None


def test_it_survives_the_way_through_facts() -> None:
    first = r.Reading({"system": {"machine": "m-1"}}, run="this run", taken_at=1000.0)
    assert usable(first.to_fact()) == first
    assert usable(r.pack(first.to_fact())) == first


@pytest.mark.parametrize("parts", ["", "no base64!", "bm8gemxpYg==", "eJyLjgUAARUAuQ=="])
def test_what_was_packed_otherwise_is_not_believed(parts: str) -> None:
    assert usable(FACT | {"parts": parts}) is None


def test_queries_for_one_file_are_merged_into_the_wider_one() -> None:
    small = r.file_query(r"C:\k\a.txt", sha256=True, content_limit=10)
    large = r.file_query(r"c:\K\A.txt", content_limit=99, sddl=True)
    (merged,) = r.merge_queries([small, large])
    assert merged.wire() == {
        "key": r"file:c:\k\a.txt",
        "op": "file",
        "path": r"C:\k\a.txt",
        "sha256": True,
        "content_limit": 99,
        "sddl": True,
    }


def test_names_of_services_are_merged() -> None:
    (merged,) = r.merge_queries([r.services_query(["kubelet"]), r.services_query(["Containerd"])])
    assert merged.wire()["names"] == ["containerd", "kubelet"]


def test_missing_names_only_what_was_not_read() -> None:
    known = r.Reading().merge(
        {r"file:c:\k\a.txt": {"exists": True, "kind": "file", "sha256": "x"}, r"file:c:\k\b.txt": {"exists": False}},
    )
    asked = [
        r.file_query(r"C:\k\a.txt", sha256=True),
        r.file_query(r"C:\k\a.txt", content_limit=5),
        r.file_query(r"C:\k\b.txt", content_limit=5),
    ]
    assert [query.key for query in known.find_missing(asked)] == [r"file:c:\k\a.txt"]
    assert known.find_missing([r.file_query(r"C:\k\b.txt", content_limit=5, sddl=True)]) == ()
    assert len(known.find_missing([r.file_query(r"C:\k\c.txt")])) == 1


def test_services_are_listed_whole_and_replaced_whole() -> None:
    query = r.services_query(["containerd", "kubelet"])
    first = r.Reading().merge(
        {"services": [{"name": "Containerd", "state": "running"}, {"name": "nginx", "state": "stopped"}]}, [query]
    )
    assert first.find_missing([query]) == ()
    assert (first.service("containerd") or {})["state"] == "running"
    assert first.service("kubelet") is None
    second = first.merge({"services": [{"name": "containerd", "state": "stopped"}]}, [query])
    assert [service["name"] for service in second.services()] == ["containerd"]


@pytest.mark.parametrize("predicted", [True, False])
def test_what_is_planned_of_services_stays_where_more_of_them_are_asked_for(predicted: bool) -> None:
    known = r.Reading(predicted=predicted).merge({"services": []}, [r.services_query(["kubelet"])])
    known = known.merge({r.service_key("kubelet"): {"name": "kubelet", "state": "stopped"}})
    query = r.services_query(["containerd", "kubelet"])
    asked: list[r.Query] = []

    def probe(queries: tuple[r.Query, ...]) -> dict[str, Any]:
        asked.extend(queries)
        return {"services": [{"name": "containerd", "state": "running"}]}

    found = known.complete([query], probe)
    assert (found.service("kubelet") is not None) is predicted
    assert (found.service("containerd") or {})["state"] == "running"
    assert found.complete([query], probe) is found and asked == [query]


def test_asking_for_a_service_that_nobody_read_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        r.Reading().service("kubelet")


def test_parts_that_could_not_be_read_are_named() -> None:
    assert r.Reading({"system": {"error": "access denied"}, "x": {"exists": False}}).errors() == {
        "system": "access denied"
    }
