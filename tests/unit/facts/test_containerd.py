"""The tables of containerd: what is refused, what an archive is called, which config.toml a release reads."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts import containerd
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version


def line(text: str) -> containerd.ReleaseLine:
    return containerd.release_line(Version.parse(text))


@pytest.mark.row("CT-46")
@pytest.mark.parametrize("text", ["1.3.9", "1.4.0-rc.1", "1.0.0", "0.2.9"])
def test_a_containerd_before_1_4_0_is_refused(text: str) -> None:
    with pytest.raises(containerd.UnsupportedVersionError) as error:
        line(text)
    assert str(error.value).startswith(f"containerd {text} is older than 1.4.0, the first that runs Windows nodes")


@pytest.mark.row("CT-46", "VC-09")
def test_containerd_1_4_0_is_taken() -> None:
    assert line("1.4.0").line == Line(1, 4)


@pytest.mark.row("VC-20")
@pytest.mark.parametrize("text", ["1.7.11", "1.7.12", "1.6.27"])
def test_the_documents_sample_versions_are_known(text: str) -> None:
    assert line(text).config_version == 2


@pytest.mark.parametrize("text", ["1.8.0", "2.5.0", "3.0.0"])
def test_a_line_without_facts_is_refused_and_the_known_ones_are_named(text: str) -> None:
    with pytest.raises(containerd.UnsupportedVersionError, match=r"does not know; it knows 1\.4 to 2\.4"):
        line(text)


@pytest.mark.row("CT-51")
@pytest.mark.parametrize(
    ("text", "newest", "accepted"),
    [
        ("1.4.13", 2, {2}),
        ("1.6.36", 2, {2}),
        ("1.7.35", 2, {2}),
        ("2.0.14", 3, {2, 3}),
        ("2.1.9", 3, {2, 3}),
        ("2.2.9", 3, {2, 3}),
        ("2.3.0", 4, {2, 3, 4}),
        ("2.4.2", 4, {2, 3, 4}),
    ],
)
def test_versions_of_config_toml(text: str, newest: int, accepted: set[int]) -> None:
    assert line(text).config_version == newest
    assert set(line(text).places) == accepted


@pytest.mark.row("CT-48")
def test_the_pause_image_is_a_setting_of_containerd_and_moves_with_config_version_3() -> None:
    assert line("1.7.11").places[2].sandbox_image == ("plugins", "io.containerd.grpc.v1.cri", "sandbox_image")
    for version in (3, 4):
        place = line("2.3.0").places[version].sandbox_image
        assert place == ("plugins", "io.containerd.cri.v1.images", "pinned_images", "sandbox")


@pytest.mark.row("CT-51")
def test_disable_tcp_service_stays_where_it_is_in_every_version() -> None:
    places = {where.disable_tcp_service for known in containerd.RELEASE_LINES for where in known.places.values()}
    assert places == {("plugins", "io.containerd.grpc.v1.cri", "disable_tcp_service")}


def test_the_pipe_moves_into_a_plugin_with_config_version_4() -> None:
    assert line("2.2.9").places[3].grpc_address == ("grpc", "address")
    assert line("2.3.7").places[3].grpc_address == ("grpc", "address")
    assert line("2.3.7").places[4].grpc_address == ("plugins", "io.containerd.server.v1.grpc", "address")


@pytest.mark.parametrize(
    ("text", "one", "many"),
    [("1.7.11", True, False), ("2.0.14", True, False), ("2.1.9", True, True), ("2.4.2", False, True)],
)
def test_which_of_bin_dir_and_bin_dirs_a_release_reads(text: str, one: bool, many: bool) -> None:
    places = line(text).places[line(text).config_version]
    assert (places.cni_bin is not None, places.cni_bin_list is not None) == (one, many)


def test_what_a_node_needs_of_the_archive() -> None:
    assert containerd.ARCHIVE_MEMBERS == ("bin/containerd.exe", "bin/ctr.exe", "bin/containerd-shim-runhcs-v1.exe")


def test_lines_are_in_order_and_named_once() -> None:
    lines = [known.line for known in containerd.RELEASE_LINES]
    assert lines == sorted(set(lines))
