"""The linter as a program of its own: a wheel from the same folders, hooks, and the metadata of a GitHub Action."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path, PurePosixPath

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.lint import __main__ as program
from ansible_collections.winkube.node.plugins.plugin_utils.lint.report import VERSION
from ansible_collections.winkube.node.plugins.plugin_utils.lint.rulebook import IDS

from tests.quality.import_checks import imports_of
from tests.quality.sanity import project_files

ROOT = Path(__file__).resolve().parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXPLAIN = tomllib.loads((ROOT / "packaging" / "explain" / "pyproject.toml").read_text(encoding="utf-8"))
UTILS = "plugins/plugin_utils/"
START = f"{UTILS}lint/__main__.py"


def _of_wheel() -> set[str]:
    """The files that the linter's wheel is made of."""
    names = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    folders = [f"{name}/" for name in names if (ROOT / name).is_dir()]
    return {name for name in project_files() if name in names or name.startswith(tuple(folders))}


def _imported(start: str) -> set[str]:
    """The files of the collection that a file imports, wherever in it, and what those import."""
    found: set[str] = set()
    left = [start]
    while left:
        name = left.pop()
        packages = [f"{folder}/__init__.py" for folder in map(str, PurePosixPath(name).parents)]
        for each in (name, *(each for each in packages if each.startswith(UTILS))):
            if each not in found and (ROOT / each).is_file():
                found.add(each)
                text = (ROOT / each).read_text(encoding="utf-8")
                targets = [item.target.split(".") for item in imports_of(each, text) if item.relative]
                # A module, or a name in one; a package is its __init__.
                left += [f"{'/'.join(parts)}.py" for target in targets for parts in (target, target[:-1])]
                left += [f"{'/'.join(target)}/__init__.py" for target in targets]
    return found


_READ = """
import io, sys
read = set()
sys.addaudithook(lambda event, found: event == "open" and read.add(str(found[0])))
from {prefix}lint.cli import main
for name in {rules}:
    main(["--explain", name], io.StringIO())
main(["--strict", "--level", "never", *{paths}], io.StringIO())
code = ("/__pycache__/", ".py")
print(*(each for each in read if "/plugin_utils/" in each and not any(part in each for part in code)), sep="\\n")
"""


def test_the_wheel_is_what_the_linter_imports_and_reads() -> None:
    """Data is what it opens when it checks every fixture and explains every rule."""
    fixtures = sorted(map(str, (ROOT / "tests" / "fixtures" / "lint").rglob("*.yml")))
    assert len(fixtures) > 100
    code = _READ.format(prefix=PREFIX, rules=list(IDS), paths=fixtures)
    read = {f"{UTILS}{each.partition('/plugin_utils/')[2]}" for each in _run(code)}
    used = _imported(START) | read
    assert _of_wheel() == used, f"only-include in pyproject.toml: {sorted(_of_wheel() ^ used)}"


def test_the_wheel_is_made_of_the_collections_folders() -> None:
    assert PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["sources"] == {UTILS[:-1]: "winkube_workload_lint"}
    assert PROJECT["project"]["version"] == EXPLAIN["project"]["version"] == VERSION
    module, _, function = PROJECT["project"]["scripts"]["workload-lint"].partition(":")
    assert module.endswith(".lint.__main__") and callable(getattr(program, function))


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
    names = _run(f"import sys; {code}; print(*sys.modules, sep='\\n')")
    return [name.removeprefix(PREFIX) for name in names if name.startswith((PREFIX, "ansible."))]


def _run(code: str) -> list[str]:
    """The lines that a fresh process prints."""
    environment = {"PYTHONPATH": str(ROOT / ".venv" / "collections")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.splitlines()


def test_the_wheel_of_explain_has_what_it_imports() -> None:
    included = EXPLAIN["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    packages = {to.partition("/")[2] for to in included.values()}
    assert {(ROOT / "packaging" / "explain" / name).resolve().exists() for name in included} == {True}
    assert {name.split("/")[2] for name in _imported(f"{UTILS}diagnosis/explain_cli.py")} <= packages
    loaded = _loaded(f"from {PREFIX}diagnosis.explain_cli import explain; said = explain({EXPLAINED!r})")
    assert {name.partition(".")[0] for name in loaded if "." in name} <= packages
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


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_wheels_run_in_an_empty_environment(tmp_path: Path) -> None:
    """It needs a package index, for hatchling and what they import."""
    copy = tmp_path / "source"
    for name in ("plugins/plugin_utils", "packaging"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "docs").mkdir()
    for name in ("pyproject.toml", "LICENSE", "docs/workload_lint.md"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    pip = [str(programs / "pip"), "--disable-pip-version-check"]
    sources = [str(copy), str(copy / "packaging" / "explain")]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", str(tmp_path), *sources], check=True)
    explain, wheel = sorted(tmp_path.glob("*.whl"))
    names = set(zipfile.ZipFile(wheel).namelist())
    head = f"winkube_workload_lint-{VERSION}.dist-info"
    rest = {f"{head}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    assert names == {f"winkube_workload_lint/{name.removeprefix(UTILS)}" for name in _of_wheel()} | rest
    text = (ROOT / "LICENSE").read_bytes()
    assert zipfile.ZipFile(wheel).read(f"{head}/licenses/LICENSE") == text
    assert zipfile.ZipFile(explain).read("winkube_explain/LICENSE") == text
    subprocess.run([*pip, "install", "-q", str(wheel)], check=True)
    pod = tmp_path / "pod.yml"
    pod.write_text("apiVersion: v1\nkind: Pod\nspec: {os: {name: windows}, hostPID: true, containers: [{name: c}]}\n")
    done = subprocess.run([str(programs / "workload-lint"), str(pod)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "hostPID is set to true" in done.stdout
    subprocess.run([*pip, "install", "-q", str(explain)], check=True)
    (tmp_path / "node.log").write_text("The container operating system does not match the host operating system.\n")
    command = [str(programs / "winkube-explain"), str(tmp_path / "node.log")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "build" in done.stdout, done
