"""The accounts of examples/in-cluster: what their runs ask the cluster for is what they are granted, no more and no
less. tests/real/test_in_cluster.py has what a real API server makes of their rights and policies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.integration.lab import ROOT, Bench
from tests.integration.test_host_process import PODS, Managed
from tests.integration.whole import BRIDGE, OVERLAY, SITE, Whole
from tests.lab.cluster import shipped, tenants
from tests.lab.cluster.access import Ask
from tests.lab.cluster.cluster import Cluster
from tests.quality.rights_table import COLUMNS, Granted, granted

LOOK, KEEP = ROOT / "playbooks" / "look.yml", ROOT / "playbooks" / "keep.yml"
ELSEWHERE = {
    "certificatesigningrequests/approval": "test_certificates.py",
    "signers": "test_certificates.py; RBAC asks for it beside the approval",
}
"""Granted, and asked for by nothing here."""


def asked(cluster: Cluster, account: str) -> list[Ask]:
    name = f"{shipped.ACCOUNTS}{account}"
    assert [call for call in cluster.refusals if call.user == name] == []
    reviews = "subjectaccessreviews"
    return [
        call.ask or Ask("create", "authorization.k8s.io", reviews)
        for call in cluster.calls
        if call.user == name and (call.ask is not None or call.path.endswith(f"/{reviews}"))
    ]


def written(cluster: Cluster, account: str) -> list[str]:
    """Where it changed something, in order; questions about rights are none."""
    name = f"{shipped.ACCOUNTS}{account}"
    return [call.path for call in cluster.calls if call.user == name and call.method != "GET" and call.ask is not None]


def is_used(one: Granted, asks: Iterable[Ask]) -> bool:
    # From 1.35 on an exec, which is a GET, takes `create` as well.
    verbs = {one.verb} | ({"get"} if (one.resource, one.verb) == ("pods/exec", "create") else set())
    names = {
        ask.name
        for ask in asks
        if ask.verb in verbs
        and (ask.group, ask.target) == (one.group, one.resource)
        and one.namespace in {"", ask.namespace}
    }
    return bool(names) and names >= set(one.names)


def superfluous(asks: list[Ask], *accounts: str, without: Iterable[Granted] = ()) -> list[Granted]:
    rights = {each for account in accounts for each in granted(*COLUMNS[account])} - set(without)
    return sorted(each for each in rights if each.resource not in ELSEWHERE and not is_used(each, asks))


def access(cluster: Cluster, account: str) -> dict[str, Any]:
    return {"winkube_cluster": {"kubeconfig": str(cluster.account(account))}}


def test_look_and_keep_ask_for_what_they_are_granted(bench: Bench) -> None:
    """A node that is reached through its pod alone: looked at, made right with a drain, and left alone."""
    whole = Managed(bench, OVERLAY, containers=True)
    whole.converge()
    whole.host.set(access="refused")
    cluster = whole.cluster
    rules = {"winkube_drain_options": tenants.OPTIONS}
    tenants.move_in(cluster, "win1")
    add_large(cluster, "local", internalTrafficPolicy="Local")
    add_large(cluster, "large")
    kept = whole.play(KEEP, winkube_containerd_log_level="debug", **rules, **access(cluster, "keep"))
    assert kept.rc == 0 and "cordoned win1" in kept.output and "uncordoned win1" in kept.output, kept
    said = "these Services get none on a Windows node: default/large (70)."
    assert said in " ".join(kept.output.split()) and "default/local" not in kept.output, kept
    before = len(written(cluster, "keep"))
    again = whole.play(KEEP, winkube_containerd_log_level="debug", **rules, **access(cluster, "keep"))
    paths = {
        path.rpartition("/")[0] if "winkube-node/pods/" in path else path for path in written(cluster, "keep")[before:]
    }
    assert paths == {PODS}, "the connection's pods alone"
    assert again.rc == 0 and again.recap["win1"].changed == 0, again
    assert whole.pods() == []
    looked = whole.play(LOOK, winkube_containerd_log_level="debug", **access(cluster, "look"))
    assert looked.rc == 0, looked
    assert written(cluster, "look") == [], "nothing where nothing differs"
    other = whole.play(LOOK, winkube_kubernetes_version="1.37.0", winkube_look_fail=False, **access(cluster, "look"))
    assert other.rc == 0 and "OtherRelease" in other.output, other
    assert superfluous(asked(cluster, "look"), "look") == []
    assert superfluous(asked(cluster, "keep"), "keep") == []


def add_large(cluster: Cluster, name: str, **spec: Any) -> None:
    """A Service with more endpoints than a rule takes; by its traffic policy those of other nodes may not count."""
    ports = [{"port": 80, "protocol": "TCP"}]
    body: dict[str, Any] = {"metadata": {"name": name}, "spec": {"ports": ports, **spec}}
    cluster.request("POST", "/api/v1/namespaces/default/services", body)
    labels = {"kubernetes.io/service-name": name}
    ends = [{"addresses": [f"10.244.9.{number}"], "conditions": {"ready": True}} for number in range(70)]
    body = {"metadata": {"name": name, "labels": labels}, "addressType": "IPv4", "endpoints": ends, "ports": ports}
    cluster.request("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", body)


def test_join_asks_for_what_it_is_granted(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE)
    looked = whole.site("--check", playbook=SITE, **access(whole.cluster, "join"))
    assert looked.rc == 0, "which asks for rights by reviews, since it makes no token"
    joined = whole.site(playbook=SITE, winkube_approve_serving=False, **access(whole.cluster, "join"))
    assert joined.rc == 0, joined
    asks = asked(whole.cluster, "join")
    assert not any(ask.resource == "certificatesigningrequests" for ask in asks), (
        "nothing is approved unless it is asked"
    )
    of_keep = [*granted(*COLUMNS["keep"]), *granted(*COLUMNS["look"])]
    assert superfluous(asks, "join", without=of_keep) == []
