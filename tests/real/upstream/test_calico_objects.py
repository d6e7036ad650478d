"""Lane `real`: a running kube-apiserver with Calico's own CustomResourceDefinitions takes what the plan for Calico
writes, and nothing is left to write."""

from __future__ import annotations

import base64
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.calico.plan import Options, plan
from ansible_collections.winkube.node.plugins.plugin_utils.calico.view import look
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster

from tests.real import build, custom_kinds
from tests.real.upstream.apiserver import ApiServer, running
from tests.unit.calico.objects import WANTED

VERSION = build.SERVER_VERSIONS[-1]
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ESTABLISHED_S = 60.0
DEPLOYMENT: dict[str, Any] = {
    "metadata": {"name": "tigera-operator"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"name": "tigera-operator"}},
        "template": {
            "metadata": {"labels": {"name": "tigera-operator"}},
            "spec": {"containers": [{"name": "operator", "image": "quay.io/tigera/operator:v1.40.0"}]},
        },
    },
}


def test_the_running_server_takes_what_the_plan_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = build.program("kube-apiserver", VERSION)
    if not program.exists() or shutil.which("etcd") is None or shutil.which("go") is None:
        pytest.skip(
            f"lane real: kube-apiserver {VERSION}, etcd or go is not there; "
            f"`python -m tests.real.build kube-apiserver@{VERSION}` and `apt install etcd-server` bring them"
        )
    with running(program, tmp_path) as server:
        kinds = [define(server, each) for each in custom_kinds.definitions(custom_kinds.module())]
        namespace = {"metadata": {"name": "tigera-operator"}}
        assert server.request("POST", "/api/v1/namespaces", namespace)[0] == 201
        made = server.request("POST", "/apis/apps/v1/namespaces/tigera-operator/deployments", DEPLOYMENT)
        assert made[0] == 201, made
        cluster = Cluster.open({"kubeconfig": str(kubeconfig(server, tmp_path))})
        assert cluster is not None
        changes = plan(look(cluster), WANTED, Options())
        for change in changes:
            change.do(cluster)
        again = plan(look(cluster), WANTED, Options())
        # What is no field of the definition, and what its values do not allow, is refused there.
        path = f"{path_of('Installation', kinds)}/default"
        status, there = server.request("GET", path)
        assert status == 200
        there["spec"]["calicoNetwork"]["windowsDataplane"] = "eBPF"
        assert server.request("PUT", f"{path}?fieldValidation=Strict", there)[0] == 422
    with capsys.disabled():
        print(f"\nKubernetes {VERSION}, running: takes {len(changes)} changes of the plan for Calico")
    assert [change.text.split(" (")[0] for change in changes][:2] == [
        "create the ConfigMap tigera-operator/kubernetes-services-endpoint",
        "create the Installation default",
    ]
    assert [change.text for change in again] == []


def define(server: ApiServer, definition: dict[str, Any]) -> dict[str, Any]:
    """A CustomResourceDefinition that is established."""
    name = definition["metadata"]["name"]
    status, answer = server.request("POST", CRDS, definition)
    assert status == 201, (name, answer)
    end = time.monotonic() + ESTABLISHED_S
    while time.monotonic() < end:
        conditions = server.request("GET", f"{CRDS}/{name}")[1]["status"].get("conditions") or []
        if any(each["type"] == "Established" and each["status"] == "True" for each in conditions):
            return definition
        time.sleep(0.2)
    raise AssertionError(f"{name} is not established after {ESTABLISHED_S:g} s")


def path_of(kind: str, definitions: list[dict[str, Any]]) -> str:
    """Where the objects of a kind are."""
    spec = next(each["spec"] for each in definitions if each["spec"]["names"]["kind"] == kind)
    version = next(each["name"] for each in spec["versions"] if each["served"])
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"


def kubeconfig(server: ApiServer, folder: Path) -> Path:
    """For an administrator, by the certificate that the server made for itself."""
    authority = base64.b64encode((folder / "certificates" / "apiserver.crt").read_bytes()).decode()
    cluster = {"server": f"https://127.0.0.1:{server.port}", "certificate-authority-data": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "real", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": server.token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "current-context": "real",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path
