# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathering what the checks look at besides the readings: the cluster, a pod, kubelet's figures, ports.

This is the edge of the package: everything else in it is pure.
"""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..cluster.client import Cluster
from ..cluster.error import ClusterError
from ..cluster.exec import exec_in_pod
from ..components.expected import Expected
from ..components.layout import Layout
from ..cri.client import CriError
from ..cri.kubelet import KubeletProxy
from ..cri.samples import SampleError
from ..cri.watch import Wanted as WantedStats
from ..cri.watch import report, take
from ..diagnosis import cluster_view as cluster_view_of_network
from ..diagnosis import programs as verify
from ..diagnosis.check import Area
from ..diagnosis.expectations import Expectations
from ..diagnosis.finding import Finding
from ..diagnosis.scene import scene_of
from ..diagnosis.table import KNOWN, diagnose
from ..engine.batch import Batch, Op
from ..engine.reading import Expectation, Query, Reading, file_key, system_query
from ..engine.tools import SYSTEM32
from ..facts.version import VersionError
from ..network.virtual_machine import VmAdapter
from .evidence import ClusterView, InPod, Object, Said, Stats, is_host_process, named, pods_of
from .workloads import judged

TAIL_BYTES = 32 * 1024
"""So much of the end of each log is read."""
EXEC_S = 20
CONNECT_S = 2.0
CURL_CODES = tuple(range(100))
"""Every exit code of curl is an answer here. Source: curl(1), EXIT CODES (1 to 101; those of TLS and HTTP/3 are below
100)."""

Connect = Callable[[str, int, float], bool]


def cluster_view(cluster: Cluster, name: str) -> ClusterView:
    """The cluster's objects that concern the Node `name`. ClusterError if the cluster cannot be asked."""
    return ClusterView(
        node=cluster.node(name),
        pods=tuple(cluster.items(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{name}")),
        events=tuple(_optional(cluster, "/api/v1/events?fieldSelector=type%3DWarning")),
        nodes=tuple(cluster.nodes()),
        services=tuple(cluster.items("/api/v1/services")),
        slices=tuple(_optional(cluster, "/apis/discovery.k8s.io/v1/endpointslices")),
    )


def _optional(cluster: Cluster, path: str) -> Iterator[Object]:
    """What is good to have: a role may be forbidden to read it."""
    try:
        yield from cluster.items(path)
    except ClusterError:
        return


def of_network(view: ClusterView | None, expected: Expected) -> cluster_view_of_network.ClusterView | None:
    """The same as plugin_utils/network takes it; None without a cluster."""
    if view is None:
        return None
    return cluster_view_of_network.view_of(
        services=list(view.services),
        slices=list(view.slices),
        pods=list(view.pods),
        node=view.node,
        node_name=expected.node_name,
    )


def table_findings(
    first: Reading,
    second: Reading,
    view: ClusterView | None,
    expect: Expectations,
    expected: Expected,
    *,
    logs: Mapping[str, str],
    vm_adapters: tuple[VmAdapter, ...] = (),
) -> tuple[Finding, ...]:
    """What the table of checks finds in both looks: pods come and go, and between the two nobody holds the cluster
    still.

    Logs explain what is wrong, and raise no alarm by themselves: their ends may be of a time that is over. So they are
    read where something else is wrong, and do not say of a Ready node that it does not reach its cluster.
    """
    known = of_network(view, expected)

    def look(reading: Reading, later: Reading, said: Mapping[str, str]) -> tuple[Finding, ...]:
        scene = scene_of(reading, expect, known, vm_adapters, second=later, expected=expected, logs=said)
        return diagnose(scene).findings

    seen = {(one.id, one.subject) for one in look(first, second, {})}
    still = {(one.id, one.subject) for one in look(second, second, {})}
    found = look(first, second, logs if seen & still else {})
    over = ("cluster.",) if _is_ready(view) else ()
    return tuple(
        one
        for one in found
        if not one.id.startswith(over)
        and (
            KNOWN[one.id].area != Area.NETWORK
            or (one.id, one.subject) in still
            or (one.id, one.subject) not in seen  # a log's
        )
    )


def _is_ready(view: ClusterView | None) -> bool:
    conditions = (((view.node if view else None) or {}).get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def tails(layout: Layout, expected: Expected, first: Reading) -> tuple[Query, ...]:
    """The ends of the logs that are single files."""
    return tuple(
        Query(query.key, query.op, (*query.args, ("tail", TAIL_BYTES)))
        for query in verify.logs(layout, expected, first)
    )


def log_texts(layout: Layout, expected: Expected, first: Reading, second: Reading) -> dict[str, str]:
    """The ends that were read, by service."""
    found = {}
    for program in verify.programs(layout, expected):
        if first.service(program.service) is None:
            continue
        file = verify.log_of(program, first).file
        tail = (second.parts.get(file_key(file)) or {}).get("tail") if file else None
        if tail is not None:
            found[program.service] = base64.b64decode(tail).decode("utf-8", errors="replace")
    return found


def ask_pod(cluster: Cluster, view: ClusterView, commands: Callable[[str], Mapping[str, Sequence[str]]]) -> InPod:
    """Runs the commands in one of the node's pods that can; `commands` are those for a namespace."""
    pods = [pod for pod in pods_of(view) if _is_running(pod) and not is_host_process(pod)]
    if not pods:
        return InPod(why="no pod with a network of its own runs on this node")
    pod = min(pods, key=lambda one: (not _has_powershell(one), named(one)))
    metadata = pod.get("metadata") or {}
    namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
    container = str(((pod.get("spec") or {}).get("containers") or [{}])[0].get("name") or "")
    said: dict[str, Said] = {}
    for what, argv in commands(namespace).items():
        try:
            done = exec_in_pod(cluster, namespace, name, argv, EXEC_S, container)
        except ClusterError as error:
            said[what] = Said(None, str(error))
            continue
        text = f"{done.stderr}\n{done.stdout}" if done.exit_code else done.stdout
        said[what] = Said(None if done.exit_code < 0 else done.exit_code, text.strip())
    return InPod(named(pod), "", said)


def stats(cluster: Cluster, name: str, samples: int, interval_s: float) -> Stats:
    """kubelet's summaries, taken and judged; the reason if there are none."""
    if samples < 1:
        return Stats(why="winkube_diagnose_samples is 0.")
    wanted = WantedStats(samples=samples, interval_s=interval_s)
    try:
        return judged(report(wanted, take(wanted, None, None, KubeletProxy(cluster, name))))
    except (ClusterError, CriError, SampleError, VersionError) as error:
        return Stats(why=str(error))


def try_ports(wanted: Iterable[tuple[str, int]], connect: Connect | None = None) -> dict[tuple[str, int], bool]:
    """Which of these (host, port) take a connection from the controller. The first host that takes none is not asked
    on: it is out of reach."""
    connect = connect or _connects
    found: dict[tuple[str, int], bool] = {}
    for host, port in wanted:
        if host and host not in {known for known, _port in found if not any(found[one] for one in found)}:
            found[host, port] = connect(host, port, CONNECT_S)
    return found


def through_proxy(urls: Iterable[str], proxy: str, reading: Reading) -> Batch:
    """curl.exe on the node, asking each URL through the proxy. The proxy goes through the environment: its password
    must not be seen in a list of processes."""
    ops = [
        Op(
            "run",
            {
                "program": rf"{SYSTEM32}\curl.exe",
                "args": ["--silent", "--show-error", "--output", "NUL", "--max-time", "15", url],
                "env": {"HTTPS_PROXY": proxy, "http_proxy": proxy},
                "ok_exit": list(CURL_CODES),
                "timeout_s": 30,
                "encoding": "utf-8",
            },
            secrets=("env",),
        )
        for url in urls
    ]
    same = Expectation(system_query(), (("machine", reading.machine),))
    return Batch("troubleshoot", tuple(ops), pre=(same,), deadline_s=300)


def of_batch(urls: Sequence[str], answer: Mapping[str, Any]) -> dict[str, Said]:
    """What curl said, by URL."""
    results = [one for one in answer.get("results") or () if one.get("op") == "run"]
    return {
        url: Said(int(one.get("exit_code", -1)), str(one.get("stderr") or one.get("stdout") or ""))
        for url, one in zip(urls, results, strict=False)
    }


def direct(urls: Iterable[str]) -> tuple[Query, ...]:
    """Each URL, asked by the node without a proxy."""
    return tuple(Query(f"http:{url}", "http", (("url", url), ("timeout_ms", 10_000))) for url in urls)


def of_probe(urls: Iterable[str], reading: Reading) -> dict[str, Said]:
    """What the node was answered: any status is an answer, a registry says 401 to strangers."""
    found = {}
    for url in urls:
        answer = reading.parts.get(f"http:{url}") or {}
        status = int(answer.get("status") or 0)
        found[url] = Said(0, str(status)) if status else Said(1, str(answer.get("error") or "no answer"))
    return found


def registry_url(name: str) -> str:
    """The address at which a registry says that it is one; a URL stays as it is."""
    if "://" in name:
        return name
    return f"https://{name}/v2/"


def _is_running(pod: Object) -> bool:
    status = pod.get("status") or {}
    ready = any(one.get("ready") for one in status.get("containerStatuses") or ())
    return status.get("phase") == "Running" and ready


def _has_powershell(pod: Object) -> bool:
    """nanoserver has no PowerShell, and so no Resolve-DnsName."""
    images = [str(one.get("image")) for one in (pod.get("spec") or {}).get("containers") or ()]
    return bool(images) and "nanoserver" not in images[0]


def _connects(host: str, port: int, timeout_s: float) -> bool:
    try:
        socket.create_connection((host, port), timeout=timeout_s).close()
    except OSError:
        return False
    return True
