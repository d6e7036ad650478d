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
        assert set(above) <= {"engine", "facts", "foreign"}, f"{file.name}: the wheel has no {above}"


def test_an_older_python_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    assert program.run() == 2
    assert capsys.readouterr().err == "workload-lint: it needs Python 3.10 or later, and this is an older one.\n"


def test_hook_and_action_call_the_command() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for hook in hooks] == ["workload-lint", "workload-lint-files"]
    assert {(hook["entry"], hook["language"]) for hook in hooks} == {("workload-lint", "python")}
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert action["runs"]["using"] == "composite"
    steps = action["runs"]["steps"]
    assert "bin/workload-lint" in steps[-1]["run"]
    named = set(re.findall(r"inputs\.(\w+)", str(steps)))
    assert named == set(action["inputs"])


EXPLAINED = {
    "node.log": "panic: it ends",
    "cni.conf": '{"cniVersion": "1.0.0", "name": "cbr0", "type": "flannel"}',
    "config.toml": "version = 9\n[plugins]\n",
    "networks.json": '[{"Name": "cbr0", "Subnets": [], "ManagementIP": "10.0.0.1", "Type": "L2Bridge"}]',
}
"""A text for each way to an answer: what it needs is imported then."""
PREFIX = "ansible_collections.winkube.node.plugins.plugin_utils."


def _loaded(code: str) -> list[str]:
    """The modules of the collection that a fresh process has after it, and ansible's, without their prefix."""
    path = str(ROOT / ".venv" / "collections")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": path},
    )
    return [name.removeprefix(PREFIX) for name in done.stdout.split() if name.startswith((PREFIX, "ansible."))]


def test_the_wheel_has_what_explain_imports() -> None:
    packages = {name.partition(".")[2] for name in PROJECT["tool"]["setuptools"]["packages"]}
    loaded = _loaded(f"from {PREFIX}diagnosis.explain_cli import explain; said = explain({EXPLAINED!r})")
    assert {name.rpartition(".")[0] for name in loaded if "." in name} <= packages
    assert {"diagnosis.scene", "components.cni.judge", "components.containerd.containerd_toml"} <= set(loaded)


def test_a_log_is_explained_without_a_node() -> None:
    """Its words need neither the components nor the checks."""
    log = {"node.log": EXPLAINED["node.log"]}
    loaded = _loaded(f"from {PREFIX}diagnosis.explain_cli import explain; said = explain({log!r}); assert said")
    rooms = {name.partition(".")[0] for name in loaded}
    assert rooms <= {"components", "diagnosis", "engine", "facts", "foreign", "network", "redaction", "words"}
    assert not [
        name for name in loaded if name.startswith(("components.node", "components.registry", "diagnosis.check"))
    ]


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
