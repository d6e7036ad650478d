"""Lane `real`: a running kube-apiserver rejects exactly the fields that our errors of LM-01 to LM-20 name.

The recordings in tests/fixtures/lint/apiserver come from the server's validation alone, so that they can be checked
everywhere; here the whole server says the same, admission and storage included.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.corpus.upstream import ours, place
from tests.real import build
from tests.real.upstream.apiserver import ApiServer, running
from tests.unit.lint.judged import judged_pods
from tests.unit.lint.test_rules import FIXTURES

CREATE = "/api/v1/namespaces/default/pods?dryRun=All&fieldManager=winkube"
RUNTIME_CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
# A running pod gets these by a subresource; at creation they are forbidden whatever stands in them.
EPHEMERAL = "spec.ephemeralContainers"


def rejected(server: ApiServer, pod: dict[str, Any]) -> set[str]:
    """The fields that the server names; empty if it takes the pod."""
    status, answer = server.request("POST", CREATE, pod)
    if status == 201:
        return set()
    assert status == 422, (pod["metadata"]["name"], answer["message"])
    fields = {cause["field"] for cause in answer["details"]["causes"]} - {EPHEMERAL}
    return {place(each) for each in fields}


@pytest.mark.parametrize("version", build.SERVER_VERSIONS)
def test_the_running_server_rejects_what_we_call_an_error(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = build.program("kube-apiserver", version)
    if not program.exists() or shutil.which("etcd") is None:
        pytest.skip(
            f"lane real: kube-apiserver {version} or etcd is not there; "
            f"`python -m tests.real.build kube-apiserver@{version}` and `apt install etcd-server` bring them"
        )
    line = version.rsplit(".", 1)[0]
    minor = int(line.split(".")[1])
    gates = json.loads((FIXTURES / "apiserver" / f"{line}.json").read_text(encoding="utf-8"))["gates"]
    both: dict[str, set[str]] = {"we": set(), "the server": set()}
    with running(program, tmp_path, gates) as server:
        pods = judged_pods(minor)
        for name in sorted({pod["spec"]["runtimeClassName"] for pod in pods if pod["spec"].get("runtimeClassName")}):
            server.request("POST", RUNTIME_CLASSES, {"metadata": {"name": name}, "handler": name})
        for pod in pods:
            theirs = rejected(server, pod)
            assert ours(pod, minor) == theirs, pod["metadata"]["name"]
            both["we"] |= ours(pod, minor)
            both["the server"] |= theirs
    with capsys.disabled():
        print(f"\nKubernetes {version}, running: {len(pods)} pods")
        for who, fields in both.items():
            print(f"  {who} reject{'s' if who != 'we' else ''} {len(fields)} fields: {', '.join(sorted(fields))}")
    assert len(both["the server"]) >= 20
