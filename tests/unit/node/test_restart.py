"""Restart the machine: one op, and patience with any answer of a starting machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.node import restart
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link, NodeError

from tests.unit.node.test_link import SYSTEM

REASONS = ("the Windows feature Containers comes into force", "the machine is called win1")

READING = Reading(parts={"system": {"machine": "m-1", "boot_id": "b-1"}})


class Machine:
    """A machine that answers by the time on the clock: a boot id, or an exception of the connection."""

    def __init__(self, *answers: tuple[float, str | Exception]) -> None:
        self.answers = answers
        self.preshutdown_ms: int | None = None
        self.time = 0.0
        self.asked: list[float] = []
        self.resets = 0

    def execute(self, module: str, args: dict[str, Any]) -> dict[str, Any]:
        assert module == "node_probe"
        self.asked.append(self.time)
        answer = [found for since, found in self.answers if since <= self.time][-1]
        if isinstance(answer, Exception):
            raise answer
        boot = answer.removesuffix(" configures")
        system = {**SYSTEM, "machine": "m-1", "boot_id": boot} if answer else {"error": "access denied"}
        logon = {"exists": not answer.endswith(" configures")}
        before = {"exists": self.preshutdown_ms is not None, "value": self.preshutdown_ms}
        return {"parts": {"system": system, restart.LOGON_SCREEN.key: logon, restart.PRESHUTDOWN.key: before}}

    def reset(self) -> None:
        self.resets += 1

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def link(self) -> Link:
        now: Callable[[], float] = lambda: self.time  # noqa: E731
        return Link(self.execute, self.reset, r"C:\state", clock=Clock(now, self.sleep))


def test_the_machine_is_told_once_why_and_only_if_it_has_not_been_restarted_since() -> None:
    made = restart.batch("host", REASONS, READING)
    (op,) = made.ops
    assert op.args["program"] == r"C:\Windows\System32\shutdown.exe"
    assert op.args["args"] == ["/r", "/t", "5", "/c", f"winkube: {'; '.join(REASONS)}", "/d", "p:2:4"]
    assert op.args["ok_exit"] == [0, 1115, 1190]
    assert [dict(expectation.expect) for expectation in made.pre] == [{"machine": "m-1", "boot_id": "b-1"}]


def test_a_machine_that_does_not_tell_its_boots_apart_is_not_restarted() -> None:
    """Failed before: its boot id was `/` before and after, so the run waited for a machine that was long back."""
    with pytest.raises(Refused, match="it would be unknown when it is back"):
        restart.batch("host", REASONS, Reading(parts={"system": {"machine": "m-1", "boot_id": ""}}))


def test_a_comment_is_never_longer_than_shutdown_takes() -> None:
    (op,) = restart.batch("host", ("x" * 1000,), READING).ops
    assert len(op.args["args"][4]) == 512


@pytest.mark.parametrize(
    "starting",
    [
        ConnectionError("no route to host"),
        RuntimeError("401 Unauthorized"),
        NodeError("503"),
        OSError(110, "timed out"),
    ],
    ids=str,
)
def test_it_is_back_when_it_has_answered_twice_in_a_row_with_a_new_boot(starting: Exception) -> None:
    machine = Machine((0, "b-1"), (7, starting), (60, "b-2"))
    restart.wait_until_back(machine.link(), "b-1", 900)
    last, before = machine.asked[-1], machine.asked[-2]
    assert 60 <= before < last <= before + 30


def test_an_answer_between_two_failures_does_not_count() -> None:
    machine = Machine((0, "b-1"), (7, OSError("down")), (30, "b-2"), (33, OSError("switch")), (80, "b-2"))
    restart.wait_until_back(machine.link(), "b-1", 900)
    assert machine.asked[-2] >= 80


def test_a_machine_that_configures_features_and_restarts_again_is_not_back() -> None:
    machine = Machine((0, "b-1"), (20, "b-2 configures"), (50, OSError("down")), (80, "b-3 configures"), (95, "b-3"))
    restart.wait_until_back(machine.link(), "b-1", 900)
    assert 95 <= machine.time <= 110, "the second restart was waited for"


def test_two_answers_of_two_boots_are_not_two_of_one() -> None:
    machine = Machine((0, "b-1"), (17, "b-2"), (22, "b-3"), (29, OSError("down")), (60, "b-3"))
    restart.wait_until_back(machine.link(), "b-1", 900)
    assert machine.time >= 60


def test_a_machine_that_never_tells_of_its_logon_screen_is_back_when_its_boot_stays() -> None:
    machine = Machine((0, "b-1"), (20, "b-2 configures"))
    restart.wait_until_back(machine.link(), "b-1", 900)
    assert 20 + restart.SETTLED_S <= machine.time <= 40 + restart.SETTLED_S


def test_a_machine_that_goes_on_as_before_is_no_machine_that_is_back() -> None:
    machine = Machine((0, "b-1"))
    with pytest.raises(NodeError, match=r"did not come back within 300 s.*still runs as before.*reboot_timeout"):
        restart.wait_until_back(machine.link(), "b-1", 300)
    assert 300 <= machine.time < 330


def test_a_kubelet_that_ends_pods_first_has_its_time_besides() -> None:
    machine = Machine((0, "b-1"), (130, ConnectionError("gone")), (200, "b-2"))
    with pytest.raises(NodeError, match="within 100 s"):
        restart.wait_until_back(machine.link(), "b-1", 100)
    machine = Machine((0, "b-1"), (130, ConnectionError("gone")), (200, "b-2"))
    machine.preshutdown_ms = 120_000
    restart.wait_until_back(machine.link(), "b-1", 100)
    assert 200 <= machine.time < 220


def test_the_last_thing_that_was_seen_is_said() -> None:
    machine = Machine((0, "b-1"), (7, ConnectionError("connection refused")))
    with pytest.raises(NodeError, match="within 100 s; last seen: connection refused"):
        restart.wait_until_back(machine.link(), "b-1", 100)


def test_a_machine_that_cannot_say_when_it_was_started_is_not_back() -> None:
    machine = Machine((0, ""))
    with pytest.raises(NodeError, match="could not say when it was started: access denied"):
        restart.wait_until_back(machine.link(), "b-1", 50)


def test_the_step_and_what_waits_name_every_reason() -> None:
    assert restart.step(REASONS).text == f"restart the machine: {'; '.join(REASONS)}"
    assert all(reason in restart.waits_sentence("win1", REASONS) for reason in REASONS)


def test_a_restart_that_takes_minutes_says_what_it_waits_for() -> None:
    machine = Machine((0.0, "b-1"), (20.0, ConnectionResetError("gone")), (150.0, "b-2"))
    said: list[str] = []
    link = machine.link()
    link.said, link.progress_s = said.append, 60.0
    restart.wait_until_back(link, "b-1", 900)
    assert [line.split(",")[0] for line in said] == ["waiting for the machine to come back"] * 2
    assert said[0].endswith("last seen: gone")
