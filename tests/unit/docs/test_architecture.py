"""docs/architecture.md and CONTRIBUTING's walk tell the tree as it is."""

from __future__ import annotations

import re

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALK = (
    (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## One value, followed")[2].partition("\n## ")[0]
)
UTILS = ROOT / "plugins" / "plugin_utils"
ROWS = re.findall(r"^\| `([^`]+)` \| (.+) \|$", WALK, re.MULTILINE)


def test_every_folder_and_file_that_the_rooms_name_is_there() -> None:
    rooms = PAGE.partition("## The rooms")[2].partition("\n## ")[0]
    there = {path.name for folder in ("plugins", "powershell") for path in (ROOT / folder).rglob("*.*")}
    named = set(re.findall(r"`([a-z_]+\.(?:py|ps1))`", rooms))
    assert len(named) > 8
    assert named - there == set()
    packages = re.findall(r"\*\*`(\w+)`\*\*", rooms)
    assert len(packages) > 5
    assert [name for name in packages if not (UTILS / name).is_dir()] == []


def test_the_walk_has_its_steps() -> None:
    assert ROWS


@pytest.mark.parametrize(("file", "told"), ROWS, ids=[file for file, _ in ROWS])
def test_what_the_walk_names_stands_in_the_file(file: str, told: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    names = [name for name in re.findall(r"`([^`]+)`", told) if not name.startswith(("spec.", "nssm.exe set"))]
    assert [name for name in names if name not in text] == []
