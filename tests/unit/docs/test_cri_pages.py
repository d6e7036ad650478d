"""What the pages about CRI have to say."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"


def page(name: str) -> str:
    return " ".join((DOCS / name).read_text(encoding="utf-8").split())


@pytest.mark.row("CT-10")
def test_why_tcp_and_that_it_is_for_debugging() -> None:
    text = page("cri-over-tcp.md")
    assert "`grpcurl` and most other gRPC clients cannot open a named pipe of Windows" in text
    assert "gRPC over named pipes is not supported there" in text
    assert "**a way to look for a fault, not a way to run a node**" in text


@pytest.mark.row("CT-26")
def test_what_is_below_containerd() -> None:
    text = page("cpu-stats.md")
    assert "Below containerd, HCS takes the place of runc" in text
    assert "`containerd-shim-runhcs-v1.exe`" in text and "`vmcompute`" in text
    assert "job objects are its cgroups, object namespaces its namespaces" in text


@pytest.mark.row("SE-15")
def test_the_end_of_an_open_port_is_told() -> None:
    text = page("cri-over-tcp.md")
    assert "**Without `expires_after` nothing closes the port by itself.**" in text
    assert "**A file that somebody else has changed since is left alone**" in text
    assert "who reaches the port without a certificate can start a container" in text
