"""What the first task of a run plans: the roles of node.yml, by the tags of the run."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.winkube.node.plugins.callback.steps import _summary
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.record.node_record import Added
from ansible_collections.winkube.node.plugins.plugin_utils.task import node_plan
from ansible_collections.winkube.node.plugins.plugin_utils.task.recorded import Adding

from tests.conftest import ROOT


def test_it_plans_what_each_role_passes_in_the_order_of_the_run() -> None:
    order = [task["ansible.builtin.import_role"]["name"] for task in yaml.safe_load(node_plan.TASKS.read_text())]
    assert [f"winkube.node.{part.component.role}" for part in node_plan.list_parts()] == order
    assert {part.component.role for part in node_plan.list_parts()} == {each.role for each in COMPONENTS}
    for part in node_plan.list_parts():
        (task,) = yaml.safe_load((ROOT / "roles" / part.component.role / "tasks" / "main.yml").read_text())
        assert task[f"winkube.node.{part.component.module}"] == part.arguments


@pytest.mark.parametrize(
    ("steps", "whole", "told"),
    [
        ({}, True, "nothing differs"),
        ({"host": ("a",)}, True, "1 step: host 1"),
        ({"host": ("a", "b"), "kubelet": ("c",)}, True, "3 steps: host 2, kubelet 1"),
        ({}, False, "nothing differs so far; the rest is planned by its tasks"),
        ({"host": ("a",)}, False, "1 step: host 1; the rest is planned by its tasks"),
    ],
)
def test_one_line_says_what_there_is_to_do(steps: dict[str, tuple[str, ...]], whole: bool, told: str) -> None:
    assert summary(node_plan.NodePlan(steps, ("host",), whole, Reading())) == told


def summary(plan: node_plan.NodePlan) -> str:
    """The callback's line of a plan, by way of the record."""
    adds = Adding()
    plan.note_in(adds)
    return _summary(Added(run="r", host="win1", plan=adds.plan, planned=adds.planned))


def test_a_run_whose_tags_leave_no_role_has_not_looked() -> None:
    assert (
        summary(node_plan.NodePlan({}, (), True, Reading()))
        == "nothing was looked at: the run's tags leave no role in it"
    )


@pytest.mark.parametrize(
    ("run", "near"),
    [
        ({"kubeproxy"}, "kube_proxy"),
        ({"kube-proxy"}, "kube_proxy"),
        ({"Kubelet"}, "kubelet"),
        ({"contanerd"}, "containerd"),
        ({"kubelet", "flanel"}, "flannel"),
        ({"kubelet"}, ""),
        ({"all"}, ""),
        ({"linux"}, ""),
        ({"mine"}, ""),
    ],
)
def test_a_slip_of_a_tag_is_told_with_the_one_that_is_meant(run: set[str], near: str) -> None:
    sentence = node_plan.correct_tag(run, node_plan.ANSIBLES_TAGS | {"mine"})
    assert (f"Did you mean {near}?" in sentence) if near else sentence == ""
