"""The state folder or a folder of programs in other hands: refused with a sentence, and nothing is touched."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.integration.lab import Bench
from tests.integration.site import differences, site
from tests.lab.machine.node import SimulatedNode

ANN = "S-1-5-21-1-2-3-1001"
STATE = r"C:\ProgramData\winkube"
OPEN_TO_USERS = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;BU)"


def _owned(node: SimulatedNode) -> None:
    node.drive.mkdir(STATE, owner=ANN)


def _planted(node: SimulatedNode) -> None:
    node.drive.mkdir(STATE)
    node.drive.set_sddl(STATE, OPEN_TO_USERS)
    node.drive.write(rf"{STATE}\runner.ps1", b"# what a user wants SYSTEM to do\n", owner=ANN)


def _linked(node: SimulatedNode) -> None:
    node.drive.mkdir(r"C:\Users\Public\mine", owner=ANN)
    node.drive.link(STATE, r"C:\Users\Public\mine", owner=ANN)


def _root_linked(node: SimulatedNode) -> None:
    node.drive.mkdir(r"C:\Users\Public\mine", owner=ANN)
    node.drive.link(r"C:\k", r"C:\Users\Public\mine", owner=ANN)


def _a_file(node: SimulatedNode) -> None:
    node.drive.write(STATE, b"not a folder", owner=ANN)


WAYS: dict[str, tuple[Callable[[SimulatedNode], None], str]] = {
    "owned": (_owned, rf"The state folder {STATE} is owned by {ANN}, not by SYSTEM or Administrators"),
    "planted": (_planted, rf"{STATE}\runner.ps1 is owned by {ANN}, not by SYSTEM or Administrators"),
    "linked": (_linked, rf"The state folder {STATE} is a reparse point, not a folder"),
    "file": (_a_file, rf"The state folder {STATE} is a file, not a folder"),
    "root": (_root_linked, r"C:\k should be a folder, but is a link or junction: it is not followed or replaced"),
}


@pytest.mark.exhaustive
def test_what_somebody_else_has_made_is_refused_and_nothing_is_touched(bench: Bench) -> None:
    for number, (name, (prepare, _)) in enumerate(WAYS.items(), 1):
        host = bench.node(name, f"10.77.0.{number}")
        host.in_turn(lambda host=host, prepare=prepare: prepare(host.node))  # type: ignore[misc]
    bench.node("fine", "10.77.0.99")
    before = {name: bench.dump(name) for name in WAYS}
    run = site(bench, "--tags", "host", "-f", "6")
    assert run.rc != 0
    assert "Traceback" not in run.output
    for name, (_, sentence) in WAYS.items():
        assert run.recap[name].failed == 1, run
        assert sentence in run.output, f"{name}: {run}"
        assert differences(before[name], bench.dump(name)) == [], name
        drive = bench.lab.host(name).node.drive
        assert drive.kind(r"C:\Users\Public\mine") is None or drive.listdir(r"C:\Users\Public\mine") == []
    planted = bench.lab.host("planted").node.drive
    assert planted.listdir(STATE) == ["runner.ps1"]
    assert run.recap["fine"].failed == 0


@pytest.mark.exhaustive
def test_a_state_folder_that_users_may_write_to_gets_its_access_list_back(bench: Bench) -> None:
    host = bench.node()
    host.in_turn(lambda: host.node.drive.mkdir(STATE))
    host.in_turn(lambda: host.node.drive.set_sddl(STATE, OPEN_TO_USERS))
    run = site(bench, "--tags", "host")
    assert run.rc == 0, run
    sddl = host.in_turn(lambda: host.node.drive.sddl(STATE))
    assert sddl == "O:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
