"""Graceful node shutdown: the service manager that it needs, its periods, and where they have no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.duration import duration
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.kubelet_args import configuration
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_arguments import service_manager
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, service_key

from .nodes import LAYOUT, bare, given
from .test_given_options import options
from .test_kubelet import arguments, refusal, settings

NSSM = {"name": "kubelet", "image_path": r"C:\k\nssm.exe", "nssm": {"Application": r"C:\k\kubelet.exe"}}
SC = {"name": "kubelet", "image_path": r"C:\k\kubelet.exe --windows-service", "nssm": None}


def node(service: dict[str, Any] | None = None) -> Reading:
    found = bare(kubelet.reads(LAYOUT))
    return found.merge({service_key("kubelet"): service}) if service else found


@pytest.mark.row("SV-01", "KU-01")
@pytest.mark.parametrize(
    ("version", "there", "wanted", "manager"),
    [
        ("1.37.1", None, "auto", "sc"),
        ("1.34.0", None, "auto", "sc"),
        ("1.33.13", None, "auto", "nssm"),
        ("1.37.1", NSSM, "auto", "nssm"),
        ("1.29.15", SC, "auto", "sc"),
        ("1.37.1", SC, "nssm", "nssm"),
        ("1.37.1", None, "nssm", "nssm"),
    ],
)
def test_a_new_node_gets_the_manager_that_graceful_shutdown_needs_and_others_keep_theirs(
    version: str, there: dict[str, Any] | None, wanted: str, manager: str
) -> None:
    for name, daemon in (("kubelet", kubelet.DAEMON), ("kube_proxy", kube_proxy.DAEMON)):
        asked = options(f"win_{name}", version=version)
        assert asked["service"]["manager"] == "auto"
        asked["service"] |= {"manager": wanted}
        assert service_manager(given(name, asked, node(there)), daemon) == manager


def test_kube_proxys_own_service_counts_more_than_the_kubelets() -> None:
    asked = options("win_kube_proxy", version="1.37.1")
    proxy = {**SC, "name": "kube-proxy"}
    reading = node(NSSM).merge({service_key("kube-proxy"): proxy})
    assert service_manager(given("kube-proxy", asked, reading), kube_proxy.DAEMON) == "sc"


def periods(total: str, critical: str = "") -> dict[str, str]:
    return {"shutdown_grace_period": total, "shutdown_grace_period_critical_pods": critical}


@pytest.mark.parametrize(
    ("total", "critical", "written"),
    [
        ("", "", None),
        ("60s", "20s", ("60s", "20s")),
        ("1m30s", "", ("1m30s", "0s")),  # otherwise the cluster's own critical period counts, which may be longer
        ("0s", "", ("0s", "0s")),
    ],
)
def test_the_periods_are_in_the_drop_in(total: str, critical: str, written: tuple[str, str] | None) -> None:
    found = configuration(settings(**periods(total, critical)))
    there = (found.get("shutdownGracePeriod"), found.get("shutdownGracePeriodCriticalPods"))
    assert there == (written or (None, None))


@pytest.mark.parametrize(
    ("total", "critical", "sentence"),
    [
        ("10s", "20s", "critical_pods: 20s is more than winkube_kubelet_shutdown_grace_period: 10s"),
        ("", "20s", "critical_pods: 20s is part of winkube_kubelet_shutdown_grace_period, which is empty"),
        ("500ms", "", "shutdown_grace_period: 500ms is shorter than a second"),
        ("60s", "-1s", "critical_pods: -1s is shorter than a second"),
        ("60", "", "shutdown_grace_period: '60' is not a duration such as 60s or 1m30s"),
        ("1 min", "", "shutdown_grace_period: '1 min' is not a duration"),
    ],
)
def test_periods_that_the_kubelet_would_not_start_with(total: str, critical: str, sentence: str) -> None:
    assert sentence in refusal(arguments("sc", wanted=settings(**periods(total, critical))))


@pytest.mark.parametrize("join", ["kubeconfig", "bootstrap_kubeconfig"])
def test_without_a_configuration_file_there_is_no_place_for_them(join: str) -> None:
    said = refusal(arguments("sc", wanted=settings(join=join, **periods("60s"))))
    assert "winkube_kubelet_shutdown_grace_period: only a KubeletConfiguration has it" in said


@pytest.mark.parametrize(
    ("version", "manager", "more", "config", "said"),
    [
        ("1.37.1", "sc", periods("60s"), {}, ""),
        ("1.37.1", "nssm", {}, {}, ""),
        ("1.37.1", "nssm", periods("0s"), {"shutdownGracePeriod": "60s"}, ""),
        ("1.37.1", "nssm", periods("60s"), {}, "runs under nssm"),
        ("1.37.1", "nssm", {}, {"shutdownGracePeriod": "60s"}, "runs under nssm"),
        ("1.33.13", "sc", periods("60s"), {}, "feature gate WindowsGracefulNodeShutdown is off"),
        (
            "1.33.13",
            "sc",
            periods("60s") | {"feature_gates": {"WindowsGracefulNodeShutdown": True}},
            {},
            "",
        ),
        (
            "1.37.1",
            "sc",
            periods("60s") | {"feature_gates": {"WindowsGracefulNodeShutdown": False}},
            {},
            "feature gate WindowsGracefulNodeShutdown is off",
        ),
        ("1.31.14", "sc", periods("60s"), {}, "a kubelet 1.31.14 on Windows has no graceful node shutdown"),
    ],
)
def test_a_period_that_does_nothing_is_warned_of(
    version: str, manager: str, more: dict[str, Any], config: dict[str, Any], said: str
) -> None:
    args = arguments(manager, wanted=settings(version, **more), config=config)
    found = [each for each in kubelet.warnings(args) if "raceful" in each]
    assert len(found) == bool(said)
    assert not said or said in found[0]


def test_a_service_of_another_name_is_not_the_kubelets_own() -> None:
    args = arguments("sc", wanted=settings(**periods("60s")))
    layout = replace(LAYOUT, kubelet_service="k8s-kubelet")
    args = replace(args, wanted=replace(args.wanted, layout=layout))
    (found,) = [each for each in kubelet.warnings(args) if "raceful" in each]
    assert "looks for the service kubelet, and this one is k8s-kubelet" in found


def test_durations_are_read_as_go_reads_them() -> None:
    for text, seconds in (("60s", 60), ("1m30s", 90), ("1.5h", 5400), ("0", 0), ("0s", 0), ("-1s", -1), (".5s", 0.5)):
        assert duration(text) == seconds
    for text in ("", "60", "s", "1 s", "1d", "1s ", "--1s"):
        assert duration(text) is None
