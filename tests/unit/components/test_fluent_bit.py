"""fluent_bit: refused without outputs; its configuration restarts it, and a wrong one is rolled back."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.programs.fluent_bit import DECLARATION
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from .program_machine import Machine, outcome

GOOD = """
service: {http_server: on, health_check: on}
pipeline:
  inputs: [{name: tail, path: 'C:\\k\\kubelet.log', db: 'C:\\k\\fluent-bit\\logs.db'}]
  outputs: [{name: http, match: '*', host: x}]
"""


def machine() -> Machine:
    return Machine(DECLARATION, port=2020, outputs=[{"name": "http"}], logs=[], channels=[])


def test_another_configuration_restarts_it() -> None:
    node = machine()
    assert outcome(node.install(GOOD)) == "done"
    assert node.install(GOOD) is None
    pid = node.node.services.runtime("fluent-bit").pid
    assert outcome(node.install(GOOD.replace("host: x", "host: y"))) == "done"
    assert node.node.services.runtime("fluent-bit").pid != pid


@pytest.mark.parametrize(
    ("old", "new"), [("name: http", "name: htp"), ("host: x", "hots: x"), ("health_check: on", "")]
)
def test_a_configuration_that_it_does_not_start_with_is_rolled_back(old: str, new: str) -> None:
    node = machine()
    node.install(GOOD)
    assert outcome(node.install(GOOD.replace(old, new))) == "undone"
    assert node.node.drive.read(r"C:\k\fluent-bit\fluent-bit.yaml").decode() == GOOD
    assert node.node.services.state("fluent-bit") == "running"


def test_without_outputs_it_is_refused() -> None:
    with pytest.raises(Refused, match="nothing says where the logs go"):
        machine().install(GOOD, outputs=[])
