"""A receipt of an unknown shape counts as missing: the next run writes it again instead of failing."""

from __future__ import annotations

import base64

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import (
    read_pushed_build,
    read_version,
    receipt_of,
)

FILE = '{"path": "C:\\\\k\\\\kubelet.exe", "sha256": "ab"}'
DAMAGED = [
    *(
        "",
        "{",
        "null",
        "1",
        "true",
        '"x"',
        "[]",
        "[1]",
        "{}",
        "\x00\x00",
        "[" * 100_000,
        "not JSON",
        "1e999",
        '{"a": 1}',
    ),
    *(
        f'{{"files": {files}, "source": {{"version": "1"}}}}'
        for files in ("1", "null", "true", '"ab"', "{}", '{"a": 1}')
    ),
    *(
        f'{{"files": [{file}], "source": {{"version": "1"}}}}'
        for file in ("1", "null", '"ab"', "[]", "{}", '{"path": 1}')
    ),
    *(
        f'{{"files": [{{"path": {path}, "sha256": {digest}}}], "source": {{"version": "1"}}}}'
        for path in ("1", "null", "[]")
        for digest in ('"ab"', "1", "{}")
    ),
    *(f'{{"files": [{FILE}], "source": {source}}}' for source in ("1", "null", '"x"', "[]", "true")),
]


@pytest.mark.parametrize("text", DAMAGED, ids=lambda text: text[:60] or "empty")
def test_a_damaged_receipt_is_none(text: str) -> None:
    path = receipt_of("C:\\ProgramData\\winkube", "kubelet")
    content = base64.b64encode(text.encode()).decode()
    program = {"exists": True, "kind": "file", "sha256": "ab"}
    parts = {
        file_key(path): {"exists": True, "kind": "file", "content": content},
        file_key("C:\\k\\kubelet.exe"): program,
    }
    reading = Reading(parts)
    assert read_version(reading, path) == "" and read_pushed_build(reading, path) is None


def test_there_are_forty_of_them() -> None:
    assert len(DAMAGED) >= 40
