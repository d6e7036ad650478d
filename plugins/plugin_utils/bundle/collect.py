# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a bundle and how it is fetched from a node: files, the probe's reading, output of programs.

A few at a time, so that each answer fits. The bundle names what could not be fetched; such a failure does not stop the
rest.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..components import networks, registry
from ..components.layout import Layout
from ..components.node import Node
from ..diagnosis import programs as verify
from ..engine import windows_path
from ..engine.answer import Answer, Result
from ..engine.batch import Batch, Op
from ..engine.reading import Expectation, Query, Reading, file_key, file_query, merge_queries, system_query
from ..engine.tools import ANY_EXIT, SC, SYSTEM32, run
from ..facts.flannel import NET_CONF
from ..foreign.encoding import decode_anyhow
from ..node.link import NodeError
from ..redaction import redact
from ..redaction.redact import name_in_bundle
from .store import HEAD, LIMIT, TAIL, Store, join_ends, whole_lines

HNS_OBJECTS = ("networks", "endpoints", "policylists", "namespaces")

CHANNELS = (
    "System",
    "Application",
    "Microsoft-Windows-Host-Network-Service-Admin",
    "Microsoft-Windows-Host-Network-Service-Operational",
    "Microsoft-Windows-Hyper-V-Compute-Admin",
    "Microsoft-Windows-Hyper-V-Compute-Operational",
    "Microsoft-Windows-Hyper-V-VmSwitch-Operational",
)
"""Event logs. Source: collectlogs.ps1, which copies Microsoft-Windows-Hyper-V*.evtx and
Microsoft-Windows-Host-Network-Service*.evtx; the existing ones differ per release of Windows."""

WINDOWS_SERVICES = (
    "hns",
    "vmcompute",
    "vfpext",
    "dnscache",
    "iphlpsvc",
    "BFE",
    "mpssvc",
    "nsi",
    "SharedAccess",
    "vmms",
)
"""Source: collectlogs.ps1."""

AT_ONCE = 8
"""Programs of one batch: each may print 64 KB, together 512 KB (docs/protocol.md)."""
LOGS = (".log", ".err", ".out")


@dataclass(frozen=True, slots=True)
class Command:
    """A program whose output becomes `file` of the bundle."""

    file: str
    program: str
    args: tuple[str, ...]
    encoding: str = "oem"
    timeout_s: int = 60

    @property
    def op(self) -> Op:
        """The op that runs it, with any exit code."""
        return run(self.program, *self.args, ok_exit=ANY_EXIT, timeout_s=self.timeout_s, encoding=self.encoding)

    @property
    def line(self) -> str:
        """The command as a person types it."""
        return " ".join([windows_path.name(self.program), *self.args])


def commands(layout: Layout, expected: Node, *, events: int, channels: Sequence[str] = CHANNELS) -> tuple[Command, ...]:
    """All programs, the most informative first. `events` is the number of newest events of each log."""
    return (*_containers(layout), *_network(), *_services(layout, expected), *_system(), *_events(channels, events))


def _containers(layout: Layout) -> Iterable[Command]:
    crictl = windows_path.join(layout.containerd_bin_dir, "crictl.exe")
    at = ("--runtime-endpoint", f"npipe:////./pipe/{layout.containerd_pipe}")
    for name, words in {
        "pods": ("pods", "-o", "json"),
        "ps": ("ps", "-a", "-o", "json"),
        "stats": ("stats", "-a"),
        "images": ("images",),
        "version": ("version",),
    }.items():
        yield Command(f"containers/crictl-{name}.txt", crictl, (*at, *words), "utf-8")
    pipe = ("--address", rf"\\.\pipe\{layout.containerd_pipe}")
    for name, words in {
        "version": ("version",),
        "containers": ("--namespace", "k8s.io", "containers", "list"),
        "tasks": ("--namespace", "k8s.io", "tasks", "list"),
    }.items():
        yield Command(f"containers/ctr-{name}.txt", layout.ctr, (*pipe, *words), "utf-8")
    yield Command("containers/hcsdiag-list.txt", rf"{SYSTEM32}\hcsdiag.exe", ("list",))


def _network() -> Iterable[Command]:
    netsh = rf"{SYSTEM32}\netsh.exe"
    yield Command("network/ipconfig.txt", rf"{SYSTEM32}\ipconfig.exe", ("/allcompartments", "/all"))
    yield Command("network/routes.txt", rf"{SYSTEM32}\route.exe", ("print",))
    yield Command("network/mtu.txt", netsh, ("interface", "ipv4", "show", "interfaces"))
    yield Command("network/arp.txt", rf"{SYSTEM32}\arp.exe", ("-a",))
    yield Command("network/netstat.txt", rf"{SYSTEM32}\netstat.exe", ("-ano",))
    for kind in ("tcp", "udp"):
        yield Command(
            f"network/excluded-ports-{kind}.txt", netsh, ("interface", "ipv4", "show", "excludedportrange", kind)
        )
        yield Command(f"network/dynamic-ports-{kind}.txt", netsh, ("interface", "ipv4", "show", "dynamicport", kind))
    yield Command("network/firewall.txt", netsh, ("advfirewall", "show", "allprofiles"))
    yield Command("network/hnsdiag.txt", rf"{SYSTEM32}\hnsdiag.exe", ("list", "all", "-d"))
    yield Command("network/vfp-ports.txt", rf"{SYSTEM32}\vfpctrl.exe", ("/list-vmswitch-port",))


def _services(layout: Layout, expected: Node) -> Iterable[Command]:
    ours = [program.service for program in verify.programs(layout, expected)]
    for name in dict.fromkeys((*ours, *WINDOWS_SERVICES)):
        yield Command(f"services/{name}.qc.txt", SC, ("qc", name))
        yield Command(f"services/{name}.query.txt", SC, ("queryex", name))


def _system() -> Iterable[Command]:
    yield Command("system/systeminfo.txt", rf"{SYSTEM32}\systeminfo.exe", (), timeout_s=120)
    yield Command("system/tasklist.txt", rf"{SYSTEM32}\tasklist.exe", ("/V", "/FO", "CSV", "/NH"))


def _events(channels: Iterable[str], count: int) -> Iterable[Command]:
    for channel in channels:
        name = channel.replace("/", "-").replace("\\", "-")
        words = ("qe", channel, f"/c:{count}", "/rd:true", "/f:text")
        yield Command(f"events/{name}.txt", rf"{SYSTEM32}\wevtutil.exe", words, timeout_s=120)


# -- files ------------------------------------------------------------------------------------------------------------


def batch(ops: Sequence[Op], machine: str) -> Batch:
    """These ops on this machine, with a deadline of their own limits and a minute."""
    same = Expectation(system_query(), (("machine", machine),))
    limit = sum(int(op.args.get("timeout_s") or 60) for op in ops) + 60
    return Batch("collect_logs", tuple(ops), pre=(same,), deadline_s=limit)


def folders(layout: Layout, expected: Node, reading: Reading) -> tuple[str, ...]:
    r"""Folders in which every log is read: C:\k, the log folder, and those in the services' own command lines."""
    found = [layout.log_dir, layout.root, windows_path.parent(layout.containerd_log)]
    for program in verify.programs(layout, expected):
        log = verify.log_of(program, reading)
        found.append(log.folder or (windows_path.parent(log.file) if log.file else ""))
    return tuple({windows_path.key(path): path for path in found if path}.values())


def reads(layout: Layout, expected: Node) -> tuple[Query, ...]:
    """The state, and the entries of log folders as far as they are known before the services are."""
    nothing = Reading().merge({"services": []})
    return merge_queries(
        (
            *registry.read_plan(layout),
            *verify.reads(layout, expected),
            networks.adapters_query(),
            networks.hns_query(*HNS_OBJECTS),
            *folder_queries(folders(layout, expected, nothing)),
        )
    )


def list_log_reads(layout: Layout, expected: Node, reading: Reading) -> tuple[Query, ...]:
    """The log folders of the services, unless `reads` has asked for them."""
    known = {query.key for query in reads(layout, expected)}
    return tuple(each for each in folder_queries(folders(layout, expected, reading)) if each.key not in known)


def settings(layout: Layout) -> tuple[str, ...]:
    """Configuration files of a node's parts."""
    return (
        *(path for each in registry.COMPONENTS for path in each.settings(layout)),
        NET_CONF,
    )


def folder_queries(paths: Iterable[str]) -> tuple[Query, ...]:
    """What lies in these folders."""
    return tuple(file_query(path, entries=True) for path in paths)


def logs_in(paths: Iterable[str], reading: Reading) -> tuple[str, ...]:
    """The logs in folders that were read, including klog's own (`kubelet.exe.INFO`, `....log.INFO.20260101-...`)."""
    found: dict[str, str] = {}
    for folder in paths:
        for entry in (reading.parts.get(file_key(folder)) or {}).get("entries") or ():
            name = str(entry).casefold()
            if name.endswith(LOGS) or ".log." in name:
                path = windows_path.join(folder, str(entry))
                found.setdefault(windows_path.key(path), path)
    return tuple(found.values())


def select_files(
    layout: Layout, expected: Node, reading: Reading, more: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The files to read, settings first, and those left out because they hold secrets."""
    own = [verify.log_of(program, reading).file for program in verify.programs(layout, expected)]
    every = (*settings(layout), *own, *logs_in(folders(layout, expected, reading), reading), *more)
    unique = tuple({windows_path.key(path): path for path in every if path}.values())
    return (
        tuple(path for path in unique if not redact.is_secret_file(path)),
        tuple(path for path in unique if redact.is_secret_file(path)),
    )


def read_size(reading: Reading, path: str) -> tuple[int, str] | None:
    """Size and write time of a file that was read; None if it does not exist."""
    found: Mapping[str, Any] = reading.parts.get(file_key(path)) or {}
    if not found.get("exists") or found.get("kind") != "file":
        return None
    return int(found.get("size") or 0), str(found.get("written") or "")


# A trace of HNS and the virtual switch, as SIG Windows asks for it: start it, reproduce the problem, stop it; pure.
# Source: microsoft/SDN 0c42384a Kubernetes/windows/debug/starthnstrace.cmd (providers, keywords, options); names of the
# providers from starthnstrace.ps1 there.

TRACE_FILE = r"C:\server.etl"
TRACE_MAX_MB = 250
NETSH = rf"{SYSTEM32}\netsh.exe"
CMD = rf"{SYSTEM32}\cmd.exe"
NO_SESSION = 1
"""One of netsh's exit codes if there is no trace to stop; unverified."""

PROVIDERS: tuple[tuple[str, str], ...] = (
    ("{564368D6-577B-4af5-AD84-1C54464848E6}", ""),  # Microsoft-Windows-Overlay-HNSPlugin
    ("{0c885e0d-6eb6-476c-a048-2457eed3a5c1}", ""),  # Microsoft-Windows-Host-Network-Service
    ("{80CE50DE-D264-4581-950D-ABADEEE0D340}", ""),  # Microsoft.Windows.HyperV.Compute
    ("{D0E4BC17-34C7-43fc-9A72-D89A59D6979A}", ""),  # Microsoft.Windows.HostNetworkingService.PrivateCloudPlugin
    ("{93f693dc-9163-4dee-af64-d855218af242}", ""),  # Microsoft-Windows-Host-Network-Management
    ("{A6F32731-9A38-4159-A220-3D9B7FC5FE5D}", ""),  # Microsoft-Windows-SharedAccess_NAT
    ("{6C28C7E5-331B-4437-9C69-5352A2F7F296}", ""),  # Microsoft.Windows.Hyper.V.VmsIf
    ("{1F387CBC-6818-4530-9DB6-5F1058CD7E86}", "0xFFDFFFFB"),  # vmswitch, only the control path
    ("{67DC0D66-3695-47c0-9642-33F76F7BD7AD}", "0xFFFFFFDD"),  # Microsoft-Windows-Hyper-V-VmSwitch
)
"""Each with its keywords, empty for all of them."""


def start_trace(script: str = "", file: str = TRACE_FILE, max_mb: int = TRACE_MAX_MB) -> Op:
    """Start: by the user's own `script` on the node, else by netsh. A ring of `max_mb` MB, without packets."""
    if script:
        return run(CMD, "/d", "/c", script, timeout_s=120)
    words = [word for guid, keywords in PROVIDERS for word in _provider(guid, keywords)]
    size = ("filemode=circular", f"maxsize={max_mb}")
    kept = ("report=disabled", "capture=no", f"tracefile={file}", *size, "overwrite=yes", "persistent=yes")
    return run(NETSH, "trace", "start", "globallevel=6", *words, *kept, timeout_s=120)


def stop_trace() -> Op:
    """Stop; netsh writes the rest of the file, which takes time."""
    return run(NETSH, "trace", "stop", ok_exit=(0, NO_SESSION), timeout_s=600)


def _provider(guid: str, keywords: str) -> tuple[str, ...]:
    return (f"provider={guid}", *((f"keywords={keywords}",) if keywords else ()))


STATE = {"network/adapters": networks.ADAPTERS, "system/machine": "system"}
ONE_ANSWER = 600_000
"""Bytes of files in one request: base64 makes 800 KB of them, and an answer may have 1 MB."""
GROWTH = 64 * 1024


@dataclass(frozen=True, slots=True)
class Machine:
    """The node's side: `probe` reads, `apply` runs ops in one batch and gives the node's answer, `said` describes an
    answer that is not done. The first two raise NodeError."""

    probe: Callable[[Sequence[Query]], Mapping[str, Any]]
    apply: Callable[[Sequence[Op]], Answer]
    said: Callable[[Answer], str]


def put_files(node: Machine, store: Store, paths: Iterable[str], there: Reading) -> None:
    """Fetch files that are not in the bundle yet, a few at once; of a long file only its beginning and its end."""
    waiting: dict[str, tuple[int, str]] = {}
    planned = 0
    for path in paths:
        name, found = f"files/{name_in_bundle(path)}", read_size(there, path)
        if found is None:
            store.leave_out(name, "it is not on the node")
        elif not store.has(name, *found):
            size = min(found[0], LIMIT)
            if store.has_room(name, planned + size):
                waiting[path] = found
                planned += size
    for group in group_paths(waiting):
        answer = node.probe([_content_query(path, waiting[path][0]) for path in group])
        for path in group:
            size, changed = waiting[path]
            name, text = f"files/{name_in_bundle(path)}", _text(answer.get(file_key(path)) or {}, size)
            if text is None:
                store.leave_out(name, str((answer.get(file_key(path)) or {}).get("error") or "it has changed"))
            else:
                store.put(name, text, source=path, size=size, changed=changed)
        store.save()


def put_state(store: Store, reading: Reading) -> None:
    """Store what the probe reads: HNS's own JSON, adapters, services (variables as fingerprints), the machine."""
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


def put_outputs(node: Machine, store: Store, commands: Sequence[Command], there: Reading) -> tuple[dict[str, str], str]:
    """Run the programs, a few at once: their output by file, and why the others did not run (empty: all ran). One
    failure does not stop the others."""
    waiting = []
    for command in commands:
        if there.file(command.program).get("exists"):
            waiting.append(command)
        else:
            store.leave_out(command.file, f"{windows_path.name(command.program)} is not on the node")
    outputs: dict[str, str] = {}
    why = ""
    while waiting and not why:
        now, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
        try:
            answer = node.apply([command.op for command in now])
        except NodeError as error:
            answer, why = Answer("refused"), str(error)
        for result in answer.results:
            if result.n >= len(now):
                store.leave_out(f"result {result.n}", "it was not asked for")
                continue
            command = now[result.n]
            if result.ok:
                outputs[command.file] = _format_output(command, result)
                store.put(command.file, outputs[command.file], source=command.line)
        failed = answer.error.n
        if answer.answer == "accepted" and not answer.is_done and 0 <= failed < len(now):
            store.leave_out(now[failed].file, answer.error.message)
            waiting = [*now[failed + 1 :], *waiting]
        elif not answer.is_done:
            why = why or node.said(answer)
            for command in (*now, *waiting):
                if command.file not in outputs:
                    store.leave_out(command.file, why)
        store.save()
    return outputs, why


def group_paths(sizes: Mapping[str, tuple[int, str]], limit: int = ONE_ANSWER) -> Iterator[list[str]]:
    """Paths in groups, each of which fits into one answer."""
    group: list[str] = []
    used = 0
    for path, (size, _changed) in sizes.items():
        needed = min(size, LIMIT)
        if group and used + needed > limit:
            yield group
            group, used = [], 0
        group.append(path)
        used += needed
    if group:
        yield group


def _content_query(path: str, size: int) -> Query:
    """A whole file, even if it grows a little meanwhile, or its two ends."""
    if size <= LIMIT:
        return file_query(path, content_limit=LIMIT + GROWTH)
    return Query(file_key(path), "file", (("path", path), ("head", HEAD), ("tail", TAIL)))


def _text(found: Mapping[str, Any], size: int) -> str | None:
    if found.get("content") is not None:
        return decode_anyhow(base64.b64decode(found["content"]))
    if found.get("tail") is not None:
        head, tail = (base64.b64decode(found.get(name) or "") for name in ("head", "tail"))
        return join_ends(head, tail, max(size, len(head) + len(tail)))
    return None


def _format_output(command: Command, result: Result) -> str:
    outputs = [whole_lines(text) for text in (result.stdout, result.stderr)]
    shown = "\n".join(text.replace("\r\n", "\n") for text in outputs if text)
    return f"> {command.line}\nexit code {result.exit_code}\n\n{shown}"
