"""The list of places that reveal a secret misses none, and tells what goes around the method."""

from __future__ import annotations

from pathlib import Path

from tests.quality.revealed import HOME, find_places


def test_each_place_is_listed(tmp_path: Path) -> None:
    files = {
        "plugins/a.py": "x = secret.reveal()\nread = secret.reveal\n",
        "plugins/b.py": "x = secret._Secret__value\n",
        "tests/c.py": "x = secret.reveal()\n",
        HOME: "x = secret.reveal()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert sorted(find_places(tmp_path, files)) == [
        ("plugins/a.py:1: x = secret.reveal()", True),
        ("plugins/a.py:2: read = secret.reveal", True),
        ("plugins/b.py:1: x = secret._Secret__value", False),
    ]
