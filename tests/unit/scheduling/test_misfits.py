"""After an upgrade of Windows: which pods no longer fit."""

from __future__ import annotations

from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.misfits import list_misfits


def test_after_an_upgrade_of_windows_the_pods_that_no_longer_fit_are_named() -> None:
    pods = [
        {"namespace": "a", "name": "old", "images": ["mcr.microsoft.com/windows/servercore:ltsc2019"], "build": ""},
        {"namespace": "a", "name": "last", "images": ["mcr.microsoft.com/windows/servercore:ltsc2022"], "build": ""},
        {"namespace": "a", "name": "who-knows", "images": ["registry.example.com/shop:1.2"], "build": ""},
        {"namespace": "a", "name": "pinned", "images": [], "build": "10.0.20348"},
    ]
    assert list(list_misfits(pods, 26100)) == [
        "a/old: mcr.microsoft.com/windows/servercore:ltsc2019 is for build 17763; a host of build 26100 runs images of"
        " the builds 20348 to 26100.",
        "a/pinned: its nodeSelector wants node.kubernetes.io/windows-build=10.0.20348; the host is now 10.0.26100.",
    ]
    assert list(list_misfits(pods[1:], 20348)) == []
