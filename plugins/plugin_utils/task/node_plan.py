# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All components of a run planned by its first task, as the later ones would in check mode.

Which components, in which order and on which condition is read from playbooks/tasks/node.yml, which is what the run
does; the arguments of each are those that its role passes. Each one's prediction is the reading of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError, AnsibleUndefinedVariable
from ansible.module_utils.common.yaml import yaml_load
from ansible.template import trust_as_template

from ..components.asks import Asks
from ..components.declaration import Component
from ..components.options import arguments
from ..components.registry import COMPONENTS
from ..engine.address import mask
from ..engine.reading import Query, Reading
from ..foreign.spelling import meant
from .argument_spec import check_arguments
from .converge import Converge
from .node_action import NodeAction
from .screen import display
from .task_node import TaskNode
from .variables import NAME

ANSIBLES_TAGS = frozenset({"all", "always", "never", "tagged", "untagged"})
TASKS = Path(__file__).resolve().parents[3] / "playbooks" / "tasks" / "node.yml"


@dataclass(frozen=True, slots=True)
class Part:
    """One role of node.yml: its component, its conditions as they stand there, and its arguments as templates."""

    component: Component
    conditions: tuple[str, ...]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodePlan:
    """`steps`: what would be changed, by component; only the components that differ. `looked`: the components that
    were planned. `whole`: every component that takes part was. `reading`: the node as it is, with whatever was read
    besides. `unpinned`: the programs that would be downloaded, and for which nothing vouches but the server that they
    come from. `interrupts`: whether pods notice it; `restarts`: whether the machine is restarted."""

    steps: Mapping[str, tuple[str, ...]]
    looked: tuple[str, ...]
    whole: bool
    reading: Reading
    unpinned: tuple[str, ...] = ()
    interrupts: bool = False
    restarts: bool = False

    def to_result(self) -> dict[str, Any]:
        """As the task's result has it."""
        steps = {name: list(texts) for name, texts in self.steps.items()}
        told = {"steps": steps, "looked": list(self.looked), "whole": self.whole, "converged": self.converged}
        return told | {"unpinned": list(self.unpinned)}

    @property
    def converged(self) -> bool:
        """Whether nothing has to be done."""
        return self.whole and not self.steps


@cache
def list_parts() -> tuple[Part, ...]:
    """The roles of node.yml, in its order."""
    by_role = {each.role: each for each in COMPONENTS}
    found = []
    for task in yaml_load(TASKS.read_text(encoding="utf-8")):
        component = by_role[task["ansible.builtin.import_role"]["name"].rpartition(".")[2]]
        condition = task.get("when", [])
        listed = condition if isinstance(condition, list) else [condition]
        conditions = tuple(map(trust_as_template, listed))
        found.append(Part(component, conditions, _trust(arguments(component.interface))))
    return tuple(found)


def _trust(templates: Any) -> Any:
    if isinstance(templates, Mapping):
        return {name: _trust(each) for name, each in templates.items()}
    return trust_as_template(templates)


def correct_tag(run: Collection[str], known: Collection[str]) -> str:
    """A sentence about the first tag of a run that is unknown and nearly one that is known; "" if there is none: a tag
    may be meant for other plays."""
    names = sorted({part.component.role for part in list_parts()})
    for tag in sorted(set(run) - set(names) - set(known)):
        if near := meant(tag, names):
            return f"--tags {tag}: no role has this tag. Did you mean {near}? The roles have: {', '.join(names)}."
    return ""


def plan_node(
    first: NodeAction, node: TaskNode, reading: Reading, wanted: Callable[[Part], bool], asks: Asks
) -> NodePlan:
    """Plans the node of a task.

    Args:
        first: The task's action, for the run's variables.
        node: The node, which is only read.
        reading: What is known of it.
        wanted: Whether the run comes to a part; AnsibleError where that cannot be told.
        asks: The cluster's answers, kept.

    Raises:
        What the component's own task would: Refused, NodeError, what connections raise. What cannot be rendered yet is
        left to that task, and so are the components behind it.
    """
    found, now = reading, replace(reading, predicted=False)
    steps: dict[str, tuple[str, ...]] = {}
    looked: list[str] = []
    runs: list[Converge] = []

    def note(parts: Mapping[str, Any], queries: Sequence[Query]) -> None:
        nonlocal found
        # By the class: ansible-test's check of deprecated calls follows `found = found.merge(...)` without an end.
        found = Reading.merge(found, parts, queries)

    def build_plan(whole: bool) -> NodePlan:
        restarts = any(run.restarts for run in runs)
        interrupts = restarts or not whole or any(run.interrupts for run in runs)
        return NodePlan(steps, tuple(looked), whole, found, _find_unpinned(asks, steps), interrupts, restarts)

    node.link.noted = note
    try:
        for part in list_parts():
            if not wanted(part):
                continue
            made = part.component
            looked.append(made.role)
            options = check_arguments(made.module, first.render_value(part.arguments))
            own = made.interface.read(options)
            run = Converge(made.name, node, options, asks, check=True, needed=made.reads(node.layout), own=own)
            runs.append(run)
            now = run.run_stages(made.stages, now, after=made.after).reading
            told = run.result(diff=False)
            if told["changed"]:
                steps[made.role] = tuple(str(step["text"]) for step in told["steps"])
    except (AnsibleActionFail, AnsibleConnectionFailure):
        raise
    except AnsibleUndefinedVariable as error:
        if (name := _find_undefined(first, part.arguments)) is None:
            return build_plan(whole=False)
        raise AnsibleActionFail(
            f"{name}: a variable that it uses is not defined for {node.name}: {error}. Define it for the Windows nodes "
            "as well, in the group_vars of a group that they are in.",
            obj=first.variable(name),
        ) from None
    except AnsibleError as error:
        display.vv(f"{reading.machine}: not planned to its end: {error}")
        return build_plan(whole=False)
    return build_plan(whole=True)


def _find_undefined(first: NodeAction, template: Any) -> str | None:
    """The variable of the collection, among those that a template names, in whose own text something is not defined."""
    for name in dict.fromkeys(NAME.findall(str(template))):
        value = first.variable(name)
        if not isinstance(value, str) or "{" not in value:
            continue
        try:
            first.render_value(value)
        except AnsibleUndefinedVariable:
            return _find_undefined(first, value) or name
        except AnsibleError:
            continue
    return None


def _find_unpinned(asks: Asks, steps: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The programs whose download is a step, of those that their own server vouches for."""
    texts = [text for told in steps.values() for text in told]
    return tuple(
        program for url, program in asks.unpinned.items() if any(f" from {mask(url)}" in text for text in texts)
    )
