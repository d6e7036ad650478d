"""The plan is complete, says why something is not run, and never tries what cannot work."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.model import (
    Answer,
    Check,
    Facts,
    Finding,
    NodeFact,
    PodFact,
    facts_from,
)
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.plan import GROUPS, plan
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke.report import REMEDIES, verdicts

SIZE = {"cpu": "4", "memory": "8Gi"}
CORE = "mcr.microsoft.com/windows/servercore:ltsc2022"
NODES = (
    NodeFact("cp", "10.0.0.1", False, 0, True),
    NodeFact("win1", "10.0.0.11", True, 20348, True, "", SIZE, {"cpu": "4", "memory": "6Gi"}, {"memory": "2147483648"}),
    NodeFact("win2", "10.0.0.12", True, 20348, True, unasked="it is forbidden."),
)
FACTS = Facts(
    namespace="smoke",
    nodes=NODES,
    web=(
        PodFact("web-a", "10.244.1.2", "win1", "", CORE, "servercore@sha256:1"),
        PodFact("web-b", "10.244.2.2", "win2", "", CORE, "servercore@sha256:1"),
    ),
    peer=PodFact("peer", "10.244.1.3", "win1"),
    web_address="10.96.1.1",
    web_node_port=30080,
    peer_address="10.96.1.2",
    dns_address="10.96.0.10",
    linux="cp",
    outside="laptop",
    external_address="1.1.1.1",
    external_name="example.org",
    external_dns="9.9.9.9",
    repository="mcr.microsoft.com/windows/servercore",
)
LONELY = replace(FACTS, web=FACTS.web[:1], peer=None, nodes=NODES[:2])
EMPTY = replace(FACTS, web=(), peer=None)
CLOSED = replace(FACTS, linux="", outside="", external_address="", external_name="", external_dns="", dns_address="")
PRIVATE = replace(FACTS, repository="registry.example/core")
ALL = (FACTS, LONELY, EMPTY, CLOSED, PRIVATE, replace(FACTS, mode="overlay"))


def checks(facts: Facts, group: str = "") -> list[Check]:
    return [check for check in plan(facts) if not group or check.group == group]


# By the begin of a check's id; the longest that fits counts.
ROWS = {
    "nodes": ("SM-05",),
    "pods": ("SM-06", "SM-07"),
    "pods/spread": ("SM-06",),
    "node-to-pod/tcp": ("SM-08", "SM-15", "KE-12"),
    "node-to-pod/udp": ("SM-08", "SM-15", "KE-12", "KE-11"),
    "pod-to-pod": ("SM-09",),
    "pod-to-pod/tcp": ("SM-09", "SM-15", "KE-12"),
    "pod-to-pod/udp": ("SM-15", "KE-12"),
    "discovery/pod-name": ("SM-09", "SM-15", "KE-12"),
    "discovery/pod-udp-name": ("SM-15", "KE-12"),
    "discovery/dns": ("KE-11", "KE-09"),
    "discovery/fqdn": ("SM-11",),
    "discovery/short": ("SM-11", "SM-15", "KE-11"),
    "discovery/short/": ("SM-11", "SM-15"),
    "discovery/between": ("SM-11", "SM-15"),
    "discovery/udp": ("SM-15",),
    "service/linux": ("SM-10",),
    "service/tcp": ("SM-10", "SM-15"),
    "service/udp": ("SM-15",),
    "service/windows-host": ("SM-14", "F-39"),
    "inbound/linux": ("SM-12",),
    "inbound/outside": ("SM-12",),
    "inbound/windows-host": ("TS-09", "F-39"),
    "outbound/tcp": ("SM-13", "SM-15"),
    "outbound/name": ("SM-13", "SM-15"),
    "outbound/udp": ("SM-15",),
    "outbound/udp-name": ("SM-15", "KE-08"),
    "outbound/ping": ("SM-13", "TS-08"),
    "pod-to-node/tcp": ("SM-15",),
    "pod-to-node/udp": ("SM-15", "KE-08"),
    "image": ("KE-11", "KE-15", "KE-16"),
    "dns-config": ("KE-09", "KE-13"),
    "user": ("KE-09", "KE-14"),
    "user/whoami": ("KE-14",),
    "user/acl": ("KE-09",),
    "reserved": ("KE-13", "KU-19"),
}


def rows_of(check: Check) -> tuple[str, ...]:
    """The rows that a check is about, or that it leaves open if it does not run."""
    return ROWS[max((start for start in ROWS if check.id.startswith(start)), key=len)]


MATRIX = {
    (flow, protocol)
    for flow in (
        "Pod -> Pod (IP)",
        "Pod -> Pod (Name)",
        "Pod -> Service (Cluster IP)",
        "Pod -> Service (PQDN)",
        "Pod -> external (IP)",
        "Pod -> external (DNS)",
        "Node -> Pod",
        "Pod -> Node",
    )
    for protocol in ("TCP", "UDP")
}


@pytest.mark.row("SM-15")
@pytest.mark.parametrize("facts", ALL)
def test_the_matrix_is_complete_in_every_cluster(facts: Facts) -> None:
    planned = {(check.flow, check.protocol) for check in plan(facts) if check.flow}
    assert planned == MATRIX
    assert all("SM-15" in rows_of(check) for check in plan(facts) if check.flow)
    ids = [check.id for check in plan(facts)]
    assert len(ids) == len(set(ids))
    assert {check.group for check in plan(facts)} <= set(GROUPS) == set(REMEDIES)


@pytest.mark.row("SM-15")
def test_where_everything_is_there_all_but_two_of_the_sixteen_flows_are_run() -> None:
    run = {(check.flow, check.protocol) for check in plan(FACTS) if check.flow and check.argv}
    node = [(check.source, check.argv) for check in checks(FACTS, "pod-to-node") if check.argv]
    status = ("curl.exe", "-k", "-sS", "--noproxy", "*", "--max-time", "10", "-o", "NUL", "-w", "%{http_code}")
    assert node == [(pod, (*status, "https://10.0.0.1:10250/healthz")) for pod in ("web-a", "web-b")]
    assert MATRIX - run == {("Pod -> external (DNS)", "UDP"), ("Pod -> Node", "UDP")}


@pytest.mark.row("KE-08")
@pytest.mark.parametrize("facts", ALL)
def test_whatever_is_not_run_says_why(facts: Facts) -> None:
    for found in verdicts(plan(facts), {}):
        if found.check.where == "none":
            assert (found.check.exclusion or found.check.limitation).endswith("."), found.check.id
            assert found.seen.endswith("."), found.check.id
            assert not (found.check.exclusion and found.check.limitation)
        elif found.check.where in {"pod", "linux", "outside"}:
            assert found.check.argv
        assert rows_of(found.check), found.check.id
    named = [check.exclusion for check in plan(CLOSED) if check.exclusion]
    assert any("winkube_smoke_linux_host" in why for why in named)
    assert any("winkube_smoke_outside_host" in why for why in named)
    assert any("winkube_smoke_external_address is empty" in why for why in named)
    assert any("kube-dns" in why for why in named)
    assert any("registry.example/core, which need not be public" in check.exclusion for check in plan(PRIVATE))


NO_PODS, NO_PEER = "No pod is Ready that it could be tried with.", "The pod that answers UDP is not Ready."
ONE_HOST = "All pods that are Ready are on one node, so nothing goes from host to host."
TWO, NO_LINUX = "It takes two web servers that are Ready.", "winkube_smoke_linux_host"
# Checks that are never run, and why: limits of Windows, and two flows that nothing answers.
NEVER = {
    "service/windows-host": "Windows nodes do not reach Service addresses; Windows pods do.",
    "discovery/between": "Windows takes every name with a dot as a full one, so such names do not resolve.",
    "inbound/windows-host": "A Windows node does not reach NodePorts of its own; other machines do.",
    "outbound/ping": "Windows' data plane does not carry ICMP out of the pods' network; curl shows the same.",
    "outbound/udp-name": "Once a name is resolved it is the flow by address;",
    "pod-to-node/udp": "Nothing that every node runs answers UDP to pods.",
}
WITHOUT_PEER = dict.fromkeys(("pod-to-pod/udp", "discovery/pod-udp-name", "service/udp", "discovery/udp"), NO_PEER)
WITHOUT_PODS = {
    **dict.fromkeys(("pod-to-pod/tcp", "discovery/pod-name"), TWO),
    "pod-to-pod/hosts": ONE_HOST,
    **dict.fromkeys(("service/linux", "service/tcp", "discovery/short", "inbound/linux", "inbound/outside"), NO_PODS),
    **dict.fromkeys(("node-to-pod/tcp", "outbound/tcp", "outbound/name", "outbound/udp", "pod-to-node/tcp"), NO_PODS),
    "dns-config": "No pod is Ready that could be asked for them.",
}
SKIPPED: dict[str, tuple[Facts, dict[str, str]]] = {
    "nothing": (FACTS, {}),
    "one web server and no peer": (
        LONELY,
        {
            "pods/spread": "There is one usable Windows node.",
            **dict.fromkeys(("pod-to-pod/tcp", "discovery/pod-name"), TWO),
            "pod-to-pod/hosts": ONE_HOST,
            **WITHOUT_PEER,
            "node-to-pod/udp": NO_PEER,
            "user": "The pod that runs as ContainerUser is not Ready.",
        },
    ),
    "no pod": (
        EMPTY,
        {**WITHOUT_PODS, **WITHOUT_PEER, "node-to-pod/udp": NO_PEER, "user": "ContainerUser is not Ready."},
    ),
    "no web server": (replace(FACTS, web=()), {**WITHOUT_PODS, **dict.fromkeys(WITHOUT_PEER, NO_PODS)}),
    "no other host and nothing outside": (
        CLOSED,
        {
            **dict.fromkeys(("node-to-pod/tcp", "node-to-pod/udp", "service/linux", "inbound/linux"), NO_LINUX),
            "inbound/outside": "winkube_smoke_outside_host",
            "outbound/tcp": "winkube_smoke_external_address is empty",
            "outbound/name": "winkube_smoke_external_name is empty",
            "outbound/udp": "winkube_smoke_external_dns is empty",
            "dns-config": "kube-system has no Service kube-dns",
        },
    ),
    "no name outside": (
        replace(FACTS, external_name=""),
        dict.fromkeys(("outbound/name", "outbound/udp"), "winkube_smoke_external_name is empty"),
    ),
    "no address of a node": (
        replace(FACTS, nodes=tuple(replace(node, address="") for node in NODES)),
        {
            **dict.fromkeys(("inbound/linux", "inbound/outside"), "No node is usable that it could be tried at."),
            "pod-to-node/tcp": "No node has an address that it could be asked at.",
        },
    ),
    "a registry of ones own": (PRIVATE, {"image": "registry.example/core, which need not be public."}),
}


@pytest.mark.row("KE-08")
@pytest.mark.parametrize("case", SKIPPED)
def test_what_is_not_run_and_for_which_reason(case: str) -> None:
    facts, more = SKIPPED[case]
    found = {check.id: check.exclusion or check.limitation for check in plan(facts) if check.where == "none"}
    if len(facts.nodes) == 3:
        more = {**more, "reserved/win2": "Its kubelet could not be asked for it: it is forbidden."}
    assert set(found) == {*NEVER, *more}
    for name, why in {**NEVER, **more}.items():
        assert why in found[name], name


@pytest.mark.row("KE-08", "KE-13")
def test_what_is_not_run_names_the_rows_that_it_leaves_open() -> None:
    for facts, name, rows in (
        (CLOSED, "node-to-pod/tcp", {"SM-08", "SM-15", "KE-12"}),
        (CLOSED, "node-to-pod/udp", {"SM-08", "SM-15", "KE-12", "KE-11"}),
        (CLOSED, "service/linux", {"SM-10"}),
        (CLOSED, "inbound/outside", {"SM-12"}),
        (CLOSED, "outbound/tcp", {"SM-13", "SM-15"}),
        (EMPTY, "service/tcp", {"SM-10", "SM-15"}),
        (EMPTY, "discovery/short", {"SM-11", "SM-15", "KE-11"}),
        (EMPTY, "dns-config", {"KE-09", "KE-13"}),
        (EMPTY, "user", {"KE-09", "KE-14"}),
        (FACTS, "outbound/udp-name", {"SM-15", "KE-08"}),
        (FACTS, "pod-to-node/udp", {"SM-15", "KE-08"}),
        (FACTS, "inbound/windows-host", {"TS-09", "F-39"}),
        (FACTS, "outbound/ping", {"SM-13", "TS-08"}),
    ):
        (found,) = [check for check in plan(facts) if check.id == name]
        assert set(rows_of(found)) == rows, name


@pytest.mark.row("SM-05")
def test_every_node_is_asked_for_and_one_that_is_not_ready_is_a_finding() -> None:
    ill = replace(FACTS, nodes=(*NODES[:2], replace(NODES[2], problem="no CNI")))
    found = [each for each in verdicts(plan(ill), {}) if each.check.group == "nodes"]
    assert [(each.check.argv[-1], each.verdict, each.seen) for each in found] == [
        ("cp", "ok", "It is so."),
        ("win1", "ok", "It is so."),
        ("win2", "broken", "no CNI."),
    ]
    assert {each.check.argv[:-1] for each in found} == {("kubectl", "get", "node")}


@pytest.mark.row("SM-07")
def test_the_pods_are_listed_and_each_is_a_finding() -> None:
    unready = replace(FACTS, web=(FACTS.web[0], replace(FACTS.web[1], problem="ErrImagePull: no such host")))
    found = {each.check.id: each for each in verdicts(plan(unready), {}) if each.check.group == "pods"}
    assert set(found) == {"pods/web-a", "pods/web-b", "pods/peer", "pods/spread"}
    assert {each.check.argv for each in found.values()} == {("kubectl", "get", "pods", "-n", "smoke", "-o", "wide")}
    assert (found["pods/web-a"].verdict, found["pods/web-a"].check.source) == ("ok", "win1")
    assert (found["pods/web-b"].verdict, found["pods/web-b"].seen) == ("broken", "ErrImagePull: no such host.")


@pytest.mark.row("SM-06")
def test_pods_that_all_run_on_one_of_two_nodes_are_a_finding() -> None:
    crowded = replace(FACTS, web=tuple(replace(pod, node="win1") for pod in FACTS.web))
    spread = next(found for found in verdicts(plan(crowded), {}) if found.check.id == "pods/spread")
    assert (spread.verdict, spread.seen) == ("broken", "all are on win1.")


@pytest.mark.row("SM-08", "KE-12")
def test_from_the_linux_node_the_page_of_each_pod_is_asked() -> None:
    found = [check for check in checks(FACTS, "node-to-pod") if check.protocol == "TCP"]
    assert [(check.where, check.argv[-1], check.expect) for check in found] == [
        ("linux", "http://10.244.1.2/", "banner"),
        ("linux", "http://10.244.2.2/", "banner"),
    ]
    assert found[0].argv == ("curl", "-sS", "--noproxy", "*", "--max-time", "10", "http://10.244.1.2/")
    assert {(check.id, check.target, check.source, rows_of(check)) for check in found} == {
        (f"node-to-pod/tcp/{pod}", pod, "cp", ("SM-08", "SM-15", "KE-12")) for pod in ("web-a", "web-b")
    }
    answers = {found[0].id: Answer(0, "<H1>Windows Container Web Server</H1>"), found[1].id: Answer(0, "<h1>It works")}
    assert [verdict_of(check, answers).verdict for check in found] == ["ok", "broken"]


@pytest.mark.row("SM-08", "SM-15", "KE-11", "KE-12")
def test_from_the_linux_node_udp_goes_to_the_peer_and_comes_back() -> None:
    (udp,) = [check for check in checks(FACTS, "node-to-pod") if check.protocol == "UDP"]
    assert (udp.id, udp.where, udp.source, udp.target) == ("node-to-pod/udp", "linux", "cp", "peer")
    assert rows_of(udp) == ("SM-08", "SM-15", "KE-12", "KE-11")
    line = "exec 3<>/dev/udp/10.244.1.3/8081; echo -n winkube >&3; timeout 10 head -c 7 <&3"
    assert udp.argv == ("bash", "-c", line)
    assert verdict_of(udp, {udp.id: Answer(0, "winkube")}).verdict == "ok"
    assert verdict_of(udp, {udp.id: Answer(0, "")}).verdict == "broken"


@pytest.mark.row("SM-08", "NW-16")
def test_in_an_overlay_a_node_that_does_not_reach_pods_is_no_fault() -> None:
    overlay = replace(FACTS, mode="overlay")
    found = [check for check in checks(overlay, "node-to-pod") if check.protocol == "TCP"]
    failed = verdict_of(found[0], {found[0].id: Answer(28, "", "curl: (28) timed out")}, overlay)
    assert (failed.verdict, "0.12.0" in failed.seen) == ("limitation", True)
    assert "nodes reach only their own pods" in failed.seen
    good = {found[0].id: Answer(0, "<H1>Windows Container Web Server</H1>")}
    assert verdict_of(found[0], good, overlay).verdict == "ok"
    for check in checks(FACTS, "node-to-pod"):
        broken = verdict_of(check, {check.id: Answer(28)})
        assert broken.verdict == "broken", "l2bridge has no such limit"
        assert "flanneld runs on the Linux node too" in broken.remedy and "MAC spoofing" in broken.remedy


def verdict_of(check: Check, answers: dict[str, Answer], facts: Facts = FACTS) -> Finding:
    return next(found for found in verdicts(plan(facts), answers) if found.check.id == check.id)


@pytest.mark.row("SM-09")
def test_pods_ping_each_other_across_hosts() -> None:
    pings = [check for check in checks(FACTS, "pod-to-pod") if check.protocol == "ICMP"]
    assert [(check.pod, check.argv[0], check.argv[-1]) for check in pings] == [
        ("web-a", "ping.exe", "10.244.2.2"),
        ("web-b", "ping.exe", "10.244.1.2"),
    ]
    assert {check.argv[:-1] for check in pings} == {("ping.exe", "-n", "2", "-w", "3000")}
    assert {(check.where, rows_of(check)) for check in pings} == {("pod", ("SM-09",))}
    assert verdict_of(pings[0], {pings[0].id: Answer(0, "Reply from 10.244.2.2: TTL=126")}).verdict == "ok"
    unreachable = Answer(0, "Reply from 10.244.1.2: Destination host unreachable.")
    assert verdict_of(pings[0], {pings[0].id: unreachable}).verdict == "broken"
    web = tuple(PodFact(f"web-{n}", f"10.244.{n}", node) for n, node in enumerate(("win1", "win1", "win2")))
    three = [check for check in checks(replace(FACTS, web=web), "pod-to-pod") if check.protocol == "ICMP"]
    assert [check.target for check in three] == ["web-2", "web-2", "web-0"], "another node before a neighbour"
    alone = replace(FACTS, web=(FACTS.web[0], replace(FACTS.web[1], node="win1")))
    assert "pod-to-pod/hosts" in {check.id for check in checks(alone, "pod-to-pod")}
    assert "pod-to-pod/hosts" not in {check.id for check in checks(FACTS, "pod-to-pod")}


@pytest.mark.row("SM-10", "SM-14")
def test_a_services_address_is_asked_from_linux_and_from_pods_never_from_a_windows_node() -> None:
    asked = [check for check in checks(FACTS, "service") if "http://10.96.1.1/" in check.argv]
    assert [(check.where, check.source) for check in asked] == [("linux", "cp"), ("pod", "web-a"), ("pod", "web-b")]
    assert {(check.argv[0], check.expect) for check in asked} == {("curl", "banner"), ("curl.exe", "banner")}
    assert all("SM-10" in rows_of(check) for check in asked)
    assert all(verdict_of(check, {check.id: Answer(0, "another page")}).verdict == "broken" for check in asked)
    host = next(found for found in verdicts(plan(FACTS), {}) if found.check.id == "service/windows-host")
    assert (host.verdict, host.check.argv, rows_of(host.check)) == ("limitation", (), ("SM-14", "F-39"))
    assert "Windows pods do" in host.seen


@pytest.mark.row("SM-11")
def test_the_service_is_asked_by_full_and_by_short_name_and_by_none_between() -> None:
    names = {check.argv[-1] for check in checks(FACTS, "discovery") if "banner" in check.expect and not check.flow}
    assert names == {"http://win-webserver.smoke.svc.cluster.local/"}
    short = {check.argv[-1] for check in checks(FACTS, "discovery") if check.flow == "Pod -> Service (PQDN)"}
    assert "http://win-webserver/" in short
    for check in (each for each in checks(FACTS, "discovery") if each.argv and "SM-11" in rows_of(each)):
        assert (check.where, check.argv[0], check.expect) == ("pod", "curl.exe", "banner")
    assert {check.pod for check in checks(FACTS, "discovery") if check.id.startswith("discovery/short/")} == {
        "web-a",
        "web-b",
    }
    elsewhere = {check.argv[-1] for check in checks(replace(FACTS, dns_domain="k8s.example")) if check.argv}
    assert "http://win-webserver.smoke.svc.k8s.example/" in elsewhere
    asked = {check.argv[-1] for check in plan(FACTS) if check.argv}
    assert not any("win-webserver.smoke/" in word for word in asked)
    between = next(check for check in plan(FACTS) if check.id == "discovery/between")
    assert "name with a dot" in between.limitation


@pytest.mark.row("SM-12", "SM-14")
def test_the_node_port_is_asked_from_a_linux_node_and_from_outside_never_from_the_windows_node() -> None:
    asked = [check for check in checks(FACTS, "inbound") if check.argv]
    assert {(check.where, check.argv[-1]) for check in asked} == {
        (where, f"http://{address}:30080/")
        for where in ("linux", "outside")
        for address in ("10.0.0.1", "10.0.0.11", "10.0.0.12")
    }
    assert {(check.argv[0], check.expect, check.source) for check in asked} == {
        ("curl", "banner", "cp"),
        ("curl", "banner", "laptop"),
    }
    linux = [check.target for check in asked if check.source == "cp"]
    assert linux == ["10.0.0.11:30080", "10.0.0.12:30080", "10.0.0.1:30080"]
    assert verdict_of(asked[0], {asked[0].id: Answer(0, "<H1>It works!</H1>")}).verdict == "broken"
    own = next(found for found in verdicts(plan(FACTS), {}) if found.check.id == "inbound/windows-host")
    assert (own.verdict, own.check.where, rows_of(own.check)) == ("limitation", "none", ("TS-09", "F-39"))


@pytest.mark.row("SM-13")
def test_what_is_outside_is_asked_with_curl_never_with_ping() -> None:
    asked = [check for check in checks(FACTS, "outbound") if check.protocol == "TCP"]
    assert {check.argv[-1] for check in asked} == {"http://1.1.1.1/", "http://example.org/"}
    assert {check.argv[0] for check in asked} == {"curl.exe"}
    status = ("curl.exe", "-k", "-sS", "--max-time", "10", "-o", "NUL", "-w", "%{http_code}")
    assert {check.argv[:-1] for check in asked} == {status}
    assert {check.pod for check in asked} == {"web-a", "web-b"}
    for answer, verdict in ((Answer(0, "200"), "ok"), (Answer(0, "404"), "ok"), (Answer(0, "000"), "broken")):
        assert verdict_of(asked[0], {asked[0].id: answer}).verdict == verdict
    ping = next(check for check in checks(FACTS, "outbound") if check.protocol == "ICMP")
    assert (ping.where, "ICMP" in ping.limitation, "TS-08" in rows_of(ping)) == ("none", True, True)


@pytest.mark.row("SM-13")
def test_nothing_of_the_cluster_is_asked_through_a_proxy_and_what_is_outside_may_be() -> None:
    for check in plan(FACTS):
        if check.argv and check.argv[0].startswith("curl"):
            assert ("--noproxy" in check.argv) == (check.group != "outbound"), check.id


@pytest.mark.row("KE-11")
def test_the_open_items_of_the_enhancement_are_checks() -> None:
    found = {check.suite for check in plan(FACTS) if "KE-11" in rows_of(check) and check.where != "none"}
    assert found == {
        "[sig-network] [sig-windows] Networking Granular Checks: Pods should function for node-pod communication: udp",
        "should be able to pull image from docker hub",
        "should provide DNS for the cluster",
    }


@pytest.mark.row("KE-12")
def test_the_four_granular_checks_are_there() -> None:
    start = "[sig-network] [sig-windows] Networking Granular Checks: Pods should function for "
    named = {check.suite.removeprefix(start) for check in plan(FACTS) if check.suite.startswith(start)}
    assert named == {
        "intra-pod communication: http",
        "intra-pod communication: udp",
        "node-pod communication: http",
        "node-pod communication: udp",
    }
    for check in plan(FACTS):
        if check.suite.startswith(start):
            assert ("udp" in check.suite) == (check.protocol == "UDP") == (check.expect == "echo")
            assert ("intra" in check.suite) == (check.where == "pod")
            assert ("udp" in check.suite) == (check.id.split("/")[1] == "udp"), check.id


@pytest.mark.row("KE-09", "KE-13", "NW-36")
def test_acls_and_the_dns_settings_of_windows_stand_in_for_unix_files() -> None:
    acl = next(check for check in plan(FACTS) if check.id == "user/acl/peer")
    assert acl.argv == ("cmd.exe", "/c", r"echo winkube> C:\Windows\winkube-smoke.txt")
    assert (acl.pod, acl.expect) == ("peer", "denied")
    assert verdict_of(acl, {acl.id: Answer(1, "", "Access is denied.")}).verdict == "ok"
    assert verdict_of(acl, {acl.id: Answer(0)}).verdict == "broken"
    assert verdict_of(acl, {acl.id: Answer(1, "", "The disk is full.")}).verdict == "broken"
    dns = next(check for check in plan(FACTS) if check.id == "dns-config/server/web-a")
    assert dns.group == "dns-config"
    assert dns.argv[-1] == ("(Get-DnsClientServerAddress -AddressFamily IPv4).ServerAddresses | Sort-Object -Unique")
    assert verdict_of(dns, {dns.id: Answer(0, "10.96.0.10\r\n")}).verdict == "ok"
    assert verdict_of(dns, {dns.id: Answer(0, "10.0.0.2\r\n")}).verdict == "broken"
    resolved = next(check for check in plan(FACTS) if check.id == "discovery/dns/web-a")
    assert "Resolve-DnsName" in resolved.argv[-1]
    assert "Resolve-DnsName -Name 'kubernetes.default.svc.cluster.local' -Type A" in resolved.argv[-1]
    assert not any("resolv.conf" in word or "chmod" in word for check in plan(FACTS) for word in check.argv)


@pytest.mark.row("KE-14")
def test_the_user_of_a_pod_is_its_run_as_user_name() -> None:
    user = next(check for check in plan(FACTS) if check.id == "user/whoami/peer")
    assert user.argv == ("whoami.exe",)
    assert verdict_of(user, {user.id: Answer(0, "user manager\\containeruser\r\n")}).verdict == "ok"
    for other in ("containeradministrator", "containeruser2", "nocontaineruser"):
        assert verdict_of(user, {user.id: Answer(0, f"user manager\\{other}\r\n")}).verdict == "broken"


def test_facts_travel_as_json() -> None:
    for facts in ALL:
        assert facts_from(facts.as_dict()) == facts


def test_a_failure_behind_another_one_follows_from_it() -> None:
    found = {item.check.id: item for item in verdicts(plan(FACTS), failing("service/"))}
    assert found["service/tcp/web-a"].verdict == "broken"
    # Without the Services' addresses names do not resolve: that is not a second fault.
    both = {item.check.id: item for item in verdicts(plan(FACTS), failing("service/", "discovery/"))}
    assert both["discovery/fqdn/web-a"].verdict == "follows"
    assert "Service to pod" in both["discovery/fqdn/web-a"].seen
    alone = {item.check.id: item for item in verdicts(plan(FACTS), failing("discovery/"))}
    assert alone["discovery/fqdn/web-a"].verdict == "broken"


@pytest.mark.row("SM-10", "SM-11", "SM-12")
@pytest.mark.parametrize(
    ("cause", "follows"),
    [
        ("node-to-pod/", {"service/linux", "inbound/linux/cp", "inbound/outside/cp"}),
        ("pod-to-pod/", {"service/tcp/web-a", "service/udp/web-a", "discovery/fqdn/web-a", "discovery/short/web-a"}),
        ("service/", {"discovery/fqdn/web-b", "discovery/dns/web-a", "inbound/linux/win1", "inbound/outside/win2"}),
        ("discovery/", {"outbound/name/web-a"}),
    ],
)
def test_what_each_failure_explains(cause: str, follows: set[str]) -> None:
    for name in follows:
        (check,) = [check for check in plan(FACTS) if check.id == name]
        assert verdict_of(check, failing(name)).verdict == "broken", name
        assert verdict_of(check, failing(cause, name)).verdict == "follows", name


def failing(*starts: str) -> dict[str, Answer]:
    return {check.id: Answer(28, "", "timed out") for check in plan(FACTS) if check.id.startswith(starts)}


def test_names_of_pods_are_not_asked_for_where_the_dns_serves_none() -> None:
    found = checks(replace(FACTS, pod_names=False), "discovery")
    names = [check for check in found if check.id.startswith("discovery/pod-name/")]
    assert len(names) == 2 and all("serves no names of pods" in check.exclusion for check in names)
    assert all(not check.exclusion for check in checks(FACTS) if check.id.startswith("discovery/pod-name/"))


def test_behind_a_network_policy_of_others_traffic_that_fails_is_told_and_not_called_broken() -> None:
    behind = plan(facts_from(replace(FACTS, policies=("default-deny",)).as_dict()))
    failed = verdicts(behind, {check.id: Answer(28, "", "timed out") for check in behind})
    told = {one.check.group: one for one in failed if one.check.where == "pod"}
    assert told["pod-to-pod"].verdict == told["service"].verdict == "limitation"
    assert "the NetworkPolicy default-deny from somebody" in told["pod-to-pod"].seen
    assert told["user"].verdict == "broken", "that is not traffic"
    assert all(one.verdict != "limitation" for one in verdicts(plan(FACTS), {}) if one.check.group == "pod-to-pod")


def test_what_has_two_families_is_asked_in_both() -> None:
    web = tuple(replace(pod, second=f"fd00:10:244:{n}::2") for n, pod in enumerate(FACTS.web, 1))
    both = replace(FACTS, web=web, web_second="fd00:10:96::1")
    asked = {check.id: check.argv[-1] for check in plan(both) if "tcp-second" in check.id}
    assert asked == {
        "pod-to-pod/tcp-second/web-a": "http://[fd00:10:244:2::2]/",
        "pod-to-pod/tcp-second/web-b": "http://[fd00:10:244:1::2]/",
        "service/tcp-second/web-a": "http://[fd00:10:96::1]/",
        "service/tcp-second/web-b": "http://[fd00:10:96::1]/",
    }
    assert not [check for check in plan(FACTS) if "second" in check.id]
