"""What in Windows prevents containers from using group Managed Service Accounts."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import host
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.host import Host
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.node_fit import Machine
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import GMSA_FLOORS

from tests.conftest import ROOT

from .nodes import LAYOUT, bare

WANTED = Host(HostOptions(gmsa=True), LAYOUT)


def node(build: int, revision: int) -> Reading:
    system = {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": {"build": build, "revision": revision}}
    files = {"registry:page-files": {"exists": False}}
    return bare(host.reads(LAYOUT)).merge({"system": system, **files})


def said(build: int, revision: int, wanted: Host = WANTED) -> list[str]:
    return [text for text in host.check(wanted, node(build, revision)).warnings if "gmsa" in text]


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


@pytest.mark.row("CT-49")
def test_nothing_is_said_where_no_gmsa_is_wanted_or_windows_is_newer() -> None:
    assert said(17763, 1, wanted=Host(HostOptions(), LAYOUT)) == []
    assert said(20348, 1) == said(26100, 1) == []


def test_what_no_source_names_is_said_as_such() -> None:
    assert "is not known here" in said(18363, 1)[0]
    assert all(floor.source for floor in GMSA_FLOORS)


@pytest.mark.row("CT-49", "SE-07")
def test_the_page_names_the_updates() -> None:
    page = (ROOT / "docs" / "gmsa.md").read_text(encoding="utf-8")
    for floor in GMSA_FLOORS:
        assert f"| {floor.build} | {floor.update} | 10.0.{floor.build}.{floor.revision} |" in page
    assert "[the switch](defaults.md#switches-of-windows) `EnableCompartmentNamespace`" in page
    assert Machine(17763, 1).name in "Windows Server 2019 (10.0.17763.1)"
