"""cri_stats_info in a real ansible-playbook: a node with the defect is diagnosed, its healthy twin gives no finding.

The node is a CRI server over TCP and a kubelet behind an API server, both over real sockets; the file of wire.py judges
the client's bytes. No connection to a node is made, so no lab is started.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cri import wire

COLLECTIONS = Path(__file__).resolve().parents[2] / ".venv" / "collections"
SECOND = 1_000_000_000
HALF = 500_000_000


class Busy:
    """A container that uses half a core. With `defect` containerd 1.7's own arithmetic: usage against the last call of
    anybody, 0 where the counter has not moved; the counter moves at every second call. Else the true value.

    Source: containerd v1.7.12 pkg/cri/server/container_stats_list.go, getUsageNanoCores.
    """

    def __init__(self, *, defect: bool) -> None:
        self._defect = defect
        self._lock = threading.Lock()
        self._calls = 0
        self._last: tuple[int, int] | None = None

    def ask(self) -> tuple[int, int, int]:
        """Timestamp, counter, usageNanoCores."""
        with self._lock:
            self._calls += 1
            at, counter = self._calls * 5 * SECOND, self._calls // 2 * 10 * HALF
            last, self._last = self._last, (at, counter)
        if not self._defect:
            return at, counter, HALF
        if last is None or at <= last[0]:
            return at, counter, 0
        return at, counter, (counter - last[1]) * SECOND // (at - last[0])


@contextmanager
def api_server(summary: Any) -> Iterator[str]:
    """The address of an API server with one Node, win1, whose kubelet answers with `summary()`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            proxy = "/api/v1/nodes/win1/proxy/"
            answers = {proxy + "stats/summary": summary, proxy + "configz": lambda: {"kubeletconfig": {}}}
            found = answers.get(self.path)
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(found() if found else {"message": "no such thing"}).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Not onto the test's terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def kubeconfig(folder: Path, name: str, server: str) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    file = folder / f"{name}.kubeconfig"
    file.write_text(json.dumps(content))
    return str(file)


def node(stack: ExitStack, folder: Path, name: str, *, defect: bool) -> dict[str, Any]:
    """Starts one; returns the options of cri_stats_info."""
    busy = Busy(defect=defect)

    def container_stats() -> bytes:
        return wire.many(1, [wire.container_stats("load", "burner", "burn", wire.cpu(*busy.ask()))])

    def pod_stats() -> bytes:
        return wire.many(1, [wire.pod_stats("load", "burner", wire.cpu(1, 1, 1), [])])

    def summary() -> dict[str, Any]:
        """The kubelet passes on what the runtime reports."""
        _, counter, usage = busy.ask()
        cpu = {"time": "2024-01-22T19:48:13Z", "usageNanoCores": usage, "usageCoreNanoSeconds": counter}
        pod = {
            "podRef": {"name": "burner", "namespace": "load"},
            "cpu": cpu,
            "containers": [{"name": "burn", "cpu": cpu}],
        }
        return {"node": {}, "pods": [pod]}

    runtime = stack.enter_context(
        wire.serving(
            {
                wire.runtime("Version"): wire.version("1.7.12"),
                wire.runtime("ListContainerStats"): container_stats,
                wire.runtime("ListPodSandboxStats"): pod_stats,
            }
        )
    )
    server = stack.enter_context(api_server(summary))
    return {
        "address": runtime.address,
        "node_name": "win1",
        "cluster": {"kubeconfig": kubeconfig(folder, name, server)},
        "samples": 7,
        "interval": 0.05,
        "second_caller": 0.2,
    }


@pytest.mark.row("CT-39", "CT-42", "CT-43", "OB-05")
def test_the_defect_is_diagnosed_and_the_healthy_twin_is_not_accused(tmp_path: Path) -> None:
    with ExitStack() as stack:
        tasks: list[dict[str, Any]] = [
            {"winkube.node.cri_stats_info": node(stack, tmp_path, name, defect=defect), "register": name}
            for name, defect in (("sick", True), ("well", False))
        ]
        tasks.append(
            {
                "ansible.builtin.copy": {
                    "dest": str(tmp_path / "result.json"),
                    "content": "{{ {'sick': sick, 'well': well} | to_json }}",
                }
            }
        )
        (tmp_path / "play.json").write_text(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]))
        environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS), "ANSIBLE_NOCOLOR": "1"}
        environment.pop("ANSIBLE_CONFIG", None)
        done = subprocess.run(
            [str(Path(sys.executable).with_name("ansible-playbook")), "play.json"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["well"]["findings"] == []
    assert {one["blame"] for one in result["well"]["verdicts"]} == {"neither"}
    findings = {(one["container"], one["call"]): one for one in result["sick"]["findings"]}
    accused = findings[("burn", "ListContainerStats")]
    assert accused["blame"] == "containerd"
    assert accused["defect"]["issue"] == "https://github.com/containerd/containerd/issues/9531"
    assert {one["blame"] for one in findings.values()} == {"containerd"}
    assert result["sick"]["kubelet_stats"] == "partial"
    assert result["sick"]["containerd_version"] == "1.7.12"
    assert result["sick"]["second_caller"] >= 1
