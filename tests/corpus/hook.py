"""Whether the pre-commit hook reports what a run of the command in the folder reports, in repositories made for it.

In each a whole run (`pre-commit run --all-files`), a commit that touches one file of a base or a template, and the
command itself, with and without a name, have to give the same list. pre-commit comes from PyPI, into the shared cache.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.cache import locked, shared
from tests.corpus import rendered_by

ROOT = Path(__file__).resolve().parents[2]
VERSION = "4.7.0"
LINT = "-m ansible_collections.winkube.node.plugins.plugin_utils.lint"

_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  hostPID: true
  containers: [{name: c, image: registry.example.com/c:1, resources: {limits: {cpu: 1, memory: 1Gi}}}]
"""
_CHART = "apiVersion: v2\nname: web\nversion: 0.1.0\n"
REPOSITORIES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "a chart": (
        "charts/web/templates/pod.yaml",
        {
            "charts/web/Chart.yaml": _CHART,
            "charts/web/values.yaml": "name: web\n",
            "charts/web/ci/long-values.yaml": "name: a-long-name\n",
            "charts/web/ci/short-values.yaml": "name: web\n",
            "charts/web/templates/_names.tpl": '{{ define "web.name" }}{{ .Values.name }}{{ end }}\n',
            "charts/web/templates/pod.yaml": _POD.replace("NAME", '{{ include "web.name" . }}'),
            "charts/needs/Chart.yaml": _CHART.replace("web", "needs"),
            "charts/needs/templates/pod.yaml": _POD.replace("NAME", '{{ required "a name" .Values.name }}'),
        },
    ),
    "an overlay": (
        "apps/base/pod.yml",
        {
            "apps/base/kustomization.yaml": "resources: [pod.yml]\n",
            "apps/base/pod.yml": _POD.replace("NAME", "web"),
            "apps/prod/kustomization.yaml": "resources: [../base]\npatches: [{path: more.yml}]\n",
            "apps/prod/more.yml": "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {hostIPC: true}\n",
            "apps/test/kustomization.yaml": "resources: [../base]\nnamePrefix: test-\n",
        },
    ),
    "paths, and more names than one command line holds": (
        "deploy/one.yml",
        {
            ".workload-lint.yml": 'paths: [deploy, charts]\nprofile: "1.33"\nexclude: [deploy/old]\n',
            ".gitignore": "made/\n",
            "deploy/one.yml": _POD.replace("NAME", "one"),
            "deploy/old/two.yml": _POD.replace("NAME", "two"),
            "elsewhere/three.yml": _POD.replace("NAME", "three"),
            "made/four.yml": _POD.replace("NAME", "four"),
            "charts/web/Chart.yaml": _CHART,
            "charts/web/templates/pod.yaml": _POD.replace("NAME", "chart"),
            **{f"deploy/many/{'x' * 180}-{n}.yml": "apiVersion: v1\nkind: ConfigMap\n" for n in range(800)},
        },
    ),
}


def pre_commit() -> Path:
    """The program, made once. CalledProcessError where PyPI cannot be reached."""
    folder = shared(f"pre-commit-{VERSION}")
    with locked(f"pre-commit-{VERSION}"):
        if not (folder / "bin" / "pre-commit").exists():
            venv.create(folder, with_pip=True)
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", f"pre-commit=={VERSION}"]
            subprocess.run(pip, check=True, capture_output=True)
    return folder / "bin" / "pre-commit"


def hook_equals_folder() -> dict[str, bool] | None:
    """By repository; None where helm, kubectl or pre-commit are not there."""
    if rendered_by.missing():
        return None
    try:
        program = pre_commit()
    except (OSError, subprocess.SubprocessError):
        return None
    return {name: _is_equal(program, *each) for name, each in REPOSITORIES.items()}


def _is_equal(program: Path, touched: str, files: Mapping[str, str]) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "repository")
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text, encoding="utf-8")
        environment = {
            **os.environ,
            "PATH": f"{rendered_by.folder()}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / ".venv" / "collections"),
            "HOME": folder,
            "PRE_COMMIT_HOME": f"{folder}/pre-commit",
            **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }

        def run(*command: str) -> None:
            subprocess.run(command, cwd=made, env=environment, capture_output=True, check=False)

        def listed(*command: str) -> list[Any]:
            report = Path(folder, "report.json")
            report.unlink(missing_ok=True)
            run(*command)
            return list(json.loads(report.read_text(encoding="utf-8"))["findings"])

        (hook,) = [
            each
            for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
            if each["id"] == "workload-lint"
        ]
        to_file = ["--output", f"json={folder}/report.json"]
        hook |= {"entry": f"{sys.executable} {LINT}", "language": "system", "args": to_file}
        config = {"repos": [{"repo": "local", "hooks": [hook]}]}
        (made / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        run("git", "init", "--quiet")
        run("git", "add", ".")
        all_files = listed(str(program), "run", "--all-files")
        run("git", "commit", "--quiet", "-m", "all")
        with (made / touched).open("a", encoding="utf-8") as file:
            file.write("# touched\n")
        run("git", "add", ".")
        one_commit = listed(str(program), "run")
        alone = listed(sys.executable, *LINT.split(), *to_file)
        named = ["deploy", "charts"] if ".workload-lint.yml" in files else ["."]
        folder_run = listed(sys.executable, *LINT.split(), *to_file, *named)
        return bool(all_files) and all_files == one_commit == alone == folder_run


if __name__ == "__main__":
    print(hook_equals_folder())
