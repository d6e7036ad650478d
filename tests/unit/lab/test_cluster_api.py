"""The lab's API server: over HTTPS by the PyPI client, credentials, rights, patches, subresources."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes.client as typed_client
import pytest
from kubernetes import config
from kubernetes.client.exceptions import ApiException

from tests.lab.cluster.access import encoded, plain
from tests.lab.cluster.api import Request
from tests.lab.cluster.cluster import Cluster
from tests.lab.cluster.pki import Authority, Identity, identity_of_certificate, key_hash, make_request
from tests.lab.cluster.seed import BOOTSTRAPPERS, Settings
from tests.lab.cluster.store import merged, strategic

pytestmark = pytest.mark.slow

client: Any = typed_client  # its types differ from release to release
load: Any = config.load_kube_config
SECRETS = "/api/v1/namespaces/kube-system/secrets"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path / "cluster", Settings(backend="vxlan"))
    yield made
    made.stop()


def connect(cluster: Cluster, text: str | None = None) -> Any:
    path = cluster.kubeconfig
    if text is not None:
        path = cluster.directory / "other.conf"
        path.write_text(text, encoding="utf-8")
    configuration = client.Configuration()
    load(str(path), client_configuration=configuration, persist_config=False)
    return client.ApiClient(configuration)


def ask(cluster: Cluster, path: str, token: str = "", method: str = "GET", body: Any = None) -> tuple[int, Any]:
    data = b"" if body is None else json.dumps(body).encode()
    answer = cluster.api.answer(Request(method, path, body=data, token=token))
    return answer.status, answer.json if answer.kind == "application/json" else answer.body


# -- what a client of people's sees ------------------------------------------------------------------------------------


def test_the_package_kubernetes_works_with_the_kubeconfig(cluster: Cluster) -> None:
    api = connect(cluster)
    assert client.VersionApi(api).get_code().git_version == "v1.37.1"
    core, rbac = client.CoreV1Api(api), client.RbacAuthorizationV1Api(api)
    assert [node.metadata.name for node in core.list_node().items] == ["control-plane"]
    made = core.create_namespaced_config_map("default", {"metadata": {"name": "a"}, "data": {"x": "1"}})
    assert made.metadata.uid
    core.patch_namespaced_config_map("a", "default", {"data": {"y": "2"}})
    assert core.read_namespaced_config_map("a", "default").data == {"x": "1", "y": "2"}
    core.delete_namespaced_config_map("a", "default")
    with pytest.raises(ApiException) as found:
        core.read_namespaced_config_map("a", "default")
    assert found.value.status == 404
    assert {item.metadata.name for item in client.AppsV1Api(api).list_daemon_set_for_all_namespaces().items} == {
        "kube-flannel-ds",
        "kube-proxy",
    }
    assert rbac.read_cluster_role("system:node-proxier").rules


def test_the_control_plane_is_a_ready_linux_node_with_flannel(cluster: Cluster) -> None:
    node = cluster.nodes["control-plane"]
    assert node["metadata"]["labels"]["kubernetes.io/os"] == "linux"
    assert node["metadata"]["annotations"]["flannel.alpha.coreos.com/backend-type"] == "vxlan"
    assert cluster.is_ready("control-plane")
    conf = cluster.request("GET", "/api/v1/namespaces/kube-flannel/configmaps/kube-flannel-cfg")["data"]
    assert json.loads(conf["net-conf.json"])["Backend"] == {"Type": "vxlan", "VNI": 4096, "Port": 4789}


@pytest.mark.parametrize(("version", "name"), [("1.23.17", "kubelet-config-1.23"), ("1.24.17", "kubelet-config")])
def test_kubeadm_s_config_maps(tmp_path: Path, version: str, name: str) -> None:
    cluster = Cluster(tmp_path, Settings(version=version))
    try:
        maps = cluster.request("GET", "/api/v1/namespaces/kube-system/configmaps")["items"]
        assert {"kubeadm-config", name} <= {item["metadata"]["name"] for item in maps}
        assert cluster.request("GET", "/version")["gitVersion"] == f"v{version}"
    finally:
        cluster.stop()


def test_health_needs_no_account_and_everything_else_does(cluster: Cluster) -> None:
    assert ask(cluster, "/healthz") == (200, b"ok")
    assert ask(cluster, "/api/v1/nodes")[0] == 403
    assert ask(cluster, "/api/v1/nodes", "nonsense")[0] == 401
    info = ask(cluster, "/api/v1/namespaces/kube-public/configmaps/cluster-info")
    assert (info[0], "kubeconfig" in info[1]["data"]) == (200, True)


def test_a_certificate_of_another_authority_is_not_taken(cluster: Cluster) -> None:
    other = Authority().issue(Identity("kubernetes-admin", ("system:masters",)))
    request = Request("GET", "/api/v1/nodes", certificate=other.certificate)
    assert cluster.api.answer(request).status == 401
    old = cluster.ca.issue(Identity("a", ("system:masters",)), days=-1, start=-2)
    assert cluster.api.answer(Request("GET", "/api/v1/nodes", certificate=old.certificate)).status == 401


# -- objects -----------------------------------------------------------------------------------------------------------


def test_errors_of_objects_are_the_api_s(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/default/configmaps"
    body = {"metadata": {"name": "a"}}
    made = cluster.request("POST", path, body)
    assert cluster.request("POST", path, body)["reason"] == "AlreadyExists"
    assert (
        cluster.request("POST", "/api/v1/namespaces/none/configmaps", body)["message"] == 'namespaces "none" not found'
    )
    assert cluster.request("POST", path, {})["reason"] == "Invalid"
    assert cluster.request("GET", "/api/v1/nonsense")["code"] == 404
    cluster.request("PATCH", f"{path}/a", {"data": {"x": "1"}})
    stale = {**made, "data": {"x": "2"}}
    assert cluster.request("PUT", f"{path}/a", stale)["reason"] == "Conflict"
    assert cluster.request("GET", path + "?watch=true")["code"] == 501


def test_selectors(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/default/pods"
    for name, node in (("a", "win1"), ("b", "win2")):
        pod = {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"nodeName": node}}
        cluster.request("POST", path, pod)

    def names(query: str) -> list[str]:
        return [item["metadata"]["name"] for item in cluster.request("GET", f"/api/v1/pods?{query}")["items"]]

    assert names("labelSelector=app=a") == ["a"]
    assert names("labelSelector=app!=a") == ["b"]
    assert names("labelSelector=!app") == []
    assert names("fieldSelector=spec.nodeName=win2") == ["b"]


def test_patches() -> None:
    old = {"a": {"x": 1, "y": 2}, "list": [1]}
    assert merged(old, {"a": {"x": None}, "list": [2]}) == {"a": {"y": 2}, "list": [2]}
    conditions = {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Other"}]}
    patch = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert strategic(conditions, patch)["conditions"] == [{"type": "Ready", "status": "True"}, {"type": "Other"}]
    assert merged(conditions, patch)["conditions"] == patch["conditions"]


def test_a_status_changes_through_its_subresource_only(cluster: Cluster) -> None:
    cluster.request("PATCH", "/api/v1/nodes/control-plane", {"status": {"conditions": []}})
    assert cluster.is_ready("control-plane")
    cluster.request("PATCH", "/api/v1/nodes/control-plane/status", {"status": {"conditions": []}})
    assert not cluster.is_ready("control-plane")


def test_evictions_respect_a_disruption_budget(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/default/pods"
    pod = {"metadata": {"name": "a", "labels": {"app": "a"}}, "spec": {"nodeName": "win1"}}
    cluster.request("POST", path, pod)
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    selector = {"selector": {"matchLabels": {"app": "a"}}}
    cluster.request("POST", budgets, {"metadata": {"name": "p"}, "spec": selector, "status": {"disruptionsAllowed": 0}})
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    assert cluster.request("POST", f"{path}/a/eviction", eviction)["code"] == 429
    cluster.request("PATCH", f"{budgets}/p", {"status": {"disruptionsAllowed": 1}})
    assert cluster.request("POST", f"{path}/a/eviction", eviction)["code"] == 201
    assert cluster.request("GET", f"{path}/a")["metadata"]["deletionTimestamp"]
    cluster.advance(3)
    assert cluster.request("GET", f"{path}/a")["code"] == 404


def test_an_outage(cluster: Cluster) -> None:
    cluster.api.outage = "etcdserver: leader changed"
    found = cluster.request("GET", "/api/v1/nodes")
    assert (found["code"], found["message"]) == (503, "etcdserver: leader changed")


# -- tokens and rights -------------------------------------------------------------------------------------------------


def test_bootstrap_tokens_and_their_end(cluster: Cluster) -> None:
    token = cluster.make_token(minutes=15)
    assert ask(cluster, "/api/v1/nodes/none", token)[0] == 404, "they may get nodes"
    assert ask(cluster, "/api/v1/nodes", token)[0] == 403
    assert ask(cluster, "/api/v1/nodes/none", token[:-1] + ("0" if token[-1] != "0" else "1"))[0] == 401
    assert (
        f"jws-kubeconfig-{token[:6]}"
        in ask(cluster, "/api/v1/namespaces/kube-public/configmaps/cluster-info")[1]["data"]
    )
    from datetime import timedelta

    cluster.skew = timedelta(minutes=16)
    assert ask(cluster, "/api/v1/nodes/none", token)[0] == 401


def test_a_secret_made_by_hand_is_a_token_too(cluster: Cluster) -> None:
    data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true"}
    data |= {"usage-bootstrap-signing": "true", "auth-extra-groups": BOOTSTRAPPERS}
    body = {"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token", "stringData": data}
    cluster.request("POST", SECRETS, body)
    cluster.advance(2)
    assert ask(cluster, "/api/v1/nodes/none", "abcdef.0123456789abcdef")[0] == 404
    info = cluster.request("GET", "/api/v1/namespaces/kube-public/configmaps/cluster-info")
    assert "jws-kubeconfig-abcdef" in info["data"]


def test_a_service_account_token_is_filled_in_and_has_its_bindings_rights(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/kube-system"
    cluster.request("POST", f"{path}/serviceaccounts", {"metadata": {"name": "flanneld"}})
    annotations = {"kubernetes.io/service-account.name": "flanneld"}
    secret = {"metadata": {"name": "t", "annotations": annotations}, "type": "kubernetes.io/service-account-token"}
    cluster.request("POST", SECRETS, secret)
    assert "token" not in cluster.request("GET", f"{SECRETS}/t").get("data", {})
    cluster.advance(2)
    found = cluster.request("GET", f"{SECRETS}/t")
    assert base64.b64decode(found["data"]["ca.crt"]) == cluster.ca.pem
    token = plain(found, "token")
    assert ask(cluster, "/api/v1/nodes", token)[0] == 403
    assert cluster.refusals[-1].user == "system:serviceaccount:kube-system:flanneld"
    binding = {
        "metadata": {"name": "f"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "flannel"},
        "subjects": [{"kind": "ServiceAccount", "name": "flanneld", "namespace": "kube-system"}],
    }
    cluster.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    assert ask(cluster, "/api/v1/nodes", token)[0] == 200
    assert ask(cluster, SECRETS, token)[0] == 403
    review = {"spec": {"resourceAttributes": {"verb": "list", "resource": "nodes"}}}
    answer = ask(cluster, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", token, "POST", review)[1]
    assert answer["status"]["allowed"] is True
    cluster.request("DELETE", f"{path}/serviceaccounts/flanneld")
    assert ask(cluster, "/api/v1/nodes", token)[0] == 401


def test_a_node_changes_itself_and_no_other(cluster: Cluster) -> None:
    node = cluster.ca.issue(Identity("system:node:win1", ("system:nodes",))).certificate

    def send(method: str, path: str, body: Any = None) -> int:
        data = b"" if body is None else json.dumps(body).encode()
        return cluster.api.answer(
            Request(method, path, body=data, content_type="application/merge-patch+json", certificate=node)
        ).status

    assert send("POST", "/api/v1/nodes", {"metadata": {"name": "win2"}}) == 403
    assert send("POST", "/api/v1/nodes", {"metadata": {"name": "win1"}}) == 201
    assert send("PATCH", "/api/v1/nodes/win1", {"metadata": {"labels": {"a": "b"}}}) == 200
    assert send("PATCH", "/api/v1/nodes/control-plane", {"metadata": {"labels": {"a": "b"}}}) == 403
    assert send("DELETE", "/api/v1/nodes/win1") == 403
    assert send("GET", SECRETS) == 403


# -- certificates ------------------------------------------------------------------------------------------------------


def request_certificate(cluster: Cluster, signer: str, identity: Identity, user: str, *groups: str) -> dict[str, Any]:
    pem, _ = make_request(identity)
    spec = {"signerName": signer, "request": base64.b64encode(pem).decode(), "usages": ["digital signature"]}
    own = cluster.ca.issue(Identity(user, groups)).certificate
    data = json.dumps({"metadata": {"generateName": "csr-"}, "spec": spec}).encode()
    found: dict[str, Any] = cluster.api.answer(Request("POST", CSRS, body=data, certificate=own)).json
    return found


def test_a_node_s_first_certificate_is_approved_by_the_cluster(cluster: Cluster) -> None:
    identity = Identity("system:node:win1", ("system:nodes",))
    signer = "kubernetes.io/kube-apiserver-client-kubelet"
    made = request_certificate(cluster, signer, identity, "x", BOOTSTRAPPERS)
    assert made["spec"]["username"] == "x"
    cluster.advance(5)
    found = cluster.request("GET", f"{CSRS}/{made['metadata']['name']}")
    assert found["status"]["conditions"][0]["reason"] == "AutoApproved"
    certificate = base64.b64decode(found["status"]["certificate"])
    assert identity_of_certificate(certificate) == identity
    stranger = request_certificate(cluster, signer, Identity("root", ("system:masters",)), "x", BOOTSTRAPPERS)
    cluster.advance(5)
    assert cluster.request("GET", f"{CSRS}/{stranger['metadata']['name']}")["status"] == {}


def test_a_serving_certificate_waits_for_its_approval(cluster: Cluster) -> None:
    identity = Identity("system:node:win1", ("system:nodes",), ("win1",), ("10.0.0.4",))
    signer = "kubernetes.io/kubelet-serving"
    made = request_certificate(cluster, signer, identity, "system:node:win1", "system:nodes")
    cluster.advance(60)
    path = f"{CSRS}/{made['metadata']['name']}"
    assert cluster.request("GET", path)["status"] == {}
    approval = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "a", "message": "b"}]}}
    assert cluster.request("PATCH", f"{path}/approval", approval, "strategic")["status"]["conditions"]
    cluster.advance(2)
    certificate = base64.b64decode(cluster.request("GET", path)["status"]["certificate"])
    assert identity_of_certificate(certificate).addresses == ("10.0.0.4",)
    denied = {"status": {"conditions": [{"type": "Denied", "status": "True"}]}}
    assert cluster.request("PATCH", f"{path}/approval", denied, "strategic")["code"] == 422


def test_a_serving_request_for_somebody_else_is_not_signed(cluster: Cluster) -> None:
    identity = Identity("system:node:win2", ("system:nodes",), ("win2",))
    made = request_certificate(cluster, "kubernetes.io/kubelet-serving", identity, "system:node:win1", "system:nodes")
    path = f"{CSRS}/{made['metadata']['name']}"
    approval = {"status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    cluster.request("PATCH", f"{path}/approval", approval, "strategic")
    cluster.advance(2)
    found = cluster.request("GET", path)["status"]
    assert ("certificate" not in found, found["conditions"][-1]["type"]) == (True, "Failed")


def test_the_hash_is_that_of_the_public_key(cluster: Cluster) -> None:
    assert cluster.ca_hash == key_hash(cluster.ca.pem)
    assert cluster.ca_hash != key_hash(Authority().pem)
    assert encoded("x") == "eA=="
