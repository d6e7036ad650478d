"""What in Windows prevents containers from using group Managed Service Accounts."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import host, host_checks
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.host import Host
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.node_fit import Machine
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import GMSA_FLOORS

from tests.conftest import ROOT

from .nodes import LAYOUT, bare

WANTED = Host(HostOptions(gmsa=True), LAYOUT)


def node(build: int, revision: int, value: int | None = 1) -> Reading:
    found: dict[str, Any] = {"exists": False} if value is None else {"exists": True, "type": "dword", "value": value}
    system = {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": {"build": build, "revision": revision}}
    files = {"registry:page-files": {"exists": False}}
    return bare(host.reads(LAYOUT)).merge({"system": system, host_checks.NAMESPACE_QUERY.key: found, **files})


def said(build: int, revision: int, value: int | None = 1, wanted: Host = WANTED) -> list[str]:
    return [text for text in host.check(wanted, node(build, revision, value)).warnings if "gmsa" in text]


@pytest.mark.row("CT-49", "SE-07")
@pytest.mark.parametrize(
    ("revision", "warned"), [(1, True), (1816, True), (1817, False), (6054, False)], ids=lambda each: str(each)
)
def test_windows_server_2019_needs_the_update_of_march_2021(revision: int, warned: bool) -> None:
    found = said(17763, revision)
    assert bool(found) is warned
    if warned:
        (text,) = found
        assert "with containerd a gMSA cannot reach network shares on Windows Server 2019" in text
        assert "KB5000822 or a later update, 10.0.17763.1817" in text


@pytest.mark.row("SE-07")
@pytest.mark.parametrize("value", [None, 0])
def test_the_registry_value_is_asked_for_where_the_name_of_a_share_would_not_do(value: int | None) -> None:
    (text,) = said(17763, 6054, value)
    assert r"EnableCompartmentNamespace in HKLM\SYSTEM\CurrentControlSet\Services\hns\State is not 1" in text
    assert said(20348, 4893, value) == []


@pytest.mark.row("CT-49")
def test_nothing_is_said_where_no_gmsa_is_wanted_or_windows_is_newer() -> None:
    assert said(17763, 1, wanted=Host(HostOptions(), LAYOUT)) == []
    assert said(20348, 1) == said(26100, 1) == []


def test_what_no_source_names_is_said_as_such() -> None:
    assert "is not known here" in said(18363, 1)[0]
    assert all(floor.source for floor in GMSA_FLOORS)


def test_the_value_is_read_and_nothing_is_changed() -> None:
    (resource,) = (
        each for each in host.build_resources(WANTED, node(20348, 1)) if isinstance(each, host_checks.GmsaPreconditions)
    )
    assert resource.reads() == (host_checks.NAMESPACE_QUERY,)
    assert make_plan("host", (resource,), node(20348, 1)).batch is None


@pytest.mark.row("CT-49", "SE-07")
def test_the_page_names_the_updates() -> None:
    page = (ROOT / "docs" / "gmsa.md").read_text(encoding="utf-8")
    for floor in GMSA_FLOORS:
        assert f"| {floor.build} | {floor.update} | 10.0.{floor.build}.{floor.revision} |" in page
    key = r"HKLM\SYSTEM\CurrentControlSet\Services\hns\State"
    assert f"\nreg add {key} /v EnableCompartmentNamespace /t REG_DWORD /d 1\n" in page
    assert Machine(17763, 1).name in "Windows Server 2019 (10.0.17763.1)"
