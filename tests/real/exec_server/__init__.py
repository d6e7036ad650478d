"""The way of an exec through a real API server to a real kubelet (main.go), built, run and recorded.

python -m tests.real.exec_server            builds it (Go, the module proxy)
python -m tests.real.exec_server --record   writes tests/fixtures/exec/<minor>.json as well
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.exec_talk import Asked, asked, talk
from tests.real.own_program import OwnProgram

KUBERNETES = "1.37.1"
LIBRARIES = ("apimachinery", "apiserver", "cri-streaming")
SOURCE = Path(__file__).parent / "main.go"
RECORD = SOURCE.parents[2] / "fixtures" / "exec" / f"{KUBERNETES.rsplit('.', 1)[0]}.json"
PROGRAM = OwnProgram("exec_server", SOURCE, KUBERNETES, LIBRARIES)


@contextmanager
def running(*, translate: bool = True) -> Iterator[int]:
    """Its port on 127.0.0.1, which speaks plain HTTP. `translate`: as from Kubernetes 1.30 on."""
    environment = {**os.environ, "TRANSLATE": str(translate).lower()}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([str(PROGRAM.path)], env=environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(timeout=10)


def answers() -> list[dict[str, Any]]:
    """What it answers to all that is compared: `{words, stdin, offered, translate, answer}` each."""
    found = []
    for translate in (True, False):
        with running(translate=translate) as port:
            for one in asked():
                if one.translate == translate:
                    found.append(entry(one, talk(f"ws://127.0.0.1:{port}/", one)))
    return found


def entry(one: Asked, answer: dict[str, Any]) -> dict[str, Any]:
    """One conversation as the record has it."""
    about = {"words": list(one.words), "stdin": one.stdin, "offered": list(one.offered), "translate": one.translate}
    return {**about, "answer": answer}
