"""What a node is like where nobody says otherwise: the defaults of roles and modules are those of the documents."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from _pytest.mark import ParameterSet
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import read_options

try:
    from ansible.template import trust_as_template
except ImportError:  # ansible-core before 2.19 trusts every text

    def trust_as_template(value: str) -> str:
        return value


ROOT = Path(__file__).resolve().parents[3]
OPTIONAL = [each.role for each in COMPONENTS if each.optional]
ROLES = ("winkube", "host", "cni", "kubelet", "join", "flannel", "kube_proxy")


@cache
def specs() -> dict[str, Any]:
    """What the specifications of these roles say of their variables."""
    found: dict[str, Any] = {}
    for role in ROLES:
        file = "shared_variables.yml" if role == "winkube" else "argument_specs.yml"
        text = (ROOT / "roles" / role / "meta" / file).read_text(encoding="utf-8")
        for entry in yaml.safe_load(text)["argument_specs"].values():
            found |= entry.get("options") or {}
    return found


@cache
def defaults() -> dict[str, Any]:
    """The variables of these roles, for a host WIN1."""
    found: dict[str, Any] = {"inventory_hostname": "WIN1"}
    for role in ROLES:
        found |= yaml.safe_load((ROOT / "roles" / role / "defaults" / "main.yml").read_text(encoding="utf-8"))
    return {name: trusted(each) for name, each in found.items()}


def trusted(found: Any) -> Any:
    """With every text in it as one that may be a template."""
    if isinstance(found, dict):
        return {name: trusted(each) for name, each in found.items()}
    if isinstance(found, list):
        return [trusted(each) for each in found]
    return trust_as_template(found) if isinstance(found, str) else found


def value(name: str, **given: Any) -> Any:
    """A variable's value where only these are set."""
    return filled(defaults()[name], **given)


def filled(found: Any, **given: Any) -> Any:
    """A default where only these variables are set."""
    return Templar(DataLoader(), variables=defaults() | given).template(trusted(found))


def option(module: str, path: str) -> dict[str, Any]:
    """What a module's documentation says of `option` or `option.suboption`."""
    found: dict[str, Any] = {"suboptions": read_options(module)}
    for name in path.split("."):
        found = found["suboptions"][name]
    return found


def row(*rows: str, **wanted: Any) -> list[ParameterSet]:
    """These variables without their prefix have these values, which proves the rows."""
    mark = pytest.mark.row(*rows)
    return [pytest.param(f"winkube_{name}", each, marks=mark, id=f"winkube_{name}") for name, each in wanted.items()]


VARIABLES = [
    *row("HP-04", root=r"C:\k", kubernetes_dir=r"C:\etc\kubernetes", kubelet_dir=r"C:\var\lib\kubelet"),
    *row("HP-04", "FL-05", cni_bin_dir=r"C:\k\cni", cni_conf_dir=r"C:\k\cni\config"),
    *row("HP-04", "FL-04", flannel_dir=r"C:\flannel"),
    *row("HP-04", "FL-07", flannel_run_dir=r"C:\run\flannel"),
    *row("HP-04", containerd_binary=r"C:\Program Files\containerd\bin\containerd.exe"),
    *row("HP-04", containerd_config=r"C:\Program Files\containerd\config.toml"),
    *row("HP-03", page_file_min_mb=0),
    *row("HP-05", node_http_proxy="", node_https_proxy="", node_no_proxy=[]),
    *row("HP-07", "NW-09", interface_name="Ethernet"),
    *row("HP-13", "KU-02", "KP-07", "FL-03", node_name="win1"),
    *row("KU-01", kubelet_binary=r"C:\k\kubelet.exe", kubelet_service_name="kubelet", nssm=r"C:\k\nssm.exe"),
    *row("KU-01", "KP-01", "FL-12", service_manager="auto"),
    *row("KU-03", kubelet_verbosity=2),
    *row("KU-09", "NW-33", "NW-34", "NW-35", dns_service_ip="10.96.0.10", kubelet_cluster_dns=["10.96.0.10"]),
    *row("KU-10", "NW-33", cluster_domain="cluster.local"),
    *row("KU-16", "KP-10", "NW-34", log_dir=r"C:\k"),
    *row("KU-18", kubelet_priority_class="ABOVE_NORMAL_PRIORITY_CLASS"),
    *row("KU-19", "RS-06", system_reserved={"memory": "2Gi"}),
    *row("KU-19", kube_reserved={}),
    *row("KU-20", eviction_hard={}, eviction_soft={}),
    *row("KU-21", "JR-08", node_taints=["os=windows:NoSchedule"]),
    *row("KU-22", "KU-23", "KU-26", "KU-30", kubelet_feature_gates={}),
    *row("KU-24", containerd_pipe="containerd-containerd"),
    *row("KP-01", kube_proxy_binary=r"C:\k\kube-proxy.exe", kube_proxy_service_name="kube-proxy"),
    *row("KP-04", kube_proxy_depends_on=[]),
    *row("KP-08", kube_proxy_verbosity=2),
    *row("KP-09", "KP-15", "NW-20", kube_proxy_dsr=False),
    *row("KP-12", "NW-08", overlay_network_name="vxlan0"),
    *row("KP-13", cni_data_dir=r"C:\var\lib\cni\networks"),
    *row("KP-14", "NW-26", "NW-34", "NW-35", cluster_cidr="10.244.0.0/16"),
    *row("NW-01", "NW-34", network_mode="l2bridge"),
    *row("NW-14", cni_version=""),
    *row("NW-26", "NW-35", service_cidr="10.96.0.0/12"),
    *row("NW-26", "FL-02", management_ip=""),
    *row("NW-28", exception_list=[], external_targets=[]),
    *row("FL-01", flanneld_binary=r"C:\flannel\flanneld.exe", flanneld_service_name="flanneld"),
    *row("FL-15", cni_managed_by="service"),
    *row("JR-01", join="kubeadm", join_state="joined"),
    *row("JR-02", allow_cluster_admin_kubeconfig=False),
    *row("JR-02", flanneld_kubeconfig=r"C:\flannel\flanneld.kubeconfig"),
    *row("JR-02", kube_proxy_kubeconfig=r"C:\k\kube-proxy.kubeconfig"),
    *row("VC-03", allow_unsupported_os=False),
]


@pytest.mark.parametrize(("name", "wanted"), VARIABLES)
def test_a_variable_of_the_roles(name: str, wanted: Any) -> None:
    assert value(name) == wanted
    assert filled(specs()[name]["default"]) == wanted


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


def given(rows: str, module: str, **wanted: Any) -> list[ParameterSet]:
    """These options of a module have these defaults; the rows are separated by blanks."""
    mark = pytest.mark.row(*rows.split())
    return [pytest.param(module, name, each, marks=mark, id=f"{module}.{name}") for name, each in wanted.items()]


OPTIONS = [
    *given("KU-03", "win_kubelet", verbosity=2),
    *given("KU-09", "win_kubelet", cluster_dns=["10.96.0.10"]),
    *given("KU-10", "win_kubelet", cluster_domain="cluster.local"),
    *given("KU-18", "win_kubelet", priority_class="ABOVE_NORMAL_PRIORITY_CLASS"),
    *given("KU-19 RS-06", "win_kubelet", system_reserved={"memory": "2Gi"}),
    *given("KU-21", "win_kubelet", taints=["os=windows:NoSchedule"]),
    *given("KP-08", "win_kube_proxy", verbosity=2),
    *given("KP-09 NW-20", "win_kube_proxy", dsr=False),
    *given("KP-14 NW-34", "win_kube_proxy", cluster_cidr="10.244.0.0/16"),
    *given("KP-13", "win_kube_proxy", cni_data_dir=r"C:\var\lib\cni\networks"),
    *given("NW-01", "win_kube_proxy", network_mode="l2bridge"),
    *given("NW-01", "win_flannel", network_mode="l2bridge"),
    *given("NW-26 NW-34", "win_flannel", cluster_cidr="10.244.0.0/16"),
    *given("NW-26", "win_flannel", service_cidr="10.96.0.0/12"),
    *given("NW-33 NW-34", "win_flannel", dns_service_ip="10.96.0.10"),
    *given("NW-33", "win_flannel", cluster_domain="cluster.local"),
    *given("NW-28", "win_flannel", exception_list=[], external_targets=[]),
    *given("HP-07 NW-09", "win_flannel", interface_name="Ethernet"),
    *given("FL-15", "win_flannel", managed_by="service"),
    *given("KP-17", "win_k8s_repair", remove_policy_lists=False),
    *given("FL-09", "win_k8s_repair", generate_subnet_env=False),
    *given("FL-11", "win_k8s_repair", retries=2),
]


@pytest.mark.parametrize(("module", "name", "wanted"), OPTIONS)
def test_an_option_of_a_module(module: str, name: str, wanted: Any) -> None:
    assert option(module, name)["default"] == wanted


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
    _confirmed, repair, follow, _uncordon = play["tasks"]
    assert repair["register"] in follow["loop"]
    assert "winkube.node.win_k8s_repair" in repair
    assert follow["ansible.builtin.include_role"]["name"] == "winkube.node.{{ winkube_role }}"


def passed(rows: str, role: str, **wanted: str) -> list[ParameterSet]:
    """These options of the role's module get these variables, without their prefix."""
    mark = pytest.mark.row(*rows.split())
    return [pytest.param(role, name, each, marks=mark, id=f"{role}.{name}") for name, each in wanted.items()]


PASSED = [
    *passed("KU-02", "kubelet", node_name="node_name"),
    *passed("KU-03", "kubelet", verbosity="kubelet_verbosity"),
    *passed("KU-09", "kubelet", cluster_dns="kubelet_cluster_dns"),
    *passed("KU-10", "kubelet", cluster_domain="cluster_domain"),
    *passed("KU-18", "kubelet", priority_class="kubelet_priority_class"),
    *passed("KU-19", "kubelet", system_reserved="system_reserved", kube_reserved="kube_reserved"),
    *passed("KU-20", "kubelet", eviction_hard="eviction_hard", eviction_soft="eviction_soft"),
    *passed("KU-21", "kubelet", taints="node_taints"),
    *passed("KU-22 KU-23 KU-26 KU-30", "kubelet", feature_gates="kubelet_feature_gates"),
    *passed("KP-07", "kube_proxy", node_name="node_name"),
    *passed("KP-08", "kube_proxy", verbosity="kube_proxy_verbosity"),
    *passed("KP-09 KP-15 NW-20", "kube_proxy", dsr="kube_proxy_dsr"),
    *passed("KP-12 KP-16", "kube_proxy", network_mode="network_mode", network_name="kube_proxy_network_name"),
    *passed("KP-13", "kube_proxy", cni_data_dir="cni_data_dir"),
    *passed("KP-14", "kube_proxy", cluster_cidr="cluster_cidr"),
    *passed("FL-03", "flannel", node_name="node_name"),
    *passed("FL-02", "flannel", management_ip="management_ip"),
    *passed("FL-12", "flannel", service="flannel_service"),
    *passed("FL-15", "flannel", managed_by="cni_managed_by"),
    *passed("HP-07", "flannel", interface_name="interface_name"),
    *passed("NW-01", "flannel", network_mode="network_mode"),
    *passed("NW-14", "flannel", cni_version="cni_version", plugins_version="cni_plugins_version"),
    *passed("NW-16", "flannel", version="flannel_version"),
    *passed("NW-26", "flannel", cluster_cidr="cluster_cidr", service_cidr="service_cidr"),
    *passed("NW-28", "flannel", exception_list="exception_list", external_targets="external_targets"),
    *passed("NW-33", "flannel", dns_service_ip="dns_service_ip", cluster_domain="cluster_domain"),
    *passed("HP-03", "host", page_file_min_mb="page_file_min_mb"),
    *passed("HP-13", "host", computer_name="computer_name"),
    *passed("JR-01", "join", join="join", state="join_state"),
    *passed("JR-02", "join", allow_cluster_admin="allow_cluster_admin_kubeconfig"),
    *passed("JR-08", "join", taints="node_taints"),
]


@pytest.mark.parametrize(("role", "name", "variable"), PASSED)
def test_a_variable_reaches_the_module(role: str, name: str, variable: str) -> None:
    tasks = yaml.safe_load((ROOT / "roles" / role / "tasks" / "main.yml").read_text(encoding="utf-8"))
    (found,) = (task[key] for task in tasks for key in task if key.startswith("winkube.node.win_"))
    assert found[name] == f"{{{{ winkube_{variable} }}}}"


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
        "cluster_cidr": "{{ winkube_cluster_cidr }}",
        "service_cidr": "{{ winkube_service_cidr }}",
        "domain": "{{ winkube_cluster_domain }}",
    }
