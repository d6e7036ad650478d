"""k8s_windows_cri_info in a real run: a node with the defect is diagnosed, its healthy twin gives no finding.

Both are simulated nodes with the same container, which uses half a core. They serve CRI over real gRPC as far as their
containerd's config.toml opens it, and the summary through the lab's API server. wire.py judges the client's bytes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from xml.etree import ElementTree

import grpc
import pytest

from tests.integration.lab import ROOT, Bench
from tests.lab.cluster.cluster import Cluster
from tests.lab.machine.builds import release_archive
from tests.lab.programs import containers
from tests.lab.programs.cri_stats import Stats
from tests.lab.server.host import NodeHost
from tests.lab.twin.ops_transfer import read_archive
from tests.unit.cri import wire

BIN = r"C:\Program Files\containerd\bin"
CONFIG = r"C:\Program Files\containerd\config.toml"
OPEN = """version = 2
[grpc]
  tcp_address = "127.0.0.1:8888"
[plugins."io.containerd.grpc.v1.cri"]
  disable_tcp_service = false
"""


def containerd(host: NodeHost, version: str) -> None:
    """A containerd of this release that runs, with its port open, and a container in it."""
    node = host.node
    host.in_turn(lambda: node.drive.mkdir(BIN))
    for member in read_archive("a", release_archive("containerd", version)):
        name = f"{BIN}\\{member.name.split('/')[1]}"
        host.in_turn(lambda name=name, data=member.data: node.drive.write(name, data))  # type: ignore[misc]
    host.in_turn(lambda: node.drive.write(CONFIG, OPEN.encode()))
    host.in_turn(lambda: node.clock.advance(node.faults.antivirus_s))
    assert node.run(f"{BIN}\\containerd.exe", ["--register-service", "--config", CONFIG]).exit_code == 0
    assert node.run(r"C:\Windows\System32\sc.exe", ["start", "containerd"]).exit_code == 0
    host.in_turn(lambda: node.clock.advance(60))
    host.in_turn(lambda: _start(host))


def _start(host: NodeHost) -> None:
    node = host.node
    process = node.processes.spawn(r"C:\burn.exe", None)
    server = node.processes.get(node.services.runtime("containerd").pid)
    assert server is not None
    containers.add(server, containers.Container("a" * 64, process.pid, "load", "burner", "burn", cores=0.5))
    node.clock.advance(30)


def serve(stack: ExitStack, host: NodeHost, cluster: Cluster) -> str:
    """Starts what the node serves; the address of its CRI."""
    stats = Stats(host.node)

    def while_open(answer: Callable[[], bytes]) -> Callable[[], Any]:
        return lambda: host.in_turn(lambda: answer() if stats.server() else grpc.StatusCode.UNIMPLEMENTED)

    def release() -> str:
        server = stats.server()
        return str(server.facts["version"]) if server else ""

    def container_stats() -> bytes:
        found = []
        for cpu in stats.list_container_stats():
            one, values = cpu.container, wire.cpu(cpu.at_ns, cpu.core_ns, cpu.nano_cores)
            found.append(wire.container_stats(one.namespace, one.pod, one.container, values))
        return wire.many(1, found)

    cluster.api.proxied[host.spec.name, "stats/summary"] = lambda: host.in_turn(stats.summary)
    cluster.api.proxied[host.spec.name, "configz"] = {"kubeletconfig": {}}
    runtime = stack.enter_context(
        wire.serving(
            {
                wire.runtime("Version"): while_open(lambda: wire.version(release())),
                wire.runtime("ListContainerStats"): while_open(container_stats),
            }
        )
    )
    return runtime.address


@pytest.mark.row("CT-39", "CT-42", "CT-43", "OB-05")
def test_the_defect_is_diagnosed_and_the_healthy_twin_is_not_accused(bench: Bench) -> None:
    cluster = bench.cluster()
    with ExitStack() as stack:
        tasks: list[dict[str, Any]] = []
        for number, (name, version) in enumerate((("sick", "1.7.12"), ("well", "1.6.36"))):
            host = bench.node(name, f"192.168.122.{220 + number}")
            containerd(host, version)
            options: dict[str, Any] = {
                "gather": ["containers", "stats"],
                "address": serve(stack, host, cluster),
                "node_name": name,
                "cluster": {"kubeconfig": str(cluster.shipped("diagnose", "diagnose-kubelet"))},
                "stats": {"samples": 7, "interval": 0.05, "second_caller": 0.05},
            }
            tasks.append({"winkube.node.k8s_windows_cri_info": options, "register": name})
        result_file = bench.directory / "result.json"
        content = "{{ {'sick': sick, 'well': well} | to_json }}"
        tasks.append({"ansible.builtin.copy": {"dest": str(result_file), "content": content}})
        play = bench.play(json.dumps([{"hosts": "localhost", "gather_facts": False, "tasks": tasks}]), "play.json")
        done = bench.ansible_playbook(play)
        assert done.rc == 0, str(done)
        _watched(bench, tasks[0]["winkube.node.k8s_windows_cri_info"])
    result = json.loads(result_file.read_text())
    assert result["well"]["version"]["runtimeVersion"] == "1.6.36"
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


def _watched(bench: Bench, options: dict[str, Any]) -> None:
    """stats_watch.yml on the sick node: a table in the terminal, CSV, a plot, and it fails with the finding."""
    extra = {f"winkube_stats_{name}": value for name, value in options["stats"].items()}
    extra |= {"winkube_stats_address": options["address"], "winkube_stats_node": options["node_name"]}
    extra["winkube_cluster"] = options["cluster"]
    extra |= {"winkube_stats_to": str(bench.directory / "report")}
    file = bench.file("stats.json", json.dumps(extra))
    done = bench.ansible_playbook(ROOT / "playbooks" / "stats_watch.yml", "-e", f"@{file}")
    assert done.rc == 2 and "containerd/issues/9531" in done.output, str(done)
    assert "/stats/summary ListContainerStats" in done.output
    assert "container burn of pod load/burner" in done.output and " 0 ! " in done.output
    with (bench.directory / "report" / "stats-sick.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    assert len([row for row in rows if row["source"] == "ListContainerStats"]) == 7
    page = (bench.directory / "report" / "stats-sick.html").read_text()
    plot = ElementTree.fromstring(page[page.index("<svg") : page.index("</svg>") + 6])
    assert [one for one in plot.iter() if one.get("class") == "zero"]
    assert "issues/9531" in page, "the verdicts"
