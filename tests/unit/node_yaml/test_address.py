"""Host and port in one text."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml.schema import Address, parse_address

from .samples import edited, effective, said, the


@pytest.mark.row("NY-05")
@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("192.168.122.220:22", "192.168.122.220", 22),
        ("192.168.122.220", "192.168.122.220", None),
        ("[::1]:22", "::1", 22),
        ("[2001:db8::7]", "2001:db8::7", None),
        ("[fe80::1%eth0]:2222", "fe80::1%eth0", 2222),
        ("win1.example.com:65535", "win1.example.com", 65535),
        ("WIN-1:1", "WIN-1", 1),
    ],
)
def test_host_and_port_are_taken_apart(text: str, host: str, port: int | None) -> None:
    assert parse_address(text) == Address(host, port)


@pytest.mark.row("NY-05")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("10.0.0.5:0", "in which the port 0 is not between 1 and 65535"),
        ("10.0.0.5:65536", "in which the port 65536 is not between 1 and 65535"),
        ("10.0.0.5:ssh", "in which the port 'ssh' is not a number"),
        ("10.0.0.5:", "in which the port '' is not a number"),
        ("10.0.0.5:-1", "in which the port '-1' is not a number"),
        ("10.0.0.256", "in which '10.0.0.256' is not an IPv4 address"),
        ("10.0.0:22", "in which '10.0.0' is not an IPv4 address"),
        ("::1", "which could be an IPv6 address with or without a port"),
        ("2001:db8::1:22", "which could be an IPv6 address with or without a port"),
        ("[::1", "which is not an IPv6 address in brackets"),
        ("[::1]22", "which is not an IPv6 address in brackets"),
        ("[10.0.0.5]:22", "in which '10.0.0.5' is not an IPv6 address"),
        ("win1/x", "in which 'win1/x' is not a host name"),
        (":22", "in which '' is not a host name"),
    ],
)
def test_what_is_no_address_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_address(text)
    assert str(caught.value).startswith(reason)


@pytest.mark.row("NY-05")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ssh://10.0.0.5", "which is a URL"),
        ("ann@10.0.0.5", "which holds a user; write it as username"),
        ("win 1", "which holds a blank"),
    ],
)
def test_what_more_than_an_address_is_has_its_own_reason(text: str, reason: str) -> None:
    line = the(edited(("192.168.122.220:22", text)))
    assert f"found '{text}' for spec.credentials.hostname, {reason}" in line


@pytest.mark.row("NY-05")
def test_the_sentence_names_the_place_and_the_value() -> None:
    assert said(edited(("192.168.122.220:22", "192.168.122.220:70000"))) == [
        "node.yml:8:15: found '192.168.122.220:70000' for spec.credentials.hostname, in which the port 70000 is not"
        " between 1 and 65535; wanted a name or an address with an optional port, such as 192.168.122.220:22 or"
        " '[::1]:22'."
    ]


@pytest.mark.row("NY-05")
@pytest.mark.parametrize(("text", "host", "port"), [("'[::1]:2222'", "::1", 2222), ("10.0.0.5", "10.0.0.5", 22)])
def test_the_parts_become_variables_and_the_port_is_22_by_default(text: str, host: str, port: int) -> None:
    variables = effective(edited(("192.168.122.220:22", text)))
    assert variables["ansible_host"] == host
    assert variables["ansible_port"] == port
