"""Asks the real validation of kube-apiserver about the pods of the linter's fixtures and writes down what it says.

    python tests/real/apiserver_judge/record.py 1.37.0 1.33.0

builds main.go against k8s.io/kubernetes of each version (Go, the module proxy, and some minutes the first time) and
writes tests/fixtures/lint/apiserver/<minor>.json. `go install` of k8s.io/kubernetes does not work, since its go.mod has
its staging modules at v0.0.0: the go.mod made here replaces each by the version that was published.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "lint"
CACHE = ROOT / ".cache" / "apiserver_judge"
# Names with =true, where a record is to be made of an API server that has more on than the release's defaults.
GATES: tuple[str, ...] = ()
sys.path[:0] = [str(ROOT), str(ROOT / ".venv" / "collections")]

from tests.unit.lint.judged import judged_pods  # noqa: E402 - the path above has to be there first


def build(version: str) -> Path:
    """The judge of one version, built once."""
    folder = CACHE / version
    program = folder / "judge"
    source = HERE / "main.go"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder / "main.go")
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    answer = go(["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{version}"], CACHE, environment)
    upstream = Path(json.loads(answer)["GoMod"]).read_text(encoding="utf-8")
    (folder / "go.mod").write_text(go_mod(upstream, version), encoding="utf-8")
    go(["go", "mod", "tidy"], folder, environment)
    go(["go", "build", "-p", "1", "-o", "judge", "."], folder, environment)
    return program


def go(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    nice = shutil.which("nice")
    command = [nice, "-n", "19", *command] if nice else command
    return subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def go_mod(upstream: str, version: str) -> str:
    """A go.mod that requires k8s.io/kubernetes and takes its staging modules from the registry."""
    staging = re.findall(r"^\s*(k8s\.io/\S+) => \./staging", upstream, re.MULTILINE)
    language = re.search(r"^go (\S+)", upstream, re.MULTILINE)
    published = version.split(".", 1)[1]
    lines = ["module winkube.node/apiserver_judge", "", f"go {language.group(1) if language else '1.23'}", ""]
    lines += [f"require k8s.io/kubernetes v{version}", "", "replace ("]
    lines += [f"\t{module} => {module} v0.{published}" for module in staging]
    return "\n".join([*lines, ")", ""])


def main(versions: list[str]) -> None:
    for version in versions:
        program = build(version)
        request = json.dumps(judged_pods(int(version.split(".")[1])))
        command = [str(program), *GATES]
        answer = subprocess.run(command, input=request, stdout=subprocess.PIPE, text=True, check=True).stdout
        record = {
            "kubernetes": version,
            "command": f"python tests/real/apiserver_judge/record.py {version}",
            "gates": list(GATES),
            "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
            "verdicts": json.loads(answer),
        }
        target = FIXTURES / "apiserver" / f"{version.rsplit('.', 1)[0]}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        print(f"{target.relative_to(ROOT)}: {len(record['verdicts'])} pods")


if __name__ == "__main__":
    main(sys.argv[1:])
