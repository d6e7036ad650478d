"""containerd.exe makes and removes its own service on Wine as the lab's does: exit codes, words, registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.machine.builds import build
from tests.lab.twin.node import LabNode
from tests.windows.conftest import CONTAINERDS, require
from tests.windows.programs import Programs
from tests.wine.prefix import SC
from tests.wine.test_services import SERVICES, comparable, differences, in_the_lab
from tests.wine.test_transcripts import WINE_WORDS

NAME = "containerd-of-a-test"
LINES = (
    ("--register-service", "--log-file", r"C:\some where\containerd.log"),
    ("--register-service",),
    ("--unregister-service",),
    ("--unregister-service",),
    ("--register-service", "--unregister-service"),
    ("--register-service", "--nonsense"),
)


@dataclass(frozen=True)
class Said:
    """What came of a line: exit code, and what stands behind msg= in its last words."""

    exit: int
    message: str


def message(text: str) -> str:
    found = text.rpartition('level=fatal msg="')[2].partition('"')[0] if "level=fatal" in text else ""
    for wine, windows in WINE_WORDS.items():
        found = found.replace(wine, windows)
    return found


@pytest.mark.parametrize("version", CONTAINERDS)
def test_its_own_service(version: str, windows: Programs, tmp_path: Path, judged: Callable[..., None]) -> None:
    require("containerd", version)
    program = windows.place("containerd", version)
    config = program.replace("containerd.exe", "registration.toml")
    text = f"version = 2\nroot = '{config}.root'\nstate = '{config}.state'\n".encode()
    windows.prefix.path(config).write_bytes(text)
    node = LabNode("win1")
    node.drive.mkdir(node.drive.parent(program))
    node.drive.write(program, build("containerd", version))
    node.drive.write(config, text)
    key = f"{SERVICES}\\{NAME}"
    try:
        for line in LINES:
            arguments = ["--service-name", NAME, "--config", config, *line]
            real = windows.run("containerd", version, arguments)
            lab = node.run(program, arguments)
            shown = lab.stderr.decode()
            assert Said(real.exit, message(real.said)) == Said(lab.exit_code, message(shown)), (line, real.said, shown)
            if line == LINES[0]:
                found, simulated = comparable(windows.prefix.registry(key)), comparable(in_the_lab(node, key))
                assert differences(found, simulated) == []
    finally:
        windows.prefix.run(SC, ["delete", NAME])
    judged("containerd", version, "--register-service, --unregister-service", "registry, exit codes, words")
