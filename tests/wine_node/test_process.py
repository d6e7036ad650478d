"""The node's process: nobody in it can import the lab's twin. What it does: `make wine-node`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.wine_node import machine

ROOT = Path(__file__).resolve().parents[2]
ASKED = """
import tests.wine_node.process
from tests.wine_node import guard
print(guard.importable())
import sys
print(sorted(name for name in sys.modules if name.startswith("tests.lab.twin")))
"""


def test_the_twin_cannot_be_imported_there_and_is_not() -> None:
    line = [sys.executable, "-c", ASKED]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.splitlines() == ["False", "[]"]


def test_a_process_that_has_it_already_is_no_such_process() -> None:
    line = [sys.executable, "-c", "import tests.lab.twin.ops\nfrom tests.wine_node import guard\nguard.close()"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert "RuntimeError: imported already: tests.lab.twin" in done.stderr


def test_a_wineserver_of_another_build_is_refused() -> None:
    whole = b"before" + machine.LOCAL_USER + b"after"
    assert machine.as_system(whole) == b"before" + machine.SYSTEM + b"after"
    assert len(machine.SYSTEM) == len(machine.LOCAL_USER)
    with pytest.raises(ValueError, match="0 times"):
        machine.as_system(b"another build")
