"""Asks the real validation of kube-apiserver about the pods of the linter's fixtures and writes down what it says.

    python -m tests.real.apiserver_judge.record 1.37.1 1.33.13

builds main.go against k8s.io/kubernetes of each version (Go, the module proxy, and some minutes the first time) and
writes tests/fixtures/lint/apiserver/<minor>.json. With --build it builds alone.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cache import locked, shared
from tests.real import build as go

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "lint"
SOURCE = HERE / "main.go"
# Names with =true, where a record is to be made of an API server that has more on than the release's defaults.
GATES: tuple[str, ...] = ()


def program(version: str) -> Path:
    """Where the judge of one version lies, or will."""
    return shared("programs") / "linux" / f"apiserver_judge-{version}" / "judge"


def is_built(version: str) -> bool:
    """Is it there, and of today's source?"""
    there = program(version)
    return there.exists() and there.with_name("main.go").read_bytes() == SOURCE.read_bytes()


def build(version: str) -> Path:
    """The judge of one version, built once. OSError or CalledProcessError if that fails."""
    there = program(version)
    if is_built(version):
        return there
    with locked(f"kubernetes-{version}"):
        if not is_built(version):
            folder = go.prepare("kubernetes", version)
            shutil.copy(SOURCE, folder / "main.go")
            go.go("mod", "tidy", cwd=folder)
            there.parent.mkdir(parents=True, exist_ok=True)
            go.go("build", "-p", "1", "-o", str(there), ".", cwd=folder)
            shutil.copy(SOURCE, there.with_name("main.go"))
    return there


def ask(version: str, pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the judge of one version says of each pod: its name, unknown fields, errors with type, field and detail."""
    command = [str(program(version)), *GATES]
    done = subprocess.run(command, input=json.dumps(pods), stdout=subprocess.PIPE, text=True, check=True)
    answered: list[dict[str, Any]] = json.loads(done.stdout)
    digests = {pod["metadata"]["name"]: digest(pod) for pod in pods}
    return [{"pod": each["pod"], "digest": digests[each["pod"]], **each} for each in answered]


def digest(pod: dict[str, Any]) -> str:
    """Of what was asked: an answer is of no pod that was changed since."""
    return hashlib.sha256(json.dumps(pod, sort_keys=True).encode()).hexdigest()[:12]


def main(versions: list[str]) -> None:
    # The collection is where `make setup` put it.
    sys.path.append(str(ROOT / ".venv" / "collections"))
    from tests.unit.lint.judged import judged_pods

    for version in versions:
        build(version)
        record = {
            "kubernetes": version,
            "command": f"python -m tests.real.apiserver_judge.record {version}",
            "gates": list(GATES),
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "verdicts": ask(version, judged_pods(int(version.split(".")[1]))),
        }
        target = FIXTURES / "apiserver" / f"{version.rsplit('.', 1)[0]}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"{target.relative_to(ROOT)}: {len(record['verdicts'])} pods")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--build"]:
        for wanted in sys.argv[2:] or go.SERVER_VERSIONS:
            print(f"{wanted}: {build(wanted)}", flush=True)
    else:
        main(sys.argv[1:])
