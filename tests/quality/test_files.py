"""Every file of the project is held against text_checks and import_checks; and each check finds what it is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.quality import import_checks, text_checks
from tests.quality.sanity import ROOT, project_files

pytestmark = pytest.mark.quick
NAMES = project_files()


@pytest.mark.parametrize(
    "check",
    [
        text_checks.not_ascii,
        text_checks.wrong_line_endings,
        pytest.param(text_checks.typographic_commands, marks=pytest.mark.row("CT-30")),
        text_checks.without_license,
        import_checks.lab_reaches_plugins,
    ],
)
def test_project(check: Callable[[Path, list[str]], list[str]]) -> None:
    assert check(ROOT, NAMES) == []


def test_no_trace_of_a_machine_is_in_the_project() -> None:
    assert text_checks.machine_traces(ROOT, NAMES, own_paths=(str(ROOT), str(Path.home()))) == []


def _write(root: Path, name: str, data: bytes | str) -> list[str]:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return [name]


@pytest.mark.parametrize(
    ("check", "name", "bad", "good"),
    [
        (text_checks.machine_traces, "a.yml", "key: /" + "home/anna/.ssh/id", "key: ~/.ssh/id"),
        (
            text_checks.machine_traces,
            "a.md",
            "from https://py" + "pi.org/simple",
            "from PyPI; see https://example.com/home/x",
        ),
        (text_checks.not_ascii, "a.ps1", "$a = '\u2013'\n", "$a = '-'\n"),
        (text_checks.wrong_line_endings, "a.ps1", b"$a\r\n", b"$a\n"),
        (text_checks.typographic_commands, "a.md", "run `ls \u2013l`", "long \u2013 dashes in prose, `ls -l` in code"),
        (
            text_checks.typographic_commands,
            "a.md",
            "```\necho \u201chi\u201d\n```\n",
            "```\necho hi\n```\n\u201chi\u201d\n",
        ),
        (text_checks.typographic_commands, "a.j2", "x = \u2018y\u2019\n", "x = 'y'\n"),
        (
            text_checks.without_license,
            "plugins/a.py",
            '"""a"""\n',
            (ROOT / "powershell/shared/json.ps1").read_bytes(),
        ),
        (
            import_checks.lab_reaches_plugins,
            "tests/lab/a.py",
            "from plugins.module_utils import x",
            "from tests.lab import x",
        ),
        (
            import_checks.lab_reaches_plugins,
            "tests/lab/a.py",
            "def f():\n    from ansible_collections.winkube.node.plugins import action\n",
            "import ansible\n",
        ),
        (
            import_checks.lab_reaches_plugins,
            "tests/lab/a.py",
            "import importlib\nimportlib.import_module('plugins.x')\n",
            "",
        ),
        (import_checks.lab_reaches_plugins, "tests/lab/a.py", "TABLE = 'plugins/plugin_" + "utils/facts'\n", ""),
    ],
)
def test_check_finds_what_it_is_for(
    check: Callable[[Path, list[str]], list[str]], name: str, bad: bytes | str, good: bytes | str, tmp_path: Path
) -> None:
    found = check(tmp_path, _write(tmp_path, name, bad))
    assert len(found) == 1
    assert found[0].startswith(name)
    assert check(tmp_path, _write(tmp_path, name, good)) == []


def test_own_paths_are_machine_traces(tmp_path: Path) -> None:
    names = _write(tmp_path, "a.txt", "cd /srv/anna/clone && make\n")
    assert text_checks.machine_traces(tmp_path, names) == []
    assert len(text_checks.machine_traces(tmp_path, names, own_paths=("/srv/anna",))) == 1


def test_each_package_says_that_it_is_private() -> None:
    faces = [path for path in (ROOT / "plugins" / "plugin_utils").rglob("__init__.py") if path.stat().st_size]
    assert faces
    silent = [path for path in faces if "Private to the collection" not in " ".join(path.read_text("utf-8").split())]
    assert silent == []
