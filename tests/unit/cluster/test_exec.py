"""A program in a pod over a WebSocket, against the lab's API server, and the meaning of its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.connection import Connection
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.exec import exec_in_pod

from tests.lab.cluster.cluster import Cluster as LabCluster
from tests.unit.workload_tests.smoke.clusters import NAMESPACE, Smoke, cluster


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[tuple[LabCluster, Cluster, str]]:
    """The lab's cluster, the client, and the name of a pod that runs."""
    with cluster(tmp_path) as lab:
        smoke = Smoke(lab)
        yield lab, smoke.cluster, smoke.facts().web[0].name


def test_output_and_exit_code_come_back(pod: tuple[LabCluster, Cluster, str]) -> None:
    _, found, name = pod
    done = exec_in_pod(found, NAMESPACE, name, ["whoami.exe"])
    assert (done.exit_code, done.stdout, done.stderr, done.ok) == (
        0,
        "user manager\\containeradministrator\r\n",
        "",
        True,
    )
    failed = exec_in_pod(found, NAMESPACE, name, ["curl.exe", "http://10.244.9.9/"], container="windowswebserver")
    assert (failed.exit_code, failed.ok) == (28, False)
    assert failed.stderr.startswith("curl: (28)")


def test_a_program_that_is_not_there_is_told(pod: tuple[LabCluster, Cluster, str]) -> None:
    _, found, name = pod
    done = exec_in_pod(found, NAMESPACE, name, ["bash"])
    assert done.exit_code == -1
    assert "cannot find the file" in done.stderr


def test_refusals_are_sentences_with_their_status(pod: tuple[LabCluster, Cluster, str]) -> None:
    lab, found, name = pod
    with pytest.raises(ClusterError, match=r'answered with 404: pods "none" not found\.') as missing:
        exec_in_pod(found, NAMESPACE, "none", ["whoami.exe"])
    assert missing.value.status == 404
    with pytest.raises(ClusterError, match="container other is not valid for pod"):
        exec_in_pod(found, NAMESPACE, name, ["whoami.exe"], container="other")
    file = lab.directory / "nobody.conf"
    file.write_text(lab.kubeconfig_for("nobody"))
    nobody = Cluster.open({"kubeconfig": str(file)})
    assert nobody is not None
    with pytest.raises(ClusterError, match='User "nobody" cannot get resource "pods/exec"') as refused:
        exec_in_pod(nobody, NAMESPACE, name, ["whoami.exe"])
    assert refused.value.status == 403


def test_a_server_that_is_gone_is_a_sentence(pod: tuple[LabCluster, Cluster, str]) -> None:
    lab, found, name = pod
    lab.stop()
    with pytest.raises(ClusterError, match=r"whoami\.exe in the pod .* cannot be reached"):
        exec_in_pod(found, NAMESPACE, name, ["whoami.exe"], timeout=3)


@pytest.mark.parametrize(
    ("messages", "code", "text"),
    [
        ([b"\x01a", b"\x01b", b'\x03{"status":"Success"}'], 0, ""),
        ([b"\x02oh", b'\x03{"status":"Failure","reason":"InternalError","message":"no"}'], -1, "ohno"),
        ([b"\x03[]"], -1, "which is not an exit status"),
        ([], -1, "without the exit status"),
        (
            [b"\x03" + json.dumps({"reason": "NonZeroExitCode", "details": {"causes": [{"reason": "x"}]}}).encode()],
            -1,
            "could not be started",
        ),
    ],
)
def test_how_a_stream_ends(messages: list[bytes], code: int, text: str) -> None:
    asked: list[str] = []

    def listen(path: str, timeout_s: float) -> Iterator[bytes]:
        asked.append(path)
        return iter(messages)

    cluster = Cluster(lambda: Connection("https://x", b"", lambda *_: (500, b""), listen))
    done = exec_in_pod(cluster, "ns", "pod", ["a b", "&c"])
    assert (done.exit_code, text in done.stderr) == (code, True)
    assert asked == [
        "/api/v1/namespaces/ns/pods/pod/exec?command=a+b&command=%26c&stdin=false&stdout=true&stderr=true&tty=false"
    ]


def test_no_key_of_a_kubeconfig_is_left_in_a_file(
    pod: tuple[LabCluster, Cluster, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed before: the package writes inline data to temporary files, which an Ansible worker never removed."""
    lab, _, name = pod
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    opened = Cluster.open({"kubeconfig": str(lab.kubeconfig)})
    assert opened is not None and list(folder.iterdir()) == []
    assert opened.node("control-plane") is not None, "and it can be asked all the same"
    assert exec_in_pod(opened, NAMESPACE, name, ["whoami.exe"]).ok
