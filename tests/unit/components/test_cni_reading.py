"""CNI configurations as the runtime accepts and reads them, and changes that keep the rest of the text."""

from __future__ import annotations

import copy
import json
from random import Random
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.conf import (
    ConfError,
    choose_file,
    decode,
    load,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.json_edit import edit
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.judge import judge
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.mend import mend
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.policy_forms import NoFormError, convert
from ansible_collections.winkube.node.plugins.plugin_utils.components.cni.rules import Subject

CONF = '{"name": "cbr0", "cniVersion": "1.0.0", "type": "win-bridge", "apiVersion": 2}'


@pytest.mark.parametrize(
    ("names", "file"),
    [
        (["cni.conf", "10-flannel.conf"], "10-flannel.conf"),
        (["azure.conflist", "0-containerd-nat.json", "readme.txt"], "0-containerd-nat.json"),
        (["cni.conf", "Z.conf", "a.conf.bak"], "Z.conf"),
        (["CNI.CONF", "b.conflist"], "b.conflist"),
        (["notes"], ""),
    ],
)
def test_containerd_takes_the_first_by_bytes_and_minds_the_case_of_endings(names: list[str], file: str) -> None:
    assert choose_file(names) == file


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\xef\xbb\xbf" + CONF.encode(), "byte order mark"),
        (CONF.encode("utf-16"), "UTF-16"),
        (CONF.encode("utf-16-le"), "UTF-16"),
    ],
)
def test_what_go_refuses_is_said_and_is_not_no_file(content: bytes, why: str) -> None:
    with pytest.raises(ConfError, match=why):
        decode(content)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.conf", '{"name": "x", "plugins": [{"type": "nat"}]}', ""),
        ("a.conflist", CONF, "stands for a list"),
        ("a.conflist", '{"name": "x", "plugins": []}', "empty"),
        ("a.conf", '{"name": "x"}', "no 'type'"),
        ("a.conf", '{\u00a0"name": "x", "type": "nat"}', "U\\+00A0"),
    ],
)
def test_files_as_containerd_loads_them(name: str, text: str, why: str) -> None:
    if not why:
        return
    with pytest.raises(ConfError, match=why):
        load(name, text)


def rules(text: str, subject: Subject = Subject("cni.conf")) -> list[str]:  # noqa: B008 (frozen)
    return [each.id for each in judge(text, subject)]


def test_the_plugins_of_microsoft_take_no_0_1_0_and_no_0_3_1() -> None:
    """Without cniVersion the version is 0.1.0: win-bridge takes it, sdnbridge does not."""
    assert "cni.version" not in rules('{"name": "cbr0", "type": "win-bridge", "apiVersion": 2}')
    assert "cni.version" in rules('{"name": "cbr0", "type": "sdnbridge"}')
    assert "cni.version" in rules('{"cniVersion": "0.3.1", "name": "cbr0", "type": "sdnbridge"}')
    assert "cni.version" not in rules('{"cniVersion": "0.4.0", "name": "cbr0", "type": "sdnbridge"}')


def test_mending_changes_only_what_it_must() -> None:
    """Tabs, line ends, order and everything else stay; before, the whole file was written again."""
    text = (
        '{\r\n\t"cniVersion": "1.0.0",\r\n\t"name":   "cbr0",\r\n\t"type": "win-bridge",\r\n\t"apiVersion": 2,\r\n'
        '\t"policies": [\r\n\t\t{"Name": "EndpointPolicy",  "Value": {"Type": "ACL", "Action": "Block", '
        '"Direction": "Out", "RemotePort": 80}}\r\n\t]\r\n}\r\n'
    )
    mended = mend(text, Subject("cni.conf"))
    before, after = text.split("\r\n"), mended.split("\r\n")
    assert [number for number, (one, other) in enumerate(zip(before, after, strict=True)) if one != other] == [6]
    value = json.loads(mended)["policies"][0]["Value"]
    assert value == {"Type": "ACL", "Settings": {"Action": "Block", "Direction": "Out", "RemotePorts": "80"}}


def test_blanks_of_web_pages_are_mended_outside_of_texts_alone() -> None:
    text = '{\u00a0"name": "c\u00a0r0", "cniVersion": "1.0.0", "type": "win-bridge", "apiVersion": 2}'
    assert mend(text, Subject("cni.conf")) == text.replace('{\u00a0"', '{ "')


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            {"Type": "OutBoundNAT", "ExceptionList": ["10.0.0.0/8"], "VIP": "1.2.3.4"},
            {"Type": "OutBoundNAT", "Settings": {"Exceptions": ["10.0.0.0/8"], "VirtualIP": "1.2.3.4"}},
        ),
        (
            {"Type": "ROUTE", "DestinationPrefix": "10.0.0.0/8", "NeedEncap": True},
            {"Type": "SDNRoute", "Settings": {"DestinationPrefix": "10.0.0.0/8", "NeedEncap": True}},
        ),
        ({"Type": "PA", "PA": "1.2.3.4"}, {"Type": "ProviderAddress", "Settings": {"ProviderAddress": "1.2.3.4"}}),
        (
            {"Type": "NAT", "Protocol": "TCP", "InternalPort": 80, "ExternalPort": 8080},
            {"Type": "PortMapping", "Settings": {"Protocol": 6, "InternalPort": 80, "ExternalPort": 8080}},
        ),
        (
            {"Type": "QOS", "MaximumOutgoingBandwidthInBytes": 1000},
            {"Type": "QOS", "Settings": {"MaximumOutgoingBandwidthInBytes": 1000}},
        ),
        (
            {"Type": "PROXY", "IP": "1.2.3.4", "Port": "80", "ExceptionList": ["a"], "OutboundNat": True},
            {"Type": "L4Proxy", "Settings": {"IP": "1.2.3.4", "Port": "80", "Exceptions": ["a"], "OutboundNAT": True}},
        ),
        ({"Type": "L2Driver"}, {"Type": "L2Driver"}),
    ],
)
def test_a_policy_of_the_old_form_becomes_one_of_the_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert convert(old) == new


@pytest.mark.parametrize(
    "old",
    [
        {"Type": "ACL", "Action": "Block", "ServiceName": "dns"},
        {"Type": "NAT", "Protocol": "TCP", "ExternalPortReserved": True},
        {"Type": "VLAN", "VLAN": 7},
    ],
)
def test_a_policy_of_which_something_would_be_lost_is_refused(old: dict[str, Any]) -> None:
    with pytest.raises(NoFormError):
        convert(old)


def _any(random: Random, depth: int = 0) -> Any:
    kind = random.randrange(6 if depth < 4 else 4)
    if kind == 4:
        return {random.choice("abcdef"): _any(random, depth + 1) for _ in range(random.randrange(4))}
    if kind == 5:
        return [_any(random, depth + 1) for _ in range(random.randrange(4))]
    return [1, "x", True, None][kind]


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_an_edited_text_says_what_it_should_whatever_it_was(indent: int | str | None) -> None:
    random = Random(7)
    for _number in range(1500):
        before = _any(random)
        after = copy.deepcopy(before) if random.random() < 0.5 else _any(random)
        if isinstance(after, dict) and after:
            after[random.choice(list(after))] = _any(random, 2)
        assert json.loads(edit(json.dumps(before, indent=indent), after)) == after
