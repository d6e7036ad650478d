"""A kube-proxy's arguments and environment from its settings; settings with which it would not start are refused."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy_args
from ansible_collections.winkube.node.plugins.plugin_utils.engine import command_line
from ansible_collections.winkube.node.plugins.plugin_utils.engine.environment import Entry
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from .nodes import wanted_kube_proxy

L2BRIDGE = (
    r"--v=4 --proxy-mode=kernelspace --hostname-override=<hostname>--kubeconfig=c:\k\config --enable-dsr=false "
    r"--log-dir=<log directory> --logtostderr=false"
)
OVERLAY = (
    r'--v=4 --proxy-mode=kernelspace --feature-gates="WinOverlay=true" --hostname-override=<hostname> '
    r"--kubeconfig=c:\k\config --network-name=vxlan0 --source-vip=<source-vip> --enable-dsr=false "
    r"--log-dir=<log directory> --logtostderr=false"
)
"""kubernetes.io, Windows containers in Kubernetes, v1.22, as printed: a blank is missing in the first."""


DOCUMENTS: dict[str, Any] = {"verbosity": 4, "kube_proxy_kubeconfig": r"c:\k\config"}


def settings(version: str, **changes: Any) -> kube_proxy_args.KubeProxy:
    return wanted_kube_proxy(version, **changes)


def overlay(version: str, **changes: Any) -> kube_proxy_args.KubeProxy:
    return settings(version, **{"mode": "overlay", "source_vip": "10.244.2.3", **changes})


def value(wanted: kube_proxy_args.KubeProxy, flag: str) -> str | None:
    values = [
        argument.partition("=")[2]
        for argument in kube_proxy_args.arguments(wanted)
        if argument.partition("=")[0] == f"--{flag}"
    ]
    assert len(values) < 2, f"--{flag} stands twice"
    return values[0] if values else None


def documents(line: str) -> list[str]:
    filled = (
        line.replace("<hostname>", "win1").replace("<log directory>", r"C:\k").replace("<source-vip>", "10.244.2.3")
    )
    return command_line.split(f"kube-proxy.exe {filled}")[1:]


@pytest.mark.row("KP-02", "KP-06", "KP-07", "KP-08", "KP-09", "KP-10", "KP-14")
def test_the_documents_l2bridge_line_with_the_blank_they_forgot() -> None:
    wanted = documents(L2BRIDGE.replace("<hostname>--", "<hostname> --"))
    assert list(kube_proxy_args.arguments(settings("1.22.17", **DOCUMENTS))) == [
        *wanted,
        "--cluster-cidr=10.244.0.0/16",
    ]


@pytest.mark.row("KP-02")
def test_the_documents_l2bridge_line_as_printed_is_refused() -> None:
    found = kube_proxy_args.check_command_line(documents(L2BRIDGE), Version.parse("1.22.17"), ("KUBE_NETWORK=cbr0",))
    assert len(found) == 1
    assert r"write --hostname-override=win1 --kubeconfig=c:\k\config" in found[0]


@pytest.mark.row("KP-11", "KP-12", "KP-13", "KP-14")
def test_the_documents_overlay_line() -> None:
    found = kube_proxy_args.arguments(overlay("1.22.17", **DOCUMENTS))
    assert list(found) == [*documents(OVERLAY), "--cluster-cidr=10.244.0.0/16"]


@pytest.mark.row("KP-03")
def test_kube_network_is_for_l2bridge_only() -> None:
    assert kube_proxy_args.environment(settings("1.37.1")) == (Entry.plain("KUBE_NETWORK", "cbr0"),)
    assert kube_proxy_args.environment(settings("1.37.1", network_name="flannel.4096")) == (
        Entry.plain("KUBE_NETWORK", "flannel.4096"),
    )
    assert kube_proxy_args.environment(overlay("1.37.1")) == ()
    assert value(settings("1.37.1"), "network-name") is None


@pytest.mark.row("KP-10")
@pytest.mark.parametrize(("version", "expected"), [("1.25.16", (r"C:\k", "false")), ("1.26.15", (None, None))])
def test_klogs_flags_end_with_1_25(version: str, expected: tuple[str | None, str | None]) -> None:
    assert (value(settings(version), "log-dir"), value(settings(version), "logtostderr")) == expected


@pytest.mark.row("KP-11", "KP-15", "NW-20")
@pytest.mark.parametrize(
    ("version", "dsr", "l2bridge", "vxlan"),
    [
        ("1.22.17", False, None, "WinOverlay=true"),
        ("1.33.13", False, None, "WinOverlay=true"),
        ("1.33.13", True, "WinDSR=true", "WinDSR=true,WinOverlay=true"),
        ("1.34.4", False, None, None),
        ("1.34.4", True, None, None),
        ("1.37.1", True, None, None),
        ("1.38.0", True, None, None),
    ],
)
def test_gates_end_where_they_are_locked(version: str, dsr: bool, l2bridge: str | None, vxlan: str | None) -> None:
    assert value(settings(version, dsr=dsr), "feature-gates") == l2bridge
    assert value(overlay(version, dsr=dsr), "feature-gates") == vxlan
    assert value(overlay(version, dsr=dsr), "enable-dsr") == str(dsr).lower()
    assert kube_proxy_args.problems(overlay(version, dsr=dsr)) == []


@pytest.mark.row("KP-07")
def test_the_name_is_the_nodes_in_lower_case() -> None:
    assert value(settings("1.37.1", node_name="WIN-7A"), "hostname-override") == "win-7a"


@pytest.mark.row("KP-12")
def test_another_network_is_named() -> None:
    assert value(overlay("1.37.1", network_name="flannel.4096"), "network-name") == "flannel.4096"
    assert value(overlay("1.37.1"), "network-name") == "vxlan0"


@pytest.mark.row("KP-14")
def test_the_pods_range_is_passed_on() -> None:
    assert value(settings("1.37.1", cluster_cidr="10.42.0.0/16"), "cluster-cidr") == "10.42.0.0/16"
    assert value(settings("1.37.1", cluster_cidr=""), "cluster-cidr") is None


@pytest.mark.row("KP-13")
def test_overlay_without_a_source_vip_is_refused() -> None:
    (sentence,) = kube_proxy_args.problems(overlay("1.37.1", source_vip=""))
    assert "reserve one with host-local" in sentence


@pytest.mark.row("KP-13", "JR-05")
def test_a_source_vip_of_an_earlier_range_is_refused() -> None:
    assert kube_proxy_args.problems(overlay("1.37.1", pod_cidr="10.244.2.0/24")) == []
    (sentence,) = kube_proxy_args.problems(overlay("1.37.1", pod_cidr="10.244.7.0/24"))
    assert "10.244.2.3 is not in the node's range 10.244.7.0/24" in sentence


@pytest.mark.row("KP-13")
@pytest.mark.parametrize(
    "text",
    [
        '{"cniVersion": "0.2.0", "ip4": {"ip": "10.244.2.3/24"}, "dns": {}}',
        '{"cniVersion": "1.0.0", "ips": [{"address": "10.244.2.3/24"}]}',
    ],
)
def test_the_source_vip_is_read_from_host_locals_answer(text: str) -> None:
    assert kube_proxy_args.source_vip(text) == "10.244.2.3"


@pytest.mark.row("KP-13")
@pytest.mark.parametrize("text", ["", "{}", '{"ip4": {"ip": ""}}', '{"ips": []}', "[]"])
def test_a_file_without_a_source_vip_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"holds no source VIP .* Remove the file"):
        kube_proxy_args.source_vip(text)


BASE = "--hostname-override=win1 --network-name=vxlan0 "
REFUSED = [
    pytest.param(
        "--proxy-mode=userspace", "1.22.17", "--proxy-mode=kernelspace", marks=pytest.mark.row("KP-02", "KP-06")
    ),
    pytest.param("--proxy-mode=iptables", "1.37.1", "--proxy-mode=kernelspace", marks=pytest.mark.row("KP-06")),
    pytest.param(r"--log-dir=C:\k", "1.26.15", "removed in Kubernetes 1.26", marks=pytest.mark.row("KP-10")),
    pytest.param("--service", "1.37.1", "write --windows-service", marks=pytest.mark.row("SV-03")),
    pytest.param("--enable-dsr=true", "1.32.13", "add WinDSR=true", marks=pytest.mark.row("KP-09", "KP-15", "NW-20")),
    pytest.param("--enable-dsr=T", "1.32.13", "add WinDSR=true", marks=pytest.mark.row("KP-09", "KP-15", "NW-20")),
    pytest.param("--enable-dsr=1", "1.32.13", "add WinDSR=true", marks=pytest.mark.row("KP-09", "KP-15", "NW-20")),
    pytest.param(
        "--enable-dsr=true --feature-gates=WinDSR=false",
        "1.33.13",
        "add WinDSR=true",
        marks=pytest.mark.row("KP-15", "NW-20"),
    ),
    pytest.param("--feature-gates=WinOverlay=false", "1.34.4", "locked to true", marks=pytest.mark.row("KP-11")),
    pytest.param("--feature-gates=ContextualLogging=true", "1.25.16", "it came with Kubernetes 1.27"),
    pytest.param("--root-hnsendpoint-name=x", "1.23.17", "came with Kubernetes 1.24"),
    pytest.param("--udp-timeout=1s", "1.26.15", "removed in Kubernetes 1.26"),
    pytest.param("--source-vip=", "1.37.1", "--source-vip is empty", marks=pytest.mark.row("KP-13")),
]


@pytest.mark.parametrize(("line", "version", "sentence"), REFUSED)
def test_refused_with_the_remedy(line: str, version: str, sentence: str) -> None:
    found = kube_proxy_args.check_command_line((BASE + line).split(), Version.parse(version))
    assert len(found) == 1, found
    assert sentence in found[0]
    assert found[0].endswith(".")


@pytest.mark.row("KP-07")
def test_a_line_without_the_nodes_name_is_refused() -> None:
    (sentence,) = kube_proxy_args.check_command_line(["--network-name=vxlan0"], Version.parse("1.37.1"))
    assert "it deletes the endpoints" in sentence


@pytest.mark.row("KP-03")
def test_a_line_that_names_no_network_is_refused_and_the_environment_may_name_it() -> None:
    line, version = ["--hostname-override=win1"], Version.parse("1.37.1")
    (sentence,) = kube_proxy_args.check_command_line(line, version)
    assert "KUBE_NETWORK=cbr0 (l2bridge)" in sentence
    assert kube_proxy_args.check_command_line(line, version, ("KUBE_NETWORK=cbr0",)) == []
    (left_over,) = kube_proxy_args.check_command_line(BASE.split(), version, ("KUBE_NETWORK=cbr0",))
    assert "Remove KUBE_NETWORK" in left_over
    # A reading has only the variable's name: it names a network, but which one is unknown.
    assert kube_proxy_args.check_command_line(line, version, ("Kube_Network",)) == []
    assert kube_proxy_args.check_command_line(BASE.split(), version, ("KUBE_NETWORK",)) == []


@pytest.mark.row("KP-10", "KP-12", "KP-13")
def test_the_documents_overlay_line_with_an_empty_address_is_refused_flag_by_flag_in_1_26() -> None:
    line = [word for word in documents(OVERLAY) if not word.startswith("--source-vip")]
    found = kube_proxy_args.check_command_line([*line, "--source-vip="], Version.parse("1.26.15"))
    assert [sentence.split(": ")[1] for sentence in found] == [
        "--log-dir",
        "--logtostderr",
        "--source-vip is empty, overlay exits without; reserve an address with host-local.",
    ]


def test_arguments_beside_a_configuration_file_would_be_ignored() -> None:
    line = [r"--config=C:\k\kube-proxy.yaml", "--hostname-override=win1", "--v=4", "--enable-dsr=false"]
    (sentence,) = kube_proxy_args.check_command_line(line, Version.parse("1.37.1"))
    assert "so --enable-dsr would be ignored" in sentence
