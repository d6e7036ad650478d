# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a node; documented in modules/win_k8s_node_info.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as all of Ansible names it
from ansible.errors import AnsibleError
from ansible.template import trust_as_template

from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.asks import Asks
from ..plugin_utils.components.declaration import Component
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import NETWORK, read
from ..plugin_utils.components.registry import read_plan
from ..plugin_utils.components.shared_options import Access, BudgetOptions
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.task import node_plan, preflight
from ..plugin_utils.task.budget import BusyError, Standing, build_claim, find_standing
from ..plugin_utils.task.fingerprint import make_fingerprint
from ..plugin_utils.task.node_action import NodeAction
from ..plugin_utils.task.rendering import Rendering
from ..plugin_utils.task.screen import display

_ON = {
    name: trust_as_template(f"{name} | default(false) | bool")
    for name in ("winkube_conditions", "winkube_drain", "winkube_golden_image")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeInfoOptions:
    """The module's own options."""

    plan: bool
    preflight: bool
    restarting: bool


class ActionModule(NodeAction):
    """win_k8s_node_info."""

    module = "win_k8s_node_info"

    _given: dict[str, Any]
    """The host's variables as they are written."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Renders with variables of its own, each of which is rendered once."""
        self._given = dict(task_vars or {})
        known = self._known = self._templar.available_variables = dict(task_vars or {})
        self._rendering = Rendering(known, super().render_value)
        self._holds = cache(self._evaluate)
        return super().run(tmp, known)

    def render_value(self, value: Any) -> Any:
        """A value with its templates filled in, each variable once. AnsibleError if that cannot be done now."""
        return self._rendering.render(value)

    def _components(self, how: NodeInfoOptions) -> Sequence[Component] | None:
        """With `plan` those of the inventory, whatever the tags; None for all of them."""
        if how.plan:
            with suppress(AnsibleError):  # plan_node says it, where it matters
                return [part.component for part in node_plan.list_parts() if self._is_wanted(part)]
        return None

    def _is_wanted(self, part: node_plan.Part) -> bool:
        """Whether the conditions of a part hold. AnsibleError for one that cannot be judged yet."""
        return all(self._holds(condition) for condition in part.conditions)

    def _evaluate(self, condition: str) -> bool:
        """As Ansible evaluates `when`. AnsibleError for a condition that cannot be judged yet, or is not a boolean."""
        self._rendering.settle(condition)
        return bool(self._templar.evaluate_conditional(condition))

    def _in_run(self, part: node_plan.Part) -> bool:
        return self._takes_part(part.component.role) and self._is_wanted(part)

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """The reading, as a result and for the tasks that follow."""
        how = read(NodeInfoOptions, options)
        reading = self.find_reading()
        if reading is None:
            reading = self._node.read_queries(read_plan(layout, self._components(how)))
        if how.restarting:
            self._node.refuse_restart(reading)
        asks = Asks(self, self._host, shared=Path(C.DEFAULT_LOCAL_TMP), task=str(self._task._uuid), plans=True)
        known = {*node_plan.ANSIBLES_TAGS, *map(str, self._task.tags)}
        if how.plan and (slip := node_plan.correct_tag(self._tags("run"), known)):
            raise Refused(slip)
        standing, arguments = Standing(), node_plan.RoleArguments(self)
        plan = node_plan.NodePlan({}, (), whole=False, reading=reading)
        if how.preflight:
            self._node.refuse_shared(reading)
            run = self._run_of(reading, layout, asks, tries=how.plan and not self._task.check_mode)
            self._known[NETWORK] = dict(run.whole_network())  # what names it need not ask for it again
            if how.plan and run.can_plan:
                plan = node_plan.plan_node(arguments, self._node, reading, self._in_run, asks)
            if problems := preflight.find_problems(run, arguments.find_node(layout), plan.refusals):
                raise Refused(*problems)
            standing = self._find_standing(run, goes_on=how.plan or run.text("preflight") in {"first", "only"})
        elif how.plan:
            plan = node_plan.plan_node(arguments, self._node, reading, self._in_run, asks)
            if plan.refusals:
                raise Refused(*plan.refusals)
        if how.plan:
            goes_away = standing.there and (
                standing.marked or plan.restarts or (plan.interrupts and self._is_on("winkube_drain"))
            )
            plan.note_in(self.adds)
            shown = {**plan.to_result(), **asdict(standing), "goes_away": goes_away, "applied": self._applied()}
            told = {"changed": False, "plan": shown, "winkube": {"calls": self._node.calls}}
            ends = plan.converged and not standing.marked and not self._is_on("winkube_golden_image")
            return told if ends else told | self.facts(plan.reading)
        reading = plan.reading
        system = reading.parts.get("system", {})
        info = {
            "system": system,
            "services": list(reading.services()),
            "files": {
                str(key).removeprefix("file:"): value
                for key, value in reading.parts.items()
                if str(key).startswith("file:")
            },
            "errors": reading.errors(),
        }
        return {"changed": False, "node": info, "winkube": {"calls": self._node.calls}} | self.facts(reading)

    def _run_of(self, reading: Reading, layout: Layout, asks: Asks, *, tries: bool) -> preflight.Run:
        """The variables as later tasks of this run will see them, and which roles take part in it; `tries`: whether a
        bootstrap token may be made."""

        @cache
        def value(name: str) -> Any:
            full = f"{preflight.PREFIX}{name}"
            return self._render_variable(full) if full in self._task_vars else None

        def open_cluster(given: Mapping[str, Any]) -> Cluster | None:
            return asks.cluster(read(Access, given))

        return preflight.Run(
            value,
            reading,
            self._takes_part,
            layout,
            open_cluster,
            asks.warn,
            partial(self.tell_once, "plan"),
            tries=tries,
            host=self._host,
        )

    def _find_standing(self, run: preflight.Run, *, goes_on: bool) -> Standing:
        """Where this host's Node stands. Another run, or a person, that keeps this one off it is a refusal where the
        run `goes_on` to change it, else a warning. A cluster that does not answer keeps off only a run that would ask
        it."""
        try:
            cluster = run.cluster() if run.kubernetes and not run.golden_image else None
            if cluster is None:
                return Standing()
            told = {"take_over": run.text("take_over"), "events": goes_on and self._writes()}
            claim = build_claim(cluster, read(BudgetOptions, told), self.say)
            return find_standing(cluster, run.text("node_name"), claim, self.adds.see)
        except BusyError as busy:
            if goes_on and run.text("budget_full") != "report":
                raise
            self.warn_once(said := " ".join(busy.sentences))
            return Standing(run.text("node_name"), busy=said)
        except Refused as refused:
            if goes_on:
                raise
            self.warn_once(" ".join(refused.sentences))
        except ClusterError as error:
            if self._is_on("winkube_drain"):
                raise
            display.v(f"{self._host}: whether another run works on the Node is not known: {error}")
        return Standing()

    def _writes(self) -> bool:
        """Whether what is found is written to the Node."""
        return self._is_on("winkube_conditions") and not self._task.check_mode

    def _applied(self) -> str:
        """The fingerprint of what this run makes true; empty without winkube_conditions, and if it takes a part."""
        if not self._is_on("winkube_conditions") or self._tags("skip") or self._tags("run") - {"all"}:
            return ""
        return make_fingerprint(self._templar, self._given)

    def _is_on(self, name: str) -> bool:
        """Whether a variable is true."""
        return self._holds(_ON[name])

    def _takes_part(self, role: str) -> bool:
        """Whether the tags of the run leave this role in it: its task has its name, and the tags of the play."""
        task = copy(self._task)  # not its own copy(), which copies every block of the play with all tasks
        task.tags = [role]
        return bool(task.evaluate_tags(self._tags("run") or {"all"}, self._tags("skip"), self._task_vars))

    def _tags(self, kind: str) -> set[str]:
        """The tags to `run`, or to `skip`."""
        return {str(tag) for tag in self._task_vars.get(f"ansible_{kind}_tags") or ()}
