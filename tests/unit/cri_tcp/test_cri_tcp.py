"""CRI over TCP: what is refused, the rule of the firewall, the plan, certificates."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import certs as cri_tcp_certs
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import node as cri_tcp
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp import proof as cri_tcp_proof
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.edit import (
    Address,
    Effective,
    Listener,
    Tls,
    edit,
    effective,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.firewall_rule import sources

from tests.unit.components.nodes import LAYOUT, bare, file, lines
from tests.unit.cri_tcp.asked import asked

LOOPBACK = Listener(Address("127.0.0.1", 8888))
OUTSIDE = Listener(Address("192.168.122.220", 8888))
ANY = Listener(Address("0.0.0.0", 8888))
FILES = Tls(r"C:\cri\ca.crt", r"C:\cri\server.crt", r"C:\cri\server.key")
ONE = (ipaddress.ip_network("192.168.122.1"),)
CONFIG = 'version = 2\n[grpc]\n  gid = 0\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "a:1"\n'
RULE = "v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=8888|RA4=192.168.122.1|Name=winkube-cri-tcp|"
OTHER = "v2.31|Action=Allow|Active=TRUE|Dir=In|Protocol=6|LPort=8888|Name=somebody else's|"
FIREWALL = "firewall:winkube-cri-tcp"
CONTAINERD = {
    "name": "containerd",
    "image_path": rf'"{LAYOUT.containerd_binary}" --run-service --config "{LAYOUT.containerd_config}"',
    "state": "running",
    "start": 2,
    "depends_on": [],
    "nssm": None,
}
KUBELET = {
    "name": "kubelet",
    "image_path": r"C:\k\kubelet.exe",
    "state": "running",
    "start": 2,
    "depends_on": ["containerd"],
    "nssm": None,
}


def arguments(listener: Listener | None = LOOPBACK, networks: Sequence[Any] = ()) -> cri_tcp.CriTcp:
    return cri_tcp.CriTcp(
        asked(expires_after="never"),
        LAYOUT,
        listener,
        tuple(networks),
        mark="0" * 32,
    )


def node(args: cri_tcp.CriTcp, config: str = CONFIG, rules: Sequence[str] = (), **more: Mapping[str, Any]) -> Reading:
    service = {**CONTAINERD, **more.pop("service", {})}
    reading = bare(cri_tcp.reads(args), service, KUBELET)
    values = {f"{{{n}}}": {"type": "string", "value": rule} for n, rule in enumerate((OTHER, *rules))}
    parts: dict[str, Any] = {
        f"file:{LAYOUT.containerd_config.casefold()}": file(config.encode()),
        f"file:{LAYOUT.containerd_binary.casefold()}": file(b"MZ"),
        FIREWALL: {"exists": True, "values": values, "keys": []},
    }
    return reading.merge(parts | more)


def plan(args: cri_tcp.CriTcp, reading: Reading) -> Plan:
    return make_plan(cri_tcp.NAME, cri_tcp.build_resources(args, reading), reading)


def ops(found: Plan) -> list[str]:
    assert found.batch is not None
    return lines(found.batch.ops)


# --- what is open to more than it has to be --------------------------------------------------------------------------


@pytest.mark.row("CT-12")
@pytest.mark.row("SE-15")
@pytest.mark.parametrize(
    ("listener", "networks", "allowed", "sentences"),
    [
        (LOOPBACK, (), False, []),
        (OUTSIDE, ONE, False, []),
        (ANY, ONE, True, []),
        (OUTSIDE, (), False, ["tcp_address 192.168.122.220:8888 can be reached from other machines; name those"]),
        (ANY, ONE, False, ["tcp_address 0.0.0.0:8888 is every address of the node"]),
        (Listener(Address("::", 8888)), ONE, False, [r"tcp_address \[::\]:8888 is every address of the node"]),
        (ANY, (), True, ["tcp_address 0.0.0.0:8888 can be reached from other machines"]),
        (
            LOOPBACK,
            ONE,
            False,
            ["allowed_sources are given, but tcp_address 127.0.0.1:8888 is reachable only from the node"],
        ),
        (Listener(LOOPBACK.address, replace(FILES, key="server.key")), (), False, [r"tls.key 'server.key' "]),
    ],
)
def test_problems(listener: Listener, networks: Any, allowed: bool, sentences: list[str]) -> None:
    found = cri_tcp.problems(listener, networks, allow_any_address=allowed)
    assert len(found) == len(sentences)
    assert all(re.match(pattern, sentence) for pattern, sentence in zip(sentences, found, strict=True)), found


@pytest.mark.row("CT-12")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.0.0.0/0", "allowed_sources: '0.0.0.0/0' lets everyone in"),
        ("::/0", "allowed_sources: '::/0' lets everyone in"),
        ("jump.example.com", "allowed_sources: 'jump.example.com' is neither an IP address nor a network"),
        ("10.0.0.1/24", "allowed_sources: '10.0.0.1/24' is neither an IP address nor a network"),
    ],
)
def test_sources_that_are_none(text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=re.escape(sentence)):
        sources(["10.0.0.0/24", text], "allowed_sources")


@pytest.mark.row("CT-12")
@pytest.mark.row("SE-15")
def test_a_port_that_asks_for_no_certificate_is_warned_of() -> None:
    plain = cri_tcp.warning(Effective("127.0.0.1:8888", serves_cri=True), ())
    assert "asks for no client certificate, without encryption: everybody on the node can start" in plain
    assert "is SYSTEM there" in plain
    half = cri_tcp.warning(Effective("10.0.0.1:1", serves_cri=True, encrypted=True), ONE)
    assert "with only a certificate of the server: everybody at 192.168.122.1 can" in half
    proven = Effective("10.0.0.1:1", serves_cri=True, encrypted=True, clients_proven=True)
    assert cri_tcp.warning(proven, ONE) == ""


@pytest.mark.row("CT-12")
def test_refused_where_the_firewall_is_off() -> None:
    args = arguments(OUTSIDE, ONE)
    key = r"registry:HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\PublicProfile"
    off = node(args).merge({key: {"exists": True, "type": "dword", "value": 0}})
    with pytest.raises(Refused, match=r"The Windows firewall is off on the node \(profile public\)"):
        cri_tcp.build_resources(args, off)
    on = node(args).merge({key: {"exists": True, "type": "dword", "value": 1}})
    assert plan(args, on).changed


POLICY = r"registry:HKLM\SOFTWARE\Policies\Microsoft\WindowsFirewall\PublicProfile"


def test_a_group_policy_that_turns_the_firewall_off_counts() -> None:
    """Nobody looked: allowed_sources kept nobody out, and the task was content."""
    args = arguments(OUTSIDE, ONE)
    off = node(args).merge({POLICY: {"exists": True, "type": "dword", "value": 0}})
    with pytest.raises(Refused, match=r"is off on the node \(profile public; by group policy, HKLM.*: public\)"):
        cri_tcp.build_resources(args, off)
    secure = replace(args, listener=replace(OUTSIDE, tls=FILES))
    assert cri_tcp.firewall_off(secure, off)[0] == ["public"], "said, and not refused: clients show a certificate"
    local = r"registry:HKLM\SYSTEM\CurrentControlSet\Services\SharedAccess\Parameters\FirewallPolicy\PublicProfile"
    on = node(args).merge({POLICY: {"value": 1}, local: {"value": 0}})
    assert cri_tcp.firewall_off(args, on) == ([], "profile "), "the policy counts, not the machine's own"


def test_certificates_that_the_file_names_have_to_be_there_before_containerd_restarts() -> None:
    """containerd did not start with the new file, nor with the old one that was put back."""
    text = CONFIG.replace("gid = 0", "tcp_tls_ca = 'C:\\gone\\ca.crt'")
    reading = node(arguments(), text)
    for args in (arguments(), arguments(None)):
        opened = reading if args.listener else node(args, edit(text, LOOPBACK))
        found = next(one for one in cri_tcp.build_resources(args, opened) if isinstance(one, cri_tcp.NamedFiles))
        with pytest.raises(Refused, match=r"line 3: tcp_tls_ca = 'C:\\gone\\ca.crt' is not a file on the node"):
            found.change(opened)
        there = opened.merge({r"file:c:\gone\ca.crt": {"exists": True, "kind": "file"}})
        found.change(there)


def test_closing_takes_out_a_users_own_certificates_that_are_gone() -> None:
    text = CONFIG.replace("gid = 0", "tcp_tls_ca = 'C:\\gone\\ca.crt'")
    args = arguments(None)
    opened = node(args, edit(text, LOOPBACK)).merge({r"file:c:\gone\ca.crt": {"exists": False, "kind": None}})
    closed = cri_tcp_proof.config_of(cri_tcp.build_resources(args, opened)).text
    assert "tcp_tls_ca" not in closed
    assert "127.0.0.1:8888" not in closed
    next(one for one in cri_tcp.build_resources(args, opened) if isinstance(one, cri_tcp.NamedFiles)).change(opened)
    there = opened.merge({r"file:c:\gone\ca.crt": {"exists": True, "kind": "file"}})
    assert "tcp_tls_ca" in cri_tcp_proof.config_of(cri_tcp.build_resources(args, there)).text


@pytest.mark.parametrize(
    ("pattern", "entry", "taken"),
    [
        ("*.toml", "A.TOML", False),
        ("[^x]*.toml", "a.toml", True),
        ("[^x]*.toml", "x.toml", False),
        ("[!x]*.toml", "x.toml", True),
        ("[!x]*.toml", "a.toml", False),
        ("[^x].toml", "a.toml", False),
    ],
)
def test_imports_are_matched_as_go_does(pattern: str, entry: str, taken: bool) -> None:
    """`[^x]` was read as a `^` or an x; without a `*` containerd takes the name as it is."""
    assert cri_tcp_proof._matches(entry, f"C:\\conf.d\\{pattern}") is taken


def test_closing_asks_no_task_scheduler() -> None:
    """One that does not answer kept the port open."""
    assert not [query for query in cri_tcp.reads(arguments(None)) if query.op == "task"]


# --- the firewall's rule ---------------------------------------------------------------------------------------------


@pytest.mark.row("CT-12")
def test_the_rule_is_made_for_exactly_these() -> None:
    args = arguments(OUTSIDE, sources(["192.168.122.1", "10.9.0.0/16"], "allowed_sources"))
    found = plan(args, node(args))
    rule = next(op for op in found.batch.ops if "netsh" in str(op.args.get("program"))) if found.batch else None
    assert rule is not None and lines((rule,))[0] == (
        "run netsh.exe advfirewall firewall add rule name=winkube-cri-tcp dir=in action=allow protocol=TCP "
        "localport=8888 remoteip=192.168.122.1,10.9.0.0/16"
    )
    assert lines(rule.undo) == ["run netsh.exe advfirewall firewall delete rule name=winkube-cri-tcp"]


def test_a_rule_that_is_right_stays_and_masks_are_networks() -> None:
    args = arguments(OUTSIDE, sources(["10.9.0.0/16"], "allowed_sources"))
    rule = RULE.replace("RA4=192.168.122.1", "RA4=10.9.0.0/255.255.0.0")
    reading = node(args, edit(CONFIG, OUTSIDE), [rule])
    assert not plan(args, reading).changed


@pytest.mark.parametrize(
    "rule",
    [
        RULE.replace("8888", "8889"),
        RULE.replace("192.168.122.1", "192.168.122.2"),
        RULE.replace("RA4=192.168.122.1|", ""),
        RULE.replace("Active=TRUE", "Active=FALSE"),
        RULE.replace("Allow", "Block"),
        RULE.replace("192.168.122.1|", "LocalSubnet|"),
    ],
)
def test_a_rule_that_is_not_is_made_anew(rule: str) -> None:
    args = arguments(OUTSIDE, ONE)
    found = plan(args, node(args, edit(CONFIG, OUTSIDE), [rule]))
    assert [line.split()[4] for line in ops(found)] == ["delete", "add"]
    assert not any("sc.exe" in line for line in ops(found)), "nothing restarts for the rule"


@pytest.mark.row("CT-12")
def test_closing_removes_the_rule_and_the_undo_makes_it_again() -> None:
    args = arguments(None)
    found = plan(args, node(args, edit(CONFIG, OUTSIDE), [RULE]))
    assert found.batch is not None
    first = found.batch.ops[0]
    assert lines((first,)) == ["run netsh.exe advfirewall firewall delete rule name=winkube-cri-tcp"]
    assert [line.split()[4] for line in lines(first.undo)] == ["delete", "add"]
    assert "remoteip=192.168.122.1" in lines(first.undo)[1]
    assert not plan(arguments(None), node(arguments(None))).changed


# --- the plan --------------------------------------------------------------------------------------------------------


@pytest.mark.row("CT-11")
def test_containerd_restarts_with_what_depends_on_it_and_the_port_is_the_gate() -> None:
    found = plan(arguments(), node(arguments()))
    stops = [line for line in ops(found) if re.search(r"sc.exe (stop|start)", line)]
    assert stops == [
        *("run sc.exe stop kubelet", "run sc.exe stop containerd"),
        *("run sc.exe start containerd", "run sc.exe start kubelet"),
    ]
    assert found.batch is not None
    gate = found.batch.gate[-1].args
    assert (gate["for"], gate["host"], gate["port"]) == ("tcp", "127.0.0.1", 8888)
    assert [step.text for step in found.steps][1:] == [
        "restart containerd",
        "restart its dependants: kubelet",
    ]


@pytest.mark.row("CT-08")
def test_the_file_that_was_there_is_kept_and_comes_back() -> None:
    found = plan(arguments(), node(arguments()))
    assert found.batch is not None
    (write,) = (op for op in found.batch.ops if op.op == "write" and op.args["path"] == LAYOUT.containerd_config)
    assert str(write.args["backup"]).startswith("C:\\ProgramData\\winkube\\batches\\" + "0" * 32 + "\\backup\\")
    assert [op.args["backup"] for op in write.undo if op.op == "restore"] == [write.args["backup"]]


@pytest.mark.row("CT-11")
def test_nothing_restarts_when_nothing_changes() -> None:
    assert not plan(arguments(), node(arguments(), edit(CONFIG, LOOPBACK))).changed


def test_a_containerd_that_rests_is_not_started() -> None:
    args = arguments()
    found = plan(args, node(args, service={"state": "stopped"}))
    assert not any("sc.exe" in line for line in ops(found))


@pytest.mark.row("CT-11", "CT-12")
def test_the_port_is_asked_for_where_the_node_has_it() -> None:
    assert cri_tcp.gate(ANY, 5).args["host"] == "127.0.0.1"
    assert cri_tcp.gate(OUTSIDE, 5).args["host"] == "192.168.122.220"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            {"service": {"image_path": r"C:\containerd.exe --config D:\other.toml"}},
            r"reads D:\\other.toml, not C:\\Pro",
        ),
        ({"service": {"nssm": {"AppParameters": r"-c=D:\x.toml"}}}, r"The service containerd reads D:\\x.toml, not"),
        (
            {f"file:{LAYOUT.containerd_config.casefold()}": {"exists": False}},
            "config.toml does not exist; containerd_con",
        ),
        (
            {f"file:{LAYOUT.containerd_config.casefold()}": {"exists": True, "kind": "file", "size": 99999}},
            "config.toml is larger than 65536 bytes or no UTF-8 text; it is not changed",
        ),
    ],
)
def test_nodes_on_which_it_cannot_work(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        cri_tcp.build_resources(arguments(), node(arguments(), **more))


def test_a_node_without_containerd() -> None:
    with pytest.raises(Refused, match="There is no service containerd on the node; install containerd first"):
        cri_tcp.build_resources(arguments(), bare(cri_tcp.reads(arguments())))


@pytest.mark.row("CT-12")
def test_the_servers_key_is_for_administrators() -> None:
    args = arguments(Listener(OUTSIDE.address, FILES), ONE)
    there = {f"file:{path.casefold()}": file(b"PEM") for path in (FILES.ca, FILES.cert, FILES.key)}
    key = f"file:{FILES.key.casefold()}"
    with pytest.raises(Refused, match=r"tls.ca: C:\\cri\\ca.crt is not a file on the node"):
        cri_tcp.build_resources(args, node(args))
    there[key] = {**there[key], "sddl": "O:BAG:BAD:(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;BU)"}
    with pytest.raises(Refused, match=r"tls.key C:\\cri\\server.key can be read by BU; leave it to SYSTEM"):
        cri_tcp.build_resources(args, node(args).merge(there))
    there[key] = {**there[key], "sddl": "O:BAG:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"}
    assert plan(args, node(args).merge(there)).changed


# --- certificates ----------------------------------------------------------------------------------------------------

NOW = datetime.datetime(2026, 11, 21, tzinfo=datetime.UTC)


def on(days: float) -> datetime.datetime:
    return NOW + datetime.timedelta(days=days)


@pytest.mark.row("CT-12")
def test_certificates_are_kept_for_one_user_and_used_until_their_last_third(tmp_path: Path) -> None:
    folder = tmp_path / "cri" / "win1"
    made = cri_tcp_certs.create(["127.0.0.1", "::1"], 3, NOW)
    cri_tcp_certs.keep(folder, made)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()} == dict.fromkeys(made.files, 0o600)
    assert sorted(made.files) == ["ca.crt", "client.crt", "client.key", "server.crt", "server.key"]
    assert cri_tcp_certs.load(folder, ["::1"], on(1.6)) == made
    assert cri_tcp_certs.load(folder, ["::1"], on(1.7)) is None, "the last third; they begin a day earlier"
    assert cri_tcp_certs.load(folder, ["10.0.0.1"], on(0)) is None, "another address"
    assert cri_tcp_certs.load(tmp_path, ["::1"], on(0)) is None, "none there"
    (folder / "server.crt").write_text("no certificate")
    assert cri_tcp_certs.load(folder, ["::1"], on(0)) is None


@pytest.mark.parametrize("days", [0, 31])
def test_certificates_are_for_a_limited_time(days: int) -> None:
    with pytest.raises(Refused, match=rf"certificates.days is {days}; from 1 to 30 are possible"):
        cri_tcp_certs.create(["::1"], days, NOW)


def test_a_folder_that_cannot_be_written_or_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refused, match=r"certificates.folder: nothing can be written to .*/file"):
        cri_tcp_certs.keep(tmp_path / "file", cri_tcp_certs.create(["::1"], 1, NOW))
    (tmp_path / "ca.crt").write_bytes(b"\xff")
    with pytest.raises(Refused, match=r"certificates.folder: a file in .* cannot be read"):
        cri_tcp_certs.load(tmp_path, ["::1"], NOW)


@pytest.mark.row("CT-12")
def test_certificates_go_to_a_folder_of_administrators() -> None:
    listener = Listener(OUTSIDE.address, cri_tcp.made_files(LAYOUT))
    args = replace(arguments(listener, ONE), certificates=cri_tcp_certs.create(["192.168.122.220"], 3, NOW))
    found = plan(args, node(args))
    assert found.batch is not None
    folder = r"C:\ProgramData\winkube\cri-tcp"
    writes = {str(op.args["path"]): op for op in found.batch.ops if op.op == "write"}
    for name in ("ca.crt", "server.crt", "server.key"):
        op = writes[rf"{folder}\{name}"]
        assert op.args["sddl"] == "O:BAG:BAD:PAI(A;;FA;;;SY)(A;;FA;;;BA)"
        assert op.secrets == ("content",)
    made = next(op for op in found.batch.ops if op.op == "mkdir" and op.args["path"] == folder)
    assert made.args["sddl"] == "O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    config = base64.b64decode(str(writes[LAYOUT.containerd_config].args["content"])).decode()
    assert effective(config).clients_proven
    assert rf"{folder}\server.key" in tomllib.loads(config)["grpc"]["tcp_tls_key"]
    # New certificates alone restart containerd too: it reads them at its start.
    again = replace(args, certificates=cri_tcp_certs.create(["192.168.122.220"], 3, NOW))
    renewed = plan(again, found.predicted.merge(_rules(RULE)))
    assert any("sc.exe stop containerd" in line for line in ops(renewed))
    assert not any(line.endswith("config.toml") for line in ops(renewed))
    same = plan(args, found.predicted.merge(_rules(RULE)))
    assert not same.changed, same.steps


def _rules(*rules: str) -> dict[str, Any]:
    values = {f"{{{n}}}": {"type": "string", "value": rule} for n, rule in enumerate(rules)}
    return {FIREWALL: {"exists": True, "values": values, "keys": []}}
