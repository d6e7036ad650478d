"""What client-go makes of the kubeconfigs of tests/fixtures/kubeconfigs (main.go), built, run and recorded.

python -m tests.real.kubeconfig_reader            builds it (Go, the module proxy)
python -m tests.real.kubeconfig_reader --record   writes tests/fixtures/kubeconfigs/client-go.json as well
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.real import build as go
from tests.real.own_program import OwnProgram
from tests.unit.cluster import kubeconfigs

KUBERNETES = "1.37.1"
CLIENT_GO = go.library_version(KUBERNETES)
SOURCE = Path(__file__).parent / "main.go"
PROGRAM = OwnProgram("kubeconfig_reader", SOURCE, KUBERNETES, ("client-go",))


def answers() -> list[dict[str, Any]]:
    """`{name, sent}` or `{name, refused}` for each of them, in the words of client-go."""
    wanted = kubeconfigs.cases()
    with tempfile.TemporaryDirectory() as folder, kubeconfigs.written(Path(folder), wanted) as (paths, texts):
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        done = subprocess.run(
            [str(PROGRAM.path)],
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
