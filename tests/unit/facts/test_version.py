"""Reading and ordering versions."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version, VersionError


def test_releases_are_ordered_as_semver_orders_them() -> None:
    texts = ["1.7.9", "1.7.11", "2.0.0-alpha.3", "2.0.0-beta", "2.0.0-rc.2", "2.0.0-rc.10", "2.0.0", "v2.0.1"]
    versions = [Version.parse(text) for text in texts]
    shuffled = [versions[index] for index in (5, 1, 7, 0, 3, 2, 6, 4)]
    assert sorted(shuffled) == versions


def test_a_pre_release_is_older_than_its_release_and_longer_lists_are_newer() -> None:
    assert Version.parse("2.0.0-rc") < Version.parse("2.0.0-rc.1") < Version.parse("2.0.0")


@pytest.mark.parametrize(
    ("text", "shown", "line"),
    [
        ("1.7.11", "1.7.11", Line(1, 7)),
        ("v1.29.0", "1.29.0", Line(1, 29)),
        ("2.0.0-rc.1", "2.0.0-rc.1", Line(2, 0)),
        ("1.6.20~ds1", "1.6.20", Line(1, 6)),
        ("v1.30.2+k3s1", "1.30.2", Line(1, 30)),
        (" 1.24.3\n", "1.24.3", Line(1, 24)),
    ],
)
def test_spellings(text: str, shown: str, line: Line) -> None:
    version = Version.parse(text)
    assert str(version) == shown
    assert version.line == line


def test_what_builders_add_takes_no_part_in_comparisons() -> None:
    assert Version.parse("1.6.20~ds1") == Version.parse("1.6.20")
    assert Version.parse("1.6.20~ds1").build == "ds1"


def test_a_release_line_is_no_release() -> None:
    with pytest.raises(VersionError) as error:
        Version.parse("1.29", "kubernetes.version")
    sentence = str(error.value)
    assert sentence.startswith("kubernetes.version is '1.29', which names the release line 1.29 and no release")
    assert "'1.29.0'" in sentence


@pytest.mark.parametrize("text", ["", "latest", "1", "1.2.3.4", "1.7.x", "1.7-11"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(VersionError, match=r"containerd version is .*; wanted is a release such as '1\.29\.0'"):
        Version.parse(text, "containerd version")


def test_lines_are_read_from_lines_and_releases_and_ordered_by_number() -> None:
    assert Line.parse("1.9") < Line.parse("v1.10") == Line.parse("1.10.3")
    assert str(Line.parse("v1.10.3")) == "1.10"
    with pytest.raises(VersionError, match="node version is 'one'"):
        Line.parse("one", "node version")
