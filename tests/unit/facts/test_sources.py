"""Every entry says where it is from, and those that nobody could check are counted: the number may only fall."""

from __future__ import annotations

from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.facts import (
    containerd,
    kubernetes,
    service_wrappers,
    windows,
)

ENTRIES: tuple[Any, ...] = (
    *containerd.RELEASE_LINES,
    *kubernetes.KUBERNETES_LINES,
    *kubernetes.PAUSE_IMAGES,
    *windows.WINDOWS_RELEASES,
    *windows.HOST_SUPPORT,
    *service_wrappers.NSSM_RELEASES,
    *(daemon.kind for daemon in DAEMONS.values()),
)


def test_every_entry_names_its_source() -> None:
    assert not [entry for entry in ENTRIES if len(entry.source) < 10]


def test_entries_without_proof() -> None:
    unverified = [entry for entry in ENTRIES if entry.unverified]
    assert len(unverified) == 6, "\n".join(repr(entry) for entry in unverified)
