"""Time and memory for 5,000 objects, beside kubeconform on the same ones at the same time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real import build
from tests.unit.lint.command import COMMAND, ENVIRONMENT

OBJECTS = 5_000
MOST_SECONDS = 4.0
MOST_MEBIBYTES = 120
KUBERNETES = build.SERVER_VERSIONS[-1]
LINE = "{name}: {seconds:.1f} s of processor time, {mebibytes:.0f} MiB"


@dataclass(frozen=True)
class Cost:
    """What a process took: processor time in seconds, most memory in MiB."""

    seconds: float
    mebibytes: float


def objects() -> list[dict[str, Any]]:
    """A Deployment for Windows, its Service and its ConfigMap, as large as those of real charts, with few mistakes."""
    made: list[dict[str, Any]] = []
    for number in range(OBJECTS // 3 + 1):
        name = f"web-{number}"
        labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"}
        container = {
            "name": "web",
            "image": f"registry.example.com/shop/web:{number}",
            "command": ["cmd.exe", "/c", "web.exe", "--listen=:8080"],
            "env": [{"name": f"SETTING_{n}", "value": f"value {n} of {name}"} for n in range(8)],
            "ports": [{"containerPort": 8080, "name": "http"}],
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 10},
            "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "256Mi"}},
            "securityContext": {"readOnlyRootFilesystem": True} if number % 5 == 0 else {},
            "volumeMounts": [{"name": "config", "mountPath": "C:\\config"}],
        }
        spec = {
            "os": {"name": "windows"},
            "nodeSelector": {"kubernetes.io/os": "windows"},
            "containers": [container],
            "volumes": [{"name": "config", "configMap": {"name": name}}],
        }
        template = {"metadata": {"labels": labels}, "spec": spec}
        made += [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "labels": labels},
                "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": template},
            },
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": name, "labels": labels},
                "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": "http"}]},
            },
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "labels": labels},
                "data": {"web.ini": "".join(f"key{n} = value {n} of {name}\n" for n in range(10))},
            },
        ]
    return made[:OBJECTS]


def write_schemas(folder: Path) -> str:
    """Kubernetes' own OpenAPI document as the schemas that kubeconform asks for; the pattern of their names."""
    module = build.GO_CACHE / "openapi"
    module.mkdir(parents=True, exist_ok=True)
    (module / "go.mod").write_text("module winkube.invalid/openapi\n", encoding="utf-8")
    wanted = f"{build.KUBERNETES}@v{KUBERNETES}"
    there = Path(json.loads(build.go("mod", "download", "-json", wanted, cwd=module, capture=True))["Dir"])
    text = (there / "api" / "openapi-spec" / "swagger.json").read_text(encoding="utf-8")
    definitions = json.loads(text)["definitions"]
    # OpenAPI v2 has no word for it but "string".
    definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = {"type": ["string", "integer"]}
    (folder / "all.json").write_text(json.dumps({"definitions": definitions}), encoding="utf-8")
    for kind, name in (("deployment", "apps"), ("service", "core"), ("configmap", "core")):
        spelled = {"configmap": "ConfigMap"}.get(kind, kind.capitalize())
        reference = {"$ref": f"all.json#/definitions/io.k8s.api.{name}.v1.{spelled}"}
        (folder / f"{kind}.json").write_text(json.dumps(reference), encoding="utf-8")
    return str(folder / "{{ .ResourceKind }}.json")


MEASURED = """
import json, os, sys
pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(pid, 0)
json.dump([os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss / 1024], sys.stderr)
"""
"""Linux counts for a new program what its parent had in memory when it started it: the parent has to be a small one."""


def costs_of(commands: Sequence[tuple[Sequence[str], Path]], environment: dict[str, str]) -> list[Cost]:
    """What the commands took that ran at the same time, each with its standard output in a file."""
    running = []
    for command, out in commands:
        measured = [sys.executable, "-I", "-S", "-c", MEASURED, *command]
        with out.open("wb") as file:
            running.append(subprocess.Popen(measured, stdout=file, stderr=subprocess.PIPE, env=environment, text=True))
    found = []
    for process, (command, _) in zip(running, commands, strict=True):
        said = process.communicate()[1]
        code, seconds, mebibytes = json.loads(said.splitlines()[-1])
        assert code in (0, 1), (command, said)
        found.append(Cost(seconds, mebibytes))
    return found


@pytest.mark.slow
def test_five_thousand_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = build.program("kubeconform", build.KUBECONFORM)
    if not program.exists():
        command = f"python -m tests.real.build kubeconform@{build.KUBECONFORM}"
        pytest.skip(f"lane real: kubeconform {build.KUBECONFORM} is not there; `{command}` builds it")
    manifests = tmp_path / "manifests.yml"
    manifests.write_text(yaml.safe_dump_all(objects(), sort_keys=False), encoding="utf-8")
    schemas = write_schemas(tmp_path)
    theirs = [str(program), "-summary", "-output", "json", "-schema-location", schemas, str(manifests)]
    ours = [*COMMAND, "--level", "never", str(manifests)]
    lint, kubeconform = costs_of(
        [(ours, tmp_path / "ours"), (theirs, tmp_path / "theirs")], {**ENVIRONMENT, "HOME": str(tmp_path)}
    )
    assert f"{OBJECTS} objects" in (tmp_path / "ours").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "theirs").read_text(encoding="utf-8"))["summary"]["valid"] == OBJECTS
    with capsys.disabled():
        sys.stdout.write("\n")
        for name, cost in (("workload-lint", lint), (f"kubeconform {build.KUBECONFORM}", kubeconform)):
            print(LINE.format(name=name, seconds=cost.seconds, mebibytes=cost.mebibytes))
    assert lint.mebibytes < MOST_MEBIBYTES
    # On a machine slower than that of 2026 the measure is what kubeconform takes.
    assert lint.seconds < max(MOST_SECONDS, 3 * kubeconform.seconds)
