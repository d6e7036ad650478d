# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gathers what the checks look at: two looks at a node, the cluster, a pod, kubelet's figures, ports, registries.

    scene = quick(machine, Question(..), cluster)      # for verify
    report = full(machine, Question(..), cluster)      # for diagnose: what is said in both looks, and what was tried

This is the edge of the package: everything else in it is pure. `machine` is the node, as an action plugin has it.
"""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from ..cluster.backends import SLICES, LargeService, read_large
from ..cluster.client import Cluster
from ..cluster.error import FORBIDDEN, ClusterError
from ..cluster.exec import exec_in_pod
from ..cluster.objects import full_name
from ..cluster.pods import is_host_process
from ..cluster.pods import pods_of as path_of_pods
from ..cluster.reading import ClusterReading, read_kubelets
from ..cluster.rights import is_allowed
from ..components import networks
from ..components.healthz import find_arguments
from ..components.host import node_fit
from ..components.kube_proxy.kube_proxy_args import uses_dsr
from ..components.layout import Layout
from ..components.node import Node
from ..components.options import read
from ..components.registry import read_plan
from ..cri.client import CriError
from ..cri.kubelet import KubeletProxy
from ..cri.samples import SampleError
from ..cri.watch import Sampling, report, take
from ..cri_tcp import expiry
from ..engine.answer import Answer
from ..engine.batch import Batch, Op
from ..engine.clock import Clock
from ..engine.reading import Expectation, Query, Reading, file_key, file_query, merge_queries, system_query
from ..engine.resource import Refused
from ..engine.secret import Secret
from ..engine.tools import SYSTEM32
from ..engine.waiting import Wait
from ..facts.version import VersionError
from ..network.virtual_machine import VmAdapter, VmAdaptersError
from ..network.virtual_machine import parse as parse_adapters
from ..repair import rejoin
from ..words.cause import NOTE, Area
from ..words.finding import Finding
from . import checks_certificates, checks_disk, programs
from .checks_calico import calico_problems
from .checks_gmsa import ask_gmsa, gmsa_reads
from .checks_kubelet import complete_drop_ins
from .checks_setup import BIOS, GUEST
from .checks_traffic import (
    KUBELET_PORT,
    address_of,
    commands,
    health_port_list,
    kube_proxy_url,
    node_port_list,
)
from .checks_workloads import read_stats
from .cluster_view import ClusterView, Object, ask, view_of
from .cni_mend import repaired_node
from .scene import LIMIT, Scene, complete_cni, reads, scene_of
from .table import KNOWN, findings_in
from .tried import InPod, Looking, Objects, Said, Stats, Tried, moment, pods_of

HNS_OBJECTS = ("networks", "endpoints", "policylists", "namespaces")
TAIL_BYTES = 32 * 1024
"""So much of the end of each log is read."""
EXEC_S = 20
CONNECT_S = 2.0
CURL_CODES = tuple(range(100))
"""Every exit code of curl is an answer here. Source: curl(1), EXIT CODES (1 to 101; those of TLS and HTTP/3 are below
100)."""

Connect = Callable[[str, int, float], bool]


class Seen(Protocol):
    """A node that is looked at: `read_queries` may answer from what the run has read already, `probe` asks again."""

    def read_queries(self, queries: tuple[Query, ...]) -> Reading: ...

    def probe(self, queries: tuple[Query, ...]) -> Mapping[str, Any]: ...


class Machine(Seen, Protocol):
    """And on which something is tried: `carry_out` runs a batch and raises NotRunError where that cannot be."""

    def carry_out(self, batch: Batch, reading: Reading) -> Answer: ...


class NotRunError(Exception):
    """A sentence: why a batch was not run on the node."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: `host` is the inventory's name, `adapters` what Hyper-V hosts told (None: no one was asked)."""

    host: str
    expected: Node
    how: Looking = field(default_factory=Looking)
    adapters: tuple[VmAdapter, ...] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], layout: Layout, host: str) -> Question:
        """By the options of win_k8s_diagnose. Refused for adapters that are not what Get-VMNetworkAdapter says."""
        how = read(Looking, options)
        adapters = _adapters(how.hyperv_adapters)
        return cls(host, Node.of(options, layout), how, adapters)

    @classmethod
    def at_once(cls, options: Mapping[str, Any], layout: Layout, host: str) -> Question:
        """By the options of win_k8s_repair: what is seen without waiting for programs that crash."""
        return cls(host, repaired_node(options, layout), how=Looking(watch=0))

    @property
    def layout(self) -> Layout:
        """Where things are on the node."""
        return self.expected.layout


def _adapters(given: Sequence[Mapping[str, Any]] | None) -> tuple[VmAdapter, ...] | None:
    try:
        return None if given is None else parse_adapters(json.dumps(given))
    except VmAdaptersError as error:
        raise Refused(f"hyperv_adapters: {error}") from None


def quick(machine: Seen, question: Question, cluster: Cluster | None, *, services: bool = False) -> Scene:
    """Two looks at the machine, one at the Node object, and with `services` at Services and the node's pods.
    ClusterError if the cluster does not answer."""
    layout, expected = question.layout, question.expected
    watched = (*programs.reads(layout, expected), *checks_certificates.reads(layout))
    network = reads(layout) if expected.kubernetes else ()
    first = _read(machine, (*read_plan(layout), *watched, *network, *expiry.outcome_reads(layout)), expected)
    view = ask(cluster, expected.node_name) if services and cluster is not None else None
    node = view.node if view is not None else cluster.node(expected.node_name) if cluster is not None else None
    kubelets = _read_kubelets(cluster) if cluster is not None and expected.kubernetes else None
    large = _ask_large(cluster, first, expected) if cluster is not None and view is None else ()
    Wait("diagnose: watching the node", Clock()).sleep(question.how.watch)
    again = (*watched, *programs.logs(layout, expected, first), *programs.health(layout, expected, first))
    second = first.merge(machine.probe(again), again)
    return scene_of(
        first,
        expected,
        view,
        whole=True,
        second=second,
        node=node,
        asked=cluster is not None,
        kubelets=kubelets,
        large=large,
    )


def _ask_large(cluster: Cluster, reading: Reading, expected: Node) -> tuple[LargeService, ...]:
    """Asked only where it matters: for a kube-proxy of ours that runs without DSR."""
    layout = expected.layout
    service = reading.service(layout.kube_proxy_service) if expected.kube_proxy_is_ours else None
    argv = find_arguments(service, layout.kube_proxy_binary) if service else None
    if argv is None or uses_dsr(argv):
        return ()
    try:
        return read_large(cluster)
    except ClusterError as error:
        if error.status != FORBIDDEN:
            raise
        return ()


NO_EXEC = (
    "the user of winkube_cluster.kubeconfig may not create pods/exec in a namespace of the node's pods "
    "(examples/rbac/diagnose-exec.yml grants it for one)"
)
NO_KUBELET = (
    "The user of winkube_cluster.kubeconfig may not get nodes/proxy of this node (examples/rbac/diagnose-kubelet.yml "
    "grants it, and says what that amounts to)."
)


def _read(machine: Seen, queries: Iterable[Query], expected: Node) -> Reading:
    """The answers, the CNI configuration that the runtime takes, whatever its name, and the kubelet's drop-ins."""
    first = machine.read_queries(merge_queries(queries))
    if expected.kubernetes:
        first = complete_cni(first, expected, machine.probe)
    return complete_drop_ins(first, expected.layout, machine.probe)


def full(
    machine: Machine, question: Question, cluster: Cluster | None, no_cluster: str = ""
) -> tuple[Scene, tuple[Finding, ...]]:
    """Two looks at the machine, one at the cluster, then what can be tried; and what is wrong in both looks."""
    layout, expected, how = question.layout, question.expected, question.how
    watched = (*programs.reads(layout, expected), *checks_certificates.reads(layout), *checks_disk.reads())
    proxy = how.https_proxy or how.http_proxy
    urls = [registry_url(name) for name in how.registries]
    queries = (
        *read_plan(layout),
        *watched,
        *expiry.outcome_reads(layout),
        networks.adapters_query(),
        networks.hns_query(*HNS_OBJECTS),
        *(reads(layout) if expected.kubernetes else ()),
        *(file_query(path, content_limit=LIMIT) for path in rejoin.files(layout)),
        BIOS,
        GUEST,
    )
    first = _read(machine, queries, expected)
    objects, why = _ask_cluster(cluster, expected.node_name, no_cluster)
    gmsa = ask_gmsa(cluster, objects)
    Wait("diagnose: watching the node", Clock()).sleep(question.how.watch)
    again = merge_queries(
        (
            *watched,
            *programs.logs(layout, expected, first),
            *tails(layout, expected, first),
            *gmsa_reads(gmsa),
            *programs.health(layout, expected, first),
            *(() if proxy else direct(urls)),
            networks.hns_query(*HNS_OBJECTS),
        )
    )
    second = first.merge(machine.probe(again), again)
    tried = Tried(
        host=question.host,
        expected=expected,
        how=how,
        objects=objects,
        no_cluster=why,
        gmsa=gmsa,
        in_pod=InPod(why=why),
        stats=Stats(why=why),
        reached=_through(machine, urls, proxy, first) if proxy else of_probe(urls, second),
        hypervisor_asked=question.adapters is not None,
        now=_clock(first),
    )
    if cluster is not None and objects is not None:
        tried = _try(tried, question, cluster, objects, first)
    logs = log_texts(layout, expected, first, second)
    return diagnose(first, second, question, tried, logs)


def _clock(reading: Reading) -> datetime:
    """The node's clock: its kubelet writes when a pod was started, and the controller's may differ."""
    return moment((reading.parts.get("system") or {}).get("clock")) or datetime.now(UTC)


def _ask_cluster(cluster: Cluster | None, name: str, why: str) -> tuple[Objects | None, str]:
    """A node is looked at without its cluster as well."""
    if cluster is None:
        return None, why
    try:
        return objects_of(cluster, name), ""
    except ClusterError as error:
        return None, str(error)


def _try(tried: Tried, question: Question, cluster: Cluster, objects: Objects, reading: Reading) -> Tried:
    """With what a pod, the kubelet and the node's ports say."""
    host = address_of(objects.node)
    asked = (*node_port_list(objects), *health_port_list(objects, kube_proxy_url(question.layout, reading)))
    ports = [(host, KUBELET_PORT), *((host, port) for _name, port in asked)]
    name = question.expected.node_name
    in_pod = InPod(why="winkube_diagnose_exec is false")
    if question.how.exec_in_pods:
        within, why = _with_exec(cluster, objects)
        in_pod = InPod(why=why) if why else ask_pod(cluster, within, lambda namespace: commands(tried, namespace))
    figures = Stats(why=NO_KUBELET)
    if question.how.stats_samples < 1 or _may(cluster, "get", "nodes/proxy", name=name):
        figures = stats(cluster, name, question.how.stats_samples, question.how.stats_interval)
    return replace(
        tried,
        calico=calico_problems(cluster, question.expected, question.layout),
        in_pod=in_pod,
        stats=figures,
        ports=try_ports(ports) if len(ports) > 1 else {},
    )


def _may(cluster: Cluster, verb: str, resource: str, namespace: str = "", name: str = "") -> bool:
    """Whether the user may; a cluster that does not say is tried."""
    try:
        return is_allowed(cluster, verb, "", resource, namespace, name)
    except ClusterError:
        return True


def _with_exec(cluster: Cluster, objects: Objects) -> tuple[Objects, str]:
    """The objects with the pods alone in which commands may be run; the reason if it is not one of several."""
    spaces = {str((pod.get("metadata") or {}).get("namespace")) for pod in objects.pods}
    granted = {space for space in spaces if _may(cluster, "create", "pods/exec", space)}
    if spaces and not granted:
        return objects, NO_EXEC
    pods = [pod for pod in objects.pods if str((pod.get("metadata") or {}).get("namespace")) in granted]
    return replace(objects, pods=tuple(pods)), ""


def _through(machine: Machine, urls: list[str], proxy: Secret[str], reading: Reading) -> dict[str, Said]:
    """What curl on the node says of each URL through the proxy; why it could not be run."""
    if not urls:
        return {}
    try:
        return of_batch(urls, machine.carry_out(through_proxy(urls, proxy, reading), reading))
    except NotRunError as error:
        return {url: Said(None, str(error)) for url in urls}


def diagnose(
    first: Reading, second: Reading, question: Question, tried: Tried, logs: Mapping[str, str]
) -> tuple[Scene, tuple[Finding, ...]]:
    """What the checks find in both looks: pods come and go, and between the two no one holds the cluster still.

    Logs explain what is wrong, and raise no alarm by themselves: their ends may be of a time that is over. So they are
    read where something else is wrong; the kubelet of a Ready node has reached its cluster, whatever it said before.
    """
    known = _network_view(tried.objects, question.expected)

    def scene(reading: Reading, later: Reading, said: Mapping[str, str]) -> Scene:
        return scene_of(
            reading,
            question.expected,
            known,
            question.adapters or (),
            second=later,
            whole=True,
            logs=said,
            quiet=quiet_for(question.layout, question.expected, first, second, tried.now),
            working=(question.layout.kubelet_service,) if _is_ready(tried.node) else (),
            kubelets=tried.objects.kubelets if tried.objects else None,
            tried=tried,
        )

    def wrong(looked: Scene) -> set[tuple[str, str]]:
        return {(one.id, one.subject) for one in findings_in(looked) if one.severity != NOTE}

    whole = scene(first, second, logs)
    before, still = wrong(scene(first, second, {})), wrong(scene(second, second, {}))
    found = findings_in(whole if before & still else scene(first, second, {}))
    both = tuple(
        one
        for one in found
        if not _network(one) or (one.id, one.subject) in still or (one.id, one.subject) not in before
    )
    return whole, both


def _network(one: Finding) -> bool:
    return KNOWN[one.id].area == Area.NETWORK


def _network_view(objects: Objects | None, expected: Node) -> ClusterView | None:
    """What the network's checks take of the cluster; None without one."""
    if objects is None:
        return None
    return view_of(
        services=list(objects.services),
        slices=list(objects.slices),
        pods=list(objects.pods),
        node=objects.node,
        node_name=expected.node_name,
    )


def _is_ready(node: Object | None) -> bool:
    conditions = ((node or {}).get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def bug_report(scene: Scene) -> tuple[str, ...]:
    """What a report of a bug has to say, as far as it is known, a line each."""
    tried = scene.tried
    info = (((tried.node if tried else None) or {}).get("status") or {}).get("nodeInfo") or {}
    machine = node_fit.Machine.of(scene.first)
    facts = {
        "Kubernetes": str(info.get("kubeletVersion") or (tried.version if tried else "") or ""),
        "Windows": machine.name if machine.build else "",
        "container runtime": str(info.get("containerRuntimeVersion") or ""),
        "network": f"{scene.expected.network_mode}, managed by the {scene.expected.cni_managed_by}"
        if scene.expected
        else "",
    }
    return tuple(f"{name}: {value or 'not known'}" for name, value in facts.items())


def objects_of(cluster: Cluster, name: str) -> Objects:
    """The cluster's objects that concern the Node `name`. ClusterError if the cluster cannot be asked."""
    return Objects(
        node=cluster.node(name),
        pods=tuple(cluster.items(path_of_pods(name))),
        events=tuple(_optional(cluster, "/api/v1/events?fieldSelector=type%3DWarning")),
        nodes=tuple(cluster.nodes()),
        services=tuple(cluster.items("/api/v1/services")),
        slices=tuple(_optional(cluster, SLICES)),
        kubelets=_read_kubelets(cluster),
    )


def _read_kubelets(cluster: Cluster) -> ClusterReading | None:
    """None where the cluster does not say it: the rest of the diagnosis goes on."""
    try:
        return read_kubelets(cluster)
    except ClusterError:
        return None


def _optional(cluster: Cluster, path: str) -> Iterator[Object]:
    """What is good to have: a role may be forbidden to read it."""
    try:
        yield from cluster.items(path)
    except ClusterError:
        return


def tails(layout: Layout, expected: Node, first: Reading) -> tuple[Query, ...]:
    """The ends of the logs that are single files."""
    return tuple(
        Query(query.key, query.op, (*query.args, ("tail", TAIL_BYTES)))
        for query in programs.logs(layout, expected, first)
    )


def log_texts(layout: Layout, expected: Node, first: Reading, second: Reading) -> dict[str, str]:
    """The ends that were read, by service."""
    found = {}
    for program in programs.programs(layout, expected):
        if first.service(program.service) is None:
            continue
        file = programs.log_of(program, first).file
        tail = (second.parts.get(file_key(file)) or {}).get("tail") if file else None
        if tail is not None:
            found[program.service] = base64.b64decode(tail).decode("utf-8", errors="replace")
    return found


def quiet_for(layout: Layout, expected: Node, first: Reading, second: Reading, now: datetime) -> dict[str, timedelta]:
    """How long ago the log of each program that runs was written last, both by the node's clock."""
    found = {}
    for program in programs.programs(layout, expected):
        service = second.service(program.service) or {}
        file = programs.log_of(program, first).file
        written = moment((second.parts.get(file_key(file)) or {}).get("written")) if file else None
        if written is not None and service.get("state") == "running":
            found[program.service] = max(now - written, timedelta())
    return found


def ask_pod(cluster: Cluster, objects: Objects, wanted: Callable[[str], Mapping[str, Sequence[str]]]) -> InPod:
    """Runs the commands in one of the node's pods that can; `wanted` are the commands for a namespace."""
    pods = [pod for pod in pods_of(objects) if _is_running(pod) and not is_host_process(pod)]
    if not pods:
        return InPod(why="no pod with a network of its own runs on this node")
    pod = min(pods, key=lambda one: (not _has_powershell(one), full_name(one)))
    metadata = pod.get("metadata") or {}
    namespace, name = str(metadata.get("namespace")), str(metadata.get("name"))
    container = str(((pod.get("spec") or {}).get("containers") or [{}])[0].get("name") or "")
    said: dict[str, Said] = {}
    for what, argv in wanted(namespace).items():
        try:
            done = exec_in_pod(cluster, namespace, name, argv, EXEC_S, container)
        except ClusterError as error:
            said[what] = Said(None, str(error))
            continue
        text = f"{done.stderr}\n{done.stdout}" if done.exit_code else done.stdout
        said[what] = Said(None if done.exit_code < 0 else done.exit_code, text.strip())
    return InPod(full_name(pod), "", said)


def stats(cluster: Cluster, name: str, samples: int, interval_s: float) -> Stats:
    """kubelet's summaries, taken and judged; the reason if there are none."""
    if samples < 1:
        return Stats(why="winkube_diagnose_samples is 0.")
    how = Sampling(samples=samples, interval=interval_s)
    try:
        return read_stats(report(how, take(how, None, None, KubeletProxy(cluster, name))))
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


def through_proxy(urls: Iterable[str], proxy: Secret[str], reading: Reading) -> Batch:
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
        )
        for url in urls
    ]
    same = Expectation(system_query(), (("machine", reading.machine),))
    return Batch("diagnose", tuple(ops), pre=(same,), deadline_s=300)


def of_batch(urls: Sequence[str], answer: Answer) -> dict[str, Said]:
    """What curl said, by URL."""
    return {
        url: Said(-1 if one.exit_code is None else one.exit_code, one.stderr or one.stdout)
        for url, one in zip(urls, answer.ran, strict=False)
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
