"""What is wrong with a node, from two readings of it and its Node object: one finding for each thing that is broken."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.blocked import ACKNOWLEDGE
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import programs as verify
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import scene_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import VERIFY, describe, diagnose, report_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, service_key
from ansible_collections.winkube.node.plugins.plugin_utils.node import verdict
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding

from tests.unit.answers import answered
from tests.unit.components.nodes import LAYOUT, wanted_node

Parts = dict[str, Any]
STARTED, WRITTEN = "2026-11-21T08:00:00Z", "2026-11-21T08:05:00Z"
RANGES: dict[str, Any] = {"cluster_cidr": "10.244.0.0/16", "service_cidr": "10.96.0.0/12"}
EXPECTED = wanted_node(network_mode="l2bridge", **RANGES)
OVERLAY = wanted_node(network_mode="overlay", **RANGES)
CNI_CONF, SUBNET_ENV = r"C:\k\cni\config\cni.conf", r"C:\run\flannel\subnet.env"
EXCEPTIONS = ["10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24"]


def text(content: str) -> Parts:
    return {
        "exists": True,
        "kind": "file",
        "size": len(content),
        "written": WRITTEN,
        "content": base64.b64encode(content.encode()).decode(),
    }


def service(name: str, parameters: str = "") -> Parts:
    nssm = {"AppParameters": parameters, "AppStderr": rf"C:\k\{name}.log"}
    if name == "kube-proxy":
        nssm["Application"] = LAYOUT.kube_proxy_binary
    found = {"name": name, "state": "running", "exit_code": 0, "service_exit_code": 0}
    return found | ({} if name == "containerd" else {"nssm": nssm})


def conf(exceptions: list[str], *, overlay: bool = False) -> str:
    kind = "win-overlay" if overlay else "win-bridge"
    policy = {"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "Settings": {"Exceptions": exceptions}}}
    delegate = {"type": kind, "apiVersion": 2, "policies": [policy]}
    return json.dumps({"name": "vxlan0" if overlay else "cbr0", "type": "flannel", "delegate": delegate})


def hns(name: str, kind: str, prefix: str = "10.244.3.0/24", management: str = "192.168.122.220") -> Parts:
    network = {
        "ID": "9DD9",
        "Name": name,
        "Type": kind,
        "ManagementIP": management,
        "NetworkAdapterName": "Ethernet",
        "Subnets": [{"AddressPrefix": prefix}],
    }
    host = prefix.replace(".0/24", ".2")
    endpoints = [{"ID": "E1", "Name": f"{name}_ep", "VirtualNetwork": "9DD9", "IPAddress": host}]
    remote = {
        "ID": "E2",
        "Name": "Ethernet",
        "VirtualNetwork": "9DD9",
        "IPAddress": "10.0.0.1",
        "IsRemoteEndpoint": True,
    }
    rule = {"Type": "ELB", "VIPs": ["10.96.0.1"], "ExternalPort": 443, "InternalPort": 6443, "Protocol": 6}
    rule |= {"SourceVIP": host} if kind == "Overlay" else {}
    objects = {
        "networks": [network],
        "endpoints": [*(endpoints if kind == "L2Bridge" else []), remote],
        "namespaces": [],
        "policylists": [{"ID": "P1", "References": ["/endpoints/E2"], "Policies": [rule]}],
    }
    said = {name: json.dumps({"Success": True, "Output": found}) for name, found in objects.items()}
    return {"available": True, **said}


def healthy(overlay: bool = False) -> Parts:
    paths = {
        "containerd": LAYOUT.containerd_binary,
        "kubelet": LAYOUT.kubelet_binary,
        "flanneld": LAYOUT.flanneld_binary,
        "kube-proxy": LAYOUT.kube_proxy_binary,
    }
    logs = [LAYOUT.containerd_log, *(rf"C:\k\{name}.log" for name in ("kubelet", "flanneld", "kube-proxy"))]
    adapter = {
        "name": "vEthernet (Ethernet)",
        "up": True,
        "dhcp": True,
        "mtu": 1500,
        "ipv4": [{"address": "192.168.122.220", "prefix": 24}],
    }
    proxy = f"--hostname-override=win1 --network-name={'vxlan0' if overlay else 'cbr0'}"
    vip = f"{proxy} --source-vip=10.244.3.2" if overlay else proxy
    gateway = {
        "name": "vEthernet (cbr0_ep)",
        "up": True,
        "mtu": 1500,
        "ipv4": [{"address": "10.244.3.2", "prefix": 24}],
    }
    return {
        "services": sorted([*paths, "hns", "vmcompute"]),
        **{service_key(name): service(name, vip if name == "kube-proxy" else "") for name in paths},
        **{service_key(name): {"name": name, "state": "running"} for name in ("hns", "vmcompute")},
        "processes": [
            {"pid": 100 + n, "name": path.rsplit("\\", 1)[-1], "path": path, "started": STARTED}
            for n, path in enumerate(paths.values())
        ],
        "pipe:containerd-containerd": {"exists": True},
        "http:http://127.0.0.1:10248/healthz": {"status": 200, "body": "ok"},
        "http:http://127.0.0.1:10256/healthz": {"status": 200, "body": "{}"},
        **{file_key(log): {"exists": True, "kind": "file", "size": 10, "written": WRITTEN} for log in logs},
        "adapters": [adapter, *([] if overlay else [gateway])],
        "hns": hns("vxlan0", "Overlay") if overlay else hns("cbr0", "L2Bridge"),
        file_key(SUBNET_ENV): text(
            "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU=1450\nFLANNEL_IPMASQ=true\n"
        ),
        file_key(CNI_CONF): text(conf(EXCEPTIONS, overlay=overlay)),
    }


def node() -> Parts:
    return {
        "metadata": {"name": "win1", "labels": {"kubernetes.io/os": "windows"}},
        "spec": {"podCIDR": "10.244.3.0/24"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "192.168.122.220"}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok"}],
        },
    }


def causes(
    second: Parts, known: Mapping[str, Any] | None = None, expected: Node = EXPECTED, *, absent_node: bool = False
) -> list[Finding]:
    """The causes that the playbook names: what follows from another finding is not among them."""
    first = Reading(parts=healthy(expected.network_mode == "overlay"))
    now = Reading(parts=second)
    scene = scene_of(
        Reading(parts={**first.parts, **now.parts, "processes": first.parts["processes"]}),
        expected,
        whole=True,
        second=now,
        node=None if absent_node else known if known is not None else node(),
        asked=True,
    )
    return [cause.finding for cause in diagnose(scene, VERIFY).causes]


def test_it_says_what_it_looked_at_and_what_it_could_not() -> None:
    def told(expected: Node, *, asked: bool) -> str:
        status = {"nodeInfo": {"kubeletVersion": "v1.37.1", "containerRuntimeVersion": "containerd://2.3.7"}}
        reading = Reading(parts=healthy())
        known = {"status": status} if asked else None
        return describe(scene_of(reading, expected, whole=True, node=known, asked=asked), VERIFY)

    whole = told(EXPECTED, asked=True)
    assert re.fullmatch(
        r"Looked at cni, containerd 2\.3\.7, kubelet 1\.37\.1, flanneld, kube-proxy, the network, the Node object: "
        r"\d+ checks\.",
        whole,
    ), whole
    less = told(EXPECTED, asked=False)
    assert "kubelet, flanneld, kube-proxy, the network: " in less, less
    made, left = map(int, re.findall(r"(\d+) (?:checks|more)", less))
    assert [made + left] == [int(each) for each in re.findall(r"(\d+) checks", whole)]
    assert left > 5 and less.endswith(" more need the Node object (winkube_cluster.kubeconfig).")
    alone = told(wanted_node("", **RANGES), asked=False)
    assert re.fullmatch(r"Looked at containerd: \d+ checks\.", alone), alone


@pytest.mark.parametrize("expected", [EXPECTED, OVERLAY], ids=["l2bridge", "overlay"])
@pytest.mark.row("OB-01", "KU-33", "JR-03")
def test_a_node_that_works_has_no_finding(expected: Node) -> None:
    assert causes(healthy(expected.network_mode == "overlay"), expected=expected) == []


def stopped(parts: Parts) -> None:
    parts[service_key("kubelet")] |= {"state": "stopped", "service_exit_code": 1}


BATCH = "5fa17f4f4b3d4c91b7dd4f076635f82c"


def test_what_blocks_the_node_is_named_first_in_the_words_of_a_run() -> None:
    blocked = {"id": BATCH, "component": "containerd", "error": {"message": "The pipe did not appear."}}
    parts = healthy()
    stopped(parts)
    first, second = causes(parts | {file_key(LAYOUT.blocked): text(json.dumps(blocked))})
    assert (first.id, second.id) == ("host.blocked", "kubelet.stopped")
    run = verdict.sentence(answered({"answer": "blocked", "blocked": blocked}))
    why, way_out = f"{first.seen}. Check the node, then ", f"acknowledge it with {ACKNOWLEDGE}{BATCH}"
    assert run == f"{why}{way_out}. Nothing was done."
    assert f"winkube_repair=acknowledge -e winkube_batch={BATCH}" in first.remedy.ours("win7")
    assert rf"C:\ProgramData\winkube\batches\{BATCH}\journal.jsonl" in first.remedy.plain
    assert "also by the commands below" in first.why


@pytest.mark.parametrize("content", ["{", "[]", '{"id": ""}'])
def test_a_damaged_file_blocks_as_well(content: str) -> None:
    (found,) = causes(healthy() | {file_key(LAYOUT.blocked): text(content)})
    assert found.id == "host.blocked"
    assert "run's error names the batch" in found.remedy.plain


def test_a_command_that_no_test_has_run_is_marked_in_plain_words() -> None:
    parts = healthy()
    unhealthy(parts)
    (found,) = causes(parts)
    remedy = found.remedy.as_data("win7")
    assert (remedy["text"], remedy["command"]) == ("Restart-Service kube-proxy.", "")
    assert remedy["ours"].startswith("ansible-playbook winkube.node.repair --limit win7 -e ")
    assert remedy["ours"].endswith("(no test has run this on such a node)")
    assert f"    Here: {remedy['ours']}" in report_of([found]).lines("win7")


def paused(parts: Parts) -> None:
    parts[service_key("flanneld")]["state"] = "paused"


def absent(parts: Parts) -> None:
    parts.pop(service_key("kube-proxy"))


def started_again(parts: Parts) -> None:
    parts["processes"][1]["pid"] = 999


def not_there(parts: Parts) -> None:
    del parts["processes"][2]


def no_pipe(parts: Parts) -> None:
    parts["pipe:containerd-containerd"] = {"exists": False}


def unhealthy(parts: Parts) -> None:
    parts["http:http://127.0.0.1:10256/healthz"] = {"status": 503, "body": "stale"}


def silent(parts: Parts) -> None:
    parts["http:http://127.0.0.1:10256/healthz"] = {"error": "No connection could be made."}


def old_log(parts: Parts) -> None:
    parts[file_key(r"C:\k\kubelet.log")]["written"] = "2026-11-20T08:00:00Z"


def no_log(parts: Parts) -> None:
    parts[file_key(LAYOUT.containerd_log)] = {"exists": False}


def no_network(parts: Parts) -> None:
    parts["hns"] = hns("External", "L2Bridge")


def no_hns(parts: Parts) -> None:
    parts["hns"] = {"available": False}


def other_type(parts: Parts) -> None:
    parts["hns"] = hns("cbr0", "Overlay")


def no_management_ip(parts: Parts) -> None:
    parts["hns"] = hns("cbr0", "L2Bridge", management="")


def moved_host(parts: Parts) -> None:
    parts["hns"] = hns("cbr0", "L2Bridge", management="192.168.122.9")


def other_range(parts: Parts) -> None:
    parts["hns"] = hns("cbr0", "L2Bridge", prefix="10.244.9.0/24")


def no_lease(parts: Parts) -> None:
    parts[file_key(SUBNET_ENV)] = {"exists": False}


def no_conf(parts: Parts) -> None:
    parts[file_key(CNI_CONF)] = {"exists": False}


def broken_conf(parts: Parts) -> None:
    parts[file_key(CNI_CONF)] = text(conf(EXCEPTIONS).replace('"name"', "// cbr0\n'name'", 1))


def lost_address(parts: Parts) -> None:
    parts["adapters"][0]["ipv4"] = [{"address": "169.254.7.7", "prefix": 16}]
    parts["hns"] = hns("cbr0", "L2Bridge", management="169.254.7.7")


@pytest.mark.parametrize(
    ("breaks", "severity", "identity"),
    [
        (stopped, "error", "kubelet.stopped"),
        (paused, "error", "flannel.crashes"),
        (absent, "error", "kube-proxy.not-installed"),
        (started_again, "error", "kubelet.crashes"),
        (not_there, "error", "flannel.crashes"),
        (no_pipe, "error", "containerd.no-pipe"),
        (unhealthy, "error", "kube-proxy.unhealthy"),
        (silent, "error", "kube-proxy.unhealthy"),
        (old_log, "warning", "kubelet.log-old"),
        (no_log, "warning", "containerd.no-log"),
        (no_network, "error", "hns.no-network"),
        (no_hns, "error", "hns.absent"),
        (other_type, "error", "hns.network-type"),
        (no_management_ip, "error", "hns.no-management-address"),
        (moved_host, "error", "hns.management-address-stale"),
        (other_range, "error", "hns.network-pod-cidr"),
        (no_lease, "error", "flannel.no-subnet-env"),
        (no_conf, "error", "cni.absent"),
        (broken_conf, "error", "cni.unreadable"),
        (lost_address, "error", "host.address-lost"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
@pytest.mark.row("OB-01", "KU-33", "JR-03")
def test_each_thing_that_is_broken_is_one_finding(
    breaks: Callable[[Parts], None], severity: str, identity: str
) -> None:
    parts = healthy()
    breaks(parts)
    found, *more = causes(parts)
    assert (found.id, found.severity, more) == (identity, severity, []), found.text
    assert found.remedy.plain.endswith(".")


def test_logs_are_asked_for_where_the_service_puts_them() -> None:
    parts = healthy()
    parts[service_key("kubelet")]["nssm"]["AppStderr"] = r"D:\logs\kubelet.log"
    asked = {query.key for query in verify.logs(LAYOUT, EXPECTED, Reading(parts=parts))}
    assert file_key(r"D:\logs\kubelet.log") in asked
    assert file_key(LAYOUT.containerd_log) in asked


def by_sc(line: str) -> Parts:
    """Healthy, the kubelet as a service of its own with this command line."""
    parts = healthy()
    parts[service_key("kubelet")] = {**service("containerd"), "name": "kubelet", "image_path": line}
    return parts


@pytest.mark.parametrize(
    ("line", "asked", "advice"),
    [
        (rf"{LAYOUT.kubelet_binary} --windows-service --v=4", "", "in the event log System."),
        (rf"{LAYOUT.kubelet_binary} --log-dir=C:\k --logtostderr=false", "", r"the newest kubelet.exe.*.log.* in C:\k"),
        (
            rf"C:\k\kube-log-runner.exe -log-file D:\l\k.log {LAYOUT.kubelet_binary}",
            r"D:\l\k.log",
            r"end of D:\l\k.log",
        ),
        (rf"{LAYOUT.kubelet_binary} --log-file=D:\k.log", r"D:\k.log", r"Read the end of D:\k.log on the node."),
    ],
    ids=["none", "folder", "log runner", "file"],
)
def test_a_service_without_nssm_logs_where_its_command_line_says(line: str, asked: str, advice: str) -> None:
    parts = by_sc(line)
    queries = {query.key for query in verify.logs(LAYOUT, EXPECTED, Reading(parts=parts))}
    others = {file_key(LAYOUT.containerd_log), file_key(r"C:\k\flanneld.log"), file_key(r"C:\k\kube-proxy.log")}
    assert queries - others == ({file_key(asked)} if asked else set())
    parts[service_key("kubelet")]["state"] = "stopped"
    (found,) = causes(parts)
    assert found.id == "kubelet.stopped"
    assert advice in found.evidence[-1]


def test_a_kubelet_that_writes_no_file_is_no_finding() -> None:
    assert causes(by_sc(rf"{LAYOUT.kubelet_binary} --windows-service --v=4")) == []


def test_nssm_without_a_file_has_its_own_event_log() -> None:
    parts = healthy()
    parts[service_key("kubelet")] |= {"nssm": {"AppParameters": ""}, "state": "paused"}
    (found,) = causes(parts)
    assert "in the event log Application" in found.evidence[-1]


@pytest.mark.parametrize("missing", EXCEPTIONS)
@pytest.mark.row("NW-30")
def test_traffic_that_would_be_translated_is_found(missing: str) -> None:
    parts = healthy()
    parts[file_key(CNI_CONF)] = text(conf([one for one in EXCEPTIONS if one != missing]))
    (found,) = causes(parts)
    assert found.id == "cni.exceptions"
    assert f"traffic from pods to {missing} is translated" in found.text


def test_a_lease_of_another_range_than_the_nodes_is_found() -> None:
    known = node()
    known["spec"]["podCIDR"] = "10.244.8.0/24"
    (found,) = causes(healthy(), known)
    assert found.id == "hns.network-pod-cidr"
    assert "10.244.8.0/24" in found.text


@pytest.mark.parametrize(
    ("arguments", "sentence"), [("", "it has no --source-vip"), ("--source-vip=10.9.9.9", "10.9.9.9")]
)
def test_a_source_vip_that_does_not_fit_is_found(arguments: str, sentence: str) -> None:
    parts = healthy(overlay=True)
    parts[service_key("kube-proxy")]["nssm"]["AppParameters"] = (
        f"--hostname-override=win1 --network-name=vxlan0 {arguments}"
    )
    (found,) = causes(parts, expected=OVERLAY)
    assert sentence in found.text


def unready(known: Parts) -> None:
    known["status"]["conditions"][0] |= {"status": "False", "reason": "KubeletNotReady", "message": "no CNI"}


def linux(known: Parts) -> None:
    known["metadata"]["labels"] = {"kubernetes.io/os": "linux"}


def tainted(known: Parts) -> None:
    known["spec"]["taints"] = [{"key": "node.kubernetes.io/disk-pressure"}, {"key": "os", "value": "windows"}]


def cordoned(known: Parts) -> None:
    known["spec"]["unschedulable"] = True


def ailing(known: Parts) -> None:
    known["status"]["conditions"].append({"type": "KubeletUnhealthy", "status": "True", "reason": "KubeletUnhealthy"})
    known["status"]["conditions"].append({"type": "KubeProxyUnhealthy", "status": "False", "reason": "x"})


def without_range(known: Parts) -> None:
    del known["spec"]["podCIDR"]


@pytest.mark.parametrize(
    ("breaks", "severity", "identity"),
    [
        (unready, "error", "node.not-ready"),
        (linux, "error", "node.label"),
        (tainted, "error", "node.taint"),
        (cordoned, "warning", "node.cordoned"),
        (ailing, "warning", "node.problem"),
        (without_range, "error", "node.no-pod-cidr"),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
@pytest.mark.row("JR-03")
def test_each_thing_about_the_node_object_is_one_finding(
    breaks: Callable[[Parts], None], severity: str, identity: str
) -> None:
    known = node()
    breaks(known)
    (found,) = causes(healthy(), known)
    assert (found.id, found.severity) == (identity, severity)


@pytest.mark.row("JR-03")
def test_a_node_that_the_cluster_does_not_know_is_found() -> None:
    (found,) = causes(healthy(), absent_node=True)
    assert found.text == "Node win1: the cluster has none of this name; wanted one."


def test_what_the_cluster_manages_is_left_alone() -> None:
    parts = healthy()
    absent(parts)
    parts.pop(service_key("flanneld"))
    no_network(parts)
    no_conf(parts)
    theirs = wanted_node(cni_managed_by="cluster", kube_proxy_managed_by="cluster", **RANGES)
    assert causes(parts, expected=theirs) == []


def test_without_kubernetes_only_containerd_is_looked_at() -> None:
    alone = wanted_node("", **RANGES)
    assert [program.service for program in verify.programs(LAYOUT, alone)] == ["containerd"]
    asked = {query.op for query in (*verify.reads(LAYOUT, alone),)}
    assert asked == {"services", "processes", "pipe", "file"}


@pytest.mark.parametrize(
    ("name", "line", "asked"),
    [
        ("kubelet", "--v=2", {"127.0.0.1:10248", "127.0.0.1:10256"}),
        ("kubelet", "--healthz-port=11248", {"127.0.0.1:11248", "127.0.0.1:10256"}),
        ("kubelet", "--healthz-port 0", {"127.0.0.1:10256"}),
        ("kube-proxy", "--healthz-bind-address=0.0.0.0", {"127.0.0.1:10248", "127.0.0.1:10256"}),
        ("kube-proxy", "--healthz-bind-address=10.0.0.5:9", {"127.0.0.1:10248", "10.0.0.5:9"}),
        ("kube-proxy", "--healthz-bind-address=", {"127.0.0.1:10248"}),
    ],
)
@pytest.mark.row("OB-01")
def test_health_is_asked_where_the_services_command_line_says(name: str, line: str, asked: set[str]) -> None:
    parts = healthy()
    binary = {"kubelet": LAYOUT.kubelet_binary, "kube-proxy": LAYOUT.kube_proxy_binary}[name]
    parts[service_key(name)]["nssm"] |= {"Application": binary, "AppParameters": line}
    urls = {str(dict(query.args)["url"]) for query in verify.health(LAYOUT, EXPECTED, Reading(parts=parts))}
    assert urls == {f"http://{where}/healthz" for where in asked}
    second = {key: value for key, value in parts.items() if not key.startswith("http:")}
    second |= {f"http:{url}": {"status": 200} for url in urls}
    assert not any(found.id.endswith(".unhealthy") for found in causes(second))
