"""Every entry says where it is from, and those that nobody could check are counted: the number may only fall."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.facts import (
    containerd,
    kubernetes,
    rows,
    service_wrappers,
    windows,
)
from ansible_collections.winkube.node.plugins.plugin_utils.facts.rows import FILES, read_rows

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


@pytest.mark.parametrize("file", FILES)
def test_every_row_of_a_data_file_names_its_source(file: str) -> None:
    rows = read_rows(file)
    assert rows
    assert [row for row in rows if len(row["source"]) < 10] == []
    assert len({json.dumps(row) for row in rows}) == len(rows)


def test_each_data_file_is_looked_at() -> None:
    assert sorted(path.name for path in Path(rows.__file__).parent.glob("*.json")) == sorted(FILES)
