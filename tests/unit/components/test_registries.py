"""From the option `registries` to folders, hosts.toml and certificates as containerd reads them on Windows."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import (
    containerd_config,
    registries,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.options import RegistryOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import read
from ansible_collections.winkube.node.plugins.plugin_utils.engine import security
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import Plan, make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import reads as reads_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from .nodes import LAYOUT, bare, file, lines, wanted_containerd

MARK = "0123456789abcdef0123456789abcdef"
CERTS = r"C:\ProgramData\containerd\certs.d"
RECEIPT = r"C:\ProgramData\winkube\receipts\registries.json"
CA = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = b"-----BEGIN PRIVATE KEY-----\ngeheim\n-----END PRIVATE KEY-----\n"
FILES = {"ca.pem": CA, "node.pem": CA, "node.key": KEY}
MIRROR = {"url": "https://mirror.example.com", "capabilities": ["pull", "resolve"], "ca": "ca.pem"}
PORT = {"host": "registry.example.com:5000", "ca": "ca.pem"}


def read_file(path: str) -> bytes:
    try:
        return FILES[path]
    except KeyError:
        raise OSError(f"there is no {path}") from None


def made(*options: dict[str, Any]) -> tuple[registries.Registry, ...]:
    return registries.registries([read(RegistryOptions, each) for each in options], read_file)


def plan(reading: Reading, *options: dict[str, Any], version: str = "2.3.7") -> Plan:
    resources = registries.build_resources(LAYOUT, made(*options), Version.parse(version), reading, MARK)
    missing = reading.find_missing(reads_of(resources))
    known = reading.merge({query.key: {"exists": False} for query in missing}, missing)
    return make_plan(registries.NAME, resources, known)


def bare_node() -> Reading:
    return bare(registries.reads(LAYOUT))


def converged(*options: dict[str, Any]) -> Reading:
    """The node after the batch, with the receipt as the node would write it."""
    done = plan(bare_node(), *options)
    assert done.batch is not None
    (note,) = (op for op in done.batch.ops if op.op == "record")
    receipt = {"schema": 1, "source": {}, "files": [{"path": path, "sha256": "0"} for path in note.args["files"]]}
    return done.predicted.merge({file_key(RECEIPT): file(json.dumps(receipt).encode())}, predicted=False)


def ops(found: Plan, kind: str) -> list[Op]:
    assert found.batch is not None
    return [op for op in found.batch.ops if op.op == kind]


def parsed(option: dict[str, Any]) -> dict[str, Any]:
    (registry,) = made(option)
    return tomllib.loads(registries.hosts_toml(registry))


def test_a_registry_with_a_port_has_a_folder_without_the_colon_and_its_authority_beside() -> None:
    found = plan(bare_node(), PORT)
    assert lines(found.batch.ops if found.batch else ()) == [
        r"mkdir C:\ProgramData",
        r"mkdir C:\ProgramData\containerd",
        rf"mkdir {CERTS}",
        rf"mkdir {CERTS}\registry.example.com5000",
        rf"write {CERTS}\registry.example.com5000\server-ca.pem",
        rf"write {CERTS}\registry.example.com5000\hosts.toml",
        rf"record {RECEIPT}",
    ]
    assert parsed(PORT) == {"ca": "server-ca.pem"}


def test_mirrors_are_asked_in_the_order_that_was_given_and_then_the_server() -> None:
    option = {
        "host": "docker.io",
        "server": "https://registry-1.docker.io",
        "mirrors": [
            {"url": "https://z.example.com", "capabilities": ["pull"], "header": {"x-token": 'a"b\\c'}},
            {**MIRROR, "client": {"certificate": "node.pem", "key": "node.key"}},
            {"url": "http://10.0.0.1:5000/v2/hub", "override_path": True, "skip_verify": True},
        ],
    }
    found = parsed(option)
    assert found["server"] == "https://registry-1.docker.io"
    assert list(found["host"]) == ["https://z.example.com", "https://mirror.example.com", "http://10.0.0.1:5000/v2/hub"]
    assert list(found["host"].values()) == [
        {"capabilities": ["pull"], "header": {"x-token": 'a"b\\c'}},
        {
            "capabilities": ["pull", "resolve"],
            "ca": "mirror2-ca.pem",
            "client": [["mirror2-client.pem", "mirror2-client.key"]],
        },
        {"capabilities": ["pull", "resolve"], "skip_verify": True, "override_path": True},
    ]


def test_a_second_run_changes_nothing() -> None:
    option = {"host": "docker.io", "mirrors": [MIRROR], "header": {"a": "b"}}
    assert plan(converged(option, PORT), option, PORT).batch is None


def test_the_first_reading_has_all_of_a_node_that_is_as_wanted_and_no_secret_of_it() -> None:
    """Otherwise each run would read it a second time."""
    layout = replace(LAYOUT, registry_hosts=("docker.io", "registry.example.com:5000", r"..\..\other"))
    pair = {"certificate": "node.pem", "key": "node.key"}
    option = {
        "host": "docker.io",
        "mirrors": [MIRROR, MIRROR | {"url": "https://b", "client": pair}],
        "header": {"a": "b"},
    }
    there = converged(option, PORT)
    queries = registries.reads(layout)
    assert not any("other" in query.key for query in queries), "no name of a registry"
    asked = {query.key: dict(query.args) for query in queries}
    answers = {
        key: {name: value for name, value in found.items() if name != "content" or asked[key].get("content_limit")}
        for key in asked
        if (found := there.parts.get(key, {"exists": False}))
    }
    for found in answers.values():
        if found.get("exists"):
            found.setdefault("sddl", security.ADMINS_ONLY_FILE)
    reading = Reading().merge(answers, queries)
    wanted = registries.build_resources(layout, made(option, PORT), Version.parse("2.3.7"), reading, MARK)
    assert reading.find_missing(reads_of(wanted)) == ()
    assert make_plan(registries.NAME, wanted, reading).batch is None
    assert [key for key, value in answers.items() if value.get("content")] == [file_key(RECEIPT)]


def test_a_file_that_somebody_changed_is_put_right() -> None:
    path = rf"{CERTS}\registry.example.com5000\hosts.toml"
    node = converged(PORT).merge({file_key(path): file(b"server = 'https://elsewhere'\n")})
    found = plan(node, PORT)
    (write,) = ops(found, "write")
    assert write.args["path"] == path
    assert [op.op for op in write.undo] == ["restore"]
    (step,) = found.steps
    assert "elsewhere" in step.before


def test_keys_and_headers_are_for_administrators_alone_and_nowhere_to_be_seen() -> None:
    option = {
        "host": "registry.example.com",
        "client": {"certificate": "node.pem", "key": "node.key"},
        "header": {"authorization": "Bearer geheim"},
    }
    found = plan(bare_node(), option)
    private = [op for op in ops(found, "write") if "sddl" in op.args]
    names = [str(op.args["path"]).rsplit("\\", 1)[-1] for op in private]
    assert names == ["server-client.key", "hosts.toml"]
    assert all(op.args["sddl"] == security.ADMINS_ONLY_FILE and op.secrets == ("content",) for op in private)
    assert "geheim" not in "".join(step.before + step.after + step.text for step in found.steps)
    assert all("content" not in found.predicted.file(str(op.args["path"])) for op in private)


def test_a_user_or_a_token_becomes_a_header_that_nothing_shows() -> None:
    mirror = {**MIRROR, "auth": {"token": "geheim"}}
    option = {"host": "r.example.com", "auth": {"username": "a", "password": "geheim:b"}, "mirrors": [mirror]}
    found = parsed(option)
    assert found["header"] == {"Authorization": "Basic YTpnZWhlaW06Yg=="}
    assert found["host"]["https://mirror.example.com"]["header"] == {"Authorization": "Bearer geheim"}
    (write,) = (op for op in ops(plan(bare_node(), option), "write") if op.secrets)
    assert write.args["path"].endswith("hosts.toml")
    assert write.args["sddl"] == security.ADMINS_ONLY_FILE
    assert parsed({**PORT, "auth": {}}) == parsed(PORT)


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"auth": {"username": "a"}}, "auth has no password"),
        ({"auth": {"password": "geheim"}}, "auth has no username"),
        ({"auth": {"username": "a:b", "password": "geheim"}}, "holds a colon"),
        ({"auth": {"username": "a", "token": "geheim"}}, "a token and a user"),
        ({"auth": {"token": "geheim\n"}}, "control character"),
        ({"auth": {"token": "geheim"}, "header": {"authorization": "x"}}, "the same thing twice"),
        ({"auth": {"token": "geheim"}, "host": "_default"}, "to every registry of the world"),
    ],
)
def test_credentials_that_no_registry_takes_are_refused_and_not_shown(option: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused, match=sentence) as refused:
        made({**PORT, **option})
    assert "geheim" not in str(refused.value)


def test_where_credentials_do_not_reach_or_everybody_reads_them_is_told() -> None:
    known = {"auth": {"username": "a", "password": "b"}}
    wanted = made({**PORT, **known, "mirrors": [{**MIRROR, **known, "url": "http://mirror.example.com"}]})
    assert [sentence.split(":")[0] for sentence in registries.warnings(wanted, Version.parse("2.1.0"))] == [
        "registries"
    ]
    (open_, tokens) = registries.warnings(wanted, Version.parse("2.0.14"))
    assert "http://mirror.example.com is asked without TLS" in open_
    assert "not to a separate token server" in tokens
    assert registries.warnings(made(PORT, {"host": "_default", "mirrors": [MIRROR]}), Version.parse("1.7.35")) == []


def test_a_key_that_others_may_read_is_written_anew() -> None:
    option = {"host": "r.example.com", "client": {"certificate": "node.pem", "key": "node.key"}}
    node = converged(option)
    path = rf"{CERTS}\r.example.com\server-client.key"
    opened = {**node.file(path), "sddl": security.ADMINS_WRITE}
    (write,) = ops(plan(node.merge({file_key(path): opened}), option), "write")
    assert write.args["path"] == path


def test_what_is_no_longer_wanted_goes_and_what_others_made_stays() -> None:
    node = converged(PORT, {"host": "docker.io", "mirrors": [MIRROR]})
    found = plan(node, PORT)
    assert found.batch is not None
    gone = [op.args["from"] for op in ops(found, "move")]
    assert gone == [rf"{CERTS}\docker.io\mirror1-ca.pem", rf"{CERTS}\docker.io\hosts.toml"]
    (folder,) = ops(found, "remove")
    assert folder.args == {"path": rf"{CERTS}\docker.io", "only_if_empty": True}
    (note,) = ops(found, "record")
    assert note.args["files"] == [
        rf"{CERTS}\registry.example.com5000\{name}" for name in ("server-ca.pem", "hosts.toml")
    ]
    assert all(op.undo for op in ops(found, "move"))

    last = plan(node)
    assert [op.args["path"] for op in ops(last, "remove")][-1] == RECEIPT
    assert registries.build_resources(LAYOUT, (), Version.parse("2.3.7"), bare_node(), MARK) == ()


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ({"host": "https://docker.io"}, "'https://docker.io' is not a registry's host"),
        ({"host": "docker.io", "server": "registry-1.docker.io"}, "'registry-1.docker.io' is not a registry's address"),
        ({"host": "docker.io", "mirrors": [{"url": "https://a:b@m"}]}, "a user or a password in the address"),
        (
            {"host": "docker.io", "mirrors": [{"url": "https://m"}, {"url": "https://m"}]},
            "mirror https://m appears twice",
        ),
        (
            {"host": "docker.io", "ca": "none.pem"},
            "ca none.pem could not be read on the controller: there is no none.pem",
        ),
        ({"host": "docker.io", "ca": "node.key"}, "node.key holds no certificate in PEM form"),
        ({"host": "docker.io", "client": {"certificate": "node.pem"}}, "only one of the two files is given"),
        ({"host": "docker.io", "client": {"certificate": "node.pem", "key": "ca.pem"}}, "ca.pem holds no private key"),
        (
            {"host": "docker.io", "capabilities": ["write"]},
            "'write' is not a capability; known are pull",
        ),
    ],
)
def test_what_containerd_would_pass_over_in_silence_is_refused(option: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        made(option)
    assert any(sentence in said for said in refused.value.sentences), refused.value.sentences


def test_two_hosts_with_one_folder_are_refused() -> None:
    with pytest.raises(Refused, match="have the same folder on Windows, 'R1234'"):
        made({"host": "r1:234"}, {"host": "R12:34"})
    with pytest.raises(Refused, match=r"docker\.io and docker\.io have the same folder"):
        made({"host": "docker.io"}, {"host": "docker.io"})


def test_a_folder_that_containerd_prefers_is_named() -> None:
    node = bare_node().merge(
        {file_key(CERTS): {"exists": True, "kind": "directory", "entries": ["Registry.example.com_5000_"], "sddl": ""}}
    )
    with pytest.raises(Refused, match=r"which containerd prefers to 'registry.example.com5000'"):
        plan(node, PORT)


def test_a_folder_for_all_registries_needs_containerd_1_6() -> None:
    assert plan(bare_node(), {"host": "_default", "mirrors": [MIRROR]}, version="1.6.36").batch is not None
    with pytest.raises(Refused, match=r"containerd 1\.5\.8 has no folder for all registries"):
        plan(bare_node(), {"host": "_default", "mirrors": [MIRROR]}, version="1.5.8")


@pytest.mark.parametrize(
    ("version", "config", "plugin"),
    [("1.7.11", 2, "io.containerd.grpc.v1.cri"), ("2.0.0", 3, "io.containerd.cri.v1.images")],
)
def test_config_toml_has_to_name_the_folder(version: str, config: int, plugin: str) -> None:
    text = f"version = {config}\n[plugins.\"{plugin}\".registry]\nconfig_path = '{CERTS.upper()}'\n"
    assert registries.config_problems(text, CERTS, Version.parse(version)) == []
    (problem,) = registries.config_problems(f"version = {config}\n", CERTS, Version.parse(version))
    assert f"write `config_path = '{CERTS}'` in [plugins.\"{plugin}\".registry]" in problem


def test_config_toml_names_the_folder_only_while_there_are_registries() -> None:
    for wanted, folder in (([{"host": "docker.io"}], CERTS), ([], "")):
        found = containerd_config.template_variables(wanted_containerd(registries=wanted))
        assert found["registry_config_path"] == folder


@pytest.mark.parametrize("character", ["\x7f", "\n", "\r\nX-Evil: 1", "\x00", "\x1b"])
def test_a_header_that_holds_a_control_character_is_refused_and_not_shown(character: str) -> None:
    """Failed before: TOML has no DEL, so containerd skipped hosts.toml, and Go sends no header with a newline."""
    for header in ({"Authorization": f"Bearer geheim{character}"}, {f"geheim{character}": "x"}, {"": "x"}):
        for option in (
            {**PORT, "header": header},
            {"host": "a.example.com", "mirrors": [{**MIRROR, "header": header}]},
        ):
            with pytest.raises(Refused, match=r"(the header Authorization|the name of header 1) holds a c") as refused:
                made(option)
            assert "geheim" not in str(refused.value)
    kept = {"Authorization": "Bearer a\tb~\u00fc", "x-b_c.d": ""}
    found = made({**PORT, "header": kept})[0].server.header
    assert {name: value.reveal() for name, value in found} == kept


@pytest.mark.parametrize("url", ["https://a.example.com/\n", "https://a\x7f.example.com", "https://a.example.com/ b"])
def test_an_address_with_a_control_character_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="holds a blank or a control character"):
        made({**PORT, "server": url})
