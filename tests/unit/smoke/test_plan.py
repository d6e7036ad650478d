"""The plan is complete, says why something is not run, and never tries what cannot work."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.smoke.model import (
    Answer,
    Check,
    Facts,
    Finding,
    NodeFact,
    PodFact,
    facts_from,
)
from ansible_collections.winkube.node.plugins.plugin_utils.smoke.plan import FLOWS, GROUPS, plan
from ansible_collections.winkube.node.plugins.plugin_utils.smoke.remedies import REMEDIES
from ansible_collections.winkube.node.plugins.plugin_utils.smoke.verdicts import verdicts

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
    peer_node_port=30081,
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


@pytest.mark.row("SM-15")
@pytest.mark.parametrize("facts", ALL)
def test_the_matrix_is_complete_in_every_cluster(facts: Facts) -> None:
    planned = {(check.flow, check.protocol) for check in plan(facts) if check.flow}
    assert planned == {(flow, protocol) for flow in FLOWS for protocol in ("TCP", "UDP")}
    assert len(FLOWS) == 8
    ids = [check.id for check in plan(facts)]
    assert len(ids) == len(set(ids))
    assert {check.group for check in plan(facts)} <= set(GROUPS) == set(REMEDIES)


@pytest.mark.row("SM-15")
def test_where_everything_is_there_all_but_two_of_the_sixteen_flows_are_run() -> None:
    run = {(check.flow, check.protocol) for check in plan(FACTS) if check.flow and check.argv}
    not_run = {(flow, protocol) for flow in FLOWS for protocol in ("TCP", "UDP")} - run
    assert not_run == {("Pod -> external (DNS)", "UDP"), ("Pod -> Node", "UDP")}


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
        assert found.check.rows, found.check.id
    named = [check.exclusion for check in plan(CLOSED) if check.exclusion]
    assert any("winkube_smoke_linux_host" in why for why in named)
    assert any("winkube_smoke_outside_host" in why for why in named)
    assert any("winkube_smoke_external_address is empty" in why for why in named)
    assert any("kube-dns" in why for why in named)
    assert any("registry.example/core, which need not be public" in check.exclusion for check in plan(PRIVATE))


@pytest.mark.row("SM-06")
def test_pods_that_all_run_on_one_of_two_nodes_are_a_finding() -> None:
    crowded = replace(FACTS, web=tuple(replace(pod, node="win1") for pod in FACTS.web))
    spread = next(found for found in verdicts(plan(crowded), {}) if found.check.id == "pods/spread")
    assert (spread.verdict, spread.seen) == ("broken", "all are on win1.")


@pytest.mark.row("SM-08")
def test_from_the_linux_node_the_page_of_each_pod_is_asked() -> None:
    found = [check for check in checks(FACTS, "node-to-pod") if check.protocol == "TCP"]
    assert [(check.where, check.argv[-1], check.expect) for check in found] == [
        ("linux", "http://10.244.1.2/", "banner"),
        ("linux", "http://10.244.2.2/", "banner"),
    ]
    assert found[0].argv[0] == "curl"
    assert found[0].rows == ("SM-08", "SM-15", "KE-12")
    answers = {found[0].id: Answer(0, "<H1>Windows Container Web Server</H1>"), found[1].id: Answer(0, "<h1>It works")}
    assert [verdict_of(check, answers).verdict for check in found] == ["ok", "broken"]


@pytest.mark.row("SM-08")
def test_in_an_overlay_a_node_that_does_not_reach_pods_is_no_fault() -> None:
    overlay = replace(FACTS, mode="overlay")
    found = [check for check in checks(overlay, "node-to-pod") if check.protocol == "TCP"]
    failed = verdict_of(found[0], {found[0].id: Answer(28, "", "curl: (28) timed out")}, overlay)
    assert (failed.verdict, "0.12.0" in failed.seen) == ("limitation", True)
    assert "NW-16" in found[0].rows
    good = {found[0].id: Answer(0, "<H1>Windows Container Web Server</H1>")}
    assert verdict_of(found[0], good, overlay).verdict == "ok"


def verdict_of(check: Check, answers: dict[str, Answer], facts: Facts = FACTS) -> Finding:
    return next(found for found in verdicts(plan(facts), answers) if found.check.id == check.id)


@pytest.mark.row("SM-09")
def test_pods_ping_each_other_across_hosts() -> None:
    pings = [check for check in checks(FACTS, "pod-to-pod") if check.protocol == "ICMP"]
    assert [(check.pod, check.argv[0], check.argv[-1]) for check in pings] == [
        ("web-a", "ping.exe", "10.244.2.2"),
        ("web-b", "ping.exe", "10.244.1.2"),
    ]
    alone = replace(FACTS, web=(FACTS.web[0], replace(FACTS.web[1], node="win1")))
    assert "pod-to-pod/hosts" in {check.id for check in checks(alone, "pod-to-pod")}
    assert "pod-to-pod/hosts" not in {check.id for check in checks(FACTS, "pod-to-pod")}


@pytest.mark.row("SM-10", "SM-14")
def test_a_services_address_is_asked_from_linux_and_from_pods_never_from_a_windows_node() -> None:
    asked = [check for check in checks(FACTS, "service") if "http://10.96.1.1/" in check.argv]
    assert [(check.where, check.source) for check in asked] == [("linux", "cp"), ("pod", "web-a"), ("pod", "web-b")]
    host = next(found for found in verdicts(plan(FACTS), {}) if found.check.id == "service/windows-host")
    assert (host.verdict, host.check.argv, host.check.rows) == ("limitation", (), ("SM-14", "F-39"))
    assert "Windows pods do" in host.seen


@pytest.mark.row("SM-11")
def test_the_service_is_asked_by_full_and_by_short_name_and_by_none_between() -> None:
    names = {check.argv[-1] for check in checks(FACTS, "discovery") if "banner" in check.expect and not check.flow}
    assert names == {"http://win-webserver.smoke.svc.cluster.local/"}
    short = {check.argv[-1] for check in checks(FACTS, "discovery") if check.flow == "Pod -> Service (PQDN)"}
    assert "http://win-webserver/" in short
    asked = {check.argv[-1] for check in plan(FACTS) if check.argv}
    assert not any("win-webserver.smoke/" in word for word in asked)
    between = next(check for check in plan(FACTS) if check.id == "discovery/between")
    assert "name with a dot" in between.limitation


@pytest.mark.row("SM-12")
def test_the_node_port_is_asked_from_a_linux_node_and_from_outside_never_from_the_windows_node() -> None:
    asked = [check for check in checks(FACTS, "inbound") if check.argv]
    assert {(check.where, check.argv[-1]) for check in asked} == {
        (where, f"http://{address}:30080/")
        for where in ("linux", "outside")
        for address in ("10.0.0.1", "10.0.0.11", "10.0.0.12")
    }
    own = next(found for found in verdicts(plan(FACTS), {}) if found.check.id == "inbound/windows-host")
    assert (own.verdict, own.check.where, own.check.rows) == ("limitation", "none", ("TS-09", "F-39"))


@pytest.mark.row("SM-13")
def test_what_is_outside_is_asked_with_curl_never_with_ping() -> None:
    asked = [check for check in checks(FACTS, "outbound") if check.protocol == "TCP"]
    assert {check.argv[-1] for check in asked} == {"http://1.1.1.1/", "http://example.org/"}
    assert {check.argv[0] for check in asked} == {"curl.exe"}
    ping = next(check for check in checks(FACTS, "outbound") if check.protocol == "ICMP")
    assert (ping.where, "ICMP" in ping.limitation, "TS-08" in ping.rows) == ("none", True, True)


@pytest.mark.row("SM-13")
def test_nothing_of_the_cluster_is_asked_through_a_proxy_and_what_is_outside_may_be() -> None:
    for check in plan(FACTS):
        if check.argv and check.argv[0].startswith("curl"):
            assert ("--noproxy" in check.argv) == (check.group != "outbound"), check.id


@pytest.mark.row("KE-11")
def test_the_open_items_of_the_enhancement_are_checks() -> None:
    found = {check.suite for check in plan(FACTS) if "KE-11" in check.rows and check.where != "none"}
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


@pytest.mark.row("KE-09")
def test_acls_and_the_dns_settings_of_windows_stand_in_for_unix_files() -> None:
    acl = next(check for check in plan(FACTS) if check.id == "user/acl/peer")
    assert (acl.argv[0], acl.expect) == ("cmd.exe", "denied")
    assert verdict_of(acl, {acl.id: Answer(1, "", "Access is denied.")}).verdict == "ok"
    assert verdict_of(acl, {acl.id: Answer(0)}).verdict == "broken"
    assert verdict_of(acl, {acl.id: Answer(1, "", "The disk is full.")}).verdict == "broken"
    dns = next(check for check in plan(FACTS) if check.id == "dns-config/server/web-a")
    assert "Get-DnsClientServerAddress" in dns.argv[-1]
    assert verdict_of(dns, {dns.id: Answer(0, "10.96.0.10\r\n")}).verdict == "ok"
    assert verdict_of(dns, {dns.id: Answer(0, "10.0.0.2\r\n")}).verdict == "broken"
    resolved = next(check for check in plan(FACTS) if check.id == "discovery/dns/web-a")
    assert "Resolve-DnsName" in resolved.argv[-1]
    assert not any("resolv.conf" in word or "chmod" in word for check in plan(FACTS) for word in check.argv)


@pytest.mark.row("KE-14")
def test_the_user_of_a_pod_is_its_run_as_user_name() -> None:
    user = next(check for check in plan(FACTS) if check.id == "user/whoami/peer")
    assert user.argv == ("whoami.exe",)
    assert verdict_of(user, {user.id: Answer(0, "user manager\\containeruser\r\n")}).verdict == "ok"
    assert verdict_of(user, {user.id: Answer(0, "user manager\\containeradministrator\r\n")}).verdict == "broken"


def test_facts_travel_as_json() -> None:
    for facts in ALL:
        assert facts_from(facts.as_dict()) == facts


def test_a_failure_behind_another_one_follows_from_it() -> None:
    found = {item.check.id: item for item in verdicts(plan(FACTS), failing("service/"))}
    assert found["service/tcp/web-a"].verdict == "broken"
    # With the Services' addresses gone, names do not resolve: that is no second fault.
    both = {item.check.id: item for item in verdicts(plan(FACTS), failing("service/", "discovery/"))}
    assert both["discovery/fqdn/web-a"].verdict == "follows"
    assert "Service to pod" in both["discovery/fqdn/web-a"].seen
    alone = {item.check.id: item for item in verdicts(plan(FACTS), failing("discovery/"))}
    assert alone["discovery/fqdn/web-a"].verdict == "broken"


def failing(*starts: str) -> dict[str, Answer]:
    return {check.id: Answer(28, "", "timed out") for check in plan(FACTS) if check.id.startswith(starts)}
