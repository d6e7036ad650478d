"""docs/architecture.md tells the tree as it is."""

from __future__ import annotations

import re

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
UTILS = ROOT / "plugins" / "plugin_utils"


def test_every_folder_and_file_of_plugin_utils_stands_in_the_tree() -> None:
    tree = PAGE.partition("```text\nplugins/\n")[2].partition("```")[0]
    named = set(re.findall(r"[\w*]+(?:/|\.py)", tree))
    there = {f"{path.name}/" for path in UTILS.iterdir() if path.is_dir() and path.name != "__pycache__"}
    there |= {path.name for path in UTILS.glob("*.py")}
    assert there - named == set()


def test_every_folder_that_the_tree_names_is_there() -> None:
    tree = PAGE.partition("  plugin_utils/\n")[2].partition("roles/winkube")[0]
    named = re.findall(r"(\w+)/(?=[\s,])", tree)
    assert [name for name in named if not (UTILS / name).is_dir() and not (UTILS / "components" / name).is_dir()] == []


def test_every_file_that_the_tree_names_is_there() -> None:
    tree = PAGE.partition("```text\nplugins/\n")[2].partition("```")[0]
    named = set(re.findall(r"(?<![\w<])([a-z_]+\.(?:py|ps1))\b", tree))
    there = {path.name for folder in ("plugins", "powershell") for path in (ROOT / folder).rglob("*.*")}
    assert len(named) > 10
    assert named - there == set()
