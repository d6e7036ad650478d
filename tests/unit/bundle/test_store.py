"""A bundle in bounds, that goes on where it ended, readable for its owner alone."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.action.win_k8s_collect_logs import grouped, runtime_of
from ansible_collections.winkube.node.plugins.plugin_utils.bundle import bounded, contents, trace
from ansible_collections.winkube.node.plugins.plugin_utils.bundle.store import MANIFEST, Store
from ansible_collections.winkube.node.plugins.plugin_utils.components.verify import Expected
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key

from tests.unit.components.nodes import LAYOUT

EXPECTED = Expected("win1", kubernetes=True)


@pytest.mark.row("LG-06")
def test_what_is_written_is_redacted_before(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "win1", 1000)
    assert store.put("a/b.txt", "token: hunter2", source="x")
    assert (tmp_path / "win1" / "a" / "b.txt").read_text() == "token: <removed>"
    assert store.files["a/b.txt"]["redacted"] == 1
    assert (tmp_path / "win1").stat().st_mode & 0o077 == 0
    assert (tmp_path / "win1" / "a" / "b.txt").stat().st_mode & 0o077 == 0


@pytest.mark.row("LG-01")
def test_a_bundle_has_a_limit_and_says_what_is_not_in_it(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "win1", 100)
    assert store.put("one", "x" * 60, source="x")
    assert not store.put("two", "y" * 60, source="y")
    assert store.put("three", "z" * 40, source="z")
    assert store.put("one", "x" * 50, source="x"), "what it replaces does not count"
    assert store.left_out == {"two": "the bundle has reached its 100 bytes"}
    assert store.total() == 90
    with zipfile.ZipFile(store.zipped()) as archive:
        assert archive.namelist() == ["win1/manifest.json", "win1/one", "win1/three"]
        assert json.loads(archive.read("win1/manifest.json"))["left_out"] == store.left_out
    assert (tmp_path / "win1.zip").stat().st_mode & 0o077 == 0
    before = (tmp_path / "win1.zip").read_bytes()
    store.zipped()
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


def test_each_question_fits_into_an_answer() -> None:
    sizes = {f"f{n}": (200_000, "t") for n in range(4)} | {"huge": (10**9, "t"), "next": (20_000, "t")}
    groups = list(grouped(sizes))
    assert groups == [["f0", "f1", "f2"], ["f3", "huge"], ["next"]]
    assert bounded.LIMIT * 4 / 3 < 1024 * 1024


@pytest.mark.row("LG-07")
def test_what_is_collected() -> None:
    commands = {command.file: command for command in contents.commands(LAYOUT, EXPECTED, events=50)}
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
    assert {"events/Application.txt", "events/Microsoft-Windows-Hyper-V-Compute-Admin.txt"} <= set(lines)
    assert "events/Microsoft-Windows-Host-Network-Service-Admin.txt" in lines
    assert all(command.program[1:3] == ":\\" for command in commands.values())
    assert {1, 1060, 15007} <= set(commands["network/arp.txt"].op.args["ok_exit"])
    settings = contents.settings(LAYOUT)
    assert {LAYOUT.containerd_config, r"C:\k\cni\config\cni.conf", r"C:\run\flannel\subnet.env"} <= set(settings)
    assert r"C:\k\SourceVip.json" in settings


@pytest.mark.row("LG-01")
def test_logs_are_found_where_the_services_put_them() -> None:
    service = {"name": "kubelet", "image_path": r"C:\k\kubelet.exe --log-dir=D:\logs", "nssm": None}
    reading = Reading().merged({"services": [service]})
    assert r"D:\logs" in contents.folders(LAYOUT, EXPECTED, reading)
    names = [
        "kubelet.exe.INFO",
        "kubelet.exe.win1.log.INFO.20260101-1",
        "kubelet.err.log",
        "kubeconfig.log",
        "x.exe",
        "a.txt",
    ]
    reading = reading.merged({file_key(r"C:\k"): {"entries": names}, file_key(r"D:\logs"): {"entries": ["b.log"]}})
    paths, secret = contents.wanted(LAYOUT, EXPECTED, reading, [r"C:\app\app.log", r"C:\app\id_rsa"])
    assert {
        r"C:\k\kubelet.exe.win1.log.INFO.20260101-1",
        r"C:\k\kubelet.err.log",
        r"D:\logs\b.log",
        r"C:\app\app.log",
    } <= set(paths)
    assert r"C:\k\x.exe" not in paths and r"C:\k\a.txt" not in paths
    assert secret == (r"C:\k\kubeconfig.log", r"C:\app\id_rsa")


@pytest.mark.row("LG-02")
def test_a_trace_is_begun_as_sig_windows_asks_or_by_a_script_of_ones_own() -> None:
    args = trace.start(file=r"D:\x.etl", max_mb=100).args
    assert (args["program"], args["args"][:2]) == (r"C:\Windows\System32\netsh.exe", ["trace", "start"])
    assert len([word for word in args["args"] if word.startswith("provider=")]) == 9
    assert {r"tracefile=D:\x.etl", "maxsize=100", "capture=no", "overwrite=yes"} <= set(args["args"])
    at = args["args"].index("provider={67DC0D66-3695-47c0-9642-33F76F7BD7AD}")
    assert args["args"][at + 1] == "keywords=0xFFFFFFDD"
    own = trace.start(r"C:\k\debug\starthnstrace.cmd").args
    assert (own["program"], own["args"]) == (
        r"C:\Windows\System32\cmd.exe",
        ["/d", "/c", r"C:\k\debug\starthnstrace.cmd"],
    )
    assert trace.stop().args["args"] == ["trace", "stop"]


def test_the_runtime_says_what_it_is() -> None:
    said = "Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  v1.7.28\n"
    assert runtime_of(said) == "containerd://1.7.28"
    assert runtime_of("level=fatal") == ""
