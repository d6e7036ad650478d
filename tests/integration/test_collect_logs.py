"""playbooks/collect_logs.yml: a bundle of a node with secrets planted all over it, none of which is in it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.site import CONFIG, converge
from tests.lab.machine.builds import build
from tests.lab.programs.wevtutil import FOLDER as EVENTS
from tests.lab.server.host import NodeHost

COLLECT = ROOT / "playbooks" / "collect_logs.yml"
CRICTL = r"C:\Program Files\containerd\bin\crictl.exe"
SECRET = "PlantedSecret"
"""Begins every secret that is planted."""
KEY = f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{SECRET}Pem0123456789\n-----END RSA PRIVATE KEY-----\n"
LINE = "I0101 10:00:00.000000    1 kubelet.go:42] syncing\n"
LOG = (
    LINE * 100
    + f"Authorization: Bearer {SECRET}Bearer\n"
    + LINE * 16000
    + f"--token abcdef.0123456789abcdef {KEY}last line\n"
)
FILES = {
    r"C:\k\kubelet.log": LOG,
    r"C:\k\kube-proxy.log": f"using proxy http://ann:{SECRET}Proxy@10.0.0.9:3128\nTLS ready\n",
    r"C:\k\outputs.log": f'{{"msg":"sent with {SECRET} & of a service","level":"debug"}} and {SECRET}+of+an+address\n',
    r"C:\k\config": f"users: [{{user: {{token: {SECRET}Kubeconfig}}}}]\n",
    r"C:\k\kubeconfig.log": f"{SECRET}Named\n",
    r"C:\k\cni\config\cni.conf": '{"cniVersion": "0.2.0", "name": "cbr0", "type": "win-bridge"}',
    r"C:\run\flannel\subnet.env": "FLANNEL_SUBNET=10.244.2.1/24\n",
    r"C:\k\SourceVip.json": '{"ip4": {"ip": "10.244.2.7/24"}}',
    r"C:\etc\kubernetes\kubelet.conf": f"client-key-data: {SECRET}KeyData\n",
    r"C:\var\lib\kubelet\config.yaml": "kind: KubeletConfiguration\nrotateCertificates: true\n",
    rf"{EVENTS}\Application.evtx": (
        f'ansible.windows.win_user - Invoked with: {{"password": "{SECRET}Event"}}\n\nSource: nssm\nkubelet exited\n'
    ),
    rf"{EVENTS}\System.evtx": "Source: Service Control Manager\nThe kubelet service entered the stopped state.\n",
}


def plant(host: NodeHost) -> None:
    """What is on a node that somebody has worked with, and a kubelet service with a token on its command line."""

    def put() -> None:
        drive = host.node.drive
        for path, text in FILES.items():
            drive.mkdir(path.rpartition("\\")[0])
            drive.write(path, text.encode())
        auth = f'\n[plugins."io.containerd.grpc.v1.cri".registry.configs."r".auth]\n  password = "{SECRET}Registry"\n'
        drive.write(CONFIG, drive.read(CONFIG) + auth.encode())
        drive.write(CRICTL, build("crictl", "1.29.0"))
        line = rf"C:\k\kubelet.exe --windows-service --v=6 --bootstrap-token={SECRET}Argument"
        words = ["create", "kubelet", "binPath=", line]
        host.node.start_program(r"C:\Windows\System32\sc.exe", words, user="SYSTEM", elevated=True)
        host.node.clock.advance(5)

    host.in_turn(put)


def collect(bench: Bench, folder: Path, *arguments: object, **more: Any) -> Run:
    wanted = {
        "winkube_hosts": "windows",
        "winkube_logs_dir": str(folder),
        "winkube_kubernetes_version": "1.30.4",
        "winkube_network_mode": "l2bridge",
        "winkube_logs_redact": ["TLS rea.y"],
        "winkube_kubelet_environment": {"OUTPUT": f"{SECRET} & of a service", "LEVEL": "debug", "NODE": "win1"},
        "winkube_registries": [{"host": "r.example", "header": {"X-Team": f"{SECRET} of an address"}}],
        **more,
    }
    extra = bench.file("collect.json", json.dumps(wanted))
    run = bench.ansible_playbook(COLLECT, "-e", f"@{extra}", *arguments)
    assert run.rc == 0, run.output
    return run


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.row("LG-01", "LG-02", "LG-03", "LG-04", "LG-06", "LG-07", "OB-08")
def test_a_bundle_has_what_helps_and_no_secret_and_is_gone_on_with(bench: Bench) -> None:
    host = bench.node()
    converge(bench, version="1.7.28")
    plant(host)
    folder = bench.directory / "logs"

    collect(bench, folder, "--tags", "hnstrace_start")
    assert not folder.exists(), "a trace was begun, nothing else"
    run = collect(bench, folder, "--tags", "hnstrace_stop")
    found = everything(folder / "win1")
    text = {name: data.decode(errors="replace") for name, data in found.items()}
    for name, data in found.items():
        assert SECRET.encode() not in data and b"0123456789abcdef" not in data, name
    assert SECRET not in run.output

    assert text["network/hnstrace.etl"].startswith("ETL of 9 providers")
    log = text["files/c/k/kubelet.log"]
    assert log.startswith(LINE) and log.endswith("last line\n") and "bytes left out" in log
    assert len(log) <= 384 * 1024 < len(LOG)
    assert "files/c/k/config" not in text and "files/c/k/kubeconfig.log" not in text
    assert text["files/c/k/kube-proxy.log"] == "using proxy http://<removed>@10.0.0.9:3128\n<removed>\n"
    assert text["files/c/k/outputs.log"] == '{"msg":"sent with <removed>","level":"debug"} and <removed>\n'
    assert "password = <removed>" in text["files/c/Program Files/containerd/config.toml"]
    for name in (r"C:\k\cni\config\cni.conf", r"C:\run\flannel\subnet.env", r"C:\k\SourceVip.json"):
        assert text[f"files/c/{name[3:].replace(chr(92), '/')}"] == FILES[name]
    assert "IPv4 Address" in text["network/ipconfig.txt"]
    assert json.loads(text["network/hns-networks.json"])["Success"] is True
    assert {"network/hns-endpoints.json", "network/hns-policylists.json", "network/adapters.json"} <= set(text)
    services = {service["name"] for service in json.loads(text["services/all.json"])}
    assert {"kubelet", "containerd"} <= services
    assert "BINARY_PATH_NAME   : C:\\k\\kubelet.exe" in text["services/kubelet.qc.txt"]
    assert "RuntimeVersion:  v1.7.28" in text["containers/crictl-version.txt"]
    assert {"containers/crictl-ps.txt", "containers/crictl-pods.txt", "containers/crictl-stats.txt"} <= set(text)
    assert "entered the stopped state" in text["events/System.txt"]
    assert "kubelet exited" in text["events/Application.txt"]
    assert "exit code 15007" in text["events/Microsoft-Windows-Hyper-V-VmSwitch-Operational.txt"]
    left_out = json.loads(text["manifest.json"])["left_out"]
    assert left_out["files/c/k/kubeconfig.log"] == "it holds secrets"
    assert left_out["network/vfp-ports.txt"] == "vfpctrl.exe is not on the node"
    with zipfile.ZipFile(folder / "win1.zip") as archive:
        assert {name.removeprefix("win1/") for name in archive.namelist()} == set(found)
        assert archive.testzip() is None

    report = text["issue_report.md"]
    assert "Container runtime (containerd or Docker) and version: containerd 1.7.28\n" in report
    assert "kubelet on win1: v1.30.4" in report
    assert "- verbosity of kubelet: --v=6" in report
    assert report.rstrip().endswith("/sig windows")

    # Again: what has not changed is not fetched, what was lost is.
    (folder / "win1" / "files" / "c" / "k" / "kube-proxy.log").unlink()
    bench.reset_ledger()
    again = collect(bench, folder)
    assert text["files/c/k/kube-proxy.log"] == everything(folder / "win1")["files/c/k/kube-proxy.log"].decode()
    assert bench.account("win1").bytes_out < 200_000, "the kubelet's log was not fetched again"
    assert SECRET not in again.output
