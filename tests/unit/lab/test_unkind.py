"""What a machine of a lab does unless a test says why not: tests/lab/README.md, "Where it is kinder than Windows"."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.lab.machine.language import localised
from tests.lab.machine.node import SimulatedNode
from tests.lab.server.lab import Lab
from tests.lab.server.nodes import Kind, NodesError, NodeSpec
from tests.lab.twin.node import LabNode

SC = "C:\\Windows\\System32\\sc.exe"
README = Path(__file__).resolve().parents[2] / "lab" / "README.md"


def made(**spec: object) -> SimulatedNode:
    return Lab._make_node(_NoLab(), NodeSpec("win1", "10.7.0.25", **spec))  # type: ignore[arg-type]


class _NoLab:
    sources = SimpleNamespace(hosts={})


def test_a_machine_of_a_lab_is_unkind_and_the_same_each_time() -> None:
    first, second, other = made(), made(), made(seed=1)
    assert first.faults.antivirus_s == second.faults.antivirus_s >= 0.5
    assert first.clock.utc() == second.clock.utc() != other.clock.utc()
    assert first.faults.antivirus_s != other.faults.antivirus_s
    assert made(clock_offset_s=600).clock.utc() > first.clock.utc()


def test_a_kind_machine_needs_a_reason() -> None:
    kind = made(kind=Kind("the test counts the node's seconds", antivirus=True, clock=True))
    assert kind.faults.antivirus_s == 0.0
    assert kind.clock.utc() == made(clock_offset_s=0.0).clock.utc()
    with pytest.raises(TypeError):
        Kind(antivirus=True)  # type: ignore[call-arg]
    with pytest.raises(NodesError, match="needs a reason"):
        Kind(" ", antivirus=True)


def test_a_german_machine_says_it_in_german_and_in_its_code_page() -> None:
    node = LabNode("win1", language="de")
    found = node.run(SC, ["query", "none"])
    assert found.exit_code == 1060
    assert b"Der angegebene Dienst ist kein installierter Dienst." in found.stdout
    marked = "The specified service has been marked for deletion."
    assert localised(marked.encode(), "de") == "Der angegebene Dienst wurde zum Löschen markiert.".encode("cp850")
    assert localised(marked.encode(), "en") == marked.encode()


@pytest.mark.parametrize("point", ["inbound traffic", "network category", "node address", "virus scanner", "clocks"])
def test_the_table_names_it(point: str) -> None:
    (row,) = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {point} |")]
    assert len(row.split(" | ")) == 4
