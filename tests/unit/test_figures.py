"""What `make figures` counts, and as what."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.figures.__main__ import lines
from tests.figures.size import last_tag, measure, read_revision

FILE = '''"""A table."""

TABLE = {
    "a": 1,
}


@cache
def f() -> int:
    """What it is."""
    x = 1

    return x
'''
ROOM = "plugins/plugin_utils/engine"


def test_a_line_is_program_table_data_script_or_test() -> None:
    size = measure(
        {
            f"{ROOM}/a.py": FILE,
            f"{ROOM}/deeper/b.py": "x = 1\n",
            f"{ROOM}/a.txt": "one\ntwo\n",
            "plugins/action/c.py": "",
            "powershell/runner/a.ps1": "$a\n",
            "tests/unit/engine/test_a.py": FILE,
            "tests/times.py": "x = 1\n",
            "docs/a.md": "# Two words\n",
        }
    )
    assert (size.program, size.tables) == ({ROOM: 4}, {ROOM: 6})
    assert (size.data, size.scripts) == ({ROOM: 2}, {"powershell": 1})
    assert size.tests == {"tests/unit": 13, "tests": 1}
    assert size.functions == (5,)
    assert size.total()["words"] == 3


def test_revisions_stand_side_by_side() -> None:
    old, new = measure({f"{ROOM}/a.py": FILE}), measure({"plugins/action/b.py": FILE})
    table = list(lines({"HEAD": new, "v1": old}))
    assert table[0].split() == ["lines", "in", "functions", "and", "classes", "HEAD", "v1"]
    rows = [line.split() for line in table[1:4]]
    assert rows == [["plugins/action", "4", "0"], [ROOM, "0", "4"], ["total", "4", "4"]]


def test_a_revision_is_read_from_git_and_the_last_tag_is_found(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "tag.gpgSign=false", *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    (tmp_path / "b.bin").write_bytes(b"\0")
    git("add", "-A")
    git("commit", "-q", "-m", "a")
    assert last_tag(tmp_path) is None
    git("tag", "v1")
    (tmp_path / "a.txt").write_text("two\n", encoding="utf-8")
    git("commit", "-q", "-a", "-m", "b")
    assert last_tag(tmp_path) == "v1"
    assert [read_revision(tmp_path, name) for name in ("HEAD", "v1")] == [{"a.txt": "two\n"}, {"a.txt": "one\n"}]
    with pytest.raises(subprocess.CalledProcessError):
        read_revision(tmp_path, "v2")
