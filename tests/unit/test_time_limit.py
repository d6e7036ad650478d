"""A call that does not come back is ended: nothing of it is left, and everything else goes on as before."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node import link
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import NoAnswerError, run_within

SHORT_S = 0.1
LONG_S = 60.0
_THREE = [1, 2, 3]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before, threads = signal.getsignal(signal.SIGALRM), threading.active_count()
    yield
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert threading.active_count() <= threads, "threads of other tests may have ended meanwhile"


def test_what_comes_in_time_is_handed_on() -> None:
    assert run_within(LONG_S, lambda: 7) == 7
    with pytest.raises(IndexError):
        run_within(LONG_S, lambda: _THREE[4])


def test_a_program_that_is_waited_for_ends_with_the_call() -> None:
    started = []

    def call() -> int:
        program = subprocess.Popen(["sleep", "60"])
        started.append(program)
        return program.wait()

    with pytest.raises(NoAnswerError, match=r"no answer for 0\.1 s"):
        run_within(SHORT_S, call)
    assert started[0].returncode == -signal.SIGTERM


def test_a_program_that_does_not_want_to_end_is_ended_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "END_S", 0.1)
    started = []

    def call() -> int:
        program = subprocess.Popen(["sh", "-c", "trap '' TERM; echo; sleep 60 & wait; wait"], stdout=subprocess.PIPE)
        started.append(program)
        assert program.stdout is not None
        program.stdout.readline()
        return program.wait()

    with pytest.raises(NoAnswerError):
        run_within(SHORT_S, call)
    if started[0].stdout:
        started[0].stdout.close()
    assert started[0].returncode == -signal.SIGKILL


def test_a_plugin_that_tries_again_after_any_exception_is_ended_too() -> None:
    """Ansible's ssh plugin does, with `ansible_ssh_retries`."""

    def call() -> None:
        for _ in range(5):
            try:
                signal.pause()
            except Exception:
                continue

    with pytest.raises(NoAnswerError):
        run_within(SHORT_S, call)


def test_tidying_up_has_an_end_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The winrm plugin tells a silent node that its command is over, and waits for the answer."""
    monkeypatch.setattr(link, "AGAIN_S", 0.1)

    def call() -> None:
        try:
            signal.pause()
        finally:
            signal.pause()

    with pytest.raises(NoAnswerError):
        run_within(SHORT_S, call)


def test_a_tasks_own_timeout_that_is_up_earlier_stays_as_it_is() -> None:
    with _task_timeout(0.1), pytest.raises(TimeoutError, match="the task's"):
        run_within(LONG_S, signal.pause)


def test_a_tasks_own_timeout_goes_on_afterwards() -> None:
    with _task_timeout(30.0):
        with pytest.raises(NoAnswerError):
            run_within(SHORT_S, signal.pause)
        assert 25 < signal.getitimer(signal.ITIMER_REAL)[0] < 30


def test_ctrl_c_ends_it_at_once() -> None:
    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        signal.pause()

    with pytest.raises(KeyboardInterrupt):
        run_within(LONG_S, call)


def test_a_thread_that_gets_no_signals_works_without_a_limit() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(run_within(SHORT_S, lambda: 7)))
    thread.start()
    thread.join()
    assert found == [7]


class _task_timeout:  # noqa: N801 - used like a function
    """As the task keyword `timeout` works. Source: ansible-core 2.21.5 _internal/_errors/_alarm_timeout.py."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        def up(*_: object) -> None:
            raise TimeoutError("the task's")

        self.before = signal.signal(signal.SIGALRM, up)
        signal.setitimer(signal.ITIMER_REAL, self.seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.before)
