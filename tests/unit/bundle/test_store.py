"""A bundle of limited size, which continues where it ended, readable only for its owner."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import collect
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.collect import group_paths
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.issue import runtime_of
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.store import LIMIT, MANIFEST, Store
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import PROGRAM_SERVICES
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key

from tests.unit.components.nodes import LAYOUT, wanted_node

EXPECTED = wanted_node()


@pytest.mark.row("LG-01", "LG-06")
def test_what_is_written_is_redacted_before(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "win1", 1000)
    assert store.put("a/b.txt", "token: hunter2", source="x")
    assert (tmp_path / "win1" / "a" / "b.txt").read_text() == "token: <removed>"
    assert store.files["a/b.txt"]["redacted"] == 1
    assert store.put("c.txt", "half a character: \udc80", source="x")
    assert (tmp_path / "win1" / "c.txt").read_text() == "half a character: ?"
    assert (tmp_path / "win1").stat().st_mode & 0o077 == 0
    assert (tmp_path / "win1" / "a" / "b.txt").stat().st_mode & 0o077 == 0


@pytest.mark.row("LG-01")
def test_a_bundle_has_a_limit_and_says_what_is_not_in_it(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "win1", 100)
    assert store.put("one", "x" * 60, source="x")
    assert not store.put("two", "y" * 60, source="y")
    assert store.put("three", "z" * 40, source="z")
    assert store.put("one", "x" * 50, source="x"), "what it replaces does not count"
    assert store.left_out == {"two": "the bundle would have more than its 100 bytes (max_total)"}
    assert store.total() == 90
    with zipfile.ZipFile(store.pack()) as archive:
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o600}
        assert archive.namelist() == ["win1/manifest.json", "win1/one", "win1/three"]
        assert json.loads(archive.read("win1/manifest.json"))["left_out"] == store.left_out
    assert (tmp_path / "win1.zip").stat().st_mode & 0o077 == 0
    before = (tmp_path / "win1.zip").read_bytes()
    store.pack()
    assert (tmp_path / "win1.zip").read_bytes() == before


@pytest.mark.row("LG-01")
def test_it_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "win1", 1000)
    store.put("a", "one", source=r"C:\a", size=3, changed="t1")
    store.put("b", "two", source=r"C:\b", size=3, changed="t1")
    store.save()
    (tmp_path / "win1" / "b").write_text("spoiled")
    again = Store.open(tmp_path / "win1", 1000)
    assert again.has("a", 3, "t1")
    assert not again.has("a", 4, "t1") and not again.has("a", 3, "t2")
    assert not again.has("b", 3, "t1"), "the copy is not what was fetched"
    assert not again.has("c", 0, "")
    (tmp_path / "win1" / MANIFEST).write_text("{")
    assert Store.open(tmp_path / "win1", 1000).files == {}


def test_nothing_leads_out_of_the_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="leads out"):
        Store.open(tmp_path / "win1", 1000).put("../x", "text", source="x")


@pytest.mark.row("LG-01")
def test_each_question_fits_into_an_answer() -> None:
    sizes = {f"f{n}": (200_000, "t") for n in range(4)} | {"huge": (10**9, "t"), "next": (20_000, "t")}
    groups = list(group_paths(sizes))
    assert groups == [["f0", "f1", "f2"], ["f3", "huge"], ["next"]]
    assert LIMIT * 4 / 3 < 1024 * 1024


@pytest.mark.row("LG-07")
def test_what_is_collected() -> None:
    commands = {command.file: command for command in collect.commands(LAYOUT, EXPECTED, events=50)}
    lines = {name: command.line for name, command in commands.items()}
    assert lines["network/ipconfig.txt"] == "ipconfig.exe /allcompartments /all"
    assert lines["network/routes.txt"] == "route.exe print"
    assert lines["network/excluded-ports-tcp.txt"] == "netsh.exe interface ipv4 show excludedportrange tcp"
    assert lines["services/kubelet.qc.txt"] == "sc.exe qc kubelet"
    assert lines["services/hns.qc.txt"] == "sc.exe qc hns"
    for name, words in {"pods": "pods -o json", "ps": "ps -a -o json", "stats": "stats -a"}.items():
        line = lines[f"containers/crictl-{name}.txt"]
        assert line == f"crictl.exe --runtime-endpoint npipe:////./pipe/containerd-containerd {words}"
    assert lines["containers/ctr-tasks.txt"].endswith("--namespace k8s.io tasks list")
    assert lines["events/System.txt"] == "wevtutil.exe qe System /c:50 /rd:true /f:text"
    assert all(command.program[1:3] == ":\\" for command in commands.values())
    assert commands["network/arp.txt"].op.args["ok_exit"] == ["any"], "1639 of sc.exe was not in the list"


@pytest.mark.row("LG-07")
def test_what_is_looked_at_of_network_containers_and_services() -> None:
    files = [command.file for command in collect.commands(LAYOUT, EXPECTED, events=50)]
    named = {folder: {file.split("/")[1] for file in files if file.startswith(f"{folder}/")} for folder in FOLDERS}
    ports = {f"{kind}-ports-{protocol}" for kind in ("excluded", "dynamic") for protocol in ("tcp", "udp")}
    network = {"ipconfig", "routes", "mtu", "arp", "netstat", "firewall", "hnsdiag", "vfp-ports", *ports}
    crictl = {f"crictl-{name}" for name in ("pods", "ps", "stats", "images", "version")}
    ctr = {f"ctr-{name}" for name in ("version", "containers", "tasks")}
    ours = {"containerd", "kubelet", "flanneld", "kube-proxy"}
    windows = {"hns", "vmcompute", "vfpext", "dnscache", "iphlpsvc", "BFE", "mpssvc", "nsi", "SharedAccess", "vmms"}
    assert named["network"] == {f"{name}.txt" for name in network}
    assert named["containers"] == {f"{name}.txt" for name in (*crictl, *ctr, "hcsdiag-list")}
    assert named["services"] == {f"{name}.{kind}.txt" for name in ours | windows for kind in ("qc", "query")}
    assert named["system"] == {"systeminfo.txt", "tasklist.txt"}


FOLDERS = ("network", "containers", "services", "system")


@pytest.mark.row("LG-07")
def test_which_settings_are_read() -> None:
    found = collect.settings(replace(LAYOUT, registry_hosts=("registry.example",)))
    optional = tuple(path for each in PROGRAM_SERVICES for path in each.component.settings(LAYOUT))
    assert set(optional) <= set(found)
    assert tuple(path for path in found if path not in optional) == (
        r"C:\Program Files\containerd\config.toml",
        rf"{LAYOUT.certs_dir}\registry.example\hosts.toml",
        r"C:\var\lib\kubelet\config.yaml",
        r"C:\var\lib\kubelet\kubeadm-flags.env",
        r"C:\k\cni\config\cni.conf",
        r"C:\run\flannel\subnet.env",
        r"C:\k\SourceVip.json",
        r"C:\etc\kube-flannel\net-conf.json",
    )


@pytest.mark.row("LG-01")
def test_the_event_logs_of_the_system_and_of_hns_and_compute() -> None:
    hyper_v, hns = "Microsoft-Windows-Hyper-V", "Microsoft-Windows-Host-Network-Service"
    files = [command.file for command in collect.commands(LAYOUT, EXPECTED, events=50)]
    assert [file.removesuffix(".txt").removeprefix("events/") for file in files if file.startswith("events/")] == [
        "System",
        "Application",
        f"{hns}-Admin",
        f"{hns}-Operational",
        f"{hyper_v}-Compute-Admin",
        f"{hyper_v}-Compute-Operational",
        f"{hyper_v}-VmSwitch-Operational",
    ]


@pytest.mark.row("LG-01")
def test_logs_are_found_where_the_services_put_them() -> None:
    service = {"name": "kubelet", "image_path": r"C:\k\kubelet.exe --log-dir=D:\logs", "nssm": None}
    reading = Reading().merge({"services": [service]})
    layout = replace(LAYOUT, log_dir=r"E:\logs", containerd_log=r"F:\logs\containerd.log")
    assert {r"C:\k", r"D:\logs", r"E:\logs", r"F:\logs"} == set(collect.folders(layout, EXPECTED, reading))
    names = [
        "kubelet.exe.INFO",
        "kubelet.exe.win1.log.INFO.20260101-1",
        "kubelet.err.log",
        "kubelet.err",
        "kubelet.OUT",
        "kubeconfig.log",
        "x.exe",
        "a.txt",
    ]
    reading = reading.merge({file_key(r"C:\k"): {"entries": names}, file_key(r"D:\logs"): {"entries": ["b.log"]}})
    paths, secret = collect.select_files(LAYOUT, EXPECTED, reading, [r"C:\app\app.log", r"C:\app\id_rsa"])
    assert {
        r"C:\k\kubelet.exe.win1.log.INFO.20260101-1",
        r"C:\k\kubelet.err.log",
        r"C:\k\kubelet.err",
        r"C:\k\kubelet.OUT",
        r"D:\logs\b.log",
        r"C:\app\app.log",
    } <= set(paths)
    assert r"C:\k\x.exe" not in paths and r"C:\k\a.txt" not in paths
    assert secret == (r"C:\k\kubeconfig.log", r"C:\app\id_rsa")


# Of starthnstrace.cmd: HNS and its plugins, Compute, NAT, VMs' interfaces, and twice the virtual switch.
PROVIDERS = [
    "{564368D6-577B-4af5-AD84-1C54464848E6}",
    "{0c885e0d-6eb6-476c-a048-2457eed3a5c1}",
    "{80CE50DE-D264-4581-950D-ABADEEE0D340}",
    "{D0E4BC17-34C7-43fc-9A72-D89A59D6979A}",
    "{93f693dc-9163-4dee-af64-d855218af242}",
    "{A6F32731-9A38-4159-A220-3D9B7FC5FE5D}",
    "{6C28C7E5-331B-4437-9C69-5352A2F7F296}",
    "{1F387CBC-6818-4530-9DB6-5F1058CD7E86}",
    "{67DC0D66-3695-47c0-9642-33F76F7BD7AD}",
]


@pytest.mark.row("LG-02")
def test_a_trace_is_begun_as_sig_windows_asks_or_by_a_script_of_ones_own() -> None:
    args = collect.start_trace(file=r"D:\x.etl", max_mb=100).args
    assert (args["program"], args["args"][:2]) == (r"C:\Windows\System32\netsh.exe", ["trace", "start"])
    words = args["args"][2:]
    assert [word.removeprefix("provider=") for word in words if word.startswith("provider=")] == PROVIDERS
    assert [word for word in words if not word.startswith(("provider=", "keywords="))] == [
        "globallevel=6",
        "report=disabled",
        "capture=no",
        r"tracefile=D:\x.etl",
        "filemode=circular",
        "maxsize=100",
        "overwrite=yes",
        "persistent=yes",
    ]
    # The virtual switch: only its control path, by the keywords of starthnstrace.cmd.
    for provider, keywords in (
        ("1F387CBC-6818-4530-9DB6-5F1058CD7E86", "0xFFDFFFFB"),
        ("67DC0D66-3695-47c0-9642-33F76F7BD7AD", "0xFFFFFFDD"),
    ):
        assert words[words.index(f"provider={{{provider}}}") + 1] == f"keywords={keywords}"
    assert len([word for word in words if word.startswith("keywords=")]) == 2
    assert {r"tracefile=C:\server.etl", "maxsize=250"} <= set(collect.start_trace().args["args"])
    own = collect.start_trace(r"C:\k\debug\starthnstrace.cmd").args
    assert (own["program"], own["args"]) == (
        r"C:\Windows\System32\cmd.exe",
        ["/d", "/c", r"C:\k\debug\starthnstrace.cmd"],
    )
    assert (collect.stop_trace().args["args"], collect.stop_trace().args["ok_exit"]) == (["trace", "stop"], [0, 1])


def test_the_runtime_says_what_it_is() -> None:
    said = "Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  v1.7.28\n"
    assert runtime_of(said) == "containerd://1.7.28"
    assert runtime_of("level=fatal") == ""
