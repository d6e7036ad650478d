"""Pods that a taint would strand, and the linter's advice for them."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.nodes import windows_nodes
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.stranded import find_stranded

OS = {"kubernetes.io/os": "windows"}
TAINT = "os=windows:NoSchedule"
TOLERATION = {"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}


def node(name: str, *taints: dict[str, str], **labels: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "labels": {**OS, **labels}},
        "spec": {"taints": list(taints)},
        "status": {"nodeInfo": {"operatingSystem": "windows", "kernelVersion": "10.0.20348.2700"}, "conditions": []},
    }


def pod(
    name: str, selector: dict[str, str] | None = None, *tolerations: dict[str, Any], **status: Any
) -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": f"{name}-59c", "controller": True}
    labels = {"pod-template-hash": "59c"}
    image = "mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022"
    return {
        "metadata": {"namespace": "shop", "name": f"{name}-59c-x", "ownerReferences": [owner], "labels": labels},
        "spec": {
            "nodeName": "win1",
            "nodeSelector": selector or {},
            "tolerations": list(tolerations),
            "containers": [{"name": "web", "image": image}],
        },
        "status": {"phase": "Running"} | status,
    }


def of(nodes: list[dict[str, Any]], *pods: dict[str, Any], taint: str = TAINT) -> list[dict[str, Any]]:
    return find_stranded(windows_nodes(nodes), (taint,), lambda name: pods if name == "win1" else ())


def test_a_pod_without_the_toleration_is_listed_with_the_linters_advice() -> None:
    (found,) = of([node("win1")], pod("web", OS), pod("fine", OS, TOLERATION), pod("over", OS, phase="Succeeded"))
    assert (found["pod"], found["owner"], found["node"]) == ("shop/web-59c-x", "Deployment web", "win1")
    (advice,) = [each for each in found["advice"] if each["rule"] == "taint-not-tolerated"]
    assert "does not tolerate their taint os=windows:NoSchedule: it stays Pending" in advice["message"]
    assert advice["remedy"].startswith("Add the toleration")


def test_a_pod_that_selects_no_system_has_none_either() -> None:
    (found,) = of([node("win1")], pod("web"))
    rules = [each["rule"] for each in found["advice"]]
    assert rules == ["missing-os-name", "missing-os-selector", "taint-not-tolerated"]


def test_nothing_is_said_where_the_taint_is_there_already() -> None:
    taint = {"key": "os", "value": "windows", "effect": "NoSchedule"}
    assert of([node("win1", taint)], pod("web", OS)) == []


@pytest.mark.parametrize(
    ("other", "left"),
    [
        ({"team": "a"}, 0),  # tolerated there
        ({"team": "b"}, 1),  # not selected
    ],
)
def test_another_windows_node_may_have_a_place(other: dict[str, str], left: int) -> None:
    """A node with the new taint, with another value, which the pod tolerates."""
    free = node("win2", {"key": "os", "value": "windows", "effect": "NoSchedule"}, **other)
    both = (TOLERATION, {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})
    needs = pod("web", {**OS, "team": "a"}, *both)
    assert len(of([node("win1", team="a"), free], needs, taint="team=a:NoExecute")) == 1, "both nodes get the taint"
    assert len(of([node("win1", team="c"), free], needs)) == left


def test_states_of_a_node_are_no_reason() -> None:
    cordoned = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert of([node("win1", cordoned)], pod("web", OS, TOLERATION)) == []
