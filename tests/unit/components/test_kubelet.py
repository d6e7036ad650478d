"""From the arguments of win_kubelet and a reading to one batch, before and after the join, and to none when nothing
differs."""

from __future__ import annotations

import base64
import ipaddress
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import log_runner, nssm
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet, kubelet_check, places
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.kubelet_args import Kubelet
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan, reads
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, service_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.firewall_rule import FirewallRule
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.facts import kubernetes
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line, Version

from .nodes import LAYOUT, bare, file, lines, running, wanted_kubelet

MARK = "0123456789abcdef0123456789abcdef"
EXE = r"C:\k\kubelet.exe"
DROP_IN = r"C:\var\lib\kubelet\config.d\50-winkube.conf"
CA = r"C:\etc\kubernetes\pki\ca.crt"
PROGRAM = b"MZ kubelet"
SHA = file(PROGRAM)["sha256"]
NOTHING: Mapping[str, Any] = {}
SOURCE = Source("https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe", SHA, "1.37.1")


def settings(version: str = "1.37.1", join: str = "kubeadm", **more: Any) -> Kubelet:
    return wanted_kubelet(version, join, **{"node_name": "WIN1", **more})


def arguments(
    manager: str = "nssm", tools: tuple[Resource, ...] | None = None, service: Mapping[str, Any] = NOTHING, **more: Any
) -> kubelet.KubeletArgs:
    """`service` are options of the service."""
    tool = (nssm if manager == "nssm" else log_runner).build_resources(LAYOUT, None, MARK)
    runs = running(manager, tool if tools is None else tools, **service)
    given: dict[str, Any] = {"wanted": settings(), "service": runs, "mark": MARK}
    return kubelet.KubeletArgs(source=SOURCE, **(given | more))


def plan(reading: Reading, args: kubelet.KubeletArgs) -> Plan:
    return make_plan(kubelet.NAME, kubelet.build_resources(args), reading)


def bare_node(*services: dict[str, Any]) -> Reading:
    there = {file_key(LAYOUT.nssm): {"exists": True, "kind": "file", "version": "2.24"}}
    there |= {file_key(LAYOUT.log_runner): {"exists": True, "kind": "file"}}
    return bare(kubelet.reads(LAYOUT), *services).merge(there)


def installed(args: kubelet.KubeletArgs, *, joined: bool = False, flags: str = "", **state: Any) -> Reading:
    """A node after the batch, and after the join if `joined`."""
    node = plan(bare_node(), args).predicted.merge({file_key(EXE): file(PROGRAM)}, predicted=False)
    more: dict[str, Any] = {}
    if joined:
        more[file_key(LAYOUT.kubelet_kubeconfig)] = {"exists": True, "kind": "file"}
        state = {"state": "running"} | state
    if flags:
        more[file_key(places.env_file(LAYOUT))] = file(flags.encode())
    service = {**(node.service("kubelet") or {}), **state}
    return node.merge({**more, service_key("kubelet"): service})


def refusal(args: kubelet.KubeletArgs, reading: Reading | None = None) -> str:
    with pytest.raises(Refused) as refused:
        plan(reading or bare_node(), args)
    return str(refused.value)


def starts(made: Plan) -> list[str]:
    return [line for line in lines(made.batch.ops if made.batch else ()) if " start kubelet" in line]


@pytest.mark.row("KU-01", "KU-16", "SV-05", "SV-11")
def test_a_bare_node_gets_program_and_service_and_waits_for_the_join() -> None:
    made = plan(bare_node(), arguments())
    assert made.batch is not None
    found = lines(made.batch.ops)
    assert [line for line in found if "kubelet" in line and "nssm.exe set" not in line] == [
        r"mkdir C:\var\lib\kubelet",
        r"mkdir C:\var\lib\kubelet\config.d",
        r"mkdir C:\var\lib\kubelet\pki",
        r"mkdir C:\ProgramData\winkube\staging\kubelet-01234567",
        r"fetch C:\ProgramData\winkube\staging\kubelet-01234567\kubelet.exe",
        rf"move C:\ProgramData\winkube\staging\kubelet-01234567\kubelet.exe -> {EXE}",
        rf"write {DROP_IN}",
        rf"run nssm.exe install kubelet {EXE}",
        r"record C:\ProgramData\winkube\receipts\kubelet.json",
        r"remove C:\ProgramData\winkube\staging\kubelet-01234567",
    ]
    assert r"run nssm.exe set kubelet AppDirectory C:\k" in found
    # The kubelet's folder is the default one, and its log is one file of its own.
    assert not any("--root-dir" in line for line in found)
    assert r"run nssm.exe set kubelet AppStdout C:\k\kubelet.log" in found
    assert r"run nssm.exe set kubelet AppStderr C:\k\kubelet.log" in found
    # SV-05: other services are not made with it.
    assert {line.split()[3] for line in found if line.startswith("run nssm.exe set")} == {"kubelet"}
    assert starts(made) == []
    assert made.batch.gate == ()
    waits = r"leave kubelet stopped: it waits for join (C:\etc\kubernetes\kubelet.conf is not there yet)"
    assert waits in [step.text for step in made.steps]
    assert (made.predicted.service("kubelet") or {})["state"] == "stopped"


def test_a_folder_that_several_want_is_made_once_and_none_for_a_drop_in_that_the_release_has_not() -> None:
    source = nssm.nssm_source(
        url="https://xyz/nssm-2.24.zip", checksum="", proxy=None, unverified=(), read_url=lambda _: ""
    )
    tool = nssm.build_resources(LAYOUT, source, MARK)
    for version, made in (("1.27.4", 0), ("1.37.1", 1)):
        args = arguments(tools=tool, wanted=settings(version))
        found = plan(bare(kubelet.reads(LAYOUT)), args)
        folders = [step.text for step in found.steps if step.text.startswith("create the folder ")]
        assert len(folders) == len(set(folders))
        assert r"create the folder C:\k" in folders
        assert folders.count(r"create the folder C:\var\lib\kubelet\config.d") == made


def test_in_check_mode_the_next_component_finds_nssm_as_this_one_would_leave_it() -> None:
    source = nssm.nssm_source(
        url="https://xyz/nssm-2.24.zip", checksum="", proxy=None, unverified=(), read_url=lambda _: ""
    )
    tool = nssm.build_resources(LAYOUT, source, MARK)
    first = plan(bare(kubelet.reads(LAYOUT)), arguments(tools=tool))
    assert [step.text for step in first.steps if "install nssm" in step.text] != []
    assert first.predicted.find_missing(reads(tool)) == ()
    assert make_plan("flannel", tool, first.predicted).steps == ()
    other = nssm.nssm_source(
        url="https://xyz/nssm.exe", checksum=f"sha256:{'c' * 64}", proxy=None, unverified=(), read_url=lambda _: ""
    )
    assert make_plan("flannel", nssm.build_resources(LAYOUT, other, MARK), first.predicted).steps != ()


@pytest.mark.row("SV-12")
@pytest.mark.parametrize("manager", ["nssm", "sc"])
@pytest.mark.parametrize("joined", [False, True])
def test_a_converged_node_gets_nothing(manager: str, joined: bool) -> None:
    args = arguments(manager)
    found = plan(installed(args, joined=joined), replace(args, configured=joined))
    assert found.batch is None
    assert found.steps == ()


@pytest.mark.parametrize("state", ["running", "paused", "start_pending", "stopped"])
@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_before_the_join_it_is_never_started_whatever_state_a_reboot_left_it_in(manager: str, state: str) -> None:
    """The service manager starts it at boot, and it ends at once: nssm then shows PAUSED."""
    args = arguments(manager)
    node = installed(args, state=state)
    assert plan(node, args).batch is None
    other = plan(node, replace(args, source=replace(SOURCE, sha256="b" * 64)))
    assert other.batch is not None
    assert starts(other) == []
    assert other.batch.gate == ()
    stops = [line for line in lines(other.batch.ops) if line == "run sc.exe stop kubelet"]
    texts = [step.text for step in other.steps]
    assert len(stops) == texts.count("stop kubelet") == (state != "stopped")
    assert not any("start kubelet" in text for text in texts)
    assert (other.predicted.service("kubelet") or {})["state"] == "stopped"


def test_once_it_is_configured_it_is_started_and_has_to_be_healthy() -> None:
    args = arguments(configured=True, service={"start_timeout": 240})
    made = plan(installed(args, joined=True, state="stopped"), args)
    assert made.batch is not None
    assert lines(made.batch.ops) == ["run sc.exe start kubelet", "wait service kubelet running"]
    (gate,) = made.batch.gate
    watched = {"ends_with": "kubelet", "log": r"C:\k\kubelet.log"}
    assert gate.args == {
        "for": "http",
        "url": "http://127.0.0.1:10248/healthz",
        "status": 200,
        "timeout_s": 240,
        **watched,
    }


@pytest.mark.parametrize(
    ("extra", "config", "wanted"),
    [
        ((), {"healthzPort": 10300}, "http://127.0.0.1:10300/healthz"),
        (("--healthz-port=10301",), {"healthzPort": 10300}, "http://127.0.0.1:10301/healthz"),
        ((), {"healthzBindAddress": "10.0.0.5"}, "http://10.0.0.5:10248/healthz"),
        (("--healthz-bind-address=::",), {"healthzBindAddress": "10.0.0.5"}, "http://127.0.0.1:10248/healthz"),
        (("--healthz-bind-address=fd00::5",), {}, "http://[fd00::5]:10248/healthz"),
        (("--healthz-port=0",), {}, None),
        ((), {"healthzPort": 0}, None),
    ],
)
def test_the_gate_asks_where_the_kubelet_answers(
    extra: tuple[str, ...], config: dict[str, Any], wanted: str | None
) -> None:
    args = arguments(wanted=settings(extra_arguments=extra), values=config, configured=True)
    made = plan(installed(args, joined=True, state="stopped"), args)
    assert made.batch is not None
    (gate,) = made.batch.gate
    assert gate.args.get("url") == wanted
    assert wanted or (gate.args["for"], gate.args["stable_s"]) == ("service", 30)


@pytest.mark.row("HP-04", "SE-02")
@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_only_what_holds_keys_or_is_read_by_services_is_locked(manager: str) -> None:
    made = plan(bare_node(), arguments(manager))
    assert made.batch is not None
    locks = {op.args["path"]: op.args.get("sddl") for op in made.batch.ops if op.op == "mkdir"}
    admins = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    assert locks[r"C:\etc\kubernetes"] == locks[r"C:\var\lib\kubelet\pki"] == admins
    # Containers read mounted secrets from there as ordinary users, so the folder inherits its access.
    assert locks[r"C:\var\lib\kubelet"] is None
    assert locks[r"C:\var\lib"] is None and locks[r"C:\var"] is None
    assert locks[r"C:\etc\kubernetes\manifests"] is None
    # Anyone who can write a drop-in, or a program into its folder, controls the kubelet, which runs as SYSTEM.
    assert locks[r"C:\var\lib\kubelet\config.d"] == locks[r"C:\k"] == admins + "(A;OICI;0x1200a9;;;BU)"


@pytest.mark.row("SV-09")
def test_it_is_started_again_when_it_fails_whoever_runs_it() -> None:
    by_sc, by_nssm = (plan(bare_node(), arguments(manager)).batch for manager in ("sc", "nssm"))
    assert by_sc is not None and by_nssm is not None
    assert "run sc.exe failure kubelet reset= 86400 actions= restart/15000/restart/30000/restart/60000" in lines(
        by_sc.ops
    )
    assert "run sc.exe failureflag kubelet 1" in lines(by_sc.ops)
    assert "run nssm.exe set kubelet AppExit Default Restart" in lines(by_nssm.ops)


WRAPPER = [
    LAYOUT.log_runner,
    r"-log-file=C:\k\kubelet.log",
    "-log-file-size=10Mi",
    "-log-file-age=336h",
]


def test_sc_gets_the_kubelets_own_service_flag_behind_what_keeps_its_log() -> None:
    """Before, it was there without the wrapper, and its output was lost."""
    image_path = (plan(bare_node(), arguments("sc")).predicted.service("kubelet") or {})["image_path"]
    words = command_line.split(image_path)
    assert words[:4] == WRAPPER
    words = words[4:]
    assert words[:3] == [EXE, "--windows-service", "--hostname-override=win1"]
    assert words[3:] == list(kubelet.command_arguments(arguments("sc")))[1:]


@pytest.mark.row("KU-31")
@pytest.mark.parametrize("manager", ["nssm", "sc"])
def test_a_path_with_a_blank_is_quoted_once_in_the_service(manager: str) -> None:
    args = arguments(manager, wanted=settings(extra_arguments=(r"--tls-cert-file=C:\Program Files\tls.pem",)))
    service = plan(bare_node(), args).predicted.service("kubelet") or {}
    line = f"{EXE} {service['nssm']['AppParameters']}" if manager == "nssm" else service["image_path"]
    assert line.count(r'"--tls-cert-file=C:\Program Files\tls.pem"') == 1
    native = ["--windows-service"] if manager == "sc" else []
    wrapped = WRAPPER if manager == "sc" else []
    assert command_line.split(line) == [*wrapped, EXE, *native, *kubelet.command_arguments(args)]


@pytest.mark.row("KU-32")
def test_what_kubeadm_manages_is_in_files_and_the_arguments_name_them() -> None:
    argv = kubelet.command_arguments(arguments())
    assert argv == (
        "--hostname-override=win1",
        "--v=2",
        r"--kubeconfig=C:\etc\kubernetes\kubelet.conf",
        "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
        rf"--client-ca-file={CA}",
        r"--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf",
        r"--cert-dir=C:\var\lib\kubelet\pki",
        r"--config=C:\var\lib\kubelet\config.yaml",
        r"--config-dir=C:\var\lib\kubelet\config.d",
    )
    made = plan(bare_node(), arguments()).batch
    assert made is not None
    (written,) = (op for op in made.ops if op.op == "write" and op.args["path"] == DROP_IN)
    content = json.loads(base64.b64decode(written.args["content"]))
    assert content["containerRuntimeEndpoint"] == "npipe:////./pipe/containerd-containerd"
    assert content["systemReserved"] == {"memory": "2Gi"}


@pytest.mark.parametrize("version", ["1.27.4", "1.29.0"])
def test_without_drop_ins_everything_is_an_argument_and_no_file_is_written(version: str) -> None:
    args = arguments(wanted=settings(version))
    argv = kubelet.command_arguments(args)
    assert "--container-runtime-endpoint=npipe:////./pipe/containerd-containerd" in argv
    assert not any(word.startswith("--config-dir") for word in argv)
    made = plan(bare_node(), args).batch
    assert made is not None
    assert [line for line in lines(made.ops) if line.startswith("write")] == []


def test_a_kubeconfig_that_is_brought_needs_no_bootstrap_and_no_config_file() -> None:
    argv = kubelet.command_arguments(arguments(wanted=settings(join="kubeconfig")))
    names = {word.partition("=")[0] for word in argv}
    assert not names & {"--config", "--config-dir", "--bootstrap-kubeconfig", "--cert-dir"}
    assert {"--cluster-dns", "--container-runtime-endpoint", "--kubeconfig"} <= names


@pytest.mark.parametrize(("join", "rotates"), [("bootstrap_kubeconfig", True), ("kubeconfig", False)])
@pytest.mark.parametrize("version", ["1.22.17", "1.27.4", "1.37.1"])
def test_without_kubeadm_the_arguments_say_who_may_talk_to_the_kubelet(version: str, join: str, rotates: bool) -> None:
    argv = kubelet.command_arguments(arguments(wanted=settings(version, join)))
    wanted = [
        "--anonymous-auth=false",
        "--authentication-token-webhook=true",
        "--authorization-mode=Webhook",
        rf"--client-ca-file={CA}",
        "--read-only-port=0",
        # A kubelet that rotates uses no token of its kubeconfig: only one that came by bootstrap surely has a
        # certificate.
        *(["--rotate-certificates=true"] if rotates else []),
    ]
    first = argv.index(wanted[0])
    assert list(argv[first : first + len(wanted)]) == wanted
    assert argv.count("--rotate-certificates=true") == rotates
    assert kubelet_check.check_command_line(argv, Version.parse(version)) == []


def test_with_kubeadm_its_own_file_says_who_may_talk_to_the_kubelet() -> None:
    """kubeadm's file says it, except for the CA: its path is that of the control plane's folder."""
    for version in ("1.22.17", "1.27.4", "1.37.1"):
        argv = kubelet.command_arguments(arguments(wanted=settings(version)))
        access = [word for word in argv if "auth" in word or "client-ca" in word or "read-only" in word]
        assert access == [rf"--client-ca-file={CA}"]
        assert kubelet_check.check_command_line(argv, Version.parse(version)) == []


def test_what_the_user_says_of_access_counts_and_an_open_door_is_a_warning() -> None:
    own = (r"--client-ca-file=C:\k\ca.crt", "--authorization-mode=AlwaysAllow")
    wanted = settings(join="kubeconfig", extra_arguments=own)
    argv = kubelet.command_arguments(arguments(wanted=wanted))
    assert argv[-2:] == own
    assert [word for word in argv if word.startswith(("--client-ca-file", "--authorization-mode"))] == list(own)
    assert kubelet_check.problems(wanted) == []
    (said,) = [text for text in kubelet_check.warnings(wanted) if "AlwaysAllow" in text]
    assert "may run commands in every pod of this node" in said
    assert not kubelet.lacks_ca(wanted, bare_node())


def test_a_kubelet_that_runs_gets_the_ca_that_it_is_told_of_before_it_restarts() -> None:
    wanted = settings(join="kubeconfig")
    args = arguments("sc", wanted=wanted, configured=True)
    old = replace(args, wanted=settings(join="kubeconfig", verbosity=9))
    joined = installed(old, joined=True)
    assert kubelet.lacks_ca(wanted, joined)
    assert not kubelet.lacks_ca(wanted, bare_node()), "the join writes it"
    assert kubelet.lacks_ca(settings(), joined), "kubeadm may have written it elsewhere"
    there = joined.merge({file_key(CA): file(b"pem")})
    assert not kubelet.lacks_ca(wanted, there)
    args = replace(args, ca_pem="pem")
    missing = joined.find_missing(reads(kubelet.build_resources(args)))
    made = plan(joined.merge(dict(bare(missing).parts)), args)
    assert made.batch is not None
    found = lines(made.batch.ops)
    assert found.index(rf"write {CA}") < found.index("run sc.exe start kubelet")
    assert rf"mkdir {CA.rpartition(chr(92))[0]}" in found
    assert "winkube_cluster.kubeconfig" in str(kubelet.refuse_without_ca(LAYOUT))


@pytest.mark.row("HP-04")
def test_another_folder_is_told_to_the_kubelet() -> None:
    assert settings().extra == ()
    assert settings(kubelet_dir=r"D:\kubelet").extra == (r"--root-dir=D:\kubelet",)


# -- kubeadm-flags.env ---------------------------------------------------------------------------------------------

OF_KUBEADM = (
    'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=npipe:////./pipe/containerd-containerd '
    "--hostname-override=win1 --pod-infra-container-image=registry.k8s.io/pause:3.9 "
    '--register-with-taints=os=windows:NoSchedule"\n'
)


@pytest.mark.row("SV-12", "KU-04", "KU-24")
@pytest.mark.parametrize("version", ["1.24.0", "1.27.4", "1.34.0", "1.35.0", "1.37.1"])
def test_a_node_that_kubeadm_has_joined_does_not_change_by_it(version: str) -> None:
    """Up to 1.34 kubeadm writes the sandbox image, and up to 1.26 also the kind of runtime."""
    of_kubeadm = OF_KUBEADM.replace('="', '="--container-runtime=remote ') if version < "1.27" else OF_KUBEADM
    before = arguments(wanted=settings(version))
    after = replace(before, configured=True, kubeadm_flags=of_kubeadm)
    assert kubelet.command_arguments(after) == kubelet.command_arguments(before)
    assert plan(installed(before, joined=True, flags=of_kubeadm), after).batch is None


def test_what_a_user_told_kubeadm_stays_in_force() -> None:
    flags = r'KUBELET_KUBEADM_ARGS="--max-pods=60 --node-labels pool=gpu --volume-plugin-dir=C:\\plugins"'
    argv = kubelet.command_arguments(arguments(kubeadm_flags=flags))
    assert argv[-3:] == ("--max-pods=60", "--node-labels=pool=gpu", r"--volume-plugin-dir=C:\plugins")


def test_a_flag_that_this_release_does_not_know_is_left_out_of_kubeadms_refused_in_ours() -> None:
    old = 'KUBELET_KUBEADM_ARGS="--network-plugin=cni --max-pods=60"'
    assert kubelet.command_arguments(arguments(kubeadm_flags=old))[-1] == "--max-pods=60"
    own = arguments(wanted=settings(extra_arguments=("--network-plugin=cni",)))
    assert "--network-plugin: it was removed in Kubernetes 1.24" in refusal(own)


def test_ours_counts_and_a_difference_is_said() -> None:
    args = arguments(kubeadm_flags='KUBELET_KUBEADM_ARGS="--hostname-override=other"')
    assert [word for word in kubelet.command_arguments(args) if "hostname" in word] == ["--hostname-override=win1"]
    assert kubelet.warnings(args) == [
        "kubeadm-flags.env: --hostname-override=other: the service has --hostname-override=win1 instead, which counts."
    ]


def test_settings_that_kubeadms_file_has_otherwise_are_said() -> None:
    args = arguments(wanted=settings("1.27.4"), config={"clusterDNS": ["10.0.0.10"]})
    assert any("--cluster-dns=10.96.0.10" in sentence for sentence in kubelet.warnings(args))
    assert kubelet.warnings(replace(args, config={"clusterDNS": ["10.96.0.10"]})) == []


# -- refused before the node is touched --------------------------------------------------------------------------------


@pytest.mark.row("KU-29")
def test_nothing_that_a_kubelet_does_not_start_with_gets_to_the_node() -> None:
    assert "Windows has no cgroups" in refusal(
        arguments(wanted=settings("1.27.4", extra_arguments=("--enforce-node-allocatable=pods",)))
    )
    assert "enforceNodeAllocatable stands in the drop-in" in refusal(
        arguments(wanted=settings(extra_arguments=("--enforce-node-allocatable=pods",)))
    )
    assert "feature gate IdentifyPodOS" in refusal(
        arguments(wanted=settings("1.27.4", feature_gates={"IdentifyPodOS": True}))
    )


@pytest.mark.row("KU-05")
@pytest.mark.parametrize(
    ("image", "too_old"),
    [
        ("mcr.microsoft.com/oss/kubernetes/pause:1.4.0", True),
        ("mcr.microsoft.com/k8s/core/pause:1.2", True),
        ("mcr.microsoft.com/oss/kubernetes/pause:1.4.1", False),
        ("registry.k8s.io/pause:3.6", False),
        ("registry.example:5000/pause", False),
        ("registry.example:5000/pause:mine", False),
    ],
)
def test_a_pause_image_without_wincat_is_said(image: str, too_old: bool) -> None:
    args = arguments(wanted=settings("1.26.0", pause_image=image))
    said = [sentence for sentence in kubelet.warnings(args) if "kubectl port-forward" in sentence]
    sentence = "it has no wincat, so kubectl port-forward cannot reach pods on this node; use 1.4.1 or newer."
    assert said == [f"pause image {image}: {sentence}"] * too_old


@pytest.mark.row("JR-06", "VC-08")
@pytest.mark.parametrize("program", ["kubelet", "kube-proxy"])
@pytest.mark.parametrize(
    ("component", "server", "sentence"),
    [
        ("1.37", "1.37", None),
        ("1.34", "1.37", None),
        ("1.33", "1.37", "too old for the cluster's API server 1.37: it may be 3 minors older"),
        ("1.38", "1.37", "newer than the cluster's API server 1.37"),
        ("1.25", "1.28", None),
        ("1.24", "1.26", None),
        ("1.24", "1.27", "it may be 2 minors older"),
        ("1.22", "1.24", None),
    ],
)
def test_the_version_goes_with_the_api_server(program: str, component: str, server: str, sentence: str | None) -> None:
    found = kubernetes.skew_problem(program, Line.parse(component), Line.parse(server))
    assert (found is None) if sentence is None else (found is not None and sentence in found)
    assert found is None or found.startswith(f"{program} {component} ")


# -- what the documentation has to say --------------------------------------------------------------------------------


@pytest.mark.row("KU-27", "KU-28", "RS-11")
def test_the_page_says_what_reservations_do_not_do() -> None:
    from pathlib import Path

    page = " ".join((Path(__file__).parents[3] / "docs" / "kubernetes-flags.md").read_text(encoding="utf-8").split())
    for sentence in (
        "Windows enforces none of these reservations: they only lessen NodeAllocatable",  # RS-11
        "A kubelet on Windows puts no limit on its own memory or CPU",  # KU-27
        "Let no alert depend on the condition `MemoryPressure`",  # KU-28
        "watch the machine's committed memory",
    ):
        assert sentence in page, sentence


def test_the_names_of_kubeadms_files_are_those_of_the_check() -> None:
    assert places.env_file(LAYOUT) == rf"C:\var\lib\kubelet\{places.ENV_FILE}"


@pytest.mark.parametrize(("port", "opened"), [(None, 10250), (10260, 10260)])
def test_the_firewall_lets_the_cluster_reach_the_kubelets_port(port: int | None, opened: int) -> None:
    networks = (ipaddress.ip_network("10.244.0.0/16"), ipaddress.ip_network("10.7.0.0/24"))
    args = arguments(sources=networks, values={"port": port} if port else {})
    (rule,) = [one for one in kubelet.build_resources(args) if isinstance(one, FirewallRule)]
    assert (rule.protocol, rule.port, rule.networks) == ("TCP", opened, networks)
    assert not [one for one in kubelet.build_resources(arguments(sources=None)) if isinstance(one, FirewallRule)]
