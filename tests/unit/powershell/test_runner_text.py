"""The runner as it is sent: whole, parseable, the same bytes each time."""

from __future__ import annotations

import hashlib

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node.runner_text import (
    RUNNER,
    SHARED_FILES,
    runner_sha256,
    runner_text,
    without_export,
)

from tests.unit.powershell.source import RUNNER as PIECES
from tests.unit.powershell.source import SHARED, Source, read, text


def test_the_runner_is_all_pieces_in_order() -> None:
    whole = runner_text()
    names = [path.name for path in sorted(RUNNER.glob("*.ps1"))]
    assert names[0] == "00_head.ps1" and names[-1] == "90_main.ps1"
    places = [whole.index(read(path).data.decode()) for path in PIECES]
    assert places == sorted(places)
    assert whole.endswith("Invoke-NodeRunner -StateDir $StateDir\n")


def test_its_first_statement_is_param_and_it_exports_nothing() -> None:
    source = Source("runner.ps1", runner_text().encode())
    assert source.errors() == []
    assert text(source.root).lstrip().startswith("#")
    first = next(line for line in runner_text().splitlines() if line and not line.startswith("#"))
    assert first == "param([string]$StateDir = '')"
    assert "Export-ModuleMember" not in runner_text()


def test_every_function_of_the_shared_files_is_in_it_once() -> None:
    defined = [function.name for function in Source("runner.ps1", runner_text().encode()).functions]
    assert len(defined) == len(set(defined))
    for path in SHARED:
        assert {function.name for function in read(path).functions} <= set(defined), path.name
    assert {path.name for path in SHARED} == set(SHARED_FILES)


def test_sha256_is_of_the_bytes_that_are_sent() -> None:
    assert runner_sha256() == hashlib.sha256(runner_text().encode("utf-8")).hexdigest()
    assert runner_text() is runner_text()
    assert runner_text().isascii() and "\r" not in runner_text()


def test_a_shared_file_without_export_is_refused() -> None:
    assert without_export("a\n\nExport-ModuleMember -Function @(\n 'x'\n)\n") == "a\n"
    with pytest.raises(ValueError, match="Export-ModuleMember"):
        without_export("function A { }\n")
