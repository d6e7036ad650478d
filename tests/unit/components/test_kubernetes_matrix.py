"""Every release line that the tables know: what we would start is accepted by its own flags, in every mode."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args, kubelet_check
from ansible_collections.winkube.node.plugins.plugin_utils.facts import kubelet_config
from ansible_collections.winkube.node.plugins.plugin_utils.facts.flags import KUBE_PROXY, KUBELET, NEWEST, OLDEST
from ansible_collections.winkube.node.plugins.plugin_utils.facts.kubernetes import SUPPORTED, pause_image
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

from .nodes import wanted_kube_proxy, wanted_kubelet

LINES = [Line(1, minor) for minor in range(OLDEST.minor, NEWEST.minor + 1)]
ACCESS = {
    *("anonymous-auth", "authentication-token-webhook", "authorization-mode", "read-only-port"),
    "rotate-certificates",
}
"""What kubeadm's KubeletConfiguration says instead."""
FULL: dict[str, Any] = {
    "join": "bootstrap_kubeconfig",
    "kube_reserved": {"cpu": "200m"},
    "eviction_hard": {"memory.available": "500Mi"},
    "eviction_soft": {"memory.available": "1Gi"},
    "eviction_soft_grace_period": {"memory.available": "90s"},
    "labels": {"tier": "web"},
    "node_ip": "10.0.0.5",
}


def test_the_matrix_reaches_from_the_documents_to_the_newest_supported_line() -> None:
    assert LINES[0] == Line(1, 22)
    assert LINES[-1] == SUPPORTED[-1]
    assert len(LINES) == 16


def kubelet(line: Line, **more: Any) -> kubelet_args.Kubelet:
    return wanted_kubelet(f"{line}.1", **{"pause_image": pause_image(line), **FULL, **more})


def names(arguments: tuple[str, ...]) -> set[str]:
    return {argument.removeprefix("--").partition("=")[0] for argument in arguments}


@pytest.mark.row("KU-04", "KU-12", "KU-13", "KU-16", "KU-17", "KU-22", "KU-23", "KU-24")
@pytest.mark.parametrize("line", LINES, ids=str)
def test_a_kubelet_of_every_line_would_start(line: Line) -> None:
    wanted = kubelet(line)
    by_nssm = kubelet_args.arguments(wanted)
    for found in (by_nssm, ("--windows-service", *by_nssm)):
        assert names(found) <= KUBELET.list_known(line)
        assert kubelet_check.check_command_line(found, wanted.version) == []
    assert kubelet_check.problems(wanted) == []


@pytest.mark.parametrize("line", LINES, ids=str)
def test_only_what_upstream_kept_without_another_place_is_deprecated(line: Line) -> None:
    """The seven lines with remains of dockershim use them; no later line writes a deprecated flag."""
    leftovers = {"pod-infra-container-image", "log-dir", "logtostderr"} if line < Line(1, 27) else set()
    assert names(kubelet_args.arguments(kubelet(line))) & KUBELET.list_deprecated(line) <= leftovers


@pytest.mark.row("VC-10")
@pytest.mark.parametrize("line", LINES, ids=str)
def test_docker_is_planned_exactly_where_dockershim_is(line: Line) -> None:
    wanted = kubelet(line, container_runtime="dockershim")
    assert (kubelet_check.problems(wanted) == []) is ("network-plugin" in KUBELET.list_known(line))


@pytest.mark.row("KU-32")
@pytest.mark.parametrize("line", LINES, ids=str)
def test_every_setting_is_in_the_arguments_or_in_the_drop_in_and_never_in_both(line: Line) -> None:
    plain = kubelet(line)
    kubeadm = kubelet(line, join="kubeadm")
    assert kubelet_check.problems(kubeadm) == []
    moved = names(kubelet_args.arguments(plain)) - names(kubelet_args.arguments(kubeadm)) - ACCESS
    fields = {
        name for flag, name in kubelet_config.flags(line).items() if flag in names(kubelet_args.arguments(plain))
    } & set(kubelet_args.configuration(plain))
    assert len(moved) == (len(fields) if line >= kubelet_args.DROP_INS else 0)


@pytest.mark.row("KP-06", "KP-10", "KP-11", "KP-15", "KP-16")
@pytest.mark.parametrize("dsr", [False, True], ids=["plain", "dsr"])
@pytest.mark.parametrize("line", LINES, ids=str)
def test_a_kube_proxy_of_every_line_would_start_in_both_modes(line: Line, dsr: bool) -> None:
    l2bridge = wanted_kube_proxy(f"{line}.1", dsr=dsr)
    overlay = wanted_kube_proxy(f"{line}.1", "overlay", dsr=dsr, source_vip="10.244.2.3", pod_cidr="10.244.2.0/24")
    for wanted in (l2bridge, overlay):
        assert kube_proxy_args.problems(wanted) == []
        assert names(kube_proxy_args.arguments(wanted)) | {"windows-service"} <= KUBE_PROXY.list_known(line)
    only = names(kube_proxy_args.arguments(overlay)) - names(kube_proxy_args.arguments(l2bridge))
    gate = {"feature-gates"} if line < Line(1, 34) and not dsr else set()
    assert only == {"network-name", "source-vip"} | gate


@pytest.mark.parametrize(("line", "program"), [(line, table) for line in LINES for table in (KUBELET, KUBE_PROXY)])
def test_each_flag_that_a_line_lost_is_refused_in_it_with_what_to_do(line: Line, program: object) -> None:
    table = KUBELET if program is KUBELET else KUBE_PROXY
    for flag in table.flags.values():
        if flag.removed == line and flag.system != "linux":
            assert flag.name not in table.list_known(line)
            assert f"removed in Kubernetes {line}" in table.why_unknown(flag.name, line)
