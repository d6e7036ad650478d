"""Which machine can become which node: one axis changed at a time, each with its sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.node_fit import (
    Fit,
    Machine,
    problems,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import HostOptions, NetworkOptions
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes import KUBERNETES_LINES
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import OVERLAY_FLOORS, overlay_floor

MACHINE = Machine(20348, 4893)
WANTED = HostOptions(
    kubernetes_version="1.35.1",
    containerd_version="2.2.0",
    pause_image="registry.k8s.io/pause:3.10.1",
    network=NetworkOptions(mode="overlay"),
)
OLD = HostOptions(kubernetes_version="1.27.4", containerd_version="1.7.11", network=NetworkOptions(mode="overlay"))


def fit(machine: dict[str, Any] | None = None, base: HostOptions = WANTED, **wanted: Any) -> Fit:
    """The base with options that are different."""
    wanted |= {f"{name}_version": wanted.pop(name) for name in ("kubernetes", "containerd") if name in wanted}
    if "mode" in wanted:
        wanted["network"] = NetworkOptions(mode=wanted.pop("mode"))
    return problems(replace(MACHINE, **(machine or {})), replace(base, **wanted))


def test_what_fits_has_neither_refusals_nor_warnings() -> None:
    assert fit(mode="l2bridge") == Fit()
    assert fit({"build": 17763, "revision": 348}, OLD, mode="l2bridge") == Fit()
    assert problems(Machine(0, 0, "", ""), HostOptions()) == Fit()


REFUSALS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    ("VC-07", {"build": 14393}, {}, r"Windows Server 2016 \(10.0.14393.4893\) cannot be a Kubernetes node"),
    ("VC-07", {"build": 16299}, {}, "version 1709 .* cannot be a Kubernetes node"),
    ("VC-07", {"build": 17134}, {}, r"version 1803 .*nodes need Windows Server 2019 \(build 17763\) or newer"),
    ("VC-03", {"build": 25398}, {"pause_image": ""}, "Kubernetes 1.35 does not support Windows Server, version 23H2"),
    (
        "VC-03",
        {"build": 17763, "revision": 9999},
        {"containerd": "2.3.7", "kubernetes": "1.37.1", "pause_image": ""},
        r"1.37 does not support Windows Server 2019 .* new nodes join beside the old ones, .*docs/from-2019\.md",
    ),
    ("VC-03", {"kind": "Client"}, {}, "edition 'Client' .*nodes are Windows Server"),
    ("VC-03", {"kind": "Nano Server"}, {}, "edition 'Nano Server'"),
    ("VC-03", {"architecture": "arm64"}, {}, "processor is arm64; .* amd64 alone"),
    ("VC-05", {}, {"pause_image": "registry.k8s.io/pause:3.5"}, r"pause:3.5 has no manifest for Windows Server 2022"),
    ("NW-12", {"build": 17134}, {}, "overlay does not work on Windows Server, version 1803 .*service addresses"),
    ("VC-09", {}, {"containerd": "1.3.9"}, "containerd 1.3.9"),
    (
        "VC-09",
        {},
        {"containerd": "1.6.36", "kubernetes": "1.36.1", "pause_image": ""},
        "1.35 was the last for",
    ),
    (
        "VC-20",
        {},
        {"containerd": "1.5.8", "kubernetes": "1.27.4", "pause_image": ""},
        "CRI v1.*they cannot talk",
    ),
    ("VC-24", {}, {"kubernetes": "1.14.10", "pause_image": ""}, "Kubernetes 1.14 is older than 1.22"),
    ("VC-24", {}, {"kubernetes": "1.21.14", "pause_image": ""}, "older than 1.22, the oldest"),
]


@pytest.mark.row("VC-03", "VC-05", "VC-07", "NW-12", "VC-24")
@pytest.mark.parametrize(("row", "machine", "wanted", "sentence"), REFUSALS)
def test_one_axis_changed_is_one_refusal(
    row: str, machine: dict[str, Any], wanted: dict[str, Any], sentence: str
) -> None:
    assert fit().refusals == ()
    found = fit(machine, **wanted).refusals
    assert [each for each in found if re.search(sentence, each)], (row, found)


@pytest.mark.row("HP-08")
@pytest.mark.parametrize(("revision", "refused"), [(1, True), (347, True), (348, False), (379, False), (8000, False)])
def test_overlay_on_2019_needs_the_update_of_march_2019(revision: int, refused: bool) -> None:
    found = fit({"build": 17763, "revision": revision}, OLD)
    assert bool(found.refusals) is refused
    if refused:
        assert "KB4482887" in found.refusals[0]
        assert "10.0.17763.348" in found.refusals[0]
    assert fit({"build": 17763, "revision": revision}, OLD, mode="l2bridge") == Fit()


@pytest.mark.row("HP-08", "NW-12")
def test_the_floors_are_those_of_the_documents() -> None:
    assert [(floor.build, floor.revision, floor.update) for floor in OVERLAY_FLOORS] == [
        (17134, None, ""),
        (17763, 348, "KB4482887"),
    ]
    assert overlay_floor(20348) is None


@pytest.mark.row("VC-03")
def test_an_unsupported_windows_can_be_tried_but_not_one_that_cannot_work() -> None:
    tried = fit({"build": 26100}, OLD, mode="l2bridge", allow_unsupported_os=True, pause_image="mine:1")
    assert tried.refusals == ()
    assert any("tried anyway" in sentence for sentence in tried.warnings)
    assert fit({"build": 14393}, OLD, allow_unsupported_os=True).refusals
    mute = fit(containerd="1.5.8", kubernetes="1.27.4", pause_image="mine:1", allow_unsupported_os=True)
    assert any("cannot talk" in sentence for sentence in mute.refusals)


@pytest.mark.row("VC-04")
@pytest.mark.parametrize(("build", "warned"), [(17763, False), (19041, True), (19042, True)])
def test_1_22_warns_on_everything_but_2019(build: int, warned: bool) -> None:
    found = fit(
        {"build": build, "revision": 1000}, HostOptions(kubernetes_version="1.22.17", containerd_version="1.5.8")
    )
    assert found.refusals == ()
    assert any("fully supports only containers of Windows Server 2019" in each for each in found.warnings) is warned


@pytest.mark.row("VC-04")
def test_later_lines_do_not() -> None:
    assert fit({"build": 20348}, HostOptions(kubernetes_version="1.23.17", containerd_version="1.6.36")).warnings == ()


@pytest.mark.row("VC-05", "VC-13")
@pytest.mark.parametrize(
    ("image", "build"),
    [
        ("registry.k8s.io/pause:3.5", 20348),
        ("k8s.gcr.io/pause:3.5", 20348),
        ("mcr.microsoft.com/oss/kubernetes/pause:3.5", 20348),
        ("mcr.microsoft.com/oss/v2/kubernetes/pause:3.10.1", 19042),
    ],
)
def test_a_published_pause_image_is_known_by_each_of_its_names(image: str, build: int) -> None:
    (sentence,) = problems(Machine(build, 1), HostOptions(pause_image=image)).refusals
    assert sentence.startswith(f"The pause image {image} has no manifest for ")
    assert "every pod would stay in ContainerCreating" in sentence
    assert problems(Machine(17763, 1), HostOptions(pause_image=image)) == Fit()


@pytest.mark.row("VC-05")
@pytest.mark.parametrize(
    ("build", "containerd", "fits"),
    [
        (26100, "", True),
        (26100, "2.3.4", True),
        (26100, "1.7.6", True),
        (26100, "1.7.5", False),
        (26100, "1.6.22", False),
        (25398, "2.3.4", True),
        (20348, "1.6.22", True),
    ],
)
def test_from_windows_server_2022_on_the_manifest_of_the_ltsc_before_it_does(
    build: int, containerd: str, fits: bool
) -> None:
    """Equal builds were wanted on every Windows."""
    wanted = HostOptions(pause_image="registry.k8s.io/pause:3.10.1", containerd_version=containerd)
    found = problems(Machine(build, 1), wanted).refusals
    assert found == () if fits else "runs images of the node's own build alone, here 26100" in found[0]


@pytest.mark.row("VC-05")
def test_a_pause_image_of_the_users_own_is_a_warning() -> None:
    found = fit(pause_image="registry.example.com/pause:3.9")
    assert found.refusals == ()
    assert "needs a manifest for build 20348" in found.warnings[0]


@pytest.mark.row("VC-24")
def test_every_kubernetes_that_is_not_refused_knows_port_forward_on_windows() -> None:
    """It works since 1.15; today's pause images are newer than 1.4.1, the first with wincat."""
    accepted = [
        row.line
        for row in KUBERNETES_LINES
        if not any("older than" in each for each in fit(kubernetes_version=f"{row.line}.0", pause_image="").refusals)
    ]
    assert min(accepted) == Line(1, 22) > Line(1, 15)
    assert all(tuple(map(int, row.pause.split("."))) >= (1, 4, 1) for row in KUBERNETES_LINES)


def test_all_reasons_are_said_at_once() -> None:
    assert len(fit({"build": 17134, "kind": "Client", "architecture": "arm64"}).refusals) >= 4


@pytest.mark.row("NW-11")
@pytest.mark.parametrize(
    ("kubernetes", "containerd", "warned"), [("1.33.13", "2.0.5", True), ("1.34.4", "2.1.4", False)]
)
def test_overlay_is_a_warning_while_it_is_beta(kubernetes: str, containerd: str, warned: bool) -> None:
    found = fit(kubernetes_version=kubernetes, containerd_version=containerd, network=NetworkOptions(mode="overlay"))
    said = [sentence for sentence in found.warnings if "WinOverlay" in sentence]
    assert len(said) == warned
    assert all("is beta (feature gate WinOverlay). It is final from 1.34 on" in sentence for sentence in said)
    assert not [
        sentence
        for sentence in fit(kubernetes_version=kubernetes, containerd_version=containerd, mode="l2bridge").warnings
        if "WinOverlay" in sentence
    ]
