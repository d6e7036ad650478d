"""An address is shown without its secrets, whatever its form."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.address import mask, mask_in

SECRET = "hunter2-and-more"


@pytest.mark.parametrize(
    ("address", "as_shown"),
    [
        ("https://dl.k8s.io/v1.36.2/bin/windows/amd64/kubelet.exe", None),
        ("http://proxy.example:3128", None),
        ("http://[fd00::1]:3128/", None),
        ("file:///C:/programs/kubelet.exe", None),
        (r"C:\programs\kubelet.exe", None),
        ("https://goproxy.example/k8s.io/api/@v/v0.36.2.zip", None),
        ("", None),
        (f"http://ann:{SECRET}@proxy:3128", "http://***@proxy:3128"),
        (f"http://{SECRET}@proxy:3128/", "http://***@proxy:3128/"),
        (f"ann:{SECRET}@proxy:3128", "***@proxy:3128"),
        (f"//ann:{SECRET}@proxy", "//***@proxy"),
        (f"socks5h://ann:{SECRET}@proxy", "socks5h://***@proxy"),
        (f"http://ann:a@b{SECRET}@proxy:1", "http://***@proxy:1"),
        (f"http://ann:a/{SECRET}@proxy:1", "http://***@proxy:1"),
        (f"http://ann:a?{SECRET}@proxy:1", "http://***@proxy:1"),
        (f"http://ann:a#{SECRET}@proxy:1", "http://***@proxy:1"),
        (f"http://ann:{SECRET}", "http://ann:***"),
        (f"ann:{SECRET}", "ann:***"),
        (f"http://ann:{SECRET}@", "http://***@"),
        (f"https://b.example/x.exe?sv=2020&sig={SECRET}&se=1", "https://b.example/x.exe?sv=***&sig=***&se=***"),
        (f"https://b.example/x.exe?X-Amz-Signature={SECRET}", "https://b.example/x.exe?X-Amz-Signature=***"),
        (f"https://b.example/x.exe?{SECRET}", "https://b.example/x.exe?***"),
        (f"https://b.example/x.exe?token={SECRET}@x", "https://b.example/x.exe?token=***"),
        (f"https://b.example/x.exe;token={SECRET}/y", "https://b.example/x.exe;***/y"),
        (f"https://b.example/x.exe#access_token={SECRET}", "https://b.example/x.exe#***"),
    ],
)
def test_an_address_is_shown_without_its_secrets(address: str, as_shown: str | None) -> None:
    assert mask(address) == (address if as_shown is None else as_shown)
    assert mask(mask(address)) == mask(address)


@pytest.mark.parametrize(
    ("text", "address", "as_shown"),
    [
        (f"nonnumeric port: '{SECRET}@host'", f"http://ann:{SECRET}@host/x", "nonnumeric port: '***@host'"),
        (f"no answer of https://h/x?sig={SECRET}.", "", "no answer of https://h/x?sig=***."),
        (f"HTTPS_PROXY=http://ann:{SECRET}@h:1, NO_PROXY=x", "", "HTTPS_PROXY=http://***@h:1, NO_PROXY=x"),
        (f"the user ann:{SECRET} was refused", f"http://ann:{SECRET}@h", "the user *** was refused"),
        ("password p%40ss12 or p@ss12", "http://ann:p%40ss12@h", "password *** or ***"),
        ("Connection refused", "http://h/x", "Connection refused"),
        ("plain", None, "plain"),
    ],
)
def test_an_error_says_nothing_secret_of_an_address(text: str, address: str | None, as_shown: str) -> None:
    assert mask_in(text, address) == as_shown
