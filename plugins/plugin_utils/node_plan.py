# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All components of a run planned by its first task, as the later ones would plan them in check mode.

Which components, in which order and on which condition is read from playbooks/tasks/node.yml, which is what the run
does; the arguments of each are those that its role passes. Each one's prediction is the reading of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.common.yaml import yaml_load
from ansible.template import trust_as_template

from .component_action import ComponentAction
from .components.options import arguments
from .components.registry import COMPONENTS
from .engine.reading import Query, Reading
from .node.link import Link
from .node_action import NodeAction, display

TASKS = Path(__file__).resolve().parents[2] / "playbooks" / "tasks" / "node.yml"


@dataclass(frozen=True, slots=True)
class Part:
    """One role of node.yml: its name and tag, the module of its task, its conditions, the arguments as templates."""

    role: str
    module: str
    conditions: tuple[str, ...]
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodePlan:
    """`steps`: what would be changed, by component; the components that differ alone. `whole`: every component that
    takes part was planned. `reading`: the node as it is, with whatever was read besides."""

    steps: Mapping[str, tuple[str, ...]]
    whole: bool
    reading: Reading

    def told(self) -> dict[str, Any]:
        """As the task's result has it."""
        steps = {name: list(texts) for name, texts in self.steps.items()}
        return {"steps": steps, "whole": self.whole, "converged": self.converged}

    @property
    def converged(self) -> bool:
        """Whether nothing has to be done."""
        return self.whole and not self.steps


@cache
def parts() -> tuple[Part, ...]:
    """The roles of node.yml, in its order. The same for all nodes: read once, before workers are forked."""
    by_role = {each.role: each for each in COMPONENTS}
    found = []
    for task in yaml_load(TASKS.read_text(encoding="utf-8")):
        component = by_role[task["ansible.builtin.import_role"]["name"].rpartition(".")[2]]
        condition = task.get("when", [])
        listed = condition if isinstance(condition, list) else [condition]
        conditions = tuple(trust_as_template(str(each)) for each in listed)
        found.append(Part(component.role, component.module, conditions, _trusted(arguments(component.interface))))
    return tuple(found)


def _trusted(templates: Any) -> Any:
    if isinstance(templates, Mapping):
        return {name: _trusted(each) for name, each in templates.items()}
    return trust_as_template(templates)


def takes_part(tags: Collection[str], run: Collection[str], skip: Collection[str]) -> bool:
    """Whether a task with these tags runs with `--tags` and `--skip-tags`.

    Source: ansible-core 2.21 lib/ansible/playbook/taggable.py, evaluate_tags.
    """
    own = set(tags)
    some = bool(own) and "never" not in own
    if not ("always" in own or ("all" in run and "never" not in own) or own & set(run) or ("tagged" in run and some)):
        return False
    if "all" in skip:
        return "always" in own and "always" not in skip
    return not (own & set(skip) or ("tagged" in skip and own))


def plan_node(
    first: NodeAction,
    link: Link,
    reading: Reading,
    actions: Mapping[str, type[ComponentAction]],
    roles: Callable[[str], bool],
) -> NodePlan:
    """Plans the node of the task of `first`. `actions` are the components' actions, by module; `roles` says which
    roles the tags of the run leave in it.

    Raises what the component's own task would: Refused, NodeError, what connections raise. What cannot be rendered yet
    is left to that task, and so are the components behind it.
    """
    found, now = reading, replace(reading, predicted=False)
    steps: dict[str, tuple[str, ...]] = {}
    answers: dict[str, Any] = {}
    holds = cache(first.holds)

    def note(parts: Mapping[str, Any], queries: Sequence[Query]) -> None:
        nonlocal found
        # By the class: ansible-test's check of deprecated calls follows `found = found.merged(...)` without an end.
        found = Reading.merged(found, parts, queries)

    link.noted = note
    try:
        for part in parts():
            if roles(part.role) and all(holds(each) for each in part.conditions):
                wanted = first.render_value(part.arguments)
                result, now = actions[part.module].planned(first, wanted, now, answers)
                if result["changed"]:
                    steps[part.role] = tuple(str(step["text"]) for step in result["steps"])
    except (AnsibleActionFail, AnsibleConnectionFailure):
        raise
    except AnsibleError as error:
        display.vv(f"{reading.machine}: not planned to its end: {error}")
        return NodePlan(steps, False, found)
    return NodePlan(steps, True, found)
