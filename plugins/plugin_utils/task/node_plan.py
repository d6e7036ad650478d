# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All components of a run planned by its first task, as the later ones would in check mode.

Which components, in which order and on which condition is read from playbooks/tasks/node.yml, which is what the run
does; the arguments of each are those that its role passes. Each one's prediction is the reading of the next. Behind a
component that is refused the others are planned as well, so that all is said at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError, AnsibleUndefinedVariable
from ansible.module_utils.common.yaml import yaml_load
from ansible.template import trust_as_template

from ..cluster.error import ClusterError
from ..components.asks import Asks
from ..components.declaration import Component
from ..components.layout import Layout
from ..components.node import Node
from ..components.registry import COMPONENTS
from ..components.shared_options import arguments
from ..engine.address import mask
from ..engine.reading import Query, Reading
from ..engine.resource import Refused
from ..foreign.spelling import meant
from ..node.link import NodeError
from ..record.node_record import Plan, Step
from .argument_spec import check_arguments
from .converge import Converge
from .recorded import WOULD, Adding
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
    come from. `interrupts`: whether pods notice it; `restarts`: whether the machine is restarted. `refusals`: why it
    cannot be done, a sentence each."""

    steps: Mapping[str, tuple[str, ...]]
    looked: tuple[str, ...]
    whole: bool
    reading: Reading
    unpinned: tuple[str, ...] = ()
    interrupts: bool = False
    restarts: bool = False
    refusals: tuple[str, ...] = ()

    def to_result(self) -> dict[str, Any]:
        """As the task's result has it."""
        steps = {name: list(texts) for name, texts in self.steps.items()}
        told = {"steps": steps, "looked": list(self.looked), "whole": self.whole, "converged": self.converged}
        return told | {"unpinned": list(self.unpinned)}

    def note_in(self, adds: Adding) -> None:
        """The plan for the record of its node."""
        adds.plan = Plan(whole=self.whole, looked=bool(self.looked), unpinned=self.unpinned)
        adds.planned |= {
            role: tuple(Step(text=text.removeprefix(WOULD)) for text in texts) for role, texts in self.steps.items()
        }

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


class Variables(Protocol):
    """The run's variables, as its first task sees them."""

    def render_value(self, value: Any) -> Any:
        """A value with its templates filled in. AnsibleError if that cannot be done now."""

    def render_in_role(self, value: Any, role: str) -> Any:
        """The same in a play that has not loaded the role: its own defaults count behind all other values."""

    def variable(self, name: str) -> Any:
        """A variable as it stands; None if there is none."""


class RoleArguments:
    """What the roles of a run pass to their modules for one host, each read once."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self._read: dict[str, tuple[Mapping[str, Any], Any]] = {}

    def read(self, part: Part) -> tuple[Mapping[str, Any], Any]:
        """The module's options, checked, and the same as the component reads them. AnsibleError if they cannot be
        rendered now, AnsibleActionFail for one that is wrong."""
        made = part.component
        if made.role not in self._read:
            options = check_arguments(made.module, self._render(part))
            self._read[made.role] = options, made.interface.read(options)
        return self._read[made.role]

    def _render(self, part: Part) -> Any:
        try:
            return self.variables.render_value(part.arguments)
        except AnsibleError:
            return self.variables.render_in_role(part.arguments, part.component.role)

    def find_node(self, layout: Layout) -> Node | None:
        """The node as all roles together want it, whatever the run's tags, but for the optional ones. None if that
        cannot be rendered now."""
        own: dict[str, Any] = {}
        for part in list_parts():
            if not part.component.optional:
                try:
                    own[part.component.role] = self.read(part)[1]
                except AnsibleError as error:
                    display.vv(f"{part.component.role}: its arguments are not known yet: {error}")
                    return None
        versions = {role: str(getattr(options, "version", "")) for role, options in own.items()}
        return Node(layout=layout, versions=versions, **own)


def plan_node(
    arguments_of: RoleArguments, node: TaskNode, reading: Reading, wanted: Callable[[Part], bool], asks: Asks
) -> NodePlan:
    """Plans the node of a task.

    Args:
        arguments_of: What the roles pass.
        node: The node, which is only read.
        reading: What is known of it.
        wanted: Whether the run comes to a part; AnsibleError where that cannot be told.
        asks: The cluster's answers, kept.

    Raises:
        What the component's own task would, but for Refused and what the cluster does not answer, which the plan has:
        NodeError, what connections raise. What cannot be rendered yet is left to that task, and so are the components
        behind it.
    """
    found, now = reading, replace(reading, predicted=False)
    steps: dict[str, tuple[str, ...]] = {}
    looked: list[str] = []
    runs: list[Converge] = []
    refused: dict[str, tuple[str, ...]] = {}

    def note(parts: Mapping[str, Any], queries: Sequence[Query]) -> None:
        nonlocal found
        # By the class: ansible-test's check of deprecated calls follows `found = found.merge(...)` without an end.
        found = Reading.merge(found, parts, queries)

    def build_plan(whole: bool) -> NodePlan:
        restarts = any(run.restarts for run in runs)
        interrupts = restarts or not whole or any(run.interrupts for run in runs)
        unpinned, refusals = _find_unpinned(asks, steps), tuple(chain.from_iterable(refused.values()))
        return NodePlan(steps, tuple(looked), whole, found, unpinned, interrupts, restarts, refusals)

    node.link.noted = note
    try:
        for part in list_parts():
            if not wanted(part):
                continue
            made = part.component
            looked.append(made.role)
            options, own = arguments_of.read(part)
            run = Converge(made.name, node, options, asks, check=True, needed=made.reads(node.layout), own=own)
            runs.append(run)
            try:
                now = run.run_stages(made.stages, now, after=made.after).reading
            except (Refused, NodeError) as error:
                refused[made.role] = _list_refusals(error, refused)
                now = replace(now, predicted=True)
                continue
            told = run.result(diff=False)
            if told["changed"]:
                steps[made.role] = tuple(str(step["text"]) for step in told["steps"])
    except (AnsibleActionFail, AnsibleConnectionFailure):
        raise
    except AnsibleUndefinedVariable as error:
        if (name := _find_undefined(arguments_of.variables, part.arguments)) is None:
            return build_plan(whole=False)
        raise AnsibleActionFail(
            f"{name}: a variable that it uses is not defined for {node.name}: {error}. Define it for the Windows nodes "
            "as well, in the group_vars of a group that they are in.",
            obj=arguments_of.variables.variable(name),
        ) from None
    except AnsibleError as error:
        display.vv(f"{reading.machine}: not planned to its end: {error}")
        return build_plan(whole=False)
    return build_plan(whole=True)


def _list_refusals(error: Refused | NodeError, refused: Collection[str]) -> tuple[str, ...]:
    """The sentences of a component behind those that are `refused`. NodeError for one of the node's, not the
    cluster's."""
    if isinstance(error, Refused):
        return error.list_own(refused)
    if isinstance(error.__cause__, ClusterError):
        return (str(error.__cause__),)
    raise error


def _find_undefined(variables: Variables, template: Any) -> str | None:
    """The variable of the collection, among those that a template names, in whose own text something is not defined."""
    for name in dict.fromkeys(NAME.findall(str(template))):
        value = variables.variable(name)
        if not isinstance(value, str) or "{" not in value:
            continue
        try:
            variables.render_value(value)
        except AnsibleUndefinedVariable:
            return _find_undefined(variables, value) or name
        except AnsibleError:
            continue
    return None


def _find_unpinned(asks: Asks, steps: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The programs whose download is a step, of those that their own server vouches for."""
    texts = [text for told in steps.values() for text in told]
    return tuple(
        program for url, program in asks.unpinned.items() if any(f" from {mask(url)}" in text for text in texts)
    )
