"""From a provisioner's items and a reading to what each needs, to the first batch and to the second."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.provision import provision, provision_report
from ansible_collections.winkube.node.plugins.plugin_utils.provision.in_cluster import list_host_daemon_sets
from ansible_collections.winkube.node.plugins.plugin_utils.provision.options import Timeouts
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision import Task, make_tasks
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_items import Item, parse_items
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_service import reads
from ansible_collections.winkube.node.plugins.plugin_utils.provision.provision_source import Build, Origin
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

from tests.lab.machine.builds import build
from tests.unit.answers import answered
from tests.unit.components.nodes import LAYOUT, bare, file, lines

MARK = "0123456789abcdef0123456789abcdef"
EXE = r"C:\k\kubelet.exe"
PREVIOUS = EXE + ".winkube-previous"
OLD, NEW = build("kubelet", "1.28.4"), build("kubelet", "1.29.0")
NEW_SHA = file(NEW)["sha256"]
URL = "http://xyz/kubelet.exe"


def item(name: str = "kubelet", **more: Any) -> Item:
    given = {"name": name, "sourceURL": f"http://xyz/{name}.exe", "overwrite": True, **more}
    (found,) = parse_items({"provisioners": [given]}, LAYOUT)
    return found


def service(name: str = "kubelet", line: str = EXE, **more: Any) -> dict[str, Any]:
    found = {"name": name, "image_path": line, "start": 2, "state": "running", "pid": 77, "depends_on": []}
    return {**found, "nssm": None, "environment": [], "failure": None, "deleting": False, **more}


def node(*services: dict[str, Any], items: tuple[Item, ...] = (), **files: dict[str, Any]) -> Reading:
    """A node on which only these files are, by name: `exe`, `previous`, `receipt`."""
    wanted = items or (item(),)
    reading = bare((*provision.reads(wanted, LAYOUT), *reads(LAYOUT)), *services)
    paths = {"exe": EXE, "previous": PREVIOUS, "receipt": provision.receipt(wanted[0], LAYOUT)}
    system = {"machine": "m-1", "os": {"architecture": "amd64"}}
    return reading.merge({"system": system, **{file_key(paths[name]): value for name, value in files.items()}})


def running(*services: dict[str, Any], **files: dict[str, Any]) -> Reading:
    given: dict[str, Any] = {"exe": file(OLD), **files}
    return node(*(services or (service(),)), **given)


def task(reading: Reading, wanted: Item | None = None, sha256: str | None = NEW_SHA, **more: Any) -> Task:
    wanted = wanted or item()
    origin = None if wanted.previous else Origin(wanted.source, sha256)
    (found,) = make_tasks((wanted,), {wanted.name: origin} if origin else {}, LAYOUT, reading, **more)
    return found


def refusal(reading: Reading, *args: Any, **more: Any) -> str:
    with pytest.raises(Refused) as refused:
        task(reading, *args, **more)
    return str(refused.value)


def staged(found: Task, reading: Reading, data: bytes = NEW, **more: Any) -> Reading:
    beginning = base64.b64encode(data[:4096]).decode()
    return reading.merge({file_key(found.staged): {**file(data), "head": beginning, "version": None, **more}})


def judged(found: Task, reading: Reading, says: str = "Kubernetes v1.29.0", code: int = 0, data: bytes = NEW) -> Task:
    batch = provision.stage([found], {}, LAYOUT, reading, proxy="", timeout_s=60)
    runs = [n for n, op in enumerate(batch.ops) if op.op == "run"]
    answer = answered({"results": [{"n": n, "exit_code": code, "stdout": says} for n in runs]})
    (after,) = provision.judge([found], batch, answer, staged(found, reading, data))
    return after


def plan(found: Task, reading: Reading) -> Plan:
    after = staged(found, reading) if found.staged else reading
    return make_plan("provisioner", provision.build_resources([found], LAYOUT, after, Timeouts(), MARK), after)


def receipt(sha256: str, **source: Any) -> dict[str, Any]:
    text = json.dumps({"schema": 1, "source": source, "files": [{"path": EXE, "sha256": sha256}]})
    return file(text.encode())


# -- what is needed ---------------------------------------------------------------------------------------------------


@pytest.mark.row("PV-08", "PV-14")
@pytest.mark.parametrize(
    ("exe", "overwrite", "what"),
    [(OLD, True, "replace"), (OLD, False, "skipped"), (None, True, "replace"), (None, False, "replace")],
)
def test_what_is_there_is_replaced_only_if_it_may_be(exe: bytes | None, overwrite: bool, what: str) -> None:
    there: dict[str, Any] = {"exe": file(exe)} if exe else {}
    reading = node(service(), **there)
    assert task(reading, item(overwrite=overwrite)).what == what


@pytest.mark.row("PV-14")
def test_the_hash_of_what_is_there_is_taken_from_the_file_each_time() -> None:
    asked = {query.key: dict(query.args) for query in provision.reads((item(),), LAYOUT)}
    for path in (EXE, PREVIOUS):
        assert (asked[file_key(path)]["sha256"], asked[file_key(path)]["fresh"]) == (True, True)


@pytest.mark.row("PV-14")
@pytest.mark.parametrize("overwrite", [True, False])
def test_the_same_bytes_are_left_alone(overwrite: bool) -> None:
    reading = running(exe=file(NEW))
    found = task(reading, item(overwrite=overwrite))
    assert found.what == "unchanged"
    assert not found.is_staged
    assert plan(found, reading).batch is None


@pytest.mark.row("PV-08", "PV-09")
@pytest.mark.parametrize(
    ("noted", "resource", "mismatch", "said"),
    [
        ("1.28.4", None, True, "It is version 1.28.4, not 1.29.0."),
        ("1.29.0", None, False, "it was left as it is."),
        (None, "1.28.4.0", True, "It is version 1.28.4, not 1.29.0."),
        (None, None, None, "Whether it is version 1.29.0 is not known."),
    ],
)
def test_a_skipped_program_of_another_version_is_told(
    noted: str | None, resource: str | None, mismatch: bool | None, said: str
) -> None:
    files = {"exe": {**file(OLD), "version": resource}}
    if noted:
        files["receipt"] = receipt(file(OLD)["sha256"], version=noted)
    found = task(running(**files), item(overwrite=False, version="v1.29.0"))
    assert provision_report.find_mismatch(found) is mismatch
    assert provision_report.describe_skipped(found).endswith(said)


def test_a_receipt_about_other_bytes_tells_nothing() -> None:
    assert task(running(receipt=receipt("0" * 64, version="1.28.4"))).before == ""


def test_without_a_checksum_the_same_address_and_version_are_not_fetched_again() -> None:
    known = receipt(file(OLD)["sha256"], url=URL, version="1.28.4")
    assert task(running(receipt=known), item(version="1.28.4"), None).what == "unchanged"
    assert task(running(receipt=known), item(version="1.28.5"), None).what == "compare"
    assert task(running(receipt=known), item(), None).what == "compare"
    assert task(running(), item(version="1.28.4"), None).what == "compare"


@pytest.mark.row("PV-01")
def test_a_service_that_is_not_there_is_refused_unless_copying_is_enough() -> None:
    assert "kubelet: there is no service kubelet on the node" in refusal(node())
    reading = node()
    found = task(reading, item(service_missing="copy_only"))
    assert (found.what, found.service) == ("replace", None)
    batch = plan(judged(found, reading), reading).batch
    assert batch is not None
    assert not any("sc.exe" in line or "wait" in line for line in lines((*batch.ops, *batch.gate)))


def test_kube_proxy_of_a_daemon_set_is_copied_and_its_pods_are_named() -> None:
    wanted = item("kube-proxy")
    env = [{"name": "KUBEPROXY_PATH", "value": "/k/kube-proxy.exe"}]
    pod = {"nodeSelector": {"kubernetes.io/os": "windows"}, "containers": [{"name": "kube-proxy", "env": env}]}
    found = {"metadata": {"namespace": "kube-system", "name": "proxy"}, "spec": {"template": {"spec": pod}}}
    assert list_host_daemon_sets([found], None, "win1", wanted.destination) == ("kube-system/proxy",)
    assert list_host_daemon_sets([found], None, "win1", r"C:\other\kube-proxy.exe") == ()
    assert task(node(items=(wanted,)), wanted, daemon_sets=("kube-system/proxy",)).what == "replace"
    assert "there is no service kube-proxy" in refusal(node(items=(wanted,)), wanted)


def test_a_service_being_deleted_is_refused() -> None:
    assert "1072" in refusal(running(service(deleting=True)))


# -- the first batch --------------------------------------------------------------------------------------------------


@pytest.mark.row("PV-07", "PV-10", "PV-14")
def test_the_new_program_is_brought_in_and_asked_while_services_run() -> None:
    reading = running()
    found = task(reading)
    batch = provision.stage([found], {}, LAYOUT, reading, proxy="http://proxy:3128", timeout_s=60)
    assert [op.op for op in batch.ops] == ["mkdir", "fetch", "run"]
    assert found.staged == rf"C:\ProgramData\winkube\staging\provision\{NEW_SHA}-kubelet.exe"
    fetch, ask = batch.ops[1:]
    assert (fetch.args["url"], fetch.args["sha256"], fetch.args["path"]) == (URL, NEW_SHA, found.staged)
    assert fetch.args["proxy"] == "http://proxy:3128"
    assert (ask.args["program"], ask.args["args"]) == (found.staged, ["--version"])


def test_a_program_that_would_serve_when_asked_is_not_started() -> None:
    wanted = item("csi-proxy")
    reading = node(service("csiproxy", wanted.destination), items=(wanted,))
    batch = provision.stage([task(reading, wanted)], {}, LAYOUT, reading, proxy="", timeout_s=60)
    assert [op.op for op in batch.ops] == ["mkdir", "fetch"]


def test_a_destination_on_another_volume_is_staged_beside_it() -> None:
    assert provision.staging(item(destination=r"D:\k\kubelet.exe"), LAYOUT) == r"D:\k\.winkube-staging\provision"


@pytest.mark.row("PV-10")
def test_a_build_on_the_controller_for_another_machine_is_refused_before_anything_is_sent() -> None:
    data = build("kubelet", "1.29.0", "arm64")
    arm64 = Build(Path("kubelet.exe"), file(data)["sha256"], len(data), data[:4096])
    origins = {"kubelet": Origin("kubelet.exe", arm64.sha256, arm64)}
    with pytest.raises(Refused, match=r"kubelet\.exe is a Windows program for arm64, and the node is amd64"):
        make_tasks((item(),), origins, LAYOUT, running())
    there = running().merge({"system": {"machine": "m-1", "os": {"architecture": "arm64"}}})
    assert make_tasks((item(),), origins, LAYOUT, there)[0].what == "replace"


@pytest.mark.row("PV-09", "PV-10")
def test_what_was_fetched_is_judged_by_its_header_and_its_own_words() -> None:
    reading = running()
    found = task(reading, sha256=None)
    assert judged(found, reading).version == "1.29.0"
    for data, sentence in (
        (build("kubelet", "1.29.0", "386"), "is a 32-bit Windows program"),
        (b"\x7fELF" + bytes(60), "GOOS=windows was forgotten"),
        (b"<html>", "is a web page"),
    ):
        with pytest.raises(Refused, match=f"kubelet: {URL} {sentence}" if data[:1] != b"\x7f" else sentence):
            judged(found, reading, data=data)
    with pytest.raises(Refused, match="does not even say its version on this node: it ended with exit code 2: panic"):
        judged(found, reading, says="panic: no", code=2)
    assert judged(found, reading, data=OLD).what == "unchanged"


@pytest.mark.row("PV-09")
@pytest.mark.parametrize(
    ("says", "verify", "refused", "warned"),
    [
        ("Kubernetes v1.29.0", "true", 0, 0),
        ("Kubernetes v1.29.1", "true", 1, 0),
        ("Kubernetes v1.29.1", "warn", 0, 1),
        ("Kubernetes v1.29.1", "false", 0, 0),
        ("Kubernetes v0.0.0-master+$Format:%H$", "true", 0, 1),
    ],
)
def test_another_version_is_refused_or_warned_of(says: str, verify: str, refused: int, warned: int) -> None:
    wanted = item("kubelet", version="1.29.0", verify_version=verify, service_missing="copy_only")
    reading = node()
    problems, sentences = provision.check([judged(task(reading, wanted), reading, says)], "")
    assert (len(problems), len(sentences)) == (refused, warned), (problems, sentences)
    if problems:
        assert problems == [
            f"kubelet: {URL} says it is 1.29.1, and wanted was 1.29.0. Correct version, or say verify_version: warn."
        ]


@pytest.mark.parametrize(
    ("line", "version", "before", "sentence"),
    [
        ("--v=2", "1.29.0", "", ""),
        ("--pod-infra-container-image=x", "1.35.0", "1.34.0", "--pod-infra-container-image: it was removed in"),
        ("--pod-infra-container-image=x", "1.34.0", "1.33.0", ""),
        ("--network-plugin=cni", "1.29.0", "", "--network-plugin: it was removed in Kubernetes 1.24"),
        ("--enforce-node-allocatable=pods", "1.29.0", "1.28.4", ""),  # it lives with that today
    ],
)
@pytest.mark.parametrize("wrapped", ["sc", "nssm", "kube-log-runner"])
def test_a_kubelet_that_its_service_could_not_start_is_refused(
    line: str, version: str, before: str, sentence: str, wrapped: str
) -> None:
    ran = {
        "sc": service(line=f"{EXE} --windows-service {line}"),
        "nssm": service(line=r"C:\k\nssm.exe", nssm={"Application": EXE, "AppParameters": line}),
        "kube-log-runner": service(line=rf"C:\k\kube-log-runner.exe --log-file=C:\k\l {EXE} {line}"),
    }[wrapped]
    files = {"receipt": receipt(file(OLD)["sha256"], version=before)} if before else {}
    reading = running(ran, **files)
    problems, unchecked = provision.check([judged(task(reading), reading, f"Kubernetes v{version}")], "")
    assert unchecked == []
    assert bool(problems) is bool(sentence), problems
    if sentence:
        assert f"kubelet {version} would not start as the service kubelet starts it; nothing was" in problems[0]
        assert sentence in problems[0]


def test_kubeadms_arguments_count_where_a_script_starts_the_kubelet() -> None:
    script = service(line=r"C:\k\nssm.exe", nssm={"Application": "powershell.exe", "AppParameters": r"C:\k\Start.ps1"})
    reading = running(script)
    found = judged(task(reading), reading, "Kubernetes v1.35.0")
    env = 'KUBELET_KUBEADM_ARGS="--pod-infra-container-image=x"\n'
    assert "kubeadm-flags.env" in provision.check([found], env)[0][0]
    assert provision.check([found], "")[1] != []


def test_a_service_that_runs_another_file_of_that_name_is_told() -> None:
    reading = running(service(line=r"D:\bin\kubelet.exe --v=2"))
    _problems, said = provision.check([judged(task(reading), reading)], "")
    assert any(r"the service kubelet runs D:\bin\kubelet.exe, not C:\k\kubelet.exe" in sentence for sentence in said)


# -- the second batch -------------------------------------------------------------------------------------------------


@pytest.mark.row("PV-05", "PV-15", "PV-16")
def test_stop_rename_aside_rename_in_start_and_gate() -> None:
    reading = running()
    found = judged(task(reading), reading)
    made = plan(found, reading)
    assert made.batch is not None
    assert lines(made.batch.ops) == [
        "run sc.exe stop kubelet",
        "wait service kubelet stopped",
        rf"wait process_gone {EXE}",
        rf"move {EXE} -> {PREVIOUS}",
        rf"move {found.staged} -> {EXE}",
        "run sc.exe start kubelet",
        "wait service kubelet running",
        r"record C:\ProgramData\winkube\receipts\provision-kubelet.json",
    ]
    # PV-05: two minutes for each, unless somebody gives another limit.
    assert {op.args["timeout_s"] for op in (*made.batch.ops, made.batch.gate[0]) if op.op == "wait"} == {120}
    assert made.batch.gate[1].args["timeout_s"] == 123, "what it takes to stay up comes on top"
    assert {load_spec("win_k8s_provisioner")[name]["default"] for name in ("start_timeout", "stop_timeout")} == {120}
    assert [op.args["for"] for op in made.batch.gate] == ["http", "service", "http"]
    assert made.batch.gate[0].args["url"] == "http://127.0.0.1:10248/healthz"
    back = {op.args["from"]: lines(op.undo)[-1] for op in made.batch.ops if op.op == "move"}
    assert back[EXE] == rf"move {PREVIOUS} -> {EXE}"
    assert back[found.staged] == rf"move {EXE} -> {found.staged}"
    started = next(op for op in made.batch.ops if op.args.get("args") == ["stop", "kubelet"])
    assert "run sc.exe start kubelet" in lines(started.undo)
    assert [step.text for step in made.steps] == [f"install kubelet 1.29.0 from {URL} as {EXE}", "restart kubelet"]
    assert file(OLD)["sha256"] in made.steps[0].before and NEW_SHA in made.steps[0].after


@pytest.mark.row("PV-15")
def test_one_generation_is_kept_and_the_one_before_goes_last() -> None:
    reading = running(previous=file(b"MZ older"))
    made = plan(judged(task(reading), reading), reading).batch
    assert made is not None
    moves = [line for line in lines(made.ops) if line.startswith(("move", "remove"))]
    aside = f"{EXE}.01234567.winkube-old"
    assert moves[0] == rf"move {PREVIOUS} -> {aside}"
    assert moves[1] == rf"move {EXE} -> {PREVIOUS}"
    assert moves[-1] == f"remove {aside}"
    (removed,) = [op for op in made.ops if op.op == "remove"]
    assert removed.args["in_use_ok"] is True


@pytest.mark.row("PV-15")
def test_previous_lets_the_two_change_places() -> None:
    wanted = item(state="previous", sourceURL=None)
    noted = receipt(file(OLD)["sha256"], version="1.28.4", previous={"sha256": NEW_SHA, "version": "1.29.0"})
    reading = running(previous=file(NEW), receipt=noted)
    found = task(reading, wanted)
    assert (found.what, found.version, found.before) == ("previous", "1.29.0", "1.28.4")
    made = plan(found, reading).batch
    assert made is not None
    aside = f"{EXE}.01234567.winkube-old"
    assert [line for line in lines(made.ops) if line.startswith(("move", "remove"))] == [
        rf"move {EXE} -> {aside}",
        rf"move {PREVIOUS} -> {EXE}",
        rf"move {aside} -> {PREVIOUS}",
    ]
    assert "kubelet: there is no program to go back to" in refusal(running(), wanted)
    there = item(state="previous", sourceURL=None, checksum=f"sha256:{file(OLD)['sha256']}")
    assert task(running(previous=file(NEW)), there).what == "unchanged"
    other = item(state="previous", sourceURL=None, checksum=f"sha256:{'1' * 64}")
    assert "it is another build" in refusal(running(previous=file(NEW)), other)


def test_a_build_that_is_the_previous_one_is_not_transferred() -> None:
    reading = running(previous=file(NEW))
    found = task(reading)
    assert (found.what, found.staged) == ("previous", "")
    assert not found.is_staged


@pytest.mark.row("PV-17")
def test_what_depends_on_it_and_runs_stops_before_and_starts_after() -> None:
    proxy = service("kube-proxy", r"C:\k\kube-proxy.exe", depends_on=["kubelet"])
    resting = service("other", r"C:\k\other.exe", depends_on=["kubelet"], state="stopped")
    reading = running(service(), proxy, resting)
    made = plan(judged(task(reading), reading), reading).batch
    assert made is not None
    calls = [line for line in lines(made.ops) if line.startswith("run sc.exe")]
    assert calls == [
        "run sc.exe stop kube-proxy",
        "run sc.exe stop kubelet",
        "run sc.exe start kubelet",
        "run sc.exe start kube-proxy",
    ]


@pytest.mark.parametrize(
    ("ran", "configured", "started"),
    [
        ({"state": "running"}, False, True),
        ({"state": "paused"}, False, True),
        ({"state": "stopped", "start": 2}, True, True),
        ({"state": "stopped", "start": 2}, False, False),
        ({"state": "stopped", "start": 3}, True, False),
        # Its own command line counts: one that names another file, one in a script, one without a cluster.
        ({"state": "stopped", "start": 2, "image_path": rf"{EXE} --kubeconfig=C:\own.conf"}, True, False),
        ({"state": "stopped", "start": 2, "image_path": r"powershell.exe C:\k\start.ps1"}, True, True),
        ({"state": "stopped", "start": 2, "image_path": r"powershell.exe C:\k\start.ps1"}, False, False),
        ({"state": "stopped", "start": 2, "image_path": EXE}, False, True),
    ],
)
def test_what_rests_is_started_only_if_windows_would_and_it_can_run(
    ran: dict[str, Any], configured: bool, started: bool
) -> None:
    ran = {"image_path": f"{EXE} --kubeconfig {LAYOUT.kubelet_kubeconfig}", **ran}
    known = {file_key(LAYOUT.kubelet_kubeconfig): {"exists": configured}, file_key(r"C:\own.conf"): {"exists": False}}
    reading = running(service(**ran)).merge(known)
    made = plan(judged(task(reading), reading), reading)
    assert made.batch is not None
    assert ("run sc.exe start kubelet" in lines(made.batch.ops)) is started
    assert any("leave the service kubelet stopped" in step.text for step in made.steps) is not started


@pytest.mark.row("PV-18")
def test_a_list_is_one_batch_and_what_others_need_starts_first() -> None:
    given = [{"name": name, "sourceURL": URL, "overwrite": True} for name in ("kube-proxy", "containerd")]
    items = parse_items({"provisioners": given}, LAYOUT)
    services = [service(each.service, each.destination) for each in items]
    reading = node(*services, items=items).merge({file_key(each.destination): file(OLD) for each in items})
    tasks = make_tasks(items, {each.name: Origin(URL, NEW_SHA[:-1] + each.name[-1]) for each in items}, LAYOUT, reading)
    first = provision.stage(tasks, {}, LAYOUT, reading, proxy="", timeout_s=60)
    assert first.component == "provisioner", "as the node's journal names it"
    assert [op.args["path"][-14:] for op in first.ops if op.op == "fetch"] == ["kube-proxy.exe", "containerd.exe"]
    for each in tasks:
        reading = staged(each, reading)
    made = make_plan("provisioner", provision.build_resources(tasks, LAYOUT, reading, Timeouts(), MARK), reading)
    assert made.batch is not None
    found = lines(made.batch.ops)
    assert found.index("run sc.exe start containerd") < found.index("run sc.exe start kube-proxy")
    between = found[found.index("run sc.exe start containerd") : found.index("run sc.exe start kube-proxy")]
    assert any(line.startswith("wait pipe") for line in between), "kube-proxy is started when containerd answers"
    assert [step.text.split()[1] for step in made.steps[:2]] == ["kube-proxy", "containerd"], "the order of the list"


@pytest.mark.row("PV-05")
def test_the_downtime_is_from_the_order_to_stop_to_running() -> None:
    reading = running()
    made = plan(judged(task(reading), reading), reading).batch
    assert made is not None
    found = lines(made.ops)
    stop, up = found.index("run sc.exe stop kubelet"), found.index("wait service kubelet running")
    rows: list[dict[str, Any]] = [
        {"at": "2026-11-21T10:00:00.0000000Z", "n": stop, "e": "intent"},
        {"at": "2026-11-21T10:00:02.5000000Z", "n": stop, "e": "done"},
        {"at": "2026-11-21T10:00:04.2500000Z", "n": up, "e": "done"},
        {"at": "2026-11-21T10:00:09.0000000Z", "n": 0, "e": "gate"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"at": "2026'
    state = {"journal": {"content": base64.b64encode(text.encode()).decode()}}
    found_times = provision_report.measure_times(made, state)
    assert (found_times.down, found_times.watched) == ({"kubelet": 4.25}, {"kubelet": 4.8})
    assert provision_report.measure_times(made, {}) == provision_report.Times()


def test_a_program_that_is_held_for_some_seconds_is_asked_for_again() -> None:
    """The task failed at once, and called the program file:c:\\k\\kubelet.exe."""
    wanted = item()
    queries = provision.reads((wanted,), LAYOUT)
    key, asked = file_key(EXE), list[float]()
    held = {"error": "The process cannot access the file because it is being used by another process. (32)"}

    def probe(again: Any) -> dict[str, Any]:
        assert [query.key for query in again] == [key]
        return {key: held if len(asked) < 2 else file(OLD)}

    found = provision.read_patiently(running().merge({key: held}), queries, probe, asked.append)
    assert found.file(EXE)["exists"] is True and asked == [2.0, 2.0]
    asked.clear()
    assert provision.read_patiently(running(), queries, probe, asked.append).errors() == {} and not asked
    stuck = provision.read_patiently(running().merge({key: held}), queries, lambda _again: {key: held}, asked.append)
    with pytest.raises(Refused, match=r"^C:.k.kubelet.exe could not be read on the node: The process cannot"):
        make_plan(
            "provisioner",
            provision.build_resources([task(running())], LAYOUT, stuck, Timeouts(), MARK),
            stuck,
        )
