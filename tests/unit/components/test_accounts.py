"""What flanneld and kube-proxy may do in the cluster, and their kubeconfigs."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.identities import (
    FLANNELD,
    KUBE_PROXY,
    Identities,
    identities,
    objects,
    token_path,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.options import Credentials, JoinOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.clock import Clock
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from tests.conftest import ROOT
from tests.unit.cluster.fake import SERVER, Fake, certificate

from .nodes import LAYOUT

CLOCK = Clock(now=iter(range(10_000)).__next__, sleep=lambda seconds: None)
OPTIONS = JoinOptions(node_name="win1", version="1.37.1")


def found(
    cluster: Cluster | None, options: JoinOptions = OPTIONS, *, joins: bool = False, check: bool = False
) -> Identities:
    return identities(cluster, options, LAYOUT, joins=joins, check=check, clock=CLOCK)


@pytest.mark.row("JR-01")
def test_flanneld_may_patch_the_status_of_nodes_and_nothing_else() -> None:
    made = {item.label: item.body for item in objects(FLANNELD)}
    assert made["ClusterRole winkube-flanneld"]["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch"]},
    ]
    assert made["ClusterRoleBinding winkube-flanneld"]["roleRef"]["name"] == "winkube-flanneld"


@pytest.mark.row("JR-01")
def test_kube_proxy_gets_the_role_that_kubernetes_has_for_it() -> None:
    made = {item.label: item.body for item in objects(KUBE_PROXY)}
    assert made["ClusterRoleBinding winkube-kube-proxy"]["roleRef"]["name"] == "system:node-proxier"
    subjects = made["ClusterRoleBinding winkube-kube-proxy"]["subjects"]
    assert subjects == [{"kind": "ServiceAccount", "name": "winkube-kube-proxy", "namespace": "kube-system"}]
    assert not any(label.startswith("ClusterRole ") for label in made)


@pytest.mark.row("JR-01", "JR-02")
def test_accounts_are_made_once_and_their_kubeconfigs_are_the_same_each_time() -> None:
    fake = Fake(b"pem")
    made = found(fake.cluster)
    steps, first = made.steps, made.found
    assert [item.path for item in first] == [LAYOUT.flanneld_kubeconfig, LAYOUT.kube_proxy_kubeconfig]
    assert steps[0].startswith("create in the cluster: ServiceAccount winkube-flanneld, ClusterRole winkube-flanneld, ")
    document = json.loads(first[0].text.reveal())
    assert document["users"][0]["user"] == {"token": "token-of-winkube-flanneld-token"}
    assert document["clusters"][0]["cluster"] == {
        "server": SERVER,
        "certificate-authority-data": base64.b64encode(b"pem").decode(),
    }
    written = len(fake.writes)
    assert found(fake.cluster) == Identities(found=first)
    assert len(fake.writes) == written == 7


def test_check_mode_makes_nothing_and_says_what_it_would() -> None:
    fake = Fake(b"pem")
    planned = found(fake.cluster, check=True)
    assert len(planned.steps) == len(planned.found) == 2
    assert fake.writes == []


def test_another_task_may_have_made_the_account_a_moment_ago() -> None:
    fake = Fake(b"pem")
    fake.refused["POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles"] = 409
    assert len(found(fake.cluster).found) == 2
    fake = Fake(b"pem")
    fake.refused["POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles"] = 403
    with pytest.raises(ClusterError, match="clusterroles was answered with 403"):
        found(fake.cluster)


def test_a_token_that_never_comes_is_said() -> None:
    fake = Fake(b"pem")
    found(fake.cluster)
    fake.objects[token_path(FLANNELD)]["data"] = {}
    with pytest.raises(ClusterError, match="gave the ServiceAccount winkube-flanneld no token within 30 s"):
        found(fake.cluster)


def test_what_the_cluster_manages_needs_no_file_and_no_account() -> None:
    fake = Fake(b"pem")
    options = replace(OPTIONS, flanneld=Credentials(kubeconfig=False, kubeconfig_source=""))
    made = found(fake.cluster, options)
    assert [item.service for item in made.found] == ["kube-proxy"]
    assert not any("flanneld" in step for step in made.steps)


def test_without_a_cluster_only_the_users_own_files_go_to_the_node(tmp_path: Path) -> None:
    file = tmp_path / "flanneld"
    file.write_text('{"clusters": [{"name": "k", "cluster": {"server": "https://k"}}]}', encoding="utf-8")
    options = replace(OPTIONS, flanneld=Credentials(kubeconfig=True, kubeconfig_source=str(file)))
    made = found(None, options)
    assert made.steps == ()
    assert [(item.service, item.text) for item in made.found] == [
        ("flanneld", Secret(file.read_text(encoding="utf-8")))
    ]


@pytest.mark.row("JR-02")
def test_an_administrators_kubeconfig_goes_to_no_node_unless_said_by_name(tmp_path: Path) -> None:
    pem, _ = certificate("somebody", "system:masters")
    user = {"client-certificate-data": base64.b64encode(pem).decode()}
    document = {
        "clusters": [{"name": "k", "cluster": {"server": "https://k"}}],
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "me"}}],
        "users": [{"name": "me", "user": user}],
    }
    file = tmp_path / "admin.conf"
    file.write_text(json.dumps(document), encoding="utf-8")
    options = replace(OPTIONS, flanneld=Credentials(kubeconfig=True, kubeconfig_source=str(file)))
    with pytest.raises(
        Refused, match=r"cluster administrator's .the group system:masters.*allow_cluster_admin_kubeconfig"
    ):
        found(None, options)
    assert len(found(None, replace(options, allow_cluster_admin=True)).found) == 1


def test_a_file_that_is_not_there_is_said() -> None:
    options = replace(OPTIONS, flanneld=Credentials(kubeconfig=True, kubeconfig_source="/nowhere/conf"))
    with pytest.raises(Refused, match=r"flanneld\.kubeconfig_source: /nowhere/conf on the controller cannot be read"):
        found(None, options)


def test_accounts_that_the_user_may_not_make_are_told_with_the_file_that_has_them() -> None:
    fake = Fake(b"pem")
    fake.denied = {"create clusterroles", "create secrets"}
    with pytest.raises(
        Refused, match=r"may not make ClusterRole winkube-flanneld, Secret winkube-flanneld-token\. .*accounts\.yml"
    ):
        found(fake.cluster)
    assert fake.writes == []


def test_the_file_has_what_a_run_would_make() -> None:
    text = (ROOT / "examples" / "rbac" / "accounts.yml").read_text(encoding="utf-8")
    assert list(yaml.safe_load_all(text)) == [
        dict(each.body) for name in (FLANNELD, KUBE_PROXY) for each in objects(name)
    ]


def test_who_may_not_read_an_account_leaves_a_joined_node_as_it_is() -> None:
    fake = Fake(b"pem")
    found(fake.cluster)
    fake.denied = {"get secrets winkube-kube-proxy-token"}
    made = found(fake.cluster)
    assert [item.service for item in made.found] == ["flanneld"]
    (left,) = made.unknown
    assert left.text.startswith(
        f"leave {LAYOUT.kube_proxy_kubeconfig} as it is: the kubeconfig's user may not read the"
    )
    with pytest.raises(Refused, match=r"accounts\.yml"):
        found(fake.cluster, joins=True)
