"""node_problem_detector: its files, what is refused, and what it makes of checks that it cannot run."""

from __future__ import annotations

import json

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.programs.node_problem_detector import DECLARATION
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused

from .nodes import LAYOUT
from .program_machine import Machine, outcome

CHECKS = {"plugin": "custom", "conditions": [{"type": "A"}], "rules": [], "pluginConfig": {}}


def machine() -> Machine:
    return Machine(DECLARATION, node_name="WIN1", checks=["kubelet"], port=20256)


@pytest.mark.parametrize(("checks", "found"), [([], "none"), (["kubelet", "docker"], "docker")])
def test_checks_that_there_are_not_are_refused(checks: list[str], found: str) -> None:
    with pytest.raises(Refused, match=f"checks: {found}: name at least one of kubelet, kube-proxy, cri"):
        machine().install("{}", checks=checks)


def test_the_program_alone_is_refused() -> None:
    node = machine()
    node.archive = False
    with pytest.raises(Refused, match="its programs come in an archive"):
        node.install("{}")


def test_it_reports_with_the_kubelets_kubeconfig_as_the_node() -> None:
    arguments = DECLARATION.recipe.arguments(LAYOUT, machine().args().options)
    assert "--apiserver-override=?inClusterConfig=false&auth=C:/etc/kubernetes/kubelet.conf" in arguments
    assert "--hostname-override=win1" in arguments


@pytest.mark.parametrize(
    "wrong", [{"plugin": "filelog"}, {"rules": [{"path": "C:\\x.exe", "type": "permanent", "condition": "A"}]}]
)
def test_without_a_cluster_and_with_wrong_checks_it_is_rolled_back(wrong: dict[str, object]) -> None:
    node = machine()
    assert outcome(node.install(json.dumps(CHECKS | wrong))) == "undone"
    assert not node.node.drive.exists(r"C:\k\node-problem-detector\health-checker.exe")
