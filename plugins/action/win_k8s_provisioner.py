# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replaces programs behind services that are there; documented in modules/win_k8s_provisioner.py."""

from __future__ import annotations

import hashlib
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.urls import open_url

from ..plugin_utils import drain, verdict
from ..plugin_utils.cluster.client import Clock, Cluster, wait_for
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.component_action import STALE_TRIES
from ..plugin_utils.components.kubelet import kubelet
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.read_plan import read_plan
from ..plugin_utils.engine import report
from ..plugin_utils.engine.batch import Batch, Op
from ..plugin_utils.engine.plan import Plan, Step, make_plan, reads
from ..plugin_utils.engine.reading import Reading, merge_queries
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.kubernetes_action import KubernetesAction
from ..plugin_utils.node.link import Link, NodeError
from ..plugin_utils.node_action import display
from ..plugin_utils.provision import provision, provision_items, provision_report, provision_source
from ..plugin_utils.provision.provision import Task
from ..plugin_utils.provision.provision_daemon_sets import from_host
from ..plugin_utils.provision.provision_items import Item
from ..plugin_utils.provision.provision_service import Timeouts
from ..plugin_utils.provision.provision_source import Build, Origin
from ..plugin_utils.run_id import RUN_ID
from ..plugin_utils.transfer.cache import PushCache
from ..plugin_utils.transfer.progress import shown
from ..plugin_utils.transfer.pull import offered
from ..plugin_utils.transfer.push import Base, Mode, Pushed, PushError, Ready, prepared, push
from ..plugin_utils.transfer.serve import ServeError, address_towards, ports_of

_CHUNK = 1024 * 1024
_Brought = tuple[Batch | None, Mapping[str, Any]]
"""The first batch, None if none is needed, and the node's answer to it."""


@dataclass(slots=True)
class _Work:
    """What one task of the playbook has found out so far."""

    items: tuple[Item, ...]
    origins: dict[str, Origin] = field(default_factory=dict)
    transfers: dict[str, dict[str, Any]] = field(default_factory=dict)
    pushed: dict[str, tuple[Op, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _InTime:
    """The connection; a file that it does not get to the node in time is a lost connection."""

    link: Link
    connection: Any

    def put_file(self, in_path: str, out_path: str) -> object:
        return self.link.carry(lambda: self.connection.put_file(in_path, out_path))


class ActionModule(KubernetesAction):
    """win_k8s_provisioner."""

    module = "win_k8s_provisioner"
    component = provision.NAME
    _items: tuple[Item, ...] = ()

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Find the sources, read the node, stage, check, swap."""
        self._items = provision_items.items_of(options, layout)
        if not self._items:
            return {"changed": False, "steps": [], "provisioners": [], "winkube": _unasked(self._link.calls)}
        self.warn_all(provision_items.warnings(self._items))
        with tempfile.TemporaryDirectory(prefix="winkube-") as folder:
            work = _Work(self._items, self._origins(options, Path(folder)))
            reading = self.read(layout)
            for _attempt in range(STALE_TRIES):
                answer, result = self._attempt(options, layout, reading, work)
                if answer.get("answer") != "stale":
                    return result
                display.v(f"{self._host}: {verdict.stale_sentence(answer)}; reading it again")
                reading = self.read(layout)
        raise NodeError(f"{self.component}: {verdict.stale_sentence(answer)}. It was planned {STALE_TRIES} times.")

    def read(self, layout: Layout) -> Reading:
        """All that any component wants to know, and the programs' hashes taken anew: one remote call. A reading of an
        earlier task is never used, since it may hold hashes out of the node's cache."""
        return self.read_of(merge_queries((*provision.reads(self._items, layout), *read_plan(layout))))

    # -- sources on the controller -----------------------------------------------------------------------------------

    def _origins(self, options: Mapping[str, Any], folder: Path) -> dict[str, Origin]:
        """The source of each item that has one. Refused with the sentences of all that are not right."""
        problems: list[str] = []
        found: dict[str, Origin] = {}
        for item in self._items:
            if item.previous:
                continue
            try:
                found[item.name] = self._origin(item, options, folder)
            except Refused as refused:
                problems += refused.sentences
        if problems:
            raise Refused(*problems)
        return found

    def _origin(self, item: Item, options: Mapping[str, Any], folder: Path) -> Origin:
        if not provision_source.is_address(item.source):
            return provision_source.from_controller(item, self._folders(), self.read_once)
        origin = provision_source.from_address(item, self.read_once)
        if origin.sha256 is None and item.source.lower().startswith("http://"):
            self.warn_all(
                [
                    f"{item.name}: {item.source} is fetched over plain http and without a checksum: whoever sits "
                    "between can put any program on the node. Give checksum: sha256:<64 hex digits>."
                ]
            )
        if options["fetch_by"] == "node":
            return origin
        return provision_source.of_build(item, self._download(item, options, folder), self.read_once)

    def _download(self, item: Item, options: Mapping[str, Any], folder: Path) -> Build:
        path = folder / hashlib.sha256(item.source.encode()).hexdigest()
        try:
            with open_url(item.source, timeout=options["fetch_timeout"]) as answer, path.open("wb") as file:
                while chunk := answer.read(_CHUNK):
                    file.write(chunk)
        except (OSError, HTTPException) as error:
            raise Refused(f"{item.name}: {item.source} could not be fetched on the controller: {error}.") from error
        return provision_source.read(path)

    def _folders(self) -> tuple[Path, ...]:
        """Where a relative path may begin: beside the Node YAML, beside the playbook."""
        known = (self._task_vars.get(name) for name in ("winkube_node_dir", "inventory_dir"))
        places = [*(str(folder) for folder in known if folder), self._loader.get_basedir()]
        return tuple(dict.fromkeys(Path(place).resolve() for place in places))

    # -- the node ----------------------------------------------------------------------------------------------------

    def _attempt(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, work: _Work
    ) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """One plan and its batches: the node's last answer and the task's result. Nothing was swapped if the answer is
        `stale`."""
        pods = self._daemon_sets(options, layout)
        tasks = provision.look(work.items, work.origins, layout, reading, daemon_sets=pods)
        self.warn_all([provision_report.skipped_sentence(task) for task in tasks if task.what == "skipped"])
        if self._task.check_mode:
            reading = provision.as_if_staged(tasks, reading)
        else:
            tasks, reading, answer = self._staged(options, layout, reading, work, tasks)
            if answer.get("answer") == "stale":
                return answer, {}
        env_file = kubelet.text_of(kubelet.env_file(layout), reading)
        problems, warnings = provision.check(tasks, env_file)
        self.warn_all(warnings)
        if problems:
            self._discard(tasks, layout, reading)
            raise Refused(*problems)
        mark = uuid.uuid4().hex
        timeouts = Timeouts(options["start_timeout"], options["stop_timeout"])
        resources = provision.desired(tasks, layout, reading, timeouts, mark, _restart_pods(pods, tasks))
        if missing := reading.missing(reads(resources)):
            reading = reading.merged(self._link.probe(missing), missing)
        plan = make_plan(self.component, resources, reading, deadline_s=max(900, 2 * options["start_timeout"] + 600))
        if plan.batch is None or self._task.check_mode:
            self._discard([] if self._task.check_mode else tasks, layout, reading, unless="replace")
            after = plan.predicted if self._task.check_mode else reading
            return {}, self._result(plan, tasks, work, {}, {}, after)
        batch = replace(plan.batch, state=(*plan.batch.state, provision_report.journal_query(layout, mark)))
        steps = tuple(Step("the cluster", text) for text in drain.before(batch, options, RUN_ID))
        answer = self._apply(batch, mark, layout, reading)
        if answer.get("answer") == "stale":
            return answer, {}
        downtime = provision_report.downtimes(batch, answer.get("state") or {})
        reading = self._after(reading, plan.batch, _without_journal(answer), layout)
        steps += self._wait_for_node(options, tasks)
        plan = replace(plan, steps=(*steps[:-1], *plan.steps, *steps[-1:]) if steps else plan.steps)
        return answer, self._result(plan, tasks, work, downtime, answer, reading)

    def _staged(
        self, options: Mapping[str, Any], layout: Layout, reading: Reading, work: _Work, tasks: tuple[Task, ...]
    ) -> tuple[tuple[Task, ...], Reading, Mapping[str, Any]]:
        """Put the new programs beside the present ones and judge them there."""
        room = provision.room(tasks, layout, reading)
        if room is not None:
            answer = self._apply(room, uuid.uuid4().hex, layout, reading)
            if answer.get("answer") == "stale":
                return tasks, reading, answer
            reading = self._after(reading, room, answer, layout)
        waiting = [
            task
            for task in tasks
            if task.is_staged and task.origin and task.origin.build and task.item.name not in work.pushed
        ]
        brought = self._pulled(options, layout, reading, work, tasks, waiting) if waiting else None
        if brought is None:
            brought = self._pushed(options, layout, reading, work, tasks, waiting)
        batch, answer = brought
        if batch is None or answer.get("answer") == "stale":
            return tasks, reading, answer
        reading = self._after(reading, batch, answer, layout)
        try:
            return provision.judged(tasks, batch, answer, reading), reading, answer
        except Refused:
            self._discard(tasks, layout, reading)
            raise

    def _pushed(
        self,
        options: Mapping[str, Any],
        layout: Layout,
        reading: Reading,
        work: _Work,
        tasks: tuple[Task, ...],
        waiting: Sequence[Task],
    ) -> _Brought:
        """Send what is `waiting` by the connection, and run the first batch."""
        for task in waiting:
            self._push(task, options["transfer"], layout, reading, work)
        batch = self._first_batch(options, layout, reading, work.pushed, tasks)
        if batch is None:
            return None, {}
        try:
            return batch, self._apply(batch, uuid.uuid4().hex, layout, reading)
        except NodeError:
            self._look_at_failed(tasks, batch, layout, reading)
            raise

    def _pulled(
        self,
        options: Mapping[str, Any],
        layout: Layout,
        reading: Reading,
        work: _Work,
        tasks: tuple[Task, ...],
        waiting: Sequence[Task],
    ) -> _Brought | None:
        """Run the first batch with the node fetching what is `waiting` from here. None, with a warning, where that is
        not wanted or does not work: then it has to be sent."""
        if options["transfer"] != "pull":
            return None
        batch: Batch | None = None
        why = ""
        try:
            host = options["pull_address"] or address_towards(self._peer())
            with ExitStack() as stack:
                ready = {
                    task.item.name: stack.enter_context(self._prepared(task, "auto", layout, reading))
                    for task in waiting
                }
                say = shown(f"[{self._host}] {', '.join(ready)}", display.display)
                offer = stack.enter_context(offered(ready, host, ports_of(options["pull_ports"]), say))
                ops = {
                    name: provision.assembled(
                        build.pushed(0, 0.0).op or {}, build.remote, offer.fetches(name, options["fetch_timeout"])
                    )
                    for name, build in ready.items()
                }
                batch = self._first_batch(options, layout, reading, {**work.pushed, **ops}, tasks)
                if batch is None:
                    return None, {}
                answer = self._apply(batch, uuid.uuid4().hex, layout, reading)
                for name in ready:
                    work.transfers[name] = _transfer(offer.pulled(name), "pull")
                return batch, answer
        except ServeError as error:
            why = str(error)
        except NodeError as error:
            if batch is None:
                raise
            found = reading.merged(self._link.probe(batch.state), batch.state)
            if all(found.file(task.staged).get("exists") for task in waiting):
                self._look_at_failed(tasks, batch, layout, reading)
                raise
            why = str(error)
        self.warn_all([f"transfer: pull did not work, the build is sent by Ansible's connection instead: {why}"])
        return None

    def _first_batch(
        self,
        options: Mapping[str, Any],
        layout: Layout,
        reading: Reading,
        pushed: Mapping[str, tuple[Op, ...]],
        tasks: tuple[Task, ...],
    ) -> Batch | None:
        return provision.stage(
            tasks, pushed, layout, reading, proxy=options["proxy"], timeout_s=options["fetch_timeout"]
        )

    def _peer(self) -> str:
        """What the connection plugin calls the node."""
        for name in ("host", "remote_addr"):
            with suppress(KeyError, AnsibleError):
                if found := self._connection.get_option(name):
                    return str(found)
        return self._host

    def _look_at_failed(self, tasks: tuple[Task, ...], batch: Batch, layout: Layout, reading: Reading) -> None:
        """A staged program that could not be started may be none: then its first bytes say more than Windows does.
        Refused with that sentence."""
        found = reading.merged(self._link.probe(batch.state), batch.state)
        there = tuple(task for task in tasks if task.is_staged and found.file(task.staged).get("exists"))
        try:
            provision.judged(there, batch, {}, found)
        finally:
            self._discard(there, layout, found)

    def _push(self, task: Task, mode: Mode, layout: Layout, reading: Reading, work: _Work) -> None:
        """Send a build of the controller, as the difference from one that is on the node where that can be made."""
        say = shown(f"[{self._host}] {task.item.name}", display.display)
        with self._prepared(task, mode, layout, reading) as ready:
            pushed = push(_InTime(self._link, self._connection), ready, say)
        if pushed.op is not None:
            work.pushed[task.item.name] = provision.assembled(pushed.op, pushed.parts)
        work.transfers[task.item.name] = _transfer(pushed, "connection")

    @contextmanager
    def _prepared(self, task: Task, mode: Mode, layout: Layout, reading: Reading) -> Iterator[Ready]:
        """The parts of a task's build. NodeError if they cannot be made."""
        cache = PushCache.default()
        there = [Base(path, sha256) for path, sha256 in provision.bases(task, reading)]
        known = [base for base in there if cache.find(base.sha256) is not None] or there
        build = task.origin.build if task.origin else None
        if build is None:
            raise ValueError(f"{task.item.name} comes from no file of the controller")
        with ExitStack() as stack:
            try:
                ready = stack.enter_context(
                    prepared(
                        build.path,
                        build.sha256,
                        build.size,
                        known[0] if known else None,
                        provision.staging(task.item, layout),
                        cache,
                        target=task.staged,
                        mode="whole" if mode == "whole" else "auto",
                    )
                )
            except PushError as error:
                raise NodeError(f"{task.item.name}: {error}") from error
            yield ready

    def _discard(self, tasks: Any, layout: Layout, reading: Reading, unless: str = "") -> None:
        """Take away what was staged and is not swapped in. What cannot be taken away now is swept the next time."""
        left = [task for task in tasks if task.staged and task.what != unless]
        if not left:
            return
        batch = provision.discard(left, reading)
        try:
            self._apply(batch, uuid.uuid4().hex, layout, reading)
        except NodeError as error:
            display.v(f"{self._host}: {error}")

    # -- the cluster -------------------------------------------------------------------------------------------------

    def _daemon_sets(self, options: Mapping[str, Any], layout: Layout) -> tuple[str, ...]:
        """The DaemonSets that run kube-proxy on this node from the file that is replaced."""
        item = next((item for item in self._items if item.name.casefold() == "kube-proxy"), None)
        if item is None:
            return ()
        name = self._node_name(options)
        ask: Callable[[Cluster], tuple[str, ...]] = lambda cluster: from_host(  # noqa: E731
            cluster.daemon_sets(), cluster.node(name), name, item.destination
        )
        return self.of_cluster(options, "daemon sets", ask) or ()

    def _wait_for_node(self, options: Mapping[str, Any], tasks: tuple[Task, ...]) -> tuple[Step, ...]:
        """Until the Node is Ready, and reports the kubelet that was put in. NodeError if it is not; nothing is taken
        back then: the node's own gates have passed."""
        asked = [task for task in tasks if task.item.wait_for == "node_ready" and task.what in {"replace", "previous"}]
        if not asked:
            return ()
        name = self._node_name(options)
        versions = {task.version for task in asked if task.item.name.casefold() == "kubelet" and task.version}
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is None:
                raise Refused(
                    "wait_for: node_ready needs the cluster: name its kubeconfig in winkube_cluster.kubeconfig. The "
                    "programs were swapped, and their services work."
                )
            wait_for(
                Clock(),
                options["node_timeout"],
                lambda: True if node_is_back(cluster.node(name), versions) else None,
                f"The Node {name} is not Ready {options['node_timeout']} s after the swap. Its services work; see "
                "playbooks/verify.yml. state: previous goes back to the program before.",
            )
        except ClusterError as error:
            raise NodeError(f"{self.component}: {error}") from error
        return (Step("the cluster", f"wait until the Node {name} is Ready"),)

    def _node_name(self, options: Mapping[str, Any]) -> str:
        return str(options["node_name"] or (options.get("drain") or {}).get("node_name") or self._host).lower()

    # -- the result --------------------------------------------------------------------------------------------------

    def _result(
        self,
        plan: Plan,
        tasks: tuple[Task, ...],
        work: _Work,
        downtime: Mapping[str, float],
        answer: Mapping[str, Any],
        reading: Reading,
    ) -> dict[str, Any]:
        check = self._task.check_mode
        result = report.result(plan, check=check, diff=self._task.diff, calls=self._link.calls, answer=answer or None)
        result["provisioners"] = provision_report.items(
            tasks, check=check, downtime=downtime, transfers=work.transfers, reading=reading
        )
        self.warn_all(
            [provision_report.held_sentence(entry) for entry in result["provisioners"] if entry["left_behind"]]
        )
        return result | self.facts(reading)


def node_is_back(node: Mapping[str, Any] | None, versions: set[str]) -> bool:
    """Whether the Node is Ready and reports one of these kubelets; whichever, if there are none."""
    info = ((node or {}).get("status") or {}).get("nodeInfo") or {}
    reported = str(info.get("kubeletVersion") or "").removeprefix("v")
    return drain.is_ready(node) and (not versions or reported in versions)


def _restart_pods(pods: tuple[str, ...], tasks: tuple[Task, ...]) -> list[str]:
    swapped = any(task.item.name.casefold() == "kube-proxy" and task.what != "unchanged" for task in tasks)
    return [
        f"leave the pods of the DaemonSet {name} alone: they run the new kube-proxy only after they are restarted "
        f"(kubectl rollout restart daemonset -n {name.partition('/')[0]} {name.partition('/')[2]})"
        for name in pods
        if swapped
    ]


def _transfer(pushed: Pushed, by: str) -> dict[str, Any]:
    return {
        "how": pushed.how,
        "by": by,
        "why": pushed.why,
        "bytes_sent": pushed.bytes_sent,
        "seconds": round(pushed.seconds, 3),
    }


def _without_journal(answer: Mapping[str, Any]) -> dict[str, Any]:
    state = {key: value for key, value in (answer.get("state") or {}).items() if key != provision_report.JOURNAL}
    return {**answer, "state": state}


def _unasked(calls: int) -> dict[str, Any]:
    return {"answer": None, "outcome": None, "batch": None, "calls": calls}
