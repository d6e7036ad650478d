"""playbooks/files/*.ps1, which people start on a machine: both PowerShells read them, in every code page."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import rules
from .source import ROOT, Source

SCRIPTS = sorted((ROOT / "playbooks" / "files").glob("*.ps1"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_is_plain_text_that_parses_in_strict_mode(path: Path) -> None:
    source = Source(str(path), path.read_bytes())
    found = [*rules.understood(source), *rules.plain_text(source), *rules.strict_mode(source)]
    assert found == []
    # Without it PowerShell takes a misspelt parameter for an argument of no name, and the script runs without it.
    assert "\n[CmdletBinding()]\nparam(" in path.read_text(encoding="ascii")


def test_the_rules_see_these_scripts() -> None:
    assert len(SCRIPTS) >= 3
    broken = Source("x.ps1", b"Set-StrictMode -Version 2.0\nif ($a -eq 1 { }\n")
    assert list(rules.understood(broken)) and list(rules.strict_mode(Source("x.ps1", b"$a = 1\n")))
