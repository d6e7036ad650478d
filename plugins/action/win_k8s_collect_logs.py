# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collects what somebody who helps with a node wants to see; documented in modules/win_k8s_collect_logs.py."""

from __future__ import annotations

import base64
import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..plugin_utils import verdict
from ..plugin_utils.bundle import bounded, contents, issue, trace
from ..plugin_utils.bundle.contents import Command
from ..plugin_utils.bundle.redact import name_in_bundle, patterns
from ..plugin_utils.bundle.store import Store
from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.components import answers, networks
from ..plugin_utils.components.expected import Expected
from ..plugin_utils.components.host.node_fit import Machine
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.components.read_plan import read_plan
from ..plugin_utils.engine import windows_path
from ..plugin_utils.engine.batch import Batch, Op
from ..plugin_utils.engine.reading import (
    Expectation,
    Query,
    Reading,
    file_key,
    file_query,
    merge_queries,
    system_query,
)
from ..plugin_utils.engine.resource import Refused
from ..plugin_utils.node.link import NodeError
from ..plugin_utils.node.runner_text import runner_sha256
from ..plugin_utils.node_action import NodeAction, display
from ..plugin_utils.verify import verify

HNS_OBJECTS = ("networks", "endpoints", "policylists", "namespaces")
STATE = {"network/adapters": networks.ADAPTERS, "system/machine": "system"}
NAME = "collect_logs"
ONE_ANSWER = 600_000
"""Bytes of files that are asked for at once: base64 makes 800 KB of them, an answer may have 1 MB."""
GROWTH = 64 * 1024
MEGA = 1024 * 1024


class ActionModule(NodeAction):
    """win_k8s_collect_logs."""

    module = "win_k8s_collect_logs"
    _runner: str | None = None

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """Start a trace, or collect, with a trace that is stopped before if that is wanted."""
        expected = Expected.of(options)
        try:
            own = patterns(options["redact"])
        except ValueError as error:
            raise Refused(str(error)) from None
        reading = self._look(layout, expected, options)
        self._runner = reading.file(layout.runner).get("sha256")
        if options["hnstrace"] == "start":
            return self._start(options, reading)
        paths, secret = contents.wanted(layout, expected, reading, options["files"])
        commands = contents.commands(
            layout, expected, events=options["events"], channels=options["channels"] or contents.CHANNELS
        )
        programs = dict.fromkeys(command.program for command in commands)
        there = Reading().merged(self._link.probe([file_query(path) for path in dict.fromkeys((*paths, *programs))]))
        if self._task.check_mode:
            found = [path for path in paths if contents.sized(there, path)]
            return self._result(changed=False, would_collect=[*found, *(command.line for command in commands)])
        store = self._store(options, own)
        for path in secret:
            store.leave_out(f"files/{name_in_bundle(path)}", "it holds secrets")
        stopped = self._stop(options, store, reading) if options["hnstrace"] == "stop" else False
        self._files(store, paths, there)
        self._state(store, reading)
        outputs = self._programs(store, commands, there, reading)
        store.put("issue_report.md", self._report(options, expected, reading, outputs, store, layout), source="facts")
        archive = store.zipped()
        return self._result(
            changed=bool(store.written) or stopped,
            bundle=str(archive),
            directory=str(store.folder),
            report=str(store.folder / "issue_report.md"),
            files=len(store.files),
            bytes=store.total(),
            fetched=len(store.written),
            redacted=sum(int(entry["redacted"]) for entry in store.files.values()),
            left_out=dict(sorted(store.left_out.items())),
        )

    def _result(self, **values: Any) -> dict[str, Any]:
        return {**values, "winkube": {"calls": self._link.calls}}

    def _store(self, options: Mapping[str, Any], own: Sequence[re.Pattern[str]]) -> Store:
        folder = Path(options["dest"]).expanduser() / self._host
        try:
            return Store.open(folder, options["max_total"] * MEGA, own)
        except OSError as error:
            raise Refused(f"dest: {folder} cannot be made: {error.strerror}.") from error

    # -- reading ------------------------------------------------------------------------------------------------------

    def _look(self, layout: Layout, expected: Expected, options: Mapping[str, Any]) -> Reading:
        """State, and what lies in the folders of logs: one remote call, two where services log elsewhere."""
        empty = Reading().merged({"services": []})
        queries = merge_queries(
            (
                *read_plan(layout),
                *verify.reads(layout, expected),
                networks.adapters_query(),
                networks.hns_query(*HNS_OBJECTS),
                *contents.folder_queries(contents.folders(layout, expected, empty)),
            )
        )
        reading = self.read_of(queries)
        more = [
            query
            for query in contents.folder_queries(contents.folders(layout, expected, reading))
            if query.key not in {known.key for known in queries}
        ]
        return reading.merged(self._link.probe(more), more) if more else reading

    def _files(self, store: Store, paths: Iterable[str], there: Reading) -> None:
        """Fetch what is not there yet, a few at once; what is too long as its beginning and its end."""
        waiting: dict[str, tuple[int, str]] = {}
        for path in paths:
            name, found = f"files/{name_in_bundle(path)}", contents.sized(there, path)
            if found is None:
                store.leave_out(name, "it is not on the node")
            elif not store.has(name, *found):
                waiting[path] = found
        for group in grouped(waiting):
            answer = self._link.probe([_content_query(path, waiting[path][0]) for path in group])
            for path in group:
                size, changed = waiting[path]
                name, text = f"files/{name_in_bundle(path)}", _text(answer.get(file_key(path)) or {}, size)
                if text is None:
                    store.leave_out(name, str((answer.get(file_key(path)) or {}).get("error") or "it has changed"))
                else:
                    store.put(name, text, source=path, size=size, changed=changed)
            store.save()

    def _state(self, store: Store, reading: Reading) -> None:
        """What the probe itself reads: HNS's own JSON, adapters, services (variables as fingerprints), the machine."""
        hns = reading.parts.get(networks.HNS) or {}
        for name in HNS_OBJECTS:
            found = hns.get(name) if hns.get("available") else "HNS is not there"
            text = found if isinstance(found, str) else json.dumps(found, indent=1)
            store.put(f"network/hns-{name}.json", text + "\n", source=f"HNS, GET /{name}")
        parts = {name: reading.parts.get(key) for name, key in STATE.items()}
        parts["services/all"] = [
            found for name in reading.parts.get("services") or () if (found := reading.service(str(name))) is not None
        ]
        for name, value in parts.items():
            text = json.dumps(value, indent=1, sort_keys=True)
            store.put(f"{name}.json", text + "\n", source="node_probe")
        store.save()

    # -- programs -----------------------------------------------------------------------------------------------------

    def _programs(self, store: Store, commands: Sequence[Command], there: Reading, reading: Reading) -> dict[str, str]:
        """Run them, a few at once; their output by file. One that cannot be run does not hold up the others."""
        waiting = []
        for command in commands:
            if there.file(command.program).get("exists"):
                waiting.append(command)
            else:
                store.leave_out(command.file, f"{windows_path.name(command.program)} is not on the node")
        outputs: dict[str, str] = {}
        while waiting:
            now, waiting = waiting[: contents.AT_ONCE], waiting[contents.AT_ONCE :]
            try:
                answer = self._apply([command.op for command in now], reading)
            except NodeError as error:
                self._not_run((*now, *waiting), outputs, store, str(error))
                return outputs
            for result in answer.get("results") or ():
                command = now[int(result["n"])]
                if result.get("ok"):
                    outputs[command.file] = _said(command, result)
                    store.put(command.file, outputs[command.file], source=command.line)
            store.save()
            if answer.get("answer") == "accepted" and answer.get("outcome") == "done":
                continue
            failed = (answer.get("error") or {}).get("n")
            if answer.get("answer") != "accepted" or not isinstance(failed, int) or failed >= len(now):
                self._not_run((*now, *waiting), outputs, store, verdict.sentence(answer))
                return outputs
            store.leave_out(now[failed].file, str((answer.get("error") or {}).get("message")))
            waiting = [*now[failed + 1 :], *waiting]
        return outputs

    def _not_run(self, commands: Iterable[Command], outputs: Mapping[str, str], store: Store, why: str) -> None:
        for command in commands:
            if command.file not in outputs:
                store.leave_out(command.file, why)
        store.save()
        display.warning(f"{self._host}: programs were not run, their output is not in the bundle: {why}")

    def _apply(self, ops: Sequence[Op], reading: Reading) -> Mapping[str, Any]:
        same = Expectation(system_query(), (("machine", reading.machine),))
        limit = sum(int(op.args.get("timeout_s") or 60) for op in ops) + 60
        answer = self._link.apply(
            Batch(NAME, tuple(ops), pre=(same,), deadline_s=limit), uuid.uuid4().hex, self._runner
        )
        self._runner = runner_sha256()
        return answer

    # -- the trace ----------------------------------------------------------------------------------------------------

    def _start(self, options: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
        script = str(options["hnstrace_script"])
        if script and not (self._link.probe([file_query(script)]).get(file_key(script)) or {}).get("exists"):
            raise Refused(
                f"hnstrace_script: {script} is not on {self._host}. Copy it there, or leave the option out: netsh.exe "
                "alone can do it."
            )
        if self._task.check_mode:
            return self._result(changed=True)
        op = trace.start(script, options["hnstrace_file"], options["hnstrace_max"])
        verdict.must_be_done(self._apply([op], reading), "hnstrace")
        return self._result(changed=True, trace=options["hnstrace_file"])

    def _stop(self, options: Mapping[str, Any], store: Store, reading: Reading) -> bool:
        """Stop the trace and fetch its file. NodeError if there is none."""
        file = str(options["hnstrace_file"])
        answer = self._apply([trace.stop()], reading)
        verdict.must_be_done(answer, "hnstrace")
        found = self._link.probe([file_query(file)]).get(file_key(file)) or {}
        if not found.get("exists"):
            said = " ".join(str(result.get("stdout") or "") for result in answer.get("results") or ()).strip()
            raise NodeError(
                f"hnstrace: there is no {file} on {self._host}: was a trace started (tag hnstrace_start)? netsh says: "
                f"{said or 'nothing'}"
            )
        store.take("network/hnstrace.etl", file, lambda path: self._connection.fetch_file(file, str(path)))
        store.save()
        return True

    # -- the report ---------------------------------------------------------------------------------------------------

    def _report(
        self,
        options: Mapping[str, Any],
        expected: Expected,
        reading: Reading,
        outputs: Mapping[str, str],
        store: Store,
        layout: Layout,
    ) -> str:
        node: Mapping[str, Any] | None = None
        server = ""
        try:
            cluster = Cluster.open(options["cluster"])
            if cluster is not None:
                server, node = f"v{cluster.version()}", cluster.node(expected.node_name or self._host)
        except ClusterError as error:
            display.v(f"{self._host}: {error}")
        logs = sorted(name for name in store.files if name.startswith(("files/", "events/")))
        return issue.report(
            issue.Facts(
                node=expected.node_name or self._host,
                kubernetes=options["kubernetes_version"],
                server=server,
                info=((node or {}).get("status") or {}).get("nodeInfo"),
                windows=Machine.of(reading.parts.get("system") or {}).name,
                cloud=options["cloud"] or str(((node or {}).get("spec") or {}).get("providerID") or ""),
                network=_network(expected, reading),
                runtime=runtime_of(outputs.get("containers/crictl-version.txt", "")),
                verbosity=tuple(_verbosity(layout, expected, reading)),
                logs=logs,
                left_out={name: why for name, why in store.left_out.items() if name.startswith(("files/", "events/"))},
            )
        )


def grouped(sizes: Mapping[str, tuple[int, str]], limit: int = ONE_ANSWER) -> Iterator[list[str]]:
    """Paths in groups of which each fits into one answer."""
    group: list[str] = []
    used = 0
    for path, (size, _changed) in sizes.items():
        needed = min(size, bounded.LIMIT)
        if group and used + needed > limit:
            yield group
            group, used = [], 0
        group.append(path)
        used += needed
    if group:
        yield group


def runtime_of(said: str) -> str:
    """`containerd://1.7.28` of what `crictl version` says; empty if it says something else."""
    found = dict(re.findall(r"(?m)^(Runtime(?:Name|Version)):\s+(\S+)", said))
    name, version = found.get("RuntimeName", ""), found.get("RuntimeVersion", "")
    return f"{name}://{version.removeprefix('v')}" if name and version else ""


def _content_query(path: str, size: int) -> Query:
    """All of a file, even if it grows a little meanwhile, or its two ends."""
    if size <= bounded.LIMIT:
        return file_query(path, content_limit=bounded.LIMIT + GROWTH)
    return Query(file_key(path), "file", (("path", path), ("head", bounded.HEAD), ("tail", bounded.TAIL)))


def _text(found: Mapping[str, Any], size: int) -> str | None:
    if found.get("content") is not None:
        return bounded.decoded(base64.b64decode(found["content"]))
    if found.get("tail") is not None:
        head, tail = (base64.b64decode(found.get(name) or "") for name in ("head", "tail"))
        return bounded.joined(head, tail, max(size, len(head) + len(tail)))
    return None


def _said(command: Command, result: Mapping[str, Any]) -> str:
    outputs = [bounded.whole_lines(str(result.get(name) or "")) for name in ("stdout", "stderr")]
    shown = "\n".join(text.replace("\r\n", "\n") for text in outputs if text)
    return f"> {command.line}\nexit code {result.get('exit_code')}\n\n{shown}"


def _network(expected: Expected, reading: Reading) -> tuple[str, ...]:
    who = {"service": "a service of the host", "cluster": "the cluster"}
    found = [
        f"{expected.network_mode}; flanneld or another network is run by {who.get(expected.cni_managed_by, '?')}, "
        f"kube-proxy by {who.get(expected.kube_proxy_managed_by, '?')}",
        f"pods {expected.cluster_cidr or 'not known'}, services {expected.service_cidr or 'not known'}",
    ]
    with suppress(Refused):
        found += [
            f"HNS network {one.name}: {one.type}, {', '.join(one.prefixes) or 'no subnet'}"
            for one in networks.hns_networks(reading) or ()
        ]
    return tuple(found)


def _verbosity(layout: Layout, expected: Expected, reading: Reading) -> Iterator[str]:
    """`kubelet: --v=6` for each program of Kubernetes that says so on its command line."""
    for program in verify.programs(layout, expected):
        service = reading.service(program.service)
        for word in (answers.arguments(service, program.binary) or ()) if service else ():
            if re.fullmatch(r"--?v(?:=\d+)?", word) and "=" in word:
                yield f"{program.service}: {word}"
