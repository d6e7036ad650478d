"""The tables of Kubernetes: pause images and which containerd goes with which Kubernetes."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import kubernetes
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes import pair, pause_image
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version


def verdict(line: str, containerd: str) -> str:
    return pair(Line.parse(line), Version.parse(containerd))[0]


@pytest.mark.row("VC-13")
def test_the_pause_image_of_1_22_is_the_documents_from_a_registry_that_is_still_served() -> None:
    assert pause_image(Line(1, 22)) == "registry.k8s.io/pause:3.5"
    assert pause_image(Line(1, 22), "microsoft") == "mcr.microsoft.com/oss/kubernetes/pause:3.5"


@pytest.mark.row("VC-14", "VC-16")
def test_the_pause_image_of_1_27_is_the_documents() -> None:
    assert pause_image(Line(1, 27)) == "registry.k8s.io/pause:3.6"
    assert pause_image(Line(1, 27), "microsoft") == "mcr.microsoft.com/oss/kubernetes/pause:3.6"


@pytest.mark.row("VC-16")
@pytest.mark.parametrize(
    ("line", "image"),
    [
        ("1.29", "mcr.microsoft.com/oss/kubernetes/pause:3.9"),
        ("1.33", "mcr.microsoft.com/oss/kubernetes/pause:3.10"),
        ("1.35", "mcr.microsoft.com/oss/v2/kubernetes/pause:3.10.1"),
        ("1.37", "mcr.microsoft.com/oss/v2/kubernetes/pause:3.10.2"),
    ],
)
def test_microsofts_signed_pause_image(line: str, image: str) -> None:
    assert pause_image(Line.parse(line), "microsoft") == image


@pytest.mark.row("VC-14")
def test_the_frozen_registry_is_never_a_default() -> None:
    for known in kubernetes.KUBERNETES_LINES:
        assert not pause_image(known.line).startswith("k8s.gcr.io")


@pytest.mark.row("VC-15")
@pytest.mark.parametrize("source", ["kubernetes", "microsoft"])
def test_the_samples_old_pause_image_is_never_chosen(source: str) -> None:
    images = {pause_image(known.line, source) for known in kubernetes.KUBERNETES_LINES}
    assert not [image for image in images if image.endswith(":1.4.1")]
    assert len(images) > 3


@pytest.mark.parametrize(
    ("line", "build", "tag"),
    [("1.35", 20348, "3.10.1"), ("1.35", 26100, "3.10.2"), ("1.36", 20348, "3.10.2"), ("1.22", 20348, "3.6")],
)
def test_with_the_nodes_build_the_tag_is_one_that_has_a_manifest_for_it(line: str, build: int, tag: str) -> None:
    assert pause_image(Line.parse(line), build=build) == f"registry.k8s.io/pause:{tag}"


def test_a_build_without_a_manifest_of_its_own_takes_what_it_runs() -> None:
    """23H2 had no pause image at all, although it runs the one of 2022."""
    assert pause_image(Line(1, 34), build=25398) == "registry.k8s.io/pause:3.10.1"


def test_a_build_without_a_pause_image_is_said_so() -> None:
    with pytest.raises(
        kubernetes.NoPauseImageError, match=r"Kubernetes 1\.36 from the source 'kubernetes' .* build 18363"
    ):
        pause_image(Line(1, 36), build=18363)
    with pytest.raises(kubernetes.NoPauseImageError, match=r"Kubernetes 1\.99 is not one that .*kubernetes_version"):
        pause_image(Line(1, 99))


def test_the_default_pause_image_runs_on_some_build_that_its_kubernetes_supports() -> None:
    from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import list_builds

    tags = {image.tag: image for image in kubernetes.PAUSE_IMAGES}
    for known in kubernetes.KUBERNETES_LINES:
        assert set(tags[known.pause].builds) & set(list_builds(known.line)), known.line
        for build in list_builds(known.line):
            assert pause_image(known.line, build=build)


@pytest.mark.row("CT-46", "VC-09")
def test_containerd_with_a_kubernetes_before_1_20_is_refused() -> None:
    found, sentence = pair(Line(1, 19), Version.parse("1.4.13"))
    assert found == "refused"
    assert sentence == "containerd runs Windows nodes from Kubernetes 1.20 on; this is Kubernetes 1.19."


@pytest.mark.row("CT-46", "VC-09", "VC-20")
@pytest.mark.parametrize(
    ("line", "containerd", "wanted"),
    [
        ("1.20", "1.4.13", "fits"),
        ("1.22", "1.6.36", "fits"),
        ("1.22", "2.0.14", "refused"),  # v1alpha2 alone against v1 alone
        ("1.23", "2.0.14", "fits"),
        ("1.26", "1.5.18", "refused"),  # v1 alone against v1alpha2 alone
        ("1.29", "1.7.11", "fits"),  # the documents' pair
        ("1.29", "1.7.10", "untested"),
        ("1.29", "1.6.27", "fits"),
        ("1.35", "1.7.28", "fits"),
        ("1.35", "1.7.27", "untested"),
        ("1.35", "2.3.7", "fits"),  # newer than what was there when 1.35 came out
        ("1.34", "2.0.5", "untested"),
        ("1.36", "1.7.35", "refused"),
        ("1.36", "2.2.0", "fits"),
        ("1.36", "2.1.9", "untested"),
        ("1.37", "2.3.7", "fits"),
        ("1.37", "2.2.9", "untested"),
        ("1.38", "2.4.2", "untested"),
    ],
)
def test_pairs(line: str, containerd: str, wanted: str) -> None:
    assert verdict(line, containerd) == wanted


@pytest.mark.row("VC-20")
@pytest.mark.parametrize("containerd", ["1.7.11", "1.7.12", "1.6.27"])
def test_the_documents_versions_are_in_the_matrix_and_what_lies_beyond_it_is_said(containerd: str) -> None:
    assert pair(Line(1, 29), Version.parse(containerd)) == ("fits", "")
    assert pair(Line(1, 38), Version.parse(containerd)) == (
        "untested",
        "Kubernetes 1.38 is newer than 1.37, the newest this collection knows.",
    )


def test_a_refused_pair_says_why_and_what_to_take() -> None:
    assert pair(Line(1, 26), Version.parse("1.5.18"))[1] == (
        "The kubelet of Kubernetes 1.26 speaks CRI v1, containerd 1.5.18 serves v1alpha2: they cannot talk. "
        "Recommended: 1.6.15 or later 1.6, 1.7.0 or later 1.7."
    )
    assert pair(Line(1, 36), Version.parse("1.7.35"))[1].startswith(
        "Kubernetes 1.35 was the last for containerd 1.x; this is 1.36 with containerd 1.7.35."
    )


def test_the_supported_lines_and_the_default_containerd_go_together() -> None:
    newest = kubernetes.kubernetes_line(kubernetes.SUPPORTED[-1])
    assert newest is not None and kubernetes.DEFAULT_CONTAINERD in {first.line for first in newest.containerd}
    assert all(kubernetes.kubernetes_line(line) is not None for line in kubernetes.SUPPORTED)
