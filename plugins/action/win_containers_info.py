# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node says of its containers, layer by layer; documented in modules/win_containers_info.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.networks import HNS, hns_query
from ..plugin_utils.cri import containers
from ..plugin_utils.cri.containers import HCS_SERVICE, SHIM, Seen
from ..plugin_utils.engine import windows_path
from ..plugin_utils.engine.batch import Batch, Op
from ..plugin_utils.engine.reading import Expectation, Reading, file_query, services_query, system_query
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.engine.tools import SYSTEM32, run
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.task.node_action import NodeAction, display

NAME = "containers"
HCSDIAG = SYSTEM32 + r"\hcsdiag.exe"
TASKLIST = SYSTEM32 + r"\tasklist.exe"


class ActionModule(NodeAction):
    """win_containers_info."""

    module = "win_containers_info"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Ask containerd and Windows once, then HCS about each container."""
        wanted = _check_ids(options["containers"])
        if self._task.check_mode:
            return {"changed": False, "skipped": True, "msg": "Programs on the node are asked, not in check mode."}
        reading = self.read_queries(_reads(layout))
        if not reading.file(layout.ctr).get("exists"):
            raise Refused(
                f"There is no {layout.ctr}, which lists containerd's tasks; a release archive of containerd brings it "
                "in."
            )
        notes: list[str] = []
        listed, processes, labels = self._list_tasks(layout, reading, notes)
        notes += [f"containerd has no task {one}." for one in wanted if one not in {task.id for task in listed}]
        endpoints = _endpoints(reading, notes)
        seen = [
            self._look_inside(Seen(task, labels.get(task.id, {}), processes.get(task.pid)), options, reading)
            for task in listed
            if not wanted or task.id in wanted
        ]
        result = [containers.as_data(one, endpoints, options["cluster_domain"]) for one in seen]
        findings = [
            *_judge_host(layout, reading, listed),
            *(sentence for one in result for sentence in one["findings"]),
        ]
        for sentence in findings:
            display.warning(f"{self._host}: {sentence}")
        return {
            "changed": False,
            "containers": result,
            "findings": findings,
            "notes": notes,
            "winkube": {"calls": self._link.calls},
        }

    def _list_tasks(
        self, layout: Layout, reading: Reading, notes: list[str]
    ) -> tuple[Sequence[containers.Task], Mapping[int, containers.Process], Mapping[str, Mapping[str, str]]]:
        """Tasks, processes by pid, and Kubernetes' labels by id."""
        pipe = rf"\\.\pipe\{layout.containerd_pipe}"
        tasks = run(layout.ctr, "--address", pipe, "--namespace", "k8s.io", "task", "ls", encoding="utf-8")
        processes = run(TASKLIST, "/V", "/FO", "CSV", "/NH", timeout_s=120)
        listed, running = self._run_programs((tasks, processes), reading)
        crictl = next((path for path in _crictl(layout) if reading.file(path).get("exists")), "")
        pods = known = ""
        if crictl:
            endpoint = f"npipe:////./pipe/{layout.containerd_pipe}"
            asked = [
                run(crictl, "--runtime-endpoint", endpoint, *words, "-o", "json", encoding="utf-8")
                for words in (("pods",), ("ps", "-a"))
            ]
            try:
                pods, known = self._run_programs(asked, reading)
            except NodeError as error:
                notes.append(str(error))
        else:
            notes.append(
                f"There is no crictl.exe ({' or '.join(_crictl(layout))}), so nobody says which container is whose."
            )
        return containers.tasks(listed), containers.processes(running), containers.labels(pods, known)

    def _look_inside(self, seen: Seen, options: Mapping[str, Any], reading: Reading) -> Seen:
        """With what HCS shows of it; a container that is just going away is not an error."""
        if not options["hcsdiag"] or seen.task.status != containers.RUNNING:
            return seen
        try:
            name = containers.container_id(seen.task.id)
            asked = (
                run(HCSDIAG, "read", name, containers.HOSTS_FILE, encoding="utf-8"),
                run(HCSDIAG, "exec", name, "ipconfig"),
            )
            hosts, adapters = self._run_programs(asked, reading)
        except (NodeError, ValueError) as error:
            return Seen(seen.task, seen.labels, seen.process, notes=(str(error),))
        return Seen(seen.task, seen.labels, seen.process, containers.hosts(hosts), containers.adapters(adapters))

    def _run_programs(self, ops: Sequence[Op], reading: Reading) -> list[str]:
        """What each of these programs printed. NodeError if one failed. One remote call."""
        batch = Batch(NAME, tuple(ops), pre=(Expectation(system_query(), (("machine", reading.machine),)),))
        answer = self._node.run_once(batch, reading)
        said = {item.get("n"): str(item.get("stdout") or "") for item in answer.get("results") or ()}
        return [said.get(n, "") for n in range(len(ops))]


def _check_ids(given: Sequence[str]) -> list[str]:
    """The ids of the containers that are asked for; Refused for what is none."""
    try:
        return [containers.container_id(text) for text in given]
    except ValueError as error:
        raise Refused(f"containers: {error}") from error


def _judge_host(layout: Layout, reading: Reading, listed: Sequence[containers.Task]) -> Sequence[str]:
    """What is wrong below containerd: its shim, and Windows' service that runs containers."""
    shim = windows_path.join(layout.containerd_bin_dir, SHIM)
    return containers.below(
        shim,
        shim_there=bool(reading.file(shim).get("exists")),
        hcs=reading.service(HCS_SERVICE),
        in_use=any(task.status == containers.RUNNING for task in listed),
    )


def _crictl(layout: Layout) -> tuple[str, ...]:
    """Where crictl.exe is looked for."""
    return tuple(windows_path.join(folder, "crictl.exe") for folder in (layout.containerd_bin_dir, layout.root))


def _reads(layout: Layout) -> tuple[Any, ...]:
    return (
        system_query(),
        services_query((HCS_SERVICE,)),
        file_query(layout.runner, sha256=True),
        file_query(layout.ctr),
        file_query(windows_path.join(layout.containerd_bin_dir, SHIM)),
        *(file_query(path) for path in _crictl(layout)),
        hns_query("endpoints"),
    )


def _endpoints(reading: Reading, notes: list[str]) -> Mapping[str, str] | None:
    try:
        return containers.endpoints(reading.parts[HNS])
    except ValueError as error:
        notes.append(f"HNS's endpoints are not known: {error}.")
        return None
