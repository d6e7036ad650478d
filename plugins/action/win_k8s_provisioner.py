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
from ..plugin_utils.engine.plan import Step, make_plan, reads, task_result
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


class ActionModule(ConvergingAction):
    """win_k8s_provisioner."""

    module = "win_k8s_provisioner"
    component = provision.NAME
    _items: tuple[Item, ...] = ()
    _began = 0.0

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Find the sources, read the node, stage, check, swap."""
        self._began = time.monotonic()
        self._items = provision_items.items_of(options, layout)
        if not self._items:
            return provision_report.nothing(self._link.calls)
        self._warn_all(provision_items.warnings(self._items))
        with tempfile.TemporaryDirectory(prefix="winkube-") as folder:

            def download(item: Item) -> Path:
                return self.download(item.name, item.source, Path(folder), options["fetch_timeout"])

            by_us = None if options["fetch_by"] == "node" else download
            found = provision_source.origins(
                self._items,
                provision_source.folders(self._task_vars, self._loader.get_basedir()),
                self._asks.read_url,
                by_us,
                self._warn_all,
            )
            delivery = Delivery(replace(self._node, warn_once=self._warn), layout, options)
            reading = self._left_by_the_last(layout) or self.read(layout)
            for _attempt in range(STALE_TRIES):
                answer, result = self._attempt(options, layout, reading, found, delivery)
                if answer.get("answer") != "stale":
                    return result
                display.v(f"{self._host}: {verdict.stale_sentence(answer)}; reading it again")
                reading = self.read(layout)
        raise NodeError(f"{self.component}: {verdict.stale_sentence(answer)}. It was planned {STALE_TRIES} times.")

    def read(self, layout: Layout) -> Reading:
        """All that any component wants to know, and the programs' hashes taken again, not the node's cached ones."""
        queries = again.all_reads(self._items, layout)
        return provision.patient(self.read_of(queries), queries, self._link.probe)

    def _left_by_the_last(self, layout: Layout) -> Reading | None:
        fact = (self._task_vars.get("ansible_facts") or {}).get(FACT)
        if self._task.check_mode or not isinstance(fact, Mapping) or not self._may_use(fact):
            return None
        return again.left_by_the_last(plain(fact), again.all_reads(self._items, layout), RUN_ID, time.time())

    def _attempt(
        self,
        options: Mapping[str, Any],
        layout: Layout,
        reading: Reading,
        found: Mapping[str, provision_source.Origin],
        delivery: Delivery,
    ) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """One plan and its batches: the node's last answer (nothing was swapped if it is `stale`), the result."""
        check = self._task.check_mode
        pods = self._daemon_sets(options)
        tasks = provision.look(self._items, found, layout, reading, daemon_sets=pods)
        self._warn_all([provision_report.skipped_sentence(task) for task in tasks if task.what == "skipped"])
        answer: Mapping[str, Any] = {}
        if check:
            reading = provision.as_if_staged(tasks, reading)
        else:
            tasks, reading, answer = delivery.staged(reading, tasks)
            if answer.get("answer") == "stale":
                return answer, {}
        problems, warnings = provision.check(tasks, kubelet.text_of(kubelet.env_file(layout), reading))
        self._warn_all(warnings)
        if problems:
            delivery.discard(tasks, reading)
            raise Refused(*problems)
        mark = uuid.uuid4().hex
        timeouts = Timeouts(options["start_timeout"], options["stop_timeout"], options["stable"])
        reading = self._node.completed(reading, provision.to_know(tasks))
        self._warn_all((*provision.untried(tasks, layout, reading), *again.of_others(tasks, layout, reading)))
        resources = provision.desired(tasks, layout, reading, timeouts, mark, in_cluster.restart_notices(pods, tasks))
        reading = self._node.completed(reading, reads(resources))
        deadline = max(900, 2 * options["start_timeout"] + 600) + len(tasks) * (options["stable"] or 0)
        plan = make_plan(self.component, resources, reading, deadline_s=deadline)
        times, answer = provision_report.Times(), {}
        if plan.batch is None or check:
            delivery.discard(() if check else tasks, reading, unless="replace")
            reading = plan.predicted if check else reading
        else:
            whole = with_whole_state(plan.batch, layout)
            batch = replace(whole, state=(*whole.state, provision_report.journal_query(layout, mark)))
            steps = tuple(Step("the cluster", text) for text in drain.before(batch, options, RUN_ID))
            answer = self._node.apply(batch, mark, reading)
            if answer.get("answer") == "stale":
                return answer, {}
            times = provision_report.times(batch, answer.get("state") or {})
            reading = self._node.after(reading, whole, provision_report.without_journal(answer))
            waited = in_cluster.wait_for_node(options, self._node_name(options), tasks)
            last = (Step("the cluster", waited),) if waited else ()
            plan = replace(plan, steps=(*steps, *plan.steps, *last))
        result = task_result(plan, check=check, diff=self._task.diff, calls=self._link.calls, answer=answer or None)
        entries = provision_report.items(tasks, check=check, times=times, transfers=delivery.transfers, reading=reading)
        self._warn_all([provision_report.held_sentence(entry) for entry in entries if entry["left_behind"]])
        told = provision_report.told(self._host, entries, time.monotonic() - self._began)
        return answer, result | told | again.dated(self.facts(reading), FACT, time.time())

    def _daemon_sets(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The DaemonSets that run kube-proxy on this node from the file that is replaced."""
        item = next((item for item in self._items if item.name.casefold() == "kube-proxy"), None)
        if item is None:
            return ()
        name, place = self._node_name(options), item.destination
        try:
            return self._asks.of_cluster(options, "daemon sets", lambda each: in_cluster.asked(each, name, place)) or ()
        except ClusterError as error:
            raise NodeError(f"{self.component}: {error}") from error

    def _warn(self, sentence: str) -> None:
        self._asks.warn(f"{self.component}: {sentence}")

    def _warn_all(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self._warn(sentence)

    def _node_name(self, options: Mapping[str, Any]) -> str:
        return str(options["node_name"] or (options.get("drain") or {}).get("node_name") or self._host).lower()
