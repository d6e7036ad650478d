"""From the arguments of win_k8s_host and a reading to a batch, a restart, a refusal or a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.client import Cluster
from ansible_collections.winkube.node.plugins.plugin_utils.cluster.error import ClusterError
from ansible_collections.winkube.node.plugins.plugin_utils.components.host import component, host
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.host import Host
from ansible_collections.winkube.node.plugins.plugin_utils.components.host.options import (
    HostOptions,
    NetworkOptions,
    ProxyOptions,
    WindowsRevisionOptions,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.log_limit import LogLimitOptions
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan, reads_for_undo
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import NO_TEXT, Secret

from .nodes import LAYOUT, Controller, bare, given, lines

ADAPTERS = [
    {"name": "Ethernet", "up": True, "dhcp": False, "ipv4": [{"address": "10.127.130.20", "prefix": 24}]},
    {"name": "Storage", "up": True, "dhcp": False, "ipv4": [{"address": "172.16.0.20", "prefix": 16}]},
]
OS = {"build": 20348, "revision": 4893, "installation_type": "Server Core", "architecture": "amd64"}
ALONE = Host(HostOptions(log=LogLimitOptions(keep_files=0)), LAYOUT)
NODE = replace(ALONE, options=replace(ALONE.options, kubernetes_version="1.35.1", containerd_version="2.2.0"))
SERVICES = ({"name": "hns", "state": "running"}, {"name": "vmcompute", "state": "stopped"})
NOTE = r"C:\ProgramData\winkube\feature-containers.json"
NAMES = ("registry:computer-name", "registry:active-computer-name")


def node(*services: dict[str, Any], **parts: Any) -> Reading:
    """A machine as Windows Server 2022 is delivered, except for what is given; `_` in keys means `:` and `-`."""
    name = {"exists": True, "type": "string", "value": "WIN-4711"}
    known: dict[str, Any] = {
        "system": {"machine": "m-1", "boot_id": "b-1", "elevated": True, "reboot_pending": False, "os": OS},
        "adapters": ADAPTERS,
        "registry:page-files": {"exists": True, "type": "multi_string", "value": [r"?:\pagefile.sys"]},
        "encryption:c:": {"state": "on"},
        **dict.fromkeys(NAMES, name),
        **{f"variable:{each}": {"exists": False} for each in ("http_proxy", "https_proxy", "no_proxy")},
    }
    reading = bare(host.reads(LAYOUT), *(services or SERVICES))
    return reading.merge({**known, **{key.replace("__", ":"): value for key, value in parts.items()}})


def having(base: Host = NODE, **options: Any) -> Host:
    """One with these options."""
    return replace(base, options=replace(base.options, **options))


def system(**more: Any) -> dict[str, Any]:
    return {"machine": "m-1", "boot_id": "b-1", "elevated": True, "os": OS, **more}


def plan(reading: Reading, wanted: Host = NODE) -> Plan:
    return make_plan(host.NAME, host.build_resources(wanted, reading), reading)


def refusals(reading: Reading, wanted: Host = NODE) -> str:
    return " ".join(host.check(wanted, reading).refusals)


def warnings(reading: Reading, wanted: Host = NODE) -> str:
    return " ".join(host.check(wanted, reading).warnings)


def test_nothing_is_said_of_a_machine_that_is_as_it_should_be() -> None:
    assert host.check(NODE, node()) == type(host.check(NODE, node()))()


@pytest.mark.row("HP-10")
def test_the_feature_is_turned_on_where_its_services_are_not_and_the_machine_restarted() -> None:
    made = plan(node({"name": "w32time", "state": "running"}))
    assert made.batch is not None
    (dism,) = (op for op in made.batch.ops if op.op == "run")
    assert dism.args["program"] == r"C:\Windows\System32\dism.exe"
    assert dism.args["args"] == [
        "/Online",
        "/Enable-Feature",
        "/FeatureName:Containers",
        "/All",
        "/NoRestart",
        "/English",
    ]
    assert dism.args["ok_exit"] == [0, 3010]
    # Turning it off would take effect only at a later restart. But the service that does it may still be working.
    assert [(op.op, op.args["for"], op.args["name"], op.args["state"]) for op in dism.undo] == [
        ("wait", "service", "TrustedInstaller", "stopped")
    ]
    assert made.reboot == ("the Windows feature Containers comes into force",)
    assert made.predicted.service("hns") is not None


@pytest.mark.row("HP-10")
def test_a_feature_that_only_waits_for_the_restart_is_not_turned_on_again() -> None:
    first = plan(node({"name": "w32time"}))
    assert first.batch is not None
    (note,) = (op for op in first.batch.ops if op.args.get("path") == NOTE)
    waits = node({"name": "w32time"}).merge({file_key(NOTE): {"exists": True, "content": note.args["content"]}})
    second = make_plan(host.NAME, (host.containers(LAYOUT),), waits)
    assert (second.batch, second.steps, second.changed) == (None, (), False)
    assert second.reboot == first.reboot == ("the Windows feature Containers comes into force",)
    # A note from before the last start is out of date: the machine was restarted, and the feature is not on.
    system = waits.parts["system"] | {"boot_id": "b-2"}
    assert make_plan(host.NAME, (host.containers(LAYOUT),), waits.merge({"system": system})).changed


@pytest.mark.row("HP-10")
@pytest.mark.parametrize("there", ["hns", "vmcompute"])
def test_one_of_the_two_services_is_not_enough(there: str) -> None:
    assert plan(node({"name": there, "state": "running"})).reboot


@pytest.mark.row("HP-10")
def test_where_the_feature_is_there_is_no_restart() -> None:
    made = plan(node())
    assert made.reboot == ()
    assert made.batch is not None, "the folders"
    assert not [op for op in made.batch.ops if op.op == "run"]


@pytest.mark.row("HP-13")
def test_the_machine_is_renamed_and_restarted() -> None:
    made = plan(node(), having(computer_name="win1"))
    assert made.batch is not None
    (rename,) = (op for op in made.batch.ops if op.op == "computer_name")
    assert rename.args == {"name": "win1"}
    assert [dict(op.args) for op in rename.undo] == [{"name": "WIN-4711"}]
    assert made.reboot == ("the machine is called win1",)


@pytest.mark.row("HP-13")
def test_a_name_that_only_waits_for_the_restart_is_not_set_again() -> None:
    renamed = node(registry__x={}).merge({NAMES[0]: {"exists": True, "type": "string", "value": "WIN1"}})
    made = plan(renamed, having(computer_name="win1"))
    assert not [op for op in made.batch.ops if op.op == "computer_name"] if made.batch else True
    assert made.reboot == ("the machine is called win1",)
    there = renamed.merge({NAMES[1]: {"exists": True, "type": "string", "value": "WIN1"}})
    assert plan(there, having(computer_name="win1")).reboot == ()


@pytest.mark.row("HP-13")
def test_without_a_name_the_machine_keeps_its_own() -> None:
    made = plan(node())
    assert made.batch is None or not [op for op in made.batch.ops if op.op == "computer_name"]


@pytest.mark.parametrize("name", ["win_1", "a" * 16, "4711", "-win", "win-", "win 1", "wïn"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(Refused, match="cannot be the name of a Windows machine"):
        plan(node(), having(computer_name=name))


PROXY = ProxyOptions(
    http=Secret("http://proxy.example.com:80/"),
    https=Secret("http://proxy.example.com:443/"),
    no_proxy=("git.example.com",),
)
NETWORK = NetworkOptions(cluster_cidr="10.244.0.0/16, fd00::/56", service_cidr="10.96.0.0/12", domain="cluster.local")


@pytest.mark.row("HP-05")
def test_the_proxy_of_the_documents_is_the_machines() -> None:
    made = plan(node(), having(proxy=PROXY, network=NETWORK))
    assert made.batch is not None
    variables = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    of_proxy = [op for op in made.batch.ops if op.op == "registry_set" and op.args["path"] == variables]
    values = {op.args["name"]: op.args["value"].reveal() for op in of_proxy}
    assert values["HTTP_PROXY"] == "http://proxy.example.com:80/"
    assert values["HTTPS_PROXY"] == "http://proxy.example.com:443/"
    assert values["NO_PROXY"].split(",") == [
        "git.example.com",
        "localhost",
        "127.0.0.1",
        ".svc",
        ".cluster.local",
        "10.244.0.0/16",
        "fd00::/56",
        "10.96.0.0/12",
        "10.127.130.0/24",
    ]
    assert any("services see it after a restart of the machine" in step.text for step in made.steps)


@pytest.mark.row("HP-05")
def test_without_a_proxy_no_variable_is_touched() -> None:
    made = plan(node(), having(proxy=replace(PROXY, http=NO_TEXT, https=NO_TEXT), network=NETWORK))
    assert made.batch is not None
    assert [op.args["name"] for op in made.batch.ops if op.op.startswith("registry")] == ["EnableCompartmentNamespace"]


@pytest.mark.row("HP-05")
def test_a_proxys_password_is_in_no_step_diff_or_fact() -> None:
    secret = "http://user:hunter2@proxy:3128"
    args = having(proxy=ProxyOptions(http=Secret(secret)))
    variable = {"exists": True, "type": "string", "value": "http://old:swordfish@proxy"}
    reading = node().merge({"variable:http_proxy": variable})
    assert "swordfish" not in str(reading.to_fact())
    assert reads_for_undo(host.build_resources(args, reading), reading) == ()
    made = plan(reading, args)
    assert made.batch is not None
    assert "hunter2" not in str([*made.steps, made.predicted.to_fact()])
    (op,) = (op for op in made.batch.ops if op.args.get("name") == "HTTP_PROXY")
    assert op.secrets == ("value",)
    assert [undo.args.get("present") for undo in op.undo] == [True], "the node notes it itself"
    assert "swordfish" not in str(made.batch)
    after = reading.merge({"variable:http_proxy": {**variable, "value": secret}})
    again = plan(after, args)
    assert again.batch is None or not [op for op in again.batch.ops if op.args.get("name") == "HTTP_PROXY"]


@pytest.mark.row("HP-03")
@pytest.mark.parametrize(
    ("value", "wanted", "sentence"),
    [
        ([r"?:\pagefile.sys"], 100_000, ""),
        ([r"C:\pagefile.sys 0 0"], 100_000, ""),
        ([r"C:\pagefile.sys 1024 4096"], 0, ""),
        ([r"C:\pagefile.sys 1024 4096", r"D:\pagefile.sys 1024 4096"], 8192, ""),
        ([r"C:\pagefile.sys 1024 4096"], 8192, "may grow to 4096 MB, which is less than winkube_page_file_min_mb 8192"),
        ([], 0, "no page file"),
        ([""], 0, "no page file"),
    ],
)
def test_the_page_file(value: list[str], wanted: int, sentence: str) -> None:
    found = {"exists": True, "type": "multi_string", "value": value}
    said = warnings(node().merge({"registry:page-files": found}), having(page_file_min_mb=wanted))
    assert (sentence in said) if sentence else said == ""


@pytest.mark.row("HP-03")
def test_the_page_files_are_those_that_windows_is_told_to_have() -> None:
    asked = [dict(query.args) for query in host.reads(LAYOUT) if query.key == "registry:page-files"]
    key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management"
    assert asked == [{"path": key, "name": "PagingFiles"}]


@pytest.mark.row("HP-04")
def test_the_folders_and_what_is_above_them_are_the_administrators() -> None:
    made = plan(node(), NODE).batch
    assert made is not None
    locks = {op.args["path"]: op.args.get("sddl") for op in made.ops if op.op == "mkdir"}
    users_read = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)"
    names = (r"C:\k", r"C:\k\cni", r"C:\k\cni\config", r"C:\flannel", r"C:\run", r"C:\run\flannel")
    assert locks == dict.fromkeys(names, users_read)


@pytest.mark.row("HP-07")
def test_an_adapter_that_is_not_there_is_refused_with_those_that_are() -> None:
    said = refusals(node(), having(network=NetworkOptions(interface_name="Ethernet 2")))
    assert "no network adapter 'Ethernet 2'" in said
    assert "'Ethernet', 'Storage'" in said
    assert refusals(node(), having(network=NetworkOptions(interface_name="Storage"))) == ""
    assert refusals(node(), having(ALONE, network=NetworkOptions(interface_name="Ethernet 2"))) == "", (
        "containerd alone needs none"
    )


@pytest.mark.row("HP-11")
def test_without_an_elevated_administrator_nothing_is_begun() -> None:
    with pytest.raises(Refused, match="is not an administrator on this host"):
        plan(node(system=system(elevated=False)), ALONE)


@pytest.mark.row("HP-08")
def test_the_machines_own_build_is_what_is_judged() -> None:
    args = having(kubernetes_version="1.27.4", containerd_version="1.7.11", network=NetworkOptions(mode="overlay"))
    old = {**OS, "build": 17763, "revision": 107}
    with pytest.raises(Refused, match="KB4482887"):
        plan(node(system=system(os=old)), args)
    assert plan(node(system=system(os={**old, "revision": 348})), args).batch is not None


@pytest.mark.row("SE-01", "SE-03")
@pytest.mark.parametrize(("state", "words"), [("off", "C: is not encrypted"), ("unknown", "not known to be encrypted")])
def test_secrets_on_a_disk_that_is_not_encrypted(state: str, words: str) -> None:
    reading = node(encryption__c__={"state": state}).merge({"encryption:c:": {"state": state}})
    said = warnings(reading)
    assert "in clear text" in said
    assert words in said
    assert refusals(reading) == ""
    assert words in refusals(reading, having(require_encryption=True))
    assert warnings(reading, ALONE) == "", "without Kubernetes there are no secrets"


@pytest.mark.row("SE-01", "SE-02", "SE-03")
def test_the_disk_of_the_kubelet_and_who_may_read_there_are_asked_for() -> None:
    asked = {query.key: (query.op, dict(query.args)) for query in host.reads(LAYOUT)}
    assert asked["encryption:c:"] == ("encryption", {"volume": "C:"})
    for folder in (r"C:\etc\kubernetes", r"C:\var\lib\kubelet\pki"):
        op, given = asked[file_key(folder)]
        assert (op, given["path"], given["sddl"]) == ("file", folder, True)


@pytest.mark.row("SE-01", "SE-03")
def test_of_a_disk_that_no_run_changes_a_finished_node_is_only_reminded() -> None:
    locked = {"exists": True, "kind": "directory", "sddl": "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"}
    folders = {f"file:{path}": locked for path in (r"c:\etc\kubernetes", r"c:\var\lib\kubelet\pki")}
    found = host.check(NODE, node().merge({"encryption:c:": {"state": "off"}, **folders}))
    assert found.warnings == ()
    (said,) = found.reminders
    assert "C: is not encrypted" in said
    assert "nothing was done" in refusals(
        node().merge({"encryption:c:": {"state": "off"}, **folders}), having(require_encryption=True)
    )


@pytest.mark.row("SE-01", "SE-02")
@pytest.mark.parametrize("folder", [r"c:\etc\kubernetes", r"c:\var\lib\kubelet\pki"])
def test_secrets_that_users_may_read(folder: str) -> None:
    found = {"exists": True, "kind": "directory", "sddl": "O:BAD:AI(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)"}
    said = warnings(node().merge({f"file:{folder}": found}))
    assert "can be read by BU" in said
    for system, administrators in (("SY", "BA"), ("S-1-5-18", "S-1-5-32-544")):
        locked = {**found, "sddl": f"O:BAG:BAD:PAI(A;OICI;FA;;;{system})(A;OICI;FA;;;{administrators})"}
        assert warnings(node().merge({f"file:{folder}": locked})) == ""


def test_somebody_elses_pending_restart_is_said_and_not_made() -> None:
    waiting = node(system=system(reboot_pending=True))
    assert "already waits for a restart" in warnings(waiting)
    assert plan(waiting).reboot == ()


def test_nothing_is_said_of_a_pending_restart_that_the_plan_makes() -> None:
    absent = node({"name": "w32time", "state": "running"}, system=system(reboot_pending=True))
    assert plan(absent).reboot != ()
    assert warnings(absent) == ""


def test_the_batch_is_made_of_folders_first() -> None:
    made = plan(node({"name": "w32time", "state": "running"}), ALONE)
    assert made.batch is not None
    assert lines(made.batch.ops)[0].startswith("mkdir")


@pytest.mark.row("HP-10")
def test_hns_that_starts_on_demand_is_started_so_that_it_answers() -> None:
    """HNS is started if it is stopped: a stopped HNS tells no reading which networks exist."""
    services = ({"name": "hns", "state": "stopped", "start": 3}, {"name": "vmcompute", "state": "stopped", "start": 3})
    containers = host.containers(LAYOUT)
    reading = bare(containers.reads(), *services)
    change = containers.change(reading)
    assert change is not None
    assert lines(change.prepare) == ["run sc.exe start hns", "wait service hns running"]
    assert not change.reboot
    assert containers.change(reading.merge(change.predicted)) is None
    assert {query.op for query in change.state} == {"services", "file", "hns"}


@pytest.mark.row("SE-03")
@pytest.mark.parametrize(
    ("changed", "planned", "said"), [(False, False, False), (True, False, True), (False, True, True)]
)
def test_a_reminder_is_said_where_something_changes_or_is_planned(
    monkeypatch: pytest.MonkeyPatch, changed: bool, planned: bool, said: bool
) -> None:
    controller = Controller()
    monkeypatch.setattr(component, "find_wanted", lambda _given: NODE)
    monkeypatch.setattr(host, "check", lambda *_given: host.Findings((), (), ("the disk",)))
    component.remind(given(host.NAME, {}, Reading(predicted=planned), controller), (), changed)
    assert controller.said == ["win1: the disk"] * said


def asked(kubernetes: str, kubeconfig: str) -> None:
    """The questions before the node is touched, as converge asks them."""
    options = {"kubernetes_version": kubernetes, "cluster": {"kubeconfig": kubeconfig, "context": ""}}
    (stage,) = component.COMPONENT.stages
    stage.before(given(host.NAME, options, Reading()))


def test_a_kubeconfig_that_does_not_work_is_said_before_the_node_is_touched() -> None:
    with pytest.raises(ClusterError, match=r"cluster\.kubeconfig: there is no file no-such-file on the controller"):
        asked("1.37.1", "no-such-file")
    asked("1.37.1", "")
    asked("", "no-such-file")


def test_the_cluster_has_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A readable kubeconfig may still lead to no server."""

    class Silent:
        def version(self) -> str:
            raise ClusterError("https://10.0.0.1:6443 cannot be asked: connection refused.")

    monkeypatch.setattr(Cluster, "open", lambda _options: Silent())
    with pytest.raises(ClusterError, match=r"https://10.0.0.1:6443 cannot be asked"):
        asked("1.37.1", "config")


def test_a_revision_of_windows_that_is_known_to_be_bad_is_a_warning() -> None:
    said = warnings(node(system=system(os={**OS, "revision": 2582})))
    assert "Windows Server 2022 (10.0.20348.2582) is known to be bad" in said
    assert "Windows-Containers/issues/516" in said
    assert "Update Windows to 10.0.20348.2762 (KB5044281) or later." in said
    assert "known to be bad" not in warnings(node())
    own = WindowsRevisionOptions(build=20348, since=4893, breaks="Our driver.", source="https://wiki.example/1")
    assert "Our driver." in warnings(node(), having(windows_revisions=(own,)))
