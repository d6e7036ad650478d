"""What the controller reads over the network itself: a server leads elsewhere, sends too much, or never ends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.transfer import download

from tests.unit.transfer.file_servers import serve_both


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """http and https."""
    with serve_both(tmp_path, monkeypatch) as addresses:
        yield addresses


def test_a_redirect_is_followed_but_never_to_a_weaker_scheme(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, tls = servers
    assert download.read(f"{tls}/sums") == b"sum"
    assert download.read(f"{tls}/to//sums") == b"sum", "on the same server"
    assert download.read(f"{plain}/to/{tls}/sums") == b"sum", "to a stronger one"
    for ask in (download.read, lambda address: download.save(address, tmp_path / "file", 5)):
        with pytest.raises(OSError, match=r"redirected from https to http://localhost:\d+/sums; that is not followed"):
            ask(f"{tls}/to/{plain}/sums")
        with pytest.raises(OSError, match="redirected from http to file:///etc/passwd; that is not followed"):
            ask(f"{plain}/to/file:///etc/passwd")
    with pytest.raises(OSError, match=r"http://\*\*\*@other/\?sig=\*\*\*; that is not followed"):
        download.read(f"{tls}/to/http://ann:s3cret@other/?sig=s3cret")


def test_a_circle_ends(servers: tuple[str, str]) -> None:
    plain, _tls = servers
    with pytest.raises(OSError, match="more than 5 redirects"):
        download.read(f"{plain}/to/" + "/to/" * 8 + "/sums")


def test_what_is_too_large_is_not_read(servers: tuple[str, str], tmp_path: Path) -> None:
    plain, _tls = servers
    with pytest.raises(OSError, match="it has 10000000000 bytes, and at most 4194304 are read"):
        download.read(f"{plain}/announced")
    with pytest.raises(OSError, match="it has more than the 2000000 bytes that are read"):
        download.save(f"{plain}/endless", tmp_path / "file", 5, 2_000_000)
    assert (tmp_path / "file").stat().st_size <= 2_000_000


def test_a_trickle_ends_with_the_time(servers: tuple[str, str]) -> None:
    plain, _tls = servers
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no end after 0\.3 s"):
        download.read(f"{plain}/trickle", timeout_s=0.3)
    assert time.monotonic() - began < 3
