"""When a machine has joined, when it may join, and in which order the steps run."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.join import join, joining
from ansible_collections.winkube.node.plugins.plugin_utils.components.join.joining import Joining
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubernetes_fit import check_node_name
from ansible_collections.winkube.node.plugins.plugin_utils.engine import security
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, system_query
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.file import File
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from .nodes import LAYOUT, bare, file, lines

MARK = "0123456789abcdef0123456789abcdef"
CONF = r"C:\etc\kubernetes\kubelet.conf"
PKI = r"C:\var\lib\kubelet\pki"
PEM = rf"{PKI}\kubelet-client-current.pem"
TOKEN = "abcdef.0123456789abcdef"
STOPPED = {
    "name": "kubelet",
    "state": "stopped",
    "depends_on": [],
    "image_path": r"C:\k\kubelet.exe",
    "environment": [],
}
NODE: dict[str, Any] = {"metadata": {"name": "win1", "labels": {}}, "status": {"conditions": []}}
READY: dict[str, Any] = NODE | {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
DISCOVERY = r"C:\etc\kubernetes\winkube-discovery.conf"
JOINING = Joining(
    LAYOUT,
    "kubeadm",
    "win1",
    MARK,
    configuration="{}",
    discovery=Secret(f'{{"token": "{TOKEN}"}}'),
    token=Secret(TOKEN),
)


def fresh(*services: dict[str, Any], **parts: Any) -> Reading:
    found = bare((system_query(), *join.reads(LAYOUT)), *(services or (STOPPED,)))
    return found.merge({"system": found.parts["system"] | {"clock": "2026-11-21T12:00:00Z"}, **parts})


def member(subject: str = "CN=system:node:win1, O=system:nodes", until: str = "2027-11-21T12:00:00Z") -> Reading:
    """A node that has joined."""
    certificate = {"exists": True, "subject": subject, "not_after": until}
    running = STOPPED | {"state": "running"}
    return fresh(running, **{file_key(CONF): file(b"conf"), join.certificate_key(LAYOUT): certificate})


def joined(reading: Reading, node: dict[str, Any] | None = NODE, **more: Any) -> bool:
    situation = join.Situation(LAYOUT, "kubeadm", "win1", reading, node, asked=True)
    return join.has_joined(replace(situation, **more))


@pytest.mark.row("JR-01")
def test_joined_is_kubeconfig_certificate_and_node() -> None:
    assert joined(member())
    assert joined(member(), READY)
    assert not joined(fresh())
    assert not joined(fresh(), None)


@pytest.mark.row("JR-01")
@pytest.mark.parametrize(
    ("reading", "node", "said"),
    [
        (member(), None, r"the cluster has no Node win1.*winkube_repair=rejoin"),
        (member(until="2026-11-21T12:00:00Z"), NODE, r"expired at 2026-11-21T12:00:00Z"),
        (member(until="2026-11-21T11:59:59Z"), NODE, r"expired at 2026-11-21T11:59:59Z.*winkube_repair=rejoin"),
        (
            member().merge({join.certificate_key(LAYOUT): {"exists": False}}),
            NODE,
            r"the join is incomplete.*winkube_repair=rejoin",
        ),
        (fresh(), READY, r"a Node win1 that is Ready.*another machine has this name"),
    ],
)
def test_what_a_person_has_to_decide_is_refused(reading: Reading, node: dict[str, Any] | None, said: str) -> None:
    with pytest.raises(Refused, match=said):
        joined(reading, node)


@pytest.mark.row("HP-13")
def test_the_machine_has_to_be_the_node_that_it_is_said_to_be() -> None:
    with pytest.raises(
        Refused, match=r"has joined as system:node:other .*, but winkube_node_name says system:node:win1"
    ):
        joined(member("CN=system:node:other, O=system:nodes"))
    assert joined(member("O=system:nodes, CN=system:node:win1"))


@pytest.mark.row("HP-13")
@pytest.mark.parametrize("name", ["WIN1", "win_1", "-win1", "win1.", "", "a" * 254])
def test_a_name_that_no_node_can_have_is_refused(name: str) -> None:
    with pytest.raises(Refused, match=r"winkube_node_name: .* cannot be the name of a Node"):
        check_node_name(name)


@pytest.mark.row("HP-13")
@pytest.mark.parametrize("name", ["win1", "win1.example.com", "1", "a" * 253])
def test_other_names_are_fine(name: str) -> None:
    check_node_name(name)


@pytest.mark.row("HP-01")
@pytest.mark.parametrize("role", ["control-plane", "master"])
def test_a_control_plane_is_refused(role: str) -> None:
    labelled = {"metadata": {"name": "win1", "labels": {f"node-role.kubernetes.io/{role}": ""}}}
    with pytest.raises(Refused, match=f"a control plane .node-role.kubernetes.io/{role}., which runs on Linux only"):
        joined(member(), labelled)


def test_without_a_cluster_to_ask_the_files_decide() -> None:
    assert joined(member(), None, asked=False)
    assert not joined(fresh(), None, asked=False)


def test_to_rejoin_nothing_has_to_be_right() -> None:
    assert not joined(member(until="2020-01-01T00:00:00Z"), None, rejoin=True)


def test_a_join_needs_the_service_and_kubeadms_own_folders() -> None:
    join.check_places(LAYOUT, "kubeadm", fresh())
    with pytest.raises(Refused, match=r"There is no service kubelet on this machine.*the role kubelet"):
        join.check_places(LAYOUT, "kubeadm", fresh(STOPPED | {"name": "other"}))
    elsewhere = replace(LAYOUT, kubelet_dir=r"D:\kubelet")
    with pytest.raises(Refused, match=r"but this node has D:\\kubelet"):
        join.check_places(elsewhere, "kubeadm", fresh())
    join.check_places(elsewhere, "bootstrap_kubeconfig", fresh())
    with pytest.raises(Refused, match=r"kubelet_kubeconfig is C:\\k\\config"):
        join.check_places(replace(LAYOUT, kubelet_kubeconfig=r"C:\k\config"), "kubeadm", fresh())


def batch(reading: Reading, joining: Joining = JOINING) -> Batch:
    made = make_plan(join.NAME, (joining,), reading).batch
    assert made is not None
    return made


@pytest.mark.row("JR-01")
def test_kubeadm_gets_a_file_and_the_file_is_gone_afterwards() -> None:
    path = r"C:\ProgramData\winkube\join-01234567.yaml"
    assert lines(batch(fresh()).ops) == [
        f"write {path}",
        f"write {DISCOVERY}",
        f"run kubeadm.exe join --config {path}",
        f"remove {DISCOVERY}",
        f"remove {path}",
        f"wait file {CONF}",
        "wait service kubelet running",
    ]
    write, discovery, run, *_ = batch(fresh()).ops
    assert (run.args["timeout_s"], run.args["encoding"]) == (600, "utf-8")
    windows = r"C:\Windows\System32;C:\Windows;C:\Windows\System32\Wbem;C:\Windows\System32\WindowsPowerShell\v1.0"
    assert run.args["env"] == {"Path": rf"C:\k;{windows}"}, "kubeadm looks for kubelet and powershell there"
    assert write.args["sddl"] == security.ADMINS_ONLY_FILE
    assert lines(write.undo) == [f"remove {path}"]
    assert (discovery.args["sddl"], discovery.secrets) == (security.ADMINS_ONLY_FILE, ("content",))
    assert lines(discovery.undo) == [f"remove {DISCOVERY}"]


@pytest.mark.row("JR-01")
def test_the_token_is_only_where_it_is_masked() -> None:
    for op in batch(fresh()).ops:
        open_ = {name: value for name, value in op.args.items() if name not in op.secrets}
        assert TOKEN not in str(open_)
        assert base64.b64encode(TOKEN.encode()).decode() not in str(open_)
    assert TOKEN not in repr(JOINING)
    assert [op.secrets for op in batch(fresh()).ops[:3]] == [(), ("content",), ("stdin",)]


@pytest.mark.row("JR-01")
def test_a_join_that_fails_leaves_nothing_behind() -> None:
    run = batch(fresh()).ops[2]
    assert lines(run.undo) == [
        "run sc.exe stop kubelet",
        r"wait process_gone C:\k\kubelet.exe",
        f"remove {CONF}",
        r"remove C:\etc\kubernetes\bootstrap-kubelet.conf",
        r"remove C:\etc\kubernetes\pki\ca.crt",
        r"remove C:\var\lib\kubelet\config.yaml",
        r"remove C:\var\lib\kubelet\kubeadm-flags.env",
        r"remove C:\var\lib\kubelet\instance-config.yaml",
        r"remove C:\etc\kubernetes\pki",
        f"remove {PKI}",
    ]
    assert [op.args.get("only_if_empty") for op in run.undo if op.args.get("path") == r"C:\etc\kubernetes\pki"] == [
        True
    ]


def old_identity() -> Reading:
    folder = {
        "exists": True,
        "kind": "directory",
        "entries": ["kubelet-client-current.pem", "kubelet.key"],
        "sddl": "O:SY",
    }
    return member().merge({file_key(PKI): folder})


@pytest.mark.row("JR-01")
def test_joining_anew_puts_the_old_identity_aside_until_nothing_can_fail() -> None:
    ops = batch(old_identity(), replace(JOINING, again=True)).ops
    path = r"C:\ProgramData\winkube\join-01234567.yaml"
    assert lines(ops) == [
        "run sc.exe stop kubelet",
        "wait service kubelet stopped",
        r"wait process_gone C:\k\kubelet.exe",
        rf"move {CONF} -> {CONF}.01234567.winkube-old",
        rf"mkdir {PKI}.01234567.winkube-old",
        rf"move {PEM} -> {PKI}.01234567.winkube-old\kubelet-client-current.pem",
        rf"move {PKI}\kubelet.key -> {PKI}.01234567.winkube-old\kubelet.key",
        f"write {path}",
        f"write {DISCOVERY}",
        f"run kubeadm.exe join --config {path}",
        f"remove {DISCOVERY}",
        f"remove {path}",
        f"wait file {CONF}",
        "wait service kubelet running",
        rf"remove {CONF}.01234567.winkube-old",
        rf"remove {PKI}.01234567.winkube-old",
    ]


@pytest.mark.row("JR-01")
def test_the_undo_of_joining_anew_brings_the_old_identity_back() -> None:
    ops = batch(old_identity(), replace(JOINING, again=True)).ops
    backwards = [line for op in reversed(ops) for line in lines(op.undo)]
    assert backwards.index(f"remove {PKI}") < backwards.index(f"mkdir {PKI}")
    assert backwards.index(f"mkdir {PKI}") < backwards.index(
        rf"move {PKI}.01234567.winkube-old\kubelet.key -> {PKI}\kubelet.key"
    )
    assert backwards.index(f"remove {CONF}") < backwards.index(rf"move {CONF}.01234567.winkube-old -> {CONF}")
    assert backwards[-2:] == ["run sc.exe start kubelet", "wait service kubelet running"]


@pytest.mark.row("JR-01")
def test_a_bootstrap_kubeconfig_starts_the_kubelet_and_is_gone_when_it_has_its_own() -> None:
    joining = Joining(LAYOUT, "bootstrap_kubeconfig", "win1", MARK, kubeconfig=Secret("secret"), ca_pem=b"pem")
    assert lines(batch(fresh(), joining).ops) == [
        r"mkdir C:\etc\kubernetes\pki",
        r"write C:\etc\kubernetes\pki\ca.crt",
        r"write C:\etc\kubernetes\bootstrap-kubelet.conf",
        "run sc.exe start kubelet",
        "wait service kubelet running",
        f"wait file {CONF}",
        "wait http",
        r"remove C:\etc\kubernetes\bootstrap-kubelet.conf",
    ]


@pytest.mark.row("JR-01", "JR-02")
def test_a_kubeconfig_of_the_users_is_written_for_administrators_alone_and_the_kubelet_started() -> None:
    layout = replace(LAYOUT, kubelet_kubeconfig=r"C:\k\config")
    joining = Joining(layout, "kubeconfig", "win1", MARK, kubeconfig=Secret("secret"), ca_pem=b"pem")
    reading = bare((system_query(), *join.reads(layout)), STOPPED)
    folder, ca, write, *rest = batch(reading, joining).ops
    assert folder.undo[0].args == {"path": r"C:\etc\kubernetes\pki", "only_if_empty": True}
    assert ca.undo[0].args["path"] == r"C:\etc\kubernetes\pki\ca.crt"
    assert lines((folder, ca, write, *rest)) == [
        r"mkdir C:\etc\kubernetes\pki",
        r"write C:\etc\kubernetes\pki\ca.crt",
        r"write C:\k\config",
        "run sc.exe start kubelet",
        "wait service kubelet running",
        "wait http",
    ]
    administrators_alone = "O:BAG:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
    assert (write.args["sddl"], write.secrets) == (administrators_alone, ("content",))


@pytest.mark.parametrize(
    ("pod_cidr", "ending"), [("10.244.3.0/24", ", podCIDR 10.244.3.0/24\n"), ("", "\n")], ids=["asked", "nobody to ask"]
)
def test_a_real_run_tells_the_pod_cidr_itself_or_leaves_it_out(pod_cidr: str, ending: str) -> None:
    planned = f"joined as win1, podCIDR {joining.LATER}\n"
    assert joining.fill_pod_cidr(planned, pod_cidr) == f"joined as win1{ending}"
    assert joining.fill_pod_cidr("create the folder C:\\k", pod_cidr) == "create the folder C:\\k"


def test_check_mode_says_that_the_pod_cidr_comes_later_and_what_the_node_is_then() -> None:
    plan = make_plan(join.NAME, (JOINING,), fresh())
    assert plan.steps[0].text == "join the cluster as win1 by kubeadm, podCIDR (known after join)"
    assert plan.predicted.file(CONF)["exists"]
    assert (plan.predicted.service("kubelet") or {})["state"] == "running"


SECRET = File(r"C:\flannel\flanneld.kubeconfig", Secret(b"token: x"), r"C:\backup")


FLANNELD = STOPPED | {"name": "flanneld", "image_path": LAYOUT.flanneld_binary}


def files(content: bytes, sddl: str = security.ADMINS_ONLY_FILE, state: str = "running") -> Reading:
    there = {key: value for key, value in file(content).items() if key != "content"} | {"sddl": sddl}
    return fresh(FLANNELD | {"state": state}, **{file_key(SECRET.path): there})


def ops(reading: Reading) -> tuple[Op, ...]:
    made = make_plan(join.NAME, resources(reading), reading).batch
    return made.ops if made else ()


def resources(reading: Reading) -> tuple[Resource, ...]:
    return (SECRET, *join.build_reader("flanneld", LAYOUT.flanneld_binary, SECRET.path, reading))


@pytest.mark.row("JR-02")
def test_a_secret_file_is_written_once_compared_by_hash_and_never_shown() -> None:
    assert ops(files(b"token: x")) == ()
    plan = make_plan(join.NAME, (SECRET,), fresh())
    assert plan.batch is not None
    assert lines(plan.batch.ops) == [rf"write {SECRET.path}"]
    assert plan.batch.ops[0].secrets == ("content",)
    assert "token" not in "".join(f"{step.text}{step.before}{step.after}" for step in plan.steps)
    assert not any("content_limit" in dict(query.args) for query in SECRET.reads())
    assert "token: x" not in repr(SECRET)


@pytest.mark.row("JR-02")
def test_a_secret_file_that_others_may_read_is_locked() -> None:
    (write,) = ops(files(b"token: x", sddl="O:BAG:BAD:(A;;FA;;;BA)(A;;FR;;;BU)"))
    assert write.args["sddl"] == security.ADMINS_ONLY_FILE
    # Windows writes SYSTEM and Administrators by their letters or in full.
    assert ops(files(b"token: x", sddl="O:BAG:BAD:PAI(A;;FA;;;S-1-5-18)(A;;FA;;;S-1-5-32-544)")) == ()


def test_what_reads_a_changed_secret_file_is_restarted_if_it_runs() -> None:
    changed = ops(files(b"token: y"))
    assert lines(changed) == [
        "run sc.exe stop flanneld",
        "wait service flanneld stopped",
        r"wait process_gone C:\flannel\flanneld.exe",
        r"mkdir C:\backup",
        rf"write {SECRET.path}",
        "run sc.exe start flanneld",
        "wait service flanneld running",
    ]
    assert [op.op for op in ops(files(b"token: y", state="stopped"))] == ["mkdir", "write"]
    reading = files(b"token: y")
    steps = make_plan(join.NAME, resources(reading), reading).steps
    assert [step.text for step in steps] == [rf"rewrite {SECRET.path}", "restart flanneld"]
    # A service that waits to be restarted after a crash (nssm) is started again too.
    assert "run sc.exe start flanneld" in lines(ops(files(b"token: y", state="paused")))


def test_what_depends_on_it_is_stopped_before_and_started_after_it() -> None:
    dependant = {"service:kube-proxy": STOPPED | {"name": "kube-proxy", "state": "running", "depends_on": ["flanneld"]}}
    found = [line for line in lines(ops(files(b"token: y").merge(dependant))) if line.startswith("run")]
    assert found == [
        "run sc.exe stop kube-proxy",
        "run sc.exe stop flanneld",
        "run sc.exe start flanneld",
        "run sc.exe start kube-proxy",
    ]


@pytest.mark.parametrize(
    ("told", "restarts"), [(SECRET.path.upper().replace("\\", "/"), True), (r"c:\k\config", False)]
)
def test_one_that_lost_its_file_is_restarted_and_one_that_reads_another_is_not(told: str, restarts: bool) -> None:
    running = FLANNELD | {"state": "running", "nssm": {"AppParameters": f"--kubeconfig-file={told}"}}
    assert ("run sc.exe start flanneld" in lines(ops(fresh(running)))) is restarts


LOG = r"C:\k\kubelet.log"


@pytest.mark.parametrize(
    ("service", "path"),
    [
        (STOPPED | {"nssm": {"AppStderr": LOG}}, LOG),
        (
            STOPPED | {"image_path": rf"C:\k\kube-log-runner.exe --log-file={LOG} C:\k\kubelet.exe --windows-service"},
            LOG,
        ),
        (STOPPED, None),
    ],
)
def test_the_log_of_a_kubelet_is_the_one_that_its_service_names(service: dict[str, Any], path: str | None) -> None:
    query = joining.log_query(LAYOUT, fresh(service))
    assert (dict(query.args)["path"] if query else None) == path


@pytest.mark.parametrize(
    ("tail", "said"),
    [
        (b"one\r\ntwo\r\n\r\nthree\r\nE1121 four \r\n\r\n", "ends with: two | three | E1121 four"),
        (b"\xe9n line\n" + b"x" * 500 + b"\n", "ends with: \ufffdn line | " + "x" * 400),
        (b" \n", ""),
        (None, ""),
    ],
)
def test_a_failed_join_ends_with_what_the_kubelet_said_last(tail: bytes | None, said: str) -> None:
    query = joining.log_query(LAYOUT, fresh(STOPPED | {"nssm": {"AppStderr": LOG}}))
    assert query is not None
    found = {query.key: {"exists": tail is not None, "tail": base64.b64encode(tail).decode() if tail else None}}
    told = joining.log_end(query, found)
    assert told.endswith(said) and bool(told) == bool(said)
    assert not said or told.startswith(f" The kubelet's log {LOG} ends with: ")
    assert joining.log_end(query, {}) == ""
