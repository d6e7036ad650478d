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
    assert "**Use it to find a fault, not to run a node**" in text


@pytest.mark.row("CT-26")
def test_what_is_below_containerd() -> None:
    text = page("cpu-stats.md")
    assert "Below containerd, HCS takes the place of runc" in text
    assert "`containerd-shim-runhcs-v1.exe`" in text and "`vmcompute`" in text
    assert "job objects are its cgroups, object namespaces its namespaces" in text


@pytest.mark.row("SE-15")
def test_the_end_of_an_open_port_is_told() -> None:
    text = page("cri-over-tcp.md")
    assert "**With `expires_after: never` nothing closes the port by itself**" in text
    assert "**A file that somebody else has changed since is left alone**" in text
    assert "anyone who reaches the port without a certificate can become SYSTEM" in text


@pytest.mark.row("CT-13")
def test_the_calls_by_grpcurl_are_whole() -> None:
    """The document has lost address and method in one of its versions."""
    where, schema = "-import-path plugins/plugin_utils/cri -proto api.proto", "plugins/plugin_utils/cri/api.proto"
    assert f"$ grpcurl {where} -plaintext 127.0.0.1:8888 runtime.v1.RuntimeService/ListContainerStats" in page(
        "cpu-stats.md"
    )
    assert f"grpcurl -plaintext {where} 127.0.0.1:8888 runtime.v1.RuntimeService/Version" in page("cri-over-tcp.md")
    assert "rpc ListContainerStats(" in (DOCS.parent / schema).read_text(encoding="utf-8")


@pytest.mark.row("CT-30")
def test_the_summary_by_kubectl_has_straight_quotes() -> None:
    assert '$ kubectl get --raw "/api/v1/nodes/win1/proxy/stats/summary"' in page("cpu-stats.md")


@pytest.mark.row("CT-22")
def test_what_crictl_prints_is_told() -> None:
    text = page("cpu-stats.md")
    assert "INODES is always 0 on Windows, which is not a fault" in text
    assert '`crictl` prints `null` for a missing value and `{"value": "0"}` for a zero' in text


@pytest.mark.row("CT-32", "CT-33")
def test_what_the_feature_gate_does_and_that_it_is_off() -> None:
    text = page("cpu-stats.md")
    assert "The gate is alpha from Kubernetes 1.23, beta from 1.37, and off in all of them." in text
    assert (
        "With the gate off the kubelet merges containerd's numbers with its own (`listPodStatsPartiallyFromCRI`)"
        in text
    )
    assert "with it on it takes containerd's alone (`listPodStatsStrictlyFromCRI`)" in text


@pytest.mark.row("CT-38", "CT-40", "CT-43")
def test_which_containerd_says_what() -> None:
    text = page("cpu-stats.md")
    assert (
        "| up to 1.6 | no `usageNanoCores`, only the counter | the kubelet computes it itself: steady values |" in text
    )
    assert "| 1.7.0 to 2.2 | **0** on the first call" in text
    assert "([containerd#9531](https://github.com/containerd/containerd/issues/9531))" in text
