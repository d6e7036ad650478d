"""The linter as a program of its own: a wheel from the same folders, hooks, and the metadata of a GitHub Action."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import __main__ as program
from ansible_collections.winkube.node.plugins.plugin_utils.lint.report import VERSION

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_wheel_is_made_of_the_collections_folders() -> None:
    folder = ROOT / PROJECT["tool"]["setuptools"]["package-dir"]["winkube_workload_lint"]
    packages = [name.partition(".")[2] for name in PROJECT["tool"]["setuptools"]["packages"]]
    assert all((folder / name.replace(".", "/")).is_dir() for name in packages)
    assert PROJECT["project"]["version"] == VERSION
    module, _, function = PROJECT["project"]["scripts"]["workload-lint"].partition(":")
    assert module.endswith(".lint.__main__") and callable(getattr(program, function))
    for file in (ROOT / "plugins" / "plugin_utils" / "lint").glob("*.py"):
        above = re.findall(r"^from \.\.(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(above) <= {"facts", "foreign"}, f"{file.name}: the wheel has no {above}"


def test_an_older_python_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert program.run() == 2
    assert capsys.readouterr().err == "workload-lint: it needs Python 3.10 or later, and this is an older one.\n"


def test_hook_and_action_call_the_command() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["id"], hook["entry"], hook["language"]) == ("workload-lint", "workload-lint", "python")
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    assert "bin/workload-lint" in steps[-1]["run"]
    named = set(re.findall(r"inputs\.(\w+)", str(steps)))
    assert named == set(action["inputs"])


def test_the_wheel_has_what_explain_imports() -> None:
    packages = {name.partition(".")[2] for name in PROJECT["tool"]["setuptools"]["packages"]}
    prefix = "ansible_collections.winkube.node.plugins.plugin_utils."
    code = f"import sys, {prefix}diagnosis.explain_cli; print(*sys.modules)"
    path = str(ROOT / ".venv" / "collections")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    loaded = [name.removeprefix(prefix) for name in done.stdout.split() if name.startswith(prefix)]
    assert {name.rpartition(".")[0] for name in loaded if "." in name} <= packages
    assert "ansible.errors" not in done.stdout.split()


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_wheel_runs_in_an_empty_environment(tmp_path: Path) -> None:
    """It needs a package index, for setuptools and PyYAML."""
    copy = tmp_path / "source"
    for name in ("plugins/plugin_utils", "docs/workload_lint.md"):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", str(ROOT / name), str(target)], check=True)
    for name in ("pyproject.toml", "LICENSE"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    venv.create(tmp_path / "env", with_pip=True)
    pip = [str(tmp_path / "env" / "bin" / "pip"), "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(copy)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "winkube_workload_lint/facts/feature_gates.txt" in names
    subprocess.run([*pip, "install", "-q", str(wheel)], check=True)
    pod = tmp_path / "pod.yml"
    pod.write_text("apiVersion: v1\nkind: Pod\nspec: {os: {name: windows}, hostPID: true, containers: [{name: c}]}\n")
    done = subprocess.run(
        [str(tmp_path / "env/bin/workload-lint"), str(pod)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1 and "hostPID is set to true" in done.stdout
