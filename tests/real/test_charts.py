"""Charts and overlays by real helm and kubectl: why one is not checked, and dependencies that are fetched if asked."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from tests.corpus import rendered_by
from tests.unit.lint.command import COMMAND, ENVIRONMENT

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: {{ required "a name is needed" .Values.name }}}
spec:
  os: {name: windows}
  nodeSelector: {kubernetes.io/os: windows}
  hostPID: true
  containers: [{name: c, image: registry.example.com/c:1, resources: {limits: {cpu: 1, memory: 1Gi}}}]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if absent := rendered_by.missing():
        pytest.skip(
            f"lane real: not there: {', '.join(absent)}; `python -m tests.real.build {' '.join(absent)}` builds"
        )
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    home = {"HOME": str(folder / "home"), "PATH": f"{rendered_by.folder()}:{os.environ['PATH']}"}
    return {**ENVIRONMENT, **home}


def linted(folder: Path, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [*COMMAND, "--format", "json", *options], cwd=folder, env=environment(folder), capture_output=True, text=True
    )
    assert not done.stderr
    return {"status": done.returncode, **json.loads(done.stdout)}


def chart(folder: Path, head: str, files: Mapping[str, str] = MappingProxyType({})) -> Path:
    folder.mkdir(parents=True)
    (folder / "Chart.yaml").write_text(f"apiVersion: v2\nname: {folder.name}\nversion: 0.1.0\n{head}", encoding="utf-8")
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_each_reason_why_a_chart_is_not_checked(folder: Path) -> None:
    """The four of public repositories: values that are required, dependencies, a schema; a library chart is silent."""
    chart(folder / "required", "", {"templates/pod.yaml": POD})
    chart(folder / "depends", "dependencies: [{name: a, version: 1.0.0, repository: https://charts.invalid}]\n")
    schema = '{"type": "object", "required": ["name"]}'
    chart(folder / "schema", "", {"templates/pod.yaml": POD, "values.schema.json": schema})
    chart(folder / "common", "type: library\n", {"templates/a.yaml": '{{ define "a" }}{{ end }}'})
    said = linted(folder, ".")
    reasons = {each["file"]: each["message"] for each in said["findings"]}
    assert said["status"] == 0 and set(reasons) == {f"{name}/Chart.yaml" for name in ("required", "depends", "schema")}
    assert "a name is needed" in reasons["required/Chart.yaml"]
    assert "missing in charts/ directory: a" in reasons["depends/Chart.yaml"]
    assert "name" in reasons["schema/Chart.yaml"]
    assert linted(folder, ".", "--set", "name=x")["summary"]["not_checked"]["charts"] == 1


def test_dependencies_beside_the_chart_and_of_a_repository(folder: Path) -> None:
    """From Chart.lock, and nothing of it is left behind in the charts."""
    chart(folder / "charts" / "web", "", {"templates/pod.yaml": POD, "values.yaml": "name: web\n"})
    far = chart(folder / "far", "", {"templates/pod.yaml": POD, "values.yaml": "name: far\n"})
    helm = str(rendered_by.folder() / "helm")
    (folder / "served").mkdir()
    subprocess.run(
        [helm, "package", str(far), "--destination", str(folder / "served")], check=True, capture_output=True
    )
    with served(folder / "served") as address:
        subprocess.run([helm, "repo", "index", str(folder / "served"), "--url", address], check=True)
        beside = "{name: web, version: 0.1.0, repository: 'file://../web'}"
        away = f"{{name: far, version: 0.1.0, repository: '{address}'}}"
        shop = chart(folder / "charts" / "shop", f"dependencies: [{beside}, {away}]\n")
        assert "there is no Chart.lock" in linted(shop, ".", "--build-dependencies")["findings"][0]["message"]
        env = environment(folder)
        subprocess.run([helm, "repo", "add", "far", address], env=env, check=True, capture_output=True)
        subprocess.run([helm, "dependency", "update", str(shop)], env=env, check=True, capture_output=True)
        subprocess.run([helm, "repo", "remove", "far"], env=env, check=True, capture_output=True)
        for each in (shop / "charts").iterdir():
            each.unlink()
        before = contents(folder / "charts")
        assert linted(folder / "charts", "shop")["summary"]["not_checked"]["charts"] == 1
        said = linted(folder / "charts", "shop", "--build-dependencies")
    assert {each["object"] for each in said["findings"]} == {"Pod default/web", "Pod default/far"}
    assert said["summary"]["not_checked"]["charts"] == 0 and contents(folder / "charts") == before


def contents(folder: Path) -> dict[str, str]:
    files = (each for each in folder.rglob("*") if each.is_file())
    return {str(each): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


class Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder at an address on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_an_overlay_is_rendered_and_its_patch_is_no_manifest(folder: Path) -> None:
    base, prod = folder / "base", folder / "prod"
    base.mkdir()
    prod.mkdir()
    (base / "pod.yml").write_text(
        POD.replace('{{ required "a name is needed" .Values.name }}', "web"), encoding="utf-8"
    )
    (base / "kustomization.yaml").write_text("resources: [pod.yml]\n", encoding="utf-8")
    (prod / "kustomization.yaml").write_text("resources: [../base]\npatches: [{path: more.yml}]\n", encoding="utf-8")
    patch = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {hostIPC: true}\n"
    (prod / "more.yml").write_text(patch, encoding="utf-8")
    found = linted(folder, ".")["findings"]
    assert [(each["id"], each["file"], each["line"] > 0) for each in found] == [
        ("host-pid", "base/pod.yml", True),
        ("host-ipc", "prod/kustomization.yaml", False),
    ]
    (prod / "kustomization.yaml").write_text("resources: [../absent]\n", encoding="utf-8")
    (reason,) = [each for each in linted(folder, ".")["findings"] if each["id"] == "not-checked"]
    assert reason["file"] == "prod/kustomization.yaml" and "absent" in reason["message"]
