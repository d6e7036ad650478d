"""What client-go makes of the kubeconfigs of tests/fixtures/kubeconfigs (main.go), built, run and recorded.

python -m tests.real.kubeconfig_reader            builds it (Go, the module proxy)
python -m tests.real.kubeconfig_reader --record   writes tests/fixtures/kubeconfigs/client-go.json as well
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.cache import locked, shared
from tests.real import build as go
from tests.unit.cluster import kubeconfigs

KUBERNETES = "1.37.1"
CLIENT_GO = go.library_version(KUBERNETES)
SOURCE = Path(__file__).parent / "main.go"


def program() -> Path:
    """Where it lies, or will."""
    return shared("programs") / "linux" / f"kubeconfig_reader-{KUBERNETES}" / "kubeconfig_reader"


def is_built() -> bool:
    """Is it there, and of today's source?"""
    there = program()
    return there.exists() and there.with_name("main.go").read_bytes() == SOURCE.read_bytes()


def build() -> Path:
    """The program, built once. OSError or CalledProcessError if that fails."""
    there = program()
    with locked(there.parent.name):
        if not is_built():
            folder = go.GO_CACHE / there.parent.name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            needed = f"require k8s.io/client-go {CLIENT_GO}\n"
            (folder / "go.mod").write_text(f"module winkube.invalid/build\n\ngo 1.26\n\n{needed}")
            shutil.copy(SOURCE, folder / "main.go")
            go.go("mod", "tidy", cwd=folder)
            there.parent.mkdir(parents=True, exist_ok=True)
            go.go("build", "-p", "1", "-o", str(there), ".", cwd=folder)
            shutil.copy(SOURCE, there.with_name("main.go"))
    return there


def answers() -> list[dict[str, Any]]:
    """`{name, sent}` or `{name, refused}` for each of them, in the words of client-go."""
    wanted = kubeconfigs.cases()
    with tempfile.TemporaryDirectory() as folder, kubeconfigs.written(Path(folder), wanted) as (paths, texts):
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        done = subprocess.run(
            [str(program())],
            input=json.dumps([str(path) for path in paths]),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            check=True,
        )
    found = []
    for case, path, said in zip(wanted, paths, json.loads(done.stdout), strict=True):
        if "said" in said:
            found.append({"name": case.name, "sent": said["said"]["seen"]})
            continue
        words = said["refused"].replace(str(path.parent), "<folder>")
        for place in ("<https as ann:pw>", "<http as ann:pw>", "<https>", "<http>", "<place>"):
            words = words.replace(texts[place], place).replace(texts[place].partition("://")[2] or "-", "<place>")
        found.append({"name": case.name, "refused": re.sub(r"127\.0\.0\.1:\d{3,}", "<place>", words)})
    return found
