"""From the arguments of win_containerd and a reading to one batch, in the right order, and to none when nothing
differs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import (
    containerd,
    earlier_programs,
    shim,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import (
    Plan,
    make_plan,
    reads_for_undo,
    task_result,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import (
    Reading,
    file_key,
    merge_queries,
    service_key,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Programs, Source
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from .nodes import LAYOUT, bare, file, lines, running, wanted_containerd

MARK = "0123456789abcdef0123456789abcdef"
CONFIG = r"""version = 2
[grpc]
  address = '\\.\pipe\containerd-containerd'
  gid = 0
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = 'registry.k8s.io/pause:3.9'
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = 'C:\k\cni'
  conf_dir = 'C:\k\cni\config'
"""
SOURCE = Source("https://example.com/containerd-1.7.11-windows-amd64.tar.gz", "a" * 64, "1.7.11")
WANTED = wanted_containerd("1.7.11", "registry.k8s.io/pause:3.9")
ARGS = containerd.ContainerdArgs(WANTED, SOURCE, archive=True, config=CONFIG, mark=MARK)
BIN = r"C:\Program Files\containerd\bin"
NAME_OF_SHIM = "containerd-shim-runhcs-v1.exe"
EXE, CTR, SHIM = (rf"{BIN}\{name}" for name in ("containerd.exe", "ctr.exe", "containerd-shim-runhcs-v1.exe"))


def plan(reading: Reading, args: containerd.ContainerdArgs = ARGS) -> Plan:
    return make_plan(containerd.NAME, containerd.build_resources(args), reading)


def bare_node(*services: dict[str, Any]) -> Reading:
    return bare(containerd.reads(LAYOUT), *services)


def converged(args: containerd.ContainerdArgs = ARGS, reading: Reading | None = None) -> Reading:
    """A node after the batch: the plan's prediction, with hashes and receipt as the node would make them."""
    done = plan(reading or bare_node(), args).predicted
    parts: dict[str, Any] = {
        file_key(path): file(path.encode()) for path in ([EXE, CTR, SHIM] if args.archive else [EXE])
    }
    receipt = {
        "schema": 1,
        "source": args.source.identity(),
        "files": [{"path": path.removeprefix("file:"), "sha256": value["sha256"]} for path, value in parts.items()],
    }
    parts[file_key(r"C:\ProgramData\winkube\receipts\containerd.json")] = file(json.dumps(receipt).encode())
    return done.merge(parts, predicted=False)


@pytest.mark.row("CT-47", "SV-06", "SV-20")
def test_a_bare_node_gets_everything_in_one_batch_in_this_order() -> None:
    made = plan(bare_node()).batch
    assert made is not None
    staging = r"C:\ProgramData\winkube\staging\containerd-01234567"
    assert lines(made.ops) == [
        r"mkdir C:\Program Files",
        r"mkdir C:\Program Files\containerd",
        rf"mkdir {BIN}",
        r"mkdir C:\ProgramData",
        r"mkdir C:\ProgramData\containerd",
        r"mkdir C:\ProgramData\containerd\log",
        rf"mkdir {staging}",
        rf"fetch {staging}\archive",
        rf"unpack {staging}\archive",
        r"registry_set HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment",
        rf"move {staging}\containerd.exe -> {EXE}",
        rf"move {staging}\ctr.exe -> {CTR}",
        rf"move {staging}\containerd-shim-runhcs-v1.exe -> {SHIM}",
        r"write C:\Program Files\containerd\config.toml",
        "run containerd.exe --register-service --config C:\\Program Files\\containerd\\config.toml"
        " --log-file C:\\ProgramData\\containerd\\log\\containerd.log",
        "run sc.exe failure containerd reset= 86400 actions= restart/15000/restart/30000/restart/60000",
        "run sc.exe failureflag containerd 1",
        "run sc.exe start containerd",
        "wait service containerd running",
        r"record C:\ProgramData\winkube\receipts\containerd.json",
        rf"remove {staging}",
    ]
    assert lines(made.gate) == ["wait pipe containerd-containerd", "wait run ctr.exe"]


@pytest.mark.row("CT-47", "SV-12")
def test_a_converged_node_gets_nothing() -> None:
    found = plan(converged())
    assert found.batch is None
    assert not found.changed
    assert found.steps == ()


@pytest.mark.row("SV-20")
def test_the_service_that_registers_itself_gets_containerds_own_command_line() -> None:
    service = plan(bare_node()).predicted.service("containerd") or {}
    assert command_line.split(service["image_path"]) == [
        EXE,
        "--run-service",
        "--config",
        r"C:\Program Files\containerd\config.toml",
        "--log-file",
        r"C:\ProgramData\containerd\log\containerd.log",
    ]
    assert service["display_name"] == "Containerd", "as containerd registers itself"


@pytest.mark.row("SV-22")
def test_the_service_starts_with_the_machine() -> None:
    manual = converged()
    manual = manual.merge({service_key("containerd"): {**(manual.service("containerd") or {}), "start": 3}})
    made = plan(manual)
    assert made.batch is not None
    assert "run sc.exe config containerd start= auto" in lines(made.batch.ops)


@pytest.mark.row("SV-20")
def test_another_service_name_is_passed_on() -> None:
    layout = replace(LAYOUT, containerd_service="containerd-dev")
    made = make_plan(
        "containerd",
        containerd.build_resources(replace(ARGS, wanted=replace(WANTED, layout=layout))),
        bare(containerd.reads(layout)),
    ).batch
    assert made is not None
    assert any(
        line.startswith("run containerd.exe --register-service") and line.endswith("--service-name containerd-dev")
        for line in lines(made.ops)
    )
    assert "run sc.exe start containerd-dev" in lines(made.ops)


def test_a_new_config_restarts_a_comment_does_not() -> None:
    node = converged()
    assert plan(node, replace(ARGS, config=f"# a comment\n{CONFIG}")).batch is None
    made = plan(node, replace(ARGS, config=CONFIG.replace("3.9", "3.10"))).batch
    assert made is not None
    assert lines(made.ops) == [
        "run sc.exe stop containerd",
        "wait service containerd stopped",
        f"wait process_gone {EXE}",
        rf"mkdir C:\ProgramData\winkube\batches\{MARK}\backup",
        r"write C:\Program Files\containerd\config.toml",
        "run sc.exe start containerd",
        "wait service containerd running",
    ]


@pytest.mark.row("SV-07")
def test_running_dependants_stop_before_and_start_after_in_reverse_order() -> None:
    kubelet = {"name": "kubelet", "state": "running", "depends_on": ["Containerd"], "image_path": "x"}
    proxy = {"name": "kube-proxy", "state": "running", "depends_on": ["kubelet"], "image_path": "x"}
    idle = {"name": "idle", "state": "stopped", "depends_on": ["containerd"], "image_path": "x"}
    node = converged(reading=bare_node(kubelet, proxy, idle))
    made = plan(node, replace(ARGS, config=CONFIG.replace("3.9", "3.10"))).batch
    assert made is not None
    services = [line for line in lines(made.ops) if line.startswith(("run sc.exe", "wait pipe"))]
    # By their names: what services.msc shows (the DisplayName that containerd itself registers) is another.
    assert (node.service("containerd") or {})["display_name"] == "Containerd"
    assert services == [
        "run sc.exe stop kube-proxy",
        "run sc.exe stop kubelet",
        "run sc.exe stop containerd",
        "run sc.exe start containerd",
        "wait pipe containerd-containerd",
        "run sc.exe start kubelet",
        "run sc.exe start kube-proxy",
    ]


def test_a_stopped_service_is_only_started() -> None:
    node = converged()
    node = node.merge({service_key("containerd"): {**(node.service("containerd") or {}), "state": "stopped"}})
    made = plan(node).batch
    assert made is not None
    assert lines(made.ops) == ["run sc.exe start containerd", "wait service containerd running"]


def test_an_upgrade_renames_the_old_programs_aside_while_the_service_is_down() -> None:
    made = plan(converged(), replace(ARGS, source=replace(SOURCE, sha256="b" * 64, version="1.7.12"))).batch
    assert made is not None
    found = lines(made.ops)
    stop, start = found.index("run sc.exe stop containerd"), found.index("run sc.exe start containerd")
    fetch = next(n for n, line in enumerate(found) if line.startswith("fetch"))
    aside = found.index(rf"move {EXE} -> {EXE}.01234567.winkube-old")
    renamed_in = next(n for n, line in enumerate(found) if line.startswith("move") and line.endswith(f"-> {EXE}"))
    assert fetch < stop < aside < renamed_in < start


def test_every_op_that_changes_something_can_be_undone() -> None:
    made = plan(
        converged(), replace(ARGS, source=replace(SOURCE, sha256="b" * 64), config=CONFIG.replace("3.9", "3.10"))
    ).batch
    assert made is not None
    harmless = {"wait", "fetch", "unpack", "remove"}
    backup = rf"C:\ProgramData\winkube\batches\{MARK}\backup"
    without = [op for op in made.ops if not op.undo and op.op not in harmless and op.args.get("path") != backup]
    assert without == []


def test_a_containerd_made_by_hand_is_compared_with_the_download_before_it_is_touched() -> None:
    by_hand = converged().merge({file_key(r"C:\ProgramData\winkube\receipts\containerd.json"): {"exists": False}})
    resources = containerd.build_resources(ARGS)
    stage = containerd.stage_first(resources, by_hand)
    assert stage is not None
    assert [op.op for op in stage.ops] == ["mkdir", "fetch", "unpack"]
    staging = r"C:\ProgramData\winkube\staging\containerd-01234567"
    same = {file_key(rf"{staging}\{path.rsplit(chr(92), 1)[-1]}"): by_hand.file(path) for path in (EXE, CTR, SHIM)}
    made = make_plan("containerd", resources, by_hand.merge(same)).batch
    assert made is not None
    assert lines(made.ops) == [r"record C:\ProgramData\winkube\receipts\containerd.json", rf"remove {staging}"]
    other = same | {file_key(rf"{staging}\containerd.exe"): file(b"another build")}
    made = make_plan("containerd", resources, by_hand.merge(other)).batch
    assert made is not None
    assert [line for line in lines(made.ops) if line.startswith("move")] == [
        rf"move {EXE} -> {EXE}.01234567.winkube-old",
        rf"move {staging}\containerd.exe -> {EXE}",
    ]
    assert "run sc.exe stop containerd" in lines(made.ops)


@pytest.mark.row("CT-02")
def test_the_documents_single_program_lands_where_they_say_and_on_the_path() -> None:
    args = replace(ARGS, source=Source("http://xyz/containerd.exe", None, "1.7.11"), archive=False)
    made = plan(bare_node(), args).batch
    assert made is not None
    staging = r"C:\ProgramData\winkube\staging\containerd-01234567"
    assert rf"move {staging}\containerd.exe -> C:\Program Files\containerd\bin\containerd.exe" in lines(made.ops)
    path = next(op for op in made.ops if op.op == "registry_set")
    assert path.args["value"] == rf"%SystemRoot%\system32;%SystemRoot%;{BIN}"
    assert path.args["type"] == "expand_string"
    assert lines(made.gate) == ["wait pipe containerd-containerd", "wait service containerd running"]
    assert plan(converged(args), args).batch is None


def test_an_unverified_source_is_installed_again_when_its_version_changes() -> None:
    args = replace(ARGS, source=Source("http://xyz/containerd.exe", None, "1.7.11"), archive=False)
    newer = replace(args, source=Source("http://xyz/containerd.exe", None, "1.7.12"))
    assert plan(converged(args), newer).batch is not None


def test_a_program_that_somebody_replaced_is_put_back() -> None:
    node = converged().merge({file_key(EXE): file(b"somebody's build")})
    made = plan(node).batch
    assert made is not None
    assert any(line.startswith(f"move {EXE} ->") for line in lines(made.ops))


@pytest.mark.row("CT-01")
def test_the_config_is_where_the_documents_say() -> None:
    made = plan(bare_node()).batch
    assert made is not None
    (write,) = (op for op in made.ops if op.op == "write")
    assert str(write.args["path"]).lower() == r"c:\program files\containerd\config.toml"


def test_a_config_that_containerd_would_not_read_is_refused() -> None:
    with pytest.raises(Refused, match=r"mine\.toml\.j2"):
        plan(bare_node(), replace(ARGS, template="mine.toml.j2", config=CONFIG.replace("version = 2", "version = 3")))


@pytest.mark.row("SV-12", "SV-13", "SV-15", "SV-09", "SV-22")
def test_under_nssm_the_arguments_are_one_quoted_string_and_output_has_a_file() -> None:
    args = replace(ARGS, service=running("nssm"))
    made = plan(bare_node(), args).batch
    assert made is not None
    nssm = [op.args["args"] for op in made.ops if op.op == "run" and op.args["program"] == r"C:\k\nssm.exe"]
    log = r"C:\ProgramData\containerd\log\containerd.log"
    assert nssm[0] == ["install", "containerd", EXE]
    assert {tuple(words[:2]) for words in nssm[1:]} == {("set", "containerd")}
    assert [words[2:] for words in nssm[1:]] == [
        ["AppParameters", r'--config "C:\Program Files\containerd\config.toml"'],
        ["AppDirectory", r"C:\ProgramData\containerd\log"],
        ["DisplayName", "Containerd"],
        ["Start", "SERVICE_AUTO_START"],
        ["AppExit", "Default", "Restart"],
        ["AppThrottle", "1500"],
        ["AppRestartDelay", "5000"],
        ["AppStdout", log],
        ["AppStderr", log],
        ["AppStdoutCreationDisposition", "4"],
        ["AppStderrCreationDisposition", "4"],
        ["AppRotateFiles", "1"],
        ["AppRotateOnline", "1"],
        ["AppRotateBytes", "10485760"],
    ]
    assert plan(converged(args), args).batch is None


@pytest.mark.row("SV-12")
def test_under_nssm_only_what_differs_is_set_and_what_is_no_longer_wanted_is_reset() -> None:
    args = replace(ARGS, service=running("nssm"))
    node = converged(args)
    service = dict(node.service("containerd") or {})
    service["nssm"] = {**service["nssm"], "AppThrottle": 9, "AppEnvironmentExtra": ["A=sha256:1"]}
    made = plan(node.merge({service_key("containerd"): service}), args).batch
    assert made is not None
    nssm = [op.args["args"] for op in made.ops if op.op == "run" and op.args["program"] == r"C:\k\nssm.exe"]
    assert nssm == [["set", "containerd", "AppThrottle", "1500"]]
    (removed,) = (op for op in made.ops if op.op == "registry_remove")
    assert removed.args["name"] == "AppEnvironmentExtra"


@pytest.mark.row("SV-17")
def test_a_service_under_another_manager_is_converted() -> None:
    found = plan(converged(replace(ARGS, service=running("nssm"))))
    assert [step.text for step in found.steps] == [
        "convert the service containerd from nssm to a service of its own",
        "restart containerd",
    ]


def test_a_service_marked_for_deletion_is_refused() -> None:
    node = converged()
    with pytest.raises(Refused, match="1072"):
        plan(node.merge({service_key("containerd"): {**(node.service("containerd") or {}), "deleting": True}}))


def test_a_part_that_could_not_be_read_is_refused_by_name() -> None:
    with pytest.raises(Refused, match="access denied"):
        plan(bare_node().merge({file_key(EXE): {"error": "access denied"}}))


def test_a_batch_relies_on_everything_the_plan_was_made_from() -> None:
    made = plan(converged(), replace(ARGS, config=CONFIG.replace("3.9", "3.10"))).batch
    assert made is not None
    expected = {expectation.query.key: dict(expectation.expect) for expectation in made.pre}
    assert expected[file_key(EXE)]["sha256"] == file(EXE.encode())["sha256"]  # unchanged, but the plan relied on it
    assert expected[file_key(r"C:\Program Files\containerd\config.toml")]["exists"] is True
    assert expected["expect:containerd"]["image_path"].startswith(f'"{EXE}" --run-service')
    assert expected["registry:machine-path"]["value"].endswith(BIN)


VARIABLE, SECRET = "HTTPS_PROXY", "http://ann:geheim@proxy:3128"


@pytest.mark.parametrize("manager", ["registered", "nssm"])
def test_values_of_the_environment_are_in_no_fact_diff_or_argument_but_can_be_put_back(manager: str) -> None:
    args = replace(ARGS, service=running(manager, environment={VARIABLE: SECRET}))
    node = converged(args)
    assert "geheim" not in json.dumps(node.to_fact())
    assert plan(node, args).batch is None, "compared by fingerprint"

    other = replace(args, service=running(manager, environment={VARIABLE: "http://bob:secret@proxy:3128"}))
    resources = containerd.build_resources(other)
    assert reads_for_undo(resources, node) == ()
    made = make_plan("containerd", resources, node)
    assert made.batch is not None
    assert "geheim" not in str(made.batch), "the node notes it itself"
    (change,) = (op for op in made.batch.ops if op.op == "registry_set")
    assert (change.args["value"], change.secrets) == ([Secret("HTTPS_PROXY=http://bob:secret@proxy:3128")], ("value",))
    assert change.undo[-1].args["present"] is True
    assert "secret" not in "".join(step.before + step.after + step.text for step in made.steps)
    assert not any("secret" in str(op.args) for op in made.batch.ops if op.op == "run")


def earlier_node(folder: str) -> Reading:
    """containerd without a folder bin, as image-builder leaves it; `ctr.exe` is missing there."""
    service = converged().service("containerd") or {}
    there = {file_key(rf"{folder}\{name}"): file(name.encode()) for name in ("containerd.exe", NAME_OF_SHIM)}
    return bare_node({**service, "image_path": rf'"{folder}\containerd.exe" --run-service'}).merge(there)


def moves(args: containerd.ContainerdArgs, node: Reading) -> list[str]:
    args = replace(args, earlier=earlier_programs.folder(LAYOUT, node))
    queries = merge_queries(query for resource in containerd.build_resources(args) for query in resource.reads())
    known = node.merge({query.key: {"exists": False} for query in queries if query.key not in node.parts})
    made = plan(known, args).batch
    assert made is not None
    return [line for line in lines(made.ops) if line.startswith(f"move {args.earlier}")]


@pytest.mark.parametrize(
    ("folder", "archive", "to"),
    [
        (
            r"C:\Program Files\containerd",
            True,
            [rf"{EXE}.01234567.moved.winkube-old", rf"{SHIM}.01234567.moved.winkube-old"],
        ),
        (r"C:\Program Files\containerd", False, [rf"{EXE}.01234567.moved.winkube-old", SHIM]),
        (r"D:\k8s", True, None),
    ],
)
def test_an_installation_elsewhere_moves(folder: str, archive: bool, to: list[str] | None) -> None:
    """The installation moves to the wanted folder. Before, it stayed, a second one was made beside it, and the old
    shim ran the pods. No rename crosses drives."""
    old = [rf"{folder}\{name}" for name in ("containerd.exe", NAME_OF_SHIM)]
    to = to or [f"{path}.01234567.moved.winkube-old" for path in old]
    expected = [f"move {left} -> {right}" for left, right in zip(old, to, strict=True)]
    assert moves(replace(ARGS, archive=archive), earlier_node(folder)) == expected


def test_a_service_of_another_program_or_of_our_folder_is_no_earlier_installation() -> None:
    for line in (rf'"{EXE}" --run-service', r"C:\k\rke2.exe agent service", "containerd.exe --run-service"):
        service = {**(converged().service("containerd") or {}), "image_path": line}
        assert earlier_programs.folder(LAYOUT, bare_node(service)) == ""


def test_a_shim_that_containerd_finds_before_its_own() -> None:
    other = {"path": rf"C:\other\{NAME_OF_SHIM}", "sha256": "1" * 64}
    node = converged().merge({shim.ON_PATH.key: [other, {"path": SHIM, "sha256": "2" * 64}]})
    assert shim.stranger(LAYOUT, node) == other["path"]
    assert shim.stranger(LAYOUT, node, leaving=r"c:\Other") == ""
    same = {**other, "sha256": file(SHIM.encode())["sha256"]}
    assert shim.stranger(LAYOUT, node.merge({shim.ON_PATH.key: [same]})) == "", "the same bytes"
    assert shim.stranger(LAYOUT, node.merge({shim.ON_PATH.key: [{"path": SHIM, "sha256": "2" * 64}, other]})) == ""
    nothing = bare_node().merge({shim.ON_PATH.key: [other]})
    assert shim.stranger(LAYOUT, nothing) == "", "it has none of its own"
    assert shim.stranger(LAYOUT, nothing, comes=True) == other["path"]


def test_the_diff_names_the_programs_that_differ_and_no_other() -> None:
    """Before, a new shim also showed containerd.exe and ctr.exe as replaced."""
    args = replace(ARGS, source=replace(SOURCE, sha256="b" * 64, version="1.7.12"))
    node = converged()
    (programs,) = (each for each in containerd.build_resources(args) if isinstance(each, Programs))
    there = {path: node.file(path) for path in programs.paths}
    staged = {file_key(programs.locate_staged(path)): found for path, found in there.items()}
    staged[file_key(programs.locate_staged(SHIM))] = file(b"another shim")
    found = task_result(plan(node.merge(staged), args), check=True, diff=True, calls=1)
    (shown,) = (each for each in found["diff"] if each["before_header"] == EXE)
    assert shown["before"] == f"{SHIM} sha256 {there[SHIM]['sha256'][:12]}\n"
    assert [line.split(" ")[0] for line in shown["after"].splitlines()[1:]] == [SHIM.split(" ")[0]]
    assert CTR not in shown["after"] and EXE not in shown["after"]

    same = {file_key(programs.locate_staged(path)): found for path, found in there.items()}
    (step, *rest) = plan(node.merge(same), args).steps
    assert "the files on the node are the same" in step.text and rest == []
    assert step.before == "" and len(step.after.splitlines()) == 1
