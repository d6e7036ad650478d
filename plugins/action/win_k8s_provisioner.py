# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replaces programs behind services that are there; documented in modules/win_k8s_provisioner.py."""

from __future__ import annotations

import tempfile
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ansible import constants as C  # noqa: N812 - as Ansible names it

from ..plugin_utils.components.kubelet import drop_ins, places
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.options import read
from ..plugin_utils.engine.answer import Answer
from ..plugin_utils.engine.batch import Batch
from ..plugin_utils.engine.plan import Plan, Step, make_plan, reads, task_result
from ..plugin_utils.engine.reading import Query, Reading
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node.run_id import RUN_ID
from ..plugin_utils.provision import (
    earlier_push,
    in_cluster,
    provision,
    provision_items,
    provision_report,
    provision_source,
)
from ..plugin_utils.provision.delivery import Delivery
from ..plugin_utils.provision.options import ProvisionerOptions
from ..plugin_utils.provision.provision_items import Item
from ..plugin_utils.task.component_action import ConvergingAction
from ..plugin_utils.task.converge import Converge
from ..plugin_utils.task.variables import READING

Tasks = tuple[provision.Task, ...]


@dataclass(frozen=True, slots=True)
class Push:
    """What a task is about: the items, where each comes from, how they get to the node; `pods` are the DaemonSets that
    run kube-proxy on this node from the file that is replaced; `run` sends the batch."""

    how: ProvisionerOptions
    items: tuple[Item, ...]
    origins: Mapping[str, provision_source.Origin]
    pods: tuple[str, ...]
    delivery: Delivery
    run: Converge


class ActionModule(ConvergingAction):
    """win_k8s_provisioner. It sends its batches as a component does, and has no stages: a build goes another way to the
    node where the first one fails, what was brought is taken away where it is refused, and the report reads the journal
    of the very batch.
    """

    module = "win_k8s_provisioner"
    topic = provision.NAME

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._began = time.monotonic()

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Find the programs and read the node; then look, bring, check, plan, swap."""
        items, how = provision_items.parse_items(options, layout), read(ProvisionerOptions, options)
        if not items:
            return provision_report.report_nothing(self._node.calls)
        self._warn_all(provision_items.list_warnings(items))
        queries = earlier_push.list_queries(items, layout)

        def look() -> Reading:
            return provision.read_patiently(self._node.read_queries(queries), queries, self._node.probe)

        with tempfile.TemporaryDirectory(prefix="winkube-", dir=C.DEFAULT_LOCAL_TMP) as folder:
            origins = self._find_origins(items, how, Path(folder))
            delivery = Delivery(replace(self._node, warn_once=self._warn), layout, how)
            reading = self._reuse_reading(queries) or look()
            push = Push(how, items, origins, self._daemon_sets(items, how), delivery, self.begin(options))
            return push.run.plan_until_as_read(lambda found: self._push(push, found), reading, look)

    def _find_origins(
        self, items: Sequence[Item], how: ProvisionerOptions, folder: Path
    ) -> Mapping[str, provision_source.Origin]:
        """Where each item comes from; what the controller downloads goes into `folder`."""

        def download(item: Item) -> Path:
            return self.download(item.name, item.source, folder, how.fetch_timeout)

        return provision_source.find_origins(
            items,
            provision_source.list_folders(self._task_vars, self._loader.get_basedir()),
            self._asks.read_url,
            None if how.fetch_by == "node" else download,
            self._warn_all,
        )

    def _reuse_reading(self, queries: Sequence[Query]) -> Reading | None:
        """The reading as an earlier push of this run has left it."""
        fact = None if self._task.check_mode else self.fact()
        return None if fact is None else earlier_push.read_last(fact, queries, RUN_ID, time.time())

    def _daemon_sets(self, items: Sequence[Item], how: ProvisionerOptions) -> tuple[str, ...]:
        question = in_cluster.ask_daemon_sets(items, how.find_node_name(self._shared.drain, self._host))
        return () if question is None else self._asks.of_cluster(self._shared.cluster, "daemon sets", question) or ()

    def _push(self, push: Push, reading: Reading) -> dict[str, Any]:
        """One plan and its batches. NotAsReadError if it has to be planned again."""
        layout = self._node.layout
        tasks = provision.make_tasks(push.items, push.origins, layout, reading, daemon_sets=push.pods)
        self._warn_all([provision_report.describe_skipped(task) for task in tasks if task.what == "skipped"])
        tasks, reading = push.delivery.bring(tasks, reading)

        problems, warnings = provision.check(tasks, drop_ins.text_of(places.env_file(layout), reading) or "")
        self._warn_all(warnings)
        if problems:
            push.delivery.discard(tasks, reading)
            raise Refused(*problems)

        mark = uuid.uuid4().hex
        plan, reading = self._plan(push, tasks, reading, mark)
        if self._task.check_mode:
            return self._tell(push, plan, tasks, plan.predicted)
        if plan.batch is None:
            push.delivery.discard(tasks, reading, unless="replace")
            return self._tell(push, plan, tasks, reading)
        return self._swap(push, plan, plan.batch, tasks, reading, mark)

    def _plan(self, push: Push, tasks: Tasks, reading: Reading, mark: str) -> tuple[Plan, Reading]:
        """The swap, and the reading with what had to be known for it."""
        layout = self._node.layout
        reading = self._node.complete(reading, provision.list_service_queries(tasks))
        self._warn_all(
            (
                *provision.warn_untried(tasks, layout, reading),
                *earlier_push.describe_foreign_builds(tasks, layout, reading),
            )
        )
        notices = in_cluster.restart_notices(push.pods, tasks)
        resources = provision.build_resources(tasks, layout, reading, push.how, mark, notices)
        reading = self._node.complete(reading, reads(resources))
        return make_plan(self.topic, resources, reading, deadline_s=push.how.deadline_s(len(tasks))), reading

    def _swap(
        self, push: Push, plan: Plan, planned: Batch, tasks: Tasks, reading: Reading, mark: str
    ) -> dict[str, Any]:
        """Drain if that is wanted, hand the batch over, wait for the Node."""
        journal = provision_report.journal_query(self._node.layout, mark)
        reading, answer = push.run.send(planned, mark, reading, beside=(journal,))
        name = push.how.find_node_name(self._shared.drain, self._host)
        find_cluster = partial(self._asks.cluster, self._shared.cluster)
        waited = in_cluster.wait_for_node(find_cluster, push.how, name, tasks)
        before, after = ([Step("the cluster", text) for text in texts] for texts in (push.run.emptied, waited))
        done = replace(plan, steps=(*before, *plan.steps, *after))
        times = provision_report.measure_times(planned, answer.state)
        return self._tell(push, done, tasks, reading, answer, times)

    def _tell(
        self,
        push: Push,
        plan: Plan,
        tasks: Tasks,
        reading: Reading,
        answer: Answer | None = None,
        times: provision_report.Times | None = None,
    ) -> dict[str, Any]:
        """The task's result; answer, times: of the batch, if one was handed over."""
        check = self._task.check_mode
        result = task_result(plan, check=check, diff=self._task.diff, calls=self._node.calls, answer=answer)
        entries = provision_report.build_entries(
            tasks,
            check=check,
            times=times or provision_report.Times(),
            transfers=push.delivery.transfers,
            reading=reading,
        )
        self._warn_all([provision_report.describe_held(entry) for entry in entries if entry["left_behind"]])
        told = provision_report.build_result(self._host, entries, time.monotonic() - self._began)
        return result | told | earlier_push.date_facts(self.facts(reading), READING, time.time())

    def _warn(self, sentence: str) -> None:
        self._asks.warn(f"{self.topic}: {sentence}")

    def _warn_all(self, sentences: Iterable[str]) -> None:
        for sentence in sentences:
            self._warn(sentence)
