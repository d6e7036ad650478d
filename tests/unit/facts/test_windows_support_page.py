"""docs/windows-support.md says what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import feature_gates, flannel, windows
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import OLDEST
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line
from ansible_collections.winkube.node.plugins.plugin_utils.lint import rules_network

PAGE = Path(__file__).parents[3] / "docs" / "windows-support.md"


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def section(title: str) -> list[str]:
    """The rows of the table below a heading, without header and rule."""
    lines = text().split(f"# {title}\n", 1)[1].split("\n#", 1)[0].splitlines()
    return [line for line in lines if line.startswith("|")][2:]


@pytest.mark.row("HP-08", "NW-12")
def test_overlay() -> None:
    said = section("Overlay networks")
    for floor, line in zip(windows.OVERLAY_FLOORS, said, strict=False):
        release = windows.find_release(floor.build)
        assert release is not None
        rest = (
            f"never: {floor.why}"
            if floor.revision is None
            else f"from 10.0.{floor.build}.{floor.revision} ({floor.update})"
        )
        assert line == f"| {release.name} ({floor.build}) | {rest} |"
    assert len(said) == len(windows.OVERLAY_FLOORS) + 1


@pytest.mark.row("VC-23", "NW-19", "NW-20", "NW-21", "NW-23")
def test_floors_of_features_on_the_page_and_in_the_linter() -> None:
    assert section("Features and the Windows that brought them") == [
        f"| {each.feature} | {each.windows} (build {each.build}) | {each.line} |" for each in windows.FEATURE_FLOORS
    ]
    builds = {each.feature: each.build for each in windows.FEATURE_FLOORS}
    assert builds["session affinity by client address"] == rules_network._AFFINITY_BUILD == 19551
    assert builds["preserve-destination"] == rules_network._PRESERVE_BUILD == 18362
    assert builds["direct server return (DSR)"] == builds["the client's address preserved"] == 17763
    assert max(builds.values()) <= 20348, "the page says that 2022 has all of them"


@pytest.mark.row("VC-21")
def test_maturity() -> None:
    said = section("Maturity in Kubernetes' documentation")
    assert said == [f"| {each.feature} | {each.stage} | {each.line} |" for each in windows.MATURITY]
    for each in windows.MATURITY:
        if each.gate is not None:
            gate = feature_gates.gate("kubelet", each.gate, each.line)
            assert gate is not None and gate.stage == each.stage, each
            assert feature_gates.first_line("kubelet", each.gate) == each.line
    os_gate = feature_gates.gate("kubelet", "IdentifyPodOS", Line(1, 25))
    network = feature_gates.gate("kubelet", "WindowsHostNetwork", Line(1, 33))
    assert (os_gate and os_gate.stage, network and network.stage) == ("ga", "deprecated")


@pytest.mark.row("NW-13")
def test_how_far_flannels_backends_were() -> None:
    backends = [(each.type, each.delegate, each.maturity) for each in flannel.BACKENDS.values()]
    assert backends == [
        ("host-gw", "win-bridge", "stable"),
        ("vxlan", "win-overlay", "beta; alpha in flannel's own words"),
    ]
    page = " ".join(text().split())
    for kind, delegate, maturity in backends:
        assert f"{kind}, which delegates to {delegate}, {maturity}" in page


@pytest.mark.row("VC-11", "VC-12", "HP-12", "VC-22")
def test_what_the_page_has_to_say() -> None:
    page = " ".join(text().split())
    for sentence in (
        "Mirantis Container Runtime**, on Windows Server 2019 and newer, by cri-dockerd",
        "npipe:////./pipe/cri-dockerd",
        "Docker's own documentation says how to install it",
        "## kubeadm and Cluster API kubeadm joins a machine to a cluster and brings neither runtime, network",
        "calls kubeadm for the join (`winkube_join: kubeadm`), whose `config.yaml` it writes again only",
        "Cluster API makes whole machines out of images",
        "Use it where machines are made and thrown away; use this where they are given and stay",
        "[hand-written-nodes.md](hand-written-nodes.md)",
        "Windows Server servicing channels",
    ):
        assert sentence in page, sentence


def test_the_numbers_in_the_table_of_refusals() -> None:
    page = text()
    assert f"(build {windows.OLDEST_BUILD})" in page
    assert f"Kubernetes older than {OLDEST}" in page
    assert f"Up to Kubernetes {windows.LAST_WITH_ONE_FULLY_SUPPORTED} only" in page
