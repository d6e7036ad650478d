# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replaces programs behind services that are there; documented in modules/win_k8s_provisioner.py."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components.kubelet import kubelet
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.plan import Plan, Step, make_plan, reads, task_result
from ..plugin_utils.engine.reading import Reading
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node import verdict
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node.run_id import RUN_ID
from ..plugin_utils.provision import again, in_cluster, provision, provision_items, provision_report, provision_source
from ..plugin_utils.provision.delivery import Delivery
from ..plugin_utils.provision.provision_items import Item
from ..plugin_utils.provision.provision_service import Timeouts
from ..plugin_utils.task import drain
from ..plugin_utils.task.argument_spec import plain
from ..plugin_utils.task.component_action import ConvergingAction
from ..plugin_utils.task.converge import STALE_TRIES
from ..plugin_utils.task.node_action import FACT, display
from ..plugin_utils.task.task_node import with_whole_state

Tasks = tuple[provision.Task, ...]


class _Stale(Exception):  # noqa: N818 - what it says
    """The node was changed after it was read; nothing was swapped. The text is the node's sentence."""

    @classmethod
    def refuse(cls, answer: Mapping[str, Any]) -> None:
        """Raises it if that is the answer."""
        if answer.get("answer") == "stale":
            raise cls(verdict.stale_sentence(answer))


class ActionModule(ConvergingAction):
    """win_k8s_provisioner."""

    module = "win_k8s_provisioner"
    component = provision.NAME

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._began = time.monotonic()
        self._options: Mapping[str, Any] = {}
        self._layout: Layout
        self._items: tuple[Item, ...] = ()
        self._origins: Mapping[str, provision_source.Origin] = {}
        self._delivery: Delivery

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Find the sources, read the node; look, stage, check, swap."""
        self._options, self._layout = options, layout
        self._items = provision_items.items_of(options, layout)
        if not self._items:
            return provision_report.nothing(self._link.calls)
        self._warn_all(provision_items.warnings(self._items))
        with tempfile.TemporaryDirectory(prefix="winkube-") as folder:
            self._origins = self._find_origins(Path(folder))
            self._delivery = Delivery(replace(self._node, warn_once=self._warn), layout, options)
            return self._push(self._left_by_the_last() or self.read(layout), STALE_TRIES)

    def _find_origins(self, folder: Path) -> Mapping[str, provision_source.Origin]:
        """Where each item comes from; what the controller downloads goes into `folder`."""

        def download(item: Item) -> Path:
            return self.download(item.name, item.source, folder, self._options["fetch_timeout"])

        return provision_source.origins(
            self._items,
            provision_source.folders(self._task_vars, self._loader.get_basedir()),
            self._asks.read_url,
            None if self._options["fetch_by"] == "node" else download,
            self._warn_all,
        )

    def read(self, layout: Layout) -> Reading:
        """All that any component wants to know, and the programs' hashes taken again, not the node's cached ones."""
        queries = again.all_reads(self._items, layout)
        return provision.patient(self.read_queries(queries), queries, self._link.probe)

    def _left_by_the_last(self) -> Reading | None:
        fact = (self._task_vars.get("ansible_facts") or {}).get(FACT)
        if self._task.check_mode or not isinstance(fact, Mapping) or not self._may_use(fact):
            return None
        return again.read_last(plain(fact), again.all_reads(self._items, self._layout), RUN_ID, time.time())

    def _push(self, reading: Reading, tries: int) -> dict[str, Any]:
        """Plans, and hands its batches over; from a new reading where the node has changed since this one."""
        try:
            return self._push_once(reading)
        except _Stale as stale:
            if tries == 1:
                raise NodeError(f"{self.component}: {stale}. It was planned {STALE_TRIES} times.") from None
            display.v(f"{self._host}: {stale}; reading it again")
        return self._push(self.read(self._layout), tries - 1)

    def _push_once(self, reading: Reading) -> dict[str, Any]:
        """One plan and its batches. _Stale if it has to be planned again."""
        pods = self._daemon_sets()
        tasks = provision.look(self._items, self._origins, self._layout, reading, daemon_sets=pods)
        self._warn_all([provision_report.skipped_sentence(task) for task in tasks if task.what == "skipped"])
        tasks, reading = self._stage(tasks, reading)
        self._check(tasks, reading)
        mark = uuid.uuid4().hex
        plan, reading = self._plan(tasks, reading, pods, mark)
        if self._task.check_mode:
            return self._tell(plan, tasks, plan.predicted)
        if plan.batch is None:
            self._delivery.discard(tasks, reading, unless="replace")
            return self._tell(plan, tasks, reading)
        return self._swap(plan, plan.batch, tasks, reading, mark)

    def _stage(self, tasks: Tasks, reading: Reading) -> tuple[Tasks, Reading]:
        """Bring the new programs onto the node, beside the old ones; in check mode pretend that they are there."""
        if self._task.check_mode:
            return tasks, provision.as_if_staged(tasks, reading)
        staged, reading, answer = self._delivery.staged(reading, tasks)
        _Stale.refuse(answer)
        return staged, reading

    def _check(self, tasks: Tasks, reading: Reading) -> None:
        """Refused if a new program cannot do what its service asks of it."""
        flags = kubelet.text_of(kubelet.env_file(self._layout), reading)
        problems, warnings = provision.check(tasks, flags)
        self._warn_all(warnings)
        if problems:
            self._delivery.discard(tasks, reading)
            raise Refused(*problems)

    def _plan(self, tasks: Tasks, reading: Reading, pods: tuple[str, ...], mark: str) -> tuple[Plan, Reading]:
        """The swap, and the reading with what had to be known for it."""
        layout, wanted = self._layout, self._options
        timeouts = Timeouts(wanted["start_timeout"], wanted["stop_timeout"], wanted["stable"])
        reading = self._node.completed(reading, provision.to_know(tasks))
        self._warn_all((*provision.warn_untried(tasks, layout, reading), *again.of_others(tasks, layout, reading)))
        resources = provision.build_resources(
            tasks, layout, reading, timeouts, mark, in_cluster.restart_notices(pods, tasks)
        )
        reading = self._node.completed(reading, reads(resources))
        return make_plan(self.component, resources, reading, deadline_s=timeouts.deadline_s(len(tasks))), reading

    def _swap(self, plan: Plan, planned: Batch, tasks: Tasks, reading: Reading, mark: str) -> dict[str, Any]:
        """Drain if that is wanted, hand the batch over, wait for the Node."""
        batch = with_whole_state(planned, self._layout)
        sent = replace(batch, state=(*batch.state, provision_report.journal_query(self._layout, mark)))
        before = drain.before(sent, self._options, RUN_ID)
        answer = self._node.apply(sent, mark, reading)
        _Stale.refuse(answer)
        times = provision_report.times(sent, answer.get("state") or {})
        reading = self._node.after(reading, batch, provision_report.without_journal(answer))
        waited = in_cluster.wait_for_node(self._options, self._node_name(), tasks)
        drained, ready = ([Step("the cluster", text) for text in texts if text] for texts in (before, (waited,)))
        return self._tell(replace(plan, steps=(*drained, *plan.steps, *ready)), tasks, reading, answer, times)

    def _tell(
        self,
        plan: Plan,
        tasks: Tasks,
        reading: Reading,
        answer: Mapping[str, Any] | None = None,
        times: provision_report.Times | None = None,
    ) -> dict[str, Any]:
        """The task's result; answer, times: of the batch, if one was handed over."""
        check = self._task.check_mode
        result = task_result(plan, check=check, diff=self._task.diff, calls=self._link.calls, answer=answer)
        entries = provision_report.items(
            tasks,
            check=check,
            times=times or provision_report.Times(),
            transfers=self._delivery.transfers,
            reading=reading,
        )
        self._warn_all([provision_report.held_sentence(entry) for entry in entries if entry["left_behind"]])
        told = provision_report.build_result(self._host, entries, time.monotonic() - self._began)
        return result | told | again.date_facts(self.facts(reading), FACT, time.time())

    def _daemon_sets(self) -> tuple[str, ...]:
        """The DaemonSets that run kube-proxy on this node from the file that is replaced."""
        question = in_cluster.ask_daemon_sets(self._items, self._node_name())
        if question is None:
            return ()
        try:
            found = self._asks.of_cluster(self._options, "daemon sets", question)
        except ClusterError as error:
            raise NodeError(f"{self.component}: {error}") from error
        return found or ()

    def _warn(self, sentence: str) -> None:
        self._asks.warn(f"{self.component}: {sentence}")

    def _warn_all(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self._warn(sentence)

    def _node_name(self) -> str:
        return in_cluster.node_name(self._options, self._host)
