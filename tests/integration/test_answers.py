"""What a node answers that is not an outcome of the batch itself: a module that failed, a batch rolled back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.lab import Bench
from tests.integration.site import converge, site
from tests.lab.machine.faults import Fault, ModuleError


@pytest.mark.exhaustive(keep=("",))
@pytest.mark.parametrize("verbosity", ["", "-vvv"])
def test_a_node_that_cannot_be_read_says_why(bench: Bench, verbosity: str) -> None:
    """From 2.19 on ansible-core makes an object of every failed module's `exception`: it hid what the node had said."""
    host = bench.node()
    why = "The RPC server is unavailable."
    host.in_turn(lambda: host.node.faults.module_errors.append(ModuleError("node_probe", why, caught=False)))
    run = site(bench, *([verbosity] if verbosity else []))
    assert run.recap["win1"].failed == 1, run
    assert f"The node could not be read: Unhandled exception while executing module: {why}" in run.output, run
    assert "is not a plain value" not in run.output, run
    assert ("ScriptStackTrace" in run.stdout) is bool(verbosity), run


@pytest.mark.exhaustive
def test_a_nodes_words_move_no_cursor_and_have_an_end(bench: Bench) -> None:
    host = bench.node()
    why = f"\x1b]0;title\x07\x1b[2J\u202egnp.exe {'x' * 100_000}"
    host.in_turn(lambda: host.node.faults.module_errors.append(ModuleError("node_probe", why, caught=False)))
    run = site(bench)
    assert run.recap["win1"].failed == 1, run
    assert r"\x1b]0;title\x07\x1b[2J\u202egnp.exe xxx" in run.output, run
    assert not {"\x1b", "\x07", "\u202e"} & set(run.stdout), run
    assert run.output.count("x" * 1000) < 40, "the message was printed whole, and more than once"


@pytest.mark.exhaustive
def test_a_batch_that_the_node_could_not_take_is_told_at_once(bench: Bench) -> None:
    """It was told as a lost connection, and asked after until `reconnect_timeout` was over."""
    host = bench.node()
    why = "Access to the path is denied."
    host.in_turn(lambda: host.node.faults.module_errors.extend([ModuleError("node_apply", why)]))
    run = site(bench, "-vvv", winkube_reconnect_timeout=600)
    assert run.recap["win1"].failed == 1, run
    assert f"The batch could not be handled: {why}" in run.output, run
    assert "nothing was done" in run.output, run
    assert "connection" not in " ".join(line for line in run.stdout.splitlines() if "[ERROR]" in line), run
    assert "connection lost" not in run.output.lower(), run
    assert converge(bench).recap["win1"].changed == 2


def test_a_node_that_fails_each_time_it_is_asked_is_not_asked_for_ever(bench: Bench) -> None:
    host = bench.node()
    why = "Insufficient system resources exist to complete the requested service."
    errors = [ModuleError("node_apply", why, when="after", caught=False)]
    errors += [ModuleError("node_apply", why, caught=False) for _ in range(20)]
    host.in_turn(lambda: host.node.faults.module_errors.extend(errors))
    run = site(bench, winkube_reconnect_timeout=600)
    assert bench.account().modules.count("winkube.node.node_apply") <= 10, "there were answers left"
    assert run.recap["win1"].failed == 1, run
    assert why in run.output, run
    assert "what became of batch" in run.output, run


def test_an_answer_that_got_lost_on_the_node_is_asked_for_again(bench: Bench) -> None:
    host = bench.node()
    host.in_turn(lambda: host.node.faults.module_errors.append(ModuleError("node_apply", "Timed out.", when="after")))
    run = converge(bench)
    assert run.recap["win1"].changed == 2, run
    assert "Timed out." in run.output, run


@pytest.mark.exhaustive
def test_a_run_that_takes_back_an_interrupted_batch_has_changed_the_node(bench: Bench) -> None:
    """The programs of before ran again, and the run that had brought that about said changed=0."""
    host = bench.node()
    mode: dict[str, Any] = {"winkube_runner": "inline"}
    converge(bench, **mode)
    host.in_turn(lambda: host.node.faults.arm(Fault("session", 4, "in")))
    cut = site(bench, version="1.7.12", **mode)
    assert cut.rc != 0, cut
    heard = bench.file(
        "handlers.yml",
        "- import_playbook: winkube.node.site\n",
    )
    assert heard.exists()
    again = converge(bench, **mode)
    assert again.recap["win1"].changed == 1, again
    assert "rolled back batch" in again.output, again
    assert converge(bench, **mode).recap["win1"].changed == 0
