"""Asks a running lab over its control socket. It imports little: most commands need no more than this."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class ControlError(Exception):
    """A sentence for the person who asked."""


def read_lab(directory: Path) -> dict[str, Any]:
    """lab.json of a directory. Raises `ControlError` when there is none."""
    try:
        document = json.loads((directory / "lab.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ControlError(
            f"no lab in {directory}; start one with: python -m tests.lab start --dir {directory}"
        ) from error
    return dict(document)


def ask(directory: Path, request: Mapping[str, Any]) -> Any:
    """Send one request to this directory's lab. Raises `ControlError` with the lab's sentence, or that none runs."""
    path = read_lab(directory).get("control")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(str(path))
        except OSError as error:
            raise ControlError(
                f"the lab of {directory} does not run any more; start it with: "
                f"python -m tests.lab start --dir {directory}"
            ) from error
        connection.sendall(json.dumps(dict(request)).encode() + b"\n")
        with connection.makefile("rb") as answers:
            line = answers.readline()
    if not line:
        raise ControlError(f"the lab of {directory} closed the connection without an answer")
    answer = json.loads(line)
    if not answer["ok"]:
        raise ControlError(answer["error"])
    return answer["result"]
