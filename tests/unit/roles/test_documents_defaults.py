"""What a node is like where nobody says otherwise: the defaults of roles and modules are those of the documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.unit.roles import defaults
from tests.unit.roles.defaults import OPTIONAL, specs, value

SNAPSHOT = Path(__file__).with_name("defaults.yml")


@pytest.mark.row("FL-01", "FL-02", "FL-03", "FL-04", "FL-05", "FL-07", "FL-09", "FL-11", "FL-12", "FL-15")
@pytest.mark.row("HP-03", "HP-04", "HP-05", "HP-07", "HP-13")
@pytest.mark.row("JR-01", "JR-02", "JR-08")
@pytest.mark.row("KP-01", "KP-04", "KP-07", "KP-08", "KP-09", "KP-10", "KP-12", "KP-13", "KP-14", "KP-15")
@pytest.mark.row("KP-16", "KP-17")
@pytest.mark.row("KU-01", "KU-02", "KU-03", "KU-09", "KU-10", "KU-16", "KU-18", "KU-19", "KU-20", "KU-21")
@pytest.mark.row("KU-22", "KU-23", "KU-24", "KU-26", "KU-30")
@pytest.mark.row("NW-01", "NW-08", "NW-09", "NW-14", "NW-16", "NW-20", "NW-26", "NW-28", "NW-33", "NW-34")
@pytest.mark.row("NW-35")
@pytest.mark.row("RS-06")
@pytest.mark.row("VC-03")
def test_the_defaults_are_those_that_were_reviewed() -> None:
    """Of every variable of the roles, and of every option of their modules."""
    found = yaml.safe_load(SNAPSHOT.read_text(encoding="utf-8"))
    assert defaults.take() == found, "look at the difference; python -m tests.unit.roles.defaults writes it"


@pytest.mark.parametrize(
    ("name", "choices"),
    [
        pytest.param(
            "winkube_network_mode",
            ["l2bridge", "overlay", "calico", "l2tunnel", "transparent", "nat"],
            marks=pytest.mark.row("NW-01", "NW-02"),
        ),
        pytest.param(
            "winkube_join", ["kubeadm", "bootstrap_kubeconfig", "kubeconfig"], marks=pytest.mark.row("JR-01", "JR-02")
        ),
        pytest.param("winkube_cni_managed_by", ["service", "cluster"], marks=pytest.mark.row("FL-15")),
        pytest.param("winkube_service_manager", ["auto", "nssm", "sc"], marks=pytest.mark.row("KU-01", "KP-01")),
    ],
)
def test_what_can_be_chosen(name: str, choices: list[str]) -> None:
    assert specs()[name]["choices"] == choices


@pytest.mark.row("HP-04")
def test_everything_in_the_root_follows_it() -> None:
    names = ("cni_bin_dir", "cni_conf_dir", "nssm", "log_dir", "kubelet_binary", "kube_proxy_binary", "kubeadm_binary")
    for name in names:
        assert value(f"winkube_{name}", winkube_root=r"D:\kube") == value(f"winkube_{name}").replace(
            r"C:\k", r"D:\kube"
        )
    assert value("winkube_flanneld_binary", winkube_flannel_dir=r"D:\flannel") == r"D:\flannel\flanneld.exe"


@pytest.mark.row("KU-11", "JR-02")
@pytest.mark.parametrize(
    ("way", "path"),
    [
        ("kubeconfig", r"C:\k\config"),
        ("kubeadm", r"C:\etc\kubernetes\kubelet.conf"),
        ("bootstrap_kubeconfig", r"C:\etc\kubernetes\kubelet.conf"),
    ],
)
def test_the_kubelets_kubeconfig_by_the_way_to_join(way: str, path: str) -> None:
    assert value("winkube_kubelet_kubeconfig", winkube_join=way) == path


@pytest.mark.row("KP-03", "KP-12", "NW-07", "NW-08")
@pytest.mark.parametrize(("mode", "network"), [("l2bridge", "cbr0"), ("overlay", "vxlan0")])
def test_kube_proxys_network_by_mode(mode: str, network: str) -> None:
    assert value("winkube_kube_proxy_network_name", winkube_network_mode=mode) == network


@pytest.mark.row("FL-12")
def test_flanneld_runs_under_nssm_whatever_the_others_run_under() -> None:
    assert value("winkube_flannel_service", winkube_service_manager="sc")["manager"] == "nssm"


@pytest.mark.parametrize(
    ("variable", "wanted"),
    [
        pytest.param("policy_lists", "false", marks=pytest.mark.row("KP-17")),
        pytest.param("subnet_env", "false", marks=pytest.mark.row("FL-09")),
        pytest.param("retries", "2", marks=pytest.mark.row("FL-11")),
        pytest.param("timeout", "120", marks=pytest.mark.row("FL-11")),
    ],
)
def test_a_variable_of_the_playbook_repair(variable: str, wanted: str) -> None:
    playbook = (ROOT / "playbooks" / "repair.yml").read_text(encoding="utf-8")
    assert f"winkube_repair_{variable} | default({wanted})" in playbook


def imports_of(playbook: str) -> dict[str, dict[str, Any]]:
    """The tasks that import a role, by the role's name, in their order."""
    *_before, play = yaml.safe_load((ROOT / "playbooks" / playbook).read_text(encoding="utf-8"))
    tasks: list[dict[str, Any]] = []
    for task in play["tasks"]:
        other = task.get("ansible.builtin.import_tasks")
        if other and "{{" in other:
            continue  # which batch it is; no role
        tasks += yaml.safe_load((ROOT / "playbooks" / other).read_text(encoding="utf-8")) if other else [task]
    names = [task.get("ansible.builtin.import_role", {}).get("name", "") for task in tasks]
    return {name.removeprefix("winkube.node."): task for name, task in zip(names, tasks, strict=True) if name}


def roles_of(playbook: str) -> list[str]:
    """The roles that a playbook imports, in their order."""
    return list(imports_of(playbook))


@pytest.mark.row("HP-02", "FL-13")
def test_the_order_of_site_yml() -> None:
    """A runtime before the kubelet; flanneld after the join, since it needs the Node; kube-proxy last."""
    core = ["host", "cni", "containerd", "kubelet", "join", "flannel", "kube_proxy"]
    assert roles_of("site.yml") == [*core, *OPTIONAL]


def test_the_shared_defaults_come_with_each_role_of_site_yml() -> None:
    """Its first task, which no role holds, reads them as well."""
    for role in roles_of("site.yml"):
        meta = yaml.safe_load((ROOT / "roles" / role / "meta" / "main.yml").read_text(encoding="utf-8"))
        assert meta["dependencies"] == [{"role": "winkube.node.winkube"}], role


@pytest.mark.row("HP-02", "FL-13")
def test_each_component_of_site_yml_can_be_had_alone_and_is_left_out_where_it_is_not_wanted() -> None:
    found = imports_of("site.yml")
    assert {name: task.get("tags") for name, task in found.items()} == {name: name for name in found}
    released = "winkube_kubernetes_version | string | length > 0"
    assert {name: task["when"] for name, task in found.items() if "when" in task} == {
        "cni": released,
        "containerd": "winkube_container_runtime == 'containerd'",
        "kubelet": released,
        "join": released,
        "flannel": released,
        "kube_proxy": released,
        **{role: f"'{role}' in winkube_optional_components" for role in OPTIONAL},
    }


@pytest.mark.row("JR-04")
def test_after_the_clean_up_repair_yml_runs_the_roles_that_the_module_names() -> None:
    (play,) = yaml.safe_load((ROOT / "playbooks" / "repair.yml").read_text(encoding="utf-8"))
    _confirmed, repair, follow, *_uncordon_and_say = play["tasks"]
    assert repair["register"] in follow["loop"]
    assert "winkube.node.win_k8s_repair" in repair
    assert follow["ansible.builtin.include_role"]["name"] == "winkube.node.{{ winkube_role }}"


@pytest.mark.row("HP-05", "HP-07", "HP-08")
def test_proxy_and_network_reach_the_machines_module() -> None:
    (task,) = yaml.safe_load((ROOT / "roles" / "host" / "tasks" / "main.yml").read_text(encoding="utf-8"))
    found = task["winkube.node.win_k8s_host"]
    assert found["proxy"] == {
        "http": "{{ winkube_node_http_proxy }}",
        "https": "{{ winkube_node_https_proxy }}",
        "no_proxy": "{{ winkube_node_no_proxy }}",
    }
    assert found["network"] == {
        "mode": "{{ winkube_network_mode if winkube_kubernetes_version else '' }}",
        "interface_name": "{{ winkube_interface_name }}",
        "address": "{{ winkube_management_ip }}",
        "cluster_cidr": "{{ winkube_network.cluster_cidr }}",
        "service_cidr": "{{ winkube_network.service_cidr }}",
        "domain": "{{ winkube_network.cluster_domain }}",
    }
