"""For which system a pod is meant, and what one can know of an image by its name."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint.catalog import build_catalog
from ansible_collections.winkube.node.plugins.plugin_utils.lint.images import image_build, image_os
from ansible_collections.winkube.node.plugins.plugin_utils.lint.manifest import live_documents, objects_of
from ansible_collections.winkube.node.plugins.plugin_utils.lint.profile import Profile
from ansible_collections.winkube.node.plugins.plugin_utils.lint.target import Target

RUNTIME_CLASS = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "win"},
    "handler": "x",
    "scheduling": {"nodeSelector": {"kubernetes.io/os": "windows", "node.kubernetes.io/windows-build": "10.0.20348"}},
}


def target(spec: dict[str, Any], **settings: Any) -> Target:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c"}], **spec},
    }
    documents = live_documents([RUNTIME_CLASS, pod])
    catalog = build_catalog((thing for each in documents for thing in objects_of(each)), Profile(**settings))
    return catalog.pods[0].target


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": [{"matchExpressions": [term]} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


OS = "kubernetes.io/os"
AKS = "kubernetes.azure.com/os-sku"


@pytest.mark.row("SC-01", "LM-62")
@pytest.mark.parametrize(
    ("spec", "os", "selects"),
    [
        ({"os": {"name": "windows"}}, "windows", False),
        ({"os": {"name": "linux"}, "tolerations": [{"key": "os", "value": "windows"}]}, "linux", False),
        ({"nodeSelector": {OS: "windows"}}, "windows", True),
        ({"nodeSelector": {"beta.kubernetes.io/os": "windows"}}, "windows", True),
        ({"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.17763"}}, "windows", True),
        ({"nodeSelector": {OS: "linux"}, "containers": [{"image": "mcr.microsoft.com/windows:1"}]}, "linux", True),
        (affinity({"key": OS, "operator": "In", "values": ["windows"]}), "windows", True),
        (affinity({"key": OS, "operator": "NotIn", "values": ["windows"]}), "linux", True),
        (affinity({"key": OS, "operator": "In", "values": ["windows", "linux"]}), "unknown", False),
        (
            affinity(
                {"key": OS, "operator": "In", "values": ["windows"]}, {"key": OS, "operator": "In", "values": ["linux"]}
            ),
            "unknown",
            False,
        ),
        ({"runtimeClassName": "win"}, "windows", True),
        ({"runtimeClassName": "gvisor"}, "unknown", True),
        ({"securityContext": {"windowsOptions": {"runAsUserName": "x"}}}, "windows", False),
        ({"containers": [{"image": "mcr.microsoft.com/windows/nanoserver:ltsc2022"}]}, "windows", False),
        ({"tolerations": [{"key": "os", "operator": "Equal", "value": "windows"}]}, "windows", False),
        ({"tolerations": [{"operator": "Exists"}]}, "unknown", False),
        ({"nodeSelector": {"kubernetes.azure.com/os-sku": "Windows2022"}}, "windows", True),
        ({"nodeSelector": {"kubernetes.azure.com/os-sku": "Ubuntu"}}, "linux", True),
        ({"nodeSelector": {"cloud.google.com/gke-os-distribution": "windows_ltsc"}}, "windows", True),
        ({"nodeSelector": {"node.openshift.io/os_id": "Windows"}}, "windows", True),
        (affinity({"key": AKS, "operator": "In", "values": ["Windows2022"]}), "windows", True),
        ({}, "unknown", False),
    ],
)
def test_target(spec: dict[str, Any], os: str, selects: bool) -> None:
    found = target(spec)
    assert (found.os, found.selects) == (os, selects)


def test_pods_that_do_not_say_can_count_as_windows() -> None:
    assert target({}, unknown_pods="windows").windows
    assert not target({"os": {"name": "linux"}}, unknown_pods="windows").windows


def test_the_build_comes_from_selector_or_runtime_class() -> None:
    assert target({"runtimeClassName": "win"}).builds == (20348,)
    assert target({"nodeSelector": {"node.kubernetes.io/windows-build": "10.0.17763"}}).builds == (17763,)
    assert target({"nodeSelector": {"kubernetes.azure.com/os-sku": "Windows2022"}}).builds == (20348,)
    build = "node.kubernetes.io/windows-build"
    either = affinity({"key": build, "operator": "In", "values": ["10.0.17763", "10.0.20348"]})
    assert target(either).builds == (17763, 20348)
    one_term = affinity({"key": build, "operator": "In", "values": ["10.0.17763"]}, {"key": OS, "operator": "Exists"})
    assert target(one_term).builds == ()
    assert target({}).builds == ()


@pytest.mark.row("SC-11", "SC-18")
@pytest.mark.parametrize(
    ("image", "os", "build"),
    [
        ("mcr.microsoft.com/windows/servercore:ltsc2019", "windows", 17763),
        ("mcr.microsoft.com/windows/nanoserver:1809", "windows", 17763),
        ("mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2022", "windows", 20348),
        ("mcr.microsoft.com/windows/server:10.0.26100.1742", "windows", 26100),
        ("mcr.microsoft.com/dotnet/aspnet:8.0-nanoserver-ltsc2025", "windows", 26100),
        ("mcr.microsoft.com/dotnet/aspnet:8.0", "", None),
        ("golang:1.23-windowsservercore-ltsc2022", "windows", 20348),
        ("registry.k8s.io/pause:3.10", "", None),
        ("alpine:3.20", "linux", None),
        ("docker.io/library/nginx:1.27", "linux", None),
        ("python:3.12-slim", "linux", None),
        ("registry.example.com:5000/web", "", None),
        ("registry.example.com/web@sha256:" + "0" * 64, "", None),
        ("registry.example.com/app:2004", "", None),
    ],
)
def test_images(image: str, os: str, build: int | None) -> None:
    assert (image_os(image), image_build(image)) == (os, build)


@pytest.mark.row("SC-10")
def test_scheduling_filter() -> None:
    from ansible_collections.winkube.node.plugins.filter.k8s_windows_scheduling import k8s_windows_scheduling

    assert k8s_windows_scheduling("ltsc2019") == {
        "nodeSelector": {OS: "windows", "node.kubernetes.io/windows-build": "10.0.17763"},
        "tolerations": [{"key": "os", "operator": "Equal", "value": "windows", "effect": "NoSchedule"}],
    }
    assert k8s_windows_scheduling("", taint="none") == {"nodeSelector": {OS: "windows"}, "tolerations": []}
    for build, label in (
        (20348, "10.0.20348"),
        ("10.0.26100", "10.0.26100"),
        ("2022", "10.0.20348"),
        (2019, "10.0.17763"),
    ):
        selector = k8s_windows_scheduling(build)["nodeSelector"]
        assert selector == {OS: "windows", "node.kubernetes.io/windows-build": label}
        assert type(selector["node.kubernetes.io/windows-build"]) is str
    other = k8s_windows_scheduling("", taint="team=a:NoExecute")["tolerations"]
    assert other == [{"key": "team", "operator": "Equal", "value": "a", "effect": "NoExecute"}]
