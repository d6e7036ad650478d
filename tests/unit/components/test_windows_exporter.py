"""windows_exporter, which is only a declaration: plan, service, firewall, and what other modules know of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import registry
from ansible_collections.winkube.node.plugins.plugin_utils.components.programs.windows_exporter import DECLARATION
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import programs as verify
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from tests.lab.machine.firewall import lets_in

from .nodes import LAYOUT, wanted_node
from .program_machine import Machine

EXPECTED = wanted_node("", optional_components=("windows_exporter",))


def exporter() -> Machine:
    return Machine(DECLARATION, port=9182, collectors=["[defaults]", "container"])


def test_it_answers_and_a_second_run_does_nothing() -> None:
    machine = exporter()
    answer = machine.install()
    assert answer is not None and answer.outcome == "done", answer
    assert machine.node.services.state("windows_exporter") == "running"
    assert machine.install() is None


def test_another_port_restarts_it_and_moves_the_firewall_rule() -> None:
    machine = exporter()
    machine.install()
    answer = machine.install(port=9183)
    assert answer is not None and answer.outcome == "done", answer
    assert [lets_in(machine.node, "TCP", port, "192.0.2.9") for port in (9182, 9183)] == [False, True]


def test_a_collector_that_does_not_exist_is_rolled_back() -> None:
    machine = exporter()
    answer = machine.install(collectors=["cpus"])
    assert answer is not None and answer.outcome == "undone", answer
    assert machine.install(collectors=[]) is not None


@pytest.mark.parametrize("port", [0, 70000])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(Refused, match=f"windows_exporter: port: {port} is not a TCP port"):
        exporter().install(port=port)


def test_reset_verify_and_the_provisioner_know_it() -> None:
    assert "windows_exporter" in registry.stop_order(LAYOUT)
    assert "winkube-windows-exporter" in registry.rules()
    assert registry.DAEMONS["windows_exporter"].asks == ("--version",)
    machine = exporter()
    machine.install(port=9183)
    queries = verify.reads(LAYOUT, EXPECTED)
    first = Reading().merge(machine.link.probe(queries), queries)
    urls = [dict(query.args)["url"] for query in verify.health(LAYOUT, EXPECTED, first)]
    assert urls == ["http://127.0.0.1:9183/health"], "the port of the service's own command line"
    (program,) = (each for each in verify.programs(LAYOUT, EXPECTED) if each.service == "windows_exporter")
    assert "event log Application" in verify.log_of(program, first).advice
    gone = replace(EXPECTED, optional_components=())
    assert "windows_exporter" not in {each.service for each in verify.programs(LAYOUT, gone)}
