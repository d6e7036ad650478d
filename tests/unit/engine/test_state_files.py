"""Each field of each file that a node keeps and a run reads, with another value: the run continues without it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import images, made_files
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources import programs
from ansible_collections.winkube.node.plugins.plugin_utils.repair import hns
from ansible_collections.winkube.node.plugins.plugin_utils.task import other_run

from tests.unit.components.nodes import LAYOUT

STRANGE: tuple[Any, ...] = ("x", "", 7, -1, 1.5, 1e300, True, None, [], ["x"], [[1]], {}, {"x": [1]})
STATE = LAYOUT.state_dir
RECEIPT = {
    "schema": 1,
    "source": {"url": "u", "sha256": "ab", "version": "1", "by": "a", "at": "2026-11-21T09:00:00Z", "images": ["i"]},
    "files": [{"path": "C:\\k\\kubelet.exe", "sha256": "ab"}],
}
CHANGE = {"at": "2026-11-21T09:00:00Z", "by": "a", "id": "b", "was": "c"}
RECEIPTS = f"{STATE}\\receipts"
READERS: dict[str, tuple[str, Any, Callable[[Reading, str], object]]] = {
    "version": (f"{RECEIPTS}\\kubelet.json", RECEIPT, programs.read_version),
    "pushed": (f"{RECEIPTS}\\provision-kubelet.json", RECEIPT, programs.read_pushed_build),
    "images": (f"{RECEIPTS}\\images.json", RECEIPT, lambda reading, path: images.list_recorded(LAYOUT, reading)),
    "registries": (f"{RECEIPTS}\\registries.json", RECEIPT, made_files.read_recorded_paths),
    "networks": (
        f"{STATE}\\networks.json",
        {"networks": {"cbr0": "9dd9"}},
        lambda reading, path: hns.list_recorded(LAYOUT, reading),
    ),
    "changes": (
        LAYOUT.changes,
        {"schema": 1, "components": {"kubelet": CHANGE, "reset": {**CHANGE, "at": "2026-11-21T08:00:00Z"}}},
        lambda reading, path: other_run.describe(reading, LAYOUT, "kubelet", "other", frozenset("c")),
    ),
}


def spoiled(found: Any, value: Any) -> Iterator[Any]:
    """The document with the value in place of each of its parts."""
    yield value
    for key in found if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ():
        for part in spoiled(found[key], value):
            changed = found.copy()
            changed[key] = part
            yield changed


def read(name: str, document: Any) -> object:
    path, _, reader = READERS[name]
    content = base64.b64encode(json.dumps(document).encode()).decode()
    parts = {
        "system": {"clock": "2026-11-21T09:10:00Z"},
        file_key(path): {"exists": True, "kind": "file", "content": content},
        file_key("C:\\k\\kubelet.exe"): {"exists": True, "kind": "file", "sha256": "ab"},
    }
    return reader(Reading(parts), path)


@pytest.mark.parametrize("name", READERS)
def test_a_field_of_another_type_stops_no_run(name: str) -> None:
    whole = read(name, READERS[name][1])
    assert whole, "the reader reads nothing at all"
    for value in STRANGE:
        for document in spoiled(READERS[name][1], value):
            found = read(name, document)
            assert type(found) is type(whole) or found is None, document
            assert not isinstance(found, tuple) or all(isinstance(each, str) for each in found), document


def test_what_is_no_list_and_no_path_is_not_made_one() -> None:
    assert read("images", {**RECEIPT, "source": {"images": "nano"}}) == ()
    assert read("registries", {**RECEIPT, "files": [{"path": [1]}, {"path": 7}, {"path": "x"}]}) == ()
