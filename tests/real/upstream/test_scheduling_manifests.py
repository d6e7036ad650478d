"""Lane `real`: a running kube-apiserver takes our RuntimeClasses, the IIS sample and the pods of a density run, and a
RuntimeClass adds to a pod what the documents say it does."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.facts.windows import IMAGE_NAMES
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.nodes import windows_node
from ansible_collections.winkube.node.plugins.plugin_utils.scheduling.runtime_class import COLLECTION, runtime_class
from ansible_collections.winkube.node.plugins.plugin_utils.workload_tests import density
from ansible_collections.winkube.node.plugins.plugin_utils.workloads.iis import iis

from tests.real import build
from tests.real.upstream.apiserver import ApiServer, running
from tests.unit.scheduling.objects import windows
from tests.unit.workload_tests import told

TAINTS = ("os=windows:NoSchedule",)
HANDLER = "runhcs-wcow-process"
DEFAULT = "/api/v1/namespaces/default"
DRY = "?dryRun=All&fieldManager=winkube&fieldValidation=Strict"


def taken(server: ApiServer, path: str, body: dict[str, Any]) -> dict[str, Any]:
    status, answer = server.request("POST", f"{path}{DRY}", body)
    assert status == 201, answer
    return answer


@pytest.mark.row("SC-14", "SC-15", "SC-17", "SM-16")
@pytest.mark.parametrize("version", build.SERVER_VERSIONS)
def test_a_running_server_takes_what_we_make(version: str, tmp_path: Path) -> None:
    program = build.program("kube-apiserver", version)
    if not program.exists() or shutil.which("etcd") is None:
        pytest.skip(
            "lane real: kube-apiserver or etcd is not there; "
            f"`python -m tests.real.build kube-apiserver@{version}` and `apt install etcd-server` bring them"
        )
    node = windows_node(windows("win1", 20348, kubelet=version))
    wish = told.density("winkube-density-a", "2026-11-21T00:00:00Z", pods=1)
    with running(program, tmp_path) as server:
        for names in IMAGE_NAMES:
            made = runtime_class(names.build, HANDLER, TAINTS)
            taken(server, COLLECTION, made)
            assert server.request("POST", COLLECTION, made)[0] == 201
        for names in IMAGE_NAMES:
            if names.iis is None:
                continue
            deployment, service = iis(names.build)
            taken(server, "/apis/apps/v1/namespaces/default/deployments", deployment)
            taken(server, f"{DEFAULT}/services", service)
            spec = deployment["spec"]["template"]["spec"]
            pod = taken(server, f"{DEFAULT}/pods", {"kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
            assert pod["spec"]["nodeSelector"] == made_for(names.build)["nodeSelector"]
            assert made_for(names.build)["tolerations"][0] in pod["spec"]["tolerations"]
        taken(server, "/api/v1/namespaces", density.namespace(wish))
        for pod in density.pods(wish, [node]):
            taken(server, f"{DEFAULT}/pods", pod)
        changed = runtime_class(20348, "other", TAINTS)
        path = f"{COLLECTION}/windows-2022"
        version_now = server.request("GET", path)[1]["metadata"]["resourceVersion"]
        changed["metadata"]["resourceVersion"] = version_now
        assert server.request("PUT", f"{path}{DRY}", changed)[0] == 422, "a handler cannot be changed, as we say"
        more = runtime_class(20348, HANDLER, (*TAINTS, "team=a:NoExecute"))
        more["metadata"]["resourceVersion"] = version_now
        assert server.request("PUT", f"{path}{DRY}", more)[0] == 200, "its tolerations can"


def made_for(number: int) -> dict[str, Any]:
    """What the RuntimeClass of a build schedules by."""
    found: dict[str, Any] = runtime_class(number, HANDLER, TAINTS)["scheduling"]
    return found
