"""playbooks/diagnose.yml on both nodes that everything is shown with: what was broken is found, and nothing else.

Each node is the healthy twin of the other: what is broken on one is in order on the other.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.whole import BRIDGE, OVERLAY, Whole
from tests.lab.machine.node import SimulatedNode

DIAGNOSE = ROOT / "playbooks" / "diagnose.yml"
KUBE_PROXY = r"HKLM\SYSTEM\CurrentControlSet\Services\kube-proxy\Parameters"
FLANNELD = r"HKLM\SYSTEM\CurrentControlSet\Services\flanneld\Parameters"
CONFIG = r"C:\Program Files\containerd\config.toml"
SECRET = "sesame-81c2"


def diagnose(whole: Whole, *arguments: object, **more: Any) -> tuple[Run, dict[str, Any]]:
    """The run, and report.json."""
    folder = whole.bench.directory / "report"
    wanted: dict[str, Any] = {
        "winkube_diagnose_dir": str(folder),
        "winkube_diagnose_watch": 1,
        "winkube_diagnose_samples": 1,
        "winkube_diagnose_registries": ["http://xyz/"],
        "winkube_reconnect_timeout": 5,
    }
    run = whole.site(*arguments, playbook=DIAGNOSE, **(wanted | more))
    report: dict[str, Any] = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return run, report


def found(report: dict[str, Any], *, notes: bool = False) -> set[str]:
    """The ids of win1's findings, with those that follow from another; or of its notes."""
    (node,) = (one for one in report["nodes"] if one["host"] == "win1")
    if notes:
        return {one["id"] for one in node["notes"]}
    return {one["id"] for cause in node["causes"] for one in (cause, *cause["consequences"])}


def break_bridge(node: SimulatedNode) -> None:
    registry, drive = node.registry, node.drive
    line = registry.text(KUBE_PROXY, "AppParameters").replace(" --hostname-override=win1", "")
    registry.set(KUBE_PROXY, "AppParameters", "expand_string", line)
    for name in ("AppStdout", "AppStderr"):
        registry.delete_value(FLANNELD, name)
    drive.write(r"C:\k\SourceVip.json", b'{"ip4": {"ip": "10.244.200.2/24"}}')
    node.run(r"C:\Windows\System32\sc.exe", ["stop", "kubelet"])
    node.clock.advance(60)


@pytest.mark.row("TS-01", "TS-03", "TS-05", "TS-10", "TS-11", "OB-07")
def test_l2bridge_under_nssm_with_several_faults_and_a_node_out_of_reach(bench: Bench) -> None:
    whole = Whole(bench, BRIDGE, containers=True)
    whole.converge()
    whole.cluster.advance(30)
    whole.host.in_turn(lambda: break_bridge(whole.host.node))
    off = bench.node("win2", "192.168.122.232")
    off.in_turn(off.node.power_off)
    before = whole.host.node.drive.read(r"C:\k\SourceVip.json")
    bench.reset_ledger()
    run, report = diagnose(whole)
    assert run.rc != 0, run
    assert found(report) == {
        "kubelet.stopped",
        "kube-proxy.hostname-override",
        "services.output",
        "node.earlier-life",
    }, report
    assert bench.calls() == 2, "two looks"
    assert whole.host.node.drive.read(r"C:\k\SourceVip.json") == before, "nothing is changed"
    assert report["counts"]["unreachable"] == 1
    assert "kubelet does not run. service kubelet: it is stopped" in run.output, run
    assert "ansible-playbook winkube.node.repair --limit win1 -e winkube_repair=restart" in run.output, run
    assert "kube-proxy runs under another name." in run.output, run
    lines = next(node["services"] for node in report["nodes"] if node["host"] == "win1")
    assert any(line.startswith("kubelet: stopped, WIN32_EXIT_CODE ") for line in lines), lines
    written = bench.directory / "report" / "report.html"
    assert "win1 does not work: " in run.output, run
    assert "win2 does not work: not reached: " in run.output, run
    assert [run.recap[name].failed for name in ("win1", "win2")] == [1, 1], "each node fails for itself"
    tail = run.output.partition("PLAY RECAP")[0].rstrip()
    assert str(written) in tail[-len(str(written)) - 200 :], f"the path comes last: {tail[-400:]}"
    page = written.read_text(encoding="utf-8")
    assert "<svg " in page
    assert "cbr0" in page
    assert '<ol class="components">' in page
    assert "<h3>kubelet does not run</h3>" in page


HYPER_V = """#!/bin/sh
# Stands in for PowerShell on a Hyper-V host: what it is asked comes as -EncodedCommand.
for word; do :; done
printf %s "$word" | base64 -d | tr -d '\\000' | grep -q 'Get-VMNetworkAdapter -VMName \\*' || exit 1
echo '{"VMName": "win1", "Name": "Network Adapter", "MacAddress": "MAC", "MacAddressSpoofing": "Off"}'
"""


def hyper_v_host(bench: Bench, mac: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An inventory with a Hyper-V host, this machine, on which powershell.exe tells of one adapter."""
    program = bench.file("bin/powershell.exe", HYPER_V.replace("MAC", mac.replace("-", "")))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    return bench.file("hyperv.ini", "[hyperv_hosts]\nhost1 ansible_connection=local\n")


def break_overlay(node: SimulatedNode) -> None:
    network = node.hns.network("vxlan0")
    assert network is not None
    node.run(r"C:\Windows\System32\sc.exe", ["stop", "flanneld"])
    for endpoint in node.hns.endpoints_of(network["ID"]):
        node.hns.delete_endpoint(endpoint["ID"])
    node.hns.delete_network(network["ID"])
    text = node.drive.read(CONFIG).decode()
    node.drive.write(CONFIG, text.replace("pause:3.10.2", "pause:3.4.1").encode())


@pytest.mark.row("TS-05", "TS-06", "TS-07", "TS-18", "HP-06")
def test_overlay_under_sc_with_several_faults(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Whole(bench, OVERLAY, containers=True)
    whole.converge()
    whole.cluster.advance(30)
    run, report = diagnose(whole)
    assert run.rc == 0, run
    assert found(report) == set(), "under sc, too, kube-log-runner keeps what kubelet and kube-proxy print"
    assert "host.mac-spoofing-unknown" in found(report, notes=True), (
        "a virtual machine, and no Hyper-V host in the inventory"
    )

    whole.host.in_turn(lambda: break_overlay(whole.host.node))
    whole.cluster.advance(60)  # the last virtual switch has gone: the adapter needs a while to be back
    bench.plant(SECRET, "the proxy's password")
    mac = whole.host.in_turn(lambda: whole.host.node.adapters.all()[0].mac)
    hosts = hyper_v_host(bench, mac, monkeypatch)
    run, report = diagnose(
        whole,
        "-i",
        bench.inventory(),
        "-i",
        hosts,
        winkube_node_http_proxy=f"http://deploy:{SECRET}@proxy.example.com:3128/",
        winkube_diagnose_fail=False,
    )
    assert run.rc == 0, "only reports"
    wanted = {"image.pause-build", "host.mac-spoofing", "flannel.stopped", "hns.no-network", "host.proxy"}
    assert wanted <= found(report), report
    assert not found(report) & {"services.outside", "services.arguments", "kube-proxy.hostname-override"}
    assert "host.mac-spoofing-unknown" not in found(report, notes=True)
    causes = report["nodes"][0]["causes"]
    assert any(
        "Could not resolve proxy: proxy.example.com" in one["seen"] for one in causes if one["id"] == "host.proxy"
    )
    folder: Path = bench.directory / "report"
    assert SECRET not in "".join(path.read_text(encoding="utf-8") for path in folder.iterdir())


def test_a_relative_folder_is_one_of_the_current_folder_never_of_the_playbook(bench: Bench) -> None:
    play = bench.file(
        "installed/playbooks/report.yml",
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n"
        "    - winkube.node.k8s_windows_diagnosis: {hosts: [win1], directory: diagnosis}\n",
    )
    here = bench.directory / "here"
    here.mkdir()
    run = bench.ansible_playbook(play, cwd=here)
    assert run.rc == 0, run
    assert sorted(path.name for path in (here / "diagnosis").iterdir()) == ["report.html", "report.json", "report.md"]
    assert [path.name for path in play.parent.iterdir()] == ["report.yml"]
