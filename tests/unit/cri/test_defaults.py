"""What the modules and playbooks about CRI do where nothing else is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import load_spec

ROOT = Path(__file__).resolve().parents[3]


def defaults(module: str) -> dict[str, Any]:
    return {name: option.get("default") for name, option in load_spec(module).items()}


def stats() -> dict[str, Any]:
    """Those of k8s_windows_cri_info's option `stats`."""
    options = load_spec("k8s_windows_cri_info")["stats"]["options"]
    return {name: option.get("default") for name, option in options.items()}


def task(playbook: str) -> dict[str, Any]:
    """The arguments of the first task of a playbook that is a module of the collection."""
    (play,) = yaml.safe_load((ROOT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8"))
    return next(value for task in play["tasks"] for key, value in task.items() if key.startswith("winkube.node."))


@pytest.mark.row("CT-05", "CT-12")
def test_the_port_is_opened_for_the_node_itself_alone() -> None:
    found = defaults("containerd_config_tcp")
    assert found["tcp_address"] == "127.0.0.1:8888"
    assert found["allow_any_address"] is False
    assert found["allowed_sources"] == []
    assert found["prove"] == "auto"


@pytest.mark.row("CT-42")
def test_samples_come_more_often_than_kubelet_and_containerd_collect() -> None:
    assert stats()["interval"] == 5, "less than their 10 s"
    assert stats()["second_caller"] == 0, "the defect is not provoked unasked"


@pytest.mark.row("CT-37", "CT-41")
def test_what_counts_as_busy() -> None:
    found = stats()
    assert (found["busy_millicores"], found["busy"]) == (100, [])


@pytest.mark.row("CT-35", "CT-42")
def test_the_playbook_that_watches() -> None:
    asked = task("stats_watch")
    assert asked["gather"] == ["stats"]
    found = asked["stats"]
    assert found["samples"] == "{{ winkube_stats_samples | default(12) }}"
    assert found["interval"] == "{{ winkube_stats_interval | default(5) }}"
    assert found["second_caller"] == "{{ winkube_stats_second_caller | default(0) }}"
    assert found["names"] == "{{ winkube_stats_names | default([]) }}"
    assert found["live"] is True


@pytest.mark.row("CT-44")
def test_cpu_limits_are_judged_after_two_minutes() -> None:
    module = load_spec("k8s_windows_conformance")["cpu_limits"]["options"]
    assert (module["wait"]["default"], module["tolerance"]["default"]) == (120, 0.05)
    (play,) = yaml.safe_load((ROOT / "playbooks" / "test.yml").read_text(encoding="utf-8"))
    (playbook,) = [
        options["cpu_limits"]
        for each in play["tasks"]
        if "cpu_limits" in (options := each.get("winkube.node.k8s_windows_conformance") or {})
    ]
    assert playbook["wait"] == "{{ winkube_cpu_limits_wait | default(120) }}"
    assert playbook["tolerance"] == "{{ winkube_cpu_limits_tolerance | default(0.05) }}"


@pytest.mark.row("CT-24", "CT-27")
def test_the_playbook_that_looks_into_containers() -> None:
    found = task("cri_debug")
    assert found["hcsdiag"] == "{{ winkube_debug_hcsdiag | default(true) }}"
    assert found["containers"] == "{{ winkube_debug_containers | default([]) }}"


@pytest.mark.row("CT-32")
def test_no_feature_gate_is_set_unless_somebody_asks_for_it() -> None:
    role = yaml.safe_load((ROOT / "roles" / "kubelet" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert role["winkube_kubelet_feature_gates"] == {}
    assert defaults("win_kubelet")["feature_gates"] == {}
