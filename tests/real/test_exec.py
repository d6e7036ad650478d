"""The way of an exec as upstream's own code has it: our client speaks with it, and the record is still true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.exec import exec_in_pod, exit_status
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.stream import PROTOCOLS, V4, V5

from tests.real import exec_server

pytestmark = pytest.mark.skipif(
    not exec_server.PROGRAM.is_built,
    reason="lane real: exec_server is not there; `python -m tests.real.exec_server` builds it",
)


def cluster(folder: Path, port: int) -> Cluster:
    named = {"name": "real", "cluster": {"server": f"http://127.0.0.1:{port}"}}
    context = {"name": "real", "context": {"cluster": "real", "user": "real"}}
    document = {"clusters": [named], "contexts": [context], "users": [{"name": "real", "user": {"token": "t"}}]}
    file = folder / "config"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "real", **document}))
    found = Cluster.open({"kubeconfig": str(file)})
    assert found is not None
    return found


def test_the_record_is_what_it_says() -> None:
    recorded = json.loads(exec_server.RECORD.read_text(encoding="utf-8"))
    assert recorded["conversations"] == exec_server.answers()


@pytest.mark.parametrize("translate", [True, False])
def test_a_programs_output_and_exit_code(tmp_path: Path, translate: bool) -> None:
    with exec_server.running(translate=translate) as port:
        real = cluster(tmp_path, port)
        done = exec_in_pod(real, "n", "p", ["say", "out", "err"])
        assert (done.exit_code, done.stdout, done.stderr) == (0, "out", "err")
        assert exec_in_pod(real, "n", "p", ["big", "3000000"]).stdout == "x" * 3_000_000
        assert exec_in_pod(real, "n", "p", ["exit", "3"]).exit_code == 3
        failed = exec_in_pod(real, "n", "p", ["fail", "The system cannot find the file specified."])
        assert failed.exit_code == -1 and failed.stderr.endswith("The system cannot find the file specified.")


def said(real: Cluster, words: list[str], stdin: list[bytes], protocols: tuple[str, ...]) -> dict[int, bytes]:
    query = "&".join([*(f"command={word}" for word in words), "stdin=true", "stdout=true", "stderr=true"])
    found: dict[int, bytes] = {}
    for channel, data in real.converse(f"/api/v1/namespaces/n/pods/p/exec?{query}", stdin, protocols):
        found[channel] = found.get(channel, b"") + data
    return found


def test_standard_input_is_closed_with_v5_and_counted_with_v4(tmp_path: Path) -> None:
    pieces = [b"a" * 100_000, b"", b"b" * 100_000]
    with exec_server.running() as port:
        real = cluster(tmp_path, port)
        whole = said(real, ["cat"], pieces, PROTOCOLS)
        assert whole[1] == b"".join(pieces) and exit_status(whole[3].decode())[0] == 0
        # All of it: a server that closes a connection with something unread resets it, and its last words may be lost.
        counted = said(real, ["head", "200000"], pieces, (V4,))
        assert counted[1] == b"".join(pieces) and exit_status(counted[3].decode())[0] == 0


def test_an_older_server_refuses_v5_alone_and_takes_v4(tmp_path: Path) -> None:
    with exec_server.running(translate=False) as port:
        real = cluster(tmp_path, port)
        with pytest.raises(ClusterError, match="403"):
            said(real, ["head", "1"], [b"x"], (V5,))
        assert said(real, ["head", "1"], [b"x"], PROTOCOLS)[1] == b"x"
