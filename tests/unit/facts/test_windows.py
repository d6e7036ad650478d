"""The tables of Windows Server."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import (
    OLDEST_BUILD,
    WINDOWS_RELEASES,
    find_release,
    list_builds,
)


def names(line: str) -> list[str]:
    found = [find_release(build) for build in list_builds(Line.parse(line))]
    return [release.name.removeprefix("Windows Server").strip(", ") for release in found if release]


@pytest.mark.row("VC-06", "SC-13")
def test_builds() -> None:
    builds = {release.name.rpartition(" ")[2]: release.build for release in WINDOWS_RELEASES}
    assert builds == {
        "2016": 14393,
        "1709": 16299,
        "1803": 17134,
        "2019": 17763,
        "1903": 18362,
        "1909": 18363,
        "2004": 19041,
        "20H2": 19042,
        "2022": 20348,
        "23H2": 25398,
        "2025": 26100,
    }
    assert [release.name for build in (17763, 20348, 26100) if (release := find_release(build))] == [
        "Windows Server 2019",
        "Windows Server 2022",
        "Windows Server 2025",
    ]
    assert find_release(12345) is None


@pytest.mark.row("VC-01")
def test_1_22_supports_2019_and_two_semi_annual_releases() -> None:
    assert names("1.22") == names("1.21") == ["2019", "version 2004", "version 20H2"]
    assert names("1.20") == ["2019", "version 1909", "version 2004"]


@pytest.mark.row("VC-02")
def test_1_27_supports_2019_2022_and_20h2() -> None:
    assert names("1.27") == ["2019", "version 20H2", "2022"]


def test_since_1_36_only_2022_and_2025() -> None:
    assert names("1.36") == names("1.37") == ["2022", "2025"]
    assert names("1.34") == ["2019", "2022"]
    assert names("1.99") == []


def test_no_kubernetes_supports_2016_1709_or_1803() -> None:
    old = {release.build for release in WINDOWS_RELEASES if release.build < OLDEST_BUILD}
    assert old == {14393, 16299, 17134}
    for minor in range(20, 38):
        assert not old & set(list_builds(Line(1, minor)))


@pytest.mark.row("VC-22")
def test_channels() -> None:
    channels = {release.name: release.channel for release in WINDOWS_RELEASES}
    assert {name for name, channel in channels.items() if channel == "LTSC"} == {
        f"Windows Server {year}" for year in (2016, 2019, 2022, 2025)
    }
    assert {name for name, channel in channels.items() if channel == "SAC"} == {
        f"Windows Server, version {number}" for number in ("1709", "1803", "1903", "1909", "2004", "20H2")
    }
    assert channels["Windows Server, version 23H2"] == "AC"
    assert len(channels) == 11
