# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node says of its containers, layer by layer; documented in modules/win_containers_info.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.networks import HNS
from ..plugin_utils.components.options import read
from ..plugin_utils.cri import containers
from ..plugin_utils.cri.containers import Seen
from ..plugin_utils.diagnosis import container_programs as programs
from ..plugin_utils.engine.batch import Batch, Op
from ..plugin_utils.engine.reading import Expectation, Reading, system_query
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.task.node_action import NodeAction
from ..plugin_utils.task.screen import display

NAME = "containers"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainersOptions:
    """The module's own options."""

    containers: tuple[str, ...]
    hcsdiag: bool
    cluster_domain: str


class ActionModule(NodeAction):
    """win_containers_info."""

    module = "win_containers_info"

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._notes: list[str] = []
        """What could not be asked, and why."""

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Ask containerd and Windows once, then HCS about each container."""
        how = read(ContainersOptions, options)
        wanted = programs.check_ids(how.containers)
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "Programs on the node are asked, not in check mode."}
        reading = self._node.read_queries(programs.reads(layout))
        if not reading.file(layout.ctr).get("exists"):
            raise Refused(
                f"There is no {layout.ctr}, which lists containerd's tasks; a release archive of containerd brings it "
                "in."
            )
        listed, processes = self._run_programs(programs.list_tasks(layout), reading)
        tasks, by_pid = containers.tasks(listed), containers.processes(processes)
        labels = self._read_labels(layout, reading)
        self._notes += [f"containerd has no task {one}." for one in wanted if one not in {task.id for task in tasks}]
        endpoints = self._read_endpoints(reading)

        seen = [
            Seen(task, labels.get(task.id, {}), by_pid.get(task.pid))
            for task in tasks
            if not wanted or task.id in wanted
        ]
        if how.hcsdiag:
            seen = [self._look_inside(one, reading) for one in seen]
        result = [containers.as_data(one, endpoints, how.cluster_domain) for one in seen]
        findings = [
            *programs.judge_host(layout, reading, tasks),
            *(sentence for one in result for sentence in one["findings"]),
        ]
        for sentence in findings:
            display.warning(f"{self._host}: {sentence}")
        return {
            "changed": False,
            "containers": result,
            "findings": findings,
            "notes": self._notes,
            "winkube": {"calls": self._node.calls},
        }

    def _read_labels(self, layout: Layout, reading: Reading) -> Mapping[str, Mapping[str, str]]:
        """Kubernetes' labels by container id; none, and a note, where crictl cannot tell."""
        paths = programs.crictl_paths(layout)
        crictl = next((path for path in paths if reading.file(path).get("exists")), None)
        if crictl is None:
            self._notes.append(f"There is no crictl.exe ({' or '.join(paths)}), so the containers' pods are not known.")
            return {}
        try:
            return containers.labels(*self._run_programs(programs.list_pods(layout, crictl), reading))
        except NodeError as error:
            self._notes.append(str(error))
            return {}

    def _read_endpoints(self, reading: Reading) -> Mapping[str, str] | None:
        try:
            return containers.endpoints(reading.parts[HNS])
        except ValueError as error:
            self._notes.append(f"HNS's endpoints are not known: {error}.")
            return None

    def _look_inside(self, seen: Seen, reading: Reading) -> Seen:
        """With what HCS shows of it; a container that is just going away is not an error."""
        if seen.task.status != containers.RUNNING:
            return seen
        try:
            hosts, adapters = self._run_programs(programs.look_inside(seen.task), reading)
        except (NodeError, ValueError) as error:
            return replace(seen, notes=(str(error),))
        return replace(seen, hosts=containers.hosts(hosts), adapters=containers.adapters(adapters))

    def _run_programs(self, ops: Sequence[Op], reading: Reading) -> tuple[str, str]:
        """What both programs printed. NodeError if one failed. One remote call."""
        batch = Batch(NAME, tuple(ops), pre=(Expectation(system_query(), (("machine", reading.machine),)),))
        answer = self._node.run_once(batch, reading)
        said = {each.n: each.stdout for each in answer.results}
        return said.get(0, ""), said.get(1, "")
