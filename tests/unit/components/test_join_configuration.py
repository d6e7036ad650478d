"""kubeadm's JoinConfiguration in the form that each release reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.material import (
    JoinSettings,
    join_configuration,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version


def settings(version: str, **more: Any) -> JoinSettings:
    return JoinSettings(
        version=Version.parse(version),
        node_name="win1",
        pipe="containerd-containerd",
        discovery=r"C:\etc\kubernetes\winkube-discovery.conf",
        taints=("os=windows:NoSchedule", "gpu:NoExecute"),
        **more,
    )


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
    assert json.loads(join_configuration(settings(version)))["apiVersion"] == f"kubeadm.k8s.io/{api}"


@pytest.mark.row("JR-01")
def test_everything_is_in_the_file() -> None:
    assert json.loads(join_configuration(settings("1.37.1"))) == {
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
    found = json.loads(join_configuration(settings(version)))["nodeRegistration"]
    assert found.get("ignorePreflightErrors") == (["IsPrivilegedUser"] if ignored else None)


def test_the_folder_of_patches_is_named_where_there_is_one() -> None:
    folder = r"C:\etc\kubernetes\winkube-patches"
    assert json.loads(join_configuration(settings("1.37.1", patches=folder)))["patches"] == {"directory": folder}
    assert "patches" not in json.loads(join_configuration(settings("1.37.1")))


def test_a_release_that_reads_neither_form_is_refused() -> None:
    with pytest.raises(Refused, match=r"kubeadm 1\.21\.14 reads neither"):
        join_configuration(settings("1.21.14"))


def test_the_token_is_not_in_the_settings_repr() -> None:
    assert "0123456789abcdef" not in repr(settings("1.37.1"))
