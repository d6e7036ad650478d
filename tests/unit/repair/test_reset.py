"""What a reset removes, in which order, and what it leaves; a cut leaves the node whole or dismantled."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Batch, Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Query, Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.repair import hns, owned, reset
from ansible_collections.winkube.node.plugins.plugin_utils.repair.options import ResetOptions

from tests.lab.machine.adapters import ByHand, Route
from tests.lab.machine.builds import build
from tests.unit.components.nodes import LAYOUT
from tests.unit.told import told

from .repair_cuts import cut_everywhere
from .repair_machine import OLD, PROGRAMS, SC, SUBNET_ENV, VIP, Machine, env, vip

pytestmark = pytest.mark.slow

OURS = hns.Ours(hns.list_own_names(""), "10.244.0.0/16")
HOW = told(ResetOptions, "win_k8s_reset", node_name="win1")
SCOPE = owned.Scope(LAYOUT, HOW, OURS)
PATH = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
NOTES, CTR = r"C:\k\notes.txt", r"C:\Program Files\containerd\bin\ctr.exe"
POD_FILE = r"C:\var\lib\kubelet\pods\1\volumes\data.txt"
LAYER = rf"{SCOPE.snapshots}\1\Files\x.txt"
STAYS = "stays: the journal of what was done, with copies of the files that it replaced"
KEPT = rf"{CTR}.winkube-previous"
ELSEWHERE = r"C:\tools\crictl.exe"
PROVISIONED = rf"{LAYOUT.state_dir}\receipts\provision-crictl.json"
RECEIPT = rf"{LAYOUT.state_dir}\receipts\containerd.json"
FILES = {
    NOTES: b"mine",
    CTR: build("worker", "1"),
    RECEIPT: json.dumps({"schema": 1, "files": [{"path": CTR, "sha256": ""}]}).encode(),
    KEPT: build("worker", "0"),
    ELSEWHERE: build("crictl", "1"),
    f"{ELSEWHERE}.winkube-previous": build("crictl", "0"),
    PROVISIONED: json.dumps({"schema": 1, "files": [{"path": ELSEWHERE, "sha256": ""}]}).encode(),
    SUBNET_ENV: env(),
    VIP: vip(),
    POD_FILE: b"data",
    r"C:\etc\kubernetes\kubelet.conf": b"secret",
    r"C:\k\kubelet.log": b"log",
    r"C:\k\kube-proxy-20261120T100000.000.log": b"old log",
    r"C:\ProgramData\containerd\root\io.containerd.metadata.v1.bolt\meta.db": b"db",
}


def machine(**more: bytes) -> Machine:
    made = Machine(files={**FILES, **more})
    made.node.registry.set(PATH, "Path", "expand_string", rf"%SystemRoot%\system32;{LAYOUT.containerd_bin_dir};C:\x")
    return made


def chained() -> Machine:
    """A node whose services depend on each other."""
    made = machine()
    for name, on in (("kubelet", "containerd"), ("kube-proxy", "kubelet")):
        made.node.services.change(name, "DependOnService", "multi_string", [on])
    return made


def looked(made: Machine, scope: owned.Scope = SCOPE) -> Reading:
    """As the action reads: the folders, the receipts, the things."""

    def ask(reading: Reading, queries: tuple[Query, ...]) -> Reading:
        return reading.merge(made.link.probe(queries), queries)

    reading = made.read(
        (*owned.list_first_reads(scope), *reset.NoNetworks(scope).reads(), *reset.list_left_queries(scope))
    )
    reading = ask(reading, owned.list_second_reads(scope, reading))
    return ask(reading, owned.list_third_reads(scope, reading))


def down(made: Machine, scope: owned.Scope = SCOPE) -> Plan:
    reading = looked(made, scope)
    scope = replace(scope, ours=replace(scope.ours, recorded=hns.list_recorded(LAYOUT, reading)))
    resources = (
        reset.Down(scope),
        reset.NoPathEntry(LAYOUT.containerd_bin_dir),
        reset.NoVariable("WINKUBE_TEST"),
        reset.Aside(scope),
        reset.NoNetworks(scope),
    )
    return made.plan("reset", resources, reading)


def sweep(made: Machine, scope: owned.Scope = SCOPE) -> Plan:
    return made.plan("reset", (reset.Swept(scope),), looked(made, scope))


def done(made: Machine, plan: Plan) -> None:
    assert plan.batch is not None
    answer = made.send(plan.batch)
    assert answer.outcome == "done", answer


def ours_left(made: Machine) -> list[str]:
    roots = (
        *("c:\\k", "c:\\flannel", "c:\\run", "c:\\etc", "c:\\var"),
        *("c:\\program files\\containerd", "c:\\programdata\\containerd"),
    )
    return sorted(path for path in made.node.dump()["drive"] if path.lower().startswith(roots))


def test_the_order_is_pods_services_files_networks() -> None:
    made = machine()
    made.write(r"C:\Program Files\containerd\bin\crictl.exe", build("crictl", "1.31.0"))
    made.network("External", "192.168.255.0/30")
    made.network("cbr0", OLD)
    batch = down(made).batch
    assert batch is not None
    seen = []
    for op in batch.ops:
        words = [str(each) for each in op.args.get("args", ())]
        program = str(op.args.get("program", "")).rsplit("\\", 1)[-1]
        if op.op == "run":
            seen.append(f"{program} {words[2] if program == 'crictl.exe' else ' '.join(words[:2])}")
        elif op.op == "wait" and "shim" in str(op.args.get("path")):
            seen.append("no shim")
        elif op.op in ("move", "hns_network_remove") and op.op not in seen:
            seen.append(op.op)
    assert seen == [
        *("sc.exe stop kube-proxy", "sc.exe stop kubelet", "crictl.exe rmp", "crictl.exe rmi"),
        *("sc.exe stop flanneld", "sc.exe stop containerd", "no shim", "hcsdiag.exe list"),
        *(f"sc.exe delete {name}" for name in ("kube-proxy", "kubelet", "flanneld", "containerd")),
        *("move", "hns_network_remove"),
    ]


def test_only_what_is_ours_goes() -> None:
    made = machine()
    made.network("External", "192.168.255.0/30")
    made.node.registry.set(PATH, "WINKUBE_TEST", "string", "x")
    done(made, down(made))
    assert [made.state(name) for name in PROGRAMS] == ["absent"] * 4
    assert made.node.registry.text(PATH, "Path") == r"%SystemRoot%\system32;C:\x"
    assert made.networks() == ["External"], "nothing says that it was made here"
    done(made, sweep(made))
    assert ours_left(made) == ["C:\\k", NOTES]
    assert [path for path, _ in made.node.drive.walk() if "tools" in path] == []
    assert sweep(made).batch is None
    assert down(made).batch is None
    found = reset.list_left(SCOPE, looked(made))
    assert r"C:\k stays: it holds notes.txt" in found
    assert "the HNS network External (l2bridge) stays: it is not ours" in found


def test_what_stays_is_only_what_was_ever_there() -> None:
    """Failed before: it named the runner's task, which the mode `inline` never makes, and the feature even if it was
    off."""
    made = machine()
    done(made, down(made))
    done(made, sweep(made))
    with_task = reset.list_left(SCOPE, looked(made))
    assert rf"{LAYOUT.state_dir} and the task \winkube\runner stay" in "\n".join(with_task)
    made.node.tasks.delete(r"\winkube\runner")
    found = reset.list_left(SCOPE, looked(made))
    stays = [each for each in found if LAYOUT.state_dir in each]
    assert stays == [f"{LAYOUT.state_dir} {STAYS}. A deleted folder ends it"]
    assert any("feature Containers" in each for each in found)
    for name in ("hns", "vmcompute"):
        made.node.run(SC, ["stop", name])
        made.node.clock.advance(30)
        made.node.services.delete(name)
    assert not any("feature Containers" in each for each in reset.list_left(SCOPE, looked(made)))


def test_containerds_root_stays_as_long_as_it_has_layers() -> None:
    made = machine(**{LAYER: b"x"})
    done(made, down(made))
    plan = sweep(made)
    assert plan.batch is not None
    assert HOW.containerd_root not in [op.args["path"] for op in plan.batch.ops]
    done(made, plan)
    assert made.there(LAYER)
    assert any("root stays: containerd has 1 layers in it" in each for each in reset.list_left(SCOPE, looked(made)))


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("logs", [r"C:\k\kubelet.log", r"C:\k\kube-proxy-20261120T100000.000.log"]),
        ("programs", [*PROGRAMS.values(), CTR, KEPT]),
        ("images", [r"C:\ProgramData\containerd\root\io.containerd.metadata.v1.bolt\meta.db"]),
    ],
)
def test_what_is_to_be_kept_stays(word: str, kept: list[str]) -> None:
    made, scope = machine(), replace(SCOPE, how=replace(HOW, keep=(word,)))
    done(made, down(made, scope))
    done(made, sweep(made, scope))
    assert [path for path in ours_left(made) if made.node.drive.kind(path) == "file"] == sorted([*kept, NOTES])


def test_networks_that_a_batch_made_go_and_the_adapter_has_its_addresses_again() -> None:
    made = machine()
    part = {"AddressPrefix": "192.168.255.0/30", "GatewayAddress": "192.168.255.1"}
    request = {"Name": "External", "Type": "L2Bridge", "NetworkAdapterName": "Ethernet", "Subnets": [part]}
    made.send(Batch("t", (Op("hns_network", {"name": "External", "request": json.dumps(request)}),)))
    made.node.clock.advance(60)
    made.network("cbr0", OLD)
    assert made.networks() == ["External", "cbr0"]
    switch = made.node.adapters.named("vEthernet (Ethernet)")
    assert switch is not None and switch.settings is not None
    by_hand = ByHand(routes=(Route("169.254.169.254/32", "10.7.0.1"),), mtu=1460)
    switch.settings = replace(switch.settings, by_hand=by_hand)
    done(made, down(made))
    assert made.networks() == []
    assert made.addresses("Ethernet")
    nic = made.node.adapters.named("Ethernet")
    assert nic is not None and nic.settings is not None and nic.settings.by_hand == by_hand
    kept = replace(SCOPE, how=replace(HOW, keep=("networks",)))
    assert not [step for step in down(made, kept).steps if "HNS" in step.text]


def test_somebody_elses_service_of_our_name_is_refused() -> None:
    made = machine()
    made.node.registry.set("HKLM\\SYSTEM\\CurrentControlSet\\Services\\kubelet", "ImagePath", "string", r"C:\x\y.exe")
    with pytest.raises(Refused, match=r"The service kubelet runs C:\\x\\y\.exe, not C:\\k\\kubelet\.exe"):
        down(made)


def test_services_that_depend_on_each_other_are_no_hindrance() -> None:
    made = chained()
    assert [made.state(name) for name in PROGRAMS] == ["running"] * 4
    done(made, down(made))
    assert [made.state(name) for name in PROGRAMS] == ["absent"] * 4


def test_a_word_that_keeps_nothing_is_refused() -> None:
    with pytest.raises(Refused, match="keep: pods: there are only images, logs, programs, networks"):
        owned.check(replace(HOW, keep=("pods",)))


def test_a_link_below_the_kubelets_folder_is_removed_and_not_followed() -> None:
    made = machine(**{r"C:\data\precious.txt": b"x"})
    made.node.drive.link(r"C:\var\lib\kubelet\pods\1\mount", r"C:\data")
    done(made, down(made))
    done(made, sweep(made))
    assert made.there(r"C:\data\precious.txt")
    assert not made.there(r"C:\var\lib\kubelet")


def test_what_was_put_aside_and_not_deleted_is_found_again() -> None:
    """After a cut in the second batch, even if the receipts are gone already."""
    made = machine()
    done(made, down(made))
    for name in made.node.drive.listdir(rf"{LAYOUT.state_dir}\receipts"):
        made.node.drive.delete(rf"{LAYOUT.state_dir}\receipts\{name}")
    assert made.there(CTR + owned.ASIDE)
    done(made, sweep(made))
    assert ours_left(made) == ["C:\\k", NOTES]


def test_cut_anywhere_the_node_is_whole_or_taken_apart() -> None:
    def plan(made: Machine) -> Batch:
        batch = down(made).batch
        assert batch is not None
        return batch

    count, wrong = cut_everywhere(chained, plan, every=7)
    assert wrong == []
    assert count >= 15


def sweeps_of(made: Machine) -> Any:
    return sweep(made).batch


def test_a_sweep_that_was_cut_goes_on_with_the_next_run() -> None:
    def make() -> Machine:
        made = machine()
        done(made, down(made))
        return made

    whole = make()
    batch = sweeps_of(whole)
    assert all(op.undo == () for op in batch.ops)
    half = make()
    half.send(replace(sweeps_of(half), ops=sweeps_of(half).ops[: len(batch.ops) // 2]))
    done(half, sweep(half))
    done(whole, sweep(whole))
    assert ours_left(half) == ours_left(whole) == ["C:\\k", NOTES]


SOURCE = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\NSSM"


def test_the_event_logs_source_goes_if_it_is_that_of_our_nssm() -> None:
    """nssm registers it when it starts as a service, and leaves it."""
    made, gone = machine(), reset.NoEventSource(LAYOUT.nssm)
    made.node.registry.set(SOURCE, "EventMessageFile", "string", r"C:\tools\nssm.exe")
    assert made.plan("reset", (gone,), made.read(gone.reads())).batch is None
    made.node.registry.set(SOURCE, "EventMessageFile", "string", LAYOUT.nssm.upper())
    made.node.registry.set(SOURCE, "TypesSupported", "dword", 7)
    plan = made.plan("reset", (gone,), made.read(gone.reads()))
    assert plan.batch is not None
    assert {op.args["name"]: op.args["value"] for op in plan.batch.ops[0].undo} == {
        "EventMessageFile": LAYOUT.nssm.upper(),
        "TypesSupported": 7,
    }
    done(made, plan)
    assert not made.node.registry.exists(SOURCE)
    assert made.plan("reset", (gone,), made.read(gone.reads())).batch is None


def test_what_is_there_still_or_again_is_said() -> None:
    """Found by the same resources that removed it; before, nothing was said of a rule that a policy makes again."""
    made, gone = machine(), reset.NoEventSource(LAYOUT.nssm)
    assert reset.list_undone((gone,), made.read(gone.reads())) == ()
    made.node.registry.set(SOURCE, "EventMessageFile", "string", LAYOUT.nssm)
    after = made.read(gone.reads())
    assert reset.list_undone((gone,), after) == (
        "the event log's source NSSM: not all of it is gone, or something made it again; another run would remove the "
        "event log's source NSSM",
    )
    assert reset.list_undone((gone,), replace(after, predicted=True)) == ()


def test_proxy_variables_that_nobody_named_are_said() -> None:
    made = machine()
    made.node.registry.set(PATH, "NO_PROXY", "string", "localhost")
    assert "the machine's variables NO_PROXY stay" in "\n".join(reset.list_left(SCOPE, looked(made)))


def test_the_keys_of_cri_over_tcp_are_deleted() -> None:
    """Failed before: no service owns the folder, and the private key stayed."""
    keys = rf"{LAYOUT.state_dir}\cri-tcp"
    made, scope = machine(**{rf"{keys}\server.key": b"secret"}), replace(SCOPE, more=(keys,))
    done(made, sweep(made, scope))
    assert not made.there(keys)
