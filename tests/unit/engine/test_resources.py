"""Files, folders, variables, features, firewall rules, networks: the ops by present state, and their undo."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine import security
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.environment import fingerprint
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import reads_for_undo
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import (
    Notice,
    Refused,
    ReliesOn,
    Resource,
    whole_file,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources import directory, firewall_rule
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.directory import Directory, MadeByUs
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.environment_variable import (
    ENVIRONMENT_KEY,
    EnvironmentVariable,
    MachinePath,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.feature import Feature
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.file import File, LateFile
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.firewall_rule import FirewallRule, sources
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.hns_network import (
    Addresses,
    HnsNetwork,
    NoHnsNetwork,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.engine.tools import wait_pipe

from tests.unit.engine.nodes import file, node, said, undone

BACKUP = r"C:\state\backup"
CONF = File(r"C:\k\x.conf", b"one\n", BACKUP)
FOLDER = r"C:\k"
CLOSED = Directory(FOLDER, sddl=security.ADMINS_ONLY, private=True)
OPEN = Directory(FOLDER, sddl=security.ADMINS_WRITE)
USERS_WRITE = "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;BU)"


@dataclass(frozen=True)
class Case:
    """The wanted and the present state; the step (empty: none), the ops and the undo of each."""

    wanted: Resource
    there: Reading
    text: str = ""
    ops: tuple[tuple[str, tuple[str, ...]], ...] = ()


def folder(**more: Any) -> Reading:
    return node(**file(FOLDER, **{"kind": "directory", **more}))


def variable(**more: Any) -> Reading:
    return node(**{"registry:machine-path": {"exists": bool(more), **more}})


def rules(*values: str) -> Reading:
    found = {str(number): {"type": "string", "value": value} for number, value in enumerate(values)}
    return node(**{"firewall:cri": {"exists": True, "values": found}})


RULE = "v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=8888|RA4=10.0.0.5|Name=CRI|"
CRI = FirewallRule("cri", port=8888, networks=(ipaddress.ip_network("10.0.0.5"),))
ADD = "advfirewall firewall add rule name=cri dir=in action=allow protocol=TCP localport=8888 remoteip=10.0.0.5"
DELETE = "advfirewall firewall delete rule name=cri"
CONTAINERS = Feature("Containers", ("vmcompute", "hns"), r"C:\state\containers.json", running=("hns",))
ENABLE = "/Online /Enable-Feature /FeatureName:Containers /All /NoRestart /English"
NOTE = file(CONTAINERS.note)


def features(*states: str, **more: Any) -> Reading:
    names = CONTAINERS.services[: len(states)]
    return node(*({"name": name, "state": state} for name, state in zip(names, states, strict=True)), **more)


CASES = {
    "file: not there": Case(
        CONF, node(**file(CONF.path)), r"write C:\k\x.conf", ((r"write C:\k\x.conf", (r"remove C:\k\x.conf",)),)
    ),
    "file: another": Case(
        CONF,
        node(**file(CONF.path, "two\n")),
        r"rewrite C:\k\x.conf",
        ((rf"mkdir {BACKUP}", ()), (r"write C:\k\x.conf", (r"restore C:\k\x.conf",))),
    ),
    "file: other line ends": Case(CONF, node(**file(CONF.path, "one\r\n"))),
    "file: equal by a rule of its own": Case(
        replace(CONF, equal=lambda left, right: left.strip() == right.strip()), node(**file(CONF.path, "  one"))
    ),
    "file: too large to be read": Case(
        CONF,
        node(**file(CONF.path, size=10**6)),
        r"rewrite C:\k\x.conf",
        ((rf"mkdir {BACKUP}", ()), (r"write C:\k\x.conf", (r"restore C:\k\x.conf",))),
    ),
    "late file: replaced": Case(
        LateFile(CONF, (wait_pipe("x", 9),), "for later"),
        node(**file(CONF.path, "two\n")),
        r"rewrite C:\k\x.conf (for later)",
        (("wait pipe x", ()), (rf"mkdir {BACKUP}", ()), (r"write C:\k\x.conf", (r"restore C:\k\x.conf",))),
    ),
    "late file: new": Case(
        LateFile(CONF, (), "for later"),
        node(**file(CONF.path)),
        r"write C:\k\x.conf",
        ((r"write C:\k\x.conf", (r"remove C:\k\x.conf",)),),
    ),
    "late file: the same": Case(LateFile(CONF, ()), node(**file(CONF.path, "one\n"))),
    "folder: not there": Case(
        OPEN, node(**file(FOLDER)), r"create the folder C:\k", ((r"mkdir C:\k", (r"remove C:\k",)),)
    ),
    "folder: there, and inherits": Case(Directory(FOLDER), folder()),
    "folder: as wanted": Case(OPEN, folder(sddl=security.ADMINS_WRITE)),
    "folder: others may write": Case(
        OPEN,
        folder(sddl=USERS_WRITE),
        r"secure the folder C:\k (it can be changed by BU)",
        ((r"mkdir C:\k", (r"mkdir C:\k",)),),
    ),
    "folder: a stranger's": Case(
        OPEN,
        folder(sddl=USERS_WRITE.replace("O:BA", "O:S-1-5-21-7")),
        r"secure the folder C:\k (it is owned by S-1-5-21-7, not by SYSTEM or Administrators)",
        ((r"mkdir C:\k", (r"mkdir C:\k",)),),
    ),
    "folder: a private one that others read": Case(
        CLOSED,
        folder(sddl=security.ADMINS_WRITE),
        r"secure the folder C:\k (it can be read by BU)",
        ((r"mkdir C:\k", (r"mkdir C:\k",)),),
    ),
    "folder: one that others read": Case(replace(CLOSED, private=False), folder(sddl=security.ADMINS_WRITE)),
    "a service's folder: not there": Case(MadeByUs(FOLDER), node(**file(FOLDER))),
    "a service's folder: SYSTEM's": Case(MadeByUs(FOLDER), folder(sddl="O:SYD:")),
    "Path: has it in other words": Case(
        MachinePath(r"C:\k"), variable(value=r'%SystemRoot%;"c:/K\"', type="expand_string")
    ),
    "Path: has it not": Case(
        MachinePath(r"C:\k"),
        variable(value="%SystemRoot%;", type="expand_string"),
        r"add C:\k to the machine's Path",
        ((f"registry_set {ENVIRONMENT_KEY}", (f"registry_set {ENVIRONMENT_KEY}",)),),
    ),
    "Path: there is none": Case(
        MachinePath(r"C:\k"),
        variable(),
        r"add C:\k to the machine's Path",
        ((f"registry_set {ENVIRONMENT_KEY}", (f"registry_remove {ENVIRONMENT_KEY}",)),),
    ),
    "feature: in force": Case(CONTAINERS, features("running", "running", **NOTE)),
    "feature: a service of it rests": Case(
        CONTAINERS,
        features("running", "stopped", **NOTE),
        "start hns",
        (("start hns", ()), ("wait service running", ())),
    ),
    "feature: not there": Case(
        CONTAINERS,
        features("running", **NOTE),
        "enable the Windows feature Containers",
        ((ENABLE, ("wait service stopped",)), (rf"write {CONTAINERS.note}", (rf"remove {CONTAINERS.note}",))),
    ),
    "rule: there": Case(CRI, rules(RULE)),
    "rule: not there": Case(
        CRI, rules(), "allow 10.0.0.5 to reach TCP port 8888 (firewall rule cri)", ((ADD, (DELETE,)),)
    ),
    "rule: for another machine": Case(
        CRI,
        rules(RULE.replace("10.0.0.5", "10.0.0.6")),
        "allow 10.0.0.5 to reach TCP port 8888 (firewall rule cri)",
        ((DELETE, (DELETE, ADD.replace("10.0.0.5", "10.0.0.6"))), (ADD, (DELETE,))),
    ),
    "rule: one that a program is bound to": Case(
        CRI,
        rules(f"{RULE}App=x.exe|"),
        "allow 10.0.0.5 to reach TCP port 8888 (firewall rule cri)",
        ((DELETE, (DELETE,)), (ADD, (DELETE,))),
    ),
    "rule: not wanted": Case(
        replace(CRI, wanted=False), rules(RULE), "remove firewall rule cri", ((DELETE, (DELETE, ADD)),)
    ),
    "rule: not wanted and not there": Case(replace(CRI, wanted=False), rules()),
    "rule: somebody else's does": Case(
        replace(CRI, adopts=True), rules(RULE.replace("CRI", "theirs").replace("10.0.0.5", "10.0.0.0/24"))
    ),
    "rule: somebody else's lets everybody in": Case(
        replace(CRI, adopts=True), rules(RULE.replace("CRI", "theirs").replace("RA4=10.0.0.5|", ""))
    ),
    "rule: somebody else's is for others": Case(
        replace(CRI, adopts=True),
        rules(RULE.replace("CRI", "theirs").replace("10.0.0.5", "10.1.0.0/24")),
        "allow 10.0.0.5 to reach TCP port 8888 (firewall rule cri)",
        ((ADD, (DELETE,)),),
    ),
    "rule: somebody else's is for the local subnet": Case(
        replace(CRI, adopts=True),
        rules(RULE.replace("CRI", "theirs").replace("10.0.0.5", "LocalSubnet")),
        "allow 10.0.0.5 to reach TCP port 8888 (firewall rule cri)",
        ((ADD, (DELETE,)),),
    ),
    "notice": Case(Notice("x", "csi-proxy was left out"), node(), "csi-proxy was left out"),
    "what is relied on": Case(ReliesOn("x", (whole_file(r"C:\x"),)), node(**file(r"C:\x"))),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_done_and_what_undoes_it(case: Case) -> None:
    assert {query.key for query in case.wanted.reads()} <= case.there.parts.keys()
    assert reads_for_undo((case.wanted,), case.there) == ()
    change = case.wanted.change(case.there)
    if not case.text:
        assert change is None
        return
    assert change is not None
    ops = (*change.prepare, *change.commit, *change.define, *change.finish)
    assert change.text == case.text
    assert tuple((*said([op]), tuple(undone(op))) for op in ops) == case.ops
    if change.predicted and not change.reboot:
        assert case.wanted.change(case.there.merge(change.predicted)) is None, "what is foretold is what is wanted"


REFUSED = {
    "a folder where a file should be": (
        CONF,
        node(**file(CONF.path, kind="directory")),
        r"C:\\k\\x.conf should be a file, but is a directory",
    ),
    "a file where a folder should be": (OPEN, folder(kind="file"), r"C:\\k should be a folder, but is a file"),
    "a link where a folder should be": (OPEN, folder(kind="link"), r"is a link or junction: it is not followed"),
    "a stranger's program in it": (
        OPEN,
        folder(sddl=security.ADMINS_WRITE, inside={"x.dll": "O:S-1-5-21-7D:"}),
        r"C:\\k\\x.dll is owned by S-1-5-21-7",
    ),
    "a program in it that others may change": (
        OPEN,
        folder(sddl=security.ADMINS_WRITE, inside={"x.dll": USERS_WRITE}),
        r"C:\\k\\x.dll can be changed by BU",
    ),
    "a link in it": (
        OPEN,
        folder(sddl=security.ADMINS_WRITE, inside={"ours.exe": security.ADMINS_ONLY, "x.exe": "link"}),
        r"^C:\\k\\x.exe is a link",
    ),
    "a service's folder that somebody else has made": (
        MadeByUs(FOLDER),
        folder(sddl="O:BUD:"),
        r"C:\\k is owned by BU, not by SYSTEM or Administrators: a SYSTEM service trusts",
    ),
    "a file in the place of a service's folder": (
        MadeByUs(FOLDER),
        folder(kind="file", sddl="O:SYD:"),
        r"C:\\k should be a folder, but is a file",
    ),
}


@pytest.mark.parametrize(("wanted", "there", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_touched(wanted: Resource, there: Reading, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        wanted.change(there)


def test_a_feature_that_was_turned_on_waits_for_the_restart_of_this_boot() -> None:
    first = CONTAINERS.change(features(**NOTE))
    assert first is not None
    assert first.reboot == "the Windows feature Containers comes into force"
    noted = features(**file(CONTAINERS.note, '{"schema": 1, "boot_id": "b-1"}'))
    again = CONTAINERS.change(noted)
    assert again is not None
    assert (again.text, again.prepare, again.reboot) == ("", (), first.reboot)
    other_boot = CONTAINERS.change(features(**file(CONTAINERS.note, '{"schema": 1, "boot_id": "b-0"}')))
    assert other_boot is not None
    assert other_boot.text


PROXY = EnvironmentVariable("HTTPS_PROXY", Secret("http://proxy:3128"))
PLACE = "variable:https_proxy"


def test_a_variable_is_compared_by_its_fingerprint_and_its_value_is_secret() -> None:
    (query,) = PROXY.reads()
    assert query.wire()["fingerprint"] is True
    same = node(**{PLACE: {"exists": True, "fingerprint": fingerprint("HTTPS_PROXY=http://proxy:3128")}})
    assert PROXY.change(same) is None
    absent = PROXY.change(node(**{PLACE: {"exists": False}}))
    assert absent is not None
    (op,) = absent.prepare
    assert (op.args["value"], op.secrets) == (Secret("http://proxy:3128"), ("value",))
    assert undone(op) == [f"registry_set {ENVIRONMENT_KEY}"]


def test_a_variable_gets_its_value_back_which_the_node_notes_itself() -> None:
    change = PROXY.change(node(**{PLACE: {"exists": True, "fingerprint": "HTTPS_PROXY=sha256:0"}}))
    assert change is not None
    assert "proxy:3128" not in change.before + change.after + change.text
    (back,) = change.prepare[0].undo
    assert (back.args, back.secrets) == (
        {"path": ENVIRONMENT_KEY, "name": "HTTPS_PROXY", "present": True},
        ("value",),
    )


def test_each_folder_once_and_as_strictly_as_anybody_wants_it() -> None:
    folders = directory.each_once((Directory("c:/K"), CONF, CLOSED, OPEN, Directory(r"C:\x")))
    assert folders == (CLOSED, CONF, Directory(r"C:\x"))


GUARDED = {
    "up to the drive": (directory.guard, r"C:\run\flannel", {r"C:\run": True, r"C:\run\flannel": True}),
    "not below Windows' own folders": (
        directory.guard,
        r"C:\Program Files\containerd",
        {r"C:\Program Files": False, r"C:\Program Files\containerd": False},
    ),
    "always": (
        directory.guard_always,
        r"C:\ProgramData\kubelet",
        {r"C:\ProgramData": False, r"C:\ProgramData\kubelet": True},
    ),
}


@pytest.mark.parametrize(("guard", "path", "folders"), GUARDED.values(), ids=GUARDED)
def test_folders_that_services_run_programs_from(guard: Any, path: str, folders: dict[str, bool]) -> None:
    assert {each.path: each.sddl == security.ADMINS_WRITE for each in guard(path)} == folders


SOURCES = {
    "machines and networks, each once": (["10.0.0.5", "10.0.0.5/32", "fd00::/64"], ["10.0.0.5", "fd00::/64"]),
    "a name": (["bastion"], "'bastion' is neither an IP address nor a network"),
    "everybody": (["0.0.0.0/0"], "'0.0.0.0/0' lets everyone in"),
}


@pytest.mark.parametrize(("given", "found"), SOURCES.values(), ids=SOURCES)
def test_who_may_connect(given: list[str], found: list[str] | str) -> None:
    if isinstance(found, str):
        with pytest.raises(Refused, match=found):
            sources(given, "winkube_x")
        return
    assert [firewall_rule.show_network(network) for network in sources(given, "winkube_x")] == found


def test_a_range_of_ports_is_looked_for_where_windows_keeps_it() -> None:
    (query,) = replace(CRI, port="10256,30000-32767", adopts=True).reads()
    assert dict(query.args)["containing"] == ("|Name=cri|", "|LPort=10256|", "|LPort2_10=30000-32767|")


ADDRESSES = Addresses((("10.0.0.7", 24),), ("10.0.0.1",), ("10.0.0.2",), dhcp=False)
REQUEST = {"Name": "x", "Type": "L2Bridge"}
NETWORK = HnsNetwork(name="x", adapter="Ethernet", addresses=ADDRESSES, queries=(), request=REQUEST, wanted=True)
NOTED = ["category_note ['Ethernet']", "ip_note ['Ethernet']"]
SETTLED = [f"{name} ['vEthernet (Ethernet)']" for name in ("addresses", "ip_restore", "category_restore")]
BACK = ["hns_network_remove x", "addresses ['Ethernet']", "ip_restore ['Ethernet']"]


def test_a_network_is_made_and_the_adapter_gets_its_addresses_back() -> None:
    assert replace(NETWORK, wanted=False).change(node()) is None
    change = NETWORK.change(node())
    assert change is not None
    assert said(change.prepare) == [*NOTED, "hns_network x", *SETTLED]
    assert undone(change.prepare[2]) == BACK
    assert change.finish == ()
    assert change.prepare[2].args["request"] == '{"Name":"x","Type":"L2Bridge"}'
    addresses = change.prepare[3].args
    assert addresses["ipv4"] == [{"address": "10.0.0.7", "prefix": 24}]
    assert (addresses["gateway"], addresses["dns"], addresses["dhcp"]) == ("10.0.0.1", ["10.0.0.2"], False)
    assert "gateway" not in replace(ADDRESSES, gateways=()).op("Ethernet", wait_s=9).args


def test_a_network_that_a_service_makes_is_waited_for_at_the_end() -> None:
    gate = (wait_pipe("x", 9),)
    change = replace(NETWORK, request=None, maker="flanneld", gate=gate).change(node())
    assert change is not None
    assert change.text.startswith("have flanneld create the external vSwitch on Ethernet")
    assert said(change.prepare) == [*NOTED, "hns_network x"]
    assert said(change.finish) == ["wait hns_network x", *SETTLED, "wait pipe x"]


LAST = {
    "the last on its adapter": (
        True,
        [
            "category_note ['vEthernet (Ethernet)']",
            "ip_note ['vEthernet (Ethernet)']",
            "hns_network_remove x",
            "addresses ['vEthernet (Ethernet)', 'Ethernet']",
            "ip_restore ['vEthernet (Ethernet)', 'Ethernet']",
            "category_restore ['vEthernet (Ethernet)', 'Ethernet']",
        ],
    ),
    "one of several": (False, ["hns_network_remove x"]),
}


@pytest.mark.parametrize(("last", "ops"), LAST.values(), ids=LAST)
def test_a_network_is_taken_away_and_made_again_if_something_fails(last: bool, ops: list[str]) -> None:
    gone = NoHnsNetwork(
        name="x", adapter="Ethernet", addresses=ADDRESSES, queries=(), id="i-1", request=REQUEST, last=last
    )
    assert replace(gone, id="").change(node()) is None
    change = gone.change(node())
    assert change is not None
    assert said(change.prepare) == ops
    assert ("every connection to the machine breaks" in change.text) is last
    (remove,) = (op for op in change.prepare if op.op == "hns_network_remove")
    assert remove.args["id"] == "i-1"
    assert undone(remove) == [
        "hns_network x",
        "addresses ['vEthernet (Ethernet)', 'Ethernet']",
        "ip_restore ['vEthernet (Ethernet)', 'Ethernet']",
    ]


def test_the_backup_of_a_file_has_a_name_of_its_own_in_any_case() -> None:
    def backup(path: str) -> str:
        change = replace(CONF, path=path).change(node(**file(path, "two\n")))
        assert change is not None
        (write,) = (op for op in change.commit if op.op == "write")
        return str(write.args["backup"])

    assert backup(r"C:\k\x.conf") == backup(r"c:\K\X.conf") != backup(r"C:\k\y.conf")
    assert file_key(r"C:\k\x.conf") == file_key("c:/K/X.conf")
    assert Op("x", {}).undo == ()
