"""The accounts of examples/in-cluster and examples/rbac, and their policies, against a real kube-apiserver: what each
has to be able to do, and what whoever has its token must not."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.budget.claim import Claim, Wish
from ansible_collections.winkube.node.plugins.plugin_utils.budget.count import Budget
from ansible_collections.winkube.node.plugins.plugin_utils.budget.run import Run
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.endpoint import bootstrap_token
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.records import NODE
from ansible_collections.winkube.node.plugins.plugin_utils.host_process import pod
from ansible_collections.winkube.node.plugins.plugin_utils.node_status.condition import (
    APPLIED,
    EVENTS,
    HEALTHY,
    UP_TO_DATE,
    Condition,
    write_report,
)
from ansible_collections.winkube.node.plugins.plugin_utils.task import drain

from tests.conftest import ROOT
from tests.real import api_server, build
from tests.real.api_server import Api, Said, Server, until
from tests.unit.cluster.fake import certificate_request, subject

EXAMPLES = ROOT / "examples"
FOLDER = EXAMPLES / "in-cluster"
FILES = (
    FOLDER / "namespaces.yml",
    EXAMPLES / "rbac" / "accounts.yml",
    FOLDER / "rights.yml",
    FOLDER / "policies.yml",
    FOLDER / "cron.yml",
    FOLDER / "join" / "rights.yml",
    FOLDER / "join" / "cron.yml",
    FOLDER / "serving-certificates" / "rights.yml",
    EXAMPLES / "rbac" / "site.yml",
)
SPACE, PODS = "winkube", "/api/v1/namespaces/winkube-node/pods"
WANTED = pod.Wanted("win1", "winkube-node", pod.BASE_IMAGE, "0123456789abcdef", "keep@pod", 14400)
FORBIDDEN = {403, 422}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SIGNING = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def documents() -> Iterator[dict[str, Any]]:
    for file in FILES:
        yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


def node(name: str, system: str = "windows") -> dict[str, Any]:
    labels = {"kubernetes.io/os": system, "kubernetes.io/hostname": name}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {}}


READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With all objects of the examples, and two Windows Nodes and a Linux one."""
    if command := api_server.missing():
        pytest.skip(f"lane real: kube-apiserver or etcd is not there; `{command}` builds them")
    with api_server.running(tmp_path_factory.mktemp("api")) as made:
        admin = made.admin
        for document in documents():
            said = admin.make(document)
            assert said.status == 201 or (said.status == 409 and document["kind"] == "Namespace"), (document, said)
        for name, system in (("win1", "windows"), ("win2", "windows"), ("cp1", "linux")):
            admin.make(node(name, system))
            admin.strategic(f"/api/v1/nodes/{name}/status", {"status": {"conditions": [READY]}})
        for space in ("winkube-node", "winkube", "kube-system"):
            admin.make(
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": space}}
            )
        asked = certificate_request(subject("somebody", "administrators"))
        spec = {"signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
        spec["request"] = base64.b64encode(asked).decode()
        kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
        assert admin.make({**kind, "metadata": {"name": "client"}, "spec": spec}).status == 201
        wrong = own_pod(volumes=[{"name": "x", "emptyDir": {}}])
        until(lambda: admin.post(f"{PODS}?dryRun=All", wrong).status == 422, "the policies do not work")
        yield made


def own_pod(**spec: Any) -> dict[str, Any]:
    """What the connection makes, with these fields of its spec."""
    made = pod.body(WANTED, datetime.now(UTC))
    return {**made, "spec": {**made["spec"], **spec}}


def plain_pod(namespace: str, **spec: Any) -> dict[str, Any]:
    closed = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    containers = [{"name": "a", "image": "busybox", "securityContext": closed}]
    who = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {"containers": containers, "securityContext": who, **spec},
    }


def condition(kind: str, status: str = "False") -> dict[str, Any]:
    return {"status": {"conditions": [{"type": kind, "status": status, "reason": "Test", "message": "A sentence."}]}}


def token_secret(name: str, account: str) -> dict[str, Any]:
    annotations = {"kubernetes.io/service-account.name": account}
    return {"metadata": {"name": name, "annotations": annotations}, "type": "kubernetes.io/service-account-token"}


def tokens_of(groups: str, *, expires: bool = True) -> dict[str, Any]:
    data = {"token-id": "abcdef", "token-secret": "0123456789abcdef", "auth-extra-groups": groups}
    data |= {"expiration": "2036-01-01T00:00:00Z"} if expires else {}
    body = {"metadata": {"name": "bootstrap-token-abcdef"}, "type": "bootstrap.kubernetes.io/token"}
    return {**body, "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}}


def bind_admin(name: str) -> dict[str, Any]:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": SPACE}
    return {"metadata": {"name": "mine"}, "roleRef": role, "subjects": [subject]}


SECRETS = "/api/v1/namespaces/kube-system/secrets"
EVERYONE: dict[str, Callable[[Api], Said]] = {
    "read Secrets of kube-system": lambda api: api.get(SECRETS),
    "read the Secret with the nodes' SSH key": lambda api: api.get("/api/v1/namespaces/winkube/secrets/ssh"),
    "make a token of another account": lambda api: api.post(
        "/api/v1/namespaces/kube-system/serviceaccounts/default/token", {"spec": {}}
    ),
    "bind itself to cluster-admin": lambda api: api.post(f"{RBAC}/clusterrolebindings", bind_admin("look")),
    "change its own role": lambda api: api.merge(f"{RBAC}/clusterroles/winkube-look", {"rules": []}),
    "take a policy away": lambda api: api.ask(
        "DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/winkube-host-process"
    ),
    "take its namespace from a policy": lambda api: api.merge(
        "/api/v1/namespaces/winkube-node", {"metadata": {"labels": {"a": "b"}}}
    ),
    "change what runs": lambda api: api.merge(
        "/apis/batch/v1/namespaces/winkube/cronjobs/keep", {"spec": {"suspend": False}}
    ),
    "make a pod of its own account": lambda api: api.post(
        "/api/v1/namespaces/winkube/pods", plain_pod("winkube", serviceAccountName="keep")
    ),
    "exec in a pod of kube-system": lambda api: api.ask("POST", "/api/v1/namespaces/kube-system/pods/a/exec?command=a"),
    "say that a Linux Node is wrong": lambda api: api.strategic(
        "/api/v1/nodes/cp1/status", condition("winkube.node/Healthy")
    ),
    "say that a Windows Node is not Ready": lambda api: api.strategic("/api/v1/nodes/win1/status", condition("Ready")),
    "give a Node more room": lambda api: api.strategic(
        "/api/v1/nodes/win1/status", {"status": {"capacity": {"cpu": "99"}}}
    ),
    "label a Node through its status": lambda api: api.strategic(
        "/api/v1/nodes/win1/status", {"metadata": {"labels": {"node-role.kubernetes.io/control-plane": ""}}}
    ),
    "pause a Node through its status": lambda api: api.strategic(
        "/api/v1/nodes/win1/status", {"metadata": {"annotations": {"winkube.node/paused": "x"}}}
    ),
    "approve a client's certificate": lambda api: api.merge(
        f"{SIGNING}/client/approval",
        {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "a", "message": "b"}]}},
    ),
}
LOOK: dict[str, Callable[[Api], Said]] = {
    "list pods": lambda api: api.get("/api/v1/pods"),
    "make a HostProcess pod": lambda api: api.post(PODS, own_pod()),
    "exec in one": lambda api: api.ask("POST", f"{PODS}/{WANTED.name}/exec?command=a"),
    "cordon a Node": lambda api: api.merge("/api/v1/nodes/win1", {"spec": {"unschedulable": True}}),
    "mark a Node": lambda api: api.merge(
        "/api/v1/nodes/win1", {"metadata": {"annotations": {"winkube.node/mark": "{}"}}}
    ),
    "say what was last made true of a Node": lambda api: api.strategic(
        "/api/v1/nodes/win1/status", {"metadata": {"annotations": {"winkube.node/applied": "x"}}}
    ),
    "evict a pod": lambda api: api.post(
        f"{PODS}/a/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    ),
    "delete a Node": lambda api: api.ask("DELETE", "/api/v1/nodes/win1"),
}
KEEP: dict[str, Callable[[Api], Said]] = {
    "make a pod elsewhere": lambda api: api.post("/api/v1/namespaces/kube-system/pods", plain_pod("kube-system")),
    "make a plain pod": lambda api: api.post(PODS, plain_pod("winkube-node")),
    "make a pod on a control plane": lambda api: api.post(
        PODS, plain_pod("winkube-node", nodeName="cp1", hostNetwork=True, activeDeadlineSeconds=60)
    ),
    "mount a folder of the host": lambda api: api.post(
        PODS, own_pod(volumes=[{"name": "a", "hostPath": {"path": "C:\\"}}])
    ),
    "have a token mounted": lambda api: api.post(PODS, own_pod(automountServiceAccountToken=True)),
    "read a Secret by a variable": lambda api: api.post(
        PODS,
        own_pod(
            containers=[
                {
                    "name": "host",
                    "image": "a",
                    "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}],
                }
            ]
        ),
    ),
    "read a Secret by all its variables": lambda api: api.post(
        PODS, own_pod(containers=[{"name": "host", "image": "a", "envFrom": [{"secretRef": {"name": "a"}}]}])
    ),
    "make a pod that stays": lambda api: api.post(PODS, own_pod(activeDeadlineSeconds=None)),
    "make a pod that stays for a day": lambda api: api.post(PODS, own_pod(activeDeadlineSeconds=86400)),
    "cordon a Linux Node": lambda api: api.merge("/api/v1/nodes/cp1", {"spec": {"unschedulable": True}}),
    "taint a Node": lambda api: api.merge(
        "/api/v1/nodes/win1", {"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}
    ),
    "say where a Node comes from": lambda api: api.merge("/api/v1/nodes/win1", {"spec": {"providerID": "azure://a"}}),
    "label a Node": lambda api: api.merge("/api/v1/nodes/win1", {"metadata": {"labels": {"pool": "secret"}}}),
    "make a Windows Node a Linux one": lambda api: api.merge(
        "/api/v1/nodes/win1", {"metadata": {"labels": {"kubernetes.io/os": "linux"}}}
    ),
    "annotate a Node for another controller": lambda api: api.merge(
        "/api/v1/nodes/win1", {"metadata": {"annotations": {"cluster.x-k8s.io/machine": "a"}}}
    ),
    "keep a Node from being deleted": lambda api: api.merge(
        "/api/v1/nodes/win1", {"metadata": {"finalizers": ["winkube.node/x"]}}
    ),
    "delete a Node": lambda api: api.ask("DELETE", "/api/v1/nodes/win1"),
    "make a bootstrap token": lambda api: api.post(
        SECRETS, tokens_of("system:bootstrappers:kubeadm:default-node-token")
    ),
    "read the token of flanneld": lambda api: api.get(f"{SECRETS}/winkube-flanneld-token"),
}
JOIN: dict[str, Callable[[Api], Said]] = {
    "ask for the token of an account of kube-system": lambda api: api.post(SECRETS, token_secret("mine", "default")),
    "put another account's token where it may read": lambda api: api.post(
        SECRETS, token_secret("winkube-kube-proxy-token", "default")
    ),
    "delete a Secret that is no bootstrap token": lambda api: api.ask("DELETE", f"{SECRETS}/winkube-flanneld-token"),
    "make a bootstrap token of another group": lambda api: api.post(SECRETS, tokens_of("system:bootstrappers:admins")),
    "make a bootstrap token without an end": lambda api: api.post(
        SECRETS, tokens_of("system:bootstrappers:kubeadm:default-node-token", expires=False)
    ),
    "make a ClusterRole": lambda api: api.post(
        f"{RBAC}/clusterroles",
        {"metadata": {"name": "a"}, "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]},
    ),
    "make a ServiceAccount": lambda api: api.post(
        "/api/v1/namespaces/kube-system/serviceaccounts", {"metadata": {"name": "a"}}
    ),
    "make a HostProcess pod": lambda api: api.post(PODS, own_pod()),
    "cordon a Linux Node": KEEP["cordon a Linux Node"],
    "delete a Node": KEEP["delete a Node"],
}
CASES = [
    (account, what) for account, own in (("look", LOOK), ("keep", KEEP), ("join", JOIN)) for what in {**EVERYONE, **own}
]


@pytest.mark.parametrize(("account", "what"), CASES, ids=[f"{account}: {what}" for account, what in CASES])
def test_must_not(server: Server, account: str, what: str) -> None:
    """And what it asked for has not become so: the object is as it was."""
    ask = {**EVERYONE, **{"look": LOOK, "keep": KEEP, "join": JOIN}[account]}[what]
    before = [server.admin.get(f"/api/v1/nodes/{name}").body for name in ("win1", "cp1")]
    said = ask(server.account(SPACE, account))
    assert said.status in FORBIDDEN, said
    assert [server.admin.get(f"/api/v1/nodes/{name}").body for name in ("win1", "cp1")] == before
    assert "resulted in error" not in said.refused
    by_policy = "ValidatingAdmissionPolicy" in said.refused
    by_rights = "cannot" in said.refused or "not permitted" in said.refused
    assert by_policy or by_rights, "forbidden for another reason than the rights"


def test_the_administrator_may_all_of_it_so_that_the_refusals_are_those_of_the_rights(server: Server) -> None:
    """Each request is one that the API server would take of somebody else, or refuses for the namespace's policy."""
    admin = server.admin
    strange = {
        what
        for what, ask in {**EVERYONE, **LOOK, **KEEP, **JOIN}.items()
        if (said := ask(_Dry(admin.server, admin.token))).status in FORBIDDEN
        and "winkube-host-process" not in said.refused
    }
    assert strange == set()


class _Dry(Api):
    """Changes nothing."""

    def ask(
        self, method: str, path: str, body: Mapping[str, Any] | str | None = None, kind: str = "application/json"
    ) -> Said:
        mark = "&" if "?" in path else "?"
        return super().ask(method, path if method == "GET" else f"{path}{mark}dryRun=All", body, kind)


def opened(server: Server, account: str) -> Cluster:
    found = Cluster.open({"kubeconfig": str(server.kubeconfig(server.account(SPACE, account)))})
    assert found is not None
    return found


@pytest.mark.parametrize(("account", "applied"), [("look", ""), ("keep", "a1"), ("join", "b2")])
def test_each_may_say_how_a_node_is(server: Server, account: str, applied: str) -> None:
    """The code itself: conditions with their Events, and what was last made true but by look."""
    found = opened(server, account)
    before = len(server.admin.get(EVENTS).body["items"])
    node = found.find_node("win2")
    assert node is not None
    wanted = [Condition(kind, "False", "Drifted", f"As {account} sees it.") for kind in (UP_TO_DATE, HEALTHY)]
    assert write_report(found, node, wanted, "2026-01-01T00:00:00Z", applied=applied)
    after = server.admin.get("/api/v1/nodes/win2").body
    assert {each["type"] for each in after["status"]["conditions"]} == {"Ready", UP_TO_DATE, HEALTHY}
    assert not applied or after["metadata"]["annotations"][APPLIED] == applied
    assert len(server.admin.get(EVENTS).body["items"]) == before + 2
    assert write_report(found, NODE(after, ""), wanted, "2026-01-01T00:00:00Z", applied=applied) == (), (
        "nothing where nothing is new"
    )


def test_keep_may_claim_drain_and_uncordon_a_windows_node(server: Server) -> None:
    """The code itself, as its account."""
    found = opened(server, "keep")
    claim = Claim(found, Run("a" * 32, "keep@pod"), Wish(Budget.parse("2"), why="site"))
    emptied = drain.NodeDrain(found, "win2", claim, drain.Rules(host_process="winkube-node"))
    assert emptied.cordon_and_drain()[0] == "cordon win2"
    assert server.admin.get("/api/v1/nodes/win2").body["spec"]["unschedulable"] is True
    assert emptied.uncordon() == ("uncordon win2",)
    assert "unschedulable" not in server.admin.get("/api/v1/nodes/win2").body["spec"]


def test_keep_may_make_and_delete_the_connections_pod(server: Server) -> None:
    found = opened(server, "keep")
    made = found.create(WANTED.collection, pod.body(WANTED, datetime.now(UTC)))
    assert made["spec"]["securityContext"]["windowsOptions"]["hostProcess"] is True
    exec_ = server.account(SPACE, "keep").ask("POST", f"{WANTED.path}/exec?command=a&container={pod.CONTAINER}")
    assert exec_.status not in FORBIDDEN, exec_
    assert found.delete(f"{WANTED.path}?gracePeriodSeconds=0")


def test_join_may_make_a_token_for_a_join_and_takes_it_back(server: Server) -> None:
    found = opened(server, "join")
    with bootstrap_token(found, "win3") as token:
        name = f"bootstrap-token-{token.reveal().partition('.')[0]}"
        assert server.admin.get(f"{SECRETS}/{name}").status == 200
    assert server.admin.get(f"{SECRETS}/{name}").status == 404
    assert found.get(f"{SECRETS}/winkube-flanneld-token") is not None


def test_both_copies_of_the_policy_say_the_same() -> None:
    def policy(file: Path) -> list[dict[str, Any]]:
        found = yaml.safe_load_all(file.read_text(encoding="utf-8"))
        return [
            each for each in found if each["metadata"]["name"] == "winkube-host-process" and "Policy" in each["kind"]
        ]

    assert policy(FOLDER / "policies.yml") == policy(EXAMPLES / "rbac" / "host_process.yml") != []


CLUSTER_API = "sigs.k8s.io/cluster-api@v1.14.2"
CRD = "core/config/crd/bases/cluster.x-k8s.io_machinehealthchecks.yaml"


def module(name: str) -> Path:
    """The folder of a Go module, which Go's own client fetches. Skips where it cannot."""
    line = ["go", "mod", "download", "-json", name]
    try:
        done = subprocess.run(line, capture_output=True, text=True, check=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"lane real: {name} cannot be fetched by Go: {error}")
    return Path(json.loads(done.stdout)["Dir"])


def test_the_machine_health_check_is_one(server: Server) -> None:
    """By the CRD of the module's archive, strictly: an unknown field is an error."""
    definition = yaml.safe_load((module(CLUSTER_API) / CRD).read_text(encoding="utf-8"))
    definition["spec"].pop("conversion", None)
    assert server.admin.make(definition, strict=False).status == 201
    root = "/apis/cluster.x-k8s.io/v1beta2"
    until(lambda: server.admin.get(root).status == 200, "the CRD is not served", 60)
    wanted = yaml.safe_load((FOLDER / "machine-health-check.yml").read_text(encoding="utf-8"))
    said = server.admin.make(wanted)
    assert said.status == 201, said
    checked = said.body["spec"]["checks"]["unhealthyNodeConditions"]
    assert [(each["type"], each["status"]) for each in checked] == [("winkube.node/Healthy", "False")]
    wrong = {
        **wanted,
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {**wanted["spec"], "maxUnhealthy": "40%"},
    }
    assert server.admin.make(wrong).status == 400


def rendered(folder: Path) -> list[dict[str, Any]]:
    """By kubectl's kustomize."""
    kubectl = build.program("kubectl", api_server.VERSION)
    if not kubectl.exists():
        pytest.skip(
            f"lane real: kubectl is not there; `python -m tests.real.build kubectl@{api_server.VERSION}` builds it"
        )
    done = subprocess.run([kubectl, "kustomize", folder], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.mark.parametrize(
    "components", [(), ("join", "serving-certificates", "alerts", "slices")], ids=["as it is", "with all of it"]
)
def test_kustomize_makes_what_the_server_takes(server: Server, tmp_path: Path, components: tuple[str, ...]) -> None:
    """Each image by its digest; the digest that is shipped is no image's, since nobody publishes one."""
    folder = Path(shutil.copytree(FOLDER, tmp_path / "in-cluster"))
    file = folder / "kustomization.yml"
    wanted = yaml.safe_load(file.read_text(encoding="utf-8")) | ({"components": list(components)} if components else {})
    file.write_text(yaml.safe_dump(wanted), encoding="utf-8")
    found = rendered(folder)
    jobs = {each["metadata"]["name"]: each for each in found if each["kind"] == "CronJob"}
    assert set(jobs) == {"look", "keep", *components} - {"alerts", "serving-certificates", "slices"}
    for name, job in jobs.items():
        spec = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        (image,) = {each["image"] for each in spec["containers"]}
        assert image == f"registry.invalid/winkube-ee@sha256:{'0' * 64}"
        assert job["spec"]["suspend"] is (name != "look"), "look begins, and changes nothing on a node"
        sliced = job["spec"]["jobTemplate"]["spec"]
        told = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}.get("WINKUBE_SLICES")
        assert told == (str(sliced["completions"]) if "slices" in components and name != "join" else None)
    dry = _Dry(server.admin.server, server.admin.token)
    for document in found:
        if document["kind"] != "PrometheusRule":
            assert dry.make(document).status in {201, 409}, document


FOR_WINDOWS: dict[str, dict[str, Any]] = {
    "by-selector": {"nodeSelector": {"kubernetes.io/os": "windows"}},
    "by-os": {"os": {"name": "windows"}},
    "by-affinity": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]}
        ]}]
    }}}},
}  # fmt: skip
FOR_OTHERS: dict[str, dict[str, Any]] = {
    "linux": {"nodeSelector": {"kubernetes.io/os": "linux"}},
    "no-words": {},
    "one-of-two": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/os", "operator": "In", "values": ["windows", "linux"]}
        ]}]
    }}}},
}  # fmt: skip


def evict(api: Api, name: str) -> Said:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "kube-system"}}
    return api.post(f"/api/v1/namespaces/kube-system/pods/{name}/eviction?dryRun=All", body)


@pytest.mark.parametrize("account", ["keep", "join"])
def test_only_pods_for_windows_are_evicted(server: Server, account: str) -> None:
    """A pod's own words count, and an administrator evicts any."""
    for name, spec in {**FOR_WINDOWS, **FOR_OTHERS}.items():
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "kube-system"}}
        containers = [{"name": "a", "image": "registry.example.com/a:1"}]
        said = server.admin.make(
            {**made, "spec": {"automountServiceAccountToken": False, "containers": containers, **spec}}
        )
        assert said.status in {201, 409}, said
    api = server.account(SPACE, account)
    until(lambda: all("only pods for Windows" in evict(api, name).refused for name in FOR_OTHERS), "some are evicted")
    assert [name for name in FOR_OTHERS if evict(server.admin, name).status != 201] == []
    for name in FOR_WINDOWS:
        said = evict(api, name)
        assert said.status == 201, (name, said)
