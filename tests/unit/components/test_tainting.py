"""Which pods a new taint evicts or keeps off, against what kubernetes' own ToleratesTaint says."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.node_object import taint_step

EXECUTE = {"key": "os", "value": "windows", "effect": "NoExecute"}
KEEP = {"key": "os", "value": "windows", "effect": "NoSchedule"}
PREFER = {"key": "os", "value": "windows", "effect": "PreferNoSchedule"}


def pod(*tolerations: dict[str, Any], **more: Any) -> dict[str, Any]:
    metadata = {"namespace": "a", "name": "b", **more.pop("metadata", {})}
    return {"metadata": metadata, "spec": {"tolerations": list(tolerations)}, **more}


@pytest.mark.parametrize(
    ("toleration", "tolerates"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "os", "operator": "Exists"}, True),
        ({"key": "os", "value": "windows"}, True),
        ({"key": "os", "value": "windows", "operator": "Equal", "effect": "NoExecute"}, True),
        ({"key": "os", "value": "windows", "effect": "NoSchedule"}, False),
        ({"key": "os", "value": "linux"}, False),
        ({"key": "os"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"value": "windows"}, False),
        ({"key": "os", "operator": "Lt", "value": "windows"}, False),
    ],
)
def test_a_toleration_matches_as_in_kubernetes(toleration: dict[str, Any], tolerates: bool) -> None:
    text = taint_step("win1", [EXECUTE], [pod(toleration)])
    assert ("evicts a/b (nothing recreates it)" in text) is not tolerates


@pytest.mark.parametrize(
    "spared",
    [
        pod(status={"phase": "Succeeded"}),
        pod(metadata={"deletionTimestamp": "2026-11-23T01:00:00Z"}),
        pod(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}),
    ],
)
def test_pods_that_are_over_or_static_are_not_named(spared: dict[str, Any]) -> None:
    assert taint_step("win1", [EXECUTE, KEEP], [spared]).endswith("with os=windows:NoExecute, os=windows:NoSchedule")


def test_what_becomes_of_a_pod_is_said_once() -> None:
    assert taint_step("win1", [PREFER], [pod()]) == "taint the Node win1 with os=windows:PreferNoSchedule"
    assert taint_step("win1", [KEEP], [pod()]).endswith(
        "; that keeps off, once they are recreated, a/b (nothing recreates it)"
    )
    assert taint_step("win1", [KEEP, EXECUTE], [pod()]).endswith("; that evicts a/b (nothing recreates it)")
    soon = pod({"key": "os", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60})
    assert taint_step("win1", [EXECUTE], [soon]).endswith("; that evicts a/b (nothing recreates it, after 60 s)")


def test_an_owner_is_what_people_wrote() -> None:
    owner = {"kind": "ReplicaSet", "name": "web-5d4", "controller": True}
    made = {"labels": {"pod-template-hash": "5d4"}, "ownerReferences": [{"kind": "Node", "name": "n"}, owner]}
    assert "(Deployment web)" in taint_step("win1", [EXECUTE], [pod(metadata=made)])
    bare = {"ownerReferences": [owner]}
    assert "(ReplicaSet web-5d4)" in taint_step("win1", [EXECUTE], [pod(metadata=bare)])
