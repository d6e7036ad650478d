"""Modules and roles say what they have to; and the checks find what they are for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.documentation_checks import role_problems, undocumented_modules
from tests.quality.sanity import ROOT

pytestmark = pytest.mark.quick

_DOCUMENTED = '''DOCUMENTATION = r"""
module: win_thing
attributes:
  check_mode: {support: full, description: Can run in check mode.}
  diff_mode: {support: full, description: Returns a diff.}
  platform: {platforms: windows, description: Where it runs.}
"""
'''


def test_every_module_tells_how_it_behaves() -> None:
    assert undocumented_modules(ROOT) == []


def test_every_role_has_readme_spec_and_equal_defaults() -> None:
    assert role_problems(ROOT) == []


def _module(root: Path, name: str, text: str) -> None:
    folder = root / "plugins" / "modules"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def test_module_checks(tmp_path: Path) -> None:
    _module(tmp_path, "win_thing.py", _DOCUMENTED)
    assert undocumented_modules(tmp_path) == []
    (tmp_path / "plugins" / "doc_fragments").mkdir()
    fragment = 'class ModuleDocFragment:\n    DOCUMENTATION = """' + _DOCUMENTED.partition("win_thing\n")[2]
    (tmp_path / "plugins" / "doc_fragments" / "attributes.py").write_text(fragment, encoding="utf-8")
    extends = 'DOCUMENTATION = """\nmodule: win_more\nextends_documentation_fragment: [winkube.node.attributes]\n"""\n'
    _module(tmp_path, "win_more.py", extends)
    assert undocumented_modules(tmp_path) == []

    _module(tmp_path, "bare.py", "x = 1\n")
    _module(tmp_path, "other.py", _DOCUMENTED)
    _module(
        tmp_path,
        "quiet.py",
        _DOCUMENTED.replace("win_thing", "quiet").replace(
            "  diff_mode: {support: full, description: Returns a diff.}\n", ""
        ),
    )
    _module(tmp_path, "probe.ps1", "#!powershell\n")
    _module(tmp_path, "apply.ps1", "#!powershell\n")
    _module(tmp_path, "apply.yml", "DOCUMENTATION: {module: apply}\n")
    assert undocumented_modules(tmp_path) == [
        "plugins/modules/apply.yml: its attributes do not tell check_mode, diff_mode, platform",
        "plugins/modules/bare.py: no DOCUMENTATION in bare.py",
        "plugins/modules/other.py: documents 'win_thing', not 'other'",
        "plugins/modules/probe.ps1: no DOCUMENTATION in probe.yml",
        "plugins/modules/quiet.py: its attributes do not tell diff_mode",
    ]


def _role(root: Path, name: str, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = root / "roles" / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


_SPEC = """argument_specs:
  main:
    options:
      winkube_root: {type: path, default: 'C:\\k'}
      winkube_level: {type: int, default: 4}
      winkube_version: {type: str, required: true}
"""


def test_role_checks(tmp_path: Path) -> None:
    readme = "`winkube_root`, `winkube_level`, `winkube_version`\n"
    _role(tmp_path, "winkube", {"defaults/main.yml": "winkube_root: 'C:\\k'\n"})
    _role(tmp_path, "winkube", {"README.md": "`winkube_root`\n"})
    spec = "argument_specs: {main: {options: {winkube_root: {type: path, default: 'C:\\k'}}}}\n"
    _role(tmp_path, "winkube", {"meta/shared_variables.yml": spec})
    _role(
        tmp_path,
        "good",
        {"README.md": readme, "meta/argument_specs.yml": _SPEC, "defaults/main.yml": "winkube_level: 4\n"},
    )
    assert role_problems(tmp_path) == []

    _role(tmp_path, "empty", {"tasks/main.yml": "[]\n"})
    defaults = "winkube_level: 5\nwinkube_version: '1'\nwinkube_stray: 1\n"
    _role(tmp_path, "wrong", {"README.md": "`winkube_root`, `winkube_version`\n", "meta/argument_specs.yml": _SPEC})
    _role(tmp_path, "wrong", {"defaults/main.yml": defaults})
    _role(tmp_path, "winkube", {"defaults/main.yml": "{}\n"})
    assert role_problems(tmp_path) == [
        "roles/empty: no README.md",
        "roles/empty: no argument_specs in meta/argument_specs.yml",
        "roles/good: the spec gives winkube_root the default 'C:\\\\k', defaults/main.yml does not have it",
        "roles/winkube: the spec gives winkube_root the default 'C:\\\\k', defaults/main.yml does not have it",
        "roles/wrong: the spec gives winkube_root the default 'C:\\\\k', defaults/main.yml does not have it",
        "roles/wrong: README.md does not name `winkube_level`",
        "roles/wrong: winkube_level is 4 in the spec and 5 in defaults/main.yml",
        "roles/wrong: winkube_version is '1' in defaults/main.yml and has no default in the spec",
        "roles/wrong: winkube_stray has a default but is not an option of the spec",
    ]
