"""The editor of config.toml for CRI over TCP: two switches in the right table, and nothing else touched."""

from __future__ import annotations

import difflib
import re
import tomllib
from copy import deepcopy
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.containerd_toml import is_equal
from ansible_collections.winkube.node.plugins.plugin_utils.cri_tcp.edit import (
    Address,
    Effective,
    Listener,
    Tls,
    edit,
    effective,
    not_effective,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from hypothesis import given, settings
from hypothesis import strategies as st

OPEN = Listener(Address("127.0.0.1", 8888))
CRI = "io.containerd.grpc.v1.cri"
TCP = "io.containerd.server.v1.grpc-tcp"
GRPC_SWITCHES = {"grpc": {"tcp_address": "127.0.0.1:8888"}, "plugins": {CRI: {"disable_tcp_service": False}}}
PLUGIN_SWITCHES = {"plugins": {TCP: {"address": "127.0.0.1:8888"}, CRI: {"disable_tcp_service": False}}}
# Written out here, not taken from the tables: the version of the file, and the two keys that belong to it.
SWITCHES: dict[int, dict[str, Any]] = {2: GRPC_SWITCHES, 3: GRPC_SWITCHES, 4: PLUGIN_SWITCHES}
HAND_MADE = r"""# our config
version = 2   # do not touch

[grpc]
  address = '\\.\pipe\containerd-containerd'  # the pipe
  tcp_address = ""  # off

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.9"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = 'C:\k\cni'

[debug]
  level = "info"
"""


def merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    found = deepcopy(base)
    for key, value in more.items():
        found[key] = merged(found.get(key, {}), value) if isinstance(value, dict) else value
    return found


def removed_and_added(before: str, after: str) -> tuple[list[str], list[str]]:
    lines = [
        line
        for line in difflib.unified_diff(before.splitlines(), after.splitlines(), n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    return [line[1:] for line in lines if line[0] == "-"], [line[1:] for line in lines if line[0] == "+"]


@pytest.mark.row("CT-05", "CT-06", "CT-51")
@pytest.mark.parametrize("version", SWITCHES)
def test_both_switches_in_the_table_of_the_files_version(version: int) -> None:
    after = edit(f"version = {version}\n", OPEN)
    assert tomllib.loads(after) == {"version": version, **SWITCHES[version]}


@pytest.mark.row("CT-08")
def test_comments_order_and_other_keys_stay() -> None:
    after = edit(HAND_MADE, OPEN)
    assert removed_and_added(HAND_MADE, after) == (
        ['  tcp_address = ""  # off'],
        ['  tcp_address = "127.0.0.1:8888"  # off', "  disable_tcp_service = false"],
    )
    assert tomllib.loads(after) == merged(tomllib.loads(HAND_MADE), GRPC_SWITCHES)


@pytest.mark.row("CT-08")
def test_a_second_run_changes_nothing_and_values_count_not_spellings() -> None:
    after = edit(HAND_MADE, OPEN)
    assert edit(after, OPEN) == after
    spelt = after.replace('"127.0.0.1:8888"', "'127.0.0.1:8888'")
    assert spelt != after and edit(spelt, OPEN) == spelt


@pytest.mark.row("CT-08")
def test_line_ends_of_windows_stay() -> None:
    after = edit(HAND_MADE.replace("\n", "\r\n"), OPEN)
    assert after == edit(HAND_MADE, OPEN).replace("\n", "\r\n")


@pytest.mark.parametrize("version", [2, 3])
def test_an_old_file_with_the_new_table_gets_both_addresses(version: int) -> None:
    """containerd 2.3 reads the table alone, even an empty one; 2.2 and before read [grpc] alone."""
    after = tomllib.loads(edit(f"version = {version}\n[plugins.'{TCP}']\n", OPEN))
    assert after["grpc"]["tcp_address"] == after["plugins"][TCP]["address"] == "127.0.0.1:8888"


@pytest.mark.parametrize(
    "text",
    [
        'version = 2\ngrpc = {uid = 0}\nplugins = {"io.containerd.grpc.v1.cri" = {sandbox_image = "a:1"}}\n',
        'version = 2\ngrpc.uid = 0\nplugins."io.containerd.grpc.v1.cri".sandbox_image = "a:1"\n',
        'version = 2\n[plugins]\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "a:1"\n[grpc]\nuid = 0\n'
        "[plugins.other]\na = 1\n",
    ],
)
def test_tables_in_other_spellings(text: str) -> None:
    assert tomllib.loads(edit(text, OPEN)) == merged(tomllib.loads(text), GRPC_SWITCHES)


@pytest.mark.row("CT-05")
@pytest.mark.parametrize("version", SWITCHES)
def test_absent_empties_the_address_and_adds_nothing(version: int) -> None:
    opened = edit(f"version = {version}\n", OPEN)
    closed = edit(opened, None)
    assert effective(closed) == Effective("", serves_cri=False)
    assert tomllib.loads(closed)["plugins"][CRI] == {"disable_tcp_service": True}
    assert edit(closed, None) == closed
    assert edit(f"version = {version}\n", None) == f"version = {version}\n"


@pytest.mark.row("CT-12")
@pytest.mark.parametrize(
    ("version", "keys"),
    [
        (2, [("grpc", "tcp_tls_ca"), ("grpc", "tcp_tls_cert"), ("grpc", "tcp_tls_key")]),
        (3, [("grpc", "tcp_tls_ca"), ("grpc", "tcp_tls_cert"), ("grpc", "tcp_tls_key")]),
        (4, [("plugins", TCP, "tls_ca"), ("plugins", TCP, "tls_cert"), ("plugins", TCP, "tls_key")]),
    ],
)
def test_certificates(version: int, keys: list[tuple[str, ...]]) -> None:
    after = edit(f"version = {version}\n", Listener(OPEN.address, Tls(r"C:\ca", r"C:\cert", r"C:\key")))
    found = []
    for place in keys:
        value: Any = tomllib.loads(after)
        for name in place:
            value = value[name]
        found.append(value)
    assert found == [r"C:\ca", r"C:\cert", r"C:\key"]
    assert effective(after).clients_proven
    assert effective(edit(after, OPEN)).clients_proven, "certificates that are there stay"


# --- versions ------------------------------------------------------------------------------------------------------


@pytest.mark.row("CT-06", "CT-07")
@pytest.mark.parametrize("switches", ["", '[grpc]\ntcp_address = "127.0.0.1:8888"\n'])
def test_a_file_without_a_version_gets_one(switches: str) -> None:
    """The documents' snippet has none, and containerd 1.x then ignores disable_tcp_service."""
    text = f'{switches}[plugins."{CRI}"]\ndisable_tcp_service = false\n'
    assert tomllib.loads(edit(text, OPEN)) == {"version": 2, **GRPC_SWITCHES}


@pytest.mark.row("CT-07", "CT-51")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("version = 1\n", r"config.toml: line 1: version = 1, in which containerd 1.x reads no"),
        ('[plugins.cri]\nsandbox_image = "a"\n', r"config.toml: line 1: it names no version and has 'plugins.cri'"),
        ('disabled_plugins = ["cri"]\n', r"it names no version and has 'disabled_plugins.cri'"),
        ("version = 5\n", r"config.toml: line 1: version = 5 is not supported; 2, 3 and 4 are"),
        ("version = true\n", r"version = True is not supported"),
        ("version = 2\ngrpc = 1\n", r"config.toml: line 2: grpc should be a table, but is 1"),
        (f'version = 2\ndisabled_plugins = ["{CRI}"]\n', r"line 2: disabled_plugins names the CRI plugin"),
        ("version = \n", r"config.toml: not TOML: Invalid value \(at line 1, column 11\)"),
    ],
)
def test_a_file_that_cannot_be_changed_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(Refused, match=sentence):
        edit(text, OPEN)


def test_what_a_file_of_version_1_has_open_can_be_closed() -> None:
    closed = edit('version = 1\n[grpc]\ntcp_address = "0.0.0.0:8888"\n', None)
    assert tomllib.loads(closed) == {"version": 1, "grpc": {"tcp_address": ""}}


# --- what a containerd says of it ----------------------------------------------------------------------------------


@pytest.mark.row("CT-09")
@pytest.mark.parametrize(
    ("dump", "fault"),
    [
        (HAND_MADE, "it listens on no TCP address, not on 127.0.0.1:8888"),
        (
            HAND_MADE.replace('tcp_address = ""', 'tcp_address = "127.0.0.1:8888"'),
            "disable_tcp_service is true, so every CRI call over TCP answers 'unknown service'",
        ),
        (
            f"version = 3\n[grpc]\ntcp_address = '[::1]:8888'\n[plugins.'{CRI}']\ndisable_tcp_service = false\n",
            "it listens on [::1]:8888, not on 127.0.0.1:8888",
        ),
        (
            f"version = 4\n[plugins.'{TCP}']\naddress = '127.0.0.1:8888'\n"
            f"[plugins.'{CRI}']\ndisable_tcp_service = false\n",
            "",
        ),
        (
            'version = 4\n[grpc]\ntcp_address = "127.0.0.1:8888"\n',
            "it listens on no TCP address, not on 127.0.0.1:8888",
        ),
    ],
)
def test_the_effective_configuration_is_judged(dump: str, fault: str) -> None:
    assert not_effective(effective(dump), OPEN) == fault
    assert not_effective(effective(edit(HAND_MADE, OPEN)), OPEN) == ""


@pytest.mark.row("CT-06", "CT-12")
@pytest.mark.parametrize(
    ("keys", "served", "encrypted", "proven"),
    [
        ({}, False, False, False),  # containerd's own default is true: the port would open and serve no CRI
        ({CRI: "disable_tcp_service = true"}, False, False, False),
        ({CRI: "disable_tcp_service = false"}, True, False, False),
        ({CRI: "disable_tcp_service = false", TCP: "tls_cert = 'c'\ntls_key = 'k'"}, True, True, False),
        ({CRI: "disable_tcp_service = false", TCP: "tls_cert = 'c'\ntls_ca = 'a'"}, True, True, True),
    ],
)
def test_what_an_effective_configuration_lets_in(
    keys: dict[str, str], served: bool, encrypted: bool, proven: bool
) -> None:
    address = {TCP: "address = '127.0.0.1:8888'"}
    tables = {name: "\n".join(filter(None, (address.get(name), keys.get(name)))) for name in (TCP, CRI)}
    text = "version = 4\n" + "".join(f"[plugins.'{name}']\n{text}\n" for name, text in tables.items())
    assert effective(text) == Effective("127.0.0.1:8888", served, encrypted, proven)


@pytest.mark.row("CT-09")
def test_what_is_still_open_is_named() -> None:
    assert not_effective(effective(edit("version = 4\n", OPEN)), None) == "it still listens on 127.0.0.1:8888"
    assert not_effective(effective("version = 4\n"), None) == ""


# --- addresses -----------------------------------------------------------------------------------------------------


@pytest.mark.row("CT-05")
@pytest.mark.parametrize(
    "text",
    [
        *("", "8888", ":8888", "localhost:8888", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536"),
        *("::1:80", "[127.0.0.1]:80", "127.0.0.1:+80", "127.0.0.1:٨٠"),
    ],
)
def test_no_address(text: str) -> None:
    with pytest.raises(Refused, match=re.escape(f"tcp_address '{text}' is not an IP address with a port")):
        Address.parse(text)


@pytest.mark.parametrize(
    ("text", "loopback", "every", "near"),
    [
        ("127.0.0.1:8888", True, False, "127.0.0.1"),
        ("127.8.8.8:8888", True, False, "127.8.8.8"),
        ("[::1]:1", True, False, "::1"),
        ("0.0.0.0:8888", False, True, "127.0.0.1"),
        ("[::]:8888", False, True, "::1"),
        ("192.168.122.220:65535", False, False, "192.168.122.220"),
    ],
)
def test_addresses(text: str, loopback: bool, every: bool, near: str) -> None:
    found = Address.parse(text)
    assert (str(found), found.is_loopback, found.is_any, found.near) == (text, loopback, every, near)


# --- any file ------------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["address", "tcp_address", "disable_tcp_service", "uid", "sandbox_image", "level", "x-y"])
VALUES = st.sampled_from(['"a"', "'C:\\k'", "1", "true", "false", '[ "a", "b" ]', '""', "{ a = 1 }", '"""\nb\n"""'])
TABLES = st.sampled_from(
    ["grpc", "debug", f'plugins."{CRI}"', f"plugins.'{CRI}'.cni", f'plugins."{TCP}"', "plugins.'io.containerd.x.v1.y'"]
)
COMMENTS = st.sampled_from(["", "  # why", "\n# a line of its own", "\n"])


@st.composite
def files(draw: st.DrawFn) -> str:
    lines = [f"version = {draw(st.sampled_from([2, 3, 4]))}{draw(COMMENTS)}"]
    for table in draw(st.lists(TABLES, unique_by=lambda name: name.replace("'", '"'), max_size=6)):
        indent = draw(st.sampled_from(["", "  "]))
        lines.append(f"{indent}[{table}]{draw(COMMENTS)}")
        for key in draw(st.lists(WORDS, unique=True, max_size=4)):
            value = draw(VALUES)
            lines.append(f"{indent}{key} = {value}{draw(COMMENTS)}")
    return "\n".join(lines) + "\n"


@pytest.mark.row("CT-08")
@settings(max_examples=100, deadline=None)
@given(files())
def test_no_key_is_lost_and_a_second_run_changes_nothing(text: str) -> None:
    before = tomllib.loads(text)
    try:
        after = edit(text, OPEN)
    except Refused as refused:
        # Only for a table inside a value, never for a file that TOML's rules let us change.
        assert "should be a table" in str(refused)
        return
    wanted = merged(before, SWITCHES[before["version"]])
    if TCP in before.get("plugins", {}):
        wanted["plugins"][TCP]["address"] = "127.0.0.1:8888"
    assert tomllib.loads(after) == wanted
    assert edit(after, OPEN) == after
    assert text.count("#") == after.count("#")
    closed = edit(after, None)
    assert effective(closed).address == "" and not effective(closed).serves_cri
    assert edit(closed, None) == closed


MADE = (r"C:\state\cri-tcp\ca.crt", r"C:\state\cri-tcp\server.crt", r"C:\state\cri-tcp\server.key")


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_closed_file_names_no_certificate_that_was_made_for_it(version: int) -> None:
    """containerd 2.2 reads them also where the address is empty, and did not start once their folder was gone."""
    text = f"version = {version}\n"
    opened = edit(text, Listener(Address("127.0.0.1", 8888), Tls(*MADE)))
    assert "server.key" in opened
    closed = edit(opened, None, made=[path.upper() for path in MADE])
    assert "tls" not in closed and effective(closed).address == ""
    others = edit(opened, None)
    assert others.count("tls_") == 3, "somebody else's stay"


@pytest.mark.parametrize(
    "text",
    [
        "version = 2\n[grpc]\n\tgid = 0\n\tuid = 0 # mine\n",
        "version = 2\r\n[grpc]\r\n  gid = 0\n  uid = 0\r\n# end\r\n",
        "version = 2\nodd = nan\n[grpc]\n  gid = 0",
        "version = 2 # two\n[grpc] # grpc\n  gid = 0 # none\n\n# the end",
        "version = 2\n[debug]\n  level = 'info'\n[grpc]\n  gid = 0\n# last, without an end of line",
    ],
)
def test_every_line_that_was_there_is_there_as_it_was(text: str) -> None:
    """Tabs became a blank, mixed line ends all the same, and a value that is not equal to itself was refused."""
    opened = edit(text, Listener(Address("127.0.0.1", 8888)))
    lines = opened.splitlines(keepends=True)
    *whole, last = text.splitlines(keepends=True)
    assert [line for line in whole if line not in lines] == []
    assert last.rstrip("\r\n") in [line.rstrip("\r\n") for line in lines]
    if "\tgid" in text:
        assert "\n\ttcp_address" in opened


def test_what_closing_leaves_is_no_difference_to_a_file_without_it() -> None:
    """The role restarted containerd once after each opening and closing."""
    text = 'version = 2\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "a:1"\n'
    closed = edit(edit(text, Listener(Address("127.0.0.1", 8888))), None)
    assert closed != text
    assert is_equal(closed, text) and is_equal(text, closed)
    assert not is_equal(closed.replace("a:1", "a:2"), text)
    assert not is_equal(closed.replace('tcp_address = ""', 'tcp_address = "127.0.0.1:1"'), text)
