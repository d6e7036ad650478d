"""Joining the lab's cluster with real Ansible: the three ways, again, after a deletion, and what must not work."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import URL, checksum, differences
from tests.lab.cluster import kubeconfig
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.pki import Identity
from tests.lab.machine.builds import build, nssm_archive
from tests.lab.server.host import NodeHost

PLAY = """
- hosts: all
  gather_facts: false
  roles:
    - winkube.node.containerd
    - winkube.node.kubelet
    - winkube.node.join
"""
BASE = "http://dl.k8s.io/release/v{}/bin/windows/amd64"
CONF = r"C:\etc\kubernetes\kubelet.conf"


def variables(cluster: Cluster | None, version: str, **more: Any) -> dict[str, Any]:
    return {
        "winkube_containerd_url": URL,
        "winkube_containerd_version": "1.7.11",
        "winkube_containerd_checksum": checksum(),
        "winkube_kubernetes_version": version,
        "winkube_kubernetes_base_url": BASE.format(version),
        "winkube_kubelet_checksum": _sha256(build("kubelet", version)),
        "winkube_nssm_url": "http://xyz/nssm-2.24.zip",
        "winkube_nssm_checksum": _sha256(nssm_archive()),
        "winkube_kubeadm_checksum": _sha256(build("kubeadm", version)),
        "winkube_cluster": {"kubeconfig": str(cluster.shipped("site")) if cluster else "", "context": ""},
        **more,
    }


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def join(bench: Bench, cluster: Cluster | None, *args: object, version: str = "1.27.4", **more: Any) -> Run:
    extra = bench.file("extra.json", json.dumps(variables(cluster, version, **more)))
    return bench.ansible_playbook(bench.play(PLAY), "-e", f"@{extra}", *args)


def joined(bench: Bench, cluster: Cluster | None, *args: object, **more: Any) -> Run:
    run = join(bench, cluster, *args, **more)
    assert run.rc == 0, str(run)
    return run


def state(host: NodeHost, service: str = "kubelet") -> str:
    return str(host.in_turn(lambda: host.node.services.state(service)))


def there(host: NodeHost, path: str) -> bool:
    return host.in_turn(lambda: host.node.drive.kind(path)) is not None


def bootstrap_tokens(cluster: Cluster) -> list[str]:
    return [
        item["metadata"]["name"]
        for item in cluster.store.list(BY_NAME["Secret"])
        if item.get("type") == "bootstrap.kubernetes.io/token"
    ]


WAYS = ("kubeadm", "bootstrap_kubeconfig")


@pytest.mark.exhaustive
@pytest.mark.row("JR-01", "JR-07", "JR-08")
@pytest.mark.parametrize("way", WAYS)
def test_from_bare_to_a_node_of_the_cluster_and_again(bench: Bench, way: str) -> None:
    host = bench.node()
    cluster = bench.cluster(version="1.27.4")
    first = joined(bench, cluster, winkube_join=way)
    assert f"joined the cluster as win1 by {way}, podCIDR 10.244." in first.output
    assert "known after" not in first.output
    assert state(host) == "running"
    assert there(host, CONF)
    assert not there(host, r"C:\etc\kubernetes\bootstrap-kubelet.conf")
    node = cluster.nodes["win1"]
    assert node["spec"]["podCIDR"]
    assert {"key": "os", "value": "windows", "effect": "NoSchedule"} in [
        {key: taint.get(key) for key in ("key", "value", "effect")} for taint in node["spec"]["taints"]
    ]
    assert bootstrap_tokens(cluster) == []

    before = bench.dump()
    bench.reset_ledger()
    second = joined(bench, cluster, winkube_join=way)
    assert second.recap["win1"].changed == 0, second
    assert bench.calls() == 1
    assert differences(before, bench.dump()) == []


@pytest.mark.exhaustive(keep=("kubeadm",))
@pytest.mark.row("JR-01")
@pytest.mark.parametrize("way", WAYS)
def test_no_credentials_are_seen_anywhere(bench: Bench, way: str) -> None:
    """Neither in what Ansible prints at its most talkative, nor in the collection's state folder, nor in a command."""
    host = bench.node()
    cluster = bench.cluster(version="1.27.4")
    seen: list[dict[str, Any]] = []
    create = cluster.store.create

    def noted(kind: Any, namespace: str, body: dict[str, Any]) -> Any:
        made = create(kind, namespace, body)
        if kind.name == "Secret":
            seen.append(made)
        return made

    cluster.store.create = noted  # type: ignore[method-assign]
    run = joined(bench, cluster, "-vvv", "--diff", winkube_join=way)
    secrets = {
        base64.b64decode(value).decode()
        for made in seen
        for key, value in cluster_data(cluster, made).items()
        if key in {"token-secret", "token"}
    }
    assert len(secrets) == 3, "a bootstrap token and two ServiceAccounts'"
    dump = bench.dump()
    state = {
        path: content for path, content in files(host).items() if path.lower().startswith("c:\\programdata\\winkube\\")
    }
    assert state
    for secret in secrets:
        assert secret not in run.stdout + run.stderr
        assert base64.b64encode(secret.encode()).decode() not in run.stdout + run.stderr
        assert [path for path, content in state.items() if secret.encode() in content] == []
        assert secret not in json.dumps({key: value for key, value in dump.items() if key != "drive"}, default=str)


def cluster_data(cluster: Cluster, made: dict[str, Any]) -> dict[str, str]:
    """A Secret's data as it is now, or as it was made."""
    metadata = made["metadata"]
    now = cluster.store.find(BY_NAME["Secret"], metadata["namespace"], metadata["name"])
    return dict((now or made).get("data") or {})


def files(host: NodeHost) -> dict[str, bytes]:
    """Every file of the node."""

    def walk(folder: str) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for name in host.node.drive.listdir(folder):
            path = f"{folder.rstrip(chr(92))}\\{name}"
            match host.node.drive.kind(path):
                case "directory":
                    found |= walk(path)
                case "file":
                    found[path] = host.node.drive.read(path)
        return found

    return host.in_turn(lambda: walk("C:\\"))


@pytest.mark.exhaustive
@pytest.mark.row("JR-01")
def test_check_mode_on_a_bare_machine_says_what_it_would_do_and_makes_nothing(bench: Bench) -> None:
    bench.node()
    cluster = bench.cluster(version="1.27.4")
    admin = bench.file("admin.conf", cluster.kubeconfig_for("ann", "system:masters"))
    may = {"winkube_cluster": {"kubeconfig": str(admin), "context": ""}}
    before, objects = bench.dump(), cluster.store.version
    run = joined(bench, None, "--check", "--diff", winkube_join="bootstrap_kubeconfig", **may)
    assert "would join the cluster as win1 by bootstrap_kubeconfig, podCIDR (known after join)" in run.output
    assert "would create in the cluster: ServiceAccount winkube-flanneld" in run.output
    assert bench.dump() == before
    assert cluster.store.version == objects


@pytest.mark.exhaustive("kubeadm")
@pytest.mark.row("JR-01", "JR-02")
@pytest.mark.parametrize("way", WAYS)
def test_a_node_that_was_deleted_is_refused_and_joined_anew_by_the_playbook(bench: Bench, way: str) -> None:
    host = bench.node()
    cluster = bench.cluster(version="1.27.4")
    wanted: dict[str, Any] = {"winkube_join": way}
    joined(bench, cluster, **wanted)
    identity = content(host, r"C:\var\lib\kubelet\pki\kubelet-client-current.pem")
    cluster.store.delete(BY_NAME["Node"], "", "win1")
    before = bench.dump()
    run = join(bench, cluster, **wanted)
    assert run.rc != 0
    assert "the cluster has no Node win1" in run.output
    assert "playbooks/repair.yml -e winkube_repair=rejoin" in run.output
    # The kubelet itself goes on complaining in its log.
    assert [line for line in differences(before, bench.dump()) if "kubelet.log" not in line] == []

    extra = bench.file("extra.json", json.dumps(variables(cluster, "1.27.4", winkube_hosts="windows", **wanted)))
    anew = bench.ansible_playbook(ROOT / "playbooks" / "repair.yml", "-e", f"@{extra}", "-e", "winkube_repair=rejoin")
    assert anew.rc == 0, str(anew)
    assert "joined the cluster again as win1" in anew.output
    assert cluster.nodes["win1"]["spec"]["podCIDR"]
    assert content(host, r"C:\var\lib\kubelet\pki\kubelet-client-current.pem") != identity
    assert [path for path in files(host) if "winkube-old" in path] == []
    assert joined(bench, cluster, **wanted).recap["win1"].changed == 0


def content(host: NodeHost, path: str) -> bytes:
    return bytes(host.in_turn(lambda: host.node.drive.read(path)))


@pytest.mark.row("JR-02")
def test_a_kubeconfig_of_your_own_but_not_an_administrators(bench: Bench) -> None:
    host = bench.node()
    cluster = bench.cluster(version="1.27.4")
    wanted: dict[str, Any] = {"winkube_join": "kubeconfig"}
    run = join(bench, cluster, winkube_kubelet_kubeconfig_source=str(cluster.kubeconfig), **wanted)
    assert run.rc != 0
    assert "is a cluster administrator's (the group system:masters)" in run.output
    assert not there(host, r"C:\k\config")

    pair = cluster.ca.issue(Identity("system:node:win1", ("system:nodes",)))
    own = kubeconfig.write(cluster.server, cluster.ca.pem, user="system:node:win1", pair=pair)
    wanted["winkube_kubelet_kubeconfig_source"] = str(bench.file("win1.kubeconfig", own))
    joined(bench, cluster, **wanted)
    assert content(host, r"C:\k\config").decode() == own
    assert state(host) == "running"
    assert cluster.nodes["win1"]["spec"]["podCIDR"]
    second = joined(bench, cluster, **wanted)
    assert second.recap["win1"].changed == 0, str(second)


@pytest.mark.row("JR-01")
def test_without_the_cluster_a_machine_that_has_not_joined_is_refused(bench: Bench) -> None:
    host = bench.node()
    run = join(bench, None)
    assert run.rc != 0
    assert "needs the cluster's API for its token: set winkube_cluster.kubeconfig" in run.output
    assert state(host) == "stopped"


@pytest.mark.exhaustive(keep=("kubeadm",))
@pytest.mark.row("JR-01")
@pytest.mark.parametrize("way", WAYS)
def test_a_join_that_fails_is_taken_back_and_its_token_gone(bench: Bench, way: str) -> None:
    host = bench.node()
    cluster = bench.cluster(version="1.27.4")
    wanted: dict[str, Any] = {"winkube_join": way, "winkube_join_start_timeout": 20}
    run = join(bench, cluster, winkube_api_server="https://192.168.122.99:9", **wanted)
    assert run.rc != 0
    assert "Rolled back" in run.output
    assert state(host) == "stopped"
    assert bootstrap_tokens(cluster) == []
    assert [path for path in files(host) if path.startswith(r"C:\etc\kubernetes")] == []
    assert [path for path in files(host) if path.startswith(r"C:\var\lib\kubelet\pki")] == []
    joined(bench, cluster, **wanted)
    assert state(host) == "running"


def pod(name: str, owner: tuple[str, str] | None, *tolerations: dict[str, Any]) -> dict[str, Any]:
    """A pod that runs on win1."""
    metadata: dict[str, Any] = {"name": name, "namespace": "shop"}
    if owner:
        reference = {"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1], "uid": "u-1", "controller": True}
        metadata["ownerReferences"] = [reference]
    spec = {"nodeName": "win1", "tolerations": list(tolerations), "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Running"}}


@pytest.mark.row("JR-08")
def test_taints_are_in_check_mode_with_the_pods_that_do_not_tolerate_them(bench: Bench) -> None:
    """--check said changed=0 of a node without them, and the run that followed evicted pods without a word."""
    bench.node()
    cluster = bench.cluster(version="1.27.4")
    joined(bench, cluster, winkube_node_taints=[])
    os = {"key": "os", "operator": "Exists"}
    pods = [
        pod("old-0", ("StatefulSet", "old"), {"key": "os", "operator": "Equal", "value": "linux"}),
        pod("by-hand", None),
        pod("for-a-while", None, os, {"key": "gpu", "operator": "Exists", "tolerationSeconds": 300}),
        pod("all", ("DaemonSet", "logs"), {"operator": "Exists"}),
    ]
    cluster.store.create(BY_NAME["Namespace"], "", {"metadata": {"name": "shop"}})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("", None, os)["spec"]}
    web = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    cluster.store.create(BY_NAME["Deployment"], "shop", {"metadata": {"name": "web"}, "spec": web})
    cluster.clock.advance(5)
    (of_web,) = (item["metadata"]["name"] for item in cluster.store.list(BY_NAME["Pod"], "shop"))
    for each in pods:
        cluster.store.create(BY_NAME["Pod"], "shop", each)

    def left() -> set[str]:
        return {str(item["metadata"]["name"]) for item in cluster.store.list(BY_NAME["Pod"], "shop")}

    keeps = (
        "the Node win1 with os=windows:NoSchedule; that keeps off, once they are recreated, "
        "shop/by-hand (nothing recreates it), shop/old-0 (StatefulSet old)"
    )
    planned = joined(bench, cluster, "--check")
    assert f"would taint {keeps}" in planned.output, planned
    assert f"tainted {keeps}" in joined(bench, cluster).output
    before = left()
    assert len(before) == 5

    taints = ["os=windows:NoSchedule", "gpu=yes:NoExecute"]
    evicts = (
        "the Node win1 with gpu=yes:NoExecute; that evicts shop/by-hand (nothing recreates it), "
        "shop/for-a-while (nothing recreates it, after 300 s), shop/old-0 (StatefulSet old), "
        f"shop/{of_web} (Deployment web)"
    )
    assert f"would taint {evicts}" in joined(bench, cluster, "--check", winkube_node_taints=taints).output
    assert len(left()) == 5
    assert f"tainted {evicts}" in joined(bench, cluster, winkube_node_taints=taints).output
    cluster.clock.advance(60)
    assert left() & before == {"all", "for-a-while"}
    cluster.clock.advance(300)
    assert left() & before == {"all"}
    assert joined(bench, cluster, "--check", winkube_node_taints=taints).recap["win1"].changed == 0
