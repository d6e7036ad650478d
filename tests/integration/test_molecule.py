"""molecule as somebody with a clone runs it: the scenario default, and the one for a real machine without one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.lab import ROOT, SCRIPTS
from tests.molecule.__main__ import destroy

CLOCK = Path(__file__).parent / "clock"
MOLECULE_TIMEOUT_S = 900.0


def molecule(home: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit status and output. `home` is whose: folder of the run, temporary files."""
    kept = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    home.mkdir(exist_ok=True)
    environment = {
        **kept,
        "PATH": f"{SCRIPTS}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home),
        "ANSIBLE_HOME": str(home / ".ansible"),
        "MOLECULE_EPHEMERAL_DIRECTORY": str(home / "run"),
        "NO_COLOR": "1",
        "COLUMNS": "400",
        "PYTHONPATH": str(CLOCK),
        **environment,
    }
    with subprocess.Popen(
        [str(SCRIPTS / "molecule"), *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=MOLECULE_TIMEOUT_S)
        except BaseException:
            # The playbook that it is at, too; and the lab, which is in a session of its own.
            os.killpg(process.pid, signal.SIGTERM)
            destroy(home / "run" / "lab")
            raise
    return process.returncode, output


def steps(output: str) -> dict[str, str]:
    """Each step of the scenario and how it ended."""
    return dict(re.findall(r"\[default > (\w+)\] Executed: (\w+)", output))


@pytest.mark.exhaustive
@pytest.mark.row("KE-07")
def test_the_default_scenario_makes_both_nodes_and_changes_nothing_the_second_time(tmp_path: Path) -> None:
    status, output = molecule(tmp_path / "home", "test", "-s", "default", "--destroy", "always")
    assert status == 0, output
    wanted = ("syntax", "create", "converge", "idempotence", "verify", "destroy")
    assert steps(output) == dict.fromkeys(wanted, "Successful"), output
    assert not (tmp_path / "home" / "run" / "lab" / "lab.json").exists(), "the lab is stopped"


def test_without_a_machine_the_scenario_windows_says_what_it_needs(tmp_path: Path) -> None:
    status, output = molecule(tmp_path / "home", "create", "-s", "windows")
    assert status != 0
    assert "set WINKUBE_TEST_INVENTORY to an inventory" in " ".join(output.split())
