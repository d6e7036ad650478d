"""Serving certificates are approved only for the node's real names and addresses: one table of refused requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.documents import Request
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import after_join

NODE = {
    "metadata": {"name": "win1"},
    "status": {
        "addresses": [
            {"type": "InternalIP", "address": "10.0.0.21"},
            {"type": "Hostname", "address": "WIN1"},
            {"type": "InternalDNS", "address": "win1.example.com"},
        ]
    },
}
SPEC: dict[str, Any] = {
    "signerName": "kubernetes.io/kubelet-serving",
    "username": "system:node:win1",
    "groups": ["system:nodes", "system:authenticated"],
    "usages": ["digital signature", "server auth"],
}
REQUEST = Request("system:node:win1", ("system:nodes",), ("win1", "win1.example.com"), ("10.0.0.21",))


@pytest.mark.row("JR-01")
@pytest.mark.parametrize(
    "usages", [["server auth", "digital signature"], ["digital signature", "key encipherment", "server auth"]]
)
def test_a_right_request_is_approved(usages: list[str]) -> None:
    assert after_join.request_problems({"spec": SPEC | {"usages": usages}}, REQUEST, NODE) == []


@pytest.mark.row("JR-01")
@pytest.mark.parametrize(
    ("spec", "request_", "said"),
    [
        ({"username": "system:node:win2"}, {}, "the user is system:node:win2, not system:node:win1"),
        ({"groups": ["system:nodes"]}, {}, "the user is not in system:authenticated"),
        ({"groups": ["system:authenticated"]}, {}, "the user is not in system:nodes"),
        ({"usages": ["digital signature", "client auth"]}, {}, "usages are digital signature, client auth"),
        ({"usages": ["digital signature", "server auth", "client auth"]}, {}, "usages are"),
        ({}, {"common_name": "system:node:win2"}, "it is for the name 'system:node:win2'"),
        ({}, {"organizations": ("system:nodes", "system:masters")}, "it is for the groups"),
        ({}, {"names": ("win1", "kubernetes.default")}, "kubernetes.default is not a name of the node"),
        ({}, {"addresses": ("10.0.0.22",)}, "10.0.0.22 is not an address of the node"),
        ({}, {"names": (), "addresses": ()}, "it names neither a host nor an address"),
        ({}, {"others": ("RFC822Name root@example.com",)}, "RFC822Name root@example.com is neither"),
    ],
)
def test_a_wrong_request_is_not(spec: dict[str, Any], request_: dict[str, Any], said: str) -> None:
    found = after_join.request_problems({"spec": SPEC | spec}, replace(REQUEST, **request_), NODE)
    assert any(said in sentence for sentence in found), found


@pytest.mark.parametrize(
    ("spec", "status", "is_pending"),
    [
        ({}, {}, True),
        ({}, {"conditions": [{"type": "Approved"}]}, False),
        ({}, {"conditions": [{"type": "Denied"}]}, False),
        ({}, {"certificate": "x"}, False),
        ({"signerName": "kubernetes.io/kube-apiserver-client-kubelet"}, {}, False),
        ({"username": "system:node:win2"}, {}, False),
    ],
)
def test_only_this_nodes_undecided_serving_requests_are_looked_at(
    spec: dict[str, Any], status: dict[str, Any], is_pending: bool
) -> None:
    assert after_join.is_pending({"spec": SPEC | spec, "status": status}, "win1") is is_pending


def test_the_approval_keeps_other_conditions() -> None:
    patch = after_join.approval({"status": {"conditions": [{"type": "Other"}]}}, "win1")
    assert [item["type"] for item in patch["status"]["conditions"]] == ["Other", "Approved"]
    assert patch["status"]["conditions"][1]["status"] == "True"
