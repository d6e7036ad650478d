"""How many endpoints Services have, and of which a node's rule would have too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.backends import LargeService, count_most, read_large
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import FORBIDDEN, ClusterError

BIG = "/api/v1/namespaces/default/services/big"


def slice_of(first: int, count: int, *, port: str = "", name: str = "big", **more: Any) -> dict[str, Any]:
    ends = [{"addresses": [f"10.244.{number // 250}.{number % 250 + 1}"]} for number in range(first, first + count)]
    labels = {"kubernetes.io/service-name": name, **more.pop("labels", {})}
    metadata = {"namespace": "default", "name": f"{name}-{first}", "labels": labels}
    return {"metadata": metadata, "addressType": "IPv4", "endpoints": ends, "ports": [{"name": port}], **more}


class Api:
    """Of a cluster only what is asked here; a status of `service` is that of an error."""

    def __init__(self, *slices: dict[str, Any], service: dict[str, Any] | int) -> None:
        self.slices, self.service = list(slices), service
        self.asked: list[str] = []
        self.known: dict[str, dict[str, Any]] = {}

    def items(self, path: str) -> list[dict[str, Any]]:
        self.asked.append(path)
        return self.slices

    def find_out(self, what: str, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        self.known[what] = self.known.get(what) or ask()
        return self.known[what]

    def get(self, path: str) -> dict[str, Any] | None:
        self.asked.append(path)
        if isinstance(self.service, int):
            raise ClusterError("no", self.service)
        return self.service


def large(*slices: dict[str, Any], service: dict[str, Any] | int) -> tuple[tuple[LargeService, ...], list[str]]:
    api = Api(*slices, service=service)
    return read_large(api), api.asked[1:]  # type: ignore[arg-type] # the two methods are all of it


@pytest.mark.parametrize(
    ("slices", "count"),
    [
        ([slice_of(0, 100), slice_of(100, 20)], 120),
        ([slice_of(0, 60), slice_of(50, 20)], 70),
        ([slice_of(0, 60, port="http"), slice_of(60, 60, port="https")], 60),
        ([slice_of(0, 60), slice_of(60, 60, addressType="IPv6")], 60),
        ([{**slice_of(0, 2), "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}]}], 0),
        ([], 0),
    ],
)
def test_each_ready_address_of_a_port_counts_once(slices: list[dict[str, Any]], count: int) -> None:
    assert count_most(slices) == count


@pytest.mark.parametrize(("count", "found"), [(64, False), (65, True)])
def test_only_a_service_of_too_many_is_asked_for(count: int, found: bool) -> None:
    counted = (LargeService("default/big", count),) if found else ()
    assert large(slice_of(0, count), slice_of(0, 3, name="small"), service={}) == (counted, [BIG] if found else [])


@pytest.mark.parametrize(
    ("labels", "service", "found"),
    [
        ({}, {"spec": {"internalTrafficPolicy": "Cluster"}}, True),
        ({}, {"spec": {"internalTrafficPolicy": "Local"}}, False),
        ({}, FORBIDDEN, True),
        ({"service.kubernetes.io/headless": ""}, {}, False),
        ({"service.kubernetes.io/service-proxy-name": "other"}, {}, False),
    ],
)
def test_only_those_count_that_a_node_has_one_rule_for(
    labels: dict[str, str], service: dict[str, Any] | int, found: bool
) -> None:
    assert bool(large(slice_of(0, 70, labels=labels), service=service)[0]) == found


def test_the_nodes_of_a_task_count_once() -> None:
    api = Api(slice_of(0, 70), service={})
    assert {read_large(api) for _node in range(3)} == {(LargeService("default/big", 70),)}  # type: ignore[arg-type]
    assert len(api.asked) == 2


def test_a_cluster_that_does_not_answer_is_no_empty_one() -> None:
    with pytest.raises(ClusterError):
        large(slice_of(0, 70), service=500)
