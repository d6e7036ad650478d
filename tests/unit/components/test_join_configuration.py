"""kubeadm's JoinConfiguration in the form that each release reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.material import join_configuration
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.options import JoinOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from .nodes import LAYOUT


def document(version: str, *, patches: bool = False) -> dict[str, Any]:
    """The file for a node of this release."""
    taints = ("os=windows:NoSchedule", "gpu:NoExecute")
    options = JoinOptions(node_name="win1", version=version, taints=taints)
    found: dict[str, Any] = json.loads(join_configuration(options, LAYOUT, patches=patches))
    return found


@pytest.mark.row("JR-01")
@pytest.mark.parametrize(
    ("version", "api"),
    [
        ("1.22.17", "v1beta3"),
        ("1.27.4", "v1beta3"),
        ("1.30.14", "v1beta3"),
        ("1.31.0", "v1beta4"),
        ("1.37.1", "v1beta4"),
    ],
)
def test_the_form_follows_the_release(version: str, api: str) -> None:
    assert document(version)["apiVersion"] == f"kubeadm.k8s.io/{api}"


@pytest.mark.row("JR-01")
def test_everything_is_in_the_file() -> None:
    assert document("1.37.1") == {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "JoinConfiguration",
        "discovery": {"file": {"kubeConfigPath": r"\etc\kubernetes\winkube-discovery.conf"}},
        "nodeRegistration": {
            "name": "win1",
            "criSocket": "npipe:////./pipe/containerd-containerd",
            "taints": [
                {"key": "os", "value": "windows", "effect": "NoSchedule"},
                {"key": "gpu", "value": "", "effect": "NoExecute"},
            ],
        },
    }


@pytest.mark.row("JR-01")
@pytest.mark.parametrize(("version", "ignored"), [("1.22.17", True), ("1.30.14", True), ("1.31.0", False)])
def test_a_kubeadm_that_cannot_see_local_systems_groups_does_not_look(version: str, ignored: bool) -> None:
    found = document(version)["nodeRegistration"]
    assert found.get("ignorePreflightErrors") == (["IsPrivilegedUser"] if ignored else None)


def test_the_folder_of_patches_is_named_where_there_is_one() -> None:
    folder = r"C:\etc\kubernetes\winkube-patches"
    assert document("1.37.1", patches=True)["patches"] == {"directory": folder}
    assert "patches" not in document("1.37.1")


def test_a_release_that_reads_neither_form_is_refused() -> None:
    with pytest.raises(Refused, match=r"kubeadm 1\.21\.14 reads neither"):
        document("1.21.14")
