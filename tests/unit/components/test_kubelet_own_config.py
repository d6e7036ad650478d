"""winkube_kubelet_config: which fields are taken, and what is said of the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args, kubelet_check
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.options import KubeletOptions
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.own_config import OWNERS, list_paths
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import list_options
from ansible_collections.winkube.node.plugins.plugin_utils.facts import kubelet_config
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Line

from .nodes import wanted_kubelet


def said(config: Mapping[str, Any], version: str = "1.37.2", join: str = "kubeadm", **more: Any) -> list[str]:
    found = kubelet_check.problems(wanted_kubelet(version, join=join, config=config, **more))
    return [each for each in found if each.startswith("winkube_kubelet_config")]


def test_fields_without_a_flag_go_into_the_drop_in_last() -> None:
    config = {
        "imageMaximumGCAge": "168h",
        "maxParallelImagePulls": 4,
        "serializeImagePulls": False,
        "enableDebuggingHandlers": False,
        "crashLoopBackOff": {"maxContainerRestartPeriod": "60s"},
        "authentication": {"webhook": {"cacheTTL": "1m"}},
    }
    found = kubelet_args.configuration(wanted_kubelet("1.37.2", join="kubeadm", config=config))
    assert {name: found[name] for name in config} == config
    assert found["clusterDomain"] == "cluster.local"
    assert said(config) == []


@pytest.mark.parametrize(
    ("config", "more", "sentence"),
    [
        ({"clusterDNS": ["10.0.0.10"]}, {}, "clusterDNS: winkube_kubelet_cluster_dns sets it; set that."),
        ({"logging": {"verbosity": 4}}, {}, "logging.verbosity: winkube_kubelet_verbosity sets it; set that."),
        ({"logging": None}, {}, "logging: winkube_kubelet_verbosity sets logging.verbosity; set that."),
        ({"featureGates": {"A": True}}, {}, "featureGates: winkube_kubelet_feature_gates sets it; set that."),
        (
            {"imageMaximumGcAge": "1h"},
            {},
            "imageMaximumGcAge: KubeletConfiguration has no such field; is imageMaximumGCAge",
        ),
        ({"crashLoopBackOff": {"max": "1s"}}, {}, "crashLoopBackOff.max: KubeletConfiguration has no such field"),
        ({"defaultPodSysctls": {}}, {"version": "1.34.9"}, "defaultPodSysctls: a kubelet 1.34.9 does not know it."),
        (
            {"maxPods": None},
            {"version": "1.31.14"},
            "maxPods: a kubelet 1.31.14 takes nothing away by a null",
        ),
        ({"kind": "KubeletConfiguration"}, {}, "kind: it stands in the drop-in already."),
        ({"staticPodURLHeader": {"Authorization": ["x"]}}, {}, "staticPodURLHeader: its values are credentials"),
    ],
    ids=lambda each: str(each)[:30],
)
def test_a_field_that_is_not_taken_is_refused_with_its_reason(
    config: dict[str, Any], more: dict[str, Any], sentence: str
) -> None:
    (only,) = said(config, **more)
    assert only.startswith(f"winkube_kubelet_config: {sentence}")


@pytest.mark.parametrize(
    ("version", "join", "sentence"),
    [
        ("1.29.15", "kubeadm", "a kubelet 1.29.15 reads no drop-in (1.30 is the first one that does without a switch)"),
        ("1.37.2", "bootstrap_kubeconfig", "with winkube_join: bootstrap_kubeconfig the kubelet has no configuration"),
    ],
)
def test_without_a_drop_in_the_flags_are_named(version: str, join: str, sentence: str) -> None:
    (only,) = said({"maxPods": 60}, version, join)
    assert only.startswith(f"winkube_kubelet_config: {sentence}")
    assert said({}, version, join) == []


CHANGES: dict[str, Any] = {
    "cluster_dns": ("10.0.0.1",),
    "cluster_domain": "other.local",
    "verbosity": 9,
    "system_reserved": {"memory": "9Gi"},
    "kube_reserved": {"memory": "9Gi"},
    "eviction_hard": {"memory.available": "9Gi"},
    "eviction_soft": {"memory.available": "9Gi"},
    "eviction_soft_grace_period": {"memory.available": "9s"},
    "taints": ("a=b:NoSchedule",),
    "labels": {"a": "b"},
    "node_ip": "10.0.0.9",
    "feature_gates": {"NodeLogQuery": True},
    "shutdown_grace_period": "9s",
    "shutdown_grace_period_critical_pods": "3s",
}
"""Another value for each option that a kubelet is told of by an argument or a field."""


def test_each_field_that_an_option_sets_is_owned_by_its_variable() -> None:
    """An option of its own changes a field of the drop-in, or an argument that overrides a field."""
    overriding = kubelet_config.flags(Line(1, 37))
    variables = {each.name: each.variable for each in list_options(KubeletOptions)}
    plain: dict[str, Any] = {"shutdown_grace_period": "8s"}
    for name, value in CHANGES.items():
        before = wanted_kubelet("1.37.2", join="kubeadm", **plain)
        after = wanted_kubelet("1.37.2", join="kubeadm", **{**plain, name: value})
        old, new = kubelet_args.configuration(before), kubelet_args.configuration(after)
        changed = {each for each in new if new[each] != old.get(each)}
        for word in set(kubelet_args.arguments(after)) - set(kubelet_args.arguments(before)):
            changed |= {path for flag, path in overriding.items() if word.startswith(f"--{flag}=")}
        variable = str(getattr(variables[name], "name", variables[name])).replace("winkube_network.", "winkube_")
        assert {OWNERS[field] for field in changed} <= {variable}, name
        assert changed or name in {"labels", "node_ip"}, "these two have no field"


def test_every_owner_is_a_field_and_a_variable() -> None:
    known = kubelet_config.fields(Line(1, 37))
    assert set(OWNERS) <= set(known)
    assert {each for each in OWNERS.values() if not each.startswith("winkube_")} == set()


def test_an_argument_of_kubeadm_yields_to_the_field() -> None:
    env = 'KUBELET_KUBEADM_ARGS="--max-pods=110 --volume-stats-agg-period=2m"'
    wanted = wanted_kubelet("1.37.2", join="kubeadm", config={"maxPods": 60})
    assert kubelet_check.list_kubeadm_arguments(wanted, env) == ("--volume-stats-agg-period=2m",)


def test_paths_end_at_maps_and_lists() -> None:
    given = {"authentication": {"webhook": {"cacheTTL": "1m"}}, "evictionMinimumReclaim": {"a": "b"}, "x": 1}
    assert list_paths(given, Line(1, 37)) == ("authentication.webhook.cacheTTL", "evictionMinimumReclaim", "x")
