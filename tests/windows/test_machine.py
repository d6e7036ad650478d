"""One whole machine made of Wine: Ansible over SSH, the roles, the node's files and registry, and real programs.

What is Wine's and what is not: tests/windows/machine/node.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.windows.conftest import require
from tests.windows.machine.bench import PROGRAMS, WineBench, ends_at_once, made_of_wine
from tests.windows.machine.witness import program
from tests.windows.programs import cannot_build

CONFIG = r"C:\Program Files\containerd\config.toml"
LOG = r"C:\ProgramData\containerd\log\containerd.log"
EXE = "containerd.exe"


@pytest.fixture(scope="module", params=["2.3.7", "1.7.35"])
def machine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WineBench]:
    """A machine on which containerd runs."""
    for name in PROGRAMS:
        require(name, request.param)
    if not program().exists() and (why := cannot_build()) is not None:
        pytest.skip(f"lane windows: {why}")
    with made_of_wine(tmp_path_factory.mktemp("machine"), request.param) as made:
        first = made.converge()
        assert first.recap["win1"].changed == 1, first
        yield made


def test_containerd_runs_and_the_second_run_changes_nothing(machine: WineBench) -> None:
    before = machine.pid(EXE)
    log = machine.text(LOG)
    assert "containerd successfully booted" in log
    again = machine.converge()
    assert again.recap["win1"].changed == 0, again
    assert machine.pid(EXE) == before


def test_a_changed_option_restarts_it(machine: WineBench) -> None:
    before = machine.pid(EXE)
    changed = machine.converge(winkube_containerd_log_level="debug")
    assert changed.recap["win1"].changed == 1, changed
    assert machine.pid(EXE) != before
    assert machine.converge(winkube_containerd_log_level="debug").recap["win1"].changed == 0
    assert machine.converge().recap["win1"].changed == 1


def test_a_configuration_that_containerd_refuses_is_rolled_back(machine: WineBench) -> None:
    """Ours is TOML and has what the role checks; only containerd itself knows that there is no such plugin."""
    text = machine.text(CONFIG)
    mine = machine.bench.file("refused.toml.j2", 'required_plugins = ["io.containerd.winkube.v1.nowhere"]\n' + text)
    run = machine.site(winkube_containerd_config_template=str(mine))
    assert run.rc != 0, run
    assert "Everything was put back as it was." in run.output, run
    assert machine.text(CONFIG) == text
    assert machine.pid(EXE)
    again = machine.converge()
    assert again.recap["win1"].changed == 0, again


def test_a_program_that_does_not_work_is_rolled_back(machine: WineBench) -> None:
    """A program that ends at once, under the name of containerd.exe."""
    broken = machine.containerd(machine.version, containerd=ends_at_once())
    run = machine.site(archive=broken)
    assert run.rc != 0, run
    assert "Everything was put back as it was." in run.output, run
    assert machine.pid(EXE)
    again = machine.converge()
    assert again.recap["win1"].changed == 0, again
