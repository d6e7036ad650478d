"""docs/hns-check.md and docs/cni-conf-check.md have every check, and what the documents ask to be said."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.check import Check
from ansible_collections.winkube.node.plugins.plugin_utils.network.cni_guess import MARKS
from ansible_collections.winkube.node.plugins.plugin_utils.words.causes_cni import RULES

from tests.quality.finding_tables import network_checks

CHECKS = network_checks()
DOCS = Path(__file__).resolve().parents[3] / "docs"
HNS = (DOCS / "hns-check.md").read_text(encoding="utf-8")
CONF = (DOCS / "cni-conf-check.md").read_text(encoding="utf-8")


def rows(page: str) -> list[list[str]]:
    """The cells of the page's tables."""
    cells = [line.strip().strip("|").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    return [[cell.strip(" |") for cell in line] for line in cells]


def told(page: str, identity: str) -> list[str]:
    return next(line for line in rows(page) if line[0] == f"`{identity}`")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_of_hns_is_told(check: Check) -> None:
    _, severity, title, cluster, *seen = told(HNS, check.id)
    assert (severity, title, cluster) == (check.cause.severity, check.cause.title, "needed" if check.needs else "")
    assert (check.cause.link in "".join(seen)) if check.cause.issue else not "".join(seen)


@pytest.mark.parametrize("identity", RULES)
def test_each_finding_of_the_linter_is_told(identity: str) -> None:
    _, severity, role, cause, mended, *_ = told(CONF, identity)
    rule = RULES[identity]
    assert (severity, cause, mended) == (rule.cause.severity, rule.cause.why, "yes" if rule.mended else "")
    assert role == ("refuses" if rule.is_refused else "warns")


def test_no_check_is_told_that_there_is_not() -> None:
    named = {line[0].strip("`") for page in (HNS, CONF) for line in rows(page) if len(line) > 3 and line[0] != "id"}
    assert named == {each.id for each in CHECKS} | set(RULES)


@pytest.mark.row("NW-04")
def test_the_plugins_that_the_documents_name_and_how_they_are_guessed() -> None:
    for name in ("Azure-CNI", "OVN-Kubernetes", "two meta-plugins", "Flannel", "Calico"):
        assert name in HNS.split("## Which CNI made it")[1], name
    for mark in MARKS:
        assert mark.pattern.replace("|", "\\|") in " | ".join(told(HNS, mark.cni)), mark


@pytest.mark.row("NW-05")
def test_what_hns_manages() -> None:
    head = " ".join(HNS.split("```yaml")[0].split())
    for word in ("networks", "endpoints", "network cards", "namespaces", "encapsulation", "load balancing rules"):
        assert word in head, word
    assert "access lists, translation of addresses" in head


@pytest.mark.row("NW-06")
def test_dns_and_routes_are_in_the_registry_and_a_plugin_has_to_ask_hns() -> None:
    said = " ".join(HNS.split("## Why there is no /etc/resolv.conf")[1].split("## ")[0].split())
    assert "DNS servers, DNS suffix, routes and metrics of a container are in its registry, not in files" in said
    assert "a container's registry is its own" in said
    assert "a CNI plugin has to tell HNS" in said
    assert "empty `resolv-conf`" in said


@pytest.mark.row("HP-06", "TS-07")
def test_mac_spoofing_on_all_adapters_of_a_virtual_machine() -> None:
    said = " ".join(HNS.split("## The hypervisor drops what pods send")[1].split())
    assert "**enable MAC address spoofing on all of their network adapters**" in said
    assert "Set-VMNetworkAdapter -VMName <machine> -MacAddressSpoofing On" in said
