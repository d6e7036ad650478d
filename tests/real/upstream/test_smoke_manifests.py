"""Lane `real`: running kube-apiservers of two minors take every object of the smoke test in a server-side dry run."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests.smoke import manifests

from tests.real import build
from tests.real.upstream.apiserver import ApiServer, running
from tests.unit.workload_tests import told

DOCUMENT = Path(__file__).resolve().parents[2] / "fixtures" / "smoke" / "win-webserver.yaml"
DRY = "?dryRun=All&fieldValidation=Strict&fieldManager=winkube"
WISHES = (
    told.deployed({20348: 1}, until="2030-01-01T00:00:00Z"),
    told.deployed(
        {17763: 3, 20348: 1, 26100: 2}, until="2030-01-01T00:00:00Z", taints=("os:NoExecute",), pull_secret="a/b"
    ),
)


@pytest.mark.row("SM-17")
@pytest.mark.parametrize("version", build.SERVER_VERSIONS)
def test_the_running_server_takes_what_the_smoke_test_makes(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = build.program("kube-apiserver", version)
    if not program.exists() or shutil.which("etcd") is None:
        pytest.skip(
            f"lane real: kube-apiserver {version} or etcd is not there; "
            f"`python -m tests.real.build kube-apiserver@{version}` and `apt install etcd-server` bring them"
        )
    taken = 0
    with running(program, tmp_path) as server:
        namespace = manifests.namespace(WISHES[0])
        assert server.request("POST", f"/api/v1/namespaces{DRY}", namespace)[0] == 201
        assert server.request("POST", "/api/v1/namespaces", namespace)[0] == 201
        for wish in WISHES:
            for path, item in manifests.objects(wish):
                taken += accepted(server, path, item)
                if item["kind"] == "Deployment":
                    taken += accepted(server, "/api/v1/namespaces/smoke/pods", pod_of(item))
        for item in yaml.safe_load_all(DOCUMENT.read_text(encoding="utf-8")):
            base = "/api/v1" if item["kind"] == "Service" else "/apis/apps/v1"
            taken += accepted(server, f"{base}/namespaces/default/{item['kind'].lower()}s", item)
        # The same way it refuses what is no field, and what its policy does not take.
        wrong = {**item, "spec": {**item["spec"], "replica": 2}}
        status, answer = server.request("POST", f"/apis/apps/v1/namespaces/default/deployments{DRY}", wrong)
        assert (status, 'unknown field "spec.replica"' in answer["message"]) == (400, True)
        pod = pod_of(manifests.objects(WISHES[0])[-1][1])
        pod["spec"]["securityContext"]["windowsOptions"]["hostProcess"] = True
        assert server.request("POST", f"/api/v1/namespaces/smoke/pods{DRY}", pod)[0] in {403, 422}
    with capsys.disabled():
        print(f"\nKubernetes {version}, running: takes {taken} objects of the smoke test in a dry run")
    assert taken == 20


def accepted(server: ApiServer, path: str, item: dict[str, Any]) -> int:
    status, answer = server.request("POST", f"{path}{DRY}", item)
    assert status == 201, (item["kind"], item["metadata"]["name"], answer)
    return 1


def pod_of(deployment: dict[str, Any]) -> dict[str, Any]:
    """The pod that a Deployment's template makes."""
    template = deployment["spec"]["template"]
    metadata = {"name": "pod", "namespace": "smoke", "labels": template["metadata"]["labels"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
