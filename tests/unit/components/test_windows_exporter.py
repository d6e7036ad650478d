"""windows_exporter, of which there is a declaration alone: plan, service, firewall, and what the others know of it."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import registry
from ansible_collections.winkube.node.plugins.plugin_utils.components.expected import Expected
from ansible_collections.winkube.node.plugins.plugin_utils.components.program_service import Args
from ansible_collections.winkube.node.plugins.plugin_utils.components.programs.windows_exporter import DECLARATION
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import programs as verify
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan, reads
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.node.link import Link

from tests.lab.machine.firewall import lets_in
from tests.lab.machine.node import SimulatedNode
from tests.lab.programs.builds import build
from tests.lab.twin.modules import run_module

from .nodes import LAYOUT

PROGRAM = build("windows_exporter", "0.31.8")
ON_NODE = "C:\\windows_exporter-0.31.8-amd64.exe"
SOURCE = Source(f"file:///{ON_NODE}".replace("\\", "/"), hashlib.sha256(PROGRAM).hexdigest(), "0.31.8")
VALUES: dict[str, Any] = {"port": 9182, "collectors": ["[defaults]", "container"]}
EXPECTED = Expected("win1", kubernetes=False, optional_components=("windows_exporter",))


class Machine:
    """A simulated node and a link to it, in-process."""

    def __init__(self) -> None:
        self.node = SimulatedNode("win1")
        session = self.node.open_session()
        self.node.drive.write(ON_NODE, PROGRAM)
        self.link = Link(
            lambda module, args: run_module(self.node, session, module, args, False),
            lambda: None,
            LAYOUT.state_dir,
            runner_mode="inline",
        )

    def read(self, args: Args) -> Reading:
        queries = (*DECLARATION.reads(LAYOUT), *reads(DECLARATION.desired(args)), system_query())
        return Reading().merged(self.link.probe(queries), queries)

    def install(self, **values: Any) -> dict[str, Any] | None:
        """The node's answer, None if nothing had to be done."""
        mark = uuid.uuid4().hex
        args = Args(LAYOUT, SOURCE, {**VALUES, **values}, sources=(), mark=mark)
        made = make_plan(DECLARATION.component.name, DECLARATION.desired(args), self.read(args)).batch
        return None if made is None else self.link.apply(made, mark)


def test_it_answers_and_a_second_run_does_nothing() -> None:
    machine = Machine()
    answer = machine.install()
    assert answer is not None and answer["outcome"] == "done", answer
    assert machine.node.services.state("windows_exporter") == "running"
    assert machine.install() is None


def test_another_port_restarts_it_and_moves_the_firewall_rule() -> None:
    machine = Machine()
    machine.install()
    answer = machine.install(port=9183)
    assert answer is not None and answer["outcome"] == "done", answer
    assert [lets_in(machine.node, "TCP", port, "192.0.2.9") for port in (9182, 9183)] == [False, True]


def test_a_collector_that_does_not_exist_is_rolled_back() -> None:
    machine = Machine()
    answer = machine.install(collectors=["cpus"])
    assert answer is not None and answer["outcome"] == "undone", answer
    assert machine.install(collectors=[]) is not None


@pytest.mark.parametrize("port", [0, 70000])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(Refused, match=f"windows_exporter: port: {port} is no TCP port"):
        DECLARATION.desired(Args(LAYOUT, SOURCE, {**VALUES, "port": port}))


def test_reset_verify_and_the_provisioner_know_it() -> None:
    assert "windows_exporter" in registry.stop_order(LAYOUT)
    assert "winkube-windows-exporter" in registry.rules()
    assert registry.DAEMONS["windows_exporter"].asks == ("--version",)
    machine = Machine()
    machine.install(port=9183)
    queries = verify.reads(LAYOUT, EXPECTED)
    first = Reading().merged(machine.link.probe(queries), queries)
    urls = [dict(query.args)["url"] for query in verify.health(LAYOUT, EXPECTED, first)]
    assert urls == ["http://127.0.0.1:9183/health"], "the port of the service's own command line"
    (program,) = (each for each in verify.programs(LAYOUT, EXPECTED) if each.service == "windows_exporter")
    assert "event log Application" in verify.log_of(program, first).advice
    gone = replace(EXPECTED, optional_components=())
    assert "windows_exporter" not in {each.service for each in verify.programs(LAYOUT, gone)}
